package net

import "fmt"

// fatTree is the k-ary fat tree, folded Clos. With m = k/2 and L levels it has
// 2m^L hosts and (2L-1)m^(L-1) switches of k ports each.
//
// A switch is known by its level and L-1 digits. Switches of neighbouring levels
// l and l+1 are cabled when they agree in all digits but the l-th (from 1, least
// significant). The most significant digit counts to 2m, except at the top, where
// it is the one in which all cabled below may differ.
//
// With pods=p the most significant digit counts to p only, below the top: of every
// top switch only p ports are used.
//
// With taper=t a leaf has t hosts for each cable up, so that the first digit of
// every level above the leaves counts to k/(t+1) only.
var fatTree = kind{
	name:  "fattree",
	about: "k-ary fat tree of switches with k ports: k^3/4 hosts on three levels, k^2/2 on two",
	keys: []key{
		{"k", readRadix, "8", "ports of a switch, even"},
		{"levels", number(1, 5), "3", "levels of switches"},
		{"taper", number(1, 253), "1", "hosts per uplink of a leaf: 2 is an oversubscription of 2:1"},
		{"pods", number(1, 254), "", "subtrees below the top switches (default: k)"},
		{"hosts", number(1, 254), "", "hosts on each leaf (default: all that k and taper leave room for)"},
	},
	shape: shapeFatTree,
}

func readRadix(text string) (value, error) {
	v, err := number(2, 254)(text)
	if err != nil || v.n%2 != 0 {
		return value{}, fmt.Errorf("expected an even number from 2 to 254")
	}
	return v, nil
}

// clos is the shape of a fat tree.
type clos struct {
	k, levels int
	up        int // cables of a leaf to the level above
	hosts     int // of a leaf
	pods      int
}

func shapeFatTree(s *Spec) (plan, error) {
	k, taper := s.int("k", 0), s.int("taper", 0)
	c := clos{k: k, levels: s.int("levels", 0), up: k / (taper + 1), pods: s.int("pods", k)}
	room := taper * c.up
	if c.pods > k {
		return plan{}, s.errorf("pods=%d: a top switch with %d ports has room for %d pods", c.pods, k, k)
	}
	if c.levels == 1 {
		c.up, room = 0, k
	}
	if room == 0 {
		return plan{}, s.errorf("taper=%d: a leaf with %d ports would have no uplink", taper, k)
	}
	c.hosts = s.int("hosts", room)
	if c.hosts > k-c.up {
		return plan{}, s.errorf("hosts=%d: a leaf with %d ports and %d uplinks has room for %d hosts", c.hosts, k, c.up,
			k-c.up)
	}
	p := plan{build: c.build, hosts: c.size(1) * c.hosts}
	for level := 1; level <= c.levels; level++ {
		p.switches += c.size(level)
	}
	return p, nil
}

// radix is the number of values of a digit, from 1, of the switches of a level.
func (c clos) radix(level, digit int) int {
	switch {
	case digit < level && digit == 1:
		return c.up
	case digit == c.levels-1 && level < c.levels:
		return c.pods
	}
	return c.k / 2
}

// size is the number of switches of a level.
func (c clos) size(level int) int {
	n := 1
	for digit := 1; digit < c.levels; digit++ {
		n *= c.radix(level, digit)
	}
	return n
}

// levelName is what switches of a level are called.
func (c clos) levelName(level int) string {
	switch {
	case level == 1:
		return "leaf"
	case level == c.levels:
		return "spine"
	case c.levels == 3:
		return "agg"
	}
	return fmt.Sprintf("agg%d", level-1)
}

func (c clos) build(b *builder) {
	base := make([]int, c.levels+1) // of each level: its first switch
	for level := 1; level <= c.levels; level++ {
		base[level] = len(b.nodes)
		size := c.size(level)
		for i := range size {
			b.addSwitch(c.levelName(level)+"-"+numbered(i, size), c.k)
		}
	}
	for leaf := range c.size(1) {
		b.addHosts(leaf, c.hosts)
	}
	for level := 1; level < c.levels; level++ {
		// The switch numbers of a level are its digits in mixed radix: those below
		// the digit that may differ have the same radix on both levels.
		low := 1
		for digit := 1; digit < level; digit++ {
			low *= c.radix(level, digit)
		}
		lower, upper := c.radix(level, level), c.radix(level+1, level)
		for i := range c.size(level) {
			high := i / (low * lower)
			for d := range upper {
				b.link(base[level]+i, base[level+1]+(high*upper+d)*low+i%low)
			}
		}
	}
}
