package sweep

import (
	"slices"
	"testing"

	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// TestAvoidSick: links that are avoided are drained by sick links, after those of the operator, as far as that splits
// nothing; a port is disabled only where routes are empty, at the nearer end, and enabled at the end that is disabled.
func TestAvoidSick(t *testing.T) {
	found, err := netwalk.Topo(nettest.Generate(t, "fattree:k=4"), net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	leaf := found.Switches[slices.IndexFunc(found.Switches, func(n topo.NodeIdx) bool {
		return found.Nodes[n].Desc.String() == "leaf-02"
	})]
	end := func(p topo.PortIdx) routing.SwitchPort {
		return routing.SwitchPort{Switch: found.Nodes[found.Ports[p].Node].GUID, Port: found.Ports[p].Num}
	}
	var ups []Avoided
	for num := uint8(1); num <= found.Nodes[leaf].NumPorts; num++ {
		if p := found.Port(leaf, num); found.BetweenSwitches(p) {
			ups = append(ups, Avoided{SwitchPort: end(p), Far: end(found.Ports[p].Peer), Ports: PortDisabled})
		}
	}
	host := Avoided{SwitchPort: routing.SwitchPort{Switch: found.Nodes[leaf].GUID, Port: 1}}
	gone := Avoided{SwitchPort: routing.SwitchPort{Switch: 0x99, Port: 1}, Ports: PortDisabled}
	drained := drain(found, []routing.SwitchPort{ups[0].SwitchPort})
	sick, marked := avoidSick(found, append(slices.Clone(ups), host, gone))
	if drained = append(drained, sick...); marked != nil {
		t.Errorf("the link that the operator has drained could be passed again: %v", marked)
	}
	var states []view.DrainState
	for i, d := range drained {
		states = append(states, d.State)
		if (d.By == view.BySickLinks) != (i > 0) {
			t.Errorf("%+v", d)
		}
	}
	if want := []view.DrainState{view.DrainEmpty, view.DrainEmpty, view.DrainNeeded, view.DrainNeeded,
		view.DrainAbsent}; len(ups) != 2 || !slices.Equal(states, want) {
		t.Fatalf("%v, want %v", states, want)
	}
	p := found.FindNodePort(ups[0].Switch, ups[0].Port)
	peer := found.Ports[p].Peer
	for i := range found.Ports {
		found.Ports[i].Info.SetPortState(smp.PortActive)
		found.Ports[i].Seen = true
	}
	near := p
	if distance(found, peer) < distance(found, p) {
		near = peer
	}
	list := append(slices.Clone(ups), host, gone)
	if got := toDisable(found, list, drained); !slices.Equal(got, []topo.PortIdx{near}) {
		t.Errorf("disabled: %v, want %d", got, near)
	}
	off, other := host, host
	off.Ports, off.Host, other.Ports = PortDisabled, true, PortDisabled
	own := Avoided{SwitchPort: end(found.Ports[found.Self].Peer), Host: true, Ports: PortDisabled}
	up := ups[1]
	up.Host = true
	if got := toDisable(found, append(list, off, own, up), drained); !slices.Equal(got,
		[]topo.PortIdx{near, found.FindNodePort(off.Switch, off.Port)}) {
		t.Errorf("disabled with a host's: %v", got)
	}
	if got := toDisable(found, append(list, other), drained); !slices.Equal(got, []topo.PortIdx{near}) {
		t.Errorf("a host is where a switch was: %v", got)
	}
	if all, _ := avoidSick(found, []Avoided{off}); len(all) != 0 {
		t.Errorf("routes cannot avoid %+v", all)
	}
	found.Ports[near].Info.SetPortPhysicalState(smp.PhysDisabled)
	if got := toEnable(found, list); got != nil {
		t.Errorf("enabled while that is wanted disabled: %v", got)
	}
	for i := range list {
		list[i].Ports = PortEnabled
	}
	if got := toEnable(found, list); !slices.Equal(got, []topo.PortIdx{near}) ||
		toDisable(found, list, drained) != nil {
		t.Errorf("enabled: %v, want %d", got, near)
	}
}

// TestAvoidedUnchanged: a subnet of which routes avoid a link is the same in the next sweep, though the link is marked
// anew.
func TestAvoidedUnchanged(t *testing.T) {
	b := newHarness(t, "fattree:k=4", Config{})
	found := b.heavy().Topo
	p := slices.IndexFunc(found.Ports, func(port topo.Port) bool {
		return port.Peer != topo.None && found.BetweenSwitches(found.Ports[port.Peer].Peer)
	})
	cfg := b.cfg
	cfg.Avoided = []Avoided{
		{SwitchPort: routing.SwitchPort{Switch: found.Nodes[found.Ports[p].Node].GUID, Port: found.Ports[p].Num}},
	}
	b.Configure(cfg)
	if out := b.heavy(); out.SameSubnet() || !slices.ContainsFunc(out.Drained, func(d view.Drained) bool {
		return d.State == view.DrainEmpty
	}) {
		t.Fatalf("the same subnet: %v, avoided: %+v", out.SameSubnet(), out.Drained)
	}
	if out := b.heavy(); !out.SameSubnet() || out.Topo == found {
		t.Error("a subnet that has not changed is another one")
	}
}

// TestReturning: a link that returns is not offered to routes that lack something before it is ACTIVE.
func TestReturning(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	found, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	p := topo.PortIdx(slices.IndexFunc(found.Ports, func(p topo.Port) bool {
		return p.Peer != topo.None && found.BetweenSwitches(p.Peer)
	}))
	list := []Avoided{
		{SwitchPort: routing.SwitchPort{Switch: found.Nodes[found.Ports[p].Node].GUID, Port: found.Ports[p].Num},
			Ports: PortEnabled},
	}
	for _, state := range []smp.PortState{smp.PortInit, smp.PortArmed, smp.PortActive} {
		found.Ports[p].Unhealthy, found.Ports[found.Ports[p].Peer].Unhealthy = false, false
		found.Ports[p].Info.SetPortState(state)
		all, marked := avoidSick(found, list)
		if len(all) != 1 || all[0].State != view.DrainEmpty || (len(marked) > 0) != (state == smp.PortActive) ||
			!found.Ports[p].Unhealthy {
			t.Errorf("%v: %+v, offered %v", state, all, marked)
		}
	}
}
