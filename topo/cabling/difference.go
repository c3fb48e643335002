package cabling

import (
	"slices"

	"ibsm/mad"
)

// Where a port has another cable than planned, its planned cable and its present one lead to two ports, of which each
// may have another one, and so on: ports in a line or in a circle, with a cable of the plan and a present one in turn.
// All of one line have one cause. Every second port has the ends of cables that have been moved along the line.

// differences finds the lines, and what each means.
func (c *comparison) differences() {
	c.done, c.wholes, c.places = make([]bool, len(c.at)), map[int32]int{}, map[[2]int32]bool{}
	for p := range c.at {
		if c.done[p] || c.planTo[p] == c.presentTo[p] {
			continue
		}
		l := c.line(int32(p))
		for _, p := range l.ports {
			c.done[p] = true
		}
		c.explain(l)
	}
	plan, present := c.loops(c.plan.Cables, c.deviceOf), c.loops(c.present.Cables, nil)
	for _, p := range plan {
		if _, is := slices.BinarySearch(present, p); p != none && !is {
			c.explainOne(p, p, true)
		}
	}
	for _, p := range present {
		if _, is := slices.BinarySearch(plan, p); !is {
			c.explainOne(p, p, false)
		}
	}
}

// line is ports of which each has a cable to the next one.
type line struct {
	ports  []int32
	plan   bool // the first two have one in the plan
	circle bool // the last and the first have a present one, and plan is set
}

// planned reports whether a port and the next one have a cable in the plan, and otherwise a present one.
func (l *line) planned(i int) bool { return (i%2 == 0) == l.plan }

// reversed is the line from its other end.
func (l *line) reversed() *line {
	r := &line{ports: slices.Clone(l.ports), plan: l.planned(len(l.ports) - 2)}
	slices.Reverse(r.ports)
	return r
}

// next is the port at the other end of a cable.
func (c *comparison) next(p int32, plan bool) int32 {
	if plan {
		return c.planTo[p]
	}
	return c.presentTo[p]
}

func (c *comparison) line(p int32) *line {
	at, plan := p, true
	for next := c.next(at, plan); next != none; next = c.next(at, plan) {
		if at, plan = next, !plan; at == p && plan {
			return c.from(p, true, true)
		}
	}
	return c.from(at, !plan, false) // from its end
}

// from lists the ports of a line.
func (c *comparison) from(p int32, plan, circle bool) *line {
	l := &line{ports: []int32{p}, plan: plan, circle: circle}
	for at := c.next(p, plan); at != none && at != p; at = c.next(at, plan) {
		l.ports = append(l.ports, at)
		plan = !plan
	}
	return l
}

func (c *comparison) add(f Finding) { c.findings = append(c.findings, f) }

// explain adds the findings of a line.
func (c *comparison) explain(l *line) {
	switch n := len(l.ports); {
	case l.circle:
		c.explainCircle(l)
	case n == 2:
		c.explainOne(l.ports[0], l.ports[1], l.plan)
	case n%2 == 1: // as many cables in the plan as present ones
		if !l.plan {
			l = l.reversed()
		}
		c.explainMoves(l)
	default:
		c.explainUneven(l)
	}
}

// explainOne is of a cable that is in the plan or present only, with all others of its device if that is.
func (c *comparison) explainOne(a, b int32, plan bool) {
	a, b = min(a, b), max(a, b)
	kind, whole := Added, AddedDevice
	if plan {
		kind, whole = Missing, MissingDevice
	}
	for _, p := range []int32{a, b} {
		device := c.at[p].Device
		if c.alien(device) {
			i, is := c.wholes[device]
			if !is {
				i = len(c.findings)
				c.wholes[device] = i
				place := c.place(p)
				place.Port = 0
				c.add(Finding{Kind: whole, Devices: []Place{place}})
			}
			c.list(&c.findings[i], a, b, plan)
			return
		}
	}
	f := Finding{Kind: kind}
	c.list(&f, a, b, plan)
	c.add(f)
}

// alien reports whether a device is only in the plan, or not in the plan.
func (c *comparison) alien(device int32) bool {
	return device >= int32(len(c.planned)) || c.planned[device] == none
}

// list adds a cable to a finding.
func (c *comparison) list(f *Finding, a, b int32, plan bool) {
	to := &f.Present
	if plan {
		to = &f.Planned
	}
	if len(*to) < MaxCables {
		*to = append(*to, c.link(a, b, !plan))
	} else {
		f.More++
	}
}

// all adds the cables of a line to a finding.
func (c *comparison) all(f *Finding, l *line) {
	for i := range len(l.ports) - 1 {
		c.list(f, l.ports[i], l.ports[i+1], l.planned(i))
	}
	if l.circle {
		c.list(f, l.ports[0], l.ports[len(l.ports)-1], false)
	}
}

