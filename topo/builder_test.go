package topo

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// cabling is a small subnet to be reported to a Builder in any order: two switches with
// two cables between them, a two-port adapter across both, and two hosts.
type cabling struct {
	nodes []smp.NodeInfo
	ports map[mad.GUID][]uint8 // of nodes, those that were read
	links [][2]place
	like  *Topo // for NewBuilder
}

type place struct {
	node mad.GUID
	port uint8
}

func answerOf(typ mad.NodeType, guid mad.GUID, ports, local uint8) (n smp.NodeInfo) {
	n.SetNodeType(typ)
	n.SetNodeGUID(guid)
	n.SetPortGUID(guid)
	if typ != mad.Switch {
		n.SetPortGUID(guid + mad.GUID(local))
	}
	n.SetNumPorts(ports)
	n.SetLocalPortNum(local)
	return n
}

func smallCabling() *cabling {
	return &cabling{
		nodes: []smp.NodeInfo{
			answerOf(mad.CA, 0x50, 2, 1), answerOf(mad.Switch, 0x20, 4, 1), answerOf(mad.Switch, 0x10, 4, 1),
			answerOf(mad.CA, 0x8000000000000000, 1, 1), answerOf(mad.CA, 0x30, 1, 1),
		},
		ports: map[mad.GUID][]uint8{
			0x50: {1, 2}, 0x20: {0, 1, 2, 3, 4}, 0x10: {0, 1, 2, 3, 4}, 0x8000000000000000: {1}, 0x30: {1},
		},
		links: [][2]place{
			{{0x50, 1}, {0x20, 1}}, {{0x50, 2}, {0x10, 4}}, {{0x20, 2}, {0x10, 1}}, {{0x20, 3}, {0x10, 2}},
			{{0x20, 4}, {0x8000000000000000, 1}}, {{0x10, 3}, {0x30, 1}},
		},
	}
}

// build shows the cabling to a Builder in an order that r chooses; nil keeps it. All
// ports that have a cable are in state.
func (c *cabling) build(r *rand.Rand, state smp.PortState) *Builder {
	b := NewBuilder(c.like)
	order := func(n int) []int {
		if r != nil {
			return r.Perm(n)
		}
		o := make([]int, n)
		for i := range o {
			o[i] = i
		}
		return o
	}
	for _, i := range order(len(c.nodes)) {
		info := c.nodes[i]
		n := b.AddNode(&info, mad.MakeRoute(uint8(info.NodeGUID())))
		if info.NodeType() == mad.Switch {
			b.Node(n).SwitchInfo.SetLinearFDBCap(1024)
		}
	}
	at := func(p place) End {
		n, _ := b.Find(p.node)
		return End{n, p.port}
	}
	for _, i := range order(len(c.links)) {
		x, y := at(c.links[i][0]), at(c.links[i][1])
		if r != nil && r.IntN(2) == 0 {
			x, y = y, x
		}
		b.Link(x, y)
	}
	for _, i := range order(len(c.nodes)) {
		guid := c.nodes[i].NodeGUID()
		for _, num := range c.ports[guid] {
			e := at(place{guid, num})
			if c.nodes[i].NodeType() != mad.Switch {
				b.SetPortGUID(e, guid+mad.GUID(num))
			}
			var info smp.PortInfo
			info.SetPortState(smp.PortDown)
			if b.Peer(e) != NoEnd || num == 0 {
				info.SetPortState(state)
			}
			b.SetPort(e, &info)
		}
	}
	b.SetSelf(at(place{0x50, 1}))
	return b
}

// checkTopo asserts what every Topo must satisfy, however it came about.
func checkTopo(t *testing.T, top *Topo) {
	t.Helper()
	if !slices.IsSortedFunc(top.Nodes, func(a, b Node) int {
		if a.GUID < b.GUID {
			return -1
		}
		return 1
	}) {
		t.Error("nodes are not in order of GUID")
	}
	next := PortIdx(0)
	for i := range top.Nodes {
		n := &top.Nodes[i]
		if n.First != next {
			t.Fatalf("node %v begins at port %d, want %d", n.GUID, n.First, next)
		}
		for num := range int(n.NumPorts) + 1 {
			if p := &top.Ports[next]; p.Node != NodeIdx(i) || int(p.Num) != num {
				t.Fatalf("port %d is node %d port %d, want %d %d", next, p.Node, p.Num, i, num)
			}
			next++
		}
		if (n.Type == mad.Switch) != (n.Switch != None) || n.Switch != None && top.Switches[n.Switch] != NodeIdx(i) {
			t.Errorf("node %v: switch index %d", n.GUID, n.Switch)
		}
	}
	if int(next) != len(top.Ports) {
		t.Errorf("%d ports, want %d", len(top.Ports), next)
	}
	for i, p := range top.Ports {
		if p.Peer != None && (p.Peer < 0 || int(p.Peer) >= len(top.Ports) || top.Ports[p.Peer].Peer != PortIdx(i)) {
			t.Errorf("port %d: peer %d does not lead back", i, p.Peer)
		}
		if p.Peer != None && p.Shunned {
			t.Errorf("port %d: what is behind it is part of the subnet, and left out", i)
		}
	}
	for i, p := range top.EndPorts {
		port := &top.Ports[p]
		if i > 0 && top.Ports[top.EndPorts[i-1]].GUID >= port.GUID {
			t.Errorf("end ports %d and %d are not in order of GUID", i-1, i)
		}
		if (port.Num == 0) != (top.Nodes[port.Node].Type == mad.Switch) || top.FindPort(port.GUID) != p {
			t.Errorf("end port %d is port %d of %v", p, port.Num, top.Nodes[port.Node].GUID)
		}
	}
}

