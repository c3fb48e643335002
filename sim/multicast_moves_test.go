package sim_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/routing/mcast"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// mfts counts the Sets of multicast tables.
func (b *harness) mfts() (count uint64) {
	for k, n := range b.Fabric.Stats().SMPs {
		if k.Method == mad.MethodSet && k.Attr == smp.AttrMulticastForwardingTable {
			count += n
		}
	}
	return count
}

// filled is a choir of groups in which every host is a member of some.
func filled(t *testing.T, spec string, groups int, cfg fabric.Config) (*choir, *rand.Rand) {
	c := newChoir(newHarness(t, nettest.Generate(t, spec), cfg), minhopConfig())
	return c, c.fill(groups)
}

// fill makes groups, and every host a member of some.
func (c *choir) fill(groups int) *rand.Rand {
	rng := rand.New(rand.NewPCG(7, uint64(groups)))
	ports := c.endPorts()
	for i := range groups {
		c.group(i, 0)
		c.join(i, ports[rng.IntN(len(ports))], registry.FullMember)
	}
	for _, at := range ports {
		for range 3 {
			c.join(rng.IntN(groups), at, registry.FullMember)
		}
	}
	c.sing()
	return rng
}

// No packet meets a circle, nor gets there twice, while trees move: not between any two of
// the packets that switches are written by.
func TestMulticastMovesWithoutLoops(t *testing.T) {
	for _, spec := range []string{"torus:dims=4x4,hosts=1", "hyperx:dims=3x3,hosts=1", "fattree:k=4"} {
		t.Run(spec, func(t *testing.T) {
			moved, moody, mood := 0, false, rand.New(rand.NewPCG(9, 9))
			c, rng := filled(t, spec, 12, fabric.Config{Seed: 3, OnSet: func(s fabric.Set) {
				if s.Attr == smp.AttrMulticastForwardingTable {
					moved++
				}
			}, Caps: func(_ int32, _ *net.Node, caps *fabric.Caps) {
				caps.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					if !moody || p.AttrID() != smp.AttrMulticastForwardingTable || mood.IntN(3) == 0 {
						return obey(), true
					}
					if mood.IntN(2) == 0 {
						moved++
						obey()
					}
					return 0, false
				}
			}})
			for _, moody = range []bool{false, true} {
				c.Fabric.SetFaults(fabric.Faults{Jitter: 20 * time.Microsecond})
				for range 12 {
					at := uplinkOf(c.Fabric, rng)
					c.Fabric.LinkDown(at)
					seen := moved
					for i := range c.reg.Counts().Groups { // few members, so that trees become bad
						for m := range c.reg.Members(mgid(i)) {
							if rng.IntN(3) == 0 {
								c.apply(registry.DeleteMember{MGID: mgid(i), Port: m.Port})
							}
						}
					}
					for range 30 {
						c.randomChange(rng, 12, c.endPorts())
					}
					c.Register(c.m.Manager, c.reg.Freeze())
					c.Run(c.Fabric.Now()+15*time.Second, func() bool {
						if moved != seen {
							seen = moved
							c.noLoops(rng)
						}
						return t.Failed()
					})
					c.Fabric.LinkUp(at)
				}
			}
			moody = false
			c.pass(settling)
			c.judgeMulticast()
			if moved < 100 {
				t.Errorf("only %d blocks were set", moved)
			}
		})
	}
}

// noLoops sends on every MLID from one member.
func (c *choir) noLoops(rng *rand.Rand) {
	for mlid := range c.reg.MLIDs() {
		ends := slices.SortedFunc(maps.Keys(c.listeners(mlid)), func(a, b net.End) int { return int(a.Node - b.Node) })
		if len(ends) == 0 {
			continue
		}
		from := ends[rng.IntN(len(ends))]
		if s := c.Fabric.ProbeMulticast(from, mlid, mad.DefaultPKey, 0); s.Duplicates > 0 ||
			s.Drops[fabric.DropLoop] > 0 {
			c.Errorf("at %v MLID %v from %v: %d duplicates, %d in circles", c.Fabric.Now(), mlid, from, s.Duplicates,
				s.Drops[fabric.DropLoop])
		}
	}
}

