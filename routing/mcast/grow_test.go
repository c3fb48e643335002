package mcast_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// kinds are all kinds of generated fabrics.
var kinds = []string{
	"fattree:k=4", "fattree:k=8", "fattree:k=8,levels=2,missing-links=4", "fattree:k=16,levels=1",
	"torus:dims=4x4,hosts=2",
	"torus:dims=3x3x3", "mesh:dims=5x4", "hypercube:dim=4,hosts=2", "dragonfly:a=4,p=2,h=1", "hyperx:dims=3x3,hosts=2",
	"random:switches=20,degree=4,hosts=2", "tree:depth=3,fanout=3",
}

func fabricOf(t testing.TB, spec string) *topo.Topo {
	t.Helper()
	n, err := net.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return fabric
}

// hosts are the end ports of channel adapters.
func hosts(t *topo.Topo) (ports []topo.PortIdx) {
	for _, p := range t.EndPorts {
		if t.Nodes[t.Ports[p].Node].Type == mad.CA {
			ports = append(ports, p)
		}
	}
	return ports
}

func all(topo.PortIdx) mcast.Use { return mcast.Extend }

// grow grows a tree that has to be proved and to reach everybody.
func grow(t testing.TB, g *mcast.Grower, fabric *topo.Topo, mlid mad.LID, m mcast.Members,
	old *mcast.Tree) *mcast.Tree {
	t.Helper()
	tree, unreached := g.Grow(mlid, m, old)
	if err := mcast.Check(fabric, tree, m, unreached); err != nil {
		t.Fatal(err)
	}
	if len(unreached) > 0 {
		t.Fatalf("MLID %v: %d members are not reached", mlid, len(unreached))
	}
	return tree
}

// moved is the number of switches whose ports differ between trees.
func moved(fabric *topo.Topo, a, b *mcast.Tree) (count int) {
	for s := range fabric.Switches {
		if a.Ports(topo.SwitchIdx(s)) != b.Ports(topo.SwitchIdx(s)) {
			count++
		}
	}
	return count
}

// Trees on every kind of fabric are trees, whoever joins and leaves, and a join or leave
// changes no more than one branch unless the tree has become bad.
func TestGrowEverywhere(t *testing.T) {
	for _, spec := range kinds {
		t.Run(spec, func(t *testing.T) {
			fabric := fabricOf(t, spec)
			g := mcast.NewGrower(mcast.NewGraph(fabric, nil, all))
			rng := rand.New(rand.NewPCG(1, 2))
			ends := slices.Clone(fabric.EndPorts) // switches' own ports, too
			for mlid := mad.LID(0xc000); mlid < 0xc008; mlid++ {
				rng.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
				var m mcast.Members
				var tree *mcast.Tree
				kept, steps := 0, min(2*len(ends), 100)
				for i := range steps {
					switch p := ends[i%len(ends)]; {
					case i >= steps*2/3 && len(m.Receivers) > 0:
						m.Receivers = m.Receivers[1:]
					case i%4 == 3:
						m.Senders = append(m.Senders, p)
					default:
						m.Receivers = append(m.Receivers, p)
					}
					old := tree
					tree = grow(t, g, fabric, mlid, m, old)
					if again := grow(t, g, fabric, mlid, m, tree); again != tree {
						t.Fatalf("a tree of the same members is another one")
					}
					if contains(tree, old) || contains(old, tree) {
						kept++
					}
				}
				if kept < steps*3/4 {
					t.Errorf("MLID %v: only %d of %d joins and leaves left the rest of the tree as it was", mlid, kept,
						steps)
				}
			}
		})
	}
}

// contains reports whether a forwards all that b does.
func contains(a, b *mcast.Tree) bool {
	if b == nil {
		return true
	}
	for _, x := range b.Branches {
		if a.Ports(x.Switch).And(x.Ports) != x.Ports {
			return false
		}
	}
	return true
}

