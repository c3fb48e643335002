package topo

import (
	"cmp"
	"slices"
	"sort"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Builder collects what a discovery learns, in the order it learns it, until
// Freeze makes a Topo of it. It is owned by one goroutine.
type Builder struct {
	nodes     []*buildNode
	byGUID    map[mad.GUID]int32
	portOwner map[mad.GUID]End // end ports by port GUID
	self      End

	// room for nodes and ports to come
	spareNodes []buildNode
	sparePorts []buildPort
}

// End is a port by the order of discovery: index of the node and port number.
type End struct {
	Node int32
	Port uint8
}

// NoEnd is no port.
var NoEnd = End{Node: None}

type buildNode struct {
	Node
	dropped bool
	ports   []buildPort // by port number, 0..NumPorts
}

type buildPort struct {
	peer End
	guid mad.GUID
	seen bool
	// answered says that a NodeInfo came from behind the port, whatever became of it.
	answered bool
	info     smp.PortInfo
	pkeys    *PKeyTable
	extended *smp.ExtendedPortInfo
}

// NewBuilder returns an empty Builder, with room for as much as another Topo has; nil for one that is not known.
func NewBuilder(like *Topo) *Builder {
	b := &Builder{self: NoEnd}
	nodes, owners := 0, 0
	if like != nil {
		nodes, owners = len(like.Nodes), len(like.EndPorts)
		b.spareNodes, b.sparePorts = make([]buildNode, nodes), make([]buildPort, len(like.Ports))
	}
	b.nodes = make([]*buildNode, 0, nodes)
	b.byGUID, b.portOwner = make(map[mad.GUID]int32, nodes), make(map[mad.GUID]End, owners)
	return b
}

// spare takes some of what there is room for.
func spare[T any](of *[]T, count int) []T {
	const more = 256
	if len(*of) < count {
		*of = make([]T, max(count, more))
	}
	some := (*of)[:count:count]
	*of = (*of)[count:]
	return some
}

// Len is the number of nodes so far.
func (b *Builder) Len() int { return len(b.nodes) }

// Find is the index of a node by GUID.
func (b *Builder) Find(guid mad.GUID) (int32, bool) {
	n, ok := b.byGUID[guid]
	return n, ok
}

// Node is a node by index, for reading and for filling in what later replies
// say.
func (b *Builder) Node(n int32) *Node { return &b.nodes[n].Node }

// AddNode adds the node that answered with info along route. The node GUID must
// be new to the Builder.
func (b *Builder) AddNode(info *smp.NodeInfo, route mad.Route) int32 {
	n := int32(len(b.nodes))
	node := &spare(&b.spareNodes, 1)[0]
	node.Node = Node{
		GUID: info.NodeGUID(), Type: info.NodeType(), NumPorts: info.NumPorts(),
		Switch: None, Route: route, Info: *info,
	}
	node.ports = spare(&b.sparePorts, int(info.NumPorts())+1)
	for i := range node.ports {
		node.ports[i].peer = NoEnd
	}
	b.nodes = append(b.nodes, node)
	b.byGUID[info.NodeGUID()] = n
	b.SetPortGUID(End{n, endPort(info)}, info.PortGUID())
	return n
}

// endPort is the port that the PortGUID of a NodeInfo belongs to.
func endPort(info *smp.NodeInfo) uint8 {
	if info.NodeType() == mad.Switch {
		return 0
	}
	return info.LocalPortNum()
}

// PortOwner is the end port that has a port GUID.
func (b *Builder) PortOwner(guid mad.GUID) (End, bool) {
	e, ok := b.portOwner[guid]
	return e, ok
}

// SetPortGUID says which GUID an end port has.
func (b *Builder) SetPortGUID(e End, guid mad.GUID) {
	b.port(e).guid = guid
	b.portOwner[guid] = e
}

// SetSelf says which port is the manager's own.
func (b *Builder) SetSelf(e End) { b.self = e }

// Self is the manager's own port, or NoEnd.
func (b *Builder) Self() End { return b.self }

// PortGUID is the GUID of an end port, 0 while it is not known.
func (b *Builder) PortGUID(e End) mad.GUID { return b.port(e).guid }

// SetAnswered notes that something answers behind a port.
func (b *Builder) SetAnswered(e End) { b.port(e).answered = true }

// SetPort stores the PortInfo of a port.
func (b *Builder) SetPort(e End, info *smp.PortInfo) {
	p := b.port(e)
	p.info, p.seen = *info, true
}

// Port is the PortInfo of a port, nil when it was not read.
func (b *Builder) Port(e End) *smp.PortInfo {
	if p := b.port(e); p.seen {
		return &p.info
	}
	return nil
}

// SetPKeys stores the partition table of a port.
func (b *Builder) SetPKeys(e End, t *PKeyTable) { b.port(e).pkeys = t }

// PKeys is the partition table of a port, nil when it was not read.
func (b *Builder) PKeys(e End) *PKeyTable { return b.port(e).pkeys }

// SetExtended stores the ExtendedPortInfo of a port.
func (b *Builder) SetExtended(e End, info *smp.ExtendedPortInfo) {
	held := *info
	b.port(e).extended = &held
}

// Link joins two ports by a cable. Both must be free; they may be the same one.
func (b *Builder) Link(a, c End) {
	b.port(a).peer = c
	b.port(c).peer = a
}

// Unlink takes the cable of a port away, if it has one.
func (b *Builder) Unlink(a End) {
	if peer := b.port(a).peer; peer != NoEnd {
		b.port(a).peer, b.port(peer).peer = NoEnd, NoEnd
	}
}

// Drop takes a node out again, with its cables: too little of it could be read.
func (b *Builder) Drop(n int32) {
	for num := range b.nodes[n].ports {
		e := End{n, uint8(num)}
		if peer := b.Peer(e); peer != NoEnd {
			b.port(peer).answered = false // it must be asked again
		}
		b.Unlink(e)
		if guid := b.PortGUID(e); guid != 0 && b.portOwner[guid] == e {
			delete(b.portOwner, guid)
		}
	}
	delete(b.byGUID, b.nodes[n].GUID)
	b.nodes[n].dropped = true
}

// Dropped reports whether the node was taken out.
func (b *Builder) Dropped(n int32) bool { return b.nodes[n].dropped }

// Peer is the other end of the cable of a port, or NoEnd.
func (b *Builder) Peer(e End) End { return b.port(e).peer }

func (b *Builder) port(e End) *buildPort { return &b.nodes[e.Node].ports[e.Port] }

// RouteTo is that of the Topo.
func (b *Builder) RouteTo(e End) (route mad.Route, ok bool) {
	node := b.Node(e.Node)
	if node.Type == mad.Switch || e.Port == node.Info.LocalPortNum() {
		return node.Route, true
	}
	peer := b.Peer(e)
	if peer == NoEnd {
		return route, false
	}
	return b.Node(peer.Node).Route.Then(peer.Port)
}

// Freeze makes the Topo. The Builder must not be used any more, and holds no memory.
func (b *Builder) Freeze() *Topo {
	order := make([]int32, 0, len(b.nodes))
	for i := range b.nodes {
		if !b.nodes[i].dropped {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Compare(b.nodes[x].GUID, b.nodes[y].GUID) })

	t := &Topo{Nodes: make([]Node, len(order)), Self: None}
	first := make([]PortIdx, len(b.nodes)) // by discovery index
	total := PortIdx(0)
	for i, n := range order {
		node := &t.Nodes[i]
		*node = b.nodes[n].Node
		node.First = total
		first[n] = total
		total += PortIdx(len(b.nodes[n].ports))
		if node.Type == mad.Switch {
			node.Switch = SwitchIdx(len(t.Switches))
			t.Switches = append(t.Switches, NodeIdx(i))
		}
	}
	t.Ports = make([]Port, total)
	for i, n := range order {
		for num, bp := range b.nodes[n].ports {
			p := &t.Ports[first[n]+PortIdx(num)]
			*p = Port{Node: NodeIdx(i), Num: uint8(num), Peer: None, GUID: bp.guid, Seen: bp.seen, Info: bp.info,
				PKeys: bp.pkeys}
			if bp.extended != nil {
				t.SetExtended(first[n]+PortIdx(num), bp.extended)
			}
			if bp.peer != NoEnd {
				p.Peer = first[bp.peer.Node] + PortIdx(bp.peer.Port)
			} else {
				p.Shunned = bp.answered
			}
		}
	}
	if b.self != NoEnd && !b.nodes[b.self.Node].dropped {
		t.Self = first[b.self.Node] + PortIdx(b.self.Port)
	}
	*b = Builder{}
	t.fillEndPorts()
	return t
}

// fillEndPorts lists the ports that own LIDs, and gives switch ports the GUID of
// their port 0.
func (t *Topo) fillEndPorts() {
	for i := range t.Ports {
		p := &t.Ports[i]
		if t.Nodes[p.Node].Type == mad.Switch && p.Num != 0 {
			p.GUID = t.Ports[t.Nodes[p.Node].First].GUID
		} else if p.GUID != 0 && p.Seen {
			t.EndPorts = append(t.EndPorts, PortIdx(i))
		}
	}
	slices.SortStableFunc(t.EndPorts, func(x, y PortIdx) int { return cmp.Compare(t.Ports[x].GUID, t.Ports[y].GUID) })
}

// RouteTo is the directed route along which the agent of a port is reached: that
// of the node, but for the further ports of a CA or router, which answer only
// for themselves, the one through their own cable. ok is false when there is
// none.
func (t *Topo) RouteTo(p PortIdx) (route mad.Route, ok bool) {
	port := &t.Ports[p]
	node := &t.Nodes[port.Node]
	if node.Type == mad.Switch || port.Num == node.Info.LocalPortNum() {
		return node.Route, true
	}
	if port.Peer == None {
		return route, false
	}
	peer := &t.Ports[port.Peer]
	return t.Nodes[peer.Node].Route.Then(peer.Num)
}

// Along is the port at which a packet comes in that leaves by these ports, the first one
// our own; None where they lead nowhere.
func (t *Topo) Along(out []uint8) PortIdx {
	at := t.Self
	for _, num := range out {
		if at = t.Behind(at, num); at == None {
			break
		}
	}
	return at
}

// Behind is the port at the other end of the cable at port num of a port's node, None if there is none.
func (t *Topo) Behind(at PortIdx, num uint8) PortIdx {
	n := t.Ports[at].Node
	if num > t.Nodes[n].NumPorts {
		return None
	}
	return t.Ports[t.Port(n, num)].Peer
}

// Answers reports whether the agent of a port has answered in this sweep. That of
// a further port of a CA or router is reached through the switch it hangs on.
func (t *Topo) Answers(p PortIdx) bool {
	port := &t.Ports[p]
	node := &t.Nodes[port.Node]
	switch {
	case node.Missed > 0:
		return false
	case node.Type == mad.Switch || port.Num == node.Info.LocalPortNum():
		return true
	}
	return port.Peer != None && t.Nodes[t.Ports[port.Peer].Node].Missed == 0
}

// Remap maps each node of old to the node of t with its GUID, or None.
func (t *Topo) Remap(old *Topo) []NodeIdx {
	to := make([]NodeIdx, len(old.Nodes))
	j := 0
	for i := range old.Nodes {
		for j < len(t.Nodes) && t.Nodes[j].GUID < old.Nodes[i].GUID {
			j++
		}
		if j < len(t.Nodes) && t.Nodes[j].GUID == old.Nodes[i].GUID {
			to[i] = NodeIdx(j)
		} else {
			to[i] = None
		}
	}
	return to
}

// FindNode is the node with a GUID, or None.
func (t *Topo) FindNode(guid mad.GUID) NodeIdx {
	// slices.BinarySearchFunc would copy each Node
	i, ok := sort.Find(len(t.Nodes), func(i int) int { return cmp.Compare(guid, t.Nodes[i].GUID) })
	if !ok {
		return None
	}
	return NodeIdx(i)
}

// FindNodePort is a port by its node's GUID and its number, or None.
func (t *Topo) FindNodePort(node mad.GUID, num uint8) PortIdx {
	n := t.FindNode(node)
	if n == None || num > t.Nodes[n].NumPorts {
		return None
	}
	return t.Port(n, num)
}

// FindPort is the end port with a port GUID, or None.
func (t *Topo) FindPort(guid mad.GUID) PortIdx {
	i, ok := slices.BinarySearchFunc(t.EndPorts, guid, func(p PortIdx, g mad.GUID) int {
		return cmp.Compare(t.Ports[p].GUID, g)
	})
	if !ok {
		return None
	}
	return t.EndPorts[i]
}
