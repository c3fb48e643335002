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
	links := make([]link, 0, len(t.Ports)/2)
	for i := range t.Ports {
		p := &t.Ports[i]
		if !t.BetweenSwitches(topo.PortIdx(i)) || p.Unhealthy || t.Ports[p.Peer].Unhealthy {
			continue
		}
		far := &t.Ports[p.Peer]
		if l := (link{t.Nodes[p.Node].GUID, t.Nodes[far.Node].GUID, p.Num, far.Num}); l.from < l.to {
			links = append(links, l)
		}
	}
	slices.SortFunc(links, link.compare)
	return links
}

// tables are the tables of a base for the switches of t; nil if they are another engine's, or if t has links that the
// base does not know, which would then not be used. b may be nil.
func (b *base) tables(engine string, t *topo.Topo) *routing.Tables {
	if b == nil || b.lacks(linksOf(t)) {
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

// lacks reports whether a base lacks some of the links, which are in order.
func (b *base) lacks(links []link) bool {
	at := 0
	for _, l := range links {
		for at < len(b.links) && b.links[at].compare(l) < 0 {
			at++
		}
		if at == len(b.links) || b.links[at] != l {
			return true
		}
	}
	return false
}

// linksAdded reports whether t has a link between switches for routes that prev had not, or that could
// not be used then.
func linksAdded(prev, t *topo.Topo) bool {
	before := prev.Remap(t)
	for i := range t.Ports {
		p := &t.Ports[i]
		if !t.BetweenSwitches(topo.PortIdx(i)) || p.Unhealthy {
			continue
		}
		old := before[p.Node]
		if old == topo.None || p.Num > prev.Nodes[old].NumPorts {
			return true
		}
		before := &prev.Ports[prev.Port(old, p.Num)]
		was, far := before.Peer, &t.Ports[p.Peer]
		if was == topo.None || before.Unhealthy || prev.Ports[was].Num != far.Num ||
			prev.Nodes[prev.Ports[was].Node].GUID != t.Nodes[far.Node].GUID {
			return true
		}
	}
	return false
}
