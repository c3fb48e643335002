package cabling

// replace finds devices that are in the place of those of the plan which are not there: they have their names, or most
// of their cables.
func (c *comparison) replace() {
	c.misplaced = make([]bool, len(c.present.Devices))
	for _, m := range c.byName(func(d Device) bool { return d.GUID != 0 }) {
		c.stands(m[0], m[1])
	}
	var queue []int32
	for i := range c.plan.Devices {
		if c.device[i] == none {
			queue = append(queue, int32(i))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		x := queue[0]
		if c.device[x] != none {
			continue
		}
		y := c.inPlaceOf(x, 1, func(y int32) bool {
			return c.planned[y] == none && sameType(c.plan.Devices[x], c.present.Devices[y])
		})
		if y == none {
			continue
		}
		c.stands(x, y)
		for _, i := range c.planCables[x] { // these may be known by it
			for _, e := range c.plan.Cables[i].Ends {
				if c.device[e.Device] == none {
					queue = append(queue, e.Device)
				}
			}
		}
	}
}

// stands says that a device is in the place of one of the plan, and not the same.
func (c *comparison) stands(plan, at int32) {
	c.device[plan], c.planned[at] = at, plan
	c.misplaced[at] = true
	c.findings = append(c.findings,
		Finding{Kind: Replaced, Devices: []Place{c.planPlace(plan, 0), c.presentPlace(at, 0)}})
}

// inPlaceOf is the device that has most cables of one of the plan: the same port at this end, and the same one at the
// far end. It is none where no device that qualifies has least of them, and more than half of those whose far ends are
// known.
func (c *comparison) inPlaceOf(x int32, least int, qualifies func(int32) bool) int32 {
	var best int32 = none
	votes, most, known := map[int32]int{}, 0, 0
	for _, i := range c.planCables[x] {
		cable := &c.plan.Cables[i]
		near, far := cable.Ends[0], cable.Ends[1]
		if near.Device != x {
			near, far = far, near
		}
		if c.device[far.Device] == none {
			continue
		}
		known++
		p := c.port(End{c.device[far.Device], far.Port}, nil)
		if p == none || c.presentTo[p] == none {
			continue
		}
		y := c.at[c.presentTo[p]]
		if y.Port != near.Port || !qualifies(y.Device) {
			continue
		}
		votes[y.Device]++
		if n := votes[y.Device]; n > most {
			best, most = y.Device, n
		}
	}
	if most < least || 2*most <= known {
		return none
	}
	return best
}

// exchange finds devices of the plan of which each has the place of another one: it has more than half of its cables,
// and two at least.
func (c *comparison) exchange() {
	has := map[int32]int32{} // what is in whose place, by device of the plan
	for x := range c.plan.Devices {
		x := int32(x)
		at := c.device[x]
		if at == none || c.misplaced[at] || c.planned[at] != x || !c.wrong(x, at) {
			continue
		}
		if y := c.inPlaceOf(x, 2, func(y int32) bool {
			return c.planned[y] != none && !c.misplaced[y]
		}); y != none && y != at {
			has[x] = y
		}
	}
	done := map[int32]bool{}
	for x := range c.plan.Devices {
		var circle []int32
		x := int32(x)
		for n := x; !done[n]; {
			done[n] = true
			y, is := has[n]
			if !is {
				break
			}
			circle = append(circle, n)
			if n = c.planned[y]; n == x {
				c.turn(circle, has)
			}
		}
	}
}

// wrong reports whether a device lacks some cable of the plan.
func (c *comparison) wrong(x, at int32) bool {
	for _, i := range c.planCables[x] {
		cable := &c.plan.Cables[i]
		a, b := c.port(cable.Ends[0], c.deviceOf), c.port(cable.Ends[1], c.deviceOf)
		if a == none || b == none || c.presentTo[a] != b {
			return true
		}
	}
	return false
}

// turn gives each device of a circle the place that it has.
func (c *comparison) turn(circle []int32, has map[int32]int32) {
	f := Finding{Kind: ExchangedDevices}
	for _, x := range circle {
		f.Devices = append(f.Devices, c.planPlace(x, 0))
	}
	for _, x := range circle {
		c.device[x] = has[x]
		c.misplaced[has[x]] = true
	}
	for _, x := range circle {
		c.planned[c.device[x]] = x
	}
	c.findings = append(c.findings, f)
}