// A manager that takes over with the same registry writes no multicast table, though trees
// that have grown and been pruned are not those that it would grow; of what nobody has
// registered any more it clears the entries.
func TestMulticastTakeover(t *testing.T) {
	c, rng := filled(t, "fattree:k=6", 40, fabric.Config{Seed: 1})
	for range 200 {
		c.randomChange(rng, 40, c.endPorts())
		c.sing()
	}
	c.judgeMulticast()
	c.m.retire()
	before := c.mfts()
	c.m = c.add(host(c.net, 1), minhopConfig())
	c.listen(c.m)
	c.forwarded = manager.Forwarded{}
	c.sing()
	c.pass(settling)
	c.judgeMulticast()
	if n := c.mfts() - before; n != 0 {
		t.Errorf("%d blocks of multicast tables are set", n)
	}
	c.m.retire()
	for i := range 40 {
		if i != 20 {
			c.apply(registry.DeleteGroup{MGID: mgid(i)})
		}
	}
	c.m = c.add(host(c.net, 2), minhopConfig())
	c.listen(c.m)
	c.sing()
	c.pass(settling)
	c.judgeMulticast()
	for mlid := mad.MinMulticastLID; mlid < mad.MinMulticastLID+32; mlid++ {
		for i := range c.net.Nodes {
			for num := 0; num <= c.net.Nodes[i].NumPorts() && c.net.Nodes[i].Type == mad.Switch; num++ {
				if mlid != mad.MinMulticastLID+20 && c.Fabric.MulticastPort(int32(i), mlid, uint8(num)) {
					t.Fatalf("switch %d still forwards MLID %v", i, mlid)
				}
			}
		}
	}
}

// A join is forwarded without a sweep, in a few times what a packet takes, while a sweep is
// under way, too, and costs the blocks of one branch.
func TestMulticastJoinIsQuick(t *testing.T) {
	c, _ := filled(t, "fattree:k=8", 20, fabric.Config{Seed: 1})
	ups := len(c.m.ups)
	for i := range 20 {
		if i == 10 {
			c.Ask(c.m.Manager, manager.Heavy)
			ups++
		}
		before := c.mfts()
		c.join(i, host(c.net, 3*i), registry.FullMember)
		if took := c.sing(); took > 5*time.Millisecond {
			t.Errorf("a join took %v", took)
		}
		if n := c.mfts() - before; n > 5 {
			t.Errorf("a join cost %d blocks", n)
		}
	}
	if len(c.m.ups) > ups {
		t.Errorf("%d sweeps", len(c.m.ups)-ups)
	}
	c.pass(settling)
	c.judgeMulticast()
}

// Where nothing has to be written the registry is forwarded all the same.
func TestMulticastForwardsNothing(t *testing.T) {
	c, _ := filled(t, "fattree:k=4", 1, fabric.Config{Seed: 1})
	before := c.mfts()
	c.group(1, 0)
	c.sing()
	c.join(1, host(c.net, 0), registry.FullMember)
	c.sing()
	c.apply(registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: 7, Index: 1}, GUID: 8}})
	c.sing()
	if n := c.mfts() - before; n != 0 {
		t.Errorf("%d blocks are set", n)
	}
}

// A switch that does not accept its table is reported, and does not hold the others back;
// after a while trees lead around it.
func TestMulticastDefectiveSwitch(t *testing.T) {
	for _, c := range []struct {
		name  string
		agent func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool)
		words string
	}{
		{"refuses", func(*mad.Packet, func() mad.Status) (mad.Status, bool) {
			return mad.StatusBadField, true
		}, "refused"},
		{"is unresponsive", func(*mad.Packet, func() mad.Status) (mad.Status, bool) { return 0, false }, "no answer"},
		{"forgets", func(p *mad.Packet, _ func() mad.Status) (mad.Status, bool) {
			*p.Data() = [mad.DataSize]byte{}
			return mad.StatusOK, true
		}, "the response has other values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4,levels=2")
			spine := uplinkPeer(n)
			ch := newChoir(newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, caps *fabric.Caps) {
				if i == spine {
					caps.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
						if p.AttrID() == smp.AttrMulticastForwardingTable && p.Method() == mad.MethodSet {
							return c.agent(p, obey)
						}
						return obey(), true
					}
				}
			}}), minhopConfig())
			for i := range 4 {
				ch.group(i, 0)
				for _, at := range ch.endPorts() {
					if n.Nodes[at.Node].Type == mad.CA {
						ch.join(i, at, registry.FullMember)
					}
				}
			}
			if took := ch.sing(); took > 3*time.Second {
				t.Errorf("forwarded after %v", took)
			}
			if len(ch.forwarded.Failures) == 0 || ch.m.says("multicast forwarding tables", c.words) == 0 {
				t.Errorf("the failure is not reported: %+v", ch.forwarded)
			}
			ch.pass(settling)
			if ch.m.says(finding.MFTAvoided.Text(), n.Nodes[spine].GUID.String()) == 0 {
				t.Error("it is not said that trees avoid the switch")
			}
			ch.judgeMulticast()
		})
	}
}

