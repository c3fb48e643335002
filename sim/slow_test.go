package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// beside is how long another host's reboot, or a new host, may take beside slow agents until its port is ACTIVE.
const beside = 5 * time.Second

// slowAgentsOf are agents of a fat tree that become slow together. All say that they hold 65,535 P_Keys.
type slowAgentsOf struct {
	kind  string // hosts that lie, switches, or the switch nearest to the manager
	count int
	takes time.Duration // for an answer
}

func (s slowAgentsOf) String() string { return fmt.Sprintf("%d %s, %v", s.count, s.kind, s.takes) }

// pick are the agents, spread over the tree. Those in the way of others are spared.
func (s slowAgentsOf) pick(n *net.Net, spared ...int32) (nodes []int32) {
	near := n.Nodes[firstHost(n).Node].Ports[1].Peer.Node
	if s.kind == "nearest" {
		return []int32{near}
	}
	var all []int32
	for i := range n.Nodes {
		is := n.Nodes[i].Type == mad.CA
		if is == (s.kind == "hosts") && int32(i) != near && !slices.Contains(spared, int32(i)) {
			all = append(all, int32(i))
		}
	}
	for i := range s.count {
		nodes = append(nodes, all[i*len(all)/s.count])
	}
	return nodes
}

// slowDown makes the agents slow. A host that lies answers any number of requests at a time; the agent of a switch
// answers the truth, one after the other. Links of hosts bounce.
func (b *harness) slowDown(s slowAgentsOf, nodes []int32) {
	for _, node := range nodes {
		if b.net.Nodes[node].Type == mad.Switch {
			b.Fabric.SetAgentTime(node, s.takes, 16)
			continue
		}
		lie := &fabric.Lie{Self: b.Fabric.ClaimOf(node, 1), Delay: s.takes}
		lie.Self.Info.SetPartitionCap(0xffff)
		b.Fabric.SetLie(node, lie)
		at := net.End{Node: node, Port: 1}
		b.Fabric.LinkDown(at)
		b.Fabric.LinkUp(at)
	}
}

// awaitActive waits until a port is ACTIVE, and returns how long that took; more than a minute if it did not come.
func (b *harness) awaitActive(at net.End) time.Duration {
	from := b.Fabric.Now()
	b.Run(from+time.Minute+1, func() bool {
		info := b.Fabric.PortInfo(at)
		return info.PortState() == smp.PortActive
	})
	return b.Fabric.Now() - from
}

// TestSlowBeside: agents that take long for each answer, or never answer in time, cost themselves. Beside one, ten, and
// a tenth of all agents another host's reboot is handled within five seconds at any time, and so is a new host.
func TestSlowBeside(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=6") // 99 nodes
	other, added := host(n, 40), host(n, 30)
	var all []slowAgentsOf
	for _, takes := range []time.Duration{700 * time.Millisecond, 3 * time.Second} {
		for _, kind := range []string{"hosts", "switches"} {
			all = append(all, slowAgentsOf{kind, 1, takes}, slowAgentsOf{kind, len(n.Nodes) / 10, takes},
				slowAgentsOf{kind, 10, takes})
		}
		all = append(all, slowAgentsOf{"nearest", 1, takes})
	}
	for i := range 4 * len(all) {
		s, atStart, cfg := all[i/4], i%2 > 0, minhopConfig()
		if i%4 > 1 {
			cfg = portMKeys(1)
		}
		if atStart && s.kind == "nearest" {
			continue // see TestSlowStart
		}
		t.Run(fmt.Sprintf("%v, from the start %v, M_Keys %v", s, atStart, i%4 > 1), func(t *testing.T) {
			slow := s.pick(n, firstHost(n).Node, other.Node, added.Node, n.Nodes[other.Node].Ports[1].Peer.Node,
				n.Nodes[added.Node].Ports[1].Peer.Node)
			b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, c *fabric.Caps) {
				if slices.Contains(slow, i) {
					c.PartitionCap = 0xffff
				}
			}})
			b.Fabric.NodeDown(added.Node)
			if atStart {
				b.slowDown(s, slow)
				b.add(firstHost(n), cfg)
				if took := b.awaitActive(other); took > beside+200*time.Millisecond {
					t.Errorf("the subnet comes up after %v", took)
				}
			} else {
				b.comeUp(cfg)
				b.slowDown(s, slow)
			}
			most := time.Duration(0)
			for round := range 8 {
				b.pass(time.Duration(round) * 1700 * time.Millisecond)
				b.Fabric.LinkDown(other)
				b.pass(50 * time.Millisecond)
				b.Fabric.LinkUp(other)
				took := b.awaitActive(other)
				if most = max(most, took); took > beside {
					t.Errorf("round %d: the other host is ACTIVE after %v", round, took)
				}
			}
			t.Logf("the other host is ACTIVE after %v at most", most)
			b.Fabric.NodeUp(added.Node)
			if took := b.awaitActive(added); took > beside {
				t.Errorf("the new host is ACTIVE after %v", took)
			}
		})
	}
}

