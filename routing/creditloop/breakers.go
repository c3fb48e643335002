package creditloop

import "ibsm/topo"

// breakers are switches, out of those that may be used, such that each loop of the graph passes one of them. The search
// follows dependencies until it returns to a channel that it has passed; from then on it leaves out the first usable
// switch of that loop. broken is false if some loop passes no usable switch.
func (g *graph) breakers(may func(topo.SwitchIdx) bool) (list []topo.SwitchIdx, broken bool) {
	b := &breaker{graph: g, out: make([]bool, len(g.Topo.Switches)), state: make([]uint8, g.lanes*len(g.next))}
	b.list()
	for first := int32(0); int(first) < len(b.state); first++ {
		b.push(first)
		for len(b.way) > 0 {
			at := &b.way[len(b.way)-1]
			if at.edge == b.first[at.channel+1] {
				b.state[at.channel] = done
				b.way = b.way[:len(b.way)-1]
				continue
			}
			to := b.to[at.edge]
			at.edge++
			if b.state[to] != onWay {
				b.push(to)
				continue
			}
			s := b.breaks(to, may)
			if s == topo.None {
				return list, false
			}
			list = append(list, s)
			first = b.leaveOut(s, first)
		}
	}
	return list, true
}

// breaker goes along the dependencies of a graph.
type breaker struct {
	*graph
	first []int32 // by channel on a lane: its first place in to; one more at the end
	to    []int32 // the channels that follow
	out   []bool  // by switch
	state []uint8 // by channel on a lane
	way   []onWayAt
}

// onWayAt is a channel on the way, and the next of its dependencies to go along.
type onWayAt struct{ channel, edge int32 }

// States of a channel.
const (
	unseen uint8 = iota
	onWay
	done // no loop passes it
)

// list sets first and to.
func (b *breaker) list() {
	b.first = make([]int32, len(b.state)+1)
	for c := range b.state {
		b.each(c, func(to int) { b.to = append(b.to, int32(to)) })
		b.first[c+1] = int32(len(b.to))
	}
}

func (b *breaker) switchOf(channel int32) topo.SwitchIdx {
	return topo.SwitchIdx(int(channel) % len(b.next) / b.ports)
}

// push goes on to a channel.
func (b *breaker) push(c int32) {
	if b.state[c] == unseen && !b.out[b.switchOf(c)] {
		b.state[c] = onWay
		b.way = append(b.way, onWayAt{c, b.first[c]})
	}
}

// breaks is the first usable switch of the loop that begins at a channel of the path and ends at the end of the path,
// or None.
func (b *breaker) breaks(from int32, may func(topo.SwitchIdx) bool) topo.SwitchIdx {
	for i := len(b.way) - 1; i >= 0; i-- {
		if s := b.switchOf(b.way[i].channel); may(s) {
			return s
		}
		if b.way[i].channel == from {
			break
		}
	}
	return topo.None
}

// leaveOut goes back to before the first channel of a switch. It returns the lowest channel that has not been seen now,
// if that is lower than some.
func (b *breaker) leaveOut(s topo.SwitchIdx, lowest int32) int32 {
	b.out[s] = true
	for i := range b.way {
		if b.switchOf(b.way[i].channel) != s {
			continue
		}
		for _, at := range b.way[i:] {
			b.state[at.channel] = unseen
			lowest = min(lowest, at.channel)
		}
		b.way = b.way[:i]
		break
	}
	return lowest
}
