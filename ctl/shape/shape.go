// Package shape makes out of the nodes and links of a subnet, as the control protocol
// describes them, the data for a picture or a scheduler: which switches there are on
// which level above the hosts, what hangs on each, and what is connected without the
// levels above. It is pure: the same rows give the same shape.
package shape

import (
	"cmp"
	"slices"

	"ibsm/ctl"
)

// Fabric is the shape of a subnet. It must not be changed.
type Fabric struct {
	Switches []Switch    // by GUID
	Hosts    []*ctl.Node // adapters and routers, by GUID, without aggregation nodes
	Trunks   []Trunk     // by their ends
	Direct   []*ctl.Link // from adapter to adapter, without a switch between
	Links    int         // cables, but for absent ones and those to aggregation nodes
	// Levels is the number of levels of switches: leafs are on level 1, what they are
	// cabled to on level 2. It is 0 where levels say nothing, as in a torus; all
	// switches then are on level 1.
	Levels int
}

// Switch is a switch and what hangs on it.
type Switch struct {
	*ctl.Node
	Name   string // short, and no other switch's
	Level  int
	Hosts  []Attached // by name
	Trunks []int      // indexes into Fabric.Trunks
}

// Attached is a host's port on a switch.
type Attached struct {
	Host int // index into Fabric.Hosts
	Link *ctl.Link
}

// End is the host's end of the cable.
func (f *Fabric) End(a Attached) *ctl.End {
	if a.Link.From.Node == f.Hosts[a.Host].GUID {
		return &a.Link.From
	}
	return &a.Link.To
}

// Trunk is all cables between two switches.
type Trunk struct {
	A, B  int // indexes into Fabric.Switches, A the lower one
	Links []*ctl.Link
}

// Other is the switch at the other end.
func (t *Trunk) Other(s int) int { return t.A + t.B - s }

// New is the shape of the subnet that has these nodes and links, which it keeps. Links
// to nodes that are not there, and of a switch to itself, are left out.
func New(nodes []*ctl.Node, links []*ctl.Link) *Fabric {
	f := &Fabric{}
	switches, hosts := map[string]int{}, map[string]int{}
	for _, n := range nodes {
		switch {
		case n.Type == "switch":
			switches[n.GUID] = len(f.Switches)
			f.Switches = append(f.Switches, Switch{Node: n})
		case !n.Aggregation:
			hosts[n.GUID] = len(f.Hosts)
			f.Hosts = append(f.Hosts, n)
		}
	}
	trunks := map[[2]int]int{}
	for _, l := range links {
		a, isSwitch := switches[l.From.Node]
		b, both := switches[l.To.Node]
		if isSwitch && both && a != b {
			f.addTrunk(trunks, min(a, b), max(a, b), l)
			continue
		}
		sw, guid := b, l.From.Node
		if isSwitch {
			sw, guid = a, l.To.Node
		}
		switch h, ok := hosts[guid]; {
		case ok && isSwitch != both:
			f.Switches[sw].Hosts = append(f.Switches[sw].Hosts, Attached{h, l})
			f.count(l)
		case ok && !isSwitch && l.From.Node != l.To.Node:
			if _, known := hosts[l.To.Node]; known {
				f.Direct = append(f.Direct, l)
				f.count(l)
			}
		}
	}
	f.sort()
	f.setNames()
	f.setLevels()
	return f
}

func (f *Fabric) addTrunk(at map[[2]int]int, a, b int, l *ctl.Link) {
	i, ok := at[[2]int{a, b}]
	if !ok {
		i = len(f.Trunks)
		at[[2]int{a, b}] = i
		f.Trunks = append(f.Trunks, Trunk{A: a, B: b})
	}
	f.Trunks[i].Links = append(f.Trunks[i].Links, l)
	f.count(l)
}

// count counts a link, unless it is absent.
func (f *Fabric) count(l *ctl.Link) {
	if l.State != ctl.Absent {
		f.Links++
	}
}

// Present is the number of links of a list that are not absent.
func Present(links []*ctl.Link) (n int) {
	for _, l := range links {
		if l.State != ctl.Absent {
			n++
		}
	}
	return n
}

// sort brings everything into an order that does not depend on that of the rows.
func (f *Fabric) sort() {
	slices.SortFunc(f.Trunks, func(x, y Trunk) int { return cmp.Or(x.A-y.A, x.B-y.B) })
	for i := range f.Trunks {
		t := &f.Trunks[i]
		f.Switches[t.A].Trunks = append(f.Switches[t.A].Trunks, i)
		f.Switches[t.B].Trunks = append(f.Switches[t.B].Trunks, i)
	}
	for i := range f.Switches {
		slices.SortStableFunc(f.Switches[i].Hosts, func(x, y Attached) int {
			return cmp.Or(Natural(f.Hosts[x.Host].Desc, f.Hosts[y.Host].Desc),
				cmp.Compare(f.Hosts[x.Host].GUID, f.Hosts[y.Host].GUID))
		})
	}
}

// Components numbers the parts that the switches of some levels fall into when all others
// are taken away: by switch, -1 for those of other levels.
func (f *Fabric) Components(lowest, highest int) []int {
	part := make([]int, len(f.Switches))
	for s := range part {
		part[s] = -1
	}
	within := func(s int) bool { return f.Switches[s].Level >= lowest && f.Switches[s].Level <= highest }
	for first := range part {
		if part[first] >= 0 || !within(first) {
			continue
		}
		part[first] = first
		for queue := []int{first}; len(queue) > 0; {
			s := queue[0]
			queue = queue[1:]
			for _, i := range f.Switches[s].Trunks {
				if o := f.Trunks[i].Other(s); part[o] < 0 && within(o) {
					part[o] = first
					queue = append(queue, o)
				}
			}
		}
	}
	return part
}
