package server

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/disjoint"
	"ibsm/mad/pma"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/topo"
)

// TestOnlyWays: the link of a host is its only way; of the links of a leaf all but the last can be left out.
func TestOnlyWays(t *testing.T) {
	v := newView(t, "fattree:k=4,levels=2")
	leaf := v.Topo.Switches[0]
	c := &counted{subnet: newSubnet(v, nil)}
	var found []sick.Finding
	var want []bool
	uplinks, between := 0, 0
	for num := uint8(1); num <= v.Topo.Nodes[leaf].NumPorts; num++ {
		if v.Topo.BetweenSwitches(v.Topo.Port(leaf, num)) {
			between++
		}
	}
	for num := uint8(1); num <= v.Topo.Nodes[leaf].NumPorts; num++ {
		found = append(found, sick.Finding{Port: perf.Key{Node: v.Topo.Nodes[leaf].GUID, Port: num}})
		host := !v.Topo.BetweenSwitches(v.Topo.Port(leaf, num))
		if !host {
			uplinks++
		}
		want = append(want, host || uplinks == between)
	}
	found = append(found, sick.Finding{Port: perf.Key{Node: 0x99, Port: 1}}, sick.Finding{Port: perf.Key{Node: v.Topo.Nodes[leaf].GUID, Port: 200}})
	want = append(want, false, false)
	if got := c.onlyWays(found); !slices.Equal(got, want) || between < 2 {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOnlyWaysOfMany: the same as when the links are left out one after the other, and the parts are counted into which the switches
// fall.
func TestOnlyWaysOfMany(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		v := newView(t, []string{"fattree:k=4", "torus:dims=4x3,hosts=1", "mesh:dims=3x3,hosts=1"}[seed%3])
		var found []sick.Finding
		for range rng.IntN(2 * len(v.Topo.Ports)) {
			found = append(found, sick.Finding{Port: perf.KeyOf(v.Topo, topo.PortIdx(rng.IntN(len(v.Topo.Ports))))})
		}
		got := (&counted{subnet: newSubnet(v, nil)}).onlyWays(found)
		without, whole := map[topo.PortIdx]bool{}, pieces(v.Topo, nil)
		kept := map[topo.PortIdx]bool{}
		for i := range found {
			p := found[i].Port.In(v.Topo)
			peer := v.Topo.Ports[p].Peer
			want := peer != topo.None && (kept[p] || !v.Topo.BetweenSwitches(p))
			if peer != topo.None && !want {
				without[p], without[peer] = true, true
				if want = pieces(v.Topo, without) > whole; want {
					delete(without, p)
					delete(without, peer)
					kept[p], kept[peer] = true, true
				}
			}
			if got[i] != want {
				t.Fatalf("seed %d: finding %d of %d, port %d: %t, want %t", seed, i, len(found), p, got[i], want)
			}
		}
	}
}

// pieces is how many parts the switches fall into without some ports.
func pieces(t *topo.Topo, without map[topo.PortIdx]bool) int {
	sets, n := disjoint.New(len(t.Switches)), len(t.Switches)
	for p := range t.Ports {
		at := topo.PortIdx(p)
		if t.BetweenSwitches(at) && !without[at] && sets.Join(int32(t.SwitchOf(at)), int32(t.SwitchOf(t.Ports[at].Peer))) {
			n--
		}
	}
	return n
}

// TestShares: a port's shares of what its link carries and of the time, and -1 for what is not known.
func TestShares(t *testing.T) {
	v := newView(t, "fattree:k=4,levels=2")
	c := &counted{subnet: newSubnet(v, nil)}
	leaf := v.Topo.Switches[0]
	k := perf.Key{Node: v.Topo.Nodes[leaf].GUID, Port: 1}
	words := perf.Words(v.Topo, v.Topo.Port(leaf, 1))
	d := perf.Delta{Has: pma.AllCounters, Span: 1e9}
	d.N[pma.PortRcvData], d.N[pma.PortXmitWait] = words/4, words/2
	if used, waited := c.shares(k, &d); used < 0.2499 || used > 0.2501 || waited < 0.4999 || waited > 0.5001 {
		t.Errorf("%v %v", used, waited)
	}
	d.Has = pma.ErrorCounters
	if used, waited := c.shares(k, &d); used != -1 || waited != -1 {
		t.Errorf("without these counters: %v %v", used, waited)
	}
	for _, other := range []perf.Key{{Node: 0x99, Port: 1}, {Node: k.Node, Port: 99}} {
		if used, waited := c.shares(other, &perf.Delta{Has: pma.AllCounters, Span: 1e9}); used != -1 || waited != -1 {
			t.Errorf("%v: %v %v", other, used, waited)
		}
	}
	if l := linkOf(v.Topo, k); l.Bits != words*32 || v.Topo.FindNode(l.Peer.Node) == topo.None {
		t.Errorf("%+v", l)
	}
}