// A tree of all hosts of a fat tree has one core switch and one switch below it for each
// pod; the cores take turns.
func TestGrowShort(t *testing.T) {
	fabric := fabricOf(t, "fattree:k=8")
	g := mcast.NewGrower(mcast.NewGraph(fabric, nil, all))
	m := mcast.Members{Receivers: hosts(fabric)}
	roots := map[topo.SwitchIdx]int{}
	for mlid := mad.LID(0xc000); mlid < 0xc020; mlid++ {
		tree := grow(t, g, fabric, mlid, m, nil)
		if len(tree.Branches) != 1+8+32 {
			t.Fatalf("MLID %v: %d switches", mlid, len(tree.Branches))
		}
		for _, b := range tree.Branches {
			if b.Ports.Len() == 8 && isCore(fabric, b.Switch) {
				roots[b.Switch]++
			}
		}
	}
	if len(roots) != 16 {
		t.Errorf("32 trees have %d roots of 16", len(roots))
	}
}

func isCore(fabric *topo.Topo, s topo.SwitchIdx) bool {
	n := fabric.Switches[s]
	for num := uint8(1); num <= fabric.Nodes[n].NumPorts; num++ {
		peer := fabric.Ports[fabric.Port(n, num)].Peer
		if peer == topo.None {
			continue
		}
		r := fabric.SwitchOf(peer)
		if r == topo.None || !fabric.IsSwitchPort(peer) {
			return false
		}
		for far := uint8(1); far <= fabric.Nodes[fabric.Switches[r]].NumPorts; far++ {
			if end := fabric.Ports[fabric.Port(fabric.Switches[r], far)].Peer; end != topo.None &&
				!fabric.IsSwitchPort(end) {
				return false
			}
		}
	}
	return true
}

func TestGrowFew(t *testing.T) {
	fabric := fabricOf(t, "fattree:k=4")
	g := mcast.NewGrower(mcast.NewGraph(fabric, nil, all))
	h := hosts(fabric)
	own := fabric.Nodes[fabric.Switches[3]].First
	for _, c := range []struct {
		name     string
		m        mcast.Members
		switches int
		ports    int // that lead to members
	}{
		{"nobody", mcast.Members{}, 0, 0},
		{"one receiver", mcast.Members{Receivers: h[:1]}, 0, 0},
		{"one receiver twice", mcast.Members{Receivers: []topo.PortIdx{h[0], h[0]}}, 0, 0},
		{"it sends, too", mcast.Members{Receivers: h[:1], Senders: h[:1]}, 0, 0},
		{"only senders", mcast.Members{Senders: h}, 0, 0},
		{"a receiver and a sender at one switch", mcast.Members{Receivers: h[:1], Senders: h[1:2]}, 1, 1},
		{"two receivers at one switch", mcast.Members{Receivers: h[:2]}, 1, 2},
		{"two in a pod", mcast.Members{Receivers: []topo.PortIdx{h[0], h[2]}}, 3, 2},
		{"two in two pods", mcast.Members{Receivers: []topo.PortIdx{h[0], h[4]}}, 5, 2},
		{"a sender far off", mcast.Members{Receivers: h[:2], Senders: h[15:]}, 5, 2},
		{"a switch by itself", mcast.Members{Receivers: []topo.PortIdx{own, h[0]}}, 0, 2},
	} {
		tree := grow(t, g, fabric, 0xc000, c.m, nil)
		ports := 0
		for _, b := range tree.Branches {
			for num := range b.Ports.Ports() {
				if num == 0 || !fabric.IsSwitchPort(fabric.Ports[fabric.Port(fabric.Switches[b.Switch], num)].Peer) {
					ports++
				}
			}
		}
		if c.switches > 0 && len(tree.Branches) != c.switches || ports != c.ports {
			t.Errorf("%s: %d switches forward to %d members, want %d and %d", c.name, len(tree.Branches), ports,
				c.switches, c.ports)
		}
	}
}

