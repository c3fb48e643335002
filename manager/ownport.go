package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
)

// maxEarly is how many requests wait for the GUID of our own port.
const maxEarly = 16

// ownPort is the state machine of this manager's own port: its known values, and whether it has a
// link.
type ownPort struct {
	state   ownPortState
	guid    mad.GUID // 0 until it is known: requests wait in early
	lid     mad.LID
	mkey    mad.MKey
	protect uint8
	early   []mad.Datagram
}

// ownPortState says whether our own port has a link.
type ownPortState uint8

const (
	ownPortUp   ownPortState = iota // it has one, or nothing is known
	ownPortDown                     // it has none: this was logged, and nothing is published
)

func (s ownPortState) String() string { return [...]string{"up", "down"}[s] }

// becomeDown notes that the port has no link. It reports whether it had one before.
func (p *ownPort) becomeDown(fx *effects) bool {
	if p.state == ownPortDown {
		return false
	}
	p.state = ownPortDown
	fx.log(sys, osmlog.PortIsDown)
	return true
}

// becomeUp notes that the port has a link.
func (p *ownPort) becomeUp(fx *effects) {
	if p.state == ownPortDown {
		p.state = ownPortUp
		fx.log(sys, osmlog.PortIsUp)
	}
}

// holds stores the values of the port after a Get or Set. LID 65535, which adapters report at
// power-up, is none.
func (p *ownPort) holds(info *smp.PortInfo) {
	p.lid, p.mkey, p.protect = info.LID(), info.MKey(), info.MKeyProtectBits()
	if !p.lid.IsUnicast() {
		p.lid = 0
	}
}

// wait stores a request until the GUID is known.
func (p *ownPort) wait(d *mad.Datagram) {
	if len(p.early) < maxEarly {
		p.early = append(p.early, *d)
	}
}

// identified sets the GUID, and returns the requests that have waited for it.
func (p *ownPort) identified(fx *effects, guid mad.GUID) (early []mad.Datagram) {
	p.guid = guid
	fx.log(info, osmlog.Binding(mad.ClassDirected, guid))
	fx.log(info, osmlog.Binding(mad.ClassSA, guid))
	fx.log(info, osmlog.SettingIsSM(guid))
	early, p.early = p.early, nil
	return early
}

// identify reads an attribute of the port: first PortInfo, for the M_Key that requests to this
// manager must have, then NodeInfo, for the GUID.
func (p *ownPort) identify(fx *effects, attr mad.AttrID, key mad.MKey) {
	req := directed(ownerPort, 0, mad.Route{}, mad.MethodGet, attr, 0, key)
	fx.request(&req)
}

// mayRead applies the protection of the port's M_Key to a Get (IBA 14.2.4).
func (p *ownPort) mayRead(key mad.MKey) bool {
	return p.mkey == 0 || key == p.mkey || p.protect < 2
}

// mayWrite applies it to a Set.
func (p *ownPort) mayWrite(key mad.MKey) bool { return p.mkey == 0 || key == p.mkey }