// every lists every second port from one on.
func (l *line) every(from int) (ports []int32) {
	for i := from; i < len(l.ports); i += 2 {
		ports = append(ports, l.ports[i])
	}
	return ports
}

// finding is one with ports and the cables of a line.
func (c *comparison) finding(kind Kind, l *line, ports []int32) Finding {
	f := Finding{Kind: kind}
	for _, p := range ports {
		f.Ports = append(f.Ports, c.place(p))
	}
	c.all(&f, l)
	return f
}

// explainCircle is of cables that are in the ports of each other.
func (c *comparison) explainCircle(l *line) {
	ports := l.every(0)
	if other := l.every(1); c.likely(other) > c.likely(ports) {
		ports = other
	}
	switch {
	case len(ports) == 2:
		slices.Sort(ports)
		c.add(c.finding(Exchanged, l, ports))
	case c.onOne(ports):
		c.add(c.finding(Exchanged, l, ports))
	default:
		c.add(c.finding(Crossed, l, nil))
	}
}

// likely is how likely it is that cables were exchanged at these ends: those on one device are close to each other, and
// those of switches are plugged in last.
func (c *comparison) likely(ports []int32) (n int) {
	if c.onOne(ports) {
		n += 2
	}
	if !slices.ContainsFunc(ports, func(p int32) bool { return c.typeOf(p) != mad.Switch }) {
		n++
	}
	return n
}

func (c *comparison) typeOf(p int32) mad.NodeType {
	device := c.at[p].Device
	if there := int32(len(c.present.Devices)); device >= there {
		return c.plan.Devices[device-there].Type
	}
	return c.present.Devices[device].Type
}

// onOne reports whether ports are on one device.
func (c *comparison) onOne(ports []int32) bool {
	return !slices.ContainsFunc(ports, func(p int32) bool { return c.at[p].Device != c.at[ports[0]].Device })
}

// shifted reports whether ports, two at least and one more, are one after the other on a device.
func (c *comparison) shifted(ports []int32) bool {
	if len(ports) < 3 || !c.onOne(ports) {
		return false
	}
	step := ports[1] - ports[0]
	for i := 1; i < len(ports); i++ {
		if ports[i]-ports[i-1] != step {
			return false
		}
	}
	return step == 1 || step == -1
}

// explainMoves is of a line that begins in the plan and ends with a present cable: every cable has moved on, the last
// one to a port that is free in the plan.
func (c *comparison) explainMoves(l *line) {
	ports := l.every(0)
	switch {
	case c.shifted(ports):
		c.add(c.finding(Shifted, l, ports))
	case len(ports) > 2:
		c.add(c.finding(Crossed, l, nil))
	case c.absent(ports[0]) && c.alien(c.at[ports[1]].Device):
		c.replaced(c.at[ports[0]].Device, c.at[ports[1]].Device)
	default:
		c.add(c.finding(Moved, l, ports))
	}
}

// absent reports whether the device of a port is only in the plan.
func (c *comparison) absent(p int32) bool { return c.at[p].Device >= int32(len(c.present.Devices)) }

// replaced is of a device that has some of the cables of one that is only in the plan.
func (c *comparison) replaced(plan, present int32) {
	if pair := [2]int32{plan, present}; !c.places[pair] {
		c.places[pair] = true
		c.add(Finding{
			Kind: Replaced, Devices: []Place{c.planPlace(plan-int32(len(c.present.Devices)), 0),
				c.presentPlace(present, 0)},
		})
	}
}

// explainUneven is of a line with one cable more in the plan, or one more that is present, than of the others: one of
// the two at its ends is a cause of its own. That is the one which leads to a device that is missing or added, or makes
// the rest a shift, or else the last.
func (c *comparison) explainUneven(l *line) {
	n := len(l.ports)
	for _, l := range []*line{l, l.reversed()} {
		rest := c.without(l)
		if c.shifted(rest.every(0)) || n == 4 && c.alien(c.at[l.ports[n-1]].Device) {
			c.explainMoves(rest)
			c.explainOne(l.ports[n-2], l.ports[n-1], l.plan)
			return
		}
	}
	if n > 4 {
		c.add(c.finding(Crossed, l, nil))
		return
	}
	c.explainMoves(c.without(l))
	c.explainOne(l.ports[n-2], l.ports[n-1], l.plan)
}

// without is a line without its last port, in the order of explainMoves.
func (c *comparison) without(l *line) *line {
	rest := &line{ports: l.ports[:len(l.ports)-1], plan: l.plan}
	if !rest.plan {
		return rest.reversed()
	}
	return rest
}
