package sim_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/routing/ftree"
	"ibsm/routing/updn"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// choir is a manager whose clients join and leave multicast groups.
type choir struct {
	*harness
	m         *watched
	reg       *registry.Registry
	forwarded manager.Forwarded // last
}

// newChoir brings a fabric up with an empty registry.
func newChoir(b *harness, cfg manager.Config) *choir {
	c := &choir{harness: b, reg: registry.New()}
	c.m = b.add(firstHost(b.net), cfg)
	b.Cleanup(c.m.dump)
	c.listen(c.m)
	b.Register(c.m.Manager, c.reg.Freeze())
	b.pass(settling)
	if len(c.m.ups) == 0 {
		b.Fatal("the subnet did not come up")
	}
	return c
}

// listen notes what a manager forwards.
func (c *choir) listen(m *watched) {
	forward := m.OnAction
	m.OnAction = func(now time.Duration, a manager.Action) {
		if f, ok := a.(manager.Forwarded); ok {
			c.forwarded = f
		}
		forward(now, a)
	}
}

// sing gives the manager what is registered and waits until it is forwarded.
func (c *choir) sing() time.Duration {
	c.Helper()
	began, state := c.Fabric.Now(), c.reg.Freeze()
	c.Register(c.m.Manager, state)
	if !c.Run(began+settling, func() bool { return c.forwarded.Seq == state.Seq() }) {
		c.m.dump()
		c.Fatalf("change %d is not forwarded; %d was", state.Seq(), c.forwarded.Seq)
	}
	return c.Fabric.Now() - began
}

func (c *choir) apply(changes ...registry.Change) {
	c.Helper()
	for _, change := range changes {
		if err := c.reg.Apply(change); err != nil {
			c.Fatal(err)
		}
	}
}

// mgid is a group of the tests.
func mgid(i int) (g mad.GID) {
	g[0], g[1], g[13], g[14], g[15] = 0xff, 0x12, byte(i>>16), byte(i>>8), byte(i)
	return g
}

// group makes a group, on an MLID that AllotMLID gives it.
func (c *choir) group(i int, last mad.LID) {
	c.Helper()
	g := registry.Group{MGID: mgid(i), PKey: mad.DefaultPKey, QKey: 1, MTU: mad.MTU2048, Rate: 3}
	mlid, ok := c.reg.AllotMLID(&g, registry.MLIDPolicy{Last: last})
	if !ok {
		c.Fatal("no MLID is left")
	}
	g.MLID = mlid
	c.apply(registry.PutGroup{Group: g})
}

// gid is that of a port.
func (c *choir) gid(at net.End) mad.GID { return mad.MakeGID(mad.DefaultPrefix, c.Fabric.PortGUID(at)) }

// join makes a port a member.
func (c *choir) join(i int, at net.End, state registry.JoinState) {
	c.Helper()
	if change := c.reg.Join(registry.Member{MGID: mgid(i), Port: c.gid(at), JoinState: state}); change != nil {
		c.apply(change)
	}
}

// leave ends the membership of a port; the group stays.
func (c *choir) leave(i int, at net.End) {
	if _, is := c.reg.Member(mgid(i), c.gid(at)); is {
		c.apply(registry.DeleteMember{MGID: mgid(i), Port: c.gid(at)})
	}
}

// listeners are the ports that use an MLID, and whether each receives.
func (c *choir) listeners(mlid mad.LID) map[net.End]bool {
	ends := map[net.End]bool{}
	for g := range c.reg.OnMLID(mlid) {
		for m := range c.reg.Members(g.MGID) {
			guid := m.Port.GUID()
			if slot, is := c.reg.Alias(guid); is {
				guid = slot.Port
			}
			if at, ok := c.Fabric.Find(guid); ok {
				ends[at] = ends[at] || m.JoinState.Receives()
			}
		}
	}
	return ends
}

// judgeMulticast sends a packet from each member of each group, or from some where there
// are many: each other receiver must get one copy, and nobody else any.
func (c *choir) judgeMulticast() {
	c.Helper()
	for mlid := range c.reg.MLIDs() {
		ends := c.listeners(mlid)
		sent := 0
		for from := range ends {
			if sent++; sent > 20 || c.Failed() {
				break
			}
			c.judgeSpread(mlid, from, ends)
		}
	}
	if c.m.View == nil {
		c.Error("no view is published")
		return
	}
	c.compareMFTs()
}

