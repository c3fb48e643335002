package partitions

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

// TestForTables: only who chose a policy has the keys of ports changed.
func TestForTables(t *testing.T) {
	for source := FromFile; source <= FromFallback; source++ {
		if c := (Selected{Policy: Closed(), Source: source}); (c.ForTables() == nil) != (source == FromNothing) {
			t.Errorf("%v: %v", source, c.ForTables())
		}
	}
}

// What holds at a start and after a reload, whatever becomes of the file.
func TestChoose(t *testing.T) {
	const good, other, bad = "A=1 : ALL=full;\n", "B=2 : ALL=full;\n", "A=1 ALL=full;\n"
	file := func(text string) Input { return Input{Name: "p", Text: []byte(text)} }
	absent := Input{Name: "p", Err: fmt.Errorf("open p: %w", fs.ErrNotExist)}
	unreadable := Input{Name: "p", Err: errors.New("is a directory")}
	for _, c := range []struct {
		name     string
		at       Input
		lastGood string
		open     bool
		reload   *Input
		source   Source
		policy   *Policy
		errors   int
		keep     string
	}{
		{name: "good", at: file(good), lastGood: other, source: FromFile, policy: meaningOf(good), keep: good},
		{name: "absent", at: absent, source: FromNothing, policy: Default()},
		{name: "absent, once there", at: absent, lastGood: other, source: FromLastGood, policy: meaningOf(other), errors: 1, keep: other},
		{name: "broken", at: file(bad), source: FromCaution, policy: Closed(), errors: 1},
		{name: "empty", at: file(""), source: FromCaution, policy: Closed(), errors: 1},
		{name: "broken, once good", at: file(bad), lastGood: other, source: FromLastGood, policy: meaningOf(other), errors: 1, keep: other},
		{name: "broken, kept one broken too", at: file(bad), lastGood: bad, source: FromCaution, policy: Closed(), errors: 1},
		{name: "broken, open", at: file(bad), open: true, source: FromFallback, policy: Default(), errors: 1},
		{name: "broken, once good, open", at: file(bad), lastGood: other, open: true, source: FromLastGood, policy: meaningOf(other), errors: 1, keep: other},
		{name: "a directory", at: unreadable, source: FromCaution, policy: Closed(), errors: 1},

		{name: "good, then other", at: file(good), reload: ptr(file(other)), source: FromFile, policy: meaningOf(other), keep: other},
		{name: "good, then broken", at: file(good), reload: ptr(file(bad)), source: FromFile, policy: meaningOf(good), errors: 1, keep: good},
		{name: "good, then empty", at: file(good), reload: ptr(file("# gone\n")), source: FromFile, policy: meaningOf(good), errors: 1, keep: good},
		{name: "good, then absent", at: file(good), reload: &absent, source: FromFile, policy: meaningOf(good), errors: 1, keep: good},
		{name: "absent, still absent", at: absent, reload: &absent, source: FromNothing, policy: Default()},
		{name: "absent, then broken", at: absent, reload: ptr(file(bad)), source: FromNothing, policy: Default(), errors: 1},
		{name: "broken, then good", at: file(bad), reload: ptr(file(good)), source: FromFile, policy: meaningOf(good), keep: good},
		{name: "broken, then absent", at: file(bad), reload: &absent, source: FromCaution, policy: Closed(), errors: 1},
	} {
		var last []byte
		if c.lastGood != "" {
			last = []byte(c.lastGood)
		}
		got := Select(c.at, last, c.open)
		if c.reload != nil {
			got = got.Reload(*c.reload)
		}
		if got.Source != c.source || !samePolicy(got.Policy, c.policy) || len(got.Errors) != c.errors || string(got.Text) != c.keep {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func ptr(r Input) *Input { return &r }

func meaningOf(text string) *Policy {
	p, _, _ := Parse("p", []byte(text)).Policy()
	return p
}
