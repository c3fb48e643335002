package verify

import (
	"context"

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
// routes were good, and have not changed, or still arrive from each of few switches that have another entry. It ends
// early when ctx is done.
func (c *checker) changed(ctx context.Context, since *Report) routing.LIDSet {
	if since == nil {
		return c.Changed(nil)
	}
	was, by := since.checker, since.checker.By(c.topo)
	entries, follow, known := c.FewChanges(by)
	if !known {
		return c.Changed(nil)
	}
	for lid := range c.longest {
		if lid >= len(was.longest) || was.longest[lid] == 0 {
			follow.Add(lid)
		}
	}
	for lid := 0; lid < len(c.longest) && ctx.Err() == nil; lid++ {
		count := 0
		for count < len(entries) && entries[count].LID == lid {
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

// longestOf is the longest route to a LID, and where it starts, after some switches have got other entries; packets
// arrived from everywhere, over so many links at most. It is false where packets from these switches do not arrive, and
// where that says not enough about the others.
func (c *checker) longestOf(lid int, entries []routing.Entry, was *routing.Forwarding, longest int,
	from topo.SwitchIdx) (links int, start topo.SwitchIdx, known bool) {
	if c.lids.PortOf(mad.LID(lid)) == topo.None || from == topo.None {
		return 0, topo.None, false
	}
	if links, arrives := c.Links(from, lid); !arrives || links != longest {
		return 0, topo.None, false
	}
	for _, e := range entries {
		links, arrives := c.Links(e.Switch, lid)
		if !arrives || links > MaxHops {
			return 0, topo.None, false
		}
		if was.Added(e.Switch) {
			if links > longest {
				longest, from = links, e.Switch
			}
		} else if before, _ := was.Links(e.Switch, lid); links > before {
			return 0, topo.None, false // routes from switches behind it are longer as well
		}
	}
	return longest, from, true
}
