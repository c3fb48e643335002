package daemon

import (
	"math"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// ways are those that the rule of an engine permits, found without regard to how the engine finds them. They are
// followed backwards, from the destination.
type ways struct {
	switches int
	steps    []backStep
	// next is the state after a step in a direction; the state at the destination is 0. A negative one is that
	// the step is not permitted.
	next  func(state int, leads routing.Direction) int
	limit int // what a way may cost
}

// backStep is a cable between switches, from the one that is nearer to the destination.
type backStep struct {
	from, to topo.SwitchIdx
	leads    routing.Direction
	cost     int // of packets, which come from to
}

func newWays(name string, in routing.In, s *engines.Settings, tables *routing.Tables) *ways {
	w := &ways{switches: len(in.Topo.Switches), limit: math.MaxInt / 2, next: func(int, routing.Direction) int {
		return 0
	}}
	for i := range in.Topo.Ports {
		p, peer := &in.Topo.Ports[i], in.Topo.Ports[i].Peer
		if peer != topo.None && p.Num > 0 && in.Topo.IsSwitchPort(topo.PortIdx(i)) && in.Topo.IsSwitchPort(peer) {
			at := routing.SwitchPort{Switch: in.Topo.Nodes[p.Node].GUID, Port: p.Num}
			cost := max(1, int(s.Balancing.Weights[at]))
			w.steps = append(w.steps, backStep{from: in.Topo.Nodes[in.Topo.Ports[peer].Node].Switch,
				to: in.Topo.Nodes[p.Node].Switch, cost: cost})
		}
	}
	var rank []int
	switch name {
	case "minhop", "dor", "file":
		w.limit = routing.Unreachable - 1
	case "updn":
		rank = w.ranks(tables.Findings.Roots)
		w.next = upThenDown
	case "ftree":
		rank = w.ranks(rootsOfTree(in.Topo, s, w))
		w.next = levelThenDown
	}
	for i := range w.steps {
		if st := &w.steps[i]; rank != nil {
			st.leads = leads(name, in.Topo, s, rank, st.from, st.to)
		}
	}
	return w
}

// upThenDown permits no way up after one down.
func upThenDown(state int, leads routing.Direction) int {
	switch {
	case leads == routing.Down:
		return 1
	case leads == routing.Up && state == 1:
		return -1
	}
	return state
}

// levelThenDown permits no way up, and none to a switch of the same rank, after one down, as ftree searches.
func levelThenDown(state int, leads routing.Direction) int {
	if leads == routing.Level {
		return 1
	}
	return upThenDown(state, leads)
}

// leads is the direction from one switch to another.
func leads(name string, t *topo.Topo, s *engines.Settings, rank []int, from, to topo.SwitchIdx) routing.Direction {
	id := func(at topo.SwitchIdx) uint64 {
		guid := t.Nodes[t.Switches[at]].GUID
		if n, is := s.Updn.IDs[guid]; is {
			return n
		}
		return uint64(guid)
	}
	switch a, b := rank[from], rank[to]; {
	case name == "updn" && a == b && (a == 0 || id(from) > id(to)), a > b:
		return routing.Up
	case name != "updn" && a == b:
		return routing.Level
	}
	return routing.Down
}

// reaching are the switches from which there is a permitted way to one.
func (w *ways) reaching(home topo.SwitchIdx) []bool {
	costs := [2][]int{make([]int, w.switches), make([]int, w.switches)} // by state
	for state := range costs {
		for s := range costs[state] {
			costs[state][s] = math.MaxInt
		}
	}
	costs[0][home] = 0
	for changed := true; changed; {
		changed = false
		for _, step := range w.steps {
			for state := range costs {
				to := w.next(state, step.leads)
				if at := costs[state][step.from]; at < math.MaxInt && to >= 0 && at+step.cost <= w.limit &&
					at+step.cost < costs[to][step.to] {
					costs[to][step.to], changed = at+step.cost, true
				}
			}
		}
	}
	reaching := make([]bool, w.switches)
	for s := range reaching {
		reaching[s] = min(costs[0][s], costs[1][s]) < math.MaxInt
	}
	return reaching
}

// ranks are the distances from some switches.
func (w *ways) ranks(from []topo.SwitchIdx) []int {
	rank := slices.Repeat([]int{w.switches}, w.switches)
	for _, s := range from {
		rank[s] = 0
	}
	for range w.switches {
		for _, step := range w.steps {
			rank[step.to] = min(rank[step.to], rank[step.from]+1)
		}
	}
	return rank
}

// withHosts are the switches that have end ports.
func withHosts(t *topo.Topo) (found []topo.SwitchIdx) {
	for _, p := range t.EndPorts {
		if s := t.SwitchOf(p); s != topo.None && t.Nodes[t.Ports[p].Node].Type != mad.Switch {
			found = append(found, s)
		}
	}
	return found
}

// rootsOfTree are those that are named, or those that are farthest from hosts.
func rootsOfTree(t *topo.Topo, s *engines.Settings, w *ways) (roots []topo.SwitchIdx) {
	for _, guid := range s.Ftree.Roots {
		if n := t.FindNode(guid); n != topo.None && t.Nodes[n].Switch != topo.None {
			roots = append(roots, t.Nodes[n].Switch)
		}
	}
	if roots != nil {
		return roots
	}
	rank, far := w.ranks(withHosts(t)), 0
	for _, r := range rank {
		if r < w.switches {
			far = max(far, r)
		}
	}
	for i, r := range rank {
		if r == far {
			roots = append(roots, topo.SwitchIdx(i))
		}
	}
	return roots
}