// uplinkPeer is a switch above the first one that has hosts.
func uplinkPeer(n *net.Net) int32 {
	leaf := n.Nodes[firstHost(n).Node].Ports[1].Peer.Node
	up := uplink(n, leaf)
	return n.Nodes[leaf].Ports[up.Port].Peer.Node
}

// MulticastFDBTop rises with the groups; default multicast ports are closed.
func TestMulticastTop(t *testing.T) {
	c, _ := filled(t, "fattree:k=4", 5, fabric.Config{Seed: 1})
	for _, want := range []struct {
		groups int
		top    mad.LID
	}{{5, 0xc01f}, {32, 0xc01f}, {33, 0xc03f}, {65, 0xc05f}, {130, 0xc0bf}} {
		for i := c.reg.Counts().Groups; i < want.groups; i++ {
			c.group(i, 0)
			c.join(i, host(c.net, i%16), registry.FullMember)
			c.join(i, host(c.net, (i+5)%16), registry.NonMember)
		}
		c.sing()
		for i := range c.net.Nodes {
			if c.net.Nodes[i].Type != mad.Switch {
				continue
			}
			if info := c.Fabric.SwitchInfo(int32(i)); info.MulticastFDBTop() != want.top {
				t.Errorf("%d groups: MulticastFDBTop is %v, want %v", want.groups, info.MulticastFDBTop(), want.top)
			}
		}
		c.judgeMulticast()
	}
}

// Thousands of groups on a large fabric, and more groups than MLIDs: those that agree share.
func TestMulticastManyGroups(t *testing.T) {
	spec, groups, last := "fattree:k=6", 200, mad.LID(0xc000+99)
	if os.Getenv("IBSM_PROOF") != "" {
		spec, groups, last = "fattree:k=16", 2000, 0xc000+1023 // what the switches can hold
	}
	for _, c := range []struct {
		name string
		last mad.LID
		caps uint16
	}{{"an MLID each", 0xfffe, 16384}, {"shared", last, 1024}} {
		t.Run(c.name, func(t *testing.T) {
			ch := newChoir(
				newHarness(t, nettest.Generate(t, spec),
					fabric.Config{Seed: 1, Caps: func(_ int32, n *net.Node, caps *fabric.Caps) {
						if n.Type == mad.Switch {
							caps.MulticastFDBCap = c.caps
						}
					}}), minhopConfig())
			rng := rand.New(rand.NewPCG(1, 1))
			ports := ch.endPorts()
			for i := range groups {
				ch.group(i, c.last)
				for range 2 + rng.IntN(30) {
					ch.join(i, ports[rng.IntN(len(ports))],
						pick(rng, registry.FullMember, registry.FullMember, registry.NonMember,
							registry.SendOnlyNonMember))
				}
			}
			var watch stepWatch
			ch.StepTook = watch.took
			took := ch.sing()
			ch.StepTook = nil
			t.Logf("%d groups on %d MLIDs: forwarded after %v, %d blocks, slowest step of the core %v", groups,
				len(slices.Collect(ch.reg.MLIDs())),
				took, ch.mfts(), watch.slowest)
			ch.judgeMulticast()
			for range 100 {
				ch.randomChange(rng, groups, ports)
			}
			ch.sing()
			at := uplinkOf(ch.Fabric, rng)
			ch.Fabric.LinkDown(at)
			ch.pass(settling)
			ch.judgeMulticast()
		})
	}
}

