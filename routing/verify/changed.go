package verify

import (
	"bytes"

	"ibsm/routing"
	"ibsm/topo"
)

// changed returns the LIDs to follow, a word for each block, and takes over what
// since found of the others. The routes to a LID are what they were when each switch has
// the same entry for it, the ports by which packets come from switch to switch lead where
// they led, and the LID is still at the same port of the same switch. Switches count by
// their numbers: it does not matter who they are.
func (c *checker) changed(since *Report) []uint64 {
	follow := make(lidSet, c.blocks())
	if since == nil || len(since.checker.rows) != len(c.rows) {
		for block := range follow {
			follow[block] = routing.WholeBlock
		}
		return follow
	}
	was := since.checker
	for lid := range c.longest {
		if lid >= len(was.longest) || was.longest[lid] == 0 || was.homeOf(lid) != c.homeOf(lid) {
			follow.add(lid)
		}
	}
	for s, row := range c.rows {
		follow.addUnequal(was.rows[s], row)
		var turned [256]bool
		turns := false
		c.tracer.Turns(was.tracer, topo.SwitchIdx(s), func(port uint8) { turned[port], turns = true, true })
		if turns {
			follow.addEntries(row, &turned)
		}
	}
	for lid := range c.longest {
		if !follow.has(lid) {
			c.longest[lid] = was.longest[lid]
		}
	}
	return follow
}

func (c *checker) homeOf(lid int) home {
	if lid >= len(c.home) {
		return home{at: topo.None}
	}
	return c.home[lid]
}

// lidSet has a bit for each LID, a word for each block of LIDs.
type lidSet []uint64

func (f lidSet) add(lid int)      { f[lid/routing.BlockSize] |= 1 << (lid % routing.BlockSize) }
func (f lidSet) has(lid int) bool { return f[lid/routing.BlockSize]>>(lid%routing.BlockSize)&1 != 0 }

// addUnequal adds the LIDs for which two rows of a switch have different entries.
func (f lidSet) addUnequal(was, is []uint8) {
	if len(was) == len(is) && (len(is) == 0 || &was[0] == &is[0]) {
		return
	}
	for block := range f {
		first := block * routing.BlockSize
		if bytes.Equal(part(was, first), part(is, first)) {
			continue
		}
		for lid := first; lid < first+routing.BlockSize; lid++ {
			if entry(was, lid) != entry(is, lid) {
				f.add(lid)
			}
		}
	}
}

// part is what a row has of the block that begins with a LID.
func part(row []uint8, first int) []uint8 {
	return row[min(first, len(row)):min(first+routing.BlockSize, len(row))]
}

func entry(row []uint8, lid int) uint8 {
	if lid >= len(row) {
		return routing.NoPath
	}
	return row[lid]
}

// addEntries adds the LIDs whose packets leave a switch by any of the ports.
func (f lidSet) addEntries(row []uint8, ports *[256]bool) {
	for lid, port := range row {
		if ports[port] {
			f.add(lid)
		}
	}
}
