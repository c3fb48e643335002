package shape

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"ibsm/disjoint"
	"ibsm/topo"
)

// ranks is how far switches are from the leaves.
type ranks struct {
	*fabric
	leaf   []bool  // by switch
	level  []int32 // by switch: links to the nearest leaf; None where there is none
	leaves int
	levels int
	bare   int   // leaves without hosts
	flat   int   // cables between switches of one level
	trees  []int // leaves of each tree: what is connected without cables between switches of one level
	lost   int   // pairs of leaves of one tree without a way that goes up and then down
}

// leafShares: a leaf has at least a quarter of the hosts that most have; or three quarters, where leaves have so few
// that a host in an odd place makes a leaf of a switch.
var leafShares = [...]int32{1, 3}

// oddShare says how many switches may turn out to be leaves, or none: at most a quarter of the leaves.
const oddShare = 4

// newTree finds the levels of a fat tree, or says why there are none.
func newTree(f *fabric) (r *ranks, err error) {
	for _, share := range leafShares {
		tried := newRanks(f, share)
		if refusal := tried.refusal(); refusal == nil {
			return tried, nil
		} else {
			err = cmp.Or(err, refusal)
		}
	}
	return nil, err
}

// newRanks finds the levels if a leaf has so many quarters of the hosts that most have.
func newRanks(f *fabric, share int32) *ranks {
	r := &ranks{fabric: f, leaf: make([]bool, f.len())}
	if f.len() == 0 {
		return r
	}
	nominal := most(slices.DeleteFunc(slices.Clone(f.hosts), func(hosts int32) bool { return hosts == 0 }))
	for s, hosts := range f.hosts {
		if hosts > 0 && hosts*4 >= nominal*share {
			r.leaf[s] = true
			r.leaves++
		}
	}
	r.raise()
	r.measure()
	r.lower()
	r.count()
	return r
}

// raise takes switches that have hosts and stand above leaves from these.
func (r *ranks) raise() {
	below := make([]int, r.len()) // leaves that a switch has a link to
	var found [][]topo.SwitchIdx  // by number of them
	for s, next := range r.next {
		for _, n := range next {
			if r.leaf[n] {
				below[s]++
			}
		}
		if r.leaf[s] && below[s] > 0 {
			found = append(found, make([][]topo.SwitchIdx, max(0, below[s]+1-len(found)))...)
			found[below[s]] = append(found[below[s]], topo.SwitchIdx(s))
		}
	}
	most := r.leaves / oddShare
	for count := len(found) - 1; count > 0 && most > 0; count-- {
		for i := 0; i < len(found[count]) && most > 0; i++ {
			switch s := found[count][i]; {
			case below[s]*2 < len(r.next[s]): // most of what it is cabled to is above it: it is a leaf
			case below[s] < count: // some have been taken since
				found[below[s]] = append(found[below[s]], s)
			default:
				r.leaf[s] = false
				r.leaves--
				most--
				for _, n := range r.next[s] {
					below[n]--
				}
			}
		}
	}
}

// measure finds the levels.
func (r *ranks) measure() {
	r.level, r.levels = slices.Repeat([]int32{topo.None}, r.len()), 0
	var queue []topo.SwitchIdx
	for s, is := range r.leaf {
		if is {
			r.level[s] = 0
			queue = append(queue, topo.SwitchIdx(s))
		}
	}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		r.levels = max(r.levels, int(r.level[s])+1)
		for _, n := range r.next[s] {
			if r.level[n] == topo.None {
				r.level[n] = r.level[s] + 1
				queue = append(queue, n)
			}
		}
	}
}

// lower makes leaves of the switches that have few hosts or none and are cabled, as leaves are, to many switches of one
// subtree alone.
func (r *ranks) lower() {
	part := disjoint.New(r.len()) // without the switches above level 1
	for _, ends := range r.ends {
		if max(r.level[ends[0]], r.level[ends[1]]) < 2 {
			part.Join(int32(ends[0]), int32(ends[1]))
		}
	}
	var up []int32 // links of leaves
	for s, next := range r.next {
		if r.leaf[s] {
			up = append(up, int32(len(next)))
		}
	}
	links := int(most(up))
	var bare []int
	for s, next := range r.next {
		if r.level[s] != 2 {
			continue
		}
		of := part.Of(int32(next[0]))
		if len(next)*2 >= links && !slices.ContainsFunc(next, func(n topo.SwitchIdx) bool {
			return r.level[n] != 1 || part.Of(int32(n)) != of
		}) {
			bare = append(bare, s)
		}
	}
	if len(bare) == 0 || len(bare)*oddShare > r.leaves {
		return
	}
	for _, s := range bare {
		if r.leaf[s] = true; r.hosts[s] == 0 {
			r.bare++
		}
	}
	r.leaves += len(bare)
	r.measure()
}

// count counts the trees, and what a tree must not have.
func (r *ranks) count() {
	tree := disjoint.New(r.len())
	for link, ends := range r.ends {
		if r.level[ends[0]] == r.level[ends[1]] {
			r.flat += int(r.wires[link])
		} else {
			tree.Join(int32(ends[0]), int32(ends[1]))
		}
	}
	pairs := 0
	for _, of := range tree.Lists() {
		leaves := 0
		for _, s := range of {
			if r.leaf[s] {
				leaves++
			}
		}
		if leaves > 0 {
			r.trees = append(r.trees, leaves)
		}
		pairs += leaves * leaves
	}
	r.lost = (pairs - r.reached()) / 2
}

