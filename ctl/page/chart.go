package page

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/shape"
)

// States of links, of squares for hosts, and of switches, a letter each, as the map has them.
const (
	active   = 'a'
	slow     = 's' // Active, with less than what most links of its kind have
	avoided  = 'v' // Active, and routes avoid it
	starting = 'i' // Initialize or Armed
	down     = 'd' // Down, or gone since the manager has started
	noAnswer = 'n' // the node does not answer
	gone     = 'x' // the node has gone since the manager has started
	unknown  = 'u'
)

// Map is the map of the subnet.
type Map struct {
	Layout     string      `json:"layout"` // names what stands where: equal layouts have equal indexes
	Version    string      `json:"version"`
	Generation uint64      `json:"generation"`
	Width      float64     `json:"width"`
	Height     float64     `json:"height"`
	Switches   []MapSwitch `json:"switches"`
	Blocks     []Block     `json:"blocks"`
	Trunks     []MapTrunk  `json:"trunks"`
	// Alone are adapters that are on no switch.
	Alone []string `json:"alone,omitempty"`
}

// MapSwitch is a switch with the squares for its hosts.
type MapSwitch struct {
	GUID  string  `json:"guid"`
	Name  string  `json:"name"`
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Block int     `json:"block"` // index into Blocks; -1 for none
	Base  int     `json:"base"`  // the port before the first square
	Ports []int   `json:"ports"` // that hosts are at, ascending
	// States is the state of the switch, and then those of the links at Ports, a letter each.
	States string `json:"states"`
}

// MapTrunk are the cables between two switches.
type MapTrunk struct {
	A      int    `json:"a"` // indexes into Switches
	B      int    `json:"b"`
	Ports  []int  `json:"ports"`  // of A and B by turns, a pair for each cable
	States string `json:"states"` // a letter for each cable
}

// chart is the map of a subnet with what it was made of.
type chart struct {
	Map
	cables  [][]cable            // by trunk, in the order of MapTrunk.Ports
	squares [][]cable            // by switch, in the order of MapSwitch.Ports
	direct  []cable              // between adapters
	absent  map[string]time.Time // nodes that have gone, by GUID
}

// cable is a link in short: there are many, and they are kept while pages are open.
type cable struct {
	from, to port
	gone     bool // since the manager has started
}

// port is a port of a node, 0 for the node.
type port struct {
	node *device
	num  uint8
}

// device is a node.
type device struct{ guid, desc, kind string }

// at is the port as a key.
func (p port) at() end { return end{p.node.guid, p.num} }

// end is the port as in a ctl.Link.
func (p port) end() ctl.End {
	return ctl.End{Node: p.node.guid, Desc: p.node.desc, Type: p.node.kind, Port: p.num}
}

// shorten are links as cables. devices are the nodes by GUID.
func shorten(links []*ctl.Link, devices map[string]*device) []cable {
	all := make([]cable, len(links))
	of := func(e *ctl.End) port {
		d := devices[e.Node]
		if d == nil {
			d = &device{e.Node, e.Desc, e.Type}
			devices[e.Node] = d
		}
		return port{d, e.Port}
	}
	for i, l := range links {
		all[i] = cable{of(&l.From), of(&l.To), l.State == ctl.Absent}
	}
	return all
}

