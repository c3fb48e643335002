package manager

import (
	"maps"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/topo"
)

// renameDelay is how long changed NodeDescriptions are gathered before a view with
// them is published: hosts that boot together change theirs together.
const renameDelay = 250 * time.Millisecond

// renames are the NodeDescriptions that changed since the last sweep.
type renames struct {
	nodes map[mad.GUID]renaming
	queue []mad.GUID          // of nodes that are queued
	asked map[uint32]mad.GUID // nodes that are awaited, by their requests' tags
	last  uint32              // of those
	descs map[mad.GUID]smp.NodeDescription
	due   time.Duration // when a view with descs is to be published; 0 none
}

// renaming is how far a node is.
type renaming uint8

const (
	queued  renaming = iota + 1 // to be asked, when there is room
	awaited                     // it was asked
	again                       // it was, and has changed its description since
)

// newRenames has none. last is that of the ones before.
func newRenames(last uint32) renames {
	return renames{nodes: map[mad.GUID]renaming{}, asked: map[uint32]mad.GUID{}, last: last, descs: map[mad.GUID]smp.NodeDescription{}}
}

// want has a node asked. It tells only once that its description has changed.
func (r *renames) want(guid mad.GUID) {
	switch r.nodes[guid] {
	case 0:
		r.nodes[guid] = queued
		r.queue = append(r.queue, guid)
	case awaited:
		r.nodes[guid] = again
	}
}

// cancelled has every node asked again whose answer will not come.
func (r *renames) cancelled() {
	for _, number := range slices.Sorted(maps.Keys(r.asked)) {
		guid := r.asked[number]
		delete(r.nodes, guid)
		r.want(guid)
	}
	clear(r.asked)
}

// describeNode has the node of a LID asked for its description.
func (c *Core) describeNode(lid mad.LID) {
	if c.view == nil {
		return
	}
	if p := c.view.LIDs.PortOf(lid); p != topo.None {
		c.renames.want(c.view.Topo.Nodes[c.view.Topo.Ports[p].Node].GUID)
	}
}

// describeAll has every node asked for its description.
func (c *Core) describeAll() {
	if c.view == nil {
		return
	}
	for i := range c.view.Topo.Nodes {
		c.renames.want(c.view.Topo.Nodes[i].GUID)
	}
}

// describeMore asks as many nodes as there is room for. One that has not answered the last
// walk is asked by the next.
func (c *Core) describeMore() {
	r := &c.renames
	for c.view != nil && len(r.queue) > 0 && c.table.Room() > 0 {
		guid := r.queue[0]
		if r.queue = r.queue[1:]; len(r.queue) == 0 {
			r.queue = nil // and its memory with it
		}
		n := c.view.Topo.FindNode(guid)
		if n == topo.None || c.view.Topo.Nodes[n].Missed > 0 {
			delete(r.nodes, guid)
			continue
		}
		r.last++
		r.nodes[guid], r.asked[r.last] = awaited, guid
		req := c.directed(c.view.Topo.Nodes[n].Route, mad.MethodGet, smp.AttrNodeDescription, 0, uint64(r.last))
		req.Owner = ownerDescriptions
		c.table.Submit(&req)
	}
}

// renamed takes the answer.
func (c *Core) renamed(o *txn.Outcome) {
	r := &c.renames
	guid, ok := r.asked[uint32(o.Tag)]
	if !ok {
		return
	}
	delete(r.asked, uint32(o.Tag))
	before := r.nodes[guid]
	if delete(r.nodes, guid); before == again {
		r.want(guid)
	}
	if o.Result != txn.Replied || o.Status != mad.StatusOK {
		return
	}
	r.descs[guid] = o.Data
	if r.due == 0 {
		r.due = c.now + renameDelay
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
