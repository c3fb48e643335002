package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/store"
)

// TestState: what was put is shown, exported and checked, while its owner has it open.
func TestState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.db")
	s, _, err := store.Open(store.Config{Path: file, Prefix: mad.DefaultPrefix, Port: 0x11})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	reg := registry.New()
	group := registry.Group{MGID: mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 15: 1}, MLID: 0xc005, PKey: 0xffff,
		QKey: 0xb1b, MTU: mad.MTU2048, Rate: 3}
	member := registry.Member{MGID: group.MGID, Port: mad.MakeGID(mad.DefaultPrefix, 0x21),
		JoinState: registry.FullMember}
	changes := []registry.Change{registry.PutGroup{Group: group}, registry.PutMember{Member: member}}
	for _, c := range changes {
		if err := reg.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	put := func(b store.Batch) {
		t.Helper()
		s.Put(b, nil)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	put(store.Batch{
		LIDs:     []store.LID{{Port: 0x11, Base: 1}, {Port: 0x21, Base: 4, LMC: 1, Absent: 77}},
		Registry: reg.Freeze(), Term: &store.Term{Number: 3, Master: true, Began: 86400},
	})

	ask := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(append([]string{"state"}, args...), &out, &errs); got != want {
			t.Errorf("%v: status %d, %s", args, got, errs.String())
		}
		return out.String(), errs.String()
	}
	out, _ := ask(0, "show", file)
	for _, want := range []string{"mastership     3, master since", "LIDs           2, of absent ports 1",
		"groups 1, members 1, services 0", "last change    2"} {
		if !strings.Contains(out, want) {
			t.Errorf("show says no %q:\n%s", want, out)
		}
	}
	if out, _ = ask(0, "export", file); !strings.Contains(out,
		"MC Group 0xc005 : mgid=0xff12401bffff0000:0x0000000000000001") {
		t.Error(out)
	}
	if out, _ = ask(0, "check", file); out != file+" is complete\n" {
		t.Error(out)
	}

	put(store.Batch{LIDs: []store.LID{{Port: 0x31, Base: 5}}})
	if _, errs := ask(1, "check", file); !strings.Contains(errs,
		"LID 5 is assigned to both 0x0000000000000021 and 0x0000000000000031") {
		t.Error(errs)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.db")
	at := bytes.Index(whole, group.MGID[:])
	whole[at]++
	for i := at; i >= 0; i = bytes.Index(whole, group.MGID[:]) { // earlier pages may have it, too
		whole[i]++
	}
	if err := os.WriteFile(broken, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs := ask(1, "check", broken); !strings.Contains(errs, "damaged") {
		t.Error(errs)
	}
	ask(1, "show", filepath.Join(t.TempDir(), "none.db"))
	ask(2, "state")
}

func TestOnlyStore(t *testing.T) {
	dir := t.TempDir()
	pattern := filepath.Join(dir, "*", "state.db")
	for i, port := range []mad.GUID{0x11, 0x12} {
		s, _, err := store.Open(store.Config{Path: filepath.Join(dir, port.String(), "state.db"),
			Prefix: mad.DefaultPrefix, Port: port})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		k, err := lookAt("", pattern)
		if i == 0 && (err != nil || k.port != 0x11) || i == 1 &&
			(err == nil || !strings.Contains(err.Error(), "several state stores")) {
			t.Errorf("%d stores: %v, %v", i+1, k, err)
		}
	}
}
