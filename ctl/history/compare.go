package history

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// Moment is a view and what is registered with it, which may be nil.
type Moment struct {
	View       *view.View
	Registered *registry.State
}

// Compare returns the changes from one Moment to a later one, and what was lost and found
// again. What both share, as published views mostly do, costs nothing.
// Nodes in texts have the names that the operator gave them.
func Compare(given names.Map, old, now Moment) (*Step, *Losses) {
	c := &comparer{names: given, old: old.View, now: now.View,
		step: &Step{From: old.View.Gen, Gen: now.View.Gen, Last: now.View.Gen}, losses: &Losses{}}
	if !old.View.Topo.SharesPorts(now.View.Topo) || old.View.LIDs != now.View.LIDs {
		c.nodes()
	}
	c.managers()
	c.settings()
	c.groups(old.Registered, now.Registered)
	if old.View.Tables != now.View.Tables {
		c.routes()
		c.sls()
	}
	if old.View.Ports != now.View.Ports {
		c.lanes()
	}
	c.step.Changes = slices.Concat(c.kept[:]...)
	c.step.Changes = c.step.Changes[:min(len(c.step.Changes), MaxChanges)]
	return c.step, c.losses
}

// comparer is a Compare under way.
type comparer struct {
	names    names.Map
	old, now *view.View
	step     *Step
	losses   *Losses
	kept     [NumKinds][]Change
	newOf    []topo.NodeIdx // by node of old
	oldOf    []topo.NodeIdx // by node of now
}

func (c *comparer) add(ch Change) {
	c.step.Counts[ch.Kind]++
	if len(c.kept[ch.Kind]) < MaxChanges {
		c.kept[ch.Kind] = append(c.kept[ch.Kind], ch)
	}
}

// about adds a change of a node, or of one of its ports.
func (c *comparer) about(k Kind, n *topo.Node, port uint8, from, to string) {
	c.add(Change{Kind: k, Node: n.GUID, Port: port, Name: n.Desc.String(), From: from, To: to})
}

// nodes compares all nodes, in order of GUID.
func (c *comparer) nodes() {
	was, is := c.old.Topo, c.now.Topo
	c.newOf, c.oldOf = is.Remap(was), was.Remap(is)
	for i, n := range c.newOf {
		if n == topo.None {
			text, peer := c.describe(c.old, topo.NodeIdx(i))
			c.add(Change{Kind: Nodes, Node: was.Nodes[i].GUID, Name: was.Nodes[i].Desc.String(), From: text,
				FromPeer: peer})
			c.losses.Gone = append(c.losses.Gone, c.goneNode(c.old, topo.NodeIdx(i)))
		}
	}
	samePorts := len(was.Ports) == len(is.Ports) && &was.Ports[0] == &is.Ports[0] && c.old.LIDs == c.now.LIDs
	for i, n := range c.oldOf {
		if n == topo.None {
			text, peer := c.describe(c.now, topo.NodeIdx(i))
			c.add(Change{Kind: Nodes, Node: is.Nodes[i].GUID, Name: is.Nodes[i].Desc.String(), To: text, ToPeer: peer})
			c.losses.Back = append(c.losses.Back, is.Nodes[i].GUID)
			continue
		}
		a, b := &was.Nodes[n], &is.Nodes[i]
		if a.Desc != b.Desc {
			c.about(Names, b, 0, a.Desc.String(), b.Desc.String())
		}
		if (a.Missed > 0) != (b.Missed > 0) {
			c.about(Answers, b, 0, answers(a), answers(b))
		}
		if samePorts {
			continue
		}
		for num := range int(min(a.NumPorts, b.NumPorts)) + 1 {
			c.port(was.Port(n, uint8(num)), is.Port(topo.NodeIdx(i), uint8(num)))
		}
	}
}

func answers(n *topo.Node) string {
	if n.Missed > 0 {
		return "no"
	}
	return "yes"
}

// describe is a node in few words: what it is, what its first LID is and where it is, with which the text ends; nil for
// a switch.
func (c *comparer) describe(v *view.View, n topo.NodeIdx) (text string, at *Peer) {
	node := &v.Topo.Nodes[n]
	text = node.Type.String()
	for num := range int(node.NumPorts) + 1 {
		p := v.Topo.Port(n, uint8(num))
		if lid := v.LIDs.Base[p]; lid != 0 {
			text += fmt.Sprintf(" LID %d", lid)
			if peer := v.Topo.Ports[p].Peer; peer != topo.None && node.Type != mad.Switch {
				at = c.peer(v.Topo, peer)
				text += " at " + at.String()
			}
			break
		}
	}
	return text, at
}

// peer is a port as the other end of a link.
func (c *comparer) peer(t *topo.Topo, p topo.PortIdx) *Peer {
	port := &t.Ports[p]
	node := &t.Nodes[port.Node]
	return &Peer{Node: node.GUID, Name: c.names.Of(node.GUID, node.Desc.String()), Port: port.Num}
}

