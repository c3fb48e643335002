package spread

import (
	"slices"
	"testing"

	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// TestEven: on a full mesh of four switches with two ways to each destination the placer counts routes as they are, and
// spreads them evenly; the LIDs of a port have different ways.
func TestEven(t *testing.T) {
	in := routingtest.Problem(t, "hyperx:dims=4,hosts=3")
	in.LIDs = topo.SequentialLIDs(in.Topo, 1)
	p, err := NewPlacer(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	bundles, dests := Bundles(routing.NewGraph(in.Topo)), Destinations(in)
	for at := range topo.SwitchIdx(4) {
		p.Begin(at, dests[at])
		// Two switches have the direct way only; the third goes over one of these.
		others := slices.DeleteFunc([]topo.SwitchIdx{0, 1, 2, 3}, func(s topo.SwitchIdx) bool { return s == at })
		for _, s := range others[:2] {
			if !p.Fix(s, Find(bundles[s], at).Ways) {
				t.Fatal("the only way is not fixed")
			}
		}
		last := others[2]
		ways := slices.Concat(Find(bundles[last], others[0]).Ways, Find(bundles[last], others[1]).Ways)
		if p.Fix(last, ways) {
			t.Fatal("one of two ways is fixed")
		}
		for i := range dests[at] {
			d := &dests[at][i]
			for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
				p.Turn(d, lid)
				p.Place(last, ways)
			}
			if d.LMC > 0 && p.Rows[last][d.Base] == p.Rows[last][d.Base+1] {
				t.Errorf("both LIDs of port %d have one way", d.Port)
			}
		}
	}
	loads, err := quality.Loads(t.Context(), in, p.Rows)
	if err != nil {
		t.Fatal(err)
	}
	for s, n := range in.Topo.Switches {
		for _, b := range bundles[s] {
			port := b.Ways[0].Port
			if got, want := p.load[s<<8|int(port)], loads[in.Topo.Port(n, port)]; got != want {
				t.Errorf("switch %d port %d: %d routes, want %d", s, port, got, want)
			}
		}
	}
}
