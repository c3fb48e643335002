package verify

import (
	"fmt"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/dnup"
	"ibsm/routing/ftree"
	"ibsm/routing/updn"
	"ibsm/topo"
)

// newTree is a fat tree that an engine has routed, the manager on its first host.
func newTree(t *testing.T, spec string, e routing.Engine) *fixture {
	t.Helper()
	f := newFixture(t, spec, 0)
	f.topo.Self = f.topo.EndPorts[slices.IndexFunc(f.topo.EndPorts, f.topo.IsHost)]
	var err error
	if f.tables, err = e(t.Context(), routing.In{Topo: f.topo, LIDs: f.lids}); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSoundTrees: in a complete tree no route is lost. How many pairs the rules forbid is what OpenSM leaves empty in
// these trees: in the smaller one the pairs of two spines; in the larger one those of spines, and of the other switches
// that are not leaves and share no switch above, 76 in all, 28 of them to a spine. connect_roots fills all with ftree
// and dnup; with updn those to spines.
func TestSoundTrees(t *testing.T) {
	up, ft, dn := routing.Balancing{}, ftree.Settings{ConnectRoots: true}, dnup.Settings{ConnectRoots: true}
	for i, c := range []struct {
		spec                string
		engine              routing.Engine
		forbidden, connects int
	}{
		{"fattree:k=4,levels=2", updn.New(updn.Settings{}, up), 2, 2},
		{"fattree:k=4,levels=2", ftree.New(ftree.Settings{}), 2, 2},
		{"fattree:k=4,levels=2", dnup.New(dnup.Settings{}, up), 2, 2},
		{"fattree:k=4,levels=2", updn.New(updn.Settings{ConnectRoots: true}, up), 0, 0},
		{"fattree:k=4", updn.New(updn.Settings{}, up), 76, 28},
		{"fattree:k=4", ftree.New(ftree.Settings{}), 76, 76},
		{"fattree:k=4", dnup.New(dnup.Settings{}, up), 76, 76},
		{"fattree:k=4", updn.New(updn.Settings{ConnectRoots: true}, up), 48, 0},
		{"fattree:k=4", ftree.New(ft), 0, 0},
		{"fattree:k=4", dnup.New(dn, up), 0, 0},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := newTree(t, c.spec, c.engine).check(t)
			if r.Bad() > 0 || r.Unreached() > 0 || r.Count[Forbidden] != c.forbidden || r.Connects != c.connects {
				t.Errorf("%s: %v, %d by connect_roots; want %d forbidden, %d", c.spec, r.Count, r.Connects, c.forbidden,
					c.connects)
			}
		})
	}
}

// TestLostInTree: what hosts or the manager need, or the rules permit, is lost, whatever else the rules forbid.
func TestLostInTree(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(f *fixture, leaf, other, spine topo.SwitchIdx)
		lost int
	}{
		{"route between hosts", func(f *fixture, leaf, other, _ topo.SwitchIdx) { // of two leaves
			lid, _ := f.host(other)
			f.tables.LFT[leaf][lid] = routing.NoPath
		}, 1},
		// down is permitted; hosts over it lose theirs
		{"route of a spine to a host", func(f *fixture, leaf, _, spine topo.SwitchIdx) {
			lid, _ := f.host(leaf)
			f.tables.LFT[spine][lid] = routing.NoPath
		}, -1},
		{"route of a leaf to a spine", func(f *fixture, _, other, spine topo.SwitchIdx) {
			f.tables.LFT[other][f.own(spine)] = routing.NoPath
		}, 1},
		{"route of a spine to a leaf", func(f *fixture, _, other, spine topo.SwitchIdx) {
			f.tables.LFT[spine][f.own(other)] = routing.NoPath
		}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newTree(t, "fattree:k=4,levels=2", updn.New(updn.Settings{}, routing.Balancing{}))
			leaf, spine := f.topo.SwitchOf(f.topo.Self), topo.SwitchIdx(topo.None)
			other := leaf
			for s := range f.topo.Switches {
				switch hosts := slices.ContainsFunc(f.topo.EndPorts, func(p topo.PortIdx) bool {
					return f.topo.IsHost(p) && f.topo.SwitchOf(p) == topo.SwitchIdx(s)
				}); {
				case !hosts:
					spine = topo.SwitchIdx(s)
				case topo.SwitchIdx(s) != leaf:
					other = topo.SwitchIdx(s)
				}
			}
			c.lose(f, leaf, other, spine)
			r := f.check(t)
			if r.Unreached() != c.lost && (c.lost >= 0 || r.Unreached() == 0) || r.Count[Forbidden] != 2 {
				t.Errorf("lost %d, %v; want %d, and 2 that are forbidden", r.Unreached(), r.Count, c.lost)
			}
		})
	}
}

// TestManagerOnSpine: the manager reaches all and is reached by all, or that is a fault: on a spine of a tree it cannot
// read the counters of the other one by updn's rules. connect_roots is the remedy.
func TestManagerOnSpine(t *testing.T) {
	for _, connect := range []bool{false, true} {
		f := newTree(t, "fattree:k=4,levels=2", updn.New(updn.Settings{ConnectRoots: connect}, routing.Balancing{}))
		spines := slices.DeleteFunc(slices.Clone(f.topo.EndPorts), func(p topo.PortIdx) bool {
			return f.topo.IsHost(p) || f.topo.Nodes[f.topo.Ports[p].Node].Desc.String()[:5] != "spine"
		})
		f.topo.Self = spines[0] // port 0 of a switch
		want := 2               // there and back
		if connect {
			want = 0
		}
		if r := f.check(t); r.Unreached() != want || r.Count[Forbidden] != 0 {
			t.Errorf("connect_roots %v: lost %d, %v; want %d", connect, r.Unreached(), r.Count, want)
		}
	}
}

// TestForbiddenRoute agrees with the report about every pair.
func TestForbiddenRoute(t *testing.T) {
	f := newTree(t, "fattree:k=4,levels=3,missing-links=2", updn.New(updn.Settings{}, routing.Balancing{}))
	r, forbidden, connects := f.check(t), 0, 0
	for lid, p := range f.lids.Owner {
		for s, row := range f.tables.LFT {
			if p == topo.None || row[lid] != routing.NoPath {
				continue
			}
			if is, by := ForbiddenRoute(f.topo, f.lids, f.tables, topo.SwitchIdx(s), mad.LID(lid)); is {
				if forbidden++; by {
					connects++
				}
			}
		}
	}
	if forbidden == 0 || forbidden != r.Count[Forbidden] || connects != r.Connects {
		t.Errorf("%d forbidden, %d by connect_roots; the report says %v, %d", forbidden, connects, r.Count, r.Connects)
	}
}

func TestByRules(t *testing.T) {
	report := func(forbidden, connects int) *Report {
		r := &Report{Connects: connects}
		r.Count[Forbidden] = forbidden
		return r
	}
	for want, r := range map[string]*Report{
		"": report(0, 0),
		"1 pair of switches without a route by the rules of updn, which neither hosts nor the manager need":                                       report(1, 0),
		"2 pairs of switches without a route by the rules of updn, which neither hosts nor the manager need: connect_roots gives them one":        report(2, 2),
		"76 pairs of switches without a route by the rules of updn, which neither hosts nor the manager need: connect_roots gives 28 of them one": report(76, 28),
	} {
		if got := r.ByRules("updn"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
