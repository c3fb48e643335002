package perf

import (
	"os"
	"os/exec"
	"testing"

	"ibsm/mad/madtest"
)

// mutants are rules, each broken in one place.
var mutants = []struct{ name, file, old, new string }{
	{"the first reading counts from zero", "judge.go",
		"t.base[c] = r.raw[c]\n\t\t\td.Note |= t.saturation(c, r)\n\t\t\tcontinue",
		"t.base[c] = r.raw[c]\n\t\t\td.Has |= 1 << c\n\t\t\td.N[c] = r.raw[c]\n\t\t\tcontinue"},
	{"a reset by others counts as a difference of unsigned numbers", "judge.go",
		"\td.N[c] = value\n\tswitch {\n\tcase t.reboot:", "\td.N[c] = value - t.base[c]\n\tswitch {\n\tcase t.reboot:"},
	{"a counter that goes backwards is taken for a reset", "judge.go", "value < base-part)", "value < base+0*part)"},
	{"any rise is plausible", "judge.go", "case value >= base && value-base <= most:", "case value >= base:"},
	{"an unconfirmed value is the new base at once", "judge.go",
		"\tt.unconfirmed.seen[c], t.unconfirmed.seenAt[c] = r.raw[c], r.at\n",
		"\tt.unconfirmed.seen[c], t.unconfirmed.seenAt[c] = r.raw[c], r.at\n\tt.base[c] = r.raw[c]\n"},
	{"what counted for longer than the interval is a spike", "judge.go",
		"if usual := limit(c, words, d.Span); d.N[c] > usual {",
		"if usual := limit(c, words, d.Span); d.N[c] > usual && false {"},
	{"32 bits are complete on a fast link", "judge.go",
		"if r.short.Has(c) && base+min(most, 1<<40) >= pma.MaxShort(c) && isData(c) {", "if false {"},
	{"a saturated counter is exact", "judge.go", "if full := t.saturation(c, r); full != 0 {",
		"if full := t.saturation(c, r); full != 0 && false {"},
	{"what was reset by us is exact", "judge.go",
		"\t\td.Note |= ResetByUs\n\t\td.AtLeast |= 1 << c\n\tcase t.reboot:\n\t\td.AtLeast |= 1 << c",
		"\t\td.Note |= ResetByUs\n\tcase t.reboot:\n\t\td.AtLeast |= 1 << c"},
	{"a link that was down is taken for a reboot", "judge.go", "rebooted := t.reboot && t.someFell(r)",
		"rebooted := t.reboot"},
	{"counters are reset when they are full", "judge.go", "return top - top/4", "return top"},
	{"one counter is read by two attributes as if it were the same", "judge.go",
		"if !t.has.Has(c) || t.short.Has(c) != r.short.Has(c) {", "if !t.has.Has(c) {"},
	{"the other counters of a port that was reset are exact", "judge.go", "if d.Note&ResetByOther != 0 {",
		"if false {"},
	{"ClassPortInfo is not read after a reboot", "machine.go",
		"\t\t\ta.info, a.wide = infoStale, wideUntried\n\t\t\tfor p := a.first", "\t\t\tfor p := a.first"},
	{"each port of an unresponsive switch is waited for", "agent.go",
		"\tfor ; a.cursor <= a.last; a.cursor++ {\n\t\tm.note(now, a.cursor, NoAnswer)\n\t}\n\treturn false",
		"\tm.note(now, a.cursor, NoAnswer)\n\treturn m.nextPort(a)"},
	{"an answer for another port is taken", "agent.go", " &&\n\t\t(port == num || port == 0)", "\n\t_ = port"},
	{"the window is that of the sweep alone", "machine.go", "m.waiting+m.given < m.settings.Window",
		"m.waiting < m.settings.Window"},
}

// TestMutants: each rule that is broken is found by the tests. The small size only sees that the
// rules are there.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			tests := exec.CommandContext(t.Context(), "go", "test", "-failfast", ".")
			tests.Env = append(os.Environ(), "IBSM_PROOF=") // in small size, and without further mutants
			madtest.FindMutant(t, tests, m.file, m.old, m.new)
		})
	}
}
