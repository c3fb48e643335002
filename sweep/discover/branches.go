package discover

import (
	"cmp"
	"slices"

	"ibsm/finding"
	"ibsm/topo"
)

// One agent can say that it is a switch with others behind it, and those again, without end. All that it makes up hangs
// on one cable, since a cable to a node that is really there has to be confirmed by that node. So the walk counts, for
// each node, the ports of the nodes that were found behind it and are connected to the rest by no other cable, and
// explores such a branch in portions: a further one follows when all else has been asked. A branch may have as many
// ports as the rest of the subnet, and leastAllowed in any case. What is beyond is left out until the next walk.
//
// A node that the previous walk has found counts for the rest. So a branch that is real grows with each sweep. Where it
// does not count is behind a port that led to an adapter: such a branch stays as small as the first walk allows.

const (
	// portion is how many ports of new nodes a branch has before it waits for the others, the first time.
	portion = 2048
	// leastAllowed is how many a branch may have in any case: more than a director with one cable to the rest.
	leastAllowed = 4096
)

// branch is what the walk knows of the cables between a node and the manager.
type branch struct {
	parent topo.End // the port that led to the node first; NoEnd for our own
	depth  int
	ports  int  // of nodes in the branch that count, the node itself included
	more   int  // how many it may have in this portion; 0 for portion
	joined bool // another cable leads from the branch to the rest
	// suspect says that the port led to an adapter, and known nodes count as well
	suspect bool
	cut     bool // some of it was left out
	waits   []item
}

// branches are the branches of a walk, by the Builder's index of their first node.
type branches struct {
	all   []branch
	first int32   // the node behind the cable of our own adapter, or our own switch: the branch is the whole subnet
	total int     // ports of all nodes
	held  []int32 // branches with requests that wait
}

// grow takes a node that was found behind a port, with so many ports. One that is known counts only in a suspect
// branch.
func (bs *branches) grow(from topo.End, ports int, known, suspect bool) {
	b := branch{parent: from, suspect: suspect}
	if from != topo.NoEnd {
		above := &bs.all[from.Node]
		b.depth, b.suspect = above.depth+1, suspect || above.suspect
	}
	bs.all = append(bs.all, b)
	if bs.total += ports; known && !b.suspect {
		return
	}
	for n := int32(len(bs.all) - 1); n >= 0 && (!known || bs.all[n].suspect); n = bs.above(n) {
		bs.all[n].ports += ports
	}
}

// above is the node by which another one was reached, -1 for none.
func (bs *branches) above(n int32) int32 {
	if parent := bs.all[n].parent; parent != topo.NoEnd {
		return parent.Node
	}
	return -1
}

// join takes a cable between two nodes that were found. Unless one was found over it, no branch that has one of them
// alone hangs on one cable.
func (bs *branches) join(from, to topo.End) {
	a, c := from.Node, to.Node
	if bs.all[c].parent == from || bs.all[a].parent == to {
		return
	}
	for a != c {
		if bs.all[a].depth < bs.all[c].depth {
			a, c = c, a
		}
		bs.all[a].joined = true
		a = bs.above(a)
	}
}

// hangs reports whether a node is connected to the manager by one cable only, somewhere on the way.
func (bs *branches) hangs(n int32) bool {
	for ; n > bs.first; n = bs.above(n) {
		if !bs.all[n].joined {
			return true
		}
	}
	return false
}

// holder is the branch for which a request to the node behind a port of another one waits, -1 for none.
func (bs *branches) holder(n int32) int32 {
	for ; n > bs.first; n = bs.above(n) {
		if b := &bs.all[n]; !b.joined && b.ports >= cmp.Or(b.more, portion) {
			return n
		}
	}
	return -1
}

// hold has a request wait for a branch.
func (bs *branches) hold(n int32, it item) {
	b := &bs.all[n]
	if b.waits == nil {
		bs.held = append(bs.held, n)
	}
	b.waits = append(b.waits, it)
}

// release has the next portion of the smallest branch that waits explored, and reports whether there is one. What is
// behind a branch that is larger than it may be is left out.
func (m *Machine) release() bool {
	bs := &m.branches
	for len(bs.held) > 0 {
		slices.SortFunc(bs.held, func(a, c int32) int {
			return cmp.Or(cmp.Compare(bs.all[a].ports, bs.all[c].ports), cmp.Compare(a, c))
		})
		n := bs.held[0]
		bs.held = bs.held[1:]
		b := &bs.all[n]
		waits := b.waits
		b.waits = nil
		allowed := m.allowed(b)
		if !b.joined && b.ports >= allowed {
			m.leaveOut(b)
			continue
		}
		b.more = min(2*max(b.ports, portion), allowed)
		for _, it := range waits {
			m.probes.push(it)
		}
		return true
	}
	return false
}

// allowed is how many ports that count a branch may have. One of which a part was left out in the previous walk grows
// slowly.
func (m *Machine) allowed(b *branch) int {
	total := m.branches.total
	if t := m.known(); t != nil {
		total = max(total, len(t.Ports))
	}
	if m.had(finding.BranchCut, m.b.Node(b.parent.Node).GUID, b.parent.Port) {
		return leastAllowed
	}
	return max(total-b.ports, leastAllowed)
}

// leaveOut gives up what is behind a branch.
func (m *Machine) leaveOut(b *branch) {
	if b.cut {
		return
	}
	b.cut = true
	route, _ := m.routeOut(b.parent)
	m.report(Finding{Kind: finding.BranchCut, GUID: m.b.Node(b.parent.Node).GUID, Port: b.parent.Port, Route: route})
}
