package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/store"
)

const openSMDump = "../../opensm/sadb/testdata/opensm-sa.dump"

// state runs "ibsmctl state" and returns what it prints.
func state(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(append([]string{"state"}, args...), &out, &errs); got != want {
		t.Errorf("%v: status %d, %s", args, got, errs.String())
	}
	return out.String(), errs.String()
}

// newPlace is where the store of a port may be.
func newPlace(t *testing.T, port string) string {
	t.Helper()
	return filepath.Join(t.TempDir(), port, "state.db")
}

// holds are what is registered in a store, and its LIDs.
func holds(t *testing.T, file string) ([]registry.Change, []store.LID) {
	t.Helper()
	k, err := lookAt(file, "")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(k.Registry.Changes()), k.LIDs
}

// everyKind is a store with registrations of every kind whose fields differ from 0.
func everyKind(t *testing.T) string {
	t.Helper()
	file := newPlace(t, "0x11")
	s, c, err := store.Open(store.Config{Path: file, Prefix: mad.DefaultPrefix, Port: 0x11})
	if err != nil {
		t.Fatal(err)
	}
	mgid, port := mad.GID{0xff, 0x12, 15: 1}, mad.MakeGID(mad.DefaultPrefix, 0x21)
	for _, change := range []registry.Change{
		registry.PutGroup{
			Group: registry.Group{MGID: mgid, MLID: 0xc005, PKey: 0x8001, QKey: math.MaxUint32, MTU: mad.MTU4096,
				Rate: 26, PacketLifeTime: 18, SL: 3, FlowLabel: 0x12345, TClass: 7, HopLimit: 9, Scope: 2},
		},
		registry.PutMember{
			Member: registry.Member{MGID: mgid, Port: port, JoinState: registry.FullMember |
				registry.SendOnlyFullMember, Proxy: true},
		},
		registry.PutGroup{
			Group: registry.Group{MGID: mad.GID{0xff, 0x12, 15: 2}, MLID: 0xc000, PKey: 0xffff, MTU: mad.MTU256,
				Rate: 2, WellKnown: true},
		},
		registry.PutService{Service: registry.Service{ServiceKey: registry.ServiceKey{ID: 7, GID: port, PKey: 0xffff},
			Lease: 60, Expires: 1 << 40, Key: [16]byte{1}, Name: [64]byte{'a', '"', '\\', '"', 0, 0xff, '\n'},
			Data: [64]byte{63: 1}}},
		registry.PutService{
			Service: registry.Service{ServiceKey: registry.ServiceKey{ID: 8, GID: port}, Lease: registry.InfiniteLease},
		},
		registry.PutSubscription{
			Subscription: registry.Subscription{SubscriptionKey: registry.SubscriptionKey{Subscriber: port, QPN: 5,
				Filter: registry.Filter{GID: mgid, LIDBegin: 1, LIDEnd: 2, Generic: true, Type: 3, Trap: 64,
					Producer: 4}},
				Destination: registry.Destination{
					PKey: 0x8001, Addr: mad.Addr{LID: 9, QPN: 5, SL: 3, PathBits: 1,
						GRH: mad.GRH{Present: true, GID: port, FlowLabel: 0x12345, TrafficClass: 6, HopLimit: 255}},
				}}},
		registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: 0x21, Index: 9}, GUID: 0x99}},
		registry.PutGRHPort{Port: 0x21},
	} {
		if err := c.Registry.Apply(change); err != nil {
			t.Fatal(err)
		}
	}
	s.Put(store.Batch{LIDs: []store.LID{{Port: 0x11, Base: 1}, {Port: 0x21, Base: 4, LMC: 2, Absent: 77}},
		Registry: c.Registry.Freeze(), Term: &store.Term{Number: 3, Master: true, Began: 9}}, nil)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestImport: OpenSM's SA database is imported into a store that is there, whose LIDs stay, and into one that is not; a