// port compares a port of a node that was and is there.
func (c *comparer) port(o, n topo.PortIdx) {
	was, is := &c.old.Topo.Ports[o], &c.now.Topo.Ports[n]
	node := &c.now.Topo.Nodes[is.Node]
	if c.old.LIDs.Base[o] != c.now.LIDs.Base[n] || c.old.LIDs.LMC[o] != c.now.LIDs.LMC[n] {
		c.about(LIDs, node, is.Num, lidText(c.old.LIDs, o), lidText(c.now.LIDs, n))
	}
	if was.PKeys != is.PKeys && was.PKeys != nil && is.PKeys != nil && !was.PKeys.Equal(is.PKeys) {
		c.about(PKeys, node, is.Num, keysText(was.PKeys), keysText(is.PKeys))
	}
	if is.Num == 0 {
		return
	}
	moved := c.link(o, n)
	a, b := was.Info.PortState(), is.Info.PortState()
	// the link's change says all
	byLink := moved && (a >= smp.PortActive && b == smp.PortDown || a == smp.PortDown && b >= smp.PortActive)
	if was.Seen && is.Seen && a != b && !byLink {
		c.about(States, node, is.Num, a.String(), b.String())
	}
	if !moved && is.Peer != topo.None && min(a, b) > smp.PortDown && speedOf(c.old.Topo, o) != speedOf(c.now.Topo, n) {
		c.about(Speeds, node, is.Num, speedOf(c.old.Topo, o).String(), speedOf(c.now.Topo, n).String())
	}
	if !moved && was.Unhealthy != is.Unhealthy {
		c.about(Avoided, node, is.Num, yes(was.Unhealthy), yes(is.Unhealthy))
	}
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// lidText is the LIDs of a port.
func lidText(l *topo.LIDs, p topo.PortIdx) string {
	switch {
	case l.Base[p] == 0:
		return ""
	case l.LMC[p] == 0:
		return l.Base[p].String()
	}
	return fmt.Sprintf("%v-%v", l.Base[p], l.Base[p]+mad.LID(l.Count(p))-1)
}

// maxKeys is how many P_Keys of a table a text names.
const maxKeys = 16

// keysText are the keys of a table by index.
func keysText(t *topo.PKeyTable) string {
	keys := t.Keys()
	var b strings.Builder
	for i, k := range keys[:min(len(keys), maxKeys)] {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(k.String())
	}
	if len(keys) > maxKeys {
		fmt.Fprintf(&b, " and %d more", len(keys)-maxKeys)
	}
	return b.String()
}

// linkSpeed is how fast a link is.
type linkSpeed struct {
	width mad.LinkWidth
	speed mad.LinkSpeed
}

func (s linkSpeed) String() string { return s.width.String() + " " + s.speed.String() }

func speedOf(t *topo.Topo, p topo.PortIdx) linkSpeed {
	return linkSpeed{t.Ports[p].Info.LinkWidthActive(), t.LinkSpeed(p)}
}

// link compares what a port leads to, and reports whether that has changed. A link has two
// ends and reported at the lower one; but if the node of one end came or went, the other
// does, unless it is an adapter, which says itself where it is.
func (c *comparer) link(o, n topo.PortIdx) (moved bool) {
	was, is := c.old.Topo.Ports[o].Peer, c.now.Topo.Ports[n].Peer
	if was == topo.None && is == topo.None {
		return false
	}
	if was != topo.None && is != topo.None {
		a, b := &c.old.Topo.Ports[was], &c.now.Topo.Ports[is]
		if c.newOf[a.Node] == b.Node && a.Num == b.Num {
			return false
		}
	}
	node, num := &c.now.Topo.Nodes[c.now.Topo.Ports[n].Node], c.now.Topo.Ports[n].Num
	here := End{node.GUID, num}
	if was != topo.None {
		c.losses.Links = append(c.losses.Links,
			LostLink{Here: here, Far: endOf(c.old.Topo, was), Name: c.peer(c.old.Topo, was).String()})
		if c.mine(c.old.Topo, c.newOf, here, was) {
			far := c.peer(c.old.Topo, was)
			c.add(Change{Kind: Links, Node: node.GUID, Port: num, Name: node.Desc.String(), From: far.String(),
				FromPeer: far})
		}
	}
	if is != topo.None {
		c.losses.Linked = append(c.losses.Linked, here)
		if c.mine(c.now.Topo, c.oldOf, here, is) {
			far := c.peer(c.now.Topo, is)
			c.add(Change{Kind: Links, Node: node.GUID, Port: num, Name: node.Desc.String(), To: far.String(),
				ToPeer: far})
		}
	}
	return true
}

// mine reports whether the change of a link is reported at this end. other is where the
// nodes of t are in the other Topo.
func (c *comparer) mine(t *topo.Topo, other []topo.NodeIdx, here End, peer topo.PortIdx) bool {
	far := &t.Ports[peer]
	node := &t.Nodes[far.Node]
	if other[far.Node] == topo.None {
		return node.Type == mad.Switch
	}
	return here.Node < node.GUID || here.Node == node.GUID && here.Port <= far.Num
}

// routes counts the entries that differ in the tables of switches that were there.
func (c *comparer) routes() {
	was, is := c.old.Topo, c.now.Topo
	if c.oldOf == nil {
		c.oldOf = was.Remap(is)
	}
	for s, n := range is.Switches {
		before := c.oldOf[n]
		if before == topo.None || was.Nodes[before].Switch == topo.None {
			continue
		}
		if d := differing(c.old.Tables.LFT[was.Nodes[before].Switch], c.now.Tables.LFT[s]); d > 0 {
			node := &is.Nodes[n]
			c.step.Entries += d
			c.add(Change{Kind: Routes, Node: node.GUID, Name: node.Desc.String(), Count: d})
		}
	}
}

// differing counts the LIDs that two rows send to different ports.
func differing(a, b []uint8) (n int) {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] {
		return 0
	}
	for from := 0; from < len(b); from += routing.BlockSize {
		x, y := a[min(from, len(a)):min(from+routing.BlockSize, len(a))], b[from:min(from+routing.BlockSize, len(b))]
		if string(x) == string(y) {
			continue
		}
		for i, port := range y {
			if i < len(x) && x[i] != port || i >= len(x) && port != routing.NoPath {
				n++
			}
		}
	}
	return n
}