func TestFreezeOrder(t *testing.T) {
	c := smallCabling()
	want := c.build(nil, smp.PortInit).Freeze()
	checkTopo(t, want)
	var guids []mad.GUID
	for i := range want.Nodes {
		guids = append(guids, want.Nodes[i].GUID)
	}
	if !slices.Equal(guids, []mad.GUID{0x10, 0x20, 0x30, 0x50, 0x8000000000000000}) {
		t.Errorf("nodes %v", guids)
	}
	if self := want.Ports[want.Self]; self.GUID != 0x51 || self.Num != 1 {
		t.Errorf("self is port %d, GUID %v", self.Num, self.GUID)
	}
	for seed := range uint64(200) {
		got := c.build(rand.New(rand.NewPCG(seed, 1)), smp.PortInit).Freeze()
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: the order of discovery shows", seed)
		}
	}
}

func TestFreezeLeavesDropped(t *testing.T) {
	b := smallCabling().build(nil, smp.PortInit)
	n, _ := b.Find(0x50)
	b.Drop(n)
	if _, found := b.Find(0x50); found || !b.Dropped(n) {
		t.Error("a dropped node is found")
	}
	if _, owned := b.PortOwner(0x52); owned {
		t.Error("a dropped node owns port GUIDs")
	}
	top := b.Freeze()
	checkTopo(t, top)
	if len(top.Nodes) != 4 || top.FindNode(0x50) != None || top.FindPort(0x51) != None || top.Self != None {
		t.Errorf("%d nodes, self %d", len(top.Nodes), top.Self)
	}
	if p := &top.Ports[top.Port(top.FindNode(0x20), 1)]; p.Peer != None {
		t.Errorf("the cable to it leads to port %d", p.Peer)
	}
}

func TestFind(t *testing.T) {
	top := smallCabling().build(nil, smp.PortInit).Freeze()
	for _, guid := range []mad.GUID{0x10, 0x20, 0x30, 0x50, 0x8000000000000000} {
		if n := top.FindNode(guid); n == None || top.Nodes[n].GUID != guid {
			t.Errorf("FindNode(%v) = %d", guid, n)
		}
	}
	for _, guid := range []mad.GUID{0x10, 0x20, 0x31, 0x51, 0x52, 0x8000000000000001} {
		if p := top.FindPort(guid); p == None || top.Ports[p].GUID != guid {
			t.Errorf("FindPort(%v) = %d", guid, p)
		}
	}
	for _, guid := range []mad.GUID{0, 0x11, 0x53, 1<<64 - 1} {
		if top.FindNode(guid) != None || top.FindPort(guid) != None {
			t.Errorf("GUID %v is found", guid)
		}
	}
	if p := top.Port(top.FindNode(0x20), 3); top.Ports[p].GUID != 0x20 || top.SwitchOf(p) != 1 ||
		top.SwitchOf(top.FindPort(0x31)) != 0 {
		t.Errorf("switch port: GUID %v, switch %d; host's switch %d", top.Ports[p].GUID, top.SwitchOf(p),
			top.SwitchOf(top.FindPort(0x31)))
	}
}

func TestRemap(t *testing.T) {
	old := smallCabling().build(nil, smp.PortInit).Freeze()
	b := smallCabling().build(nil, smp.PortInit)
	n, _ := b.Find(0x20)
	b.Drop(n)
	added := answerOf(mad.CA, 0x18, 1, 1)
	b.AddNode(&added, mad.Route{})
	now := b.Freeze()
	want := map[mad.GUID]mad.GUID{0x10: 0x10, 0x20: 0, 0x30: 0x30, 0x50: 0x50, 0x8000000000000000: 0x8000000000000000}
	for i, to := range now.Remap(old) {
		guid := old.Nodes[i].GUID
		if to == None && want[guid] != 0 || to != None && now.Nodes[to].GUID != want[guid] {
			t.Errorf("node %v maps to %d", guid, to)
		}
	}
	if got := now.Remap(&Topo{}); len(got) != 0 {
		t.Errorf("nothing maps to %v", got)
	}
}

