package nue

import "ibsm/routing/heap"

// search is the state of one search for ways to a destination.
type search struct {
	queue     heap.Heap
	distance  []uint64  // by vertex
	length    []uint64  // by channel
	others    [][]int32 // by vertex: channels by which it can be reached, too
	foundStep []int32   // by vertex: how often the search had been stuck before
	stuck     int32
	found     int
	work      int // since it was counted last, in units of routing.Budget
	home      int32

	waiting    []int32 // scratch of getOut
	candidates []candidate
	dependents []int32 // scratch of shorten
	wasWet     []bool
}

func newSearch(n *network) search {
	s := search{queue: heap.New(len(n.to)), distance: make([]uint64, len(n.switches)),
		length: make([]uint64, len(n.to)+len(n.switches)),
		others: make([][]int32, len(n.switches)), foundStep: make([]int32, len(n.switches))}
	return s
}

// route finds ways from all switches to a destination: the lightest that close no circle, or if some
// switch is not reached by these, those along the tree.
func (l *layer) route(d dest) {
	l.clear(d.home)
	l.open(d.home)
	at := l.begin(d.home)
	l.length[at] = 0
	for at != none {
		if l.ctx.Err() != nil {
			return
		}
		l.work += 4 * int(l.start[at+1]-l.start[at])
		l.expand(at, used)
		l.expand(at, unused)
		at = none
		switch {
		case l.queue.Len() > 0:
			at, _ = l.queue.Pop()
		case l.found < len(l.switches):
			if at = l.getOut(); at == none {
				l.useTree()
			} else {
				l.found++
				l.stuck++
			}
		}
	}
	l.settle(d.home)
}

func (l *layer) clear(home int32) {
	l.queue.Clear()
	for v := range l.distance {
		l.distance[v], l.by[v], l.others[v], l.foundStep[v] = infinite, none, l.others[v][:0], none
	}
	l.home, l.distance[home], l.found, l.stuck = home, 0, 1, 0
}

// expand goes on from the end of a channel by the dependencies that have a state.
func (l *layer) expand(c int32, s state) {
	first, states, before := l.first[l.end(c)], l.state[l.start[c]:l.start[c+1]], l.length[c]
	ends, weights := l.to[first:][:len(states)], l.weight[first:][:len(states)]
	for i, is := range states {
		if is != s {
			continue
		}
		next, to, length := first+int32(i), ends[i], before+weights[i]
		if length < l.distance[to] {
			l.reach(c, next, length)
		} else if s == used && (l.stuck == 0 || l.by[to] == none) {
			l.length[next] = length
			l.note(to, next)
		}
	}
}

// reach reaches a switch by a way that is shorter than that known.
func (l *layer) reach(c, next int32, length uint64) {
	if !l.take(c, next) {
		return
	}
	to := l.to[next]
	old := l.by[to]
	if l.stuck > 0 && old != none && l.foundStep[to] != l.stuck {
		if !l.shorten(to, next) {
			return
		}
	} else {
		if old != none {
			l.queue.Delete(old)
			if before := l.by[l.from[old]]; before != none {
				l.release(l.dependency(before, old))
			}
		} else {
			l.found++
			l.foundStep[to] = l.stuck
		}
		l.length[next] = length
		l.queue.Push(next, length)
	}
	l.distance[to], l.by[to] = length, next
}

// note notes that a switch can also be reached by a channel.
func (l *layer) note(v, c int32) {
	for _, known := range l.others[v] {
		if known == c {
			return
		}
	}
	l.others[v] = append(l.others[v], c)
}

// useTree takes the ways along the tree.
func (l *layer) useTree() {
	copy(l.by, l.escape)
	at := l.home
	c := l.by[at]
	l.by[at] = none
	for c != none {
		v := l.from[c]
		c, l.by[v], at = l.by[v], l.back[c], v
	}
}
