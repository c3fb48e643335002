package routing

import (
	"bytes"
	"context"

	"ibsm/mad"
	"ibsm/topo"
)

// Balance is what the switches of a balancing engine have in common: each by itself spreads the
// destinations evenly over the ports by which they may be reached.
type Balance struct {
	In
	Graph *Graph
	Order []Dest // in which destinations are placed
	LMC   uint8  // greatest of any port, as OpenSM's option lmc
	// OneNeighbour says that the ports to a destination all lead to one switch, as those of dor do: the
	// LIDs of the destination are spread over the cables to it.
	OneNeighbour bool
	system       []int32 // by SwitchIdx: equal for switches with one SystemImageGUID
}

// NewBalance prepares for a problem.
func NewBalance(in In) *Balance {
	b := &Balance{In: in, Graph: NewGraph(in.Topo), Order: Order(in.Topo, in.LIDs)}
	for _, d := range b.Order {
		b.LMC = max(b.LMC, d.LMC)
	}
	b.system = make([]int32, b.Graph.Len())
	first := map[mad.GUID]int32{}
	for s, n := range in.Topo.Switches {
		guid := in.Topo.Nodes[n].Info.SystemImageGUID()
		if _, ok := first[guid]; !ok {
			first[guid] = int32(s)
		}
		b.system[s] = first[guid]
	}
	return b
}

// PrevRow is the previous row of a switch, nil when there is none.
func (b *Balance) PrevRow(s topo.SwitchIdx) []uint8 {
	if b.Prev == nil || int(s) >= len(b.Prev.LFT) {
		return nil
	}
	return b.Prev.LFT[s]
}

// Placer fills the rows of one switch after the other. It belongs to one goroutine.
type Placer struct {
	*Balance
	Count [256]uint32 // destinations of weight that each port of the switch serves so far
	s     topo.SwitchIdx
	find  func(s topo.SwitchIdx, into *PortSets)
	sets  *PortSets
	lids  *spread // nil when no port has several LIDs
}

// NewPlacer returns a Placer. find adds to empty sets the ports of a switch by which routes may go.
func (b *Balance) NewPlacer(find func(s topo.SwitchIdx, into *PortSets)) *Placer {
	pl := &Placer{Balance: b, find: find, sets: newPortSets(b.Graph.Len())}
	if b.LMC > 0 {
		pl.lids = newSpread(b)
	}
	return pl
}

// Begin turns to a switch.
func (pl *Placer) Begin(s topo.SwitchIdx) {
	pl.s = s
	pl.sets.clear()
	pl.find(s, pl.sets)
	pl.sets.intern()
	clear(pl.Count[:])
	if pl.lids != nil {
		pl.lids.begin(s)
	}
}

// Keep puts into the row the previous entries of LIDs without one, where routes may go by
// their ports. only restricts it to some LIDs, nil to none.
func (pl *Placer) Keep(row []uint8, only []bool) {
	prev := pl.PrevRow(pl.s)
	for i := range mad.LID(1) << pl.LMC {
		for k := range pl.Order {
			d := &pl.Order[k]
			lid := d.Base + i
			if i>>d.LMC != 0 || int(lid) >= len(prev) || row[lid] != NoPath || only != nil && !only[lid] {
				continue
			}
			if d.Switch != pl.s && pl.sets.to(d.Switch).has(prev[lid]) {
				row[lid] = prev[lid]
				pl.Use(k, prev[lid])
			}
		}
	}
}

// Place gives every LID that has no entry yet the port that is used least. only
// restricts it to some LIDs, nil to none.
func (pl *Placer) Place(row []uint8, only []bool) {
	for i := range mad.LID(1) << pl.LMC {
		for k := range pl.Order {
			d := &pl.Order[k]
			lid := d.Base + i
			if i>>d.LMC != 0 || row[lid] != NoPath || only != nil && !only[lid] {
				continue
			}
			if d.Switch == pl.s {
				row[lid] = d.Egress
				continue
			}
			set := pl.sets.to(d.Switch)
			switch {
			case len(set.ports) == 0:
				continue
			case pl.lids == nil:
				row[lid] = set.least(&pl.Count)
			case pl.OneNeighbour:
				row[lid] = pl.lids.chooseCable(k, set.ports, &pl.Count)
			case i == 0:
				row[lid] = pl.lids.choose(k, set.ports, 0, &pl.Count)
			default:
				row[lid] = pl.lids.choose(k, set.ports, row[lid-1]+1, &pl.Count)
			}
			pl.Use(k, row[lid])
		}
	}
}

// Use counts a path to destination k through a port.
func (pl *Placer) Use(k int, port uint8) {
	if !pl.Order[k].Weighs {
		return
	}
	pl.Count[port]++
	if pl.lids != nil {
		pl.lids.remember(k, port)
	}
}

// Route fills the tables of all switches, which have the ports that find adds for Placer. In.Prev keeps
// its entries that lead by one of them unless In.Keep is KeepNone, and rows that come out as they were
// are those of In.Prev. The error is that of ctx.
func (b *Balance) Route(ctx context.Context, find func(s topo.SwitchIdx, into *PortSets)) (*Tables, error) {
	tables := &Tables{LFT: make([][]uint8, b.Graph.Len()), Top: b.LIDs.Top}
	err := Parallel(ctx, len(tables.LFT), func() func(int) {
		pl := b.NewPlacer(find)
		return func(i int) { tables.LFT[i] = pl.row(topo.SwitchIdx(i)) }
	})
	if err != nil {
		return nil, err
	}
	return tables, nil
}

// row is the forwarding table of a switch.
func (pl *Placer) row(s topo.SwitchIdx) []uint8 {
	row := bytes.Repeat([]byte{NoPath}, RowLen(pl.LIDs.Top))
	pl.Begin(s)
	if pl.In.Keep != KeepNone {
		pl.Keep(row, nil)
	}
	pl.Place(row, nil)
	if prev := pl.PrevRow(s); bytes.Equal(prev, row) {
		return prev
	}
	return row
}
