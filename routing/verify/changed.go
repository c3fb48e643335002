package verify

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Good are the LIDs of which all routes arrive, and those nobody owns without an entry.
func (r *Report) Good() routing.LIDSet {
	good := make(routing.LIDSet, r.checker.Blocks())
	for lid, longest := range r.checker.longest {
		if longest != 0 {
			good.Add(lid)
		}
	}
	return good
}

// changed returns the LIDs to follow from all switches, and takes over what since found of the others: those whose
// routes were good, and have not changed, or still arrive from each switch that has another entry.
func (c *checker) changed(since *Report) routing.LIDSet {
	if since == nil {
		return c.Changed(nil)
	}
	was, by := since.checker, since.checker.By(c.topo)
	follow := make(routing.LIDSet, c.Blocks())
	var entries []entry
	if !c.Changes(by, follow.Add, func(s topo.SwitchIdx, lid int) { entries = append(entries, entry{s, lid}) }) {
		return c.Changed(nil)
	}
	for lid := range c.longest {
		if lid >= len(was.longest) || was.longest[lid] == 0 {
			follow.Add(lid)
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return a.lid - b.lid })
	for lid := range c.longest {
		count := 0
		for count < len(entries) && entries[count].lid == lid {
			count++
		}
		if !follow.Has(lid) {
			links, from := int(was.longest[lid])-1, by.Now(was.farthest[lid])
			arrive := int(from) < len(c.Rows) // or it is lost
			if arrive && count > 0 {
				links, from, arrive = c.longestOf(lid, entries[:count], by, links, from)
			}
			if arrive {
				c.longest[lid], c.farthest[lid] = uint8(links+1), from
			} else {
				follow.Add(lid)
			}
		}
		entries = entries[count:]
	}
	return follow
}

// entry is one that is not what it was.
type entry struct {
	s   topo.SwitchIdx
	lid int
}

// longestOf is the longest route to a LID, and where it starts, after some switches have got other entries; packets arrived from everywhere, over so many links at most.
// It is false where packets from these switches do not arrive, and where that says not enough about the others.
func (c *checker) longestOf(lid int, entries []entry, was *routing.Forwarding, longest int, from topo.SwitchIdx) (links int, start topo.SwitchIdx, known bool) {
	if c.lids.PortOf(mad.LID(lid)) == topo.None || from == topo.None {
		return 0, topo.None, false
	}
	if links, arrives := c.Links(from, lid); !arrives || links != longest {
		return 0, topo.None, false
	}
	for _, e := range entries {
		links, arrives := c.Links(e.s, lid)
		if !arrives || links > MaxHops {
			return 0, topo.None, false
		}
		if was.Added(e.s) {
			if links > longest {
				longest, from = links, e.s
			}
		} else if before, _ := was.Links(e.s, lid); links > before {
			return 0, topo.None, false // routes from switches behind it are longer as well
		}
	}
	return longest, from, true
}
