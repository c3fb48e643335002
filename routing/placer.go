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

	settings Balancing
	system   []int32    // by SwitchIdx: equal for switches with one SystemImageGUID
	ignored  []PortMask // by SwitchIdx: ports whose load does not count; nil for none at all
	search   [][]uint8  // by SwitchIdx: the order in which ports are compared; nil for ascending ones
	draws    []CRand    // by SwitchIdx: the random numbers of its destinations; nil without any
}

// NewBalance prepares for a problem.
func NewBalance(in In, s Balancing) *Balance {
	b := &Balance{In: in, Graph: NewGraph(in.Topo), Order: Order(in.Topo, in.LIDs, s), settings: s,
		ignored: s.ignored(in.Topo), search: s.search(in.Topo)}
	b.Graph.Weigh(in.Topo, s.Weights)
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

// Findings are the weights of links, for an engine that chooses ways by them; nil without any.
func (b *Balance) Findings() *Findings {
	if len(b.settings.Weights) == 0 {
		return nil
	}
	return &Findings{Weights: b.settings.Weights}
}

// Search is the order in which the ports of a switch are compared; nil for ascending ones.
func (b *Balance) Search(s topo.SwitchIdx) []uint8 { return b.search[s] }

// draw gives each switch its random numbers, if destinations take ports at random: OpenSM draws
// them for one switch after the other, one for each destination beyond the switch that can be reached.
func (b *Balance) draw(ctx context.Context, find func(s topo.SwitchIdx, into *PortSets)) error {
	if b.settings.Seed == 0 {
		return nil
	}
	count := make([]int, b.Graph.Len())
	err := Parallel(ctx, b.Workers, len(count), func() func(int) {
		sets := newPortSets(b.Graph.Len())
		return func(s int) {
			sets.clear()
			find(topo.SwitchIdx(s), sets)
			sets.intern()
			for i := range b.Order {
				if d := &b.Order[i]; d.Scatter && d.Switch != topo.SwitchIdx(s) && len(sets.to(d.Switch).ports) > 0 {
					count[s]++
				}
			}
		}
	})
	if err != nil {
		return err
	}
	b.draws = make([]CRand, len(count))
	rand := NewCRand(b.settings.Seed)
	for _, s := range SwitchesByGUID(b.Topo) {
		b.draws[s] = *rand
		for range count[s] {
			rand.Next()
		}
	}
	return ctx.Err()
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
	Count   [256]uint32 // destinations of weight that each port of the switch serves so far
	s       topo.SwitchIdx
	find    func(s topo.SwitchIdx, into *PortSets)
	sets    *PortSets
	ignored PortMask
	chooser *chooser // nil where the least used port is taken, the lowest of several
}

// Placers returns what makes a Placer for a goroutine. find adds to empty sets the ports of a switch by
// which routes may go. The error is that of ctx.
func (b *Balance) Placers(ctx context.Context, find func(s topo.SwitchIdx, into *PortSets)) (func() *Placer, error) {
	if err := b.draw(ctx, find); err != nil {
		return nil, err
	}
	plain := b.LMC == 0 && !b.settings.Shift && b.draws == nil && len(b.settings.Search) == 0
	return func() *Placer {
		pl := &Placer{Balance: b, find: find, sets: newPortSets(b.Graph.Len())}
		if !plain {
			pl.chooser = newChooser(b)
		}
		return pl
	}, nil
}

// Begin turns to a switch.
func (pl *Placer) Begin(s topo.SwitchIdx) {
	pl.s = s
	pl.sets.clear()
	pl.find(s, pl.sets)
	pl.sets.intern()
	clear(pl.Count[:])
	if pl.Balance.ignored != nil {
		pl.ignored = pl.Balance.ignored[s]
	}
	if pl.chooser != nil {
		pl.chooser.begin(s)
	}
}

// Keep puts into the row the previous entries of LIDs without one, where routes may go by
// their ports.
func (pl *Placer) Keep(row []uint8) {
	prev := pl.PrevRow(pl.s)
	for i := range mad.LID(1) << pl.LMC {
		for k := range pl.Order {
			d := &pl.Order[k]
			lid := d.Base + i
			if i>>d.LMC != 0 || int(lid) >= len(prev) || row[lid] != NoPath {
				continue
			}
			if d.Switch != pl.s && pl.sets.to(d.Switch).mask.Has(prev[lid]) {
				row[lid] = prev[lid]
				pl.Use(k, prev[lid])
			}
		}
	}
}

// Place gives every LID that has no entry yet the port that is used least.
func (pl *Placer) Place(row []uint8) {
	for i := range mad.LID(1) << pl.LMC {
		for k := range pl.Order {
			d := &pl.Order[k]
			lid := d.Base + i
			if i>>d.LMC != 0 || row[lid] != NoPath {
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
			case pl.chooser == nil:
				row[lid] = set.least(&pl.Count)
			case i == 0 && d.Scatter:
				row[lid] = pl.chooser.scatter(set, &pl.Count)
			case i == 0 || pl.OneNeighbour:
				row[lid] = pl.chooser.choose(k, set, 0, &pl.Count)
			default:
				row[lid] = pl.chooser.choose(k, set, row[lid-1]+1, &pl.Count)
			}
			pl.Use(k, row[lid])
		}
	}
}

// Use counts a path to destination k through a port.
func (pl *Placer) Use(k int, port uint8) {
	if !pl.Order[k].Weighs || pl.ignored.Has(port) {
		return
	}
	pl.Count[port]++
	if pl.chooser != nil {
		pl.chooser.remember(k, port)
	}
}

// Route fills the tables of all switches, which have the ports that find adds for Placer. In.Prev keeps
// its entries that lead by one of them unless In.Keep is KeepNone, and rows that come out as they were
// are those of In.Prev. The error is that of ctx.
func (b *Balance) Route(ctx context.Context, find func(s topo.SwitchIdx, into *PortSets)) (*Tables, error) {
	tables := &Tables{LFT: make([][]uint8, b.Graph.Len()), Top: b.LIDs.Top}
	newPlacer, err := b.Placers(ctx, find)
	if err != nil {
		return nil, err
	}
	err = Parallel(ctx, b.Workers, len(tables.LFT), func() func(int) {
		pl := newPlacer()
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
		pl.Keep(row)
	}
	pl.Place(row)
	if prev := pl.PrevRow(s); bytes.Equal(prev, row) {
		return prev
	}
	return row
}
