package verify

import (
	"context"
	"math"
	"slices"
	"sync"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// homes are switches with several LIDs to follow: their own, and those of hosts on them. In most tables packets to all
// of them pass as many links to their home, by whatever ways they go. So it is enough to follow the routes to one LID.
// Where each entry for another leads to a switch that is one link nearer to the home, and that of the home to the
// owner, all packets arrive. The routes to a LID with other entries are followed themselves.
type homes struct {
	*checker
	at   []topo.SwitchIdx
	lids [][]mad.LID // by home, ascending
	// links are those to a home, by switch * homes + home. They are unknown where not all packets to its first LID
	// arrive, or some pass MaxHops links or more on the way there. One row more, where all are unknown, is behind ports
	// that lead to no switch.
	links []uint8
}

// homeChunk is how many homes are looked at together.
const homeChunk = 64

const unknown = math.MaxUint8

// together finds, of the LIDs to follow, those to which all packets arrive, as far as entries show it, and takes them
// out of follow.
func (c *checker) together(ctx context.Context, workers routing.Workers, follow routing.LIDSet) error {
	h := c.newHomes(follow)
	if len(h.at) == 0 {
		return nil
	}
	if err := h.measure(ctx, workers); err != nil {
		return err
	}
	others, err := h.others(ctx, workers, len(follow))
	if err != nil {
		return err
	}
	for i := range h.at {
		for _, lid := range h.lids[i] {
			switch {
			case c.longest[lid] == 0:
			case others.Has(int(lid)):
				c.longest[lid], c.farthest[lid] = 0, topo.None
			default:
				follow.Remove(int(lid))
			}
		}
	}
	return nil
}

func (c *checker) newHomes(follow routing.LIDSet) *homes {
	h, all := &homes{checker: c}, make([][]mad.LID, len(c.Rows))
	for lid := range c.lids.Owner {
		if at := c.Home(mad.LID(lid)); at != topo.None && follow.Has(lid) {
			all[at] = append(all[at], mad.LID(lid))
		}
	}
	for s, lids := range all {
		if len(lids) > 1 {
			h.at, h.lids = append(h.at, topo.SwitchIdx(s)), append(h.lids, lids)
		}
	}
	return h
}

// measure follows the routes to the first LID of each home, and takes all others to be as long.
func (h *homes) measure(ctx context.Context, workers routing.Workers) error {
	n, count := len(h.Rows), len(h.at)
	h.links = slices.Repeat([]uint8{unknown}, (n+1)*count)
	return routing.Parallel(ctx, workers, (count+homeChunk-1)/homeChunk, func() func(int) {
		trace, links := routing.NewTrace(n), make([]uint8, homeChunk*n)
		farthest := make([]topo.SwitchIdx, n) // by switch: the first from there on from which the longest route starts
		return func(chunk int) {
			first := chunk * homeChunk
			some := h.at[first:min(first+homeChunk, count)]
			for i := range some {
				h.measureOne(first+i, trace, links[i*n:][:n], farthest)
			}
			for s := range n {
				for i := range some {
					h.links[s*count+first+i] = links[i*n+s]
				}
			}
		}
	})
}

func (h *homes) measureOne(home int, trace *routing.Trace, links []uint8, farthest []topo.SwitchIdx) {
	lids, at := h.lids[home], h.at[home]
	h.Tracer.Block(h.Rows, int(lids[0])/routing.BlockSize, 1<<(lids[0]%routing.BlockSize), trace)
	fates := trace.Fates(lids[0])
	own, most := fates[at], slices.Max(fates) // own: it may have a link from there to its owner
	if slices.Min(fates) < routing.Arrived || most-own >= MaxHops {
		for s := range links {
			links[s] = unknown
		}
		return
	}
	for s, fate := range fates {
		links[s] = uint8(fate - own)
	}
	last := topo.SwitchIdx(slices.Index(fates, most))
	for s := len(fates) - 1; s >= 0; s-- {
		if fates[s] == most {
			last = topo.SwitchIdx(s)
		}
		farthest[s] = last
	}
	row := h.Rows[at]
	for _, lid := range lids {
		h.longest[lid] = 1 + uint8(most-own)
		if int(lid) < len(row) && row[lid] != 0 {
			h.longest[lid]++
		}
		h.farthest[lid] = farthest[int(lid)*31%len(farthest)]
	}
}

// others are the LIDs for which some switch has an entry that does not lead nearer to their home.
func (h *homes) others(ctx context.Context, workers routing.Workers, blocks int) (routing.LIDSet, error) {
	all, count := make(routing.LIDSet, blocks), len(h.at)
	var found []routing.LIDSet
	var mutex sync.Mutex
	err := routing.Parallel(ctx, workers, len(h.Rows), func() func(int) {
		// leads: by port: where the row of links of the switch behind it begins
		others, leads := make(routing.LIDSet, blocks), [256]int{}
		mutex.Lock()
		found = append(found, others)
		mutex.Unlock()
		return func(s int) {
			for port := range leads {
				next := h.Tracer.Next(topo.SwitchIdx(s), uint8(port))
				if next == topo.None {
					next = topo.SwitchIdx(len(h.Rows))
				}
				leads[port] = int(next) * count
			}
			row := h.Rows[s]
			for i, links := range h.links[s*count:][:count] {
				if links == unknown {
					continue // they are followed anyway
				}
				for _, lid := range h.lids[i] {
					if int(lid) >= len(row) || links > 0 && h.links[leads[row[lid]]+i] != links-1 || links == 0 &&
						!h.Tracer.Delivers(topo.SwitchIdx(s), row[lid], lid) {
						others.Add(int(lid))
					}
				}
			}
		}
	})
	for _, some := range found {
		all.Union(some)
	}
	return all, err
}
