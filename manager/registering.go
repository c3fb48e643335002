package manager

import (
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/topo"
)

// What the Core does for the registrar, beside the multicast tables.

// Reset are ports that were found in INIT: their clients have registered nothing since.
// It comes before they are made ACTIVE.
type Reset struct{ Ports []mad.GUID }

// Notice is a trap that subscribers may want to know of.
type Notice struct{ Notice smp.Notice }

// GUIDsWritten answers WriteGUIDs.
type GUIDsWritten struct{ sa.GUIDsWritten }

func (Reset) action()        {}
func (Notice) action()       {}
func (GUIDsWritten) action() {}

// resets tells of the ports that a sweep found in INIT and is going to make ACTIVE.
func (c *Core) resets(r *sweep.Computed) {
	var ports []mad.GUID
	for _, p := range r.Topo.EndPorts {
		port := &r.Topo.Ports[p]
		if port.Num != 0 && port.Seen && port.Info.PortState() == smp.PortInit && r.Topo.Answers(p) {
			ports = append(ports, port.GUID)
		}
	}
	if ports != nil {
		c.do(Reset{ports})
	}
}

// guidWrites are the blocks of GUIDs that are being written, by their requests' tags.
type guidWrites struct {
	out  map[uint32]sa.GUIDBlock
	last uint32
}

// writeGUIDs sets a block of a port's GUIDs.
func (c *Core) writeGUIDs(b *sa.GUIDBlock) {
	w := &c.guids
	if c.view == nil {
		return // who asked is told that we are not master any more
	}
	t := c.view.Topo
	p := t.FindPort(b.Port)
	if p == topo.None || !c.mayWrite() {
		c.guidsWritten(b, false)
		return
	}
	route, ok := t.RouteTo(p)
	if !ok {
		c.guidsWritten(b, false)
		return
	}
	w.last++
	req := txn.Request{Class: mad.ClassDirected, Route: route, Method: mad.MethodSet, Attr: smp.AttrGUIDInfo, Mod: uint32(b.Block),
		MKey: c.cfg.Sweep.Settings.MKeyFor(t, p), Data: b.GUIDs, Node: -1, Owner: ownerGUIDs, Tag: uint64(w.last)}
	if !c.table.Submit(&req) {
		c.guidsWritten(b, false)
		return
	}
	w.out[w.last] = *b
}

// wroteGUIDs takes the port's answer.
func (c *Core) wroteGUIDs(o *txn.Outcome) {
	n := uint32(o.Tag)
	if b, is := c.guids.out[n]; is {
		delete(c.guids.out, n)
		c.guidsWritten(&b, o.Result == txn.Replied && o.Status == mad.StatusOK)
	}
}

// refuseGUIDs answers for what is being written: it will not be waited for.
func (c *Core) refuseGUIDs() {
	for _, n := range slices.Sorted(maps.Keys(c.guids.out)) {
		b := c.guids.out[n]
		c.guidsWritten(&b, false)
	}
}

func (c *Core) guidsWritten(b *sa.GUIDBlock, ok bool) {
	c.do(GUIDsWritten{sa.GUIDsWritten{Port: b.Port, Block: b.Block, OK: ok}})
}