func TestRouteTo(t *testing.T) {
	top := smallCabling().build(nil, smp.PortInit).Freeze()
	for _, c := range []struct {
		name string
		port PortIdx
		want string // "" none
	}{
		{"port that the node was reached by", top.FindPort(0x51), "0,80"},
		{"second port, through its own cable", top.FindPort(0x52), "0,16,4"},
		{"port 0", top.FindPort(0x20), "0,32"},
		{"external port", top.Port(top.FindNode(0x20), 4), "0,32"},
	} {
		if r, ok := top.RouteTo(c.port); !ok || r.String() != c.want {
			t.Errorf("%s: route %v %v, want %s", c.name, r, ok, c.want)
		}
	}
	far := top.Port(top.FindNode(0x50), 2)
	top.Ports[far].Peer = None
	if r, ok := top.RouteTo(far); ok {
		t.Errorf("second port without a cable: route %v", r)
	}
	full := make([]uint8, mad.MaxHops)
	top.Nodes[top.FindNode(0x10)].Route = mad.MakeRoute(full...)
	top.Ports[far].Peer = top.Port(top.FindNode(0x10), 4)
	if r, ok := top.RouteTo(far); ok {
		t.Errorf("one hop too far: route %v", r)
	}
}

func TestAnswers(t *testing.T) {
	top := smallCabling().build(nil, smp.PortActive).Freeze()
	for i := range top.Ports {
		if p := &top.Ports[i]; p.Seen && !top.Answers(PortIdx(i)) {
			t.Errorf("port %d of %v does not answer", p.Num, top.Nodes[p.Node].GUID)
		}
	}
	top.Nodes[top.FindNode(0x10)].Missed = 1
	for _, c := range []struct {
		port PortIdx
		want bool
	}{
		{top.FindPort(0x10), false}, {top.FindPort(0x20), true},
		{top.FindPort(0x51), true}, {top.FindPort(0x52), false}, // behind the switch that is unresponsive
		{top.FindPort(0x31), true}, // its node says itself
	} {
		if got := top.Answers(c.port); got != c.want {
			t.Errorf("port %v answers: %v", top.Ports[c.port].GUID, got)
		}
	}
}

// A Topo is the same one whatever its Builder has had room for, and whichever nodes it has dropped and found again.
func TestBuilderLike(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		some := func() *cabling {
			c := smallCabling()
			for range r.IntN(3) {
				i := r.IntN(len(c.nodes))
				gone := c.nodes[i].NodeGUID()
				c.nodes = slices.Delete(c.nodes, i, i+1)
				c.links = slices.DeleteFunc(c.links, func(l [2]place) bool {
					return l[0].node == gone || l[1].node == gone
				})
			}
			if n := &c.nodes[r.IntN(len(c.nodes))]; r.IntN(3) == 0 {
				n.SetNumPorts(n.NumPorts() + 1)
			}
			return c
		}
		c, before := some(), some()
		freeze := func(like *Topo, dropped uint64) *Topo {
			r := rand.New(rand.NewPCG(seed, dropped))
			c.like = like
			b := c.build(r, smp.PortActive)
			b.SetExtended(End{0, 1}, new(smp.ExtendedPortInfo))
			b.SetAnswered(End{int32(r.IntN(b.Len())), 1})
			for range dropped {
				n := int32(r.IntN(b.Len()))
				node := *b.Node(n)
				if b.Dropped(n) {
					continue
				}
				b.Drop(n)
				if r.IntN(2) == 0 {
					b.AddNode(&node.Info, node.Route)
				}
			}
			return b.Freeze()
		}
		was := before.build(nil, smp.PortActive).Freeze()
		for dropped := range uint64(3) {
			want, got := freeze(nil, dropped), freeze(was, dropped)
			checkTopo(t, got)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %d dropped: the subnet is another one", seed, dropped)
			}
		}
	}
}

// A subnet that is as large as another is built in a few pieces of memory, however many nodes it has.
func TestBuilderRoom(t *testing.T) {
	for _, count := range []int{200, 2000} {
		build := func(like *Topo) *Topo {
			b := NewBuilder(like)
			for i := range count {
				info := answerOf(mad.CA, mad.GUID(i+1)*0x10, 1, 1)
				b.SetPort(End{b.AddNode(&info, mad.Route{}), 1}, new(smp.PortInfo))
			}
			return b.Freeze()
		}
		like := build(nil)
		if allocs := testing.AllocsPerRun(5, func() { build(like) }); allocs > 40 {
			t.Errorf("%d nodes: %v allocations", count, allocs)
		}
		if again := build(like); !again.Equal(like) {
			t.Errorf("%d nodes: the subnet is another one", count)
		}
	}
}