// switches is a fabric of enhanced switches without hosts, which have the GUIDs 1, 2, ....
func switches(t *testing.T, count int, links ...[2]int32) *topo.Topo {
	t.Helper()
	n := &net.Net{}
	for i := range count {
		node := net.Node{Type: mad.Switch, GUID: mad.GUID(i + 1), EnhancedPort0: true}
		for num := range count + 1 {
			p := net.Port{Peer: net.NoEnd}
			if num == 0 {
				p.GUID = node.GUID
			}
			node.Ports = append(node.Ports, p)
		}
		n.Nodes = append(n.Nodes, node)
	}
	for _, l := range links {
		one, other := net.End{Node: l[0], Port: uint8(l[1] + 1)}, net.End{Node: l[1], Port: uint8(l[0] + 1)}
		for _, e := range [][2]net.End{{one, other}, {other, one}} {
			p := &n.Nodes[e[0].Node].Ports[e[0].Port]
			p.Peer, p.Width, p.Speed = e[1], mad.Width4x, mad.QDR
		}
	}
	fabric, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return fabric
}

// The members a and b are two links from the root, through any of three switches, and c is two
// links from it on the other side. Both go through the same switch: one that is a member or
// has been put into the tree.
func TestGrowSharesParents(t *testing.T) {
	const root, m1, m2, m3, a, b, n, c = 0, 1, 2, 3, 4, 5, 6, 7
	fabric := switches(t, 8, [2]int32{root, m1}, [2]int32{root, m2}, [2]int32{root, m3}, [2]int32{m1, a},
		[2]int32{m2, a}, [2]int32{m3, a},
		[2]int32{m1, b}, [2]int32{m2, b}, [2]int32{m3, b}, [2]int32{root, n}, [2]int32{n, c})
	for name, members := range map[string][]int{"one of the three is a member": {a, b, c, m2},
		"none of the three": {a, b, c}} {
		var m mcast.Members
		for _, i := range members {
			m.Receivers = append(m.Receivers, fabric.FindPort(mad.GUID(i+1)))
		}
		g := mcast.NewGrower(mcast.NewGraph(fabric, nil, all))
		for mlid := mad.LID(0xc000); mlid < 0xc010; mlid++ {
			tree := grow(t, g, fabric, mlid, m, nil)
			used := 0
			for _, x := range tree.Branches {
				if guid := fabric.Nodes[fabric.Switches[x.Switch]].GUID; guid >= m1+1 && guid <= m3+1 {
					used++
				}
			}
			if used != 1 || len(tree.Branches) != 6 {
				t.Errorf("%s, MLID %v: %d of the three switches, %d in all", name, mlid, used, len(tree.Branches))
			}
		}
	}
}

// Links that must not be used are not, unless a tree may keep them; switches whose
// tables are too short are left out, and their hosts are named.
func TestGrowAvoids(t *testing.T) {
	fabric := fabricOf(t, "fattree:k=4")
	m := mcast.Members{Receivers: hosts(fabric)}
	before := grow(t, mcast.NewGrower(mcast.NewGraph(fabric, nil, all)), fabric, 0xc000, m, nil)
	lost, use := uplinkOf(t, fabric, before), mcast.Shun
	g := mcast.NewGraph(fabric, nil, func(p topo.PortIdx) mcast.Use {
		if p == lost {
			return use
		}
		return mcast.Extend
	})
	after := grow(t, mcast.NewGrower(g), fabric, 0xc000, m, before)
	if after.Ports(fabric.SwitchOf(lost)).Has(fabric.Ports[lost].Num) {
		t.Error("a tree leads over a link that is shunned")
	}
	if n := moved(fabric, before, after); n > 4 {
		t.Errorf("%d switches forward otherwise", n)
	}
	use = mcast.Keep
	g = mcast.NewGraph(fabric, nil, func(p topo.PortIdx) mcast.Use {
		if p == lost {
			return use
		}
		return mcast.Extend
	})
	if grow(t, mcast.NewGrower(g), fabric, 0xc000, m, before) != before {
		t.Error("a tree that may stay does not")
	}
	if fresh := grow(t, mcast.NewGrower(g), fabric, 0xc000, m, nil); fresh.Ports(fabric.SwitchOf(lost)).Has(
		fabric.Ports[lost].Num) {
		t.Error("a tree is grown over a link that may only be kept")
	}
}