// TestSlowStart: a manager that starts behind a switch whose agent takes 700 ms for each answer brings the subnet up,
// though in several sweeps: what one has left out comes first in the next. Behind one that never answers in time it
// sweeps on, and reports that.
func TestSlowStart(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=6")
	for _, takes := range []time.Duration{700 * time.Millisecond, 3 * time.Second} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		s := slowAgentsOf{"nearest", 1, takes}
		b.slowDown(s, s.pick(n))
		m := b.add(firstHost(n), minhopConfig())
		b.pass(4 * time.Minute)
		for _, up := range m.ups {
			if up.Took > 30*time.Second {
				t.Errorf("%v: a sweep took %v", takes, up.Took)
			}
		}
		switch nodes := len(m.View.Topo.Nodes); {
		case takes == 700*time.Millisecond && nodes < len(n.Nodes):
			t.Errorf("%v: %d of %d nodes after %d sweeps", takes, nodes, len(n.Nodes), len(m.ups))
		case takes > time.Second && m.says("no answer behind the port") == 0:
			t.Errorf("%v: nothing is reported", takes)
		}
	}
}

// TestSlowRecovers: agents that answer in time again are asked again, and nothing of them stays behind.
func TestSlowRecovers(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, takes := range []time.Duration{700 * time.Millisecond, 3 * time.Second} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		m := b.comeUp(minhopConfig())
		s := slowAgentsOf{"switches", 3, takes}
		slow := s.pick(n)
		b.slowDown(s, slow)
		for range 5 {
			b.Fabric.Reboot(host(n, 9).Node)
			b.pass(7 * time.Second)
		}
		s.takes = 0
		b.slowDown(s, slow)
		b.pass(3 * time.Minute)
		b.mustBeWhole(m)
		for _, f := range m.View.Findings {
			t.Errorf("%v: %v %v", takes, f.Node, f.String())
		}
	}
}

// TestSlowJoin: a group reaches those who join it within five seconds, although switches take long for their blocks.
func TestSlowJoin(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=6")
	for _, s := range []slowAgentsOf{{"switches", 1, 700 * time.Millisecond}, {"switches", 5, 700 * time.Millisecond},
		{"switches", 5, 3 * time.Second}} {
		for _, restart := range []bool{false, true} {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			slow := s.pick(n)
			c := newChoir(b, minhopConfig())
			for i := range 300 {
				c.group(i, 0xc200)
				c.join(i, host(n, i%50), 1)
			}
			c.sing()
			b.slowDown(s, slow)
			if restart {
				b.Kill(c.m.Manager)
				c.m = b.add(firstHost(n), minhopConfig())
				c.listen(c.m)
				b.Register(c.m.Manager, c.reg.Freeze())
				b.pass(10 * time.Second)
			}
			for i := range 8 {
				c.join(40*i, host(n, 50+i%4), 1)
				if took := c.sing(); took > beside {
					t.Errorf("%v, restart %v: join %d after %v", s, restart, i, took)
				}
				b.pass(3 * time.Second)
			}
		}
	}
}

// TestSlowSwitchesWithoutEnd: the same beside hosts that say that they are switches with others behind them, without
// end, each of which is slow. (Those that answer in less than a time-out hold up sweeps for longer: docs/security.md.)
func TestSlowSwitchesWithoutEnd(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=6")
	other := host(n, 40)
	for _, takes := range []time.Duration{700 * time.Millisecond, 3 * time.Second} {
		for _, ports := range []uint8{2, 254} {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			b.comeUp(minhopConfig())
			for i := range 3 {
				liar := host(n, 5+10*i)
				b.Fabric.SetLie(liar.Node, &fabric.Lie{Self: fabric.SwitchClaim(mad.GUID(liarGUID+i), ports),
					Endless: true, Delay: takes})
				b.Fabric.LinkDown(liar)
				b.Fabric.LinkUp(liar)
			}
			most := time.Duration(0)
			for round := range 8 {
				b.pass(time.Duration(round) * 1700 * time.Millisecond)
				b.Fabric.LinkDown(other)
				b.pass(50 * time.Millisecond)
				b.Fabric.LinkUp(other)
				took := b.awaitActive(other)
				if most = max(most, took); took > beside {
					t.Errorf("%v, %d ports, round %d: the other host is ACTIVE after %v", takes, ports, round, took)
				}
			}
			t.Logf("%v, %d ports: the other host is ACTIVE after %v at most", takes, ports, most)
		}
	}
}
