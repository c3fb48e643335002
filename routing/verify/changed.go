package verify

import "ibsm/routing"

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

// changed returns the LIDs to follow, and takes over what since found of the others: those whose
// routes were good, and have not changed.
func (c *checker) changed(since *Report) routing.LIDSet {
	if since == nil {
		return c.Changed(nil)
	}
	was := since.checker
	follow := c.Changed(was.Forwarding)
	for lid := range c.longest {
		if lid >= len(was.longest) || was.longest[lid] == 0 {
			follow.Add(lid)
		}
		if !follow.Has(lid) {
			c.longest[lid] = was.longest[lid]
		}
	}
	return follow
}
