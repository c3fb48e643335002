package plan

import (
	"math"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// enabled are the widths and speeds that a port may train its link to: LinkWidthEnabled,
// LinkSpeedEnabled and LinkSpeedExtEnabled.
type enabled struct {
	width      mad.LinkWidth
	speed, ext uint8
}

func enabledOf(info *smp.PortInfo) enabled {
	return enabled{info.LinkWidthEnabled(), info.LinkSpeedEnabled(), info.LinkSpeedExtEnabled()}
}

func (e enabled) put(info *smp.PortInfo) {
	info.SetLinkWidthEnabled(e.width)
	info.SetLinkSpeedEnabled(e.speed)
	info.SetLinkSpeedExtEnabled(e.ext)
}

// trains reports whether a link of two ports, which now has width now, comes up: both enable
// a common speed, and a common width that is not larger, because there may be no more lanes.
func (e enabled) trains(peer enabled, now mad.LinkWidth) bool {
	ext := func(e enabled) uint8 {
		if e.ext == smp.LinkSpeedExtNone {
			return 0
		}
		return e.ext
	}
	return narrowest(e.width&peer.width) <= now.Lanes() && e.speed&peer.speed|ext(e)&ext(peer) != 0
}

// narrowest is the fewest lanes of a mask of widths, math.MaxInt for none.
func narrowest(mask mad.LinkWidth) int {
	for _, w := range []mad.LinkWidth{mad.Width1x, mad.Width2x, mad.Width4x, mad.Width8x, mad.Width12x} {
		if mask&w != 0 {
			return w.Lanes()
		}
	}
	return math.MaxInt
}

// enabled are the widths and speeds that a port should enable. They apply from the next
// training of the link. If the link would not come up then, both ports keep their present
// ones.
func (p *Plan) enabled(i topo.PortIdx) enabled {
	if p.unforced(i) {
		return enabledOf(&p.in.Topo.Ports[i].Info)
	}
	return p.forced(i)
}

// unforced reports whether a port has a link that would not come up with the widths and speeds
// of the settings.
func (p *Plan) unforced(i topo.PortIdx) bool {
	port := &p.in.Topo.Ports[i]
	return port.Peer != topo.None && !p.forced(i).trains(p.forced(port.Peer), port.Info.LinkWidthActive())
}

// forced are the widths and speeds that a port would enable by the settings alone, as far as
// it supports them. If it supports none of them, it keeps the present ones.
func (p *Plan) forced(i topo.PortIdx) enabled {
	v, t := &p.in.Values, p.in.Topo
	port := &t.Ports[i]
	info, e := &port.Info, enabledOf(&port.Info)
	const twoLanes = mad.Width2x
	if w := v.LinkWidth; w == smp.LinkWidthAll || w&twoLanes == 0 ||
		p.agentInfo(i).CapabilityMask2().Has(smp.IsLinkWidth2xSupported) {
		e.width = mad.LinkWidth(force(uint8(e.width), uint8(w), uint8(info.LinkWidthSupported()),
			uint8(smp.LinkWidthAll)))
	}
	e.speed = force(e.speed, v.LinkSpeed, info.LinkSpeedSupported(), smp.LinkSpeedAll)
	extended := func(i topo.PortIdx) bool {
		return p.agentInfo(i).CapabilityMask().Has(smp.IsExtendedSpeedsSupported)
	}
	switch {
	case port.Peer == topo.None || !extended(i) || !extended(port.Peer):
	case v.LinkSpeedExt == smp.LinkSpeedExtNone:
		e.ext = smp.LinkSpeedExtNone
	default:
		e.ext = force(e.ext, v.LinkSpeedExt, info.LinkSpeedExtSupported(), smp.LinkSpeedExtAll)
	}
	return e
}

// force is the mask to enable: for want equal to all every supported bit, for 0 the present
// mask.
func force(is, want, supported, all uint8) uint8 {
	if want == all {
		want = supported
	}
	if want &= supported; want == 0 {
		return is
	}
	return want
}

// agentInfo is the PortInfo with the capabilities of a port's agent: for a switch that of
// port 0.
func (p *Plan) agentInfo(i topo.PortIdx) *smp.PortInfo {
	t := p.in.Topo
	if node := &t.Nodes[t.Ports[i].Node]; node.Type == mad.Switch {
		i = node.First
	}
	return &t.Ports[i].Info
}

// keepEnabled sets enabled fields that do not change to 0, which means no change.
func keepEnabled(data, is *smp.PortInfo) {
	if data.LinkWidthEnabled() == is.LinkWidthEnabled() {
		data.SetLinkWidthEnabled(0)
	}
	if data.LinkSpeedEnabled() == is.LinkSpeedEnabled() {
		data.SetLinkSpeedEnabled(0)
	}
	if data.LinkSpeedExtEnabled() == is.LinkSpeedExtEnabled() {
		data.SetLinkSpeedExtEnabled(0)
	}
}

// Judged prepares the response of a port for comparison with w, its Wanted. Enabled fields
// count only if the Set changed them: to the others some ports respond 0, as they were sent.
func (p *Plan) Judged(i topo.PortIdx, w *smp.PortInfo, held smp.PortInfo) smp.PortInfo {
	wire := *w
	keepEnabled(&wire, &p.in.Topo.Ports[i].Info)
	if wire.LinkWidthEnabled() == 0 {
		held.SetLinkWidthEnabled(w.LinkWidthEnabled())
	}
	if wire.LinkSpeedEnabled() == 0 {
		held.SetLinkSpeedEnabled(w.LinkSpeedEnabled())
	}
	if wire.LinkSpeedExtEnabled() == 0 {
		held.SetLinkSpeedExtEnabled(w.LinkSpeedExtEnabled())
	}
	return held
}

// forces reports whether settings set any width or speed.
func (v *Values) forces() bool { return v.LinkWidth != 0 || v.LinkSpeed != 0 || v.LinkSpeedExt != 0 }

// Unforced are the links, by one end of each, that would not come up again with the widths and
// speeds of the settings, and so keep their present ones.
func (p *Plan) Unforced() (links []topo.PortIdx) {
	if !p.in.Values.forces() {
		return nil
	}
	t := p.in.Topo
	for i := range t.Ports {
		port := &t.Ports[i]
		if port.Seen && port.Peer > topo.PortIdx(i) && p.unforced(topo.PortIdx(i)) {
			links = append(links, topo.PortIdx(i))
		}
	}
	return links
}
