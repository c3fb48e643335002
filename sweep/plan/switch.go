package plan

import (
	"fmt"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// switchField is a field of SwitchInfo that a plan may set.
type switchField struct {
	name string
	get  func(*smp.SwitchInfo) uint16
	set  func(*smp.SwitchInfo, uint16)
}

// optionalFields are the fields that a subnet can work without.
var optionalFields = []switchField{
	{"LifeTimeValue", func(s *smp.SwitchInfo) uint16 { return uint16(s.LifeTimeValue()) },
		func(s *smp.SwitchInfo, v uint16) { s.SetLifeTimeValue(uint8(v)) }},
	{"MulticastFDBTop", func(s *smp.SwitchInfo) uint16 { return uint16(s.MulticastFDBTop()) },
		func(s *smp.SwitchInfo, v uint16) { s.SetMulticastFDBTop(mad.LID(v)) }},
	{"DefaultMulticastPrimaryPort", func(s *smp.SwitchInfo) uint16 { return uint16(s.DefaultMulticastPrimaryPort()) },
		func(s *smp.SwitchInfo, v uint16) { s.SetDefaultMulticastPrimaryPort(uint8(v)) }},
	{"DefaultMulticastNotPrimaryPort", func(s *smp.SwitchInfo) uint16 {
		return uint16(s.DefaultMulticastNotPrimaryPort())
	},
		func(s *smp.SwitchInfo, v uint16) { s.SetDefaultMulticastNotPrimaryPort(uint8(v)) }},
}

// noMulticastPort as default multicast port drops packets that no tree forwards. Without a
// tree packets might circulate.
const noMulticastPort = 255

// WantedSwitch is the wanted SwitchInfo of a switch, without LinearFDBTop.
func (p *Plan) WantedSwitch(n topo.NodeIdx) smp.SwitchInfo {
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
	return w
}

// SwitchSent is the SwitchInfo that a switch is sent: the wanted one, with the present values
// of the fields that the switch does not support.
func (p *Plan) SwitchSent(n topo.NodeIdx) smp.SwitchInfo {
	node := &p.in.Topo.Nodes[n]
	w := p.WantedSwitch(n)
	refused := smp.SwitchInfo(p.in.Unsupported.Refuses(&device.SwitchInfo, p.Place(device.SwitchInfo.ID, node.First),
		(*device.Data)(&w)))
	for _, f := range optionalFields {
		if f.get(&refused) != 0 {
			f.set(&w, f.get(&node.SwitchInfo))
		}
	}
	if p.in.Tables != nil && !node.UsesPrivateLFT() {
		w.SetLinearFDBTop(p.in.Tables.Top)
	}
	return w
}

// SwitchFields names the optional fields in which bits are set.
func SwitchFields(bits *smp.SwitchInfo) (names []string) {
	for _, f := range optionalFields {
		if f.get(bits) != 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// describeSwitch is the change of a SwitchInfo as text.
func (p *Plan) describeSwitch(st Step) string {
	n := p.in.Topo.Ports[st.Port].Node
	is, w := &p.in.Topo.Nodes[n].SwitchInfo, p.SwitchSent(n)
	fields := []string{fmt.Sprintf("LinearFDBTop %d -> %d", is.LinearFDBTop(), w.LinearFDBTop())}
	for i, f := range optionalFields {
		if a, b := f.get(is), f.get(&w); i == 0 || a != b {
			fields = append(fields, fmt.Sprintf("%s %d -> %d", f.name, a, b))
		}
	}
	return " " + strings.Join(fields, ", ")
}
