package sick

import (
	"os"
	"os/exec"
	"testing"

	"ibsm/mad/madtest"
)

// mutants are rules, each broken in one place.
var mutants = []struct{ name, file, old, new string }{
	{"errors of other links count", "rules.go",
		"const Receiver = pma.ErrorCounters &^ (1<<pma.PortRcvRemotePhysicalErrors | 1<<pma.PortXmitDiscards",
		"const Receiver = pma.ErrorCounters &^ (1<<pma.QP1Dropped"},
	{"one or two errors are a rate", "rules.go", "const leastPerBit = 3", "const leastPerBit = 1"},
	{"a link-down counts though the other end rebooted", "watch.go", "\t\tif answers[d.peer] {\n\t\t\tw.events",
		"\t\tif true {\n\t\t\tw.events"},
	{"a link-down counts though the other end had rebooted when it was counted", "watch.go",
		"if h := sure[k]; !h.lost {", "if h := sure[k]; true {"},
	{"readings after a contradiction count", "confirm.go", "if !skip && !w.nothing(d)", "if !w.nothing(d)"},
	{"readings that are contradicted count", "confirm.go", "case d.Note&contradicts != 0:", "case false:"},
	{"the rest of a window counts for ever", "watch.go", "return e.at <= end-r.Window", "return false"},
	{"a port that nobody reads becomes clean", "watch.go", "f.clean += read[at.port]", "f.clean += 5 * time.Minute"},
	{"relapses cost no patience", "watch.go", "return clean<<min(f.Relapses, maxRelapses) - f.clean",
		"return clean - f.clean"},
	{"the other end is blamed", "watch.go", "f = &Finding{Port: at.port,", "f = &Finding{Port: w.peers[at.port],"},
	{"a fabric without answers is one of sick agents", "watch.go", "if 2*s.unresponsive > s.all {", "if false {"},
	{"a dry run changes links", "exclude.go", "to.Does = min(to.Would, d.Limits.Most)", "to.Does = to.Would"},
	{"there is no limit", "exclude.go", "case !d.out[p] && d.taken >= d.Limits.links(d.all), ", "case "},
	{"the only way is taken", "exclude.go", "more := d.pieces() > d.parts", "more := d.pieces() > d.parts+1"},
	{"what is out of use already does not count as missing", "exclude.go", "|| d.out[p] || t.Ports[p].Unhealthy",
		"|| t.Ports[p].Unhealthy"},
	{"links of hosts are taken", "exclude.go", "return d.Limits.Hosts && r.Action", "return r.Action"},
	{"links of hosts are taken that routes should avoid", "exclude.go", "d.Limits.Hosts && r.Action == Disable",
		"d.Limits.Hosts"},
	{"the manager cuts itself off", "exclude.go", "host != d.Topo.Self && ", ""},
	{"links of hosts that are not disabled use up the limit", "exclude.go",
		"to.Does = Report // there is no other way to the host\n\t\treturn", "to.Does = Report"},
	{"a port stays disabled that another host is at", "exclude.go", "|| d.moved(e)", ""},
	{"an aggregation node is a host", "exclude.go", " && !node.Aggregation", ""},
	{"a host whose link is disabled is never clean", "watch.go", "read[k] = since", "_ = since"},
	{"a link that is clean stays out of use", "exclude.go", "case d.ends(&e):", "case false:"},
	{"a port stays disabled", "exclude.go", "if d.disabled(e) {", "if false {"},
	{"a port stays disabled while routes only avoid its link", "exclude.go", "if wanted < e.Action || ",
		"if wanted == Report || "},
	{"what is disabled is not counted", "exclude.go", "(d.mark(e.Port) || d.disabled(&e)) && !e.ByHand",
		"d.mark(e.Port) && !e.ByHand"},
	{"a restart forgets relapses", "saved.go", "w.relapses[at] = max(w.relapses[at], r.Times)", "_ = at"},
}

// TestMutants: each rule that is broken is found by the tests. The small size only sees that the rules are there.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			tests := exec.CommandContext(t.Context(), "go", "test", "-failfast", ".")
			tests.Env = append(os.Environ(), "IBSM_PROOF=") // in small size, and without further mutants
			madtest.FindMutant(t, tests, m.file, m.old, m.new)
		})
	}
}
