package torus

import (
	"fmt"
	"strings"

	"ibsm/routing"
	"ibsm/topo"
)

// Unroutable refuses a damaged torus: packets would not arrive, or wait for each other for ever.
type Unroutable struct{ Faults []Fault }

// refuse refuses a subnet in OpenSM's words, which have a number.
func refuse(number, words string) error {
	return &routing.Refused{Reason: words, OpenSM: number + ": " + words}
}

// Fault is what keeps a torus from being routed, in OpenSM's words.
type Fault struct {
	Number int // of OpenSM's message
	Text   string
}

func (e *Unroutable) Error() string {
	const most = 8
	var texts []string
	for _, f := range e.Faults[:min(len(e.Faults), most)] {
		texts = append(texts, f.Text)
	}
	if len(e.Faults) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(e.Faults)-most))
	}
	return strings.Join(texts, "; ")
}

// faults are what keeps a torus from being routed without credit loops. Links may be missing as long as
// no ring falls into parts, and switches as long as they are neighbors in z.
func (g *grid) faults() (faults []Fault) {
	rings := [3]struct {
		dim, outer, inner int
	}{{0, 2, 1}, {1, 0, 2}, {2, 1, 0}}
	for _, r := range rings {
		for a := range g.Radix[r.outer] {
			for b := range g.Radix[r.inner] {
				var at [3]int
				at[r.outer], at[r.inner] = a, b
				faults = append(faults, g.ringFaults(at, r.dim)...)
			}
		}
	}
	if missing := g.missing(); len(missing) > 0 && g.deadlocks(missing) {
		text := "missing switch topology ==> message deadlock! Switches are missing at"
		for _, at := range missing[:min(len(missing), 8)] {
			text += fmt.Sprintf(" %d,%d,%d", at[0], at[1], at[2])
		}
		faults = append(faults, Fault{0x4e38, text})
	}
	return faults
}

// ringFaults looks at a ring: the gaps that begin in it are as many as those that end, one at most.
func (g *grid) ringFaults(at [3]int, dim int) (faults []Fault) {
	begin, end := 0, 0
	for v := range g.Radix[dim] {
		at[dim] = v
		if c := g.cell(at); c != nil {
			if c.next[2*dim] == nil {
				begin++
			}
			if c.next[2*dim+1] == nil {
				end++
			}
		}
	}
	var places []string
	for other := range at {
		if other != dim {
			places = append(places, fmt.Sprintf("%c=%d", axes[other], at[other]))
		}
	}
	ring := fmt.Sprintf("in %c ring at %s", axes[dim], strings.Join(places, "  "))
	if begin != end {
		faults = append(faults,
			Fault{0x4e32 + 2*dim, fmt.Sprintf("strange failures %s b2g_cnt %d g2b_cnt %d", ring, begin, end)})
	}
	if begin > 1 {
		faults = append(faults, Fault{0x4e33 + 2*dim, "disjoint failures " + ring})
	}
	return faults
}

// missing are the places without a switch.
func (g *grid) missing() (missing [][3]int) {
	for at := range g.places {
		if g.cell(at) == nil {
			missing = append(missing, at)
		}
	}
	return missing
}

// deadlocks reports whether switches are missing that are not neighbors in z: turns around them can close
// a circle.
func (g *grid) deadlocks(missing [][3]int) bool {
	for _, at := range missing {
		if at[0] != missing[0][0] || at[1] != missing[0][1] {
			return true
		}
		if len(missing) > 1 && g.cell(by(at, 2, -1)) != nil && g.cell(by(at, 2, 1)) != nil {
			return true
		}
	}
	return false
}

// name is a switch with its place.
func (g *grid) name(t *topo.Topo, c *cell) string {
	n := &t.Nodes[t.Switches[c.sw]]
	return fmt.Sprintf("%v %q (%d,%d,%d)", n.GUID, n.Desc.String(), c.at[0], c.at[1], c.at[2])
}
