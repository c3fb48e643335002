package main_test

import (
	"maps"
	"sync"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// downDefaults are the LinkDownDefaultStates of ports to which something was written; all
// are Sleep at first.
type downDefaults struct {
	mu  sync.Mutex
	now map[net.End]smp.PortPhysicalState
}

// of makes the agent of a node hold them.
func (d *downDefaults) of(node int32, n *net.Node) fabric.Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if p.AttrID() != smp.AttrPortInfo {
			return obey(), true
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		at := net.End{Node: node, Port: uint8(p.AttrMod())}
		if n.Type != mad.Switch {
			at.Port = 1
		}
		was, known := d.now[at]
		if !known {
			was = smp.PhysSleep
		}
		if p.Method() == mad.MethodSet {
			if sent := (*smp.PortInfo)(p.Data()).LinkDownDefaultState(); sent != smp.PhysNoChange {
				was = sent
			}
			d.now[at] = was
		}
		status := obey()
		(*smp.PortInfo)(p.Data()).SetLinkDownDefaultState(was)
		return status, true
	}
}

// TestLinkDownDefaultState: ports that go to Sleep when their link goes down, as a manager may
// have left them, get Polling from either manager.
func TestLinkDownDefaultState(t *testing.T) {
	var left [2]map[net.End]smp.PortPhysicalState
	for i, m := range []string{"OpenSM", "ibsm"} {
		n := nettest.Generate(t, "fattree:k=4,levels=2")
		d := &downDefaults{now: map[net.End]smp.PortPhysicalState{}}
		w := newTestSubnetWith(t, n, 1, func(i int32, node *net.Node, c *fabric.Caps) { c.Defect = d.of(i, node) })
		if m == "OpenSM" {
			w.bringUp("ibsim-run", "opensm", "-f", "stdout", "-s", "0", "-R", "minhop")
		} else {
			w.bringUp(program(t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0", "-R", "minhop")
		}
		d.mu.Lock()
		left[i] = maps.Clone(d.now)
		d.mu.Unlock()
		maps.DeleteFunc(left[i], func(at net.End, _ smp.PortPhysicalState) bool { return at.Port == 0 }) // no link
		for at, state := range left[i] {
			if state != smp.PhysPolling {
				t.Errorf("%s leaves port %d of node %d with %v", m, at.Port, at.Node, state)
			}
		}
	}
	if len(left[0]) != 32 || !maps.Equal(left[0], left[1]) {
		t.Errorf("OpenSM wrote to %d ports, ibsm to %d; want both ends of 16 links", len(left[0]), len(left[1]))
	}
}
