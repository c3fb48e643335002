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
	nodes     []buildNode
	byGUID    map[mad.GUID]int32
	portOwner map[mad.GUID]End // end ports by port GUID
	extended  map[End]smp.ExtendedPortInfo
	self      End

	// The nodes of another Topo have their places here, in its order, so that a Topo with no others is made in them.
	like  *Topo
	taken []bool // by its NodeIdx
	room  Topo   // its Nodes, Ports
	peers []End  // of its Ports
	// chunks for other nodes and their ports
	spareNodes []Node
	sparePorts []Port
	sparePeers []End
}

// End is a port by the order of discovery: index of the node and port number.
type End struct {
	Node int32
	Port uint8
}

// NoEnd is no port.
var NoEnd = End{Node: None}

// buildNode is a node and its ports, by port number from 0. Of a port here, GUID is 0 where it is not known, Shunned
// says that a NodeInfo came from behind it, whatever became of it, and peers has its other end.
type buildNode struct {
	*Node
	ports   []Port
	peers   []End
	placed  bool // in the room of Builder.like
	dropped bool
}

// NewBuilder returns an empty Builder, with room for as much as another Topo has; nil for one that is not known.
func NewBuilder(like *Topo) *Builder {
	b := &Builder{self: NoEnd, like: like}
	nodes, owners := 0, 0
	if like != nil {
		nodes, owners = len(like.Nodes), len(like.EndPorts)
		b.room.Nodes, b.room.Ports = make([]Node, nodes), make([]Port, len(like.Ports))
		b.peers, b.taken = make([]End, len(like.Ports)), make([]bool, nodes)
	}
	b.nodes = make([]buildNode, 0, nodes)
	b.byGUID, b.portOwner = make(map[mad.GUID]int32, nodes), make(map[mad.GUID]End, owners)
	return b
}

// place finds a place for a node.
func (b *Builder) place(guid mad.GUID, ports int) (n buildNode) {
	if b.like != nil {
		i := b.like.FindNode(guid)
		if i != None && !b.taken[i] && int(b.like.Nodes[i].NumPorts)+1 == ports {
			b.taken[i] = true
			from := int(b.like.Nodes[i].First)
			return buildNode{Node: &b.room.Nodes[i], ports: b.room.Ports[from : from+ports],
				peers: b.peers[from : from+ports], placed: true}
		}
	}
	return buildNode{Node: &spare(&b.spareNodes, 1)[0], ports: spare(&b.sparePorts, ports),
		peers: spare(&b.sparePeers, ports)}
}

