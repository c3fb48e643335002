package manager

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	osmlog "ibsm/opensm/log"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/proof"
	"ibsm/topo"
)

// maxEarly is how many requests wait for our own port to answer.
const maxEarly = 16

// ownPort is the state machine of this manager's own port: its known values, and whether others
// are heard by it.
type ownPort struct {
	state    ownPortState
	identity ownIdentity
	guid     mad.GUID // 0 in ownUnknown
	lid      mad.LID
	mkey     mad.MKey
	protect  uint8
	num      uint8          // 0 of a switch
	places   []proof.Place  // where it is, as far as it is known
	moved    time.Duration  // when it is asked again at the earliest where it is
	early    []mad.Datagram // in ownUnknown: requests that wait
	// requests in a row that it did not answer before its GUID was known: it may have another M_Key
	unanswered int
	reread     keyRead                            // of mkey
	logged     ownPortState                       // the state that was logged last, up when it was over
	said       [ownPortIsolated + 1]time.Duration // when each was logged last; 0 never
}

// ownIdentity says whether the GUID of our own port is known. Nothing is answered before.
type ownIdentity uint8

const (
	ownUnknown ownIdentity = iota
	ownKnown
)

// ownPortState says whether our own port receives answers of other nodes. While it does not, no node is given up as
// unresponsive.
type ownPortState uint8

const (
	ownPortUp           ownPortState = iota // they are, or nothing is known
	ownPortDown                             // it has no link, as it says itself: nothing is published
	ownPortUnresponsive                     // its own agent does not answer: nothing is believed or written
	ownPortLossy                            // many packets are lost
	ownPortIsolated                         // most nodes have stopped answering at once
)

// withoutEvidence are the states that a walk finds.
var withoutEvidence = map[discover.Evidence]ownPortState{
	discover.OwnPortUnresponsive: ownPortUnresponsive, discover.MostUnresponsive: ownPortIsolated,
	discover.PacketsLost: ownPortLossy,
}

// ownPortTexts are what the log says about them.
var ownPortTexts = [ownPortIsolated + 1]string{
	ownPortDown:         osmlog.PortIsDown,
	ownPortUnresponsive: "our own port does not answer: until it does, nothing is changed and no node is removed. It may have an M_Key unknown to this manager: check keys_file and m_key",
	ownPortLossy:        "many packets of this manager are lost: no node is removed for not answering",
	ownPortIsolated:     "most nodes are unresponsive: no node is removed, because the problem may be at our own port",
}

// walked takes the share of requests that a walk got answers to, unless the walk has found that the port has no link. A
// port without a link counts as connected again when it reports a link.
func (p *ownPort) walked(fx *effects, found *discover.Result) {
	if found.Own == discover.OwnUnresponsive && p.state == ownPortDown {
		return
	}
	p.becomeUp(fx)
	p.state = withoutEvidence[found.Evidence()]
	h := &found.Heard
	args := []any{"answered", h.Nodes, "unresponsive", h.Unresponsive, "answers", h.Answers, "late", h.Late}
	switch said := &p.said[p.state]; {
	case p.state == ownPortUp && p.logged != ownPortUp:
		fx.log(info, "our own port can reach the subnet again", args...)
	case p.state == ownPortUp || p.state == p.logged || *said > 0 && fx.now-*said < alarmPause:
		return
	default:
		fx.log(warn, ownPortTexts[p.state], args...)
		*said = max(fx.now, 1)
	}
	p.logged = p.state
}

// looked takes that a light sweep got all its answers. The next walk logs it.
func (p *ownPort) looked() {
	if p.state == ownPortLossy || p.state == ownPortIsolated {
		p.state = ownPortUp
	}
}

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

// isAt reports whether the port may be where a Question is for: it is, or nobody knows where it is. A Question in the
// name of this port, which another one with its GUID or a host that passes on our own may have sent, is for a known
// place only.
func (p *ownPort) isAt(q *proof.Question) bool {
	return slices.Contains(p.places, q.Place) || len(p.places) == 0 && q.Asker != p.guid
}

// movePause is the least time between two reads of where our own port is.
const movePause = time.Second

// askPlace asks the node at the other end of our own cable what it is, and reports whether it does.
func (p *ownPort) askPlace(fx *effects, key mad.MKey) bool {
	if p.num == 0 || fx.now < p.moved {
		return false
	}
	p.moved = fx.now + movePause
	return fx.request(urgent(ownerPlace, 0, mad.MakeRoute(p.num), mad.MethodGet, smp.AttrNodeInfo, 0, key))
}

// proofWaits takes a Question that asks for a proof. That of a manager at its own port is remembered. One for another
// place has our own port find out where it is: its cable may have been moved so fast that nobody noticed. That Question
// is not answered, and the report is true: its sender repeats it.
func (c *Core) proofWaits(d *mad.Datagram) bool {
	q, asks := proof.In((*smp.SMInfo)(d.Packet.Data()))
	if !asks || !c.elect.HasSecret() {
		return false
	}
	v := c.published.view
	if p := senderOf(v, d); p != topo.None && v.Topo.Ports[p].GUID == q.Asker {
		c.elect.asks(&q)
	}
	if len(c.port.places) == 0 || c.port.isAt(&q) {
		return false
	}
	key, _ := c.sweeps.sweeper.MKeys().KeyAlong([]uint8{c.port.num})
	return c.port.askPlace(&c.fx, key)
}

// isPlace takes its answer.
func (p *ownPort) isPlace(o *txn.Outcome) {
	if info := (*smp.NodeInfo)(&o.Data); isOK(o) {
		p.places = []proof.Place{{Node: info.NodeGUID(), Port: info.LocalPortNum()}}
	}
}

