package shape

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"ibsm/disjoint"
	"ibsm/topo"
)

// newPlus finds the groups of a dragonfly+, or says why there are none.
func newPlus(f *fabric) (g *groups, err error) {
	for _, share := range leafShares {
		tried, refusal := newRanks(f, share).groups()
		if refusal == nil {
			return tried, nil
		}
		err = cmp.Or(err, refusal)
	}
	return nil, err
}

// groups are what cables between leaves and the switches above them connect.
func (r *ranks) groups() (*groups, error) {
	g := &groups{fabric: r.fabric, of: slices.Repeat([]int32{topo.None}, r.len()), spine: make([]bool, r.len())}
	if r.leaves == 0 {
		return nil, errors.New("no switch has hosts")
	}
	joined := disjoint.New(r.len())
	flat := 0 // links between leaves
	for _, ends := range r.ends {
		switch a, z := r.level[ends[0]], r.level[ends[1]]; {
		case a == z && a == 0:
			flat++
		case a+z == 1:
			joined.Join(int32(ends[0]), int32(ends[1]))
		}
	}
	if flat*100 > len(r.ends) {
		return nil, fmt.Errorf("%s of %s connect two leaves", number(flat), count(len(r.ends), "link"))
	}
	var sizes []int32
	for _, list := range joined.Lists() {
		if len(list) > 1 {
			g.add(list)
			sizes = append(sizes, int32(len(list)))
		}
	}
	if len(sizes) < leastGroups {
		return nil, errors.New("switches above leaves are not in groups")
	}
	g.size = int(most(sizes))
	g.adopt()
	g.count()
	for s := range g.spine {
		g.spine[s] = r.level[s] == 1
	}
	for _, list := range g.lists {
		leaves := 0
		for _, s := range list {
			if !g.spine[s] {
				leaves++
			}
		}
		g.within += leaves * (len(list) - leaves)
		for i, s := range list {
			for _, o := range list[:i] {
				if g.spine[s] != g.spine[o] && r.link(topo.SwitchIdx(s), topo.SwitchIdx(o)) == topo.None {
					g.missing++
				}
			}
		}
	}
	return g, g.refusal()
}

// adopt adds switches without a group to the one to which most of their links lead: leaves that have no hosts.
func (g *groups) adopt() {
	for s, next := range g.next {
		if g.of[s] != topo.None {
			continue
		}
		links := map[int32]int{}
		for _, r := range next {
			links[g.of[r]]++
		}
		for _, r := range next {
			if of := g.of[r]; of != topo.None && links[of]*3 > len(next)*2 {
				g.of[s] = of
				g.lists[of] = append(g.lists[of], int32(s))
				break
			}
		}
	}
}
