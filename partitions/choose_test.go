package partitions

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestForTables: the keys of ports are changed only where a policy was chosen.
func TestForTables(t *testing.T) {
	for source := FromFile; source <= FromFallback; source++ {
		if c := (Selected{Policy: Closed(), Source: source}); (c.ForTables() == nil) != (source == FromNothing) {
			t.Errorf("%v: %v", source, c.ForTables())
		}
	}
}

// What holds at a start and after a reload, whatever becomes of the file.
func TestChoose(t *testing.T) {
	const good, other, bad, dangerous = "A=1 : ALL=full;\n", "B=2 : ALL=full;\n", "A=1 ALL=full;\n", "A=1 : ALL=ful;\n"
	file := func(text string) Input { return Input{Name: "p", Text: []byte(text)} }
	absent := Input{Name: "p", Err: fmt.Errorf("open p: %w", fs.ErrNotExist)}
	named := absent
	named.Named = true
	unreadable := Input{Name: "p", Err: errors.New("is a directory")}
	for _, c := range []struct {
		name     string
		at       Input
		lastGood string
		fallback Fallback
		reload   *Input
		force    bool
		source   Source
		policy   *Policy
		errors   int
		keep     string
	}{
		{name: "good", at: file(good), lastGood: other, source: FromFile, policy: meaningOf(good), keep: good},
		{name: "absent", at: absent, source: FromNothing, policy: Default()},
		{name: "absent, once there", at: absent, lastGood: other, source: FromLastGood, policy: meaningOf(other),
			errors: 1, keep: other},
		{name: "absent, and named", at: named, errors: 1},
		{name: "absent, and named, closed", at: named, fallback: StartClosed, source: FromCaution, policy: Closed(),
			errors: 1},
		{name: "absent, and named, open", at: named, fallback: StartOpen, source: FromFallback, policy: Default(),
			errors: 1},
		{name: "broken", at: file(bad), errors: 1},
		{name: "broken, closed", at: file(bad), fallback: StartClosed, source: FromCaution, policy: Closed(),
			errors: 1},
		{name: "empty", at: file(""), errors: 1},
		{name: "broken, once good", at: file(bad), lastGood: other, source: FromLastGood, policy: meaningOf(other),
			errors: 1, keep: other},
		{name: "broken, kept one broken too", at: file(bad), lastGood: bad, errors: 1},
		{name: "broken, open", at: file(bad), fallback: StartOpen, source: FromFallback, policy: Default(), errors: 1},
		{name: "broken, once good, open", at: file(bad), lastGood: other, fallback: StartOpen, source: FromLastGood,
			policy: meaningOf(other), errors: 1, keep: other},
		{name: "a directory", at: unreadable, errors: 1},
		{name: "dangerous", at: file(dangerous), source: FromFile, policy: meaningOf(dangerous), keep: dangerous},
		{name: "dangerous, once good", at: file(dangerous), lastGood: good, source: FromLastGood,
			policy: meaningOf(good), errors: 1, keep: good},
		{name: "dangerous, as before", at: file(dangerous + other), lastGood: dangerous, source: FromFile,
			policy: meaningOf(dangerous + other), keep: dangerous + other},

		{name: "good, then other", at: file(good), reload: ptr(file(other)), source: FromFile, policy: meaningOf(other),
			keep: other},
		{name: "good, then broken", at: file(good), reload: ptr(file(bad)), source: FromFile, policy: meaningOf(good),
			errors: 1, keep: good},
		{name: "good, then empty", at: file(good), reload: ptr(file("# gone\n")), source: FromFile,
			policy: meaningOf(good), errors: 1, keep: good},
		{name: "good, then absent", at: file(good), reload: &absent, source: FromFile, policy: meaningOf(good),
			errors: 1, keep: good},
		{name: "absent, still absent", at: absent, reload: &absent, source: FromNothing, policy: Default()},
		{name: "absent, then broken", at: absent, reload: ptr(file(bad)), source: FromNothing, policy: Default(),
			errors: 1},
		{name: "good, then dangerous", at: file(good), reload: ptr(file(dangerous)), source: FromFile,
			policy: meaningOf(good), errors: 1, keep: good},
		{name: "good, then dangerous, forced", at: file(good), reload: ptr(file(dangerous)), force: true,
			source: FromFile, policy: meaningOf(dangerous), keep: dangerous},
		{name: "good, then broken, forced", at: file(good), reload: ptr(file(bad)), force: true, source: FromFile,
			policy: meaningOf(good), errors: 1, keep: good},
		{name: "dangerous, then more", at: file(dangerous), reload: ptr(file("\n" + dangerous + other)),
			source: FromFile, policy: meaningOf(dangerous + other), keep: "\n" + dangerous + other},
		{name: "broken, then good", at: file(bad), fallback: StartClosed, reload: ptr(file(good)), source: FromFile,
			policy: meaningOf(good), keep: good},
		{name: "broken, then absent", at: file(bad), fallback: StartClosed, reload: &absent, source: FromCaution,
			policy: Closed(), errors: 1},
	} {
		var last []byte
		if c.lastGood != "" {
			last = []byte(c.lastGood)
		}
		got := Select(c.at, last, c.fallback)
		if c.reload != nil {
			got = got.Reload(*c.reload, c.force)
		}
		if got.Source != c.source || !samePolicy(got.Policy, c.policy) || len(got.Errors) != c.errors ||
			string(got.Text) != c.keep {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func ptr(r Input) *Input { return &r }

func meaningOf(text string) *Policy {
	p, _, _ := Parse("p", []byte(text)).Policy()
	return p
}

// Lines that make other ports communicate than they seem to say, as OpenSM reads them.
func TestDangers(t *testing.T) {
	const self = 0x5
	for _, c := range []struct{ file, want string }{
		{"A=1:ALL=full;B=1:SELF=full;", `p:1:14: "B" has the P_Key 0x0001 of "A"`},
		{"A=0x10001:ALL=full;", `p:1:3: P_Key "0x10001" has more than 16 bits; using 0x0001`},
		{"A=1:ALL=ful;", `p:1:9: "ful" is read as full: write the whole word`},
		{"A=1:AL=full;", `p:1:5: "AL" is read as ALL`},
		{"A=1:S=full;", `p:1:5: "S" is read as SELF`},
		{"A=1:ALL=full,N;", `p:1:14: "N" is read as NONE`},
		{"A=1,defmember=f:ALL;", `p:1:15: "f" is read as full`},
		{"A=1,defmember=fool:ALL=full;", `p:1:5: defmember "fool": ignored`},
		{"A=1,ip:ALL=full;", `p:1:5: "ip" is read as ipoib`},
		{"A=1:ALL=fool,SELF=full;", `p:1:9: "fool" is not a membership; using limited`},
		{"A=1:ALL=;", `p:1:5: no value after '=': using full`},
		{"A=1:0x10000000000000005=full;", `p:1:5: "0x10000000000000005" has more than 64 bits`},
		{"A=0x7fff:SELF;", `p:1:10: the manager's port is a limited member of the default partition`},
		{"A=0x7fff:ALL_CAS=limited;", `p:1:10: the manager's port is a limited member`},
		{"A=0x7fff:0x5=limited;", `p:1:10: the manager's port is a limited member`},
		{"A=0x7fff:0x6=limited,ALL_CAS=limited,SELF=full;", ""},
		{"A=0x7fff:SELF,ALL=full;", ""},
		{"A=1:10=full;", ""},
		{"A=1,rate=400Gbps:ALL=full;", ""},
		{"A=1:ALL=full,NONE;\nA=1:SELF=limited;", ""},
	} {
		f := Parse("p", []byte(c.file))
		f.Self = self
		policy, errors, warnings := f.Policy()
		switch {
		case policy == nil:
			t.Errorf("%q: %v", c.file, errors)
		case (c.want == "") != (len(policy.Dangers) == 0) || !strings.Contains(policy.Dangers.Error(), c.want):
			t.Errorf("%q: %v\nwant %s", c.file, policy.Dangers, c.want)
		case c.want != "" && !slices.Contains(warnings, policy.Dangers[0]):
			t.Errorf("%q: not among the warnings: %v", c.file, warnings)
		}
	}
}
