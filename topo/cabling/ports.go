package cabling

import "slices"

// index lists the cables of each device of the plan, and gives ports indexes.
func (c *comparison) index() {
	c.planCables = make([][]int32, len(c.plan.Devices))
	count := make([]int32, len(c.plan.Devices))
	for i := range c.plan.Cables {
		for _, e := range c.plan.Cables[i].Ends {
			count[e.Device]++
		}
	}
	all := make([]int32, 0, 2*len(c.plan.Cables))
	for d, n := range count {
		c.planCables[d] = all[len(all) : len(all) : len(all)+int(n)]
		all = all[:len(all)+int(n)]
	}
	for i := range c.plan.Cables {
		for _, e := range c.plan.Cables[i].Ends {
			c.planCables[e.Device] = append(c.planCables[e.Device], int32(i))
		}
	}
	c.layOut()
	c.presentTo, c.presentCable = c.peers(c.present.Cables, nil)
}

// layOut gives each port of a device an index. Each device of the plan that is not there gets one after those that are.
func (c *comparison) layOut() {
	devices := len(c.present.Devices) + len(c.plan.Devices)
	most := make([]uint8, devices)
	widen := func(device int32, port uint8) { most[device] = max(most[device], port) }
	for i := range c.present.Cables {
		for _, e := range c.present.Cables[i].Ends {
			widen(e.Device, e.Port)
		}
	}
	for i := range c.plan.Cables {
		for _, e := range c.plan.Cables[i].Ends {
			widen(c.own(e.Device), e.Port)
			if at := c.device[e.Device]; at != none {
				widen(at, e.Port)
			}
		}
	}
	c.first = make([]int32, devices+1)
	for d, n := range most {
		c.first[d+1] = c.first[d] + int32(n) + 1
	}
	c.at = make([]End, c.first[devices])
	c.inner = make([]bool, len(c.at))
	for _, e := range c.present.Inner {
		if p := c.port(e, nil); p != none {
			c.inner[p] = true
		}
	}
	for _, e := range c.plan.Inner {
		if p := c.port(e, c.deviceOf); p != none {
			c.inner[p] = true
		}
	}
	for d := range devices {
		for p := c.first[d]; p < c.first[d+1]; p++ {
			c.at[p] = End{int32(d), uint8(p - c.first[d])}
		}
	}
}

// own is the index of a device of the plan that is not there.
func (c *comparison) own(plan int32) int32 { return int32(len(c.present.Devices)) + plan }

// peers are the ports at the other ends of cables, whose devices have other indexes as of says, and the cable of each
// port. Cables from a port to itself are left out, and so are those of ports that have a cable.
func (c *comparison) peers(cables []Cable, of func(int32) int32) (to, cable []int32) {
	to, cable = filled(len(c.at)), filled(len(c.at))
	for i := range cables {
		a, b := c.port(cables[i].Ends[0], of), c.port(cables[i].Ends[1], of)
		if a == none || b == none || a == b || c.inner[a] || c.inner[b] || to[a] != none || to[b] != none {
			continue
		}
		to[a], to[b], cable[a], cable[b] = b, a, int32(i), int32(i)
	}
	return to, cable
}

func filled(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = none
	}
	return all
}

// loops are the ports with a cable to themselves, such as a loopback plug, ascending.
func (c *comparison) loops(cables []Cable, of func(int32) int32) (ports []int32) {
	for i := range cables {
		if e := cables[i].Ends; e[0] == e[1] {
			ports = append(ports, c.port(e[0], of))
		}
	}
	slices.Sort(ports)
	return ports
}

// port is the index of a port; none if its device has no such port.
func (c *comparison) port(e End, of func(int32) int32) int32 {
	d := e.Device
	if of != nil {
		d = of(d)
	}
	p := c.first[d] + int32(e.Port)
	if p >= c.first[d+1] {
		return none
	}
	return p
}

// deviceOf is the device of one of the plan.
func (c *comparison) deviceOf(plan int32) int32 {
	if at := c.device[plan]; at != none {
		return at
	}
	return c.own(plan)
}