// longest is the number of links between the two switches of a tree that are furthest from each
// other.
func longest(fabric *topo.Topo, tree *mcast.Tree) (links int) {
	for _, from := range tree.Branches {
		dist := map[topo.SwitchIdx]int{from.Switch: 0}
		for queue := []topo.SwitchIdx{from.Switch}; len(queue) > 0; queue = queue[1:] {
			s := queue[0]
			links = max(links, dist[s])
			for num := range tree.Ports(s).Ports() {
				peer := fabric.Ports[fabric.Port(fabric.Switches[s], num)].Peer
				if num == 0 || !fabric.IsSwitchPort(peer) {
					continue
				}
				if r := fabric.SwitchOf(peer); dist[r] == 0 && r != from.Switch {
					dist[r] = dist[s] + 1
					queue = append(queue, r)
				}
			}
		}
	}
	return links
}

// A tree that winds through the fabric, as there was no other way once, does not stay when
// there is a much shorter one with as many links.
func TestGrowShortensLongTrees(t *testing.T) {
	fabric := fabricOf(t, "mesh:dims=5x5")
	m := mcast.Members{Receivers: hosts(fabric)}
	winding := map[topo.PortIdx]bool{}
	seen := map[topo.NodeIdx]bool{}
	var visit func(n topo.NodeIdx) // in depth
	visit = func(n topo.NodeIdx) {
		seen[n] = true
		for num := uint8(1); num <= fabric.Nodes[n].NumPorts; num++ {
			p := fabric.Port(n, num)
			peer := fabric.Ports[p].Peer
			if peer == topo.None {
				continue
			}
			if next := fabric.Ports[peer].Node; !fabric.IsSwitchPort(peer) || !seen[next] {
				winding[p], winding[peer] = true, true
				if fabric.IsSwitchPort(peer) {
					visit(next)
				}
			}
		}
	}
	visit(fabric.Switches[0])
	old := grow(t, mcast.NewGrower(mcast.NewGraph(fabric, nil, func(p topo.PortIdx) mcast.Use {
		if winding[p] {
			return mcast.Extend
		}
		return mcast.Shun
	})), fabric, 0xc000, m, nil)
	g := mcast.NewGrower(mcast.NewGraph(fabric, nil, all))
	short := longest(fabric, grow(t, g, fabric, 0xc000, m, nil))
	if before := longest(fabric, old); before < 2*short {
		t.Fatalf("%d links from end to end, %d in a new tree: no test", before, short)
	}
	if now := longest(fabric, grow(t, g, fabric, 0xc000, m, old)); now > short+2 {
		t.Errorf("%d links from end to end, %d in a new tree", now, short)
	}
}

// Hosts behind a switch at which trees may only be kept stay members, whoever else comes
// and goes.
func TestGrowKeepsUnresponsive(t *testing.T) {
	fabric := fabricOf(t, "fattree:k=4")
	h := hosts(fabric)
	tree := grow(t, mcast.NewGrower(mcast.NewGraph(fabric, nil, all)), fabric, 0xc000, mcast.Members{Receivers: h[:10]},
		nil)
	unresponsive := fabric.SwitchOf(h[0])
	g := mcast.NewGrower(mcast.NewGraph(fabric, nil, func(p topo.PortIdx) mcast.Use {
		if fabric.SwitchOf(p) == unresponsive {
			return mcast.Keep
		}
		return mcast.Extend
	}))
	for _, receivers := range [][]topo.PortIdx{h, h[:12], h[:4]} {
		before := tree.Ports(unresponsive)
		if tree = grow(t, g, fabric, 0xc000, mcast.Members{Receivers: receivers}, tree); tree.Ports(
			unresponsive) != before {
			t.Errorf("%d members: the unresponsive switch would have to be reported", len(receivers))
		}
	}
	if _, unreached := g.Grow(0xc000, mcast.Members{Receivers: h}, nil); !slices.Equal(unreached, h[:2]) {
		t.Errorf("a tree that is grown afresh does not reach %v", unreached)
	}
}