// A group that comes and goes while a sweep is under way, so that none has to raise
// MulticastFDBTop for it, holds nobody up.
func TestMulticastGroupThatWent(t *testing.T) {
	c, _ := filled(t, "fattree:k=4", mcast.BlockSize, fabric.Config{Seed: 1})
	c.Ask(c.m.Manager, manager.Heavy)
	c.pass(2 * time.Millisecond)
	c.group(mcast.BlockSize, 0)
	c.Register(c.m.Manager, c.reg.Freeze())
	c.pass(2 * time.Millisecond)
	c.apply(registry.DeleteGroup{MGID: mgid(mcast.BlockSize)})
	c.sing()
}

// A group that calls for a higher MulticastFDBTop is forwarded when it comes while the first
// sweep of a standby that takes over computes, too.
func TestMulticastGroupOfFirstSweep(t *testing.T) {
	high := minhopConfig()
	high.Elect.Priority = 9
	c := newChoir(newHarness(t, nettest.Generate(t, "fattree:k=4"), fabric.Config{Seed: 1}), high)
	master := c.m
	c.m = c.add(host(c.net, 1), minhopConfig())
	c.listen(c.m)
	t.Cleanup(c.m.dump)
	c.Register(c.m.Manager, c.reg.Freeze())
	c.pass(settling)
	c.Kill(master.Manager)
	if !c.Run(c.Fabric.Now()+settling, func() bool { return c.m.last() == smp.Master }) || c.m.View != nil {
		t.Fatal("the standby is not in its first sweep")
	}
	for i := range mcast.BlockSize + 1 {
		c.group(i, 0)
	}
	if took := c.sing(); took > 100*time.Millisecond {
		t.Errorf("it took %v: only a sweep for another reason has raised it", took)
	}
}

// While a sweep lowers MulticastFDBTop again, no group above it passes for forwarded.
func TestMulticastTopLowered(t *testing.T) {
	c, _ := filled(t, "fattree:k=4", mcast.BlockSize+1, fabric.Config{Seed: 1})
	c.apply(registry.DeleteGroup{MGID: mgid(mcast.BlockSize)})
	c.sing()
	c.Ask(c.m.Manager, manager.Heavy)
	c.pass(2 * time.Millisecond)
	c.group(mcast.BlockSize, 0)
	c.join(mcast.BlockSize, host(c.net, 0), registry.FullMember)
	c.join(mcast.BlockSize, host(c.net, 5), registry.FullMember)
	c.sing()
	for range 50 {
		c.judgeMulticast()
		c.pass(time.Millisecond)
	}
}

// A manager that takes over does not know what a switch forwards that does not show its
// multicast table: it writes all of it, so that nothing that was forwarded before is left.
func TestMulticastTablesNotShown(t *testing.T) {
	for name, shows := range ordered(map[string]bool{"refused": true, "no answer": false}) {
		t.Run(name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4,levels=2")
			leaf := n.Nodes[firstHost(n).Node].Ports[1].Peer.Node
			c := newChoir(
				newHarness(
					t, n, fabric.Config{Seed: 1,
						Caps: defective(leaf, func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
							if p.AttrID() == smp.AttrMulticastForwardingTable && p.Method() == mad.MethodGet {
								return mad.StatusBadField, shows
							}
							return obey(), true
						})}), minhopConfig())
			c.group(0, 0)
			for i := range 3 {
				c.join(0, host(n, i), registry.FullMember)
			}
			c.sing()
			c.judgeMulticast()
			c.m.retire()
			c.apply(registry.DeleteGroup{MGID: mgid(0)})
			c.m = c.add(host(n, 1), minhopConfig())
			c.listen(c.m)
			c.forwarded = manager.Forwarded{}
			c.sing()
			c.pass(settling)
			for i := range n.Nodes {
				for num := 0; num <= n.Nodes[i].NumPorts() && n.Nodes[i].Type == mad.Switch; num++ {
					if c.Fabric.MulticastPort(int32(i), mad.MinMulticastLID, uint8(num)) {
						t.Errorf("switch %d still forwards the group's MLID to port %d", i, num)
					}
				}
			}
		})
	}
}
