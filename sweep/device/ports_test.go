package device

import (
	"bytes"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// mapping is an attribute without a place of its own.
var mapping = Attribute{ID: smp.AttrSLtoVLMappingTable, Survives: WhileInUse}

// Ports whose blocks are equal share them, whichever walk read them.
func TestPortsShare(t *testing.T) {
	at := func(node mad.GUID, port uint8) Place { return Place{mapping.ID, node, port} }
	was, is := &Ports{}, &Ports{}
	was.Read(at(1, 1), row(3, 7), nil)
	was.Read(at(1, 2), row(3, 7), nil)
	was.Read(at(1, 3), row(3, 8), nil)
	was.Read(at(1, 4), row(3, 7), []int{1})
	one := was.Blocks(at(1, 1))
	if one == nil || was.Blocks(at(1, 2)) != one || was.Blocks(at(1, 3)) == one {
		t.Error("equal blocks are not shared, or different ones are")
	}
	if b := was.Blocks(at(1, 4)); b == one || b.Complete() || b.State(1) != Unknown || b.State(2) != Known {
		t.Error("a block that did not come is known")
	}
	is.Read(at(2, 1), row(3, 8), nil)
	is.KeepMissing(was, func(node mad.GUID) bool { return node == 1 })
	is.Read(at(2, 2), row(3, 7), nil)
	if is.Blocks(at(2, 2)) != one || is.Blocks(at(1, 1)) != one || is.Blocks(at(1, 4)).Complete() ||
		!bytes.Equal(is.Blocks(at(1, 3)).Row(), row(3, 8)) {
		t.Error("what was kept is not shared, or not kept")
	}
	is = &Ports{}
	is.KeepMissing(was, func(mad.GUID) bool { return false })
	if is.Blocks(at(1, 1)) != nil || (*Ports)(nil).Blocks(at(1, 1)) != nil {
		t.Error("something is held of a node that is gone")
	}
}

// What a port is known to hold is contradicted by a reply that shows something else: then it
// is read again.
func TestPortsContradicted(t *testing.T) {
	b := topo.NewBuilder(nil)
	var info smp.NodeInfo
	info.SetNodeType(mad.Switch)
	info.SetNumPorts(2)
	info.SetNodeGUID(5)
	b.AddNode(&info, mad.Route{})
	top := b.Freeze()
	r := NewRecord()
	r.Ports = &Ports{}
	at := Place{mapping.ID, 5, 2}
	r.Ports.Read(at, slices.Concat(row(1, 3), row(1, 4)), []int{1})
	three, four := Data(row(1, 3)), Data(row(1, 4))
	p := top.Port(0, 2)
	if r.Contradicts(&mapping, top, p, 0, &three) || r.Contradicts(&mapping, top, p, 1, &three) ||
		r.Contradicts(&mapping, top, p, 2, &three) || r.Contradicts(&mapping, top, p-1, 0, &four) || !r.Holds(at) {
		t.Error("contradicted by what it holds, or where nothing is known")
	}
	if !r.Contradicts(&mapping, top, p, 0, &four) || r.Holds(at) {
		t.Error("not contradicted")
	}
}

// TestSurvive: a table is known still where neither the port, nor with some its switch, can
// have been powered up.
func TestSurvive(t *testing.T) {
	info := func(s smp.PortState) *smp.PortInfo {
		var p smp.PortInfo
		p.SetPortState(s)
		return &p
	}
	up, other := PortSet{2}, PortSet{4}
	sw := &topo.Node{GUID: 5, Type: mad.Switch}
	sw.SwitchInfo.SetLinearFDBTop(9)
	ca := &topo.Node{GUID: 6, Type: mad.CA}
	pkeys := Of(smp.AttrPKeyTable)
	for _, c := range []struct {
		name    string
		a       *Attribute
		node    *topo.Node
		num     uint8
		was, is *smp.PortInfo
		up      PortSet
		top     mad.LID
		want    bool
	}{
		{"adapter in use", &mapping, ca, 1, info(smp.PortActive), info(smp.PortArmed), PortSet{}, 0, true},
		{"adapter that came up", &mapping, ca, 1, info(smp.PortInit), info(smp.PortActive), PortSet{}, 0, false},
		{"adapter that went down", &mapping, ca, 1, info(smp.PortActive), info(smp.PortInit), PortSet{}, 0, false},
		{"adapter not seen before", &mapping, ca, 1, nil, info(smp.PortActive), PortSet{}, 0, false},
		{"adapter not read", &mapping, ca, 1, info(smp.PortActive), nil, PortSet{}, 0, false},
		{"link of a switch in use came up", &mapping, sw, 3, info(smp.PortDown), info(smp.PortInit), up, 9, true},
		{"the same, tables that go with the link", pkeys, sw, 3, info(smp.PortDown), info(smp.PortInit), up, 9, false},
		{"port 0 of a switch in use", pkeys, sw, 0, info(smp.PortActive), info(smp.PortActive), up, 9, true},
		{"port of a switch that may have been reset", &mapping, sw, 1, info(smp.PortActive), info(smp.PortActive),
			other, 9, false},
		{"port of a switch that was reset", &mapping, sw, 1, info(smp.PortActive), info(smp.PortActive), up, 0, false},
		{"port of a switch that another manager wrote", &mapping, sw, 1, info(smp.PortActive), info(smp.PortActive), up,
			8, false},
	} {
		r := NewRecord()
		r.Switches = []Switch{{GUID: 5, LFT: Read(row(1, 1), nil), Top: 9, Up: up}}
		c.node.SwitchInfo.SetLinearFDBTop(c.top)
		p := &Walking{Node: c.node, Num: c.num, Info: c.is, Up: c.up}
		if got := r.Survive(c.a, p, c.was); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if r.Take(Block{Place{c.a.ID, c.node.GUID, c.num}, 1}, TimedOut); r.Survive(c.a, p, c.was) {
			t.Errorf("%s: clean though a Set had no answer", c.name)
		}
	}
}
