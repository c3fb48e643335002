package plan

import (
	"fmt"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Told is the SwitchInfo that a switch was told, and the one it answered with. What it did
// not take is not told again.
type Told struct{ Sent, Held smp.SwitchInfo }

// switchField is a field of SwitchInfo that a plan may set.
type switchField struct {
	name string
	get  func(*smp.SwitchInfo) uint16
	set  func(*smp.SwitchInfo, uint16)
}

// optionalFields are those that a subnet can do without.
var optionalFields = []switchField{
	{"LifeTimeValue", func(s *smp.SwitchInfo) uint16 { return uint16(s.LifeTimeValue()) },
		func(s *smp.SwitchInfo, v uint16) { s.SetLifeTimeValue(uint8(v)) }},
	{"MulticastFDBTop", func(s *smp.SwitchInfo) uint16 { return uint16(s.MulticastFDBTop()) },
		func(s *smp.SwitchInfo, v uint16) { s.SetMulticastFDBTop(mad.LID(v)) }},
	{"DefaultMulticastPrimaryPort", func(s *smp.SwitchInfo) uint16 { return uint16(s.DefaultMulticastPrimaryPort()) },
		func(s *smp.SwitchInfo, v uint16) { s.SetDefaultMulticastPrimaryPort(uint8(v)) }},
	{"DefaultMulticastNotPrimaryPort", func(s *smp.SwitchInfo) uint16 { return uint16(s.DefaultMulticastNotPrimaryPort()) },
		func(s *smp.SwitchInfo, v uint16) { s.SetDefaultMulticastNotPrimaryPort(uint8(v)) }},
}

// noMulticastPort as a default multicast port drops what no tree forwards. A port there
// would let packets out that have no tree to keep them from going in circles.
const noMulticastPort = 255

// wantedSwitch is the SwitchInfo that a switch is to have.
func (p *Plan) wantedSwitch(n topo.NodeIdx) smp.SwitchInfo {
	node := &p.in.Topo.Nodes[n]
	is := unchanging(&node.SwitchInfo)
	w := is
	w.SetLifeTimeValue(p.in.Values.LifeTimeValue)
	if p.in.MulticastTop != 0 {
		if p.in.Topo.Ports[node.First].Info.CapabilityMask().Has(smp.IsMulticastFDBTopSupported) {
			last := int(mad.MinMulticastLID) + int(is.MulticastFDBCap()) - 1
			w.SetMulticastFDBTop(mad.LID(min(int(p.in.MulticastTop), last)))
		}
		if d := is.DefaultMulticastPrimaryPort(); d != 0 && d <= node.NumPorts {
			w.SetDefaultMulticastPrimaryPort(noMulticastPort)
		}
		if d := is.DefaultMulticastNotPrimaryPort(); d != 0 && d <= node.NumPorts {
			w.SetDefaultMulticastNotPrimaryPort(noMulticastPort)
		}
	}
	if told, ok := p.in.Told[node.GUID]; ok {
		for _, f := range optionalFields {
			if v := f.get(&w); f.get(&told.Sent) == v && f.get(&told.Held) != v {
				f.set(&w, f.get(&is))
			}
		}
	}
	if p.in.Tables != nil {
		w.SetLinearFDBTop(p.in.Tables.Top)
	}
	return w
}

// NotTaken are the names of the fields that a switch, told sent, does not hold, though it
// might do with them.
func (t *Told) NotTaken() (names []string) {
	for _, f := range optionalFields {
		if f.get(&t.Sent) != f.get(&t.Held) {
			names = append(names, f.name)
		}
	}
	return names
}

// After adds what a switch did not take before, and was not told now.
func (t *Told) After(before Told) {
	for _, f := range optionalFields {
		if f.get(&t.Sent) == f.get(&t.Held) {
			f.set(&t.Sent, f.get(&before.Sent))
			f.set(&t.Held, f.get(&before.Held))
		}
	}
}

// SwitchSent is the SwitchInfo of a SetSwitch step.
func (p *Plan) SwitchSent(st Step) smp.SwitchInfo {
	return p.wantedSwitch(p.in.Topo.Ports[st.Port].Node)
}

// tellSwitch shows a SetSwitch in words.
func (p *Plan) tellSwitch(n topo.NodeIdx) string {
	is, w := &p.in.Topo.Nodes[n].SwitchInfo, p.wantedSwitch(n)
	fields := []string{fmt.Sprintf("LinearFDBTop %d -> %d", is.LinearFDBTop(), w.LinearFDBTop())}
	for i, f := range optionalFields {
		if a, b := f.get(is), f.get(&w); i == 0 || a != b {
			fields = append(fields, fmt.Sprintf("%s %d -> %d", f.name, a, b))
		}
	}
	return strings.Join(fields, ", ")
}