// newChart makes a map of nodes and links, with those that have gone. before may be one of the same subnet earlier, of
// which places are taken where the layout is the same, or nil.
func newChart(nodes []*ctl.Node, links []*ctl.Link, before *chart) *chart {
	f := shape.New(nodes, links)
	devices := make(map[string]*device, len(nodes))
	c := &chart{Map: Map{Switches: []MapSwitch{}}, direct: shorten(f.Direct, devices),
		absent: map[string]time.Time{}}
	for _, n := range nodes {
		if n.Absent != nil {
			c.absent[n.GUID] = *n.Absent
		}
	}
	usual := usualSpeeds(f)
	layout := fnv.New64a()
	note := func(texts ...string) {
		for _, t := range texts {
			layout.Write([]byte(t))
			layout.Write([]byte{0})
		}
	}
	for s := range f.Switches {
		sw := &f.Switches[s]
		hosts := slices.Clone(sw.Hosts)
		slices.SortStableFunc(hosts, func(a, b shape.Attached) int {
			return cmp.Compare(switchPort(f, s, a), switchPort(f, s, b))
		})
		m := MapSwitch{GUID: sw.GUID, Name: sw.Name, Block: -1, Ports: []int{}}
		note(sw.GUID, sw.Name)
		states, squares := []byte{nodeState(sw.Node)}, []*ctl.Link{}
		for _, a := range hosts {
			port := int(switchPort(f, s, a))
			state := linkState(a.Link, usual[true])
			if host := nodeState(f.Hosts[a.Host]); host != active && state != down {
				state = host
			}
			if n := len(m.Ports); n > 0 && m.Ports[n-1] == port { // another cable was there before
				if state == active || states[n] == down {
					states[n], squares[n-1] = state, a.Link
				}
				continue
			}
			m.Ports = append(m.Ports, port)
			states, squares = append(states, state), append(squares, a.Link)
			note(strconv.Itoa(port))
		}
		m.Base, _ = portsOf(f, s)
		m.States = string(states)
		c.Switches, c.squares = append(c.Switches, m), append(c.squares, shorten(squares, devices))
	}
	c.Trunks, c.cables = make([]MapTrunk, 0, len(f.Trunks)), make([][]cable, 0, len(f.Trunks))
	for i := range f.Trunks {
		t, cables := c.trunk(&f.Trunks[i], usual[false])
		c.cables = append(c.cables, shorten(cables, devices))
		c.Trunks = append(c.Trunks, t)
		note(strconv.Itoa(t.A), strconv.Itoa(t.B))
		for _, p := range t.Ports {
			note(strconv.Itoa(p))
		}
	}
	for _, l := range f.Direct {
		c.Alone = append(c.Alone, l.From.Desc, l.To.Desc)
	}
	c.Layout = strconv.FormatUint(layout.Sum64(), 16)
	c.place(f, before)
	return c
}

// place gives switches their places.
func (c *chart) place(f *shape.Fabric, before *chart) {
	if before != nil && before.Layout == c.Layout {
		c.Width, c.Height, c.Blocks = before.Width, before.Height, before.Blocks
		for s := range c.Switches {
			m, was := &c.Switches[s], &before.Switches[s]
			m.X, m.Y, m.Block = was.X, was.Y, was.Block
		}
		return
	}
	p := Place(f)
	c.Width, c.Height, c.Blocks = p.W, p.H, append([]Block{}, p.Blocks...)
	for s := range c.Switches {
		c.Switches[s].X, c.Switches[s].Y, c.Switches[s].Block = p.At[s].X, p.At[s].Y, p.Block[s]
	}
}

// trunk is the cables between two switches by the port of the first one. Of two cables that were at a port one after
// the other the present one counts.
func (c *chart) trunk(t *shape.Trunk, usual string) (m MapTrunk, kept []*ctl.Link) {
	m = MapTrunk{A: t.A, B: t.B}
	links := slices.Clone(t.Links)
	guid := c.Switches[t.A].GUID
	ports := func(l *ctl.Link) (a, b int) {
		if l.From.Node == guid {
			return int(l.From.Port), int(l.To.Port)
		}
		return int(l.To.Port), int(l.From.Port)
	}
	slices.SortStableFunc(links, func(x, y *ctl.Link) int {
		a, b := ports(x)
		a2, b2 := ports(y)
		return cmp.Or(a-a2, b-b2)
	})
	states := []byte{}
	for _, l := range links {
		a, b := ports(l)
		state := linkState(l, usual)
		if n := len(states); n > 0 && m.Ports[2*n-2] == a && m.Ports[2*n-1] == b {
			if states[n-1] == down {
				states[n-1], kept[n-1] = state, l
			}
			continue
		}
		m.Ports, states, kept = append(m.Ports, a, b), append(states, state), append(kept, l)
	}
	m.States = string(states)
	return m, kept
}

// nodeState is the state of a node.
func nodeState(n *ctl.Node) byte {
	switch {
	case n.Absent != nil:
		return gone
	case n.Missed > 0:
		return noAnswer
	}
	return active
}

