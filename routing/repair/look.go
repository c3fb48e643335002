package repair

import (
	"math"

	"ibsm/routing"
	"ibsm/topo"
)

// look is what is known of a LID before the first switch is joined to its tree.
type look struct {
	target
	sls     uint16   // of packets to it from broken switches
	alone   bool     // no switch but its own has a way to it
	ways    []way    // nearest first
	before  []uint8  // by index in ways: the entry of before
	choices []choice // of all ways
}

// way is what a broken switch can choose from. Those that no cable leads from have none.
type way struct {
	at  topo.SwitchIdx
	end int32 // of its choices
}

// choice is a port on a shortest way.
type choice struct {
	next topo.SwitchIdx // the switch behind it
	port uint8
}

// looker looks at one LID after the other. It belongs to one goroutine, and writes nothing that others read.
type looker struct {
	*joiner
	target
	links   []int32          // by SwitchIdx, to the LID; unknown, or beyond
	known   []topo.SwitchIdx // those whose links are not unknown
	broken  []topo.SwitchIdx
	nearest []topo.SwitchIdx   // of the broken switches, nearest first; without those that no cable leads from
	waiting [][]topo.SwitchIdx // by links
	memory  []choice           // what is left of it is for choices of further LIDs
	last    look               // if it was alone
}

const (
	unknown = -1
	beyond  = math.MaxInt32
)

func newLooker(j *joiner) *looker {
	n := len(j.own)
	l := &looker{joiner: j, links: make([]int32, n)}
	for s := range l.links {
		l.links[s] = unknown
	}
	return l
}

// look finds the ways from each broken switch to the tree of a LID.
func (l *looker) look(t target) look {
	is := look{target: t}
	l.target, l.broken = t, l.broken[:0]
	block, bit := int(t.lid)/routing.BlockSize, t.lid%routing.BlockSize
	for _, s := range l.inBlock[block] {
		if l.repair.broken[block][s]>>bit&1 != 0 {
			l.broken = append(l.broken, s)
			is.sls |= l.slsFrom(s, t)
		}
	}
	if len(l.broken) == 0 {
		return is
	}
	is.alone = len(l.broken) == len(l.links)-1
	if is.alone && l.last.alone && l.last.Switch == t.Switch {
		is.ways, is.choices = l.last.ways, l.last.choices // ways are those of the LID before
	} else {
		l.measure()
		l.choose(&is)
	}
	is.before = make([]uint8, len(is.ways))
	for i := range is.ways {
		is.before[i] = l.before(is.ways[i].at, t.lid)
	}
	l.last = is
	return is
}

// choose finds the choices of the broken switches.
func (l *looker) choose(is *look) {
	most := 0
	for _, s := range l.nearest {
		peers, _ := l.graph.Edges(s)
		most += len(peers)
	}
	if cap(l.memory) < most {
		l.memory = make([]choice, 0, max(most, 1<<14))
	}
	is.choices, is.ways = l.memory[:0], make([]way, 0, len(l.nearest))
	for _, s := range l.nearest {
		peers, ports := l.graph.Edges(s)
		nearer := l.links[s] - 1
		for e, r := range peers {
			if l.links[r] == nearer {
				is.choices = append(is.choices, choice{r, ports[e]})
			}
		}
		is.ways = append(is.ways, way{s, int32(len(is.choices))})
	}
	l.memory = is.choices[len(is.choices):]
}

// measure finds the links from each broken switch, by Dijkstra's algorithm from the
// tree outwards.
func (l *looker) measure() {
	for _, s := range l.known {
		l.links[s] = unknown
	}
	l.known = append(l.known[:0], l.broken...)
	for _, s := range l.broken {
		l.links[s] = beyond
	}
	l.known = append(l.known, l.Switch)
	l.links[l.Switch] = 0
	for _, s := range l.broken {
		peers, _ := l.graph.Edges(s)
		for _, r := range peers {
			if far := l.inTree(r); far < beyond {
				l.links[s] = min(l.links[s], far+1)
			}
		}
	}
	for _, s := range l.broken {
		l.wait(s)
	}
	l.nearest = l.nearest[:0]
	for far := 0; far < len(l.waiting); far++ {
		for i := 0; i < len(l.waiting[far]); i++ {
			s := l.waiting[far][i]
			if int(l.links[s]) != far {
				continue // has come nearer since
			}
			l.nearest = append(l.nearest, s)
			peers, _ := l.graph.Edges(s)
			for _, r := range peers {
				if l.links[r] > l.links[s]+1 && l.isBroken(r, l.lid) {
					l.links[r] = l.links[s] + 1
					l.wait(r)
				}
			}
		}
		l.waiting[far] = l.waiting[far][:0]
	}
}

func (l *looker) wait(s topo.SwitchIdx) {
	if l.links[s] == beyond {
		return
	}
	for int(l.links[s]) >= len(l.waiting) {
		l.waiting = append(l.waiting, nil)
	}
	l.waiting[l.links[s]] = append(l.waiting[l.links[s]], s)
}

// inTree is the number of links from a switch of the tree to the destination, beyond
// for one outside it.
func (l *looker) inTree(s topo.SwitchIdx) int32 {
	if l.isBroken(s, l.lid) {
		return beyond
	}
	if l.links[s] == unknown {
		l.known = append(l.known, s)
		l.links[s] = l.inTree(l.tracer.Next(s, l.tables.LFT[s][l.lid])) + 1
	}
	return l.links[s]
}
