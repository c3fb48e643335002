package tree

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// network is the switches of the subnet as a tree.
type network struct {
	routing.In
	*Settings
	graph      *routing.Graph
	hosts      []uint32   // by switch: hosts on it
	sources    [][]uint32 // by class of the destination, then by switch: hosts that send there
	leaf       []bool     // by switch: has a quarter of the hosts that the fullest has, or more
	level      []int32    // by switch: links to the nearest leaf
	height     []int32    // by switch: its place in an order without equals; up is to a higher one
	byHeight   []topo.SwitchIdx
	parts      []int32            // by switch: of the subnet, as far as cables lead
	below      [][]int32          // by level, then by switch: parts up to the level
	up         [][]group          // by switch: to higher switches
	higher     [][]topo.SwitchIdx // by switch: those of up, side by side in memory
	higherSet  []int32            // by switch: a number for those that have the same higher ones
	higherSets int                // of these numbers
	down       [][]group          // and to lower ones
	above      [][]fall           // by switch: groups of higher ones that lead to it
	digit      []int32            // by switch: which of the switches of its level that stand for each other it is
	tiers      []tier             // by level
	ups        [][]step           // by switch, then by digit + parents * cable: where its groups up lead
	rails      []*rail
	owners     owners
	// nil before it is needed: while routes are moved, and from the beginning where hosts have several LIDs
	tracer *routing.Tracer
}

// step is a port of a switch, and the switch behind it, None for no port.
type step struct {
	next topo.SwitchIdx
	port uint8
}

// fall is a group down from a switch.
type fall struct {
	from topo.SwitchIdx
	by   *group
}

// group is the cables from a switch to another.
type group struct {
	to    topo.SwitchIdx
	ports []uint8
}

// tier is what the switches of a level have nominally.
type tier struct {
	switches        []topo.SwitchIdx
	parents, cables int // groups up, and cables of a group
	divider         int // of numbers of destinations: the quotient chooses the group
}

// newNetwork finds the tree in a subnet. If ctx is done, the result is meaningless.
func newNetwork(ctx context.Context, in routing.In, settings *Settings) *network {
	count := len(in.Topo.Switches)
	n := &network{In: in, Settings: settings, graph: routing.NewGraph(in.Topo), hosts: make([]uint32, count),
		leaf: make([]bool, count)}
	most := uint32(0)
	for _, p := range in.Topo.EndPorts {
		if s := in.Topo.SwitchOf(p); s != topo.None && in.Topo.IsHost(p) {
			n.hosts[s]++
			most = max(most, n.hosts[s])
		}
	}
	for s, hosts := range n.hosts {
		n.leaf[s] = hosts*4 >= most
	}
	n.order(ctx)
	n.group()
	n.number()
	n.measure()
	n.findRails()
	n.findOwners()
	n.sources = [][]uint32{n.hosts}
	if n.Tenants != nil {
		n.sources = n.Tenants.Sources(n.Topo)
	}
	return n
}

// order gives switches their levels and heights. Of two of one level the one that is nearer to leaves is higher.
func (n *network) order(ctx context.Context) {
	var leaves []topo.SwitchIdx
	for s := range n.leaf {
		if n.leaf[s] {
			leaves = append(leaves, topo.SwitchIdx(s))
		}
	}
	n.level = n.distances(leaves)
	for s, d := range n.level {
		if int(d) == len(n.level) {
			n.level[s] = 0
		}
	}
	far := make([]int64, len(n.level)) // links to all leaves
	if n.hasLevelLinks() {
		for _, l := range leaves {
			if ctx.Err() != nil {
				break
			}
			for s, d := range n.distances([]topo.SwitchIdx{l}) {
				far[s] += int64(d)
			}
		}
	}
	n.height = routing.Ranks(len(n.level), func(a, b topo.SwitchIdx) int {
		return cmp.Or(cmp.Compare(n.level[a], n.level[b]), cmp.Compare(far[b], far[a]))
	})
	n.byHeight = make([]topo.SwitchIdx, len(n.height))
	for s, h := range n.height {
		n.byHeight[h] = topo.SwitchIdx(s)
	}
	n.tiers = make([]tier, 1+slices.Max(n.level))
	for s, level := range n.level {
		n.tiers[level].switches = append(n.tiers[level].switches, topo.SwitchIdx(s))
	}
	n.parts = n.graph.Components()
	for level := range n.tiers {
		n.below = append(n.below, n.graph.ComponentsOf(func(s topo.SwitchIdx) bool { return int(n.level[s]) <= level }))
	}
}

// distances are the numbers of links to the nearest of some switches, by switch. An unreachable switch has one more
// than the largest possible distance.
func (n *network) distances(from []topo.SwitchIdx) []int32 {
	far := slices.Repeat([]int32{int32(n.graph.Len())}, n.graph.Len())
	queue := slices.Clone(from)
	for _, s := range queue {
		far[s] = 0
	}
	for i := 0; i < len(queue); i++ {
		peers, _ := n.graph.Edges(queue[i])
		for _, r := range peers {
			if d := far[queue[i]] + 1; d < far[r] {
				far[r] = d
				queue = append(queue, r)
			}
		}
	}
	return far
}

