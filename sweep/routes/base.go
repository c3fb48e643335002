package routes

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// base are the tables to which an engine that changes as little as possible returns: those that it last computed from
// scratch, or another manager's, as found and first repaired. It is immutable.
type base struct {
	engine   string     // found for tables of another manager
	switches []mad.GUID // ascending
	lfts     [][]uint8  // of switches
	origin   any        // Tables.Origin
	links    []link     // between switches, as they were then, in order
	uneven   bool       // they were found, and those that the engine would compute have less on the fullest link
}

// link is one between switches, seen from the switch with the lower GUID.
type link struct {
	from, to         mad.GUID
	fromPort, toPort uint8
}

func (l link) compare(o link) int {
	return cmp.Or(cmp.Compare(l.from, o.from), cmp.Compare(l.fromPort, o.fromPort), cmp.Compare(l.to, o.to),
		cmp.Compare(l.toPort, o.toPort))
}

// found is what stands for an engine where tables are another manager's.
const found = "found"

func newBase(engine string, t *topo.Topo, tables *routing.Tables) *base {
	b := &base{engine: engine, lfts: tables.LFT, origin: tables.Origin, links: linksOf(t)}
	for _, n := range t.Switches {
		b.switches = append(b.switches, t.Nodes[n].GUID)
	}
	return b
}

// linksOf are the links between switches that can be used, in order.
func linksOf(t *topo.Topo) []link {
	links := make([]link, 0, len(t.Ports)/4)
	eachUsable(t, func(l link) bool {
		links = append(links, l)
		return true
	})
	return links
}

// eachUsable calls do for each link between switches that can be used, in order, until it returns false.
func eachUsable(t *topo.Topo, do func(l link) bool) {
	for _, n := range t.Switches {
		node := &t.Nodes[n]
		last := node.First + topo.PortIdx(node.NumPorts)
		for i := node.First + 1; i <= last; i++ {
			p := &t.Ports[i]
			if p.Peer <= last || p.Unhealthy { // no link, or one to a node with a lower GUID or itself
				continue
			}
			far := &t.Ports[p.Peer]
			if far.Unhealthy || !t.IsSwitchPort(p.Peer) {
				continue
			}
			if !do(link{node.GUID, t.Nodes[far.Node].GUID, p.Num, far.Num}) {
				return
			}
		}
	}
}

// tables are the tables of a base for the switches of t; nil if they are another engine's, or if t has links that the
// base does not know, which would then not be used. b may be nil.
func (b *base) tables(engine string, t *topo.Topo) *routing.Tables {
	if b == nil || b.lacks(t) {
		return nil
	}
	return b.rows(engine, t)
}

// rows are the rows of a base for the switches of t, regardless of its links; nil if they are another engine's. b may
// be nil.
func (b *base) rows(engine string, t *topo.Topo) *routing.Tables {
	if b == nil || b.engine != engine {
		return nil
	}
	tables := &routing.Tables{LFT: make([][]uint8, len(t.Switches)), Origin: b.origin}
	for s, n := range t.Switches {
		if i, is := slices.BinarySearch(b.switches, t.Nodes[n].GUID); is {
			tables.LFT[s] = b.lfts[i]
		}
	}
	return tables
}

// lacks reports whether a base lacks some of the links that can be used.
func (b *base) lacks(t *topo.Topo) (lacks bool) {
	at := 0
	eachUsable(t, func(l link) bool {
		for at < len(b.links) && b.links[at].compare(l) < 0 {
			at++
		}
		lacks = at == len(b.links) || b.links[at] != l
		return !lacks
	})
	return lacks
}

// linksAdded reports whether t has a link between switches for routes that prev had not, or that could
// not be used then.
func linksAdded(prev, t *topo.Topo) bool {
	before := prev.Remap(t)
	// ports have the numbers that they had
	alike := len(prev.Nodes) == len(t.Nodes) && len(prev.Ports) == len(t.Ports)
	for n := 0; alike && n < len(t.Nodes); n++ {
		alike = before[n] == topo.NodeIdx(n) && prev.Nodes[n].First == t.Nodes[n].First
	}
	for _, n := range t.Switches {
		for num := 1; num <= int(t.Nodes[n].NumPorts); num++ {
			i := t.Port(n, uint8(num))
			p := &t.Ports[i]
			if p.Peer == topo.None || p.Unhealthy ||
				alike && prev.Ports[i].Peer == p.Peer && !prev.Ports[i].Unhealthy || !t.BetweenSwitches(i) {
				continue
			}
			old := before[n]
			if old == topo.None || p.Num > prev.Nodes[old].NumPorts {
				return true
			}
			before, far := &prev.Ports[prev.Port(old, p.Num)], &t.Ports[p.Peer]
			was := before.Peer
			if was == topo.None || before.Unhealthy || prev.Ports[was].Num != far.Num ||
				prev.Nodes[prev.Ports[was].Node].GUID != t.Nodes[far.Node].GUID {
				return true
			}
		}
	}
	return false
}
