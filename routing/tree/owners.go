package tree

import (
	"context"
	"math"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/rails"
	"ibsm/topo"
)

// owners are the hosts with several LIDs, on one port or several. Routes to the LIDs of a host leave a leaf over
// different switches and cables, as far as there are any, so that the loss of one does not affect all of them.
type owners struct {
	of     map[mad.LID]int32 // by LID
	lids   [][]mad.LID       // by host
	digits [][]int           // by host: numbers of the first LIDs of its ports, as far as they have some
}

func (n *network) findOwners() {
	n.owners.lids = rails.HostLIDs(n.Topo, n.LIDs)
	if len(n.owners.lids) == 0 {
		return
	}
	n.tracer = routing.NewTracer(n.Topo, n.LIDs)
	n.owners.of, n.owners.digits = map[mad.LID]int32{}, make([][]int, len(n.owners.lids))
	for i, lids := range n.owners.lids {
		for _, lid := range lids {
			n.owners.of[lid] = int32(i)
		}
	}
}

// ownerOf is the host of a LID if the host has several LIDs, else None.
func (n *network) ownerOf(lid mad.LID) int32 {
	if owner, is := n.owners.of[lid]; is {
		return owner
	}
	return topo.None
}

// clashes is how many of the numbered ports of a host are reached by the same switch above a leaf as one with a number;
// twice as many if it is the same cable.
func (n *network) clashes(owner int32, number int) (count int) {
	if owner == topo.None {
		return 0
	}
	t := &n.tiers[0]
	for _, other := range n.owners.digits[owner] {
		if (number-other)%t.parents == 0 {
			count++
		}
		if (number-other)%(t.parents*t.cables) == 0 {
			count++
		}
	}
	return count
}

// numbered records the number of the first LID of a port.
func (n *network) numbered(owner int32, number int) {
	if owner != topo.None {
		n.owners.digits[owner] = append(n.owners.digits[owner], number)
	}
}

// leastClashes is the first rotation for which the fewest ports clash. clashes returns that number for one rotation.
func leastClashes(rotations int, clashes func(by int) int) (best int) {
	for by, least := 0, math.MaxInt; by < rotations && least > 0; by++ {
		if count := clashes(by); count < least {
			best, least = by, count
		}
	}
	return best
}

// common is the path on which packets to all LIDs of a host except one leave a leaf: the next switch (None if there are
// several) and the port (0 if there are several).
func (p *placer) common(s topo.SwitchIdx, d *destination) (next topo.SwitchIdx, port uint8) {
	next = topo.None
	if d.owner == topo.None || p.hosts[s] == 0 {
		return next, 0
	}
	for _, lid := range p.owners.lids[d.owner] {
		by := p.rows[s][lid]
		if lid == d.lid || by == routing.NoPath {
			continue
		}
		switch to := p.tracer.Next(s, by); {
		case to == topo.None: // it is on this leaf
			return topo.None, 0
		case next == topo.None:
			next, port = to, by
		case next != to:
			return topo.None, 0
		case port != by:
			port = 0
		}
	}
	return next, port
}

// shares reports whether packets to all LIDs of a host leave a leaf for one switch.
func (p *placer) shares(s topo.SwitchIdx, d *destination) bool {
	next, _ := p.common(s, d)
	return next != topo.None && p.tracer.Next(s, p.rows[s][d.lid]) == next
}

// separate moves routes if the routes to all LIDs of a host leave a leaf over the same switch.
func (p *placer) separate(ctx context.Context, all []destinations) error {
	if len(p.owners.lids) == 0 {
		return nil
	}
	for _, at := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		measured := false
		for i := range at.ports {
			d := &at.ports[i]
			if !d.host || !p.sharesSomewhere(d) {
				continue
			}
			if !measured {
				p.measureWays(at.at)
				measured = true
			}
			p.relieveOf(at.at, d, math.MaxUint32)
			routing.Spend(ctx, relieveWork*len(p.rows))
		}
	}
	return nil
}

func (p *placer) sharesSomewhere(d *destination) bool {
	for s := range p.rows {
		if p.shares(topo.SwitchIdx(s), d) {
			return true
		}
	}
	return false
}