func (n *network) hasLevelLinks() bool {
	for s := range n.level {
		peers, _ := n.graph.Edges(topo.SwitchIdx(s))
		if slices.ContainsFunc(peers, func(r topo.SwitchIdx) bool { return n.level[r] == n.level[s] }) {
			return true
		}
	}
	return false
}

// group finds the groups of cables.
func (n *network) group() {
	n.up, n.down = make([][]group, len(n.level)), make([][]group, len(n.level))
	for s := range n.level {
		peers, ports := n.graph.Edges(topo.SwitchIdx(s))
		both, higher := make([]group, len(peers)), 0
		for _, r := range peers {
			if n.height[r] > n.height[s] {
				higher++
			}
		}
		n.up[s], n.down[s] = both[:0:higher], both[higher:higher:len(peers)]
		for i, r := range peers {
			groups := &n.down[s]
			if n.height[r] > n.height[s] {
				groups = &n.up[s]
			}
			if at := slices.IndexFunc(*groups, func(g group) bool { return g.to == r }); at >= 0 {
				(*groups)[at].ports = append((*groups)[at].ports, ports[i])
			} else {
				// most have one cable: it stays in the memory of the graph
				*groups = append(*groups, group{r, ports[i : i+1 : i+1]})
			}
		}
	}
	count := 0
	for _, groups := range n.up {
		count += len(groups)
	}
	flat := make([]topo.SwitchIdx, 0, count)
	for _, groups := range n.up {
		first := len(flat)
		for _, g := range groups {
			flat = append(flat, g.to)
		}
		n.higher = append(n.higher, flat[first:])
	}
	n.findHigherSets()
	n.above = make([][]fall, len(n.level))
	falls := make([]fall, count)
	for s, groups := range n.up { // as many lead back
		n.above[s], falls = falls[:0:len(groups)], falls[len(groups):]
	}
	for s := range n.down {
		for i := range n.down[s] {
			g := &n.down[s][i]
			n.above[g.to] = append(n.above[g.to], fall{topo.SwitchIdx(s), g})
		}
	}
}

// findHigherSets numbers the switches by the set of their neighbours on the next higher level.
func (n *network) findHigherSets() {
	n.higherSet = make([]int32, len(n.higher))
	numbers := map[string]int32{}
	var key []byte
	for s, higher := range n.higher {
		key = key[:0]
		for _, r := range higher {
			key = binary.LittleEndian.AppendUint32(key, uint32(r))
		}
		number, is := numbers[string(key)]
		if !is {
			number = int32(len(numbers))
			numbers[string(key)] = number
		}
		n.higherSet[s] = number
	}
	n.higherSets = len(numbers)
}

// number gives switches their digits. The switches from a level on that are connected with each other without lower
// ones are a column: below the roots of a whole tree the switches of a level in one column stand above different
// leaves, and have the same parents. So they have one digit, by which destinations choose them.
func (n *network) number() {
	n.digit = make([]int32, len(n.level))
	around := n.parts
	for level := 1; level < len(n.tiers); level++ {
		column, members := n.columns(int32(level)), map[int32][]topo.SwitchIdx{}
		for _, s := range n.tiers[level].switches {
			members[column[s]] = append(members[column[s]], s)
		}
		next := map[int32]int32{} // by column around them: digits that have been given
		for _, of := range slices.SortedFunc(maps.Values(members), func(a, b []topo.SwitchIdx) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a[0], b[0])) // parts that damage has cut off last
		}) {
			c := around[of[0]]
			for _, s := range of {
				n.digit[s] = next[c]
			}
			next[c]++
		}
		around = column
	}
}

// columns are the parts from a level up.
func (n *network) columns(from int32) []int32 {
	return n.graph.ComponentsOf(func(s topo.SwitchIdx) bool { return n.level[s] >= from })
}

// measure finds what switches of each level have nominally: what most have.
func (n *network) measure() {
	divider := 1
	n.ups = make([][]step, len(n.level))
	for level := range n.tiers {
		t, parents, cables := &n.tiers[level], map[int]int{}, map[int]int{}
		for _, s := range t.switches {
			groups := 0
			for _, g := range n.up[s] {
				if int(n.level[g.to]) > level {
					groups++
					cables[len(g.ports)]++
				}
			}
			parents[groups]++
		}
		t.parents, t.cables, t.divider = max(1, most(parents)), max(1, most(cables)), divider
		divider = min(divider*t.parents*t.cables, 1<<20) // more than LIDs: the quotient is 0
		for _, s := range t.switches {
			n.ups[s] = n.steps(s, t)
		}
	}
}

// steps are the ports of a switch by digit + parents * cable.
func (n *network) steps(s topo.SwitchIdx, t *tier) []step {
	ups := slices.Repeat([]step{{next: topo.None}}, t.parents*t.cables)
	for _, g := range n.up[s] {
		digit := int(n.digit[g.to])
		if n.level[g.to] == n.level[s] || digit >= t.parents {
			continue
		}
		for cable, port := range g.ports[:min(len(g.ports), t.cables)] {
			ups[digit+t.parents*cable] = step{g.to, port}
		}
	}
	return ups
}

// most is the key with the greatest count, the greatest of several.
func most(counts map[int]int) (key int) {
	for k, count := range counts {
		if count > counts[key] || count == counts[key] && k > key {
			key = k
		}
	}
	return key
}
