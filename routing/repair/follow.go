package repair

import (
	"math/bits"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// follower finds the switches from which packets do not arrive. It belongs to one goroutine.
type follower struct {
	*repair
	all      *routing.Trace
	fate     []fate           // by SwitchIdx, for the LID in hand
	unproved []topo.SwitchIdx // those with another fate than good
}

// fate is what becomes of packets to a LID from a switch.
type fate uint8

const (
	good fate = iota // they surely arrive
	unproved
	followed // by the route in hand
	arrives
	lost
)

// trace looks at the routes from all switches to some LIDs of a block.
func (f *follower) trace(block int, lids uint64) {
	if f.all == nil {
		f.all = routing.NewTrace(len(f.own))
	}
	f.tracer.Block(f.tables.LFT, block, lids, f.all)
	for ; lids != 0; lids &= lids - 1 {
		lid := mad.LID(block*routing.BlockSize + bits.TrailingZeros64(lids))
		for s, fate := range f.all.Fates(lid) {
			if fate < routing.Arrived {
				f.markBroken(topo.SwitchIdx(s), lid)
			}
		}
	}
}

// followEntries looks at the routes that pass some entries, which are those of one LID after the other.
func (f *follower) followEntries(entries []Route) {
	for len(entries) > 0 {
		lid := entries[0].LID
		f.unproved = f.unproved[:0]
		for len(entries) > 0 && entries[0].LID == lid {
			f.add(entries[0].Switch)
			entries = entries[1:]
		}
		for i := 0; i < len(f.unproved); i++ {
			peers, _ := f.graph.Edges(f.unproved[i])
			for _, r := range peers {
				if f.fate[r] == good && f.tracer.Next(r, f.tables.LFT[r][lid]) == f.unproved[i] {
					f.add(r)
				}
			}
		}
		home := f.Topo.SwitchOf(f.LIDs.PortOf(lid))
		for _, s := range f.unproved {
			if f.follow(s, home, lid) == lost {
				f.markBroken(s, lid)
			}
		}
		for _, s := range f.unproved {
			f.fate[s] = good
		}
	}
}

func (f *follower) add(s topo.SwitchIdx) {
	if f.fate[s] == good {
		f.fate[s] = unproved
		f.unproved = append(f.unproved, s)
	}
}

// follow is the fate of packets from a switch.
func (f *follower) follow(s, home topo.SwitchIdx, lid mad.LID) fate {
	end, at := unproved, s
	for end == unproved {
		if at == home {
			end = arrives
			break
		}
		if at == topo.None {
			end = lost
			break
		}
		if end = f.fate[at]; end == unproved {
			f.fate[at] = followed
			at = f.tracer.Next(at, f.tables.LFT[at][lid])
		}
	}
	switch end {
	case good:
		end = arrives
	case followed: // a loop
		end = lost
	}
	for at = s; at != topo.None && f.fate[at] == followed; at = f.tracer.Next(at, f.tables.LFT[at][lid]) {
		f.fate[at] = end
	}
	if s == home {
		return arrives
	}
	return f.fate[s]
}
