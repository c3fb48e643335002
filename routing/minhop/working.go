package minhop

import (
	"bytes"
	"context"
	"math"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// repair is a routing problem under KeepWorking. Per LID, the entries by which
// packets arrive form a tree towards its owner: it stays. The other switches are
// joined to it by the shortest way that ends in the tree, over their previous port
// where that lies on such a way. So the result has no loop, however long the ways
// in the tree are.
//
// A LID whose tree is no more than its owner's switch is fresh: it is placed as
// under KeepMinimal.
type repair struct {
	*problem
	rows    [][]uint8
	tracer  *routing.Tracer
	broken  []uint64      // by block * switches + switch, a bit for each LID of the block
	partial []bool        // by LID: neither whole nor fresh
	fresh   []bool        // by LID
	count   [][256]uint32 // by SwitchIdx, as in Placer
}

func (p *problem) repairPrev(ctx context.Context, rows [][]uint8) error {
	n, length := len(rows), routing.RowLen(p.LIDs.Top)
	m := &repair{
		problem: p, rows: rows, tracer: routing.NewTracer(p.Topo, p.LIDs),
		broken:  make([]uint64, length/routing.BlockSize*n),
		partial: make([]bool, length), fresh: make([]bool, length), count: make([][256]uint32, n),
	}
	err := routing.Parallel(ctx, n, func() func(int) {
		return func(s int) { rows[s] = m.takeOver(topo.SwitchIdx(s)) }
	})
	if err != nil {
		return err
	}
	err = routing.Parallel(ctx, length/routing.BlockSize, func() func(int) {
		trace := routing.NewTrace(n)
		return func(block int) { m.findBroken(block, trace) }
	})
	if err != nil {
		return err
	}
	err = routing.Parallel(ctx, n, func() func(int) {
		pl := p.newPlacer()
		return func(s int) { m.placeFresh(topo.SwitchIdx(s), pl) }
	})
	if err != nil {
		return err
	}
	if err = m.joinPartial(ctx); err != nil {
		return err
	}
	for s := range rows {
		if prev := p.PrevRow(topo.SwitchIdx(s)); bytes.Equal(prev, rows[s]) {
			rows[s] = prev
		}
	}
	return nil
}

// takeOver is the previous row of a switch, less what nobody owns and what leads over unhealthy
// links, and with the entries that can be no other: those of what the switch is and what hangs
// on it.
func (m *repair) takeOver(s topo.SwitchIdx) []uint8 {
	row, prev := make([]uint8, routing.RowLen(m.LIDs.Top)), m.PrevRow(s)
	fill(row, routing.NoPath)
	for k := range m.Order {
		d := &m.Order[k]
		for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
			if d.Switch == s {
				row[lid] = d.Egress
			} else if int(lid) < len(prev) && !m.unhealthy(s, prev[lid]) {
				row[lid] = prev[lid]
			}
		}
	}
	return row
}

// unhealthy reports whether a port of a switch has an unhealthy link.
func (m *repair) unhealthy(s topo.SwitchIdx, port uint8) bool {
	n := m.Topo.Switches[s]
	return port <= m.Topo.Nodes[n].NumPorts && m.Topo.Ports[m.Topo.Port(n, port)].Unhealthy
}

// findBroken notes where packets to the LIDs of a block do not arrive.
func (m *repair) findBroken(block int, trace *routing.Trace) {
	m.tracer.Block(m.rows, block, routing.WholeBlock, trace)
	n := len(m.rows)
	broken := m.broken[block*n:][:n]
	for i := range routing.BlockSize {
		lid := mad.LID(block*routing.BlockSize + i)
		count := 0
		for s, fate := range trace.Fates(lid) {
			if fate != routing.Untraced && fate < routing.Arrived {
				broken[s] |= 1 << i
				count++
			}
		}
		m.fresh[lid] = count == n-1
		m.partial[lid] = count > 0 && count < n-1
	}
}

func (m *repair) isBroken(s topo.SwitchIdx, lid mad.LID) bool {
	block, i := int(lid)/routing.BlockSize, lid%routing.BlockSize
	return m.broken[block*len(m.rows)+int(s)]>>i&1 != 0
}

