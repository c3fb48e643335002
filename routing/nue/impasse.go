package nue

import (
	"cmp"
	"slices"
)

// candidate is a way to a switch that the search has not reached: by one channel to a neighbour of it,
// and from there on.
type candidate struct{ to, on int32 }

// getOut looks for a switch that the search has not reached, but can when a neighbour of it is reached
// by another channel. It returns the channel by which it is reached, none if there is no such switch.
func (l *layer) getOut() (way int32) {
	way = none
	for v := range l.distance {
		if l.distance[v] != infinite {
			continue
		}
		l.listCandidates(int32(v))
		for _, c := range l.candidates {
			if !l.mayChange(c) {
				continue
			}
			l.length[c.on] = l.length[c.to] + l.weight[c.on]
			if way != none {
				l.note(int32(v), c.on)
				continue
			}
			way = c.on
			l.by[v], l.distance[v] = c.on, l.length[c.on]
			neighbour := l.from[c.on]
			l.by[neighbour], l.distance[neighbour] = c.to, l.length[c.to]
		}
		if way != none {
			return way
		}
	}
	return none
}

// listCandidates lists the candidates for a switch, those with the shortest way to the neighbour first.
func (l *layer) listCandidates(v int32) {
	l.candidates = l.candidates[:0]
	for c := l.first[v]; c < l.first[v+1]; c++ {
		neighbour := l.to[c]
		if l.distance[neighbour] == infinite {
			continue
		}
		l.waiting = l.listNext(l.waiting[:0], neighbour)
		for _, other := range l.others[neighbour] {
			if l.fits(other) {
				l.candidates = append(l.candidates, candidate{other, l.back[c]})
			}
		}
	}
	slices.SortStableFunc(l.candidates, func(a, b candidate) int { return cmp.Compare(l.length[a.to], l.length[b.to]) })
}

// listNext appends the channels by which ways go on from a switch, one that is reached by several
// cables as often.
func (l *layer) listNext(list []int32, v int32) []int32 {
	for c := l.first[v]; c < l.first[v+1]; c++ {
		if by := l.by[l.to[c]]; by != none && l.from[by] == v {
			list = append(list, by)
		}
	}
	return list
}

// fits reports whether all ways that go on from a switch may come to it by a channel instead.
func (l *layer) fits(c int32) bool {
	for _, next := range l.waiting {
		if l.turns(c, next) || l.state[l.dependency(c, next)] != used {
			return false
		}
	}
	return true
}

// turns reports whether a channel leads back to the switch that another comes from.
func (l *layer) turns(c, next int32) bool { return l.from[c] == l.to[next] && l.to[c] == l.from[next] }

// mayChange uses the dependencies of a candidate, and reports whether it may.
func (l *layer) mayChange(c candidate) bool {
	if l.state[l.dependency(c.to, c.on)] == blocked {
		return false
	}
	v := l.from[c.to]
	if v == l.home {
		return false
	}
	before := l.by[v]
	e := l.dependency(before, c.to)
	if l.turns(c.to, before) || l.state[e] == blocked {
		return false
	}
	wasWet := l.wet[e]
	if !l.take(before, c.to) {
		return false
	}
	if !l.take(c.to, c.on) {
		if !wasWet {
			l.release(e)
		}
		return false
	}
	return true
}

// shorten lets the ways through a switch come to it by another channel, and reports whether it may.
// OpenSM gives up the dependencies of the new ways together with those of the old ones; a strict layer
// keeps them.
func (l *layer) shorten(v, by int32) bool {
	old := l.by[v]
	before := l.by[l.from[old]]
	if before == none {
		return false // never so: no way is shorter than one from the destination itself
	}
	l.dependents, l.wasWet = l.listNext(l.dependents[:0], v), l.wasWet[:0]
	for _, next := range l.dependents {
		l.wasWet = append(l.wasWet, l.wet[l.dependency(by, next)])
	}
	for i, next := range l.dependents {
		if l.state[l.dependency(by, next)] != blocked && l.take(by, next) {
			continue
		}
		for k, next := range l.dependents[:i] {
			if e := l.dependency(by, next); l.state[e] != blocked && !l.wasWet[k] {
				l.release(e)
			}
		}
		return false
	}
	l.release(l.dependency(before, old))
	for _, next := range l.dependents {
		if l.strict {
			l.release(l.dependency(old, next))
		} else {
			l.release(l.dependency(by, next))
		}
	}
	return true
}
