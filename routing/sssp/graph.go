package sssp

import (
	"context"
	"slices"

	"ibsm/routing"
)

// graph is the channels of a layer, and which depends on which. Which loop is found first depends on
// the order in which channels and dependencies came, and on a tree in which OpenSM keeps the channels:
// the steps here are OpenSM's.
type graph struct {
	node     []channel // by channel
	order    []int32   // channels of the layer, in the order of the tree: each before what is below it
	root     int32
	restart  int32 // none, or the channel at which the last loop was closed
	searched bool
	scan     int // in order: all before are searched
}

type state uint8

// States of a channel in the search.
const (
	absent state = iota // from the layer
	unknown
	onWay
	done
)

type channel struct {
	state       state
	left, right int32 // in the tree
	pre         int32 // the channel before it on the way
	after       []dependency
}

// dependency is on another channel.
type dependency struct {
	on      int32
	bundles []int32
	paths   uint64 // of the bundles that have not been moved; meaningless once the search has left it
}

func newGraph(channels int) *graph {
	return &graph{node: make([]channel, channels), root: none, restart: none}
}

// touch puts a channel into the layer, and into the tree by its key.
func (g *graph) touch(c int32, key []uint64) {
	if g.node[c].state != absent {
		return
	}
	g.node[c] = channel{state: unknown, left: none, right: none, pre: none}
	if g.root == none {
		g.root = c
		return
	}
	for at := g.root; ; {
		below := &g.node[at].right
		if key[c] < key[at] {
			below = &g.node[at].left
		}
		if *below == none {
			*below = c
			return
		}
		at = *below
	}
}

// depend notes that the paths of a bundle go from one channel on to another.
func (g *graph) depend(c, on, bundle int32, paths uint64) {
	after := g.node[c].after
	for i := range after {
		if after[i].on == on {
			after[i].bundles, after[i].paths = append(after[i].bundles, bundle), after[i].paths+paths
			return
		}
	}
	g.node[c].after = append(after, dependency{on, []int32{bundle}, paths})
}

// release notes that paths have been moved to another layer.
func (g *graph) release(c, on int32, paths uint64) {
	for i := range g.node[c].after {
		if d := &g.node[c].after[i]; d.on == on {
			d.paths -= paths
			return
		}
	}
}

// looks is how many channels a search goes through before it looks at its context.
const looks = 256

// findLoop searches for a loop, from where the last search ended, and reports whether there is one. When ctx is done it
// finds none.
func (g *graph) findLoop(ctx context.Context) bool {
	if !g.searched {
		g.searched, g.restart = true, g.root
		g.sort()
	}
	at := g.restart
	for steps := 0; at != none; steps++ {
		if steps%looks == 0 {
			if ctx.Err() != nil {
				break
			}
			routing.Spend(ctx, looks)
		}
		g.node[at].state = onWay
		next := none
		for i := range g.node[at].after {
			on := g.node[at].after[i].on
			if g.node[on].state == onWay {
				g.restart = on
				return true
			}
			if g.node[on].state == unknown {
				next = on
				break
			}
		}
		switch {
		case next != none:
			g.node[next].pre = at
			at = next
		default:
			g.node[at].state = done
			for i := range g.node[at].after {
				g.node[at].after[i].bundles = nil
			}
			if pre := g.node[at].pre; pre != none {
				g.node[at].pre = none
				at = pre
			} else {
				at = g.unsearched()
			}
		}
	}
	g.restart = none
	return false
}

// hasLoop reports whether the layer has a loop, and leaves the search as it is. When ctx is done it finds none.
func (g *graph) hasLoop(ctx context.Context) bool {
	before, channels := make([]int32, len(g.node)), 0
	for c := range g.node {
		if g.node[c].state == absent {
			continue
		}
		channels++
		for i := range g.node[c].after {
			before[g.node[c].after[i].on]++
		}
	}
	var free []int32 // channels on which none depends that is not free itself
	for c := range g.node {
		if g.node[c].state != absent && before[c] == 0 {
			free = append(free, int32(c))
		}
	}
	for i := 0; i < len(free); i++ {
		for _, d := range g.node[free[i]].after {
			if before[d.on]--; before[d.on] == 0 {
				free = append(free, d.on)
			}
		}
	}
	routing.Spend(ctx, channels)
	return len(free) < channels && ctx.Err() == nil
}

// sort lists the channels in the order of the tree.
func (g *graph) sort() {
	var stack []int32
	if g.root != none {
		stack = append(stack, g.root)
	}
	for len(stack) > 0 {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		g.order = append(g.order, c)
		for _, below := range [...]int32{g.node[c].right, g.node[c].left} {
			if below != none {
				stack = append(stack, below)
			}
		}
	}
}

// unsearched is the first channel that has not been searched, none if all have.
func (g *graph) unsearched() int32 {
	for ; g.scan < len(g.order); g.scan++ {
		if c := g.order[g.scan]; g.node[c].state == unknown {
			return c
		}
	}
	return none
}

// cutWeakest takes the dependency with the fewest paths out of the loop that was found, and returns its
// bundles.
func (g *graph) cutWeakest() []int32 {
	var loop []int32
	weakest, most := -1, ^uint64(0)
	for at := g.restart; len(loop) == 0 || at != g.restart; {
		i := slices.IndexFunc(g.node[at].after, func(d dependency) bool { return g.node[d.on].state == onWay })
		if paths := g.node[at].after[i].paths; paths < most {
			weakest, most = len(loop), paths
		}
		loop = append(loop, at)
		at = g.node[at].after[i].on
	}
	c := &g.node[loop[weakest]]
	on := loop[(weakest+1)%len(loop)]
	i := slices.IndexFunc(c.after, func(d dependency) bool { return d.on == on })
	bundles := c.after[i].bundles
	c.after = slices.Delete(c.after, i, i+1)
	for _, at := range loop {
		g.node[at].state = unknown
	}
	g.scan = 0
	return bundles
}
