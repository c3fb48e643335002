package manager

import (
	"math"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/topo"
)

// renameDelay is how long changed NodeDescriptions are gathered before a view with
// them is published: hosts that boot together change theirs together.
const renameDelay = 250 * time.Millisecond

// renames are the NodeDescriptions that changed since the last sweep.
type renames struct {
	asked map[mad.GUID]bool // answers that are awaited
	descs map[mad.GUID]smp.NodeDescription
	due   time.Duration // when a view with descs is to be published; 0 none
	next  int           // of every node, the one to be asked next; beyond them none
}

func newRenames() renames {
	return renames{asked: map[mad.GUID]bool{}, descs: map[mad.GUID]smp.NodeDescription{}, next: math.MaxInt}
}

// describeNode asks the node of a LID for its description.
func (c *Core) describeNode(lid mad.LID) {
	if c.view == nil {
		return
	}
	p := c.view.LIDs.PortOf(lid)
	if p == topo.None {
		return
	}
	if route, ok := c.view.Topo.RouteTo(p); ok && c.table.Room() > 0 {
		c.describe(c.view.Topo.Ports[p].Node, route)
	}
}

// describeAll asks every node for its description, as there is room.
func (c *Core) describeAll() { c.renames.next = 0 }

func (c *Core) describeMore() {
	for ; c.view != nil && c.renames.next < len(c.view.Topo.Nodes) && c.table.Room() > 0; c.renames.next++ {
		c.describe(topo.NodeIdx(c.renames.next), c.view.Topo.Nodes[c.renames.next].Route)
	}
}

// describe asks a node along a route.
func (c *Core) describe(n topo.NodeIdx, route mad.Route) {
	guid := c.view.Topo.Nodes[n].GUID
	if c.renames.asked[guid] {
		return
	}
	c.renames.asked[guid] = true
	req := txn.Request{Class: mad.ClassDirected, Route: route, Method: mad.MethodGet, Attr: smp.AttrNodeDescription,
		Node: -1, Tag: tagRename | uint64(uint32(n))}
	c.table.Submit(&req)
}

// renamed takes the answer. Indexes may have changed since, so the tag is believed
// only for a node that was asked.
func (c *Core) renamed(o *txn.Outcome) {
	n := int(uint32(o.Tag))
	if c.view == nil || n >= len(c.view.Topo.Nodes) {
		return
	}
	guid := c.view.Topo.Nodes[n].GUID
	if !c.renames.asked[guid] {
		return
	}
	delete(c.renames.asked, guid)
	if o.Result != txn.Replied || o.Status != mad.StatusOK {
		return
	}
	c.renames.descs[guid] = o.Data
	if c.renames.due == 0 {
		c.renames.due = c.now + renameDelay
	}
}

// rename publishes the descriptions gathered, between sweeps.
func (c *Core) rename() {
	c.describeMore()
	if c.renames.due == 0 || c.renames.due > c.now {
		return
	}
	t := c.sweeper.Rename(c.renames.descs)
	if t == nil {
		c.renames.due = c.now + renameDelay // a sweep is under way
		return
	}
	c.renames.descs, c.renames.due = map[mad.GUID]smp.NodeDescription{}, 0
	if c.view != nil {
		v := *c.view
		c.gen++
		v.Gen, v.Topo = c.gen, t
		c.view = &v
		c.do(Publish{&v})
	}
}
