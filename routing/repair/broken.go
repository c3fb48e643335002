package repair

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/topo"
)

// repair is tables in repair.
type repair struct {
	In
	tables *routing.Tables // as far as they are repaired
	own    []bool          // by SwitchIdx: the row is not one of In.Tables
	size   int             // of rows
	graph  *routing.Graph
	base   *routing.Forwarding // by In.Base, nil without it
	found  *routing.Forwarding // by In.Tables; entries that have been cleared since may be missing
	tracer *routing.Tracer
	broken [][]uint64 // by block and SwitchIdx: a bit for each LID; nil for blocks whose packets all arrive
	order  []routing.Dest
	weighs []bool // by LID
}

func newRepair(in In) *repair {
	r := &repair{
		In: in, size: routing.RowLen(in.LIDs.Top), own: make([]bool, len(in.Topo.Switches)),
		tables: &routing.Tables{LFT: make([][]uint8, len(in.Topo.Switches)), Top: in.LIDs.Top, SLs: in.Tables.SLs},
		graph:  routing.NewGraph(in.Topo),
	}
	copy(r.tables.LFT, in.Tables.LFT)
	for s, row := range r.tables.LFT {
		if len(row) == r.size {
			continue
		}
		r.tables.LFT[s], r.own[s] = slices.Repeat([]uint8{routing.NoPath}, r.size), true
		copy(r.tables.LFT[s], row)
	}
	r.takeBack()
	r.broken = make([][]uint64, r.size/routing.BlockSize)
	if r.base != nil {
		r.found = r.base.With(r.tables.LFT, r.tables.Top)
	} else {
		r.found = routing.NewForwarding(in.Topo, in.LIDs, r.tables)
	}
	r.tracer = r.found.Tracer
	r.order, r.weighs = routing.Order(in.Topo, in.LIDs, routing.Balancing{}), make([]bool, r.size)
	for i := range r.order {
		d := &r.order[i]
		for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
			r.weighs[lid] = d.Weighs
		}
	}
	return r
}

// set changes an entry.
func (r *repair) set(s topo.SwitchIdx, lid mad.LID, port uint8) {
	if r.tables.LFT[s][lid] == port {
		return
	}
	if !r.own[s] {
		r.tables.LFT[s], r.own[s] = slices.Clone(r.tables.LFT[s]), true
	}
	r.tables.LFT[s][lid] = port
}

// takeBack takes the entries of Base by which packets arrive.
func (r *repair) takeBack() {
	if r.Base == nil {
		return
	}
	r.base = routing.NewForwarding(r.Topo, r.LIDs, &routing.Tables{LFT: r.Base.LFT, Top: r.LIDs.Top})
	for i, first := range r.base.Rows {
		s := topo.SwitchIdx(i)
		routing.Unequal(r.tables.LFT[s], first, func(lid int) {
			if lid < len(first) && first[lid] != routing.NoPath && r.arrivesAsAtFirst(s, lid) {
				r.set(s, mad.LID(lid), first[lid])
			}
		})
	}
}

// arrivesAsAtFirst reports whether packets to a LID arrive from a switch by entries of Base alone, and over no
// unhealthy link. Then takeBack has set all of them.
func (r *repair) arrivesAsAtFirst(s topo.SwitchIdx, lid int) bool {
	if _, arrive := r.base.Links(s, lid); !arrive {
		return false
	}
	for at := r.base.Home(mad.LID(lid)); s != at; {
		port := r.base.Rows[s][lid]
		if r.Topo.Ports[r.Topo.Port(r.Topo.Switches[s], port)].Unhealthy {
			return false
		}
		s = r.base.Tracer.Next(s, port)
	}
	return true
}

// before is the entry that a switch had, NoPath for none.
func (r *repair) before(s topo.SwitchIdx, lid mad.LID) uint8 {
	if int(s) >= len(r.In.Tables.LFT) || int(lid) >= len(r.In.Tables.LFT[s]) {
		return routing.NoPath
	}
	return r.In.Tables.LFT[s][lid]
}

func (r *repair) isBroken(s topo.SwitchIdx, lid mad.LID) bool {
	block := r.broken[int(lid)/routing.BlockSize]
	return block != nil && block[s]>>(lid%routing.BlockSize)&1 != 0
}

// markBroken notes that packets to a LID do not arrive from a switch.
func (r *repair) markBroken(s topo.SwitchIdx, lid mad.LID) {
	block := &r.broken[int(lid)/routing.BlockSize]
	if *block == nil {
		*block = make([]uint64, len(r.own))
	}
	(*block)[s] |= 1 << (lid % routing.BlockSize)
}

// unprovedRoutes are those that may not arrive.
type unprovedRoutes struct {
	lids    routing.LIDSet // from any switch
	entries []Route        // through a switch; by LID
	most    int            // of entries: LIDs beyond it are unproved from any switch
}

