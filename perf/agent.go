package perf

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// what is asked for by a request.
type what uint8

const (
	askInfo what = iota
	askExtended
	askShort
	askReset
)

// infoState is what is known of the abilities of an agent.
type infoState uint8

const (
	infoUnknown infoState = iota // ClassPortInfo is asked for first
	infoKnown
	infoStale // ClassPortInfo is read again in the next sweep, whatever this one still learns
)

// wide is what is known of the PortCountersExtended that an agent promises, until its device restarts.
type wide uint8

const (
	wideUntried wide = iota
	wideMissed       // once: it was not answered, or with an error that may be for the moment, and PortCounters were
	wideWorks
	wideFails
)

// agent is one that answers for ports: all of a switch, one of an adapter.
type agent struct {
	node     mad.GUID
	to       mad.Addr
	redirect mad.Addr // where it redirected to, LID 0 for nowhere
	info     infoState
	mask     uint16
	mask2    uint32
	wide     wide
	first    int32 // its ports
	last     int32
	cursor   int32 // the port that is read
	step     what  // of it, next
	got      reading
	refused  bool         // an attribute of the port, in this sweep
	missed   bool         // PortCountersExtended of the port: PortCounters are read instead
	due      pma.Counters // for a reset
}

// forget has ClassPortInfo asked for again.
func (a *agent) forget() {
	a.info, a.mask, a.mask2, a.redirect = infoUnknown, 0, 0, mad.Addr{}
}

// start begins a sweep.
func (a *agent) start() {
	if a.info == infoStale {
		a.forget()
	}
	a.cursor = a.first
	a.firstStep()
}

// becomeKnown goes on to the counters: what is known of the agent is taken for this sweep.
func (a *agent) becomeKnown() {
	if a.info == infoUnknown {
		a.info = infoKnown
	}
	a.firstStep()
}

// firstStep is that of a port: the widest counters that there are, once these are known.
func (a *agent) firstStep() {
	a.got, a.refused, a.missed, a.due = reading{}, false, false, 0
	switch {
	case a.info == infoUnknown:
		a.step = askInfo
	case a.has64() != 0:
		a.step = askExtended
	default:
		a.step = askShort
	}
}

// has64 are the counters of 64 bits.
func (a *agent) has64() pma.Counters {
	if a.missed || a.wide == wideFails {
		return 0
	}
	return pma.Has64(a.mask, a.mask2)
}

// short are the counters that have to be read from PortCounters.
func (a *agent) short() pma.Counters { return pma.HasShort(a.mask) &^ a.has64() }

// ask sends the next request to an agent.
func (m *Machine) ask(now time.Duration, i int32) {
	a := &m.agents[i]
	if a.step == askInfo && !m.settings.QueryInfo {
		a.becomeKnown()
	}
	var s int32
	if n := len(m.free); n > 0 {
		s, m.free = m.free[n-1], m.free[:n-1]
	} else {
		s = int32(len(m.slots))
		m.slots = append(m.slots, slot{})
	}
	m.slots[s] = slot{m.slots[s].serial + 1, i, a.step}
	m.waiting++
	m.Stats.Asked++
	m.out.Asks = append(m.out.Asks, Ask{Tag: uint64(m.slots[s].serial)<<32 | uint64(s), To: a.to})
	ask := &m.out.Asks[len(m.out.Asks)-1]
	if a.redirect.LID != 0 {
		ask.To = a.redirect
	}
	num := m.table.keys[a.cursor].Port
	switch a.step {
	case askInfo:
		pma.SetGet(&ask.Packet, pma.AttrClassPortInfo, 0)
	case askExtended:
		pma.SetGet(&ask.Packet, pma.AttrPortCountersExtended, num)
	case askShort:
		pma.SetGet(&ask.Packet, pma.AttrPortCounters, num)
	case askReset:
		m.Stats.Resets++
		pma.SetReset(&ask.Packet, num, a.due)
	}
}

