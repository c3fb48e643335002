package cabling

import (
	"cmp"
	"fmt"
	"slices"

	"ibsm/mad"
)

// Comparison is how far cables are as planned.
type Comparison struct {
	Planned, Present int // cables
	Same             int // of the plan that are there, at their rate or another one
	Devices          int // of the plan
	Known            int // of them, those that are there, by GUID or, where the plan has only that, by name
	Findings         []Finding
	More             int // findings left out
	// Unplanned are the cables, as indexes, that are there and not in the plan, ascending. A device that replaces one of the plan is not
	// in the plan, and so its cables are not.
	Unplanned []int32

	of int // devices of which Known could be at most
}

// OtherSubnet reports whether the plan is one of another subnet: most devices of one of the two are unknown to the other. There are no
// Findings then.
func (c *Comparison) OtherSubnet() bool { return 2*c.Known < c.of }

// Applies reports whether the plan matches well enough to be acted on: at least half of the devices, and half of the cables, of the plan
// or of what is there, whichever is less.
func (c *Comparison) Applies() bool {
	return c.Known > 0 && !c.OtherSubnet() && 2*c.Same >= min(c.Planned, c.Present)
}

// String is how far, as a sentence.
func (c *Comparison) String() string {
	if c.OtherSubnet() {
		return fmt.Sprintf("the plan is that of another subnet: %d of its %d devices are known", c.Known, c.Devices)
	}
	text := fmt.Sprintf("%d of %s of the plan are there", c.Same, count(c.Planned, "cable"))
	if n := c.More + len(c.Findings); n > 0 {
		text += ", " + count(n, "difference")
	}
	return text
}

// Limit keeps so many findings at most.
func (c *Comparison) Limit(most int) {
	if more := len(c.Findings) - most; more > 0 {
		c.Findings, c.More = c.Findings[:most], c.More+more
	}
}

// Compare compares what is there with a plan, in time proportional to their sizes. The result depends on the two alone. Devices are the
// same if they have the same GUID; where the plan has no GUID, if they have the same name and no other device has.
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

// comparison is the state of one. A device has the index of what is there, and those that are only in the plan come after these.
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

func filled(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = none
	}
	return all
}

// take says that a device is that of the plan.
func (c *comparison) take(plan, at int32) {
	c.device[plan] = at
	if c.planned[at] == none {
		c.planned[at] = plan
	}
	c.known++
}