// entriesPerLID is the mean number of entries of a LID up to which each is followed. Where more have changed, it is no
// slower to look at some LIDs from all switches, and the list stays far shorter than the tables.
const entriesPerLID = 16

// add takes in the routes to a LID through a switch.
func (d *unprovedRoutes) add(s topo.SwitchIdx, lid mad.LID) {
	if len(d.entries) < d.most {
		d.entries = append(d.entries, Route{s, lid})
	} else {
		d.lids.Add(int(lid))
	}
}

// findBroken finds the switches from which packets do not arrive.
func (r *repair) findBroken(ctx context.Context) error {
	d := r.unproved()
	if err := r.rejoin(ctx, d); err != nil {
		return err
	}
	var blocks []int
	first := make([]int, len(r.broken)+1) // of d.entries, by block
	for block := range r.broken {
		end := first[block]
		for end < len(d.entries) && int(d.entries[end].LID) < (block+1)*routing.BlockSize {
			end++
		}
		if first[block+1] = end; end > first[block] || d.lids[block] != 0 {
			blocks = append(blocks, block)
		}
	}
	return routing.Parallel(ctx, r.Workers, len(blocks), func() func(int) {
		f := &follower{repair: r, fate: make([]fate, len(r.own))}
		return func(i int) {
			block := blocks[i]
			if d.lids[block] != 0 {
				f.trace(block, d.lids[block])
			}
			f.followEntries(d.entries[first[block]:first[block+1]])
		}
	})
}

// unproved finds what to look at, and sets the entries that can be no others.
func (r *repair) unproved() *unprovedRoutes {
	d := &unprovedRoutes{lids: make(routing.LIDSet, len(r.broken)), most: entriesPerLID * r.size}
	add := func(lid int) {
		if lid < r.size {
			d.lids.Add(lid)
		}
	}
	known := r.found.Changes(r.Was, add, func(s topo.SwitchIdx, lid int) {
		if lid < r.size &&
			!(r.base != nil && lid < len(r.base.Rows[s]) && r.base.Rows[s][lid] == r.tables.LFT[s][lid] &&
				r.arrivesAsAtFirst(s, lid)) {
			d.add(s, mad.LID(lid))
		}
	})
	for lid := range r.size {
		if !known || lid > int(r.LIDs.Top) || lid/routing.BlockSize >= len(r.Good) || !r.Good.Has(lid) {
			d.lids.Add(lid)
		}
	}
	r.leaveUnhealthy(d)
	settled := slices.Clone(d.lids)
	for block, lids := range settled {
		for ; lids != 0; lids &= lids - 1 {
			r.settle(mad.LID(block*routing.BlockSize+bits.TrailingZeros64(lids)), d)
		}
	}
	d.entries = slices.DeleteFunc(d.entries, func(e Route) bool {
		if lid := int(e.LID); !settled.Has(lid) {
			settled.Add(lid)
			r.settle(e.LID, d)
		}
		return d.lids.Has(int(e.LID)) || r.LIDs.PortOf(e.LID) == topo.None
	})
	slices.SortStableFunc(d.entries, func(a, b Route) int { return cmp.Compare(a.LID, b.LID) })
	return d
}

// covering is the proof of before where it holds for the tables found, nil where it does not.
func (r *repair) covering() *creditloop.Report {
	return r.Proof.Covering(creditloop.In{Topo: r.Topo, LIDs: r.LIDs, Forwarding: r.found, SLs: r.tables.SLs,
		Maps: r.Maps, Workers: r.Workers})
}

// leaveUnhealthy clears entries that lead over unhealthy links.
func (r *repair) leaveUnhealthy(d *unprovedRoutes) {
	for i, n := range r.Topo.Switches {
		s := topo.SwitchIdx(i)
		for num := 1; num <= int(r.Topo.Nodes[n].NumPorts); num++ {
			if !r.Topo.Ports[r.Topo.Port(n, uint8(num))].Unhealthy || r.tracer.Next(s, uint8(num)) == topo.None {
				continue
			}
			for lid, port := range r.tables.LFT[s] {
				if int(port) == num {
					r.set(s, mad.LID(lid), routing.NoPath)
					d.add(s, mad.LID(lid))
				}
			}
		}
	}
}

// settle sets the entry of a LID at its switch, and clears all those of a LID nobody owns, which needs
// no further look.
func (r *repair) settle(lid mad.LID, d *unprovedRoutes) {
	owner := r.LIDs.PortOf(lid)
	if at, port := routing.Home(r.Topo, owner); at != topo.None {
		r.set(at, lid, port)
	}
	if owner != topo.None {
		return
	}
	for s := range r.tables.LFT {
		r.set(topo.SwitchIdx(s), lid, routing.NoPath)
	}
	d.lids[lid/routing.BlockSize] &^= 1 << (lid % routing.BlockSize)
}