// outcome takes a response, or nil for none.
func (m *Machine) outcome(now time.Duration, tag uint64, p *mad.Packet) {
	s := uint32(tag)
	if int64(s) >= int64(len(m.slots)) || m.slots[s].agent == free || m.slots[s].serial != uint32(tag>>32) {
		m.Stats.Unwanted++
		return
	}
	x := m.slots[s]
	m.slots[s].agent = free
	m.free = append(m.free, int32(s))
	if x.agent == givenUp {
		m.given--
		m.Stats.Unwanted++
		return
	}
	m.waiting--
	if p == nil {
		m.Stats.Unanswered++
	}
	a := &m.agents[x.agent]
	if p != nil && x.what != askReset && m.redirected(a, p) {
		m.ready = append(m.ready, x.agent)
		return
	}
	more := true
	switch {
	case x.what == askReset:
		m.reset(a, p)
		more = m.nextPort(a)
	case p == nil:
		more = m.unanswered(now, a, x.what)
	case x.what == askInfo:
		m.learn(a, p)
	case !answers(p, x.what, m.table.keys[a.cursor].Port):
		more = m.refusal(now, a, p, x.what)
	default:
		a.take(now, p, x.what)
		more = m.advance(now, a, x.what)
	}
	if more {
		m.ready = append(m.ready, x.agent)
	}
}

// redirected goes where an agent redirects to, once: a redirection by that one is a refusal.
func (m *Machine) redirected(a *agent, p *mad.Packet) bool {
	c, ok := pma.Redirect(p)
	if !ok || !m.settings.Redirect || a.redirect.LID != 0 || c.RedirectLID() == a.to.LID {
		return false
	}
	a.redirect, a.wide = mad.Addr{LID: c.RedirectLID(), QPN: c.RedirectQP(), SL: c.RedirectSL()}, wideUntried
	if a.redirect.QPN == 0 {
		a.redirect.QPN = 1
	}
	if a.info == infoKnown {
		a.info = infoUnknown
	}
	a.step = askInfo
	return true
}

// learn takes a ClassPortInfo. Without one, PortCounters is what every agent has.
func (m *Machine) learn(a *agent, p *mad.Packet) {
	a.mask, a.mask2 = 0, 0
	if p.Method() == mad.MethodGetResp && p.AttrID() == pma.AttrClassPortInfo && p.Status() == mad.StatusOK {
		c := (*pma.ClassPortInfo)(p.PerfData()[:])
		a.mask, a.mask2 = c.CapabilityMask(), c.CapabilityMask2()
	}
	a.becomeKnown()
}

// answers reports whether a packet is the attribute that was asked for, of that port. Some agents leave PortSelect 0 in
// answers, which Linux's mlx5 (process_mad) does not look at either.
func answers(p *mad.Packet, w what, num uint8) bool {
	attr := pma.AttrPortCounters
	if w == askExtended {
		attr = pma.AttrPortCountersExtended
	}
	port := pma.SelectOf(p.PerfData()).PortSelect()
	return p.Method() == mad.MethodGetResp && p.MgmtClass() == mad.ClassPerf && p.AttrID() == attr &&
		p.Status() == mad.StatusOK &&
		(port == num || port == 0)
}

// take copies counters into the reading.
func (a *agent) take(now time.Duration, p *mad.Packet, w what) {
	a.got.at = now
	if w == askExtended {
		x := (*pma.PortCountersExtended)(p.PerfData()[:])
		for c := range a.has64().All {
			a.got.raw[c] = x.Counter(c)
		}
		a.got.has |= a.has64()
		a.wide = wideWorks
		return
	}
	if a.missed {
		a.missWide()
	}
	x, short := (*pma.PortCounters)(p.PerfData()[:]), a.short()
	for c := range short.All {
		a.got.raw[c] = x.Counter(c)
	}
	a.got.has |= short
	a.got.short |= short
}

// missWide notes that PortCounters were answered where PortCountersExtended were not. The second time, the agent is not
// asked for the latter any more.
func (a *agent) missWide() {
	switch a.wide {
	case wideUntried:
		a.wide = wideMissed
	case wideMissed:
		a.wide = wideFails
	}
}

