package topo_test

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// twoPorts is a subnet of one adapter with two ports, whose GUIDs are 0xa1 and 0xa2 and whose LIDs are 5 and 6.
func twoPorts(t *testing.T) (*topo.Topo, *topo.LIDs) {
	t.Helper()
	b := topo.NewBuilder(nil)
	var info smp.NodeInfo
	info.SetNodeType(mad.CA)
	info.SetNumPorts(2)
	info.SetNodeGUID(0xa0)
	info.SetPortGUID(0xa1)
	info.SetLocalPortNum(1)
	n := b.AddNode(&info, mad.Route{})
	b.SetPortGUID(topo.End{Node: n, Port: 2}, 0xa2)
	b.SetPort(topo.End{Node: n, Port: 1}, &smp.PortInfo{})
	b.SetPort(topo.End{Node: n, Port: 2}, &smp.PortInfo{})
	subnet := b.Freeze()
	base := make([]mad.LID, len(subnet.Ports))
	base[subnet.FindPort(0xa1)], base[subnet.FindPort(0xa2)] = 5, 6
	return subnet, topo.NewLIDs(base, make([]uint8, len(base)))
}

func TestVPorts(t *testing.T) {
	subnet, lids := twoPorts(t)
	p1, p2 := subnet.FindPort(0xa1), subnet.FindPort(0xa2)
	subnet.VPorts = topo.NewVPorts([]topo.VPort{
		{GUID: 0xa1, Port: p1, Index: 0},
		{GUID: 0xf2, Port: p1, Index: 1, LID: 9, LIDRequired: true},
		{GUID: 0xf1, Port: p1, Index: 7, Shares: 1},
		{Port: p1, Index: 8},
		{GUID: 0xf4, Port: p2, Index: 3},
		{GUID: 0xf1, Port: p2, Index: 4, Elsewhere: true},
	}, map[topo.VPortIdx][]mad.GUID{4: {0xe1, 0xe2}})
	for guid, want := range map[mad.GUID]topo.VPortIdx{
		0xf1: 2, 0xf2: 1, 0xf4: 4, 0xe2: 4,
		0xa1: topo.None, // the port's
		0:    topo.None, 0xf9: topo.None,
	} {
		if got := subnet.FindVPort(guid); got != want {
			t.Errorf("GUID %v is that of vPort %d of the list, want %d", guid, got, want)
		}
	}
	for i, want := range map[topo.VPortIdx]struct {
		lid mad.LID
		own bool
	}{0: {5, false}, 1: {9, true}, 2: {9, false}, 3: {5, false}, 4: {6, false}} {
		if lid, own := subnet.LIDOf(lids, i); lid != want.lid || own != want.own {
			t.Errorf("vPort %d of the list has LID %v, own %t; want %v, %t", i, lid, own, want.lid, want.own)
		}
	}
	if got := subnet.VPorts.OfLID(9); got != 1 {
		t.Errorf("LID 9 is that of vPort %d of the list, want 1", got)
	}
	if got := subnet.VPorts.OfLID(5); got != topo.None {
		t.Errorf("LID 5, a port's, is that of vPort %d of the list", got)
	}
	if first, end := subnet.VPorts.Of(p1); first != 0 || end != 4 {
		t.Errorf("the first port has vPorts %d to %d, want 0 to 4", first, end)
	}
	if got := subnet.VPorts.FindAt(p1, 7); got != 2 {
		t.Errorf("vPort 7 of the first port is %d of the list, want 2", got)
	}
	if got := subnet.VPorts.FindAt(p1, 3); got != topo.None {
		t.Errorf("vPort 3 of the first port is %d of the list, want none", got)
	}
}

// The nil value is a subnet without vPorts.
func TestNoVPorts(t *testing.T) {
	subnet, _ := twoPorts(t)
	p := subnet.FindPort(0xa1)
	if first, end := subnet.VPorts.Of(p); first != end {
		t.Errorf("the port has vPorts %d to %d, want none", first, end)
	}
	if subnet.FindVPort(1) != topo.None || subnet.VPorts.OfLID(1) != topo.None || subnet.VPorts.Len() != 0 ||
		subnet.VPorts.FindAt(p, 0) != topo.None {
		t.Error("a subnet without vPorts has one")
	}
	if topo.NewVPorts(nil, nil) != nil {
		t.Error("vPorts made of an empty list are not nil")
	}
}

// Two subnets that differ in one vPort cannot take each other's place.
func TestSameVPorts(t *testing.T) {
	subnet, _ := twoPorts(t)
	p := subnet.FindPort(0xa1)
	name, same := smp.NodeDescription{'a'}, smp.NodeDescription{'a'}
	list := []topo.VPort{{GUID: 0xf1, Port: p, Index: 1, State: smp.PortActive, Desc: &name,
		PKeys: topo.NewPKeyTable([]mad.PKey{0xffff})}}
	subnet.VPorts = topo.NewVPorts(list, nil)
	for what, change := range map[string]func(*topo.VPort){
		"":            func(*topo.VPort) {},
		"an equal":    func(v *topo.VPort) { v.Desc, v.PKeys = &same, topo.NewPKeyTable([]mad.PKey{0xffff}) },
		"a state":     func(v *topo.VPort) { v.State = smp.PortDown },
		"a P_Key":     func(v *topo.VPort) { v.PKeys = topo.NewPKeyTable([]mad.PKey{0x8001}) },
		"no P_Keys":   func(v *topo.VPort) { v.PKeys = nil },
		"a name":      func(v *topo.VPort) { v.Desc = &smp.NodeDescription{'b'} },
		"another LID": func(v *topo.VPort) { v.LID = 4 },
	} {
		other, changed := *subnet, slices.Clone(list)
		change(&changed[0])
		other.VPorts = topo.NewVPorts(changed, nil)
		if got, want := subnet.Same(&other), what == "" || what == "an equal"; got != want {
			t.Errorf("with %s, Same is %t", what, got)
		}
	}
	other := *subnet
	if other.VPorts = nil; subnet.Same(&other) || other.Same(subnet) {
		t.Error("a subnet without vPorts takes the place of one with some")
	}
}
