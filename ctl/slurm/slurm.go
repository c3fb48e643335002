// Package slurm describes the topology of a subnet to the scheduler Slurm, in the formats of its
// files topology.conf and topology.yaml. It is pure: the same shape gives the same bytes.
//
// What Slurm calls a switch is a set of hosts that are near each other. On the lowest
// level it stands for a leaf, or for the leafs that the same hosts have their several
// adapters on; above it, for what the switches up to one level connect. Spines beside
// each other make no difference between hosts, so they are not there one by one.
package slurm

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/ctl"
	"ibsm/ctl/shape"
)

// Topology is a subnet as Slurm sees it.
type Topology struct {
	Leafs  []Switch // with Nodes
	Uppers []Switch // with Children, each after those that it names
	// LeftOut says of adapters why they stand for no host.
	LeftOut []string
}

// Switch is a switch of Slurm's.
type Switch struct {
	Name     string
	Leafs    []string // the switches that it stands for, where they are several
	Nodes    []string // hosts, by name
	Children []string // switches
}

// Of is the topology of a subnet. A host's name is the first word of its adapters'
// NodeDescriptions. It has the hosts that have one of the chosen ends of cables, and is on the
// leafs where these lead; nil chooses all.
func Of(f *shape.Fabric, chosen func(*ctl.End) bool) *Topology {
	b := &builder{fabric: f, chosen: chosen, taken: map[string]bool{}}
	hosts, leftOut := b.hosts()
	b.top.LeftOut = leftOut
	b.addLeafs(hosts)
	b.addUppers()
	return &b.top
}

// builder makes a Topology.
type builder struct {
	fabric *shape.Fabric
	chosen func(*ctl.End) bool
	top    Topology
	taken  map[string]bool // names of switches
	on     [][]int         // by Leafs: the switches that it stands for
}

// hosts are the leafs that each host's adapters are on, by its name.
func (b *builder) hosts() (hosts map[string][]int, leftOut []string) {
	f := b.fabric
	sharing := map[string]int{} // adapters that have a NodeDescription
	for _, h := range f.Hosts {
		sharing[h.Desc]++
	}
	hosts = map[string][]int{}
	listed := map[string]bool{}
	for s := range f.Switches {
		for _, a := range f.Switches[s].Hosts {
			if b.chosen != nil && !b.chosen(f.End(a)) {
				continue
			}
			desc := f.Hosts[a.Host].Desc
			name := ctl.HostName(desc)
			why := ""
			switch {
			case strings.Contains(desc, "Mellanox Technologies"):
				why = "its maker's name, no host's"
			case sharing[desc] > 1:
				why = "the name of several"
			case !isHostName(name):
				why = "no name of a host"
			case !slices.Contains(hosts[name], s):
				hosts[name] = append(hosts[name], s)
			}
			if why != "" && !listed[desc] {
				listed[desc] = true
				leftOut = append(leftOut, fmt.Sprintf("%s %q: %s", adapters(sharing[desc]), desc, why))
			}
		}
	}
	slices.Sort(leftOut)
	return hosts, leftOut
}

func adapters(n int) string {
	if n == 1 {
		return "1 adapter"
	}
	return fmt.Sprintf("%d adapters", n)
}

// isHostName reports whether Slurm takes a name, and takes it for one.
func isHostName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune("-_.", rune(c)) {
			return false
		}
	}
	return s != "" && s != "localhost"
}

// maxName is the longest name of a switch that Slurm takes.
const maxName = 64

// name is a name that Slurm takes and no switch has yet.
func (b *builder) name(wanted string) string {
	clean := strings.Map(func(r rune) rune {
		if r > '~' || !isHostName(string(r)) {
			return '_'
		}
		return r
	}, wanted)
	clean = clean[:min(len(clean), maxName-len("-99999"))]
	unique := clean
	for n := 2; b.taken[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", clean, n)
	}
	b.taken[unique] = true
	return unique
}
