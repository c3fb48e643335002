package cabling

import (
	"maps"
	"slices"
	"strings"

	"ibsm/mad"
)

// identify finds the devices of the plan.
func (c *comparison) identify() {
	byGUID := make(map[mad.GUID]int32, len(c.present.Devices))
	for i, d := range c.present.Devices {
		byGUID[d.GUID] = int32(i)
	}
	var adapters map[mad.GUID]int32
	c.device, c.planned = filled(len(c.plan.Devices)), filled(len(c.present.Devices))
	for i, d := range c.plan.Devices {
		if d.GUID == 0 {
			continue
		}
		at, is := byGUID[d.GUID]
		if !is {
			if adapters == nil {
				adapters = make(map[mad.GUID]int32, len(c.present.Adapters))
				for _, p := range c.present.Adapters {
					adapters[p.GUID] = p.Device
				}
			}
			at, is = adapters[d.GUID]
		}
		if is {
			c.take(int32(i), at)
		}
	}
	for _, m := range c.byName(func(d Device) bool { return d.GUID == 0 }) {
		c.take(m[0], m[1])
	}
	c.strict = slices.Clone(c.device)
}

// take says that a device is that of the plan.
func (c *comparison) take(plan, at int32) {
	c.device[plan] = at
	if c.planned[at] == none {
		c.planned[at] = plan
	}
	c.known++
}

// byName are pairs of a device of the plan, of those that qualify, and one there is, that have a name which no other of
// either has.
func (c *comparison) byName(qualifies func(Device) bool) (pairs [][2]int32) {
	if !slices.ContainsFunc(c.plan.Devices, func(d Device) bool { return d.Name != "" && qualifies(d) }) {
		return nil
	}
	inPlan := make(map[string]int, len(c.plan.Devices))
	for _, d := range c.plan.Devices {
		inPlan[d.Name]++
	}
	there, twice := make(map[string]int32, len(c.present.Devices)), map[string]bool{}
	note := func(name string, i int) {
		_, is := there[name]
		there[name], twice[name] = int32(i), twice[name] || is
	}
	for i, d := range c.present.Devices {
		note(d.Name, i)
	}
	// Blanks at the ends of a NodeDescription are not seen when a plan is written by hand.
	exact := maps.Clone(there)
	for i, d := range c.present.Devices {
		bare := strings.TrimSpace(d.Name)
		if _, is := exact[bare]; !is && inPlan[d.Name] == 0 {
			note(bare, i)
		}
	}
	for i, d := range c.plan.Devices {
		at, is := there[d.Name]
		if d.Name == "" || !is || twice[d.Name] || inPlan[d.Name] > 1 || !qualifies(d) {
			continue
		}
		if c.device[i] == none && c.planned[at] == none && sameType(d, c.present.Devices[at]) {
			pairs = append(pairs, [2]int32{int32(i), at})
		}
	}
	return pairs
}

func sameType(a, b Device) bool { return a.Type == 0 || b.Type == 0 || a.Type == b.Type }

// ambiguous finds names of devices of the plan that have no GUID there, which several devices have.
func (c *comparison) ambiguous() {
	unknown := map[string]bool{}
	for i, d := range c.plan.Devices {
		if d.GUID == 0 && c.device[i] == none {
			unknown[d.Name] = true
		}
	}
	if len(unknown) == 0 {
		return
	}
	called := map[string][]int32{}
	for i, d := range c.present.Devices {
		if unknown[d.Name] {
			called[d.Name] = append(called[d.Name], int32(i))
		}
	}
	for _, d := range c.plan.Devices {
		all := called[d.Name]
		if len(all) < 2 {
			continue
		}
		delete(called, d.Name)
		f := Finding{Kind: SameName, More: max(len(all)-MaxCables, 0)}
		for _, at := range all[:len(all)-f.More] {
			f.Devices = append(f.Devices, c.presentPlace(at, 0))
		}
		c.findings = append(c.findings, f)
	}
}
