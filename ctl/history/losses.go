package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/view"
)

// End is a port of a node.
type End struct {
	Node mad.GUID
	Port uint8
}

func endOf(t *topo.Topo, p topo.PortIdx) End {
	return End{t.Nodes[t.Ports[p].Node].GUID, t.Ports[p].Num}
}

// Losses are the nodes and links that went and came between two views.
type Losses struct {
	Gone   []GoneNode
	Back   []mad.GUID
	Links  []LostLink // each from every end that is still there
	Linked []End
}

// GoneNode is a node that is not there any more.
type GoneNode struct {
	GUID  mad.GUID
	Type  mad.NodeType
	Name  string
	Ports []GonePort // that had LIDs or links
	Since time.Time
}

// GonePort is a port of it.
type GonePort struct {
	GUID mad.GUID
	Num  uint8
	LID  mad.LID // base LID; 0 none
	Last string  // what it was linked to; "" nothing
}

// LostLink is a link that is not there any more, as one of its ends knew it.
type LostLink struct {
	Here, Far End
	Name      string // of the far end
	Since     time.Time
}

func (c *comparer) goneNode(v *view.View, n topo.NodeIdx) GoneNode {
	node := &v.Topo.Nodes[n]
	g := GoneNode{GUID: node.GUID, Type: node.Type, Name: node.Desc.String()}
	for num := range int(node.NumPorts) + 1 {
		p := v.Topo.Port(n, uint8(num))
		port := GonePort{GUID: v.Topo.Ports[p].GUID, Num: uint8(num), LID: v.LIDs.Base[p]}
		if peer := v.Topo.Ports[p].Peer; peer != topo.None && node.Type != mad.Switch {
			port.Last = c.peer(v.Topo, peer).String()
		}
		if port.LID != 0 || port.Last != "" {
			g.Ports = append(g.Ports, port)
		}
	}
	return g
}

// Limits of a Past. What is lost beyond them is counted.
const (
	MaxGone = 1 << 14
	MaxLost = 1 << 15
)

// Past remembers what was lost and has not come back. It is owned by one goroutine.
type Past struct {
	nodes map[mad.GUID]GoneNode
	links map[End]LostLink // by Here
	More  uint64           // losses for which there was no room
}

// NewPast remembers nothing.
func NewPast() *Past { return &Past{nodes: map[mad.GUID]GoneNode{}, links: map[End]LostLink{}} }

// Take adds what was lost at a time, and forgets what came back.
func (p *Past) Take(l *Losses, at time.Time) {
	for _, guid := range l.Back {
		delete(p.nodes, guid)
	}
	for _, g := range l.Gone {
		if len(p.nodes) >= MaxGone {
			p.More++
			continue
		}
		g.Since = at
		p.nodes[g.GUID] = g
	}
	for _, l := range l.Links {
		if len(p.links) >= MaxLost {
			p.More++
			continue
		}
		l.Since = at
		p.links[l.Here] = l
	}
	for _, here := range l.Linked { // after the links that were lost: another may be there instead
		delete(p.links, here)
	}
}

// Settle forgets what is there in a view, which need not follow the one before.
func (p *Past) Settle(t *topo.Topo) {
	for guid := range p.nodes {
		if t.FindNode(guid) != topo.None {
			delete(p.nodes, guid)
		}
	}
	for here := range p.links {
		if at := t.FindNodePort(here.Node, here.Port); at == topo.None || t.Ports[at].Peer != topo.None {
			delete(p.links, here)
		}
	}
}

// Link is the link that a port has not any more.
func (p *Past) Link(here End) (l LostLink, ok bool) {
	l, ok = p.links[here]
	return l, ok
}

// Lost are all nodes, by GUID, and links, by their first end, that are not there any more. Of a
// link between two nodes that are there, both ends are in the list.
func (p *Past) Lost() (nodes []GoneNode, links []LostLink) {
	nodes = slices.SortedFunc(maps.Values(p.nodes), func(a, b GoneNode) int { return cmp.Compare(a.GUID, b.GUID) })
	links = slices.SortedFunc(maps.Values(p.links), func(a, b LostLink) int {
		return cmp.Or(cmp.Compare(a.Here.Node, b.Here.Node), cmp.Compare(a.Here.Port, b.Here.Port))
	})
	return nodes, links
}

// Gone is the node that is not there any more for which match holds, the one with the
// lowest GUID.
func (p *Past) Gone(match func(*GoneNode) bool) (found GoneNode, ok bool) {
	for _, g := range p.nodes {
		if (!ok || g.GUID < found.GUID) && match(&g) {
			found, ok = g, true
		}
	}
	return found, ok
}
