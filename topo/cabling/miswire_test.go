package cabling

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/topo/net"
)

// fabrics are those that are miswired.
var fabrics = []string{"fattree:k=8", "torus:dims=4x4x3,hosts=2", "dragonfly:a=4,p=2,h=2", "hyperx:dims=4x4,hosts=3",
	"random:switches=24,degree=5,hosts=6,seed=3"}

// miswiring changes cables of present, and where it needs room those of the plan, too. Devices that it has touched are
// no longer touched.
type miswiring struct {
	*rand.Rand
	plan, present *net.Net
	touched       map[int32]bool
	want          []string // the findings, each as by shown; of equal ones with | between them
}

func clone(n *net.Net) *net.Net {
	c := *n
	c.Nodes = slices.Clone(n.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].Ports = slices.Clone(c.Nodes[i].Ports)
	}
	return &c
}

func peer(n *net.Net, e net.End) net.End { return n.Nodes[e.Node].Ports[e.Port].Peer }

func unplug(n *net.Net, a net.End) (b net.End) {
	b = peer(n, a)
	n.Nodes[a.Node].Ports[a.Port].Peer, n.Nodes[b.Node].Ports[b.Port].Peer = net.NoEnd, net.NoEnd
	return b
}

func plug(n *net.Net, a, b net.End) {
	for _, e := range [][2]net.End{{a, b}, {b, a}} {
		p := &n.Nodes[e[0].Node].Ports[e[0].Port]
		p.Peer, p.Width, p.Speed = e[1], mad.Width4x, mad.HDR
	}
}

// touch marks the devices of cables; it is false if one of them has been.
func (m *miswiring) touch(ends ...net.End) bool {
	for _, e := range ends {
		if m.touched[e.Node] {
			return false
		}
	}
	for _, e := range ends {
		m.touched[e.Node] = true
	}
	return true
}

// cable is a random end of a cable, of a device with at least so many.
func (m *miswiring) cable(least int) net.End {
	for {
		e := net.End{Node: int32(m.IntN(len(m.plan.Nodes)))}
		node := &m.plan.Nodes[e.Node]
		e.Port = uint8(1 + m.IntN(node.NumPorts()))
		if cabled := slices.DeleteFunc(slices.Clone(node.Ports), func(p net.Port) bool {
			return p.Peer.Node < 0
		}); peer(m.plan, e).Node >= 0 && len(cabled) >= least {
			return e
		}
	}
}

func (m *miswiring) name(e net.End) string {
	return fmt.Sprintf("%v:%d", m.plan.Nodes[e.Node].GUID, e.Port)
}

