package shape

import (
	"cmp"
	"fmt"
	"slices"

	"ibsm/topo"
)

// FindDragonfly finds the groups of a dragonfly or dragonfly+, or says why the switches are none.
func FindDragonfly(t *topo.Topo) (*Dragonfly, error) {
	f := newFabric(t)
	g, err := newGroups(f)
	if err != nil {
		plus, errPlus := newPlus(f)
		if errPlus != nil {
			return nil, fmt.Errorf("not a dragonfly: %w; not a dragonfly+: %w", err, errPlus)
		}
		g = plus
	}
	return g.dragonfly(), nil
}

// dragonfly is the groups as the engines get them.
func (g *groups) dragonfly() *Dragonfly {
	d := &Dragonfly{Of: g.of, Plus: g.spine != nil, Spine: g.spine}
	for _, list := range g.lists {
		slices.Sort(list)
	}
	lists := slices.Clone(g.lists)
	slices.SortFunc(lists, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	for of, list := range lists {
		group := make([]topo.SwitchIdx, len(list))
		for i, s := range list {
			group[i] = topo.SwitchIdx(s)
			d.Of[s] = int32(of)
		}
		d.Groups = append(d.Groups, group)
	}
	return d
}

func (g *groups) shape() *Shape {
	s := &Shape{Kind: KindDragonfly, Dragonfly: g.dragonfly()}
	if g.spine != nil {
		s.Kind = KindDragonflyPlus
	}
	s.Seen = fmt.Sprintf("%v of %s of %s", s.Kind, count(len(g.lists), "group"), g.members())
	add := func(n int, format string, args ...any) {
		if n > 0 {
			s.Seen += "; " + fmt.Sprintf(format, args...)
		}
	}
	fewer := 0
	for _, list := range g.lists {
		if len(list) < g.size {
			fewer++
		}
	}
	add(fewer, "%s %s fewer", count(fewer, "group"), verb(fewer, "has", "have"))
	add(g.missing, "%s of %s within groups %s missing", number(g.missing), count(g.within, "link"),
		verb(g.missing, "is", "are"))
	add(g.apart, "%s of %s of groups %s no link", number(g.apart), count(g.pairs(), "pair"),
		verb(g.apart, "has", "have"))
	add(g.without, "%s %s in no group", count(g.without, "switch"), verb(g.without, "is", "are"))
	return s
}

// members is what most groups have.
func (g *groups) members() string {
	if g.spine == nil {
		return count(g.size, "switch")
	}
	spines := make([]int32, len(g.lists))
	for s, of := range g.of {
		if of != topo.None && g.spine[s] {
			spines[of]++
		}
	}
	n := int(most(spines))
	return count(g.size-n, "leaf") + " and " + count(n, "spine")
}
