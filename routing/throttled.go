package routing

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Throttled reports whether a link is slower or narrower than both ends have enabled, as OpenSM has it.
// Ends that do not agree about their link are throttled, too.
func Throttled(t *topo.Topo, p topo.PortIdx) bool {
	far := t.Ports[p].Peer
	near, other := &t.Ports[p].Info, &t.Ports[far].Info
	width, speed := near.LinkWidthActive(), t.LinkSpeed(p)
	if width != other.LinkWidthActive() || speed != t.LinkSpeed(far) {
		return true
	}
	return width != widest(near.LinkWidthEnabled()&other.LinkWidthEnabled()) || speed != (speeds(t, p)&speeds(t, far)).Fastest()
}

// speeds are those that a port may use.
func speeds(t *topo.Topo, p topo.PortIdx) smp.SpeedMask {
	caps := &t.Ports[t.EndPort(p)].Info
	return t.Ports[p].Info.SpeedsEnabled(caps.CapabilityMask(), caps.CapabilityMask2())
}

// widest is the widest of some widths, 0 of none.
func widest(of mad.LinkWidth) (w mad.LinkWidth) {
	for bit := mad.LinkWidth(1); bit != 0; bit <<= 1 {
		if of&bit != 0 && bit.Lanes() > w.Lanes() {
			w = bit
		}
	}
	return w
}
