package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad/smp"
	"ibsm/routing"
)

// TestEditDrained: an order adds lines that the file does not have, or removes those it names by name, GUID, former
// name or line card; comments and other lines stay.
func TestEditDrained(t *testing.T) {
	const had = "# on Monday\n0x10 # core/U1\n0x11 3 # leaf\n0x12\n"
	subnet := map[string][]server.NamedSwitch{
		"new":  {{SwitchPort: routing.SwitchPort{Switch: 0x20, Port: 4}, Name: "new\x01"}},
		"leaf": {{SwitchPort: routing.SwitchPort{Switch: 0x11}, Name: "leaf"}},
		"0x12": {{SwitchPort: routing.SwitchPort{Switch: 0x12}}},
	}
	find := func(text string) ([]server.NamedSwitch, error) {
		if found := subnet[text]; found != nil {
			return found, nil
		}
		return nil, errors.New("no node is named " + text)
	}
	for _, c := range []struct {
		o    ctl.DrainOrder
		want string // the text, or the error
	}{
		{ctl.DrainOrder{Switches: []string{"new"}}, had + "0x0000000000000020 4 # new \n"},
		{ctl.DrainOrder{Switches: []string{"0x12"}}, had},
		{ctl.DrainOrder{Switches: []string{"leaf", "gone"}}, "no node is named gone"},
		{ctl.DrainOrder{Undrain: true, Switches: []string{"leaf:3", "core"}}, "# on Monday\n0x12\n"},
		{ctl.DrainOrder{Undrain: true, Switches: []string{"0x0000000000000011:3", "0x12"}}, "# on Monday\n0x10 # core/U1\n"},
		{ctl.DrainOrder{Undrain: true, Switches: []string{"leaf"}}, "leaf is not drained"}, // only a port of it is
		{ctl.DrainOrder{Undrain: true, Switches: []string{"gone"}}, "gone is not drained"},
		{ctl.DrainOrder{Undrain: true, All: true}, "# on Monday\n"},
	} {
		lines, err := drainLines("f", []byte(had))
		if err != nil {
			t.Fatal(err)
		}
		lines, err = editDrained(lines, c.o, find)
		got := ""
		for _, l := range lines {
			got += l.text + "\n"
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
}

// TestDrainedOfAnother: a manager that uses the files of the master before it goes on from what is drained there,
// whatever its own file has. Its own comments stay. It refuses if other files differ, too.
func TestDrainedOfAnother(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	master := newFixture(t, "drain_file "+file("theirs", "# theirs\n0x2 # leaf\n0x3 7\n")+"\n", ownParts)
	for _, c := range []struct{ settings, want string }{
		{"", "[# mine 0x2 # leaf 0x3 7] <nil>"},
		{"lmc 1\n", "and its own files differ: lmc."},
	} {
		mine := file("mine", "# mine\n0x1\n")
		o := newFixture(t, "drain_file "+mine+"\n"+c.settings, ownParts)
		o.hears(master.sent.Registrar.Mirror.Policy)
		o.entered(smp.Master)
		path, lines, err := o.drainFile()
		var texts []string
		for _, l := range lines {
			texts = append(texts, l.text)
		}
		if got := fmt.Sprint(texts, " ", err); path != mine || !strings.Contains(got, c.want) {
			t.Errorf("%q: %s %s, want %s", c.settings, path, got, c.want)
		}
		if err != nil != errors.Is(err, ctl.ErrNotNow) || slices.Contains(texts, "0x1") {
			t.Errorf("%q: %v %v", c.settings, texts, err)
		}
	}
}
