package verify

import (
	"fmt"

	"ibsm/mad"
	"ibsm/plural"
	"ibsm/routing"
	"ibsm/topo"
)

// rules separate routes that an engine's rules forbid from lost ones. Routes that serve hosts or the manager are lost
// whatever the rules are.
type rules struct {
	*routing.Rules
	graph *routing.Graph
	lids  *topo.LIDs
	topo  *topo.Topo
	hosts []bool         // by SwitchIdx: a host sends from there
	self  topo.SwitchIdx // the manager sends from there; None if it is on none
}

// newRules returns nil for tables whose engine permits all ways.
func newRules(t *topo.Topo, l *topo.LIDs, tables *routing.Tables) *rules {
	if tables.Rules == nil {
		return nil
	}
	r := &rules{Rules: tables.Rules, graph: routing.NewGraph(t), lids: l, topo: t, hosts: make([]bool, len(t.Switches)),
		self: topo.None}
	for _, p := range t.EndPorts {
		if s := t.SwitchOf(p); s != topo.None && t.IsHost(p) {
			r.hosts[s] = true
		}
	}
	if t.Self != topo.None {
		r.self = t.SwitchOf(t.Self)
	}
	return r
}

// needed reports whether a host or the manager needs the route: the manager reaches all, and is reached by all.
func (r *rules) needed(s topo.SwitchIdx, lid mad.LID) bool {
	p := r.lids.PortOf(lid)
	return s == r.self || p == r.topo.Self || r.hosts[s] && r.topo.IsHost(p)
}

// block is the rules for the LIDs of one block.
type block struct {
	*rules
	first     int
	homes     []topo.SwitchIdx // by LID
	own       uint64           // LIDs of switches
	permitted []uint64         // by SwitchIdx; nil until it is asked for
}

func (r *rules) block(first int, home func(mad.LID) topo.SwitchIdx) *block {
	b := &block{rules: r, first: first, homes: make([]topo.SwitchIdx, routing.BlockSize)}
	for i := range b.homes {
		b.homes[i] = topo.None
		if lid := mad.LID(first + i); r != nil && r.lids.PortOf(lid) != topo.None {
			b.homes[i] = home(lid)
			if r.topo.Nodes[r.topo.Ports[r.lids.PortOf(lid)].Node].Type == mad.Switch {
				b.own |= 1 << i
			}
		}
	}
	return b
}

// forbid reports whether the rules forbid the route that a dead end lacks, and no one needs it.
func (b *block) forbid(s topo.SwitchIdx, lid mad.LID) bool {
	if b.rules == nil || b.needed(s, lid) {
		return false
	}
	if b.permitted == nil {
		b.permitted = b.Permitted(b.graph, b.homes, b.own)
	}
	return b.permitted[s]>>(int(lid)-b.first)&1 == 0
}

// connects reports whether connect_roots would give the route.
func (b *block) connects(s topo.SwitchIdx, lid mad.LID) bool {
	i := int(lid) - b.first
	return b.Connects != nil && b.Connects(s, b.homes[i], b.own>>i&1 != 0)
}

// ForbiddenRoute reports whether the rules of the engine forbid a route that the tables do not have, and whether
// connect_roots would give it.
func ForbiddenRoute(t *topo.Topo, l *topo.LIDs, tables *routing.Tables, s topo.SwitchIdx, lid mad.LID) (forbidden,
	connects bool) {
	r := newRules(t, l, tables)
	if r == nil || l.PortOf(lid) == topo.None {
		return false, false
	}
	b := r.block(int(lid)/routing.BlockSize*routing.BlockSize, func(lid mad.LID) topo.SwitchIdx {
		home, _ := routing.Home(t, l.PortOf(lid))
		return home
	})
	if !b.forbid(s, lid) {
		return false, false
	}
	return true, b.connects(s, lid)
}

// ByRules is how many routes the rules of an engine forbid, in words, with what connect_roots would change; "" for
// none.
func (r *Report) ByRules(engine string) string {
	n := r.Count[Forbidden]
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("%s without a route by the rules of %s, which neither hosts nor the manager need",
		plural.With(n, "pair of switches", "pairs of switches"), engine)
	switch {
	case r.Connects == n:
		text += ": connect_roots gives " + plural.Word(n, "it", "them") + " one"
	case r.Connects > 0:
		text += fmt.Sprintf(": connect_roots gives %d of them one", r.Connects)
	}
	return text
}
