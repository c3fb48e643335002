package routing

import (
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
	return width != (near.LinkWidthEnabled()&other.LinkWidthEnabled()).Widest() ||
		speed != (speeds(t, p)&speeds(t, far)).Fastest()
}

// speeds are those that a port may use.
func speeds(t *topo.Topo, p topo.PortIdx) smp.SpeedMask {
	caps := &t.Ports[t.EndPort(p)].Info
	return t.Ports[p].Info.SpeedsEnabled(caps.CapabilityMask(), caps.CapabilityMask2())
}