// dry run leaves both as they are.
func TestImport(t *testing.T) {
	for _, to := range []string{newPlace(t, "0x0000000000000012"), everyKind(t)} {
		before, lids := []registry.Change(nil), []store.LID(nil)
		_, err := os.Stat(to)
		is := err == nil
		if is {
			before, lids = holds(t, to)
		}
		out, _ := state(t, 0, "import", "--dry-run", openSMDump, to)
		if !strings.Contains(out, "nothing was written") {
			t.Error(out)
		}
		if _, err := os.Stat(to); err == nil != is {
			t.Errorf("a dry run made or removed the store: %v", err)
		} else if is {
			if now, nowLIDs := holds(t, to); !slices.Equal(now, before) || !slices.Equal(nowLIDs, lids) {
				t.Errorf("a dry run made %v", now)
			}
		}
		out, _ = state(t, 0, "import", openSMDump, to)
		if strings.Contains(out, "nothing was written") {
			t.Error(out)
		}
		if now, nowLIDs := holds(t, to); len(now) < 20 || !slices.Equal(nowLIDs, lids) {
			t.Errorf("imported %v, LIDs %v, want %v", now, nowLIDs, lids)
		}
		if !is {
			continue
		}
		for _, line := range []string{"groups 2 3", "members 1 15", "services 2 2", "subscriptions 1 2",
			"alias GUIDs 1 2", "ports that demand a GRH 1 0"} {
			if !slices.ContainsFunc(strings.Split(out, "\n"), func(s string) bool {
				return strings.Join(strings.Fields(s), " ") == line
			}) {
				t.Errorf("no line %q in\n%s", line, out)
			}
		}
	}
}

// TestExportToOpenSM: what came from OpenSM's file goes back into one.
func TestExportToOpenSM(t *testing.T) {
	first, second := newPlace(t, "0x11"), newPlace(t, "0x12")
	state(t, 0, "import", openSMDump, first)
	text, _ := state(t, 0, "export", first)
	file := filepath.Join(t.TempDir(), "sa.dump")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	state(t, 0, "import", file, second)
	a, _ := holds(t, first)
	b, _ := holds(t, second)
	leases := func(c registry.Change) bool { return c.Kind() == registry.KindPutService } // they end now
	if a, b := slices.DeleteFunc(a, leases), slices.DeleteFunc(b, leases); !slices.Equal(a, b) || len(a) < 20 {
		t.Errorf("%v became %v", a, b)
	}
}

// TestImportWrong: a file with an error changes nothing, and it is said where that is.
func TestImportWrong(t *testing.T) {
	store1 := everyKind(t)
	before, lids := holds(t, store1)
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("MC Group 0xc000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs := state(t, 1, "import", file, store1); !strings.Contains(errs, `f:1:16: no "mgid=0x" follows here`) {
		t.Error(errs)
	}
	dump, err := os.ReadFile(openSMDump)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.ReplaceAll(dump, []byte("0xfe80000000000000"), []byte("0xfe80000000000001"))
	if err := os.WriteFile(file, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs := state(t, 1, "import", file, store1); !strings.Contains(errs,
		"differs from the prefix of the state store") {
		t.Error(errs)
	}
	if now, nowLIDs := holds(t, store1); !slices.Equal(now, before) || !slices.Equal(nowLIDs, lids) {
		t.Errorf("a refused import made %v", now)
	}
	s, _, err := store.Open(store.Config{Path: store1, Prefix: mad.DefaultPrefix, Port: 0x11})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, errs := state(t, 1, "import", openSMDump, store1); !strings.Contains(errs, "in use by another process") {
		t.Error(errs)
	}
	if _, errs := state(t, 1, "import", openSMDump, newPlace(t, "11")); !strings.Contains(errs,
		"not named after a port GUID") {
		t.Error(errs)
	}
	state(t, 2, "import")
	state(t, 2, "import", "a", "b", "c")
}