// TestGrowDropsStrayPorts: what a switch holds at a port that it does not have is no link of a tree.
func TestGrowDropsStrayPorts(t *testing.T) {
	fabric := fabricOf(t, "fattree:k=4")
	m := mcast.Members{Receivers: hosts(fabric)}
	g := mcast.NewGrower(mcast.NewGraph(fabric, nil, all))
	old := grow(t, g, fabric, 0xc000, m, nil)
	stray := &mcast.Tree{MLID: 0xc000}
	for _, b := range old.Branches {
		for port := fabric.Nodes[fabric.Switches[b.Switch]].NumPorts + 1; port < 0xff; port++ {
			b.Ports.Add(port)
		}
		stray.Branches = append(stray.Branches, b)
	}
	if got := grow(t, g, fabric, 0xc000, m, stray); moved(fabric, got, old) > 0 {
		t.Errorf("%d switches have other ports", moved(fabric, got, old))
	}
}

func uplinkOf(t *testing.T, fabric *topo.Topo, tree *mcast.Tree) topo.PortIdx {
	for _, b := range tree.Branches {
		for num := range b.Ports.Ports() {
			if p := fabric.Port(fabric.Switches[b.Switch], num); num > 0 && fabric.IsSwitchPort(fabric.Ports[p].Peer) {
				return p
			}
		}
	}
	t.Fatal("no link between switches")
	return topo.None
}

func TestGrowCaps(t *testing.T) {
	fabric := fabricOf(t, "fattree:k=4")
	for s, n := range fabric.Switches { // cores of 16, the first leaf of 8, all others of 32 and more
		switch {
		case isCore(fabric, topo.SwitchIdx(s)):
			fabric.Nodes[n].SwitchInfo.SetMulticastFDBCap(16)
		case n == fabric.Ports[fabric.Ports[hosts(fabric)[0]].Peer].Node:
			fabric.Nodes[n].SwitchInfo.SetMulticastFDBCap(8)
		default:
			fabric.Nodes[n].SwitchInfo.SetMulticastFDBCap(uint16(32 + s))
		}
	}
	g := mcast.NewGrower(mcast.NewGraph(fabric, nil, all))
	m := mcast.Members{Receivers: hosts(fabric)}
	for _, c := range []struct {
		mlid      mad.LID
		unreached int
	}{{0xc007, 0}, {0xc008, 2}, {0xc00f, 2}, {0xc010, 12}, {0xc100, 16}} {
		tree, unreached := g.Grow(c.mlid, m, nil)
		if err := mcast.Check(fabric, tree, m, unreached); err != nil {
			t.Error(err)
		}
		if len(unreached) != c.unreached {
			t.Errorf("MLID %v: %d members are not reached, want %d", c.mlid, len(unreached), c.unreached)
		}
	}
}

