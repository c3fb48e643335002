package rails

import (
	"cmp"
	"maps"
	"slices"

	"ibsm/mad/smp"
	"ibsm/topo"
)

// rails are what was found.
func (f *finder) rails() *Rails {
	r := &Rails{Of: map[topo.PortIdx]int{}, Units: make([][]topo.SwitchIdx, f.units),
		Rails: make([]Rail, 1+slices.Max(f.rail))}
	for l, u := range f.unit {
		if u != topo.None {
			r.Units[u] = append(r.Units[u], topo.SwitchIdx(l))
		}
	}
	f.findMembers(r)
	f.findPlaces(r)
	unitOf := map[topo.PortIdx]int32{} // of ports on the wrong leaf, too
	for i := range f.hosts {
		for _, p := range f.hosts[i].ports {
			unitOf[p.at] = f.hosts[i].unit
		}
	}
	for p, rail := range r.Of {
		if u, is := unitOf[p]; !is || u == topo.None {
			unitOf[p] = f.unit[f.topo.SwitchOf(p)]
		}
		r.Rails[rail].Ports = append(r.Rails[rail].Ports, p)
	}
	for i := range r.Rails {
		slices.SortFunc(r.Rails[i].Ports, func(a, b topo.PortIdx) int {
			return cmp.Or(cmp.Compare(unitOf[a], unitOf[b]), cmp.Compare(f.topo.SwitchOf(a), f.topo.SwitchOf(b)),
				cmp.Compare(f.topo.Ports[f.topo.Ports[a].Peer].Num, f.topo.Ports[f.topo.Ports[b].Peer].Num),
				cmp.Compare(a, b))
		})
	}
	for i, s := range f.slots {
		rail := &r.Rails[f.rail[i]]
		if n := len(rail.Leaves); n == 0 || rail.Leaves[n-1] != s.leaf { // slots are in the order of units
			rail.Leaves = append(rail.Leaves, s.leaf)
		}
	}
	f.correct(r)
	return r
}

// findMembers gives ports their rails: that of their place in their unit, or, where no place is known, that of their
// leaf, if it has one.
func (f *finder) findMembers(r *Rails) {
	only := map[topo.SwitchIdx]int{} // rail of a leaf, None where there are several
	for i, s := range f.slots {
		if _, is := only[s.leaf]; is {
			only[s.leaf] = topo.None
		} else {
			only[s.leaf] = int(f.rail[i])
		}
	}
	byLeaf := func(p topo.PortIdx) {
		if rail, is := only[f.topo.SwitchOf(p)]; is && rail != topo.None {
			r.Of[p] = rail
		}
	}
	for _, p := range f.loose {
		byLeaf(p)
	}
	for i := range f.hosts {
		h := &f.hosts[i]
		for _, p := range h.ports {
			home, is := f.home(h, p)
			if !is {
				byLeaf(p.at)
				continue
			}
			r.Of[p.at] = int(f.rail[f.slotAt[spot{h.unit, p.place}]])
			if home != p.leaf {
				r.Wrong = append(r.Wrong, Wrong{Port: p.at, On: p.leaf, Want: home, Exchange: topo.None})
			}
		}
	}
}

// findPlaces finds what the places of rails are called.
func (f *finder) findPlaces(r *Rails) {
	ports := map[[2]int32]int{} // by rail and place
	for i, s := range f.slots {
		ports[[2]int32{f.rail[i], s.place}] += s.ports
	}
	all := slices.SortedFunc(maps.Keys(ports), func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(ports[b], ports[a]), cmp.Compare(a[1], b[1]))
	})
	for _, at := range all {
		if of := &r.Rails[at[0]]; len(of.Places) < mostNames {
			of.Places = append(of.Places, f.places[at[1]])
		}
	}
}

// mostNames is how many names of a place are listed.
const mostNames = 4

// correct finds the cable that puts each port on its leaf: the exchange with one that belongs where this one is, else
// with one that does not belong where it is, else a free port.
func (f *finder) correct(r *Rails) {
	type move struct{ on, want topo.SwitchIdx }
	moves, on := map[move][]int{}, map[topo.SwitchIdx][]int{}
	for i := range r.Wrong {
		w := &r.Wrong[i]
		m := move{w.On, w.Want}
		back := moves[move{w.Want, w.On}]
		if len(back) == 0 {
			moves[m] = append(moves[m], i)
			continue
		}
		at := max(0, slices.IndexFunc(back, func(k int) bool { return f.sameHost(w.Port, r.Wrong[k].Port) }))
		other := &r.Wrong[back[at]]
		moves[move{w.Want, w.On}] = slices.Delete(back, at, at+1)
		w.Exchange, w.Both, other.Exchange, other.Both = other.Port, true, w.Port, true
	}
	for i := range r.Wrong {
		if w := &r.Wrong[i]; !w.Both {
			on[w.On] = append(on[w.On], i)
		}
	}
	taken := map[topo.PortIdx]bool{}
	for i := range r.Wrong {
		w := &r.Wrong[i]
		switch others := on[w.Want]; {
		case w.Both:
		case len(others) > 0:
			w.Exchange = r.Wrong[others[0]].Port
			on[w.Want] = others[1:]
		default:
			w.Free = f.freePort(w, taken)
		}
	}
}

// sameHost reports whether two ports are of hosts with one name.
func (f *finder) sameHost(a, b topo.PortIdx) bool {
	name := func(p topo.PortIdx) string {
		host, _ := Split(f.topo.Nodes[f.topo.Ports[p].Node].Desc.String())
		return host
	}
	return name(a) == name(b)
}

// freePort is a port of a leaf that no cable is known of and that is not taken yet, 0 if there is none: the one with
// the number that the cable has where it is, else the lowest.
func (f *finder) freePort(w *Wrong, taken map[topo.PortIdx]bool) uint8 {
	n := f.topo.Switches[w.Want]
	best := uint8(0)
	for num := range int(f.topo.Nodes[n].NumPorts) {
		at := f.topo.Port(n, uint8(num+1))
		p := &f.topo.Ports[at]
		if p.Peer != topo.None || p.Shunned || p.Info.PortPhysicalState() == smp.PhysLinkUp || taken[at] {
			continue
		}
		if p.Num == f.topo.Ports[f.topo.Ports[w.Port].Peer].Num {
			best = p.Num
			break
		}
		if best == 0 {
			best = p.Num
		}
	}
	if best != 0 {
		taken[f.topo.Port(n, best)] = true
	}
	return best
}