// byName are pairs of a device of the plan, of those that qualify, and one there is, that have a name which no other of either has.
func (c *comparison) byName(qualifies func(Device) bool) (pairs [][2]int32) {
	if !slices.ContainsFunc(c.plan.Devices, func(d Device) bool { return d.Name != "" && qualifies(d) }) {
		return nil
	}
	there, twice := make(map[string]int32, len(c.present.Devices)), map[string]bool{}
	for i, d := range c.present.Devices {
		if _, is := there[d.Name]; is {
			twice[d.Name] = true
		}
		there[d.Name] = int32(i)
	}
	inPlan := make(map[string]int, len(c.plan.Devices))
	for _, d := range c.plan.Devices {
		inPlan[d.Name]++
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

// peers are the ports at the other ends of cables, whose devices have other indexes as of says, and the cable of each port. Cables from a
// port to itself are left out, and so are those of ports that have a cable.
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

// replace finds devices that are in the place of those of the plan which are not there: they have their names, or most of their cables.
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
		y := c.inPlaceOf(x, 1, func(y int32) bool { return c.planned[y] == none && sameType(c.plan.Devices[x], c.present.Devices[y]) })
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
	c.findings = append(c.findings, Finding{Kind: Replaced, Devices: []Place{c.planPlace(plan, 0), c.presentPlace(at, 0)}})
}

// inPlaceOf is the device that has most cables of one of the plan: the same port at this end, and the same one at the far end. It is none
// where no device that qualifies has least of them, and more than half of those whose far ends are known.
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

// exchange finds devices of the plan of which each has the place of another one: it has more than half of its cables, and two at least.
func (c *comparison) exchange() {
	has := map[int32]int32{} // what is in whose place, by device of the plan
	for x := range c.plan.Devices {
		x := int32(x)
		at := c.device[x]
		if at == none || c.misplaced[at] || c.planned[at] != x || !c.wrong(x, at) {
			continue
		}
		if y := c.inPlaceOf(x, 2, func(y int32) bool { return c.planned[y] != none && !c.misplaced[y] }); y != none && y != at {
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

// same counts cables of the plan that are there, with one end at least at a device that is known for certain.
func (c *comparison) same() (n int) {
	for p, to := range c.planTo {
		if int32(p) < to && c.presentTo[p] == to && (c.certain(c.at[p].Device) || c.certain(c.at[to].Device)) {
			n++
		}
	}
	return n
}

// certain reports whether a device there is is in its own place.
func (c *comparison) certain(device int32) bool {
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
		c.findings = append(c.findings, Finding{Kind: kind, Planned: []Link{planned}, Present: []Link{c.link(int32(p), to, true)}})
	}
}

// link is a cable between two ports.
func (c *comparison) link(a, b int32, present bool) Link {
	l := Link{Ends: [2]Place{c.place(a), c.place(b)}}
	if cable := c.planCable[a]; !present && cable != none {
		l.Width, l.Speed = c.plan.Cables[cable].Width, c.plan.Cables[cable].Speed
	}
	if cable := c.presentCable[a]; present && cable != none {
		l.Width, l.Speed = c.present.Cables[cable].Width, c.present.Cables[cable].Speed
	}
	return l
}

// place is a port.
func (c *comparison) place(p int32) Place {
	at := c.at[p]
	if at.Device < int32(len(c.present.Devices)) {
		return c.presentPlace(at.Device, at.Port)
	}
	return c.planPlace(at.Device-int32(len(c.present.Devices)), at.Port)
}

func (c *comparison) presentPlace(device int32, port uint8) Place {
	return c.named(&c.present.Devices[device], port)
}

func (c *comparison) planPlace(device int32, port uint8) Place {
	d := c.plan.Devices[device]
	if at := c.strict[device]; at != none && d.Name == "" {
		d.Name, d.Type = c.present.Devices[at].Name, c.present.Devices[at].Type
	}
	return c.named(&d, port)
}

func (c *comparison) named(d *Device, port uint8) Place {
	if c.names == nil {
		c.names = namesOf(c.plan.Devices, c.present.Devices)
	}
	return Place{GUID: d.GUID, Name: d.Name, Type: d.Type, Alone: c.names[d.Name] <= 1, Port: port}
}

// namesOf is how many devices have each name, in the list where it is most frequent.
func namesOf(lists ...[]Device) map[string]int {
	most := map[string]int{}
	for _, devices := range lists {
		count := make(map[string]int, len(devices))
		for i := range devices {
			name := devices[i].Name
			count[name]++
			most[name] = max(most[name], count[name])
		}
	}
	return most
}

// Links are cables, by index, as findings have them.
func (c *Cabling) Links(cables []int32) (links []Link) {
	names := namesOf(c.Devices)
	for _, i := range cables {
		l := Link{Width: c.Cables[i].Width, Speed: c.Cables[i].Speed}
		for j, e := range c.Cables[i].Ends {
			d := &c.Devices[e.Device]
			l.Ends[j] = Place{GUID: d.GUID, Name: d.Name, Type: d.Type, Alone: names[d.Name] <= 1, Port: e.Port}
		}
		links = append(links, l)
	}
	return links
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
	slices.SortStableFunc(c.findings, func(a, b Finding) int { return cmp.Or(rank(&a)-rank(&b), int(a.Kind)-int(b.Kind)) })
	return c.findings
}