// linkState is the state of a link, of which most have a width and speed.
func linkState(l *ctl.Link, usual string) byte {
	switch l.State {
	case "Active", "ActiveDefer":
		switch {
		case l.Unhealthy:
			return avoided
		case l.Speed != "?" && l.Speed != "" && usual != "" && l.Width+" "+l.Speed != usual && slower(l, usual):
			return slow
		}
		return active
	case "Initialize", "Armed":
		return starting
	case "Down", ctl.Absent:
		return down
	}
	return unknown
}

// speeds are the speeds of links, ascending.
var speeds = []string{"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"}

// slower reports whether a link is slower than one of a width and speed, both written as "4x NDR".
func slower(l *ctl.Link, usual string) bool {
	rate := func(text string) int {
		for i, s := range speeds {
			if n := len(text) - len(s); n > 1 && text[n:] == s && text[n-1] == ' ' {
				lanes := 0
				for _, c := range text[:n-1] {
					if c < '0' || c > '9' {
						break
					}
					lanes = 10*lanes + int(c-'0')
				}
				return lanes * (1 << i)
			}
		}
		return 0
	}
	is, most := rate(l.Width+" "+l.Speed), rate(usual)
	return is > 0 && is < most
}

// usualSpeeds are the most frequent width and speed of links to hosts, and of those between switches.
func usualSpeeds(f *shape.Fabric) map[bool]string {
	count := map[bool]map[string]int{true: {}, false: {}}
	note := func(l *ctl.Link, host bool) {
		if l.State == "Active" {
			count[host][l.Width+" "+l.Speed]++
		}
	}
	for s := range f.Switches {
		for _, a := range f.Switches[s].Hosts {
			note(a.Link, true)
		}
	}
	for i := range f.Trunks {
		for _, l := range f.Trunks[i].Links {
			note(l, false)
		}
	}
	usual := map[bool]string{}
	for host, texts := range count {
		most := 0
		for text, n := range texts {
			if n > most || n == most && text < usual[host] {
				most, usual[host] = n, text
			}
		}
	}
	return usual
}

// read are copies of the rows of a list.
func read[T any](sub ctl.Subnet, l ctl.List, filter ctl.Filter) (all []*T, err error) {
	found, err := sub.Rows(l, filter)
	if err != nil {
		return nil, err
	}
	for row := range found {
		one := *row.(*T)
		all = append(all, &one)
	}
	return all, nil
}

// readLinks are copies of links, which have the texts of nodes and not their own, as there are many.
func readLinks(sub ctl.Subnet, nodes []*ctl.Node, filter ctl.Filter) (all []*ctl.Link, err error) {
	at := make(map[string]*ctl.Node, len(nodes))
	for _, n := range nodes {
		at[n.GUID] = n
	}
	found, err := sub.Rows(ctl.Links, filter)
	if err != nil {
		return nil, err
	}
	for row := range found {
		l := *row.(*ctl.Link)
		for _, e := range []*ctl.End{&l.From, &l.To} {
			if n := at[e.Node]; n != nil {
				e.Node, e.Desc, e.Type = n.GUID, n.Desc, n.Type
			}
		}
		all = append(all, &l)
	}
	return all, nil
}

// avoid marks the links that routes avoid because the operator, or a rule about sick links, wants so.
func avoid(links []*ctl.Link, drained []*ctl.Drained) {
	at := map[end]bool{}
	for _, d := range drained {
		if d.State != ctl.Absent {
			at[end{d.GUID, d.Port}] = true
		}
	}
	for _, l := range links {
		for _, e := range []ctl.End{l.From, l.To} {
			l.Unhealthy = l.Unhealthy || at[end{e.Node, e.Port}] || at[end{e.Node, 0}]
		}
	}
}

// end is a port of a node, 0 for the node.
type end struct {
	node string
	port uint8
}

// chartOf is the map of a subnet, with what has gone.
func chartOf(sub ctl.Subnet, before *chart) (*chart, error) {
	with := ctl.Filter{Absent: true}
	nodes, err := read[ctl.Node](sub, ctl.Nodes, with)
	if err != nil {
		return nil, err
	}
	links, err := readLinks(sub, nodes, with)
	if err != nil {
		return nil, err
	}
	drained, err := read[ctl.Drained](sub, ctl.DrainedPorts, ctl.Filter{})
	if err != nil {
		return nil, err
	}
	avoid(links, drained)
	c := newChart(nodes, links, before)
	c.Generation = sub.Generation()
	return c, nil
}