// ends are in the order of shown.
func (m *miswiring) ends(ends ...net.End) string {
	var all []string
	for _, e := range ends {
		all = append(all, m.name(e))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (m *miswiring) swap() bool {
	a1 := m.cable(2)
	a2 := net.End{Node: a1.Node, Port: uint8(1 + m.IntN(m.plan.Nodes[a1.Node].NumPorts()))}
	if m.IntN(2) == 0 { // of two devices
		a2 = m.cable(1)
	}
	b1, b2 := peer(m.plan, a1), peer(m.plan, a2)
	if a1 == a2 || b2.Node < 0 || b1 == a2 || !m.touch(a1, a2, b1, b2) {
		return false
	}
	unplug(m.present, a1)
	unplug(m.present, a2)
	plug(m.present, a1, b2)
	plug(m.present, a2, b1)
	m.want = append(m.want, "exchanged "+m.ends(a1, a2)+"|exchanged "+m.ends(b1, b2))
	return true
}

func (m *miswiring) shift() bool {
	first := m.cable(3)
	node := &m.plan.Nodes[first.Node]
	var run, far []net.End
	for p := first; int(p.Port) <= node.NumPorts() && peer(m.plan, p).Node >= 0 && len(run) < 2+m.IntN(8); p.Port++ {
		run, far = append(run, p), append(far, peer(m.plan, p))
	}
	if len(run) < 3 || slices.ContainsFunc(far, func(e net.End) bool {
		return e.Node == first.Node
	}) || !m.touch(append(far, first)...) {
		return false
	}
	unplug(m.plan, run[len(run)-1]) // a port that is free
	for _, p := range run {
		unplug(m.present, p)
	}
	if m.IntN(2) == 0 { // upwards, else downwards, with the first port free
		for i, to := range far[:len(far)-1] {
			plug(m.present, run[i+1], to)
		}
	} else {
		for i := range run[:len(run)-1] {
			unplug(m.plan, run[i])
		}
		for i := range far[:len(far)-1] {
			plug(m.plan, run[i+1], far[i])
			plug(m.present, run[i], far[i])
		}
	}
	m.want = append(m.want, "shifted "+m.ends(run...))
	return true
}

func (m *miswiring) missing() bool {
	a := m.cable(1)
	if !m.touch(a, peer(m.plan, a)) {
		return false
	}
	m.want = append(m.want, "missing "+m.ends(a, unplug(m.present, a)))
	return true
}

func (m *miswiring) extra() bool {
	a1, a2 := m.cable(2), m.cable(2)
	b1, b2 := peer(m.plan, a1), peer(m.plan, a2)
	if a1 == a2 || b1 == a2 || !m.touch(a1, a2, b1, b2) {
		return false
	}
	for _, e := range []net.End{a1, a2} {
		unplug(m.plan, e)
		unplug(m.present, e)
	}
	plug(m.present, a1, a2)
	m.want = append(m.want, "added "+m.ends(a1, a2))
	return true
}

func (m *miswiring) moved() bool {
	a1, a2 := m.cable(2), m.cable(2)
	b1, b2 := peer(m.plan, a1), peer(m.plan, a2)
	if a1 == a2 || b1 == a2 || !m.touch(a1, a2, b1, b2) {
		return false
	}
	unplug(m.plan, a2)
	unplug(m.present, a2)
	unplug(m.present, a1)
	plug(m.present, a2, b1)
	m.want = append(m.want, "moved "+m.ends(a1, a2))
	return true
}

func (m *miswiring) slower() bool {
	a := m.cable(1)
	b := peer(m.plan, a)
	if !m.touch(a, b) {
		return false
	}
	kind := "slower "
	for _, e := range []net.End{a, b} {
		plan, now := &m.plan.Nodes[e.Node].Ports[e.Port], &m.present.Nodes[e.Node].Ports[e.Port]
		plan.Width, plan.Speed, now.Width, now.Speed = mad.Width4x, mad.HDR, mad.Width4x, mad.EDR
	}
	if m.IntN(2) == 0 {
		kind = "narrower "
		m.present.Nodes[a.Node].Ports[a.Port].Width, m.present.Nodes[b.Node].Ports[b.Port].Width = mad.Width2x,
			mad.Width2x
	}
	m.want = append(m.want, kind+m.ends(a, b))
	return true
}

// regive gives a device and its ports other GUIDs.
func regive(n *net.Node) {
	n.GUID += 1 << 40
	for i := range n.Ports {
		if n.Ports[i].GUID != 0 {
			n.Ports[i].GUID += 1 << 40
		}
	}
}

// wrong has another device in the place of one, with its name or without.
func (m *miswiring) wrong() bool {
	a := m.cable(1)
	node := &m.present.Nodes[a.Node]
	ends := []net.End{a}
	for _, p := range node.Ports {
		if p.Peer.Node >= 0 {
			ends = append(ends, p.Peer)
		}
	}
	if !m.touch(ends...) {
		return false
	}
	regive(node)
	if m.IntN(2) == 0 {
		node.Desc = fmt.Sprintf("new %d", m.IntN(1<<30))
	}
	m.want = append(m.want, fmt.Sprintf("replaced %v %v", m.plan.Nodes[a.Node].GUID, node.GUID))
	return true
}

// gone is a device that is switched off.
func (m *miswiring) gone() bool {
	a := m.cable(1)
	ends := []net.End{a}
	for num, p := range m.plan.Nodes[a.Node].Ports {
		if p.Peer.Node >= 0 {
			ends = append(ends, p.Peer, net.End{Node: a.Node, Port: uint8(num)})
		}
	}
	if !m.touch(ends...) {
		return false
	}
	for _, e := range ends {
		if peer(m.present, e).Node >= 0 {
			unplug(m.present, e)
		}
	}
	m.present.Nodes[a.Node].GUID = 0 // taken out by check
	m.want = append(m.want, fmt.Sprintf("missing device %v", m.plan.Nodes[a.Node].GUID))
	return true
}

// places has two devices change places.
func (m *miswiring) places() bool {
	a, b := m.cable(2), m.cable(2)
	x, y := &m.present.Nodes[a.Node], &m.present.Nodes[b.Node]
	ends := []net.End{a, b}
	for _, n := range []*net.Node{x, y} {
		for _, p := range n.Ports {
			if p.Peer.Node == a.Node || p.Peer.Node == b.Node {
				return false
			}
			if p.Peer.Node >= 0 {
				ends = append(ends, p.Peer)
			}
		}
	}
	cabled := func(n *net.Node) (ports []int) {
		for num, p := range n.Ports {
			if p.Peer.Node >= 0 {
				ports = append(ports, num)
			}
		}
		return ports
	}
	if a.Node == b.Node || x.Type != y.Type || !slices.Equal(cabled(x), cabled(y)) || !m.touch(ends...) {
		return false
	}
	for _, num := range cabled(x) {
		p, q := net.End{Node: a.Node, Port: uint8(num)}, net.End{Node: b.Node, Port: uint8(num)}
		to, other := unplug(m.present, p), unplug(m.present, q)
		plug(m.present, p, other)
		plug(m.present, q, to)
	}
	guids := []string{x.GUID.String(), y.GUID.String()}
	slices.Sort(guids)
	m.want = append(m.want, "exchanged devices "+strings.Join(guids, " "))
	return true
}

// shown is a finding as the test compares it.
func shown(f *Finding) string {
	places := f.Ports
	switch f.Kind {
	case Missing:
		places = f.Planned[0].Ends[:]
	case Added, Slower, Narrower:
		places = f.Present[0].Ends[:]
	case MissingDevice, AddedDevice, Replaced, ExchangedDevices:
		places = f.Devices
	}
	var all []string
	for _, p := range places {
		text := p.GUID.String()
		if p.Port > 0 {
			text += fmt.Sprintf(":%d", p.Port)
		}
		all = append(all, text)
	}
	if f.Kind != Replaced {
		slices.Sort(all)
	}
	return f.Kind.String() + " " + strings.Join(all, " ")
}

// written is a plan after it has been written and read in one of the formats.
func written(t *testing.T, n *net.Net, format int) *Cabling {
	t.Helper()
	var text bytes.Buffer
	var err error
	switch format {
	case 0:
		err = Write(&text, Of(n))
	case 1:
		err = net.Write(&text, n)
	case 2:
		err = WriteTopoconfig(&text, Of(n))
	default:
		return Of(n)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read("plan", text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestMiswirings plants one to three miswirings in each of five fabrics: each is found by its name, and nothing else
// is.
func TestMiswirings(t *testing.T) {
	rounds := 100
	if os.Getenv("IBSM_PROOF") != "" {
		rounds = 1000
	}
	for _, spec := range fabrics {
		t.Run(spec, func(t *testing.T) {
			n, err := net.Generate(spec)
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[string]int{}
			for seed := range uint64(rounds) {
				m := &miswiring{Rand: rand.New(rand.NewPCG(seed, 21)), plan: clone(n), present: clone(n),
					touched: map[int32]bool{}}
				plants := []func() bool{m.swap, m.shift, m.missing, m.extra, m.wrong, m.moved, m.gone, m.places,
					m.slower}
				format, first := int(seed%4), int(seed)%len(plants)
				if format == 2 && first == len(plants)-1 { // this one says nothing of speeds
					format = 0
				}
				for i := range 1 + m.IntN(3) {
					plant := plants[m.IntN(len(plants)-1)]
					if i == 0 {
						plant = plants[first]
					}
					for try := 0; try < 500 && !plant(); try++ {
					}
				}
				m.present.Nodes = slices.Clone(m.present.Nodes)
				check(t, seed, m, written(t, m.plan, format))
				for _, w := range m.want {
					kinds[strings.Join(strings.FieldsFunc(strings.Split(w, " 0x")[0], func(r rune) bool {
						return r == ' '
					}), " ")]++
				}
			}
			for _, kind := range []Kind{Missing, MissingDevice, Added, Moved, Exchanged, Shifted, Slower, Narrower,
				Replaced, ExchangedDevices} {
				if kinds[kind.String()] == 0 {
					t.Errorf("no %v was planted", kind)
				}
			}
		})
	}
}

func check(t *testing.T, seed uint64, m *miswiring, plan *Cabling) {
	t.Helper()
	present := Of(m.present)
	if i := slices.IndexFunc(present.Devices, func(d Device) bool { return d.GUID == 0 }); i >= 0 {
		present = withoutUnknown(present)
	}
	c := Compare(plan, present)
	left := slices.Clone(m.want)
	for i := range c.Findings {
		f := &c.Findings[i]
		at := slices.IndexFunc(left, func(w string) bool { return slices.Contains(strings.Split(w, "|"), shown(f)) })
		if f.String() == "" {
			t.Errorf("seed %d: a finding without words: %+v", seed, f)
		}
		if at < 0 {
			t.Errorf("seed %d: not planted: %v (%s)\nplanted: %v", seed, f, shown(f), m.want)
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	if len(left) > 0 {
		t.Errorf("seed %d: not found: %v of %v", seed, left, m.want)
	}
}

// withoutUnknown is without devices that have no GUID.
func withoutUnknown(c *Cabling) *Cabling {
	out, at := &Cabling{}, make([]int32, len(c.Devices))
	for i, d := range c.Devices {
		at[i] = int32(len(out.Devices))
		if d.GUID != 0 {
			out.Devices = append(out.Devices, d)
		}
	}
	for _, cable := range c.Cables {
		for i := range cable.Ends {
			cable.Ends[i].Device = at[cable.Ends[i].Device]
		}
		out.Cables = append(out.Cables, cable)
	}
	return out
}