// spare takes some of a chunk, and makes another one where it is too small.
func spare[T any](of *[]T, count int) []T {
	const chunk = 256
	if len(*of) < count {
		*of = make([]T, max(count, chunk))
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
func (b *Builder) Node(n int32) *Node { return b.nodes[n].Node }

// AddNode adds the node that answered with info along route. The node GUID must
// be new to the Builder.
func (b *Builder) AddNode(info *smp.NodeInfo, route mad.Route) int32 {
	n := int32(len(b.nodes))
	node := b.place(info.NodeGUID(), int(info.NumPorts())+1)
	*node.Node = Node{
		GUID: info.NodeGUID(), Type: info.NodeType(), NumPorts: info.NumPorts(),
		Switch: None, Route: route, Info: *info,
	}
	for i := range node.peers {
		node.peers[i] = NoEnd
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
	b.port(e).GUID = guid
	b.portOwner[guid] = e
}

// SetSelf says which port is the manager's own.
func (b *Builder) SetSelf(e End) { b.self = e }

// Self is the manager's own port, or NoEnd.
func (b *Builder) Self() End { return b.self }

// PortGUID is the GUID of an end port, 0 while it is not known.
func (b *Builder) PortGUID(e End) mad.GUID { return b.port(e).GUID }

// SetAnswered notes that something answers behind a port.
func (b *Builder) SetAnswered(e End) { b.port(e).Shunned = true }

// SetPort stores the PortInfo of a port.
func (b *Builder) SetPort(e End, info *smp.PortInfo) {
	p := b.port(e)
	p.Info, p.Seen = *info, true
}

// Port is the PortInfo of a port, nil when it was not read.
func (b *Builder) Port(e End) *smp.PortInfo {
	if p := b.port(e); p.Seen {
		return &p.Info
	}
	return nil
}

// SetPKeys stores the partition table of a port.
func (b *Builder) SetPKeys(e End, t *PKeyTable) { b.port(e).PKeys = t }

// PKeys is the partition table of a port, nil when it was not read.
func (b *Builder) PKeys(e End) *PKeyTable { return b.port(e).PKeys }

// SetExtended stores the ExtendedPortInfo of a port.
func (b *Builder) SetExtended(e End, info *smp.ExtendedPortInfo) {
	if b.extended == nil {
		b.extended = map[End]smp.ExtendedPortInfo{}
	}
	b.extended[e] = *info
}

// Link joins two ports by a cable. Both must be free; they may be the same one.
func (b *Builder) Link(a, c End) {
	*b.peer(a), *b.peer(c) = c, a
}

// Unlink takes the cable of a port away, if it has one.
func (b *Builder) Unlink(a End) {
	if peer := b.Peer(a); peer != NoEnd {
		*b.peer(a), *b.peer(peer) = NoEnd, NoEnd
	}
}

// Drop takes a node out again, with its cables: too little of it could be read.
func (b *Builder) Drop(n int32) {
	for num := range b.nodes[n].ports {
		e := End{n, uint8(num)}
		if peer := b.Peer(e); peer != NoEnd {
			b.port(peer).Shunned = false // it must be asked again
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
func (b *Builder) Peer(e End) End { return *b.peer(e) }

func (b *Builder) peer(e End) *End { return &b.nodes[e.Node].peers[e.Port] }

func (b *Builder) port(e End) *Port { return &b.nodes[e.Node].ports[e.Port] }

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
	order, placed, total := make([]int32, 0, len(b.nodes)), true, 0
	for i := range b.nodes {
		if n := &b.nodes[i]; !n.dropped {
			order, placed, total = append(order, int32(i)), placed && n.placed, total+len(n.ports)
		}
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Compare(b.nodes[x].GUID, b.nodes[y].GUID) })

	t := &Topo{Self: None}
	if placed && b.like != nil { // each node moves to the front, if at all: those before it have been moved
		t.Nodes, t.Ports = b.room.Nodes[:len(order)], b.room.Ports[:total]
	} else {
		t.Nodes, t.Ports = make([]Node, len(order)), make([]Port, total)
	}
	first := make([]PortIdx, len(b.nodes)) // by discovery index
	next := PortIdx(0)
	for i, n := range order {
		node := &t.Nodes[i]
		if from := b.nodes[n].Node; node != from {
			*node = *from
		}
		first[n], node.First = next, next
		if ports := b.nodes[n].ports; &t.Ports[next] != &ports[0] {
			copy(t.Ports[next:], ports)
		}
		next += PortIdx(len(b.nodes[n].ports))
		if node.Type == mad.Switch {
			node.Switch = SwitchIdx(len(t.Switches))
			t.Switches = append(t.Switches, NodeIdx(i))
		}
	}
	for i, n := range order {
		for num, peer := range b.nodes[n].peers {
			p := &t.Ports[first[n]+PortIdx(num)]
			p.Node, p.Num, p.Peer = NodeIdx(i), uint8(num), None
			if peer != NoEnd {
				p.Peer, p.Shunned = first[peer.Node]+PortIdx(peer.Port), false
			}
		}
	}
	for e, info := range b.extended {
		if !b.nodes[e.Node].dropped {
			t.SetExtended(first[e.Node]+PortIdx(e.Port), &info)
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
