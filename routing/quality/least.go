package quality

import (
	"context"
	"math"

	"ibsm/routing"
	"ibsm/topo"
)

// searches is how many switches with hosts stand for all of them, where the length of routes is estimated.
const searches = 32

// Least are figures that hardly any tables can improve on: what the links of some switch with hosts must carry, and the
// mean over all links with the shortest routes. It takes a small part of the time that the figures of tables take. The
// error is that of ctx.
func Least(ctx context.Context, in routing.In) (*Sample, error) {
	t := in.Topo
	l := &least{topo: t, graph: routing.NewGraph(t), hops: make([]int32, len(t.Switches)),
		sources: in.Tenants.Sources(t), here: make([][]uint32, in.Tenants.Classes())}
	for class := range l.here {
		l.here[class] = make([]uint32, len(t.Switches))
	}
	for _, p := range t.EndPorts {
		if s := t.SwitchOf(p); s != topo.None && t.IsHost(p) {
			l.here[in.Tenants.Class(p)][s] += uint32(in.LIDs.Count(p))
		}
	}
	s := &Sample{}
	for i := range t.Ports {
		if t.BetweenSwitches(topo.PortIdx(i)) {
			s.Links++
		}
	}
	mean, hops := l.mean(ctx)
	s.Fullest = uint32(max(l.ofSwitches(), mean))
	if in.Tenants == nil {
		s.Shift = l.shift(Hosts(t, in.LIDs), hops)
	}
	return s, ctx.Err()
}

// least is the problem that tables solve.
type least struct {
	topo    *topo.Topo
	graph   *routing.Graph
	sources [][]uint32 // by class, then by switch: the ports of hosts that send there
	here    [][]uint32 // by class, then by switch: LIDs of hosts
	hops    []int32
	queue   []topo.SwitchIdx
}

// links are those of a switch to others.
func (l *least) links(s topo.SwitchIdx) int {
	peers, _ := l.graph.Edges(s)
	return len(peers)
}

// ofSwitches is the most routes that the links to some switch with hosts have on average.
func (l *least) ofSwitches() (most float64) {
	routes := make([]float64, len(l.topo.Switches))
	for class, here := range l.here {
		all := uint32(0)
		for _, hosts := range l.sources[class] {
			all += hosts
		}
		for s, lids := range here {
			routes[s] += float64(lids) * float64(all-l.sources[class][s])
		}
	}
	for s, n := range routes {
		if links := l.links(topo.SwitchIdx(s)); links > 0 {
			most = max(most, n/float64(links))
		}
	}
	return most
}

// mean is the routes that links have on average, and the links of a route, both with the shortest routes: estimated
// from those to some switches with hosts.
func (l *least) mean(ctx context.Context) (routes, hops float64) {
	var homes []topo.SwitchIdx
	for s := range l.topo.Switches {
		for _, here := range l.here {
			if here[s] > 0 {
				homes = append(homes, topo.SwitchIdx(s))
				break
			}
		}
	}
	links := 0
	for s := range l.topo.Switches {
		links += l.links(topo.SwitchIdx(s))
	}
	tried, count := min(searches, len(homes)), 0.0
	for i := range tried {
		if ctx.Err() != nil {
			break
		}
		home := homes[i*len(homes)/tried]
		l.search(home)
		for class, here := range l.here {
			for s, hosts := range l.sources[class] {
				if l.hops[s] > 0 {
					hops += float64(here[home]) * float64(hosts) * float64(l.hops[s])
				}
				count += float64(here[home]) * float64(hosts)
			}
		}
	}
	return hops * float64(len(homes)) / float64(max(1, tried)) / float64(max(1, links)), hops / max(1, count)
}

// search finds the hops from a switch to others; -1 where there is no way.
func (l *least) search(from topo.SwitchIdx) {
	for s := range l.hops {
		l.hops[s] = -1
	}
	l.hops[from] = 0
	l.queue = append(l.queue[:0], from)
	for i := 0; i < len(l.queue); i++ {
		at := l.queue[i]
		peers, _ := l.graph.Edges(at)
		for _, next := range peers {
			if l.hops[next] < 0 {
				l.hops[next] = l.hops[at] + 1
				l.queue = append(l.queue, next)
			}
		}
	}
}

// shift is the flows on the fullest link, on average over the shifts of a Sample: at the links of some switch, or with
// routes of so many hops on all links.
func (l *least) shift(hosts []topo.PortIdx, hops float64) float64 {
	leave, links := make([]int, len(l.topo.Switches)), 0
	for s := range l.topo.Switches {
		links += l.links(topo.SwitchIdx(s))
	}
	even := math.Ceil(float64(len(hosts)) * hops / float64(max(1, links)))
	return overShifts(len(hosts), func(by int) float64 {
		clear(leave)
		for i, from := range hosts {
			if s := l.topo.SwitchOf(from); s != l.topo.SwitchOf(hosts[(i+by)%len(hosts)]) {
				leave[s]++
			}
		}
		most := even
		for s, flows := range leave {
			if n := l.links(topo.SwitchIdx(s)); n > 0 {
				most = max(most, math.Ceil(float64(flows)/float64(n)))
			}
		}
		return most
	})
}