func (c *choir) judgeSpread(mlid mad.LID, from net.End, ends map[net.End]bool) {
	c.Helper()
	managed := c.reachable(c.m.Station.At().Node)
	if !c.Fabric.SendsData(from) || !managed[from.Node] {
		return
	}
	spread := c.Fabric.ProbeMulticast(from, mlid, mad.DefaultPKey, 0)
	if spread.Duplicates > 0 || spread.Drops[fabric.DropLoop] > 0 {
		c.Errorf("MLID %v from %v: %d duplicates, %d in circles", mlid, from, spread.Duplicates,
			spread.Drops[fabric.DropLoop])
	}
	for _, to := range spread.Delivered {
		if !ends[to] {
			c.Errorf("MLID %v from %v: %v got a copy", mlid, from, to)
		}
	}
	for to, receives := range ends {
		if receives && to != from && c.Fabric.SendsData(to) && managed[to.Node] &&
			!slices.Contains(spread.Delivered, to) {
			c.Errorf("MLID %v from %v: %v got no copy: %v", mlid, from, to, spread)
		}
	}
}

// compareMFTs holds the tables of the view against those of the switches.
func (c *choir) compareMFTs() {
	c.Helper()
	v := c.m.View
	for s, n := range v.Topo.Switches {
		at, ok := c.Fabric.Find(v.Topo.Ports[v.Topo.Nodes[n].First].GUID)
		if !ok {
			continue
		}
		for mlid := mad.MinMulticastLID; mlid <= c.reg.TopMLID()+1; mlid++ {
			want := v.MFTs.Ports(topo.SwitchIdx(s), mlid)
			for num := range v.Topo.Nodes[n].NumPorts + 1 {
				if c.Fabric.Powered(at.Node) && c.Fabric.MulticastPort(at.Node, mlid, num) != want.Has(num) {
					c.Errorf("switch %v, MLID %v, port %d: the view says %v", v.Topo.Nodes[n].GUID, mlid, num,
						want.Has(num))
				}
			}
		}
	}
}

// randomChange makes a random port join or leave a random group.
func (c *choir) randomChange(rng *rand.Rand, groups int, ports []net.End) {
	i, at := rng.IntN(groups), ports[rng.IntN(len(ports))]
	if _, is := c.reg.Member(mgid(i), c.gid(at)); is && rng.IntN(3) > 0 {
		c.leave(i, at)
		return
	}
	c.join(i, at, pick(rng, registry.FullMember, registry.FullMember, registry.FullMember, registry.NonMember,
		registry.SendOnlyNonMember, registry.SendOnlyFullMember))
}

// Each member gets one copy and nobody else any, on every kind of fabric, while ports join
// and leave, links are lost and switches die.
func TestMulticastEverywhere(t *testing.T) {
	for _, spec := range []string{
		"fattree:k=4", "fattree:k=8,levels=2,missing-links=4", "fattree:k=16,levels=1", "torus:dims=4x4,hosts=2",
		"mesh:dims=4x3",
		"hypercube:dim=3,hosts=2", "dragonfly:a=4,p=2,h=1", "hyperx:dims=3x3,hosts=2",
		"random:switches=12,degree=4,hosts=2", "tree:depth=3,fanout=3",
	} {
		t.Run(spec, func(t *testing.T) {
			n := nettest.Generate(t, spec)
			rng := rand.New(rand.NewPCG(uint64(len(n.Nodes)), 5))
			c := newChoir(newHarness(t, n, fabric.Config{Seed: 1}), minhopConfig())
			ports := c.endPorts()
			const groups = 40
			for i := range groups {
				c.group(i, 0)
			}
			for range 12 * groups {
				c.randomChange(rng, groups, ports)
			}
			c.sing()
			c.judgeMulticast()
			for range 30 {
				c.randomChange(rng, groups, ports)
				c.sing()
			}
			c.judgeMulticast()
			for range 3 {
				at := uplinkOf(c.Fabric, rng)
				c.Fabric.LinkDown(at)
				c.randomChange(rng, groups, ports)
				c.sing()
				c.pass(30 * time.Second)
				c.judgeMulticast()
			}
			var dead []int32
			for i := range n.Nodes {
				if n.Nodes[i].Type == mad.Switch && int32(i) != c.Fabric.Peer(c.m.Station.At()).Node &&
					rng.IntN(4) == 0 {
					dead = append(dead, int32(i))
					c.Fabric.NodeDown(int32(i))
				}
			}
			c.pass(settling)
			c.judgeMulticast()
			for at := range c.Fabric.Ports() {
				c.Fabric.LinkUp(at)
			}
			for _, i := range dead {
				c.Fabric.NodeUp(i)
			}
			c.pass(settling)
			c.judgeMulticast()
			c.mustBeWhole(c.m)
			before := c.sets()
			c.m.sweep(manager.Heavy)
			c.pass(settling)
			if c.sets() != before {
				t.Errorf("%d Sets in a further sweep", c.sets()-before)
			}
		})
	}
}