// unanswered is a request without an answer. The other ports of an unresponsive agent are not asked for in this sweep:
// each would take as long. One that has never answered for PortCountersExtended may answer for PortCounters.
func (m *Machine) unanswered(now time.Duration, a *agent, w what) bool {
	if w == askExtended && a.wide != wideWorks {
		a.missed, a.step = true, askShort
		return true
	}
	if w != askInfo && a.got.has != 0 {
		m.judge(now, a, Partial)
		return m.nextPort(a)
	}
	if a.redirect.LID != 0 {
		a.info = infoStale // where it redirected to may be gone
	}
	for ; a.cursor <= a.last; a.cursor++ {
		m.note(now, a.cursor, NoAnswer)
	}
	return false
}

// refusal is an answer that is none. An agent that does not have the attribute which it
// promised is believed no more until its device restarts.
func (m *Machine) refusal(now time.Duration, a *agent, p *mad.Packet, w what) bool {
	unsupported := p.Status() == mad.StatusBadMethodAttr || p.Status() == mad.StatusBadMethod
	if w == askExtended && (unsupported || a.wide != wideWorks) {
		if unsupported {
			a.wide = wideFails
		}
		a.missed, a.step = true, askShort
		return true
	}
	a.refused = true
	if w == askExtended && a.short() != 0 {
		a.step = askShort
		return true
	}
	if a.got.has != 0 {
		m.judge(now, a, Partial)
	} else {
		m.note(now, a.cursor, Refused)
	}
	return m.nextPort(a)
}

// advance goes on after an attribute of a port, to the other one, to a reset or to the next
// port.
func (m *Machine) advance(now time.Duration, a *agent, w what) bool {
	if w == askExtended && a.short() != 0 {
		a.step = askShort
		return true
	}
	note := Note(0)
	if a.refused {
		note = Partial
	}
	m.judge(now, a, note)
	if a.due = a.got.toReset(); a.due != 0 {
		a.step = askReset
		return true
	}
	return m.nextPort(a)
}

// nextPort goes on with the next port; more is false after the last one.
func (m *Machine) nextPort(a *agent) (more bool) {
	a.cursor++
	a.firstStep()
	return a.cursor <= a.last
}

// reset takes the answer to a reset.
func (m *Machine) reset(a *agent, p *mad.Packet) {
	var after *pma.PortCounters
	if p != nil {
		if !answers(p, askShort, m.table.keys[a.cursor].Port) {
			return // it is not reset
		}
		after = (*pma.PortCounters)(p.PerfData()[:])
	}
	m.ports[a.cursor].track.wasReset(a.due, after)
}

// judge ends the reading of a port.
func (m *Machine) judge(now time.Duration, a *agent, note Note) {
	p := &m.ports[a.cursor]
	if p.track.fell(&a.got) {
		a.info = infoStale
	}
	new := a.got.has &^ p.track.has
	p.track.judge(&a.got, p.words, &m.scratch)
	m.image.Answered++
	m.scratch.Note |= note
	p.total.add(&m.scratch)
	p.total.begin(new, &a.got)
	p.total.AtLeast |= p.track.unconfirmedCounters() // what is not counted now may never be
	m.record(now, a.cursor, &m.scratch)
}

// note ends a port without a reading.
func (m *Machine) note(now time.Duration, i int32, n Note) {
	m.scratch = Delta{Note: n, At: now}
	m.record(now, i, &m.scratch)
}

// usual are notes that are no finding: the link or the device is as it is.
const usual = First | MayOverflow | ResetByUs

// record keeps a port's delta for the image.
func (m *Machine) record(now time.Duration, i int32, d *Delta) {
	at := len(m.deltas)
	m.deltas = append(m.deltas, 0)
	m.deltas = m.image.appendDelta(m.deltas, d)
	m.deltas[at] = byte(len(m.deltas) - at - 1)
	m.where[i] = int32(at)
	if d.Note&^usual == 0 {
		return
	}
	m.Stats.Findings++
	if m.found++; m.found <= maxFindings {
		m.out.Findings = append(m.out.Findings,
			Finding{m.table.keys[i], now, d.Note, m.ports[i].track.unconfirmedCounters() | d.Restarted})
	}
}