// placeFresh clears the broken entries of a switch, counts the others, and then
// places the fresh LIDs.
func (m *repair) placeFresh(s topo.SwitchIdx, pl *routing.Placer) {
	pl.Begin(s)
	row := m.rows[s]
	for k := range m.Order {
		d := &m.Order[k]
		for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
			if m.isBroken(s, lid) {
				row[lid] = routing.NoPath
			} else if d.Switch != s {
				pl.Use(k, row[lid])
			}
		}
	}
	pl.Keep(row, m.fresh)
	pl.Place(row, m.fresh)
	m.count[s] = pl.Count
}

// joinPartial repairs the LIDs that some switches reach and others do not, in the
// order in which destinations are placed.
func (m *repair) joinPartial(ctx context.Context) error {
	j := newJoiner(m)
	for i := range mad.LID(1) << m.LMC {
		for k := range m.Order {
			d := &m.Order[k]
			if i>>d.LMC == 0 && m.partial[d.Base+i] {
				if err := ctx.Err(); err != nil {
					return err
				}
				j.join(d, d.Base+i)
			}
		}
	}
	return nil
}

// joiner joins switches to the tree of one LID after the other.
type joiner struct {
	*repair
	links   []int32            // to the destination by SwitchIdx; unknown, or beyond
	broken  []topo.SwitchIdx   // ascending
	waiting [][]topo.SwitchIdx // by links
}

const (
	unknown = -1
	beyond  = math.MaxInt32
)

func newJoiner(m *repair) *joiner {
	return &joiner{repair: m, links: make([]int32, len(m.rows))}
}

func (j *joiner) join(d *routing.Dest, lid mad.LID) {
	j.broken = j.broken[:0]
	for s := range j.links {
		j.links[s] = unknown
		if j.isBroken(topo.SwitchIdx(s), lid) {
			j.links[s] = beyond
			j.broken = append(j.broken, topo.SwitchIdx(s))
		}
	}
	j.links[d.Switch] = 0
	j.measure(lid)
	for _, s := range j.broken {
		if j.links[s] == beyond {
			continue
		}
		port := j.choose(s, lid)
		j.rows[s][lid] = port
		if d.Weighs {
			j.count[s][port]++
		}
	}
}

// measure finds the links from each broken switch, by Dijkstra's algorithm from the
// tree outwards.
func (j *joiner) measure(lid mad.LID) {
	for _, s := range j.broken {
		peers, _ := j.Graph.Edges(s)
		for _, r := range peers {
			if far := j.inTree(r, lid); far < beyond {
				j.links[s] = min(j.links[s], far+1)
			}
		}
	}
	for _, s := range j.broken {
		j.wait(s)
	}
	for far := 0; far < len(j.waiting); far++ {
		for _, s := range j.waiting[far] {
			if int(j.links[s]) != far {
				continue // has come nearer since
			}
			peers, _ := j.Graph.Edges(s)
			for _, r := range peers {
				if j.links[r] > j.links[s]+1 && j.isBroken(r, lid) {
					j.links[r] = j.links[s] + 1
					j.wait(r)
				}
			}
		}
		j.waiting[far] = j.waiting[far][:0]
	}
}

func (j *joiner) wait(s topo.SwitchIdx) {
	if j.links[s] == beyond {
		return
	}
	for int(j.links[s]) >= len(j.waiting) {
		j.waiting = append(j.waiting, nil)
	}
	j.waiting[j.links[s]] = append(j.waiting[j.links[s]], s)
}

// inTree is the number of links from a switch of the tree to the destination, beyond
// for one outside it.
func (j *joiner) inTree(r topo.SwitchIdx, lid mad.LID) int32 {
	if j.isBroken(r, lid) {
		return beyond
	}
	if j.links[r] == unknown {
		j.links[r] = j.inTree(j.tracer.Next(r, j.rows[r][lid]), lid) + 1
	}
	return j.links[r]
}

// choose is the port of a broken switch: the previous one if it lies on a shortest
// way, or else the least used.
func (j *joiner) choose(s topo.SwitchIdx, lid mad.LID) uint8 {
	if prev := j.PrevRow(s); int(lid) < len(prev) {
		if r := j.tracer.Next(s, prev[lid]); r != topo.None && j.links[r] == j.links[s]-1 {
			return prev[lid]
		}
	}
	best := uint8(routing.NoPath)
	peers, ports := j.Graph.Edges(s)
	for e, r := range peers {
		if j.links[r] == j.links[s]-1 && (best == routing.NoPath || j.count[s][ports[e]] < j.count[s][best]) {
			best = ports[e]
		}
	}
	return best
}