// Under engines that route up and then down no packet of a group turns from a link down to one up where
// some switch has ways down to all members, while those come and go and links are lost. Levels are
// those of the generated tree, and the ways are read from the switches.
func TestMulticastDoesNotTurn(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=6")
	level := levels(n)
	var roots []mad.GUID
	for i := range n.Nodes {
		if level[i] == 3 {
			roots = append(roots, n.Nodes[i].GUID)
		}
	}
	settings := engines.Settings{Updn: updn.Settings{Roots: roots}, Ftree: ftree.Settings{Roots: roots}}
	for _, engine := range []string{"updn", "dnup", "ftree"} {
		t.Run(engine, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(6, 7))
			c := newChoir(newHarness(t, n, fabric.Config{Seed: 1}), chainConfig(t, settings, engine))
			ports := slices.DeleteFunc(c.endPorts(), func(at net.End) bool {
				return n.Nodes[at.Node].Type == mad.Switch
			})
			const groups = 20
			for i := range groups {
				c.group(i, 0)
			}
			for step := range 12 {
				for range 2 * groups {
					c.randomChange(rng, groups, ports)
				}
				if step%3 == 2 {
					c.Fabric.LinkDown(uplinkOf(c.Fabric, rng))
				}
				c.sing()
				c.pass(30 * time.Second)
				c.judgeMulticast()
				if got := c.m.View.Routing.Engine; got != engine {
					t.Fatalf("step %d: the engine is %s", step, got)
				}
				for mlid := range c.reg.MLIDs() {
					c.judgeTurns(mlid, level)
				}
			}
		})
	}
}

// levels are the distances of the nodes of a tree from the next host.
func levels(n *net.Net) []int {
	level := make([]int, len(n.Nodes))
	for far := 1; far < 4; far++ {
		for i := range n.Nodes {
			if n.Nodes[i].Type == mad.Switch && level[i] == 0 &&
				slices.ContainsFunc(n.Nodes[i].Ports, func(p net.Port) bool {
					return p.Peer.Node >= 0 && level[p.Peer.Node] == far-1 &&
						(far > 1 || n.Nodes[p.Peer.Node].Type != mad.Switch)
				}) {
				level[i] = far
			}
		}
	}
	return level
}

// judgeTurns follows the links of a group: no switch has two that lead up, if some switch is above all members.
func (c *choir) judgeTurns(mlid mad.LID, level []int) {
	c.Helper()
	above := func(node int32, visit func(to int32, port uint8)) {
		for port := uint8(1); int(port) <= c.net.Nodes[node].NumPorts(); port++ {
			at := net.End{Node: node, Port: port}
			if peer := c.Fabric.Peer(at); c.Fabric.HasLink(at) && peer.Node >= 0 && level[peer.Node] > level[node] {
				visit(peer.Node, port)
			}
		}
	}
	members, over := map[int32]bool{}, map[int32]int{}
	for at := range c.listeners(mlid) {
		if c.Fabric.HasLink(at) {
			members[c.Fabric.Peer(at).Node] = true
		}
	}
	for leaf := range members {
		reached := []int32{leaf}
		for i := 0; i < len(reached); i++ {
			over[reached[i]]++
			above(reached[i], func(to int32, _ uint8) {
				if !slices.Contains(reached, to) {
					reached = append(reached, to)
				}
			})
		}
	}
	common := slices.ContainsFunc(slices.Collect(maps.Values(over)), func(leaves int) bool {
		return leaves == len(members)
	})
	for node := range c.net.Nodes {
		up := 0
		if c.net.Nodes[node].Type == mad.Switch {
			above(int32(node), func(_ int32, port uint8) {
				if c.Fabric.MulticastPort(int32(node), mlid, port) {
					up++
				}
			})
		}
		if up > 1 && common {
			c.Errorf("MLID %v: %s has %d links up", mlid, c.net.Nodes[node].Desc, up)
		}
	}
}