// A proof fails where a tree is none.
func TestCheckRefuses(t *testing.T) {
	fabric := fabricOf(t, "fattree:k=4")
	g := mcast.NewGrower(mcast.NewGraph(fabric, nil, all))
	h := hosts(fabric)
	m := mcast.Members{Receivers: h[:12], Senders: h[14:15]}
	tree := grow(t, g, fabric, 0xc000, m, nil)
	other := grow(t, g, fabric, 0xc001, m, nil)
	refused := func(what string, spoil func(c *mcast.Tree)) {
		c := &mcast.Tree{MLID: tree.MLID, Branches: slices.Clone(tree.Branches)}
		spoil(c)
		if mcast.Check(fabric, c, m, nil) == nil {
			t.Error(what, "passes")
		}
	}
	for i, b := range tree.Branches {
		for num := range b.Ports.Ports() {
			refused(fmt.Sprintf("without port %d of switch %d", num, b.Switch), func(c *mcast.Tree) {
				c.Branches[i].Ports.Remove(num)
			})
		}
		for num := range fabric.Nodes[fabric.Switches[b.Switch]].NumPorts + 3 {
			if !b.Ports.Has(num) {
				refused(fmt.Sprintf("with port %d of switch %d", num, b.Switch), func(c *mcast.Tree) {
					c.Branches[i].Ports.Add(num)
				})
			}
		}
		refused(fmt.Sprint("without switch ", b.Switch), func(c *mcast.Tree) {
			c.Branches = slices.Delete(c.Branches, i, i+1)
		})
	}
	refused("none", func(c *mcast.Tree) { c.Branches = nil })
	refused("the union of two", func(c *mcast.Tree) {
		c.Branches = c.Branches[:0]
		for s := range fabric.Switches {
			if ports := tree.Ports(topo.SwitchIdx(s)).Or(other.Ports(topo.SwitchIdx(s))); !ports.Empty() {
				c.Branches = append(c.Branches, mcast.Branch{Switch: topo.SwitchIdx(s), Ports: ports})
			}
		}
	})
	if mcast.Check(fabric, tree, mcast.Members{Receivers: h[:13], Senders: h[14:15]}, nil) == nil {
		t.Error("a tree that misses a receiver passes")
	}
	if mcast.Check(fabric, tree, mcast.Members{Receivers: h[:11], Senders: h[14:15]}, nil) == nil {
		t.Error("a tree that leads to a port that does not receive passes")
	}
	if mcast.Check(fabric, tree, m, h[:1]) == nil {
		t.Error("a member that is reached counts as unreached")
	}
}

// BenchmarkBroadcast grows the tree of all hosts of a large fat tree.
func BenchmarkBroadcast(b *testing.B) {
	fabric := fabricOf(b, "fattree:k=36")
	graph := mcast.NewGraph(fabric, nil, all)
	g := mcast.NewGrower(graph)
	m := mcast.Members{Receivers: hosts(fabric)}
	tree := grow(b, g, fabric, 0xc000, m, nil)
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			g.Grow(0xc000, m, nil)
		}
	})
	b.Run("leave", func(b *testing.B) {
		left := mcast.Members{Receivers: m.Receivers[1:]}
		for b.Loop() {
			g.Grow(0xc000, left, tree)
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			mcast.Check(fabric, tree, m, nil)
		}
	})
}

// BenchmarkGroups grows the trees of 2,000 groups of 2 to 64 of 1,024 hosts.
func BenchmarkGroups(b *testing.B) {
	fabric := fabricOf(b, "fattree:k=16")
	h := hosts(fabric)
	rng := rand.New(rand.NewPCG(3, 4))
	groups := make([]mcast.Members, 2000)
	for i := range groups {
		rng.Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
		groups[i].Receivers = slices.Clone(h[:2+rng.IntN(63)])
	}
	for b.Loop() {
		g := mcast.NewGrower(mcast.NewGraph(fabric, nil, all))
		for i := range groups {
			g.Grow(0xc000+mad.LID(i), groups[i], nil)
		}
	}
}