// holds stores the values of the port after a Get or Set. LID 65535, which adapters report at power-up, counts as no
// LID.
func (p *ownPort) holds(info *smp.PortInfo) {
	p.lid, p.protect = info.LID(), info.MKeyProtectBits()
	if !smp.HidesMKey(info) { // else it has answered to a wrong one
		p.mkey = info.MKey()
	}
	if !p.lid.IsUnicast() {
		p.lid = 0
	}
}

// setGUID has the GUID known, unless it is 0.
func (p *ownPort) setGUID(guid mad.GUID) {
	if p.identity, p.guid = ownUnknown, guid; guid != 0 {
		p.identity = ownKnown
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
	p.setGUID(guid)
	fx.log(info, osmlog.Binding(mad.ClassDirected, guid))
	fx.log(info, osmlog.Binding(mad.ClassSA, guid))
	fx.log(info, osmlog.SettingIsSM(guid))
	early, p.early = p.early, nil
	return early
}

// identify reads an attribute of the port: first PortInfo, for the M_Key that requests to this
// manager must have, then NodeInfo, for the GUID.
func (p *ownPort) identify(fx *effects, attr mad.AttrID, key mad.MKey) {
	fx.request(directed(ownerPort, 0, mad.Route{}, mad.MethodGet, attr, 0, key))
}

// mayRead applies the protection of the port's M_Key to a Get (IBA 14.2.4).
func (p *ownPort) mayRead(key mad.MKey) bool {
	return p.mkey == 0 || key == p.mkey || p.protect < 2
}

// mayWrite applies it to a Set.
func (p *ownPort) mayWrite(key mad.MKey) bool { return p.mkey == 0 || key == p.mkey }

// readOwn takes what our own port holds, if the walk has found it.
func (c *Core) readOwn(found *discover.Result) {
	b := found.Builder
	self := b.Self()
	if self == topo.NoEnd {
		return
	}
	c.port.setGUID(b.PortGUID(self))
	c.port.num = self.Port
	if places := discover.PlacesOf(b); places != nil { // else nobody has answered there
		c.port.places = places
	}
	if p := b.Port(self); p != nil {
		c.port.holds(p)
	}
	c.elect.SetGUID(c.port.guid)
}

// maxUnanswered is how often a run of one sweep lets its own agent leave a question
// unanswered, as on a machine that has too much to do, before it gives up.
const maxUnanswered = 5

// ownPortUnresponsive looks again soon where our own port does not answer: nothing can be said about the
// subnet then, and nothing has changed. Before anything is written every other manager is asked. A
// run of one sweep gives up in the end.
func (c *Core) ownPortUnresponsive(found *sweep.Found) {
	c.sweeps.drop(found)
	switch once := c.cfg.Once || c.cfg.DryRun; {
	case once && c.sweeps.unanswered+1 >= maxUnanswered:
		c.exit(ErrPortDown)
	case once:
		c.sweeps.unanswered++
		c.sweeps.want(wishFull, "our own port did not answer")
	default:
		c.port.walked(&c.fx, found.Result)
		c.elect.authority = unconfirmed
		c.sweeps.needFull = true
		c.sweeps.schedule(c.fx.now, portPoll)
	}
}

// ownPortDown waits for our own port, which has no link. A run of one sweep does not.
func (c *Core) ownPortDown(found *sweep.Found) {
	if c.cfg.Once || c.cfg.DryRun {
		c.exit(ErrPortDown)
		return
	}
	if c.port.becomeDown(&c.fx) {
		c.unpublish()
	}
	c.port.places = nil
	c.elect.portDown()
	c.enter()
	c.mirror.forget()
	c.cancel() // what is sent again when the port is back may be old by then
	c.leases.Forget()
	c.sweeps.isolate(found)
	c.multicast.Abdicate()
	c.haltVPorts(pausing)
	c.sweeps.schedule(c.fx.now, portPoll)
}

// rest is what a manager does that has been NOT-ACTIVE from the start: it asks its own
// port for GUIDs and LID, to answer for itself, and nothing else.
func (c *Core) rest() {
	if c.cfg.Once {
		c.exit(fmt.Errorf("%w: it was started NOT-ACTIVE", ErrNotMaster))
		return
	}
	if c.port.identity == ownUnknown && c.sweeps.next == 0 {
		c.port.identify(&c.fx, smp.AttrPortInfo, c.ownKey())
		c.sweeps.schedule(c.fx.now, portPoll)
	}
}

// identify takes what our own port answers to rest: first its M_Key, which requests must show, and then its GUID, with
// which we begin to answer.
func (c *Core) identify(o *txn.Outcome) {
	switch {
	case !isOK(o) || c.port.identity == ownKnown:
		c.port.unanswered++
	case o.Attr == smp.AttrPortInfo:
		c.port.holds((*smp.PortInfo)(&o.Data))
		c.port.identify(&c.fx, smp.AttrNodeInfo, c.ownKey())
	default:
		guid := (*smp.NodeInfo)(&o.Data).PortGUID()
		if c.cfg.GUID != 0 && c.cfg.GUID != guid {
			c.exit(fmt.Errorf("%w: it is %v, not %v", ErrWrongPort, guid, c.cfg.GUID))
			return
		}
		c.identified(guid)
	}
}

// identified takes the GUID of our port, and the requests that have waited for it.
func (c *Core) identified(guid mad.GUID) {
	c.elect.SetGUID(guid)
	if c.cfg.DryRun {
		c.port.setGUID(guid)
		return
	}
	for _, d := range c.port.identified(&c.fx, guid) {
		c.request(&d)
	}
}

// ownKey is the M_Key of requests to our own port.
func (c *Core) ownKey() mad.MKey {
	return c.sweeps.sweeper.Key(cmp.Or(c.port.guid, c.cfg.Sweep.Restored.Port), c.port.unanswered)
}