// reached is the number of pairs of leaves, in both directions and with those of a leaf with itself, between which a
// way goes up and then down.
func (r *ranks) reached() (sum int) {
	words := (r.leaves + 63) / 64
	to := make([]uint64, r.len()*words) // by switch: leaves below it, and then all that it has a way to
	of := func(s topo.SwitchIdx) []uint64 { return to[int(s)*words:][:words] }
	add := func(s, from topo.SwitchIdx) {
		for i, leaves := range of(from) {
			of(s)[i] |= leaves
		}
	}
	at := make([][]topo.SwitchIdx, r.levels)
	number := 0
	for s := range topo.SwitchIdx(r.len()) {
		if r.level[s] == topo.None {
			continue
		}
		at[r.level[s]] = append(at[r.level[s]], s)
		if r.leaf[s] {
			of(s)[number/64] |= 1 << (number % 64)
			number++
		}
	}
	for _, switches := range at {
		for _, s := range switches {
			for _, n := range r.next[s] {
				if r.level[n] > r.level[s] {
					add(n, s)
				}
			}
		}
	}
	for _, switches := range slices.Backward(at) {
		for _, s := range switches {
			for _, n := range r.next[s] {
				if r.level[n] > r.level[s] {
					add(s, n)
				}
			}
		}
	}
	for s, is := range r.leaf {
		if is {
			for _, leaves := range of(topo.SwitchIdx(s)) {
				sum += bits.OnesCount64(leaves)
			}
		}
	}
	return sum
}

// refusal says why the switches are no fat tree. Three cables in a hundred may be between switches of one level, and
// one pair of leaves in ten without a way.
func (r *ranks) refusal() error {
	cables, pairs := r.cables(), 0
	for _, leaves := range r.trees {
		pairs += leaves * (leaves - 1) / 2
	}
	switch {
	case r.leaves == 0:
		return fmt.Errorf("no switch has hosts")
	case r.flat*100 > cables*3:
		return fmt.Errorf("%s of %s connect two switches of one level", number(r.flat), count(cables, "cable"))
	case r.leaves == 1 && len(r.ends) >= r.len():
		return fmt.Errorf("only one switch has hosts, and the cables form rings")
	case r.lost*10 > pairs:
		return fmt.Errorf("%s of %s of leaves have no up-down path", number(r.lost),
			count(pairs, "pair"))
	}
	return nil
}

// tree is the levels as the engines get them.
func (r *ranks) tree() *Tree {
	t := &Tree{Level: r.level, Levels: make([][]topo.SwitchIdx, r.levels)}
	for s, level := range r.level {
		if level != topo.None {
			t.Levels[level] = append(t.Levels[level], topo.SwitchIdx(s))
		}
	}
	return t
}

// seen describes the tree.
func (r *ranks) seen(t *Tree) string {
	var b strings.Builder
	if len(r.trees) > 1 {
		fmt.Fprintf(&b, "%d fat trees", len(r.trees))
	} else {
		b.WriteString("fat tree")
	}
	fmt.Fprintf(&b, " of %s: %s", count(r.levels, "level"), count(len(t.Levels[0]), "leaf"))
	for level := 1; level < r.levels-1; level++ {
		fmt.Fprintf(&b, ", %s above them", count(len(t.Levels[level]), "switch"))
	}
	if r.levels > 1 {
		fmt.Fprintf(&b, ", %s", count(len(t.Levels[r.levels-1]), "root"))
	}
	if r.bare > 0 {
		fmt.Fprintf(&b, "; %s %s no hosts", count(r.bare, "leaf"), verb(r.bare, "has", "have"))
	}
	b.WriteString(r.uplinks(t))
	if r.flat > 0 {
		fmt.Fprintf(&b, "; %s %s two switches of one level", count(r.flat, "cable"),
			verb(r.flat, "connects", "connect"))
	}
	if r.lost > 0 {
		fmt.Fprintf(&b, "; between %s of leaves no way goes up and then down", count(r.lost, "pair"))
	}
	return b.String()
}

// uplinks says how many cables up are missing, where most switches of a level have as many, and otherwise how many
// leaves have.
func (r *ranks) uplinks(t *Tree) string {
	whole, missing := 0, 0
	least, fullest := 0, 0 // of leaves
	for level, switches := range t.Levels[:r.levels-1] {
		var ups []int32
		for _, s := range switches {
			up := int32(0)
			for i, n := range r.next[s] {
				if r.level[n] > r.level[s] {
					up += r.wires[r.links[s][i]]
				}
			}
			ups = append(ups, up)
		}
		if level == 0 {
			least, fullest = int(slices.Min(ups)), int(slices.Max(ups))
		}
		nominal := most(ups)
		for _, up := range ups {
			whole += int(nominal)
			missing += int(max(0, nominal-up))
		}
	}
	switch {
	case missing == 0:
		return ""
	case missing*10 > whole:
		return fmt.Sprintf("; leaves have %d to %s up", least, count(fullest, "cable"))
	}
	return fmt.Sprintf("; %s of %s %s missing", number(missing), count(whole, "cable"), verb(missing, "is", "are"))
}