// With ranks no packet turns from down to up wherever some switch has ways down to all members,
// whoever joins and leaves, and a join or leave still leaves most of the tree as it was.
func TestGrowUpDown(t *testing.T) {
	for _, spec := range kinds {
		t.Run(spec, func(t *testing.T) {
			fabric := fabricOf(t, spec)
			for seed := range uint64(4) {
				rng := rand.New(rand.NewPCG(seed, 1))
				ranks := ranksFrom(fabric, topo.SwitchIdx(rng.IntN(len(fabric.Switches))))
				g := mcast.NewGrower(mcast.NewGraph(fabric, ranks, all))
				ends := hosts(fabric)
				rng.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
				var m mcast.Members
				var tree *mcast.Tree
				kept, steps := 0, min(2*len(ends), 60)
				for i := range steps {
					if i >= steps*2/3 && len(m.Receivers) > 0 {
						m.Receivers = m.Receivers[1:]
					} else {
						m.Receivers = append(m.Receivers, ends[i%len(ends)])
					}
					old := tree
					tree = grow(t, g, fabric, 0xc000, m, old)
					// All ranks but one root's are below it, so that it has ways down to everybody.
					if s := turn(fabric, ranks, tree); s != topo.None {
						t.Fatalf("seed %d, step %d: packets turn at switch %d", seed, i, s)
					}
					if again := grow(t, g, fabric, 0xc000, m, tree); again != tree {
						t.Fatalf("seed %d, step %d: a tree of the same members is another one", seed, i)
					}
					if contains(tree, old) || contains(old, tree) {
						kept++
					}
				}
				if kept < steps*2/3 {
					t.Errorf("seed %d: only %d of %d joins and leaves left the rest of the tree as it was", seed, kept,
						steps)
				}
			}
		})
	}
}

// ranksFrom ranks switches by their distance from a root, and those of one distance by their index, so
// that each but the root has a link to one above it.
func ranksFrom(fabric *topo.Topo, root topo.SwitchIdx) []int32 {
	hops, _ := routing.NewHops(context.Background(), 0, routing.NewGraph(fabric))
	from := hops.From(root)
	return routing.Ranks(len(from), func(a, b topo.SwitchIdx) int { return int(from[a]) - int(from[b]) })
}

// turn is a switch of a tree that has two links to switches above it, None if there is none.
func turn(fabric *topo.Topo, ranks []int32, tree *mcast.Tree) topo.SwitchIdx {
	for _, b := range tree.Branches {
		above := 0
		for num := range b.Ports.Ports() {
			if num == 0 {
				continue
			}
			peer := fabric.Ports[fabric.Port(fabric.Switches[b.Switch], num)].Peer
			if fabric.IsSwitchPort(peer) && ranks[fabric.SwitchOf(peer)] < ranks[b.Switch] {
				above++
			}
		}
		if above > 1 {
			return b.Switch
		}
	}
	return topo.None
}

// A tree of another manager on which packets turn is replaced, and one that turns because there is no
// other way is kept.
func TestGrowTurns(t *testing.T) {
	fabric := fabricOf(t, "mesh:dims=4x1,hosts=1")
	h := hosts(fabric)
	line := make([]topo.SwitchIdx, 0, len(h)) // from end to end, in the order of hosts
	for _, p := range h {
		line = append(line, fabric.SwitchOf(p))
	}
	m := mcast.Members{Receivers: h}
	free := grow(t, mcast.NewGrower(mcast.NewGraph(fabric, nil, all)), fabric, 0xc000, m, nil)
	ranks := make([]int32, len(line))
	for i, s := range line { // ends are above the middle
		ranks[s] = []int32{0, 2, 3, 1}[i]
	}
	if turn(fabric, ranks, free) == topo.None {
		t.Fatal("the line does not turn")
	}
	tree := grow(t, mcast.NewGrower(mcast.NewGraph(fabric, ranks, all)), fabric, 0xc000, m, free)
	if tree != free {
		t.Error("the only tree there is was changed")
	}

	ring := fabricOf(t, "torus:dims=6,hosts=1")
	m = mcast.Members{Receivers: hosts(ring)}
	free = grow(t, mcast.NewGrower(mcast.NewGraph(ring, nil, all)), ring, 0xc000, m, nil)
	turned := 0
	for root := range topo.SwitchIdx(6) {
		ranks := ranksFrom(ring, root)
		if turn(ring, ranks, free) == topo.None {
			continue
		}
		turned++
		g := mcast.NewGrower(mcast.NewGraph(ring, ranks, all))
		if s := turn(ring, ranks, grow(t, g, ring, 0xc000, m, free)); s != topo.None {
			t.Errorf("root %d: a tree with a turn at switch %d is kept", root, s)
		}
	}
	if turned == 0 {
		t.Error("no root makes a tree that was grown freely turn")
	}
}
