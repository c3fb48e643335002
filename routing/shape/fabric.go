package shape

import (
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// fabric is which switches are cabled to which. What the switches are is found from this and from where hosts are,
// never from names, GUIDs or port numbers.
type fabric struct {
	hosts []int32             // by switch
	next  [][]topo.SwitchIdx  // by switch: those it is cabled to, in ascending order
	links [][]int32           // by switch, then as next: index into ends
	ends  [][2]topo.SwitchIdx // of links, the lower switch first: a link is all cables between two switches
	wires []int32             // by link: cables
	parts int                 // of the subnet, that no cable connects
}

func newFabric(t *topo.Topo) *fabric {
	count := len(t.Switches)
	f := &fabric{hosts: make([]int32, count), next: make([][]topo.SwitchIdx, count), links: make([][]int32, count)}
	for _, p := range t.EndPorts {
		if s := t.SwitchOf(p); s != topo.None && t.IsHost(p) {
			f.hosts[s]++
		}
	}
	g := routing.NewGraphOf(t, func(p topo.PortIdx) bool {
		return !t.Ports[p].Unhealthy && !t.Ports[t.Ports[p].Peer].Unhealthy
	})
	for s := range topo.SwitchIdx(count) {
		peers, _ := g.Edges(s)
		sorted := slices.Sorted(slices.Values(peers))
		for i, r := range sorted {
			if i > 0 && sorted[i-1] == r {
				continue
			}
			link := int32(len(f.ends))
			if r < s {
				link = f.link(r, s)
			} else {
				f.ends, f.wires = append(f.ends, [2]topo.SwitchIdx{s, r}), append(f.wires, 0)
			}
			f.next[s], f.links[s] = append(f.next[s], r), append(f.links[s], link)
		}
		for _, r := range sorted {
			if r > s {
				f.wires[f.link(s, r)]++
			}
		}
	}
	for s, part := range g.Components() {
		if part == int32(s) { // the first of a part
			f.parts++
		}
	}
	return f
}

// len is the number of switches.
func (f *fabric) len() int { return len(f.next) }

// link is the link between two switches, None if there is none.
func (f *fabric) link(a, z topo.SwitchIdx) int32 {
	if i, ok := slices.BinarySearch(f.next[a], z); ok {
		return f.links[a][i]
	}
	return topo.None
}

// cables is the number of cables between switches.
func (f *fabric) cables() (sum int) {
	for _, n := range f.wires {
		sum += int(n)
	}
	return sum
}

// degree is the greatest number of switches that one is cabled to.
func (f *fabric) degree() (most int) {
	for _, next := range f.next {
		most = max(most, len(next))
	}
	return most
}
