package manager

import (
	"maps"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/view"
)

// gatherDelay is how long changed NodeDescriptions are collected before a view with them is
// published: hosts that boot together change theirs together.
const gatherDelay = 250 * time.Millisecond

// descriptions is the state machine that reads NodeDescriptions that have changed since the last
// sweep. Each node has a state; nodes without one are not read.
type descriptions struct {
	nodes map[mad.GUID]descriptionState
	queue []mad.GUID          // of nodes that are queued
	asked map[uint64]mad.GUID // nodes that are asked, by the tag of the request
	last  uint64              // tag
	read  map[mad.GUID]smp.NodeDescription
	due   time.Duration // when a view with those read is wanted; 0 none
}

// descriptionState is how far the reading of one node's description is.
type descriptionState uint8

const (
	notWanted  descriptionState = iota
	queued                      // it waits to be asked
	asked                       // a request is outstanding
	askedAgain                  // the same, and the description has changed since
)

// reset forgets all nodes. Responses to earlier requests are ignored.
func (m *descriptions) reset() {
	*m = descriptions{nodes: map[mad.GUID]descriptionState{}, asked: map[uint64]mad.GUID{}, last: m.last,
		read: map[mad.GUID]smp.NodeDescription{}}
}

// want has a node asked. A node sends its trap only once its description has changed.
func (m *descriptions) want(guid mad.GUID) {
	switch m.nodes[guid] {
	case notWanted:
		m.nodes[guid] = queued
		m.queue = append(m.queue, guid)
	case asked:
		m.nodes[guid] = askedAgain
	}
}

// wantLID has the node of a LID asked.
func (m *descriptions) wantLID(v *view.View, lid mad.LID) {
	if p := portOf(v, lid); p != topo.None {
		m.want(v.Topo.Nodes[v.Topo.Ports[p].Node].GUID)
	}
}

// wantAll has every node asked.
func (m *descriptions) wantAll(v *view.View) {
	if v == nil {
		return
	}
	for i := range v.Topo.Nodes {
		m.want(v.Topo.Nodes[i].GUID)
	}
}

// wantNew requests the descriptions of nodes, other than switches, with an ACTIVE port that the previous view did not
// have. A booting node may get its description after the walk has read it, and sends no trap about that while its port
// is not ACTIVE. Ports that were ARMED in the previous view do not count: in the first view of a term, which
// publishFirst makes while the program still runs, these may be all hosts of a cold start.
func (m *descriptions) wantNew(old, now *view.View) {
	if old == nil || old.Topo == now.Topo {
		return
	}
	for _, p := range now.Topo.EndPorts {
		port := &now.Topo.Ports[p]
		if port.Info.PortState() != smp.PortActive || now.Topo.Nodes[port.Node].Type == mad.Switch {
			continue
		}
		if was := old.Topo.FindPort(port.GUID); was == topo.None ||
			old.Topo.Ports[was].Info.PortState() < smp.PortArmed {
			m.want(now.Topo.Nodes[port.Node].GUID)
		}
	}
}

// cancelled has every node asked again whose answer will not come.
func (m *descriptions) cancelled() {
	for _, tag := range slices.Sorted(maps.Keys(m.asked)) {
		guid := m.asked[tag]
		delete(m.nodes, guid)
		m.want(guid)
	}
	clear(m.asked)
}

// ask asks as many nodes as are allowed at a time. A node that has not answered the last walk is
// asked by the next walk.
func (m *descriptions) ask(fx *effects, v *view.View, sweeper *sweep.Sweeper) {
	for v != nil && len(m.queue) > 0 && fx.table.Room() > 0 {
		guid := m.queue[0]
		if m.queue = m.queue[1:]; len(m.queue) == 0 {
			m.queue = nil // and its memory with it
		}
		n := v.Topo.FindNode(guid)
		if n == topo.None || v.Topo.Nodes[n].Missed > 0 {
			delete(m.nodes, guid)
			continue
		}
		m.last++
		m.nodes[guid], m.asked[m.last] = asked, guid
		key, _ := sweeper.MKeys().KeyAlong(v.Topo.Nodes[n].Route.Ports())
		fx.request(directed(ownerDescriptions, m.last, v.Topo.Nodes[n].Route, mad.MethodGet, smp.AttrNodeDescription, 0,
			key))
	}
}

// done takes the outcome of a request.
func (m *descriptions) done(now time.Duration, o *txn.Outcome) {
	guid, ok := m.asked[o.Tag]
	if !ok {
		return
	}
	delete(m.asked, o.Tag)
	before := m.nodes[guid]
	if delete(m.nodes, guid); before == askedAgain {
		m.want(guid)
	}
	if !isOK(o) {
		return
	}
	m.read[guid] = o.Data
	if m.due == 0 {
		m.due = now + gatherDelay
	}
}

// gathered are the descriptions to publish now, or nil.
func (m *descriptions) gathered(now time.Duration) map[mad.GUID]smp.NodeDescription {
	if m.due == 0 || m.due > now {
		return nil
	}
	return m.read
}

// published notes that the collected descriptions are in the known subnet.
func (m *descriptions) published() { m.read, m.due = map[mad.GUID]smp.NodeDescription{}, 0 }

// publishDescriptions publishes the gathered NodeDescriptions. A sweep follows if port groups of the routing engine
// depend on them.
func (c *Core) publishDescriptions() {
	descs := c.descriptions.gathered(c.fx.now)
	if descs == nil {
		return
	}
	c.descriptions.published()
	if v := c.published.view; v != nil && !c.cfg.IgnoreTraps {
		switch { // held off: hosts describe themselves
		case c.cfg.Sweep.Engines.Regroups(v.Topo, descs):
			c.traps.sweep(c.fx.now, linkSweep, "members of port groups changed")
		case c.cfg.Sweep.Partitions.Policy.ByNames() && renamed(v.Topo, descs):
			c.traps.sweep(c.fx.now, linkSweep, "names of hosts changed that the partition file uses")
		}
	}
	if t := c.sweeps.sweeper.Rename(descs); t != nil {
		c.published.replaceTopo(&c.fx, t)
	}
}

// renamed reports whether a node of a subnet has another description than it had.
func renamed(t *topo.Topo, descs map[mad.GUID]smp.NodeDescription) bool {
	for guid, desc := range descs {
		if n := t.FindNode(guid); n != topo.None && t.Nodes[n].Desc != desc {
			return true
		}
	}
	return false
}
