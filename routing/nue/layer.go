package nue

import "context"

// layer is the channels of one lane, and which may wait for which. A dependency that is used leads from
// one channel to the next on the way away from a destination.
//
// Channels that are connected by used dependencies have the colour of the destination that joined them
// last, so that most channels need no search for a circle. OpenSM follows the joins only one step: it can
// take channels that are connected for ones that are not, and then does not search. A strict layer
// searches in any case.
type layer struct {
	*network
	ctx    context.Context // of the computation; when it is done, searches end early, and nothing found may be used
	strict bool

	// Dependencies, and channels. Behind the channels come starts, one for each switch: ways to the
	// destinations there begin with them.
	start    []int32 // the dependencies of channel c are start[c] .. start[c+1]-1, one on each channel from its end
	state    []state
	wet      []bool  // used by the search that runs, and by none before
	raised   []bool  // some route has it
	painted  []int32 // those that are or were wet
	colour   []uint16
	damp     []bool // the channel has had its colour since the search began
	coloured []int32
	order    *order

	shown  []uint16 // by colour: that into which earlier searches changed it
	joined []uint16 // by that: the colour that it was joined to
	source uint16   // colour of the search that runs

	escape []int32 // by vertex: the channel by which the tree comes, none at its root
	search
}

// state of a dependency.
type state uint8

const (
	unused state = iota
	used
	blocked // it would have closed a circle, or leads back over the cable
)

// Colours that stand for no destination.
const (
	noColour uint16 = iota
	escapeColour
	firstColour
)

func newLayer(ctx context.Context, n *network, strict bool) *layer {
	all := len(n.to) + len(n.switches)
	l := &layer{network: n, ctx: ctx, strict: strict, start: make([]int32, all+1), colour: make([]uint16, all),
		damp:  make([]bool, all),
		shown: []uint16{noColour, escapeColour}, joined: []uint16{noColour, escapeColour}}
	for c := range all {
		v := l.end(int32(c))
		l.start[c+1] = l.start[c] + l.first[v+1] - l.first[v]
	}
	count := l.start[all]
	l.state, l.wet, l.raised = make([]state, count), make([]bool, count), make([]bool, count)
	for c, back := range n.back {
		l.state[l.dependency(int32(c), back)] = blocked
	}
	l.order = newOrder(l)
	l.search = newSearch(n)
	return l
}

// begin is the start at a switch.
func (l *layer) begin(v int32) int32 { return int32(len(l.to)) + v }

// end is the switch to which a channel leads, or where a start is.
func (l *layer) end(c int32) int32 {
	if int(c) >= len(l.to) {
		return c - int32(len(l.to))
	}
	return l.to[c]
}

// dependency is that of a channel on another, which begins where it ends.
func (l *layer) dependency(c, on int32) int32 { return l.start[c] + on - l.first[l.end(c)] }

// colourOf is the colour of a channel as OpenSM sees it.
func (l *layer) colourOf(c int32) uint16 { return l.joined[l.shown[l.colour[c]]] }

// open begins the search for ways from a switch with a colour of its own.
func (l *layer) open(home int32) {
	l.source = uint16(len(l.shown))
	l.shown, l.joined = append(l.shown, l.source), append(l.joined, l.source)
	if c := l.begin(home); l.colourOf(c) == noColour {
		l.colour[c] = l.source
	} else {
		l.joined[l.shown[l.colour[c]]] = l.source
	}
}

// take uses a dependency of a channel that has a colour, and reports whether it may: one that would close
// a circle is blocked for good.
func (l *layer) take(c, on int32) bool {
	e := l.dependency(c, on)
	if l.state[e] == used {
		return true
	}
	free := int(c) >= len(l.to) || l.order.add(c, on)
	colour := l.colourOf(on)
	if !free && (l.strict || colour == l.source) {
		l.state[e] = blocked
		return false
	}
	if !free {
		l.order.broken = true
	}
	switch {
	case colour == noColour:
		l.colour[on] = l.colour[c]
		l.damp[on] = true
		l.coloured = append(l.coloured, on)
	case colour != l.source:
		l.joined[l.shown[l.colour[on]]] = l.shown[l.colour[c]]
	}
	l.state[e], l.wet[e] = used, true
	l.painted = append(l.painted, e)
	return true
}

// release gives up a dependency that only the search that runs has used.
func (l *layer) release(e int32) {
	if l.wet[e] {
		l.state[e], l.wet[e] = unused, false
	}
}

// settle keeps the dependencies and colours of the ways that were found, and gives up all others that the
// search has used.
func (l *layer) settle(home int32) {
	for _, c := range l.by {
		if c == none {
			continue
		}
		l.damp[c] = false
		before := l.begin(home)
		if v := l.from[c]; v != home {
			before = l.by[v]
		}
		e := l.dependency(before, c)
		l.wet[e], l.raised[e] = false, true
	}
	for _, c := range l.coloured {
		if l.damp[c] {
			l.colour[c], l.damp[c] = noColour, false
		}
	}
	for _, e := range l.painted {
		l.release(e)
	}
	l.coloured, l.painted = l.coloured[:0], l.painted[:0]
	for i, c := range l.shown {
		l.shown[i] = l.joined[c]
	}
	if l.order.broken {
		l.order.reset()
	}
}

// hasCircle reports whether the routes of the layer close a circle.
func (l *layer) hasCircle() bool {
	for e := range l.raised[:l.start[len(l.to)]] {
		if l.raised[e] {
			l.state[e] = used
		} else {
			l.state[e] = unused
		}
	}
	l.order.reset()
	return l.order.broken
}

// reserve keeps a tree free for destinations that cannot be reached otherwise: its root is the switch
// that is most in the middle of all.
func (l *layer) reserve(root int32, dests []dest) {
	l.spread(root)
	l.escape = append([]int32(nil), l.by...)
	home := make([]bool, len(l.switches))
	for _, d := range dests {
		home[d.home] = true
	}
	for v := range l.escape {
		l.reserveWay(int32(v), home[v])
	}
	l.reserveRoot(root)
	l.order.reset()
}

// reserveWay keeps the way from the root to a switch; for the home of a destination also the way to the
// root, and to all on the other branches on the way.
func (l *layer) reserveWay(v int32, home bool) {
	for c := l.escape[v]; c != none; {
		l.colour[c] = escapeColour
		at := l.from[c]
		before := l.escape[at]
		if before == none {
			return
		}
		l.colour[before] = escapeColour
		l.state[l.dependency(before, c)] = used
		if home {
			up, next := l.back[c], l.back[before]
			l.colour[up], l.colour[next] = escapeColour, escapeColour
			l.state[l.dependency(up, next)] = used
			for e := l.first[at]; e < l.first[at+1]; e++ {
				down := l.escape[l.to[e]]
				if down != none && l.from[down] == at && l.to[down] != l.to[c] {
					l.state[l.dependency(up, down)] = used
				}
			}
		}
		c = before
	}
}

// reserveRoot keeps the ways through the root between all its branches.
func (l *layer) reserveRoot(root int32) {
	var down []int32
	for v, c := range l.escape {
		if c != none && l.from[c] == root {
			down = append(down, l.escape[v])
		}
	}
	for _, a := range down {
		for _, b := range down {
			if a != b {
				l.colour[l.back[a]] = escapeColour
				l.state[l.dependency(l.back[a], b)] = used
			}
		}
	}
}
