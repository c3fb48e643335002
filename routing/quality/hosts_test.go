package quality

import (
	"math"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/rails"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// TestCut: the hosts that the loss of a switch cuts off, beside a count that takes each switch away in turn.
func TestCut(t *testing.T) {
	for lmc := range uint8(2) {
		n := routingtest.RailSpec{Units: 3, Hosts: 6, Rails: 2, Spines: 2, Cables: 2}.Fabric()
		routingtest.LoseCables(n, 20, 1)
		subnet, err := netwalk.Topo(n, net.NoEnd)
		if err != nil {
			t.Fatal(err)
		}
		in := routing.In{Topo: subnet, LIDs: topo.SequentialLIDs(subnet, lmc)}
		tables, err := minhop.Route(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		tables.LFT[4][in.LIDs.Base[rails.Hosts(subnet)[0][0]]] = routing.NoPath // counts for nothing
		tracer := routing.NewTracer(subnet, in.LIDs)
		arrives := func(from topo.SwitchIdx, lid mad.LID, without topo.SwitchIdx) bool {
			home := subnet.SwitchOf(in.LIDs.PortOf(lid))
			for s := from; s != home; {
				if s = tracer.Next(s, tables.LFT[s][lid]); s == topo.None || s == without && s != home {
					return false
				}
			}
			return true
		}
		cuts, pairs := 0, 0
		for _, lids := range rails.HostLIDs(subnet, in.LIDs) {
			for from := range subnet.Switches {
				leaf := topo.SwitchIdx(from)
				if !slices.ContainsFunc(subnet.EndPorts, func(p topo.PortIdx) bool {
					return subnet.IsHost(p) && subnet.SwitchOf(p) == leaf
				}) {
					continue
				}
				pairs++
				for without := range subnet.Switches {
					reached := func(lid mad.LID) bool { return arrives(leaf, lid, topo.SwitchIdx(without)) }
					before := func(lid mad.LID) bool { return arrives(leaf, lid, topo.None) }
					if slices.ContainsFunc(lids, before) && !slices.ContainsFunc(lids, reached) && without != from {
						cuts++
						break
					}
				}
			}
		}
		f, err := Measure(t.Context(), in, tables.LFT, nil, 0)
		if err != nil || f.Several != 18 || cuts == 0 || math.Abs(f.Cut-float64(cuts)/float64(pairs)) > 1e-9 {
			t.Errorf("LMC %d: %+v, want %d of %d, %v", lmc, f, cuts, pairs, err)
		}
	}
}

// TestHosts: the ports of a host are side by side.
func TestHosts(t *testing.T) {
	subnet, err := netwalk.Topo(routingtest.RailSpec{Units: 2, Hosts: 4, Rails: 3, Spines: 2, Cables: 1}.Fabric(),
		net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	l := topo.SequentialLIDs(subnet, 0)
	missing := rails.Hosts(subnet)[5][1]
	l.Base[missing], l.Owner[l.Base[missing]] = 0, topo.None
	hosts := Hosts(subnet, l)
	if len(hosts) != 23 || slices.Contains(hosts, missing) {
		t.Fatalf("%d hosts", len(hosts))
	}
	names, first := map[string]bool{}, mad.LID(0)
	for at := 0; at < len(hosts); {
		name, _ := rails.Split(subnet.Nodes[subnet.Ports[hosts[at]].Node].Desc.String())
		if l.Base[hosts[at]] < first || names[name] {
			t.Errorf("%s comes too late, or again", name)
		}
		names[name], first = true, l.Base[hosts[at]]
		for ; at < len(hosts); at++ {
			if next, _ := rails.Split(subnet.Nodes[subnet.Ports[hosts[at]].Node].Desc.String()); next != name {
				break
			}
		}
	}
}
