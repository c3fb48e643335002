package cabling

import (
	"cmp"
	"fmt"
	"slices"

	"ibsm/plural"
)

// Comparison is how far cables are as planned.
type Comparison struct {
	Planned, Present int // cables
	Same             int // of the plan that are there, at their rate or another one
	Devices          int // of the plan
	Known            int // of them, those that are there, by GUID or, where the plan has only that, by name
	Findings         []Finding
	More             int // findings left out
	// Unplanned are the cables, as indexes, that are there and not in the plan, ascending. A device that replaces one
	// of the plan is not in the plan, and so its cables are not.
	Unplanned []int32

	of int // devices of which Known could be at most
}

// OtherSubnet reports whether the plan is one of another subnet: most devices of one of the two are unknown to the
// other. There are no Findings then.
func (c *Comparison) OtherSubnet() bool { return 2*c.Known < c.of }

// Applies reports whether the plan matches well enough to be acted on: at least half of the devices, and half of the
// cables, of the plan or of what is there, whichever is less.
func (c *Comparison) Applies() bool {
	return c.Known > 0 && !c.OtherSubnet() && 2*c.Same >= min(c.Planned, c.Present)
}

// String is how far, as a sentence.
func (c *Comparison) String() string {
	if c.OtherSubnet() {
		return fmt.Sprintf("the plan describes another subnet: %d of its %d devices are known", c.Known, c.Devices)
	}
	text := fmt.Sprintf("%d of %s of the plan are there", c.Same, plural.Of(c.Planned, "cable"))
	if n := c.More + len(c.Findings); n > 0 {
		text += ", " + plural.Of(n, "difference")
	}
	return text
}

// Limit keeps so many findings at most.
func (c *Comparison) Limit(most int) {
	if more := len(c.Findings) - most; more > 0 {
		c.Findings, c.More = c.Findings[:most], c.More+more
	}
}

// Compare compares what is there with a plan, in time proportional to their sizes. The result depends on the two alone.
// Devices are the same if they have the same GUID; where the plan has no GUID, if they have the same name and no other
// device has.
func Compare(plan, present *Cabling) *Comparison {
	c := &comparison{plan: plan, present: present}
	c.identify()
	out := &Comparison{
		Devices: len(plan.Devices), Known: c.known, of: min(len(plan.Devices), len(present.Devices)),
	}
	c.index()
	if !out.OtherSubnet() {
		c.ambiguous()
		c.replace()
		c.exchange()
	}
	c.join()
	out.Planned, out.Present = c.count(c.plan.Cables, c.deviceOf), c.count(c.present.Cables, nil)
	out.Same = c.same()
	out.Unplanned = c.unplanned()
	if !out.OtherSubnet() {
		c.rates()
		c.differences()
		out.Findings = c.sorted()
	}
	return out
}

// comparison is the state of one. A device has the index of what is there, and those that are only in the plan come
// after these.
type comparison struct {
	plan, present *Cabling
	known         int

	device    []int32 // of each of the plan
	planned   []int32 // of each there is: that of the plan with this device, none if it is not in the plan
	strict    []int32 // device, before others took the places of those in the plan
	misplaced []bool  // of devices there are: one is in another one's place

	first        []int32   // of each device: of its ports
	planTo       []int32   // of each port: that at the other end of its cable in the plan, or none
	presentTo    []int32   // likewise of what is there
	planCable    []int32   // of each port: its cable in the plan
	presentCable []int32   // likewise
	at           []End     // of each port
	planCables   [][]int32 // of each device of the plan: its cables
	inner        []bool    // of each port: it has no connector

	done     []bool // ports whose differences are in findings
	findings []Finding
	wholes   map[int32]int     // devices that are missing or added, and their findings
	places   map[[2]int32]bool // devices in the places of others, in findings
	names    map[string]int    // how many devices have each, in the plan or there, whichever are more
}

const none = -1

// join lays the plan over what is there.
func (c *comparison) join() {
	if slices.Contains(c.misplaced, true) { // they may have more ports in the plan
		c.layOut()
		c.presentTo, c.presentCable = c.peers(c.present.Cables, nil)
	}
	c.planTo, c.planCable = c.peers(c.plan.Cables, c.deviceOf)
}

// count counts cables that are compared.
func (c *comparison) count(cables []Cable, of func(int32) int32) (n int) {
	for i := range cables {
		a, b := c.port(cables[i].Ends[0], of), c.port(cables[i].Ends[1], of)
		if a == none || b == none || !c.inner[a] && !c.inner[b] {
			n++
		}
	}
	return n
}

// same counts cables of the plan that are there, with one end at least at a device that is in its own place.
func (c *comparison) same() (n int) {
	for p, to := range c.planTo {
		if int32(p) < to && c.presentTo[p] == to && (c.inPlace(c.at[p].Device) || c.inPlace(c.at[to].Device)) {
			n++
		}
	}
	return n
}

// inPlace reports whether a device that is there is in its own place.
func (c *comparison) inPlace(device int32) bool {
	return device < int32(len(c.planned)) && c.planned[device] != none && (c.misplaced == nil || !c.misplaced[device])
}

// unplanned are the cables that are not in the plan, without regard to places that others have taken.
func (c *comparison) unplanned() (cables []int32) {
	to, loops := c.planTo, c.loops(c.plan.Cables, c.deviceOf)
	if slices.Contains(c.misplaced, true) {
		to, _ = c.peers(c.plan.Cables, func(plan int32) int32 {
			if at := c.strict[plan]; at != none {
				return at
			}
			return c.own(plan)
		})
	}
	for i := range c.present.Cables {
		a, b := c.port(c.present.Cables[i].Ends[0], nil), c.port(c.present.Cables[i].Ends[1], nil)
		planned := a != b && to[a] == b || c.inner[a] || c.inner[b]
		if a == b {
			_, planned = slices.BinarySearch(loops, a)
		}
		if !planned {
			cables = append(cables, int32(i))
		}
	}
	return cables
}

// rates finds links that are slower or narrower than planned.
func (c *comparison) rates() {
	for p, to := range c.planTo {
		if int32(p) > to || c.presentTo[p] != to {
			continue
		}
		want, have := &c.plan.Cables[c.planCable[p]], &c.present.Cables[c.presentCable[p]]
		kind := kinds
		switch {
		case want.Width.Lanes() > have.Width.Lanes() && have.Width.Lanes() > 0:
			kind = Narrower
		case want.Speed > have.Speed && have.Speed > 0:
			kind = Slower
		default:
			continue
		}
		planned := c.link(int32(p), to, false)
		planned.Width, planned.Speed = want.Width, want.Speed
		c.findings = append(c.findings,
			Finding{Kind: kind, Planned: []Link{planned}, Present: []Link{c.link(int32(p), to, true)}})
	}
}

// sorted are the findings: of devices first, then by kind and place.
func (c *comparison) sorted() []Finding {
	rank := func(f *Finding) int {
		switch f.Kind {
		case Replaced, ExchangedDevices, SameName, MissingDevice, AddedDevice:
			return 0
		case Missing, Added:
			return 2
		case Slower, Narrower:
			return 3
		}
		return 1
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(rank(&a)-rank(&b), int(a.Kind)-int(b.Kind))
	})
	return c.findings
}
