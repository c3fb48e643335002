package sim_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// referee watches the Sets of a bring-up. No port may go ARMED before the table of
// its switch is whole, none ACTIVE before the other end of its link is ARMED, and no
// port is given anything before the manager's own has its LID.
type referee struct {
	*harness
	t      *testing.T
	own    net.End
	blocks map[int32]int // of its forwarding table that a switch has been given
	state  map[net.End]smp.PortState
	ownLID bool
	armed  int
	active int
}

func (r *referee) onSet(s fabric.Set) {
	if s.Status != mad.StatusOK {
		r.t.Errorf("Set(%s) of node %d is refused: %v", smp.AttrName(s.Attr), s.Node, s.Status)
		return
	}
	switch s.Attr {
	case smp.AttrLinearForwardingTable:
		r.blocks[s.Node]++
	case smp.AttrPortInfo:
		info := smp.PortInfo(s.Data)
		at := net.End{Node: s.Node, Port: uint8(s.Mod)}
		r.port(at, &info)
	}
}

func (r *referee) port(at net.End, info *smp.PortInfo) {
	if at == r.own && info.LID() != 0 {
		r.ownLID = true
	} else if !r.ownLID {
		r.t.Errorf("port %v is set before our own has a LID", at)
	}
	peer := r.Fabric.Peer(at)
	switch info.PortState() {
	case smp.PortArmed:
		r.armed++
		if r.Fabric.NodeType(at.Node) == mad.Switch && r.blocks[at.Node] == 0 {
			r.t.Errorf("port %v goes ARMED, the table of its switch is not written", at)
		}
	case smp.PortActive:
		r.active++
		if peer != net.NoEnd && r.state[peer] < smp.PortArmed {
			r.t.Errorf("port %v goes ACTIVE, the other end of its link is not ARMED", at)
		}
	}
	if s := info.PortState(); s != smp.PortNoChange {
		r.state[at] = s
	}
}

func TestOrder(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2,taper=3")
	r := &referee{t: t, own: firstHost(n), blocks: map[int32]int{}, state: map[net.End]smp.PortState{}}
	last := map[int32]int{}
	r.harness = newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(s fabric.Set) {
		r.onSet(s)
		if s.Attr == smp.AttrLinearForwardingTable {
			last[s.Node] = r.armed
		}
	}})
	m := r.comeUp(minhopConfig())
	r.mustBeWhole(m)
	for node, armed := range last {
		if armed > 0 {
			t.Errorf("switch %d is written after a port was armed", node)
		}
	}
	if ports := len(r.endPorts()); r.armed < ports || r.active < ports {
		t.Errorf("only %d ports were armed and %d activated", r.armed, r.active)
	}
}

// What was ACTIVE is never reset, whatever else happens in the fabric.
func TestActiveLinksStay(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=3x3,hosts=2")
	downs := 0
	b := newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(s fabric.Set) {
		if info := smp.PortInfo(s.Data); s.Attr == smp.AttrPortInfo &&
			(info.PortState() == smp.PortDown || info.PortPhysicalState() != smp.PhysNoChange) {
			downs++
		}
	}})
	m := b.comeUp(minhopConfig())
	b.Fabric.LinkDown(uplink(n, 0))
	b.pass(settling)
	b.Fabric.LinkUp(uplink(n, 0))
	b.Fabric.Reboot(3)
	b.pass(settling)
	m.sweep(manager.Reroute)
	b.mustBeWhole(m)
	if downs > 0 {
		t.Errorf("%d Sets take a link down", downs)
	}
}
