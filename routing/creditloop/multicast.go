package creditloop

import (
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// spreader follows multicast packets.
type spreader struct {
	*graph
	ports  []mcast.PortMask // by switch: of the group in hand
	passed []int32          // by stream: the last search that came there
	search int32
	stack  []reached
}

// reached is a stream, and the channel that it takes.
type reached struct{ stream, channel int }

func newSpreader(g *graph) *spreader {
	if len(g.Multicast) == 0 {
		return nil
	}
	return &spreader{graph: g, ports: make([]mcast.PortMask, len(g.Topo.Switches)), passed: make([]int32, g.count)}
}

// spread calls do for each stream of packets of a group that start at some of the sources, with the ports by which they
// continue; without ports where the stream leaves the switches.
func (s *spreader) spread(group *mcast.Group, from []source, do func(sl uint8, at reached, to mcast.PortMask)) {
	for _, b := range group.Tree.Branches {
		s.ports[b.Switch] = b.Ports
	}
	s.search++
	for i := range from {
		ports := s.ports[from[i].at]
		if from[i].ports.Len() == 1 { // packets do not leave by the port that they came in by
			ports = ports.Without(from[i].ports)
		}
		s.push(from[i].at, from[i].class, ports)
	}
	for len(s.stack) > 0 {
		at := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		var on mcast.PortMask
		if to := s.next[at.channel]; to >= 0 && s.lostAt(at.stream, len(s.rules))>>group.SL&1 == 0 {
			on = s.ports[to]
			on.Remove(s.portAfter(at.channel))
			s.push(to, s.after(at.channel), on)
		}
		do(group.SL, at, on)
	}
	for _, b := range group.Tree.Branches {
		s.ports[b.Switch] = mcast.PortMask{}
	}
}

// push puts the streams on the stack that have not been reached.
func (s *spreader) push(at topo.SwitchIdx, class uint8, ports mcast.PortMask) {
	for port := range ports.Ports() {
		if stream := s.stream(at, port, class); int(port) < s.graph.ports && s.passed[stream] != s.search {
			s.passed[stream] = s.search
			s.stack = append(s.stack, reached{stream, int(at)*s.graph.ports + int(port)})
		}
	}
}

// portAfter is the port that a channel leads to.
func (g *graph) portAfter(channel int) uint8 {
	peer := g.Topo.Ports[g.Topo.Port(g.Topo.Switches[channel/g.ports], uint8(channel%g.ports))].Peer
	return g.Topo.Ports[peer].Num
}

// note adds what spread finds to the graph.
func (s *spreader) note(sl uint8, at reached, on mcast.PortMask) {
	if s.used != nil {
		s.used[at.stream] |= 1 << sl
	}
	for port := range on.Ports() {
		if s.next[int(s.next[at.channel])*s.graph.ports+int(port)] >= 0 {
			s.depend(at.stream, 1<<sl, port)
		}
	}
}

// multicastFlow is packets of an SL to a group that are in a stream and continue by a port; topo.None stands for any
// port. It returns false if there are none.
func (g *graph) multicastFlow(stream int, sl uint8, port int) (Flow, bool) {
	s := newSpreader(g)
	for i := range g.Multicast {
		group := &g.Multicast[i]
		for j := range g.sources {
			if group.SL != sl || group.Tree.Ports(g.sources[j].at).Empty() {
				continue
			}
			found := false
			s.spread(group, g.sources[j:j+1], func(_ uint8, at reached, on mcast.PortMask) {
				found = found || at.stream == stream && (port < 0 || on.Has(uint8(port)))
			})
			if found {
				return Flow{g.sources[j].at, g.sender(&g.sources[j], stream), group.Tree.MLID, sl}, true
			}
		}
	}
	return Flow{}, false
}

// sender is a LID of a source whose packets can be in a stream.
func (g *graph) sender(from *source, stream int) mad.LID {
	for lid, is := range g.dests {
		if !is || g.Home(mad.LID(lid)) != from.at || !g.sends(g.LIDs.Owner[lid]) {
			continue
		}
		if _, port := routing.Home(g.Topo, g.LIDs.Owner[lid]); g.classOf(from.at, port) == from.class &&
			g.stream(from.at, port, from.class) != stream {
			return mad.LID(lid)
		}
	}
	return from.flows[0].from
}

// flow is packets of an SL that are in the stream of a class of ports of a switch, and go on by a
// port of the next switch; none is topo.None. Unicast packets are those to the lowest LID.
func (g *graph) flow(s topo.SwitchIdx, port, class, sl uint8, on int) Flow {
	next := g.next[int(s)*g.ports+int(port)]
	for lid, is := range g.dests {
		if !is || !g.takes(s, port, lid) || on >= 0 && !g.takes(next, uint8(on), lid) {
			continue
		}
		for i := range g.sources {
			from := &g.sources[i]
			for j := range from.flows {
				if g.slsOfFlow(&from.flows[j], lid)>>sl&1 != 0 && g.reaches(from, lid, sl, s, class) {
					return Flow{from.at, from.flows[j].from, mad.LID(lid), sl}
				}
			}
		}
	}
	f, _ := g.multicastFlow(g.stream(s, port, class), sl, on)
	return f
}

// reaches reports whether packets of an SL from a source to a LID come to a switch by ports of a
// class.
func (g *graph) reaches(from *source, lid int, sl uint8, s topo.SwitchIdx, class uint8) bool {
	target, passed := g.input(s, class), map[int]bool{}
	stack := []place{{from.at, from.class}}
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		input := g.input(p.at, p.class)
		if input == target {
			return true
		}
		if passed[input] {
			continue
		}
		passed[input] = true
		for i := range g.rules {
			port := g.egress(i, p.at, lid)
			c := int(p.at)*g.ports + int(port)
			if port == routing.NoPath || g.next[c] < 0 || g.lost != nil &&
				g.lost[g.stream(p.at, port, p.class)]>>sl&1 != 0 {
				continue
			}
			stack = append(stack, place{g.next[c], g.after(c)})
		}
	}
	return false
}
