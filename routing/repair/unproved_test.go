package repair

import (
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
)

// TestUnprovedAreBounded: however many entries have changed, the list of those to follow stays far shorter than the
// tables, and each that is not in it is of a LID that is looked at from all switches. The repair is the same.
func TestUnprovedAreBounded(t *testing.T) {
	f := newLiving(t, "fattree:k=8", 2, minhop.Route)
	was := &routing.Tables{LFT: make([][]uint8, len(f.tables.LFT)), Top: f.tables.Top}
	for s, row := range f.tables.LFT {
		was.LFT[s] = make([]uint8, len(row))
		for lid, port := range row {
			was.LFT[s][lid] = port ^ 1
		}
	}
	in := In{Topo: f.Topo, LIDs: f.LIDs, Tables: f.tables, Was: routing.NewForwarding(f.Topo, f.LIDs, was),
		Good: f.report.Good()}
	for p := range f.Topo.Ports { // entries that lead over them are unproved twice
		if port := &f.Topo.Ports[p]; f.Topo.BetweenSwitches(topo.PortIdx(p)) && port.Num%3 == 0 {
			port.Unhealthy = true
		}
	}
	r := newRepair(in)
	d := r.unproved()
	if most, all := 2*entriesPerLID*r.size, len(f.tables.LFT)*r.size; cap(d.entries) > most || most*2 > all {
		t.Errorf("%d entries were noted, of %d LIDs at %d switches", cap(d.entries), r.size, len(f.tables.LFT))
	}
	listed := map[Route]bool{}
	for _, e := range d.entries {
		listed[e] = true
	}
	for s := range f.tables.LFT {
		for lid := mad.LID(1); lid <= f.LIDs.Top; lid++ {
			if f.LIDs.PortOf(lid) != topo.None && !listed[Route{topo.SwitchIdx(s), lid}] && !d.lids.Has(int(lid)) {
				t.Fatalf("switch %d LID %d has changed, and nobody looks", s, lid)
			}
		}
	}
	in.Was, in.Good = nil, nil // all LIDs are looked at from all switches
	want := mustRepair(t, in)
	in.Was, in.Good = r.Was, f.report.Good()
	if got := mustRepair(t, in); len(changedRows(got.Tables, want.Tables)) > 0 {
		t.Errorf("rows %v are others than where everything is looked at", changedRows(got.Tables, want.Tables))
	}
}

func changedRows(a, b *routing.Tables) (rows []int) {
	for s := range a.LFT {
		if string(a.LFT[s]) != string(b.LFT[s]) {
			rows = append(rows, s)
		}
	}
	return rows
}
