package manager

import (
	"fmt"
	"hash/crc32"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/sa"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

// Pace of the sweeps that traps cause.
const (
	trapWindow   = 5 * time.Second  // equal traps within it belong to one series
	unhealthyFor = 60 * time.Second // a port is healthy again after this time without a trap
	noisyCount   = 10               // number of traps in a series that makes a port unhealthy
	babbleCount  = 250              // number that makes it a babbling port
	maxSeries    = 4096             // series that are remembered
	// between two looks through all series in a flood of different traps, each of which takes as long as 30 traps
	forgetInterval = time.Second
	minHoldOff     = 50 * time.Millisecond // between sweeps because of traps
	maxHoldOff     = time.Second           // the same in a storm: it doubles after calmSweeps
	calmSweeps     = 6                     // sweeps in a window that are no storm yet: a node that reboots
)

// trapKey identifies a series of equal traps. Their transaction IDs may differ.
type trapKey struct {
	lid    mad.LID
	port   uint8 // of traps 129 to 131
	digest uint32
}

// trapSeries is a series of equal traps.
type trapSeries struct {
	last  time.Duration
	count int
}

// unhealthyPort is a port whose link is avoided until its traps have stopped for long enough.
type unhealthyPort struct {
	lid   mad.LID
	port  uint8
	key   plan.Key // does not change with the LID
	until time.Duration
	// rerouted says that routes can avoid the link: it is not that of a host
	rerouted bool
}

// traps is the state machine of traps: it counts and logs them. The first trap that reports a
// change starts a sweep at once. Later ones wait for the hold-off, which grows during a storm,
// so that one sweep handles many traps.
type traps struct {
	series    map[trapKey]*trapSeries
	forgot    time.Duration // when series that have ended were last dropped
	overflow  uint64        // traps beyond maxSeries, which are not counted in a series
	unhealthy []unhealthyPort
	counts    trapCounts

	state   trapState
	due     time.Duration // of the sweep, while held off
	want    trapSweep     // while held off
	last    time.Duration // when the last sweep because of traps began; 0 never
	sweeps  int           // sweeps because of traps since the last quiet window
	holdOff time.Duration
}

// trapState says whether a sweep is wanted because of traps.
type trapState uint8

const (
	trapsQuiet   trapState = iota // none is wanted
	trapsHeldOff                  // one is wanted after the hold-off
)

// trapSweep is a sweep because of traps. A full one reads everything. A quick one reads switches with a change, and
// ports of which a trap says that something about them has changed.
type trapSweep struct {
	of  wishes // linkSweep, wishQuick, wishFull, wishCheck, or several of them
	why string
}

// linkSweep is a quick sweep before anything that takes longer.
const linkSweep = wishQuick | wishLink

// portErrors are traps 129 to 131 of one port. count is of one series.
type portErrors struct {
	lid   mad.LID
	port  uint8
	count int
	text  string
}

// babbles reports whether the port's link may be disabled.
func (e *portErrors) babbles() bool { return e.count >= babbleCount }

// receive handles a notice (IBA 13.4.8). v is the view in force, or nil. It returns the LID of the node whose
// description has changed, or 0, and errors at a port, or nil. read says that the last heavy sweep has read a change of
// the links of the switch that reports one: the trap may be about that.
func (t *traps) receive(fx *effects, d *mad.Datagram, v *view.View, ignoreChanges, read bool) (renamed mad.LID,
	errors *portErrors) {
	n := (*smp.Notice)(d.Packet.Data())
	t.counts.add(n)
	series := t.seriesOf(fx.now, n)
	logTrap(fx, d, v, series.count, t.counts.badKey(n, v))
	if series.count <= noisyCount {
		fx.do(ForRegistrar{sa.TrapReceived{Notice: *n}})
	}
	if !n.IsGeneric() {
		return 0, nil
	}
	switch number := n.TrapNumber(); {
	case series.count > 1 && cutOff(n.IssuerLID(), v): // TrapRepress does not reach it
	case number == smp.TrapLinkState && !ignoreChanges:
		if series.count <= noisyCount {
			fx.log(debug, osmlog.TrapSweep(smp.TrapLinkState))
		}
		of := linkSweep
		if read {
			of = wishCheck
		}
		t.sweep(fx.now, of, "trap 128 of LID "+n.LinkState().LID().String()+": a link changed its state")
	case number == smp.TrapLocalChange:
		return t.localChange(fx, n.LocalChange(), v, ignoreChanges), nil
	case number == smp.TrapLinkIntegrity, number == smp.TrapBufferOverrun, number == smp.TrapFlowControl:
		e := n.PortError()
		return 0, &portErrors{e.LID(), e.PortNum(), series.count, describe(n)}
	}
	return 0, nil
}

// cutOff reports whether a LID may belong to a node that is not in the subnet because cables are held back.
func cutOff(lid mad.LID, v *view.View) bool {
	return v != nil && v.Cabling != nil && len(v.Cabling.Held) > 0 && v.LIDs.PortOf(lid) == topo.None
}

// localChange handles trap 144. A changed description is read separately, because a walk does not
// read known ones. Anything else can mean a new subnet manager, also a simultaneous change of
// capabilities, for which there is no flag: a quick sweep reads the node's ports, and asks a manager there.
func (t *traps) localChange(fx *effects, d *smp.LocalChangeDetails, v *view.View,
	ignoreChanges bool) (renamed mad.LID) {
	if d.OtherLocalChanges() && d.ChangeFlags()&smp.ChangedNodeDescription != 0 {
		renamed = d.LID()
		if d.ChangeFlags() == smp.ChangedNodeDescription && !newCapabilities(d, v) {
			return renamed
		}
	}
	if ignoreChanges {
		return renamed
	}
	fx.log(debug, osmlog.TrapSweep(smp.TrapLocalChange))
	of := wishQuick
	if portOf(v, d.LID()) == topo.None {
		of = wishFull
	}
	t.sweep(fx.now, of, "trap 144 of LID "+d.LID().String()+": a port changed its capabilities")
	return renamed
}

// newCapabilities reports whether the masks in a trap 144 are not the known ones of the port. A
// mask of 0 is not filled in.
func newCapabilities(d *smp.LocalChangeDetails, v *view.View) bool {
	mask, mask2 := d.CapabilityMask(), d.CapabilityMask2()
	if mask == 0 || v == nil {
		return mask != 0
	}
	p := v.LIDs.PortOf(d.LID())
	if p == topo.None {
		return true
	}
	info := &v.Topo.Ports[p].Info
	return mask != info.CapabilityMask() || mask2 != 0 && mask.Has(smp.IsCapabilityMask2Supported) &&
		mask2 != info.CapabilityMask2()
}

// seriesOf finds the series of a trap and adds to it.
func (t *traps) seriesOf(now time.Duration, n *smp.Notice) *trapSeries {
	key := trapKey{lid: n.IssuerLID(), digest: crc32.ChecksumIEEE(n[:])}
	switch n.TrapNumber() {
	case smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl:
		key.port = n.PortError().PortNum()
	}
	s := t.series[key]
	if s == nil {
		if len(t.series) >= maxSeries && now-t.forgot >= forgetInterval {
			t.forgetSeries(now)
		}
		s = &trapSeries{}
		if len(t.series) >= maxSeries {
			t.overflow++
		} else {
			t.series[key] = s
		}
	}
	if now-s.last > trapWindow {
		s.count = 0
	}
	s.last = now
	s.count++
	return s
}

// forgetSeries drops the series that have ended.
func (t *traps) forgetSeries(now time.Duration) {
	t.forgot = now
	for k, s := range t.series {
		if now-s.last > trapWindow {
			delete(t.series, k)
		}
	}
}

// sweep starts a heavy sweep at once or after the hold-off.
func (t *traps) sweep(now time.Duration, of wishes, why string) {
	if t.state == trapsHeldOff {
		t.want.of |= of
		return
	}
	switch t.sweeps++; {
	case now-t.last > trapWindow || t.last == 0:
		t.holdOff, t.sweeps = 0, 1
	case t.sweeps <= calmSweeps:
		t.holdOff = minHoldOff
	default:
		t.holdOff = min(2*t.holdOff, maxHoldOff)
	}
	t.state, t.due, t.want = trapsHeldOff, max(now, t.last+t.holdOff), trapSweep{of, why}
}

// tick returns the sweep that is due; ok is false if there is none.
func (t *traps) tick(now time.Duration) (want trapSweep, ok bool) {
	if t.state != trapsHeldOff || t.due > now {
		return want, false
	}
	t.state, t.last = trapsQuiet, now
	return t.want, true
}

// errors handles errors at a port. A port that keeps sending them is unhealthy: errors reports
// whether its link should be avoided from now on.
func (t *traps) errors(now time.Duration, e *portErrors) (avoid bool) {
	for i := range t.unhealthy {
		if p := &t.unhealthy[i]; p.lid == e.lid && p.port == e.port {
			p.until = now + unhealthyFor
			return false
		}
	}
	return e.count >= noisyCount
}

// avoided notes an unhealthy port. From the next sweep on routes avoid its link, where they can.
func (t *traps) avoided(fx *effects, e *portErrors, key plan.Key, rerouted bool) {
	t.unhealthy = append(t.unhealthy, unhealthyPort{e.lid, e.port, key, fx.now + unhealthyFor, rerouted})
	if !rerouted {
		fx.log(warn, "port is unhealthy", "lid", e.lid, "port", e.port, "text", e.text)
		return
	}
	fx.log(warn, "port is unhealthy: routes avoid its link", "lid", e.lid, "port", e.port, "text", e.text)
	t.sweep(fx.now, linkSweep, fmt.Sprintf("port %d of LID %v is unhealthy", e.port, e.lid))
}

// disabled notes that the next sweep disables the link of a babbling port at one end, as
// babbling_port_policy demands.
func (t *traps) disabled(fx *effects, e *portErrors, end plan.Key) {
	fx.log(erro, "port babbles and is disabled by babbling_port_policy", "lid", e.lid, "port", e.port, "disabled_guid",
		end.Node, "disabled_port", end.Port)
	t.sweep(fx.now, linkSweep, fmt.Sprintf("port %d of LID %v babbles", e.port, e.lid))
}

// heal ends the avoidance of ports whose traps have stopped. use is called for each such port.
func (t *traps) heal(fx *effects, use func(plan.Key)) {
	left := t.unhealthy[:0]
	for _, p := range t.unhealthy {
		if p.until > fx.now {
			left = append(left, p)
			continue
		}
		use(p.key)
		fx.log(info, "port is healthy again", "lid", p.lid, "port", p.port)
		if p.rerouted {
			t.sweep(fx.now, linkSweep, "a port is healthy again")
		}
	}
	t.unhealthy = left
}

// deadline is when tick or heal has something to do; false for never.
func (t *traps) deadline() (at time.Duration, ok bool) {
	at, ok = t.due, t.state == trapsHeldOff
	for _, p := range t.unhealthy {
		if !ok || p.until < at {
			at, ok = p.until, true
		}
	}
	return at, ok
}

// trap handles a notice and represses it. A trap of our own node comes from LID 0; while this
// manager has no LID, the trap cannot be answered and is repeated.
func (c *Core) trap(d *mad.Datagram) {
	if c.elect.State() != smp.Master || d.Packet.MgmtClass() != mad.ClassLIDRouted {
		return
	}
	c.repress(d)
	if n := (*smp.Notice)(d.Packet.Data()); isForged(n, d.LID, c.published.view) {
		c.alarms.raise(&c.fx, c.cfg.Epoch, alarmAbout(AlarmTrap, c.published.view, d), "text", describe(n))
		return
	}
	read := false
	if node := changedNode((*smp.Notice)(d.Packet.Data()), c.published.view); node != 0 && !c.cfg.IgnoreTraps {
		read = c.sweeps.sweeper.PortsChanged(node) && c.sweeps.phase == nil
	}
	c.traps.counts.drop(seconds(c.cfg.Epoch, c.fx.now), (*smp.Notice)(d.Packet.Data()), c.published.view)
	d = c.refusedMKey(d)
	c.vPortTrap((*smp.Notice)(d.Packet.Data()))
	described, errors := c.traps.receive(&c.fx, d, c.published.view, c.cfg.IgnoreTraps, read)
	if described != 0 {
		c.descriptions.wantLID(c.published.view, described)
	}
	if errors == nil {
		return
	}
	if errors.babbles() {
		if end, ok := c.sweeps.sweeper.ShutOff(errors.lid, errors.port); ok {
			c.traps.disabled(&c.fx, errors, end)
		}
	}
	if c.traps.errors(c.fx.now, errors) {
		if key, rerouted, ok := c.sweeps.sweeper.Avoid(errors.lid, errors.port); ok {
			c.traps.avoided(&c.fx, errors, key, rerouted)
		}
	}
}

// repress ends the repetition of a trap. The trap has M_Key 0 (o14-1), but the TrapRepress must
// have the M_Key of the agent (IBA 14.2.4); else it counts as a violation. Where there are M_Keys,
// an agent at an unknown LID gets no TrapRepress: it repeats the trap, which does no harm, until a
// sweep has found it. Nobody gets one before the first view of a term: until then a trap cannot be
// acted on, and must not be lost.
func (c *Core) repress(d *mad.Datagram) {
	key, known := c.sweeps.sweeper.MKeyAt(d.LID, c.published.view)
	if !known {
		return
	}
	r := response(d, mad.MethodTrapRepress)
	r.Packet.SetMKey(key)
	c.fx.reply(r)
}

// trapSweep starts the sweep that is due because of traps.
func (c *Core) trapSweep(want trapSweep) {
	if want.of.has(wishFull) {
		c.sweeps.want(wishFull, want.why)
		return
	}
	if want.of == wishCheck {
		c.sweeps.want(wishCheck, want.why)
		return
	}
	c.sweeps.want(wishQuick, want.why)
	if want.of.has(wishLink) {
		c.sweeps.preempt(&c.fx, c.elect.mayWrite())
	}
}

// refusedMKey takes trap 256, by which an agent says that it has refused an M_Key, without the key where ports have
// M_Keys of their own. One that a manager shows which does not know the subnet, as after the loss of its store, opens
// the agent to it.
func (c *Core) refusedMKey(d *mad.Datagram) *mad.Datagram {
	n := (*smp.Notice)(d.Packet.Data())
	if !n.IsGeneric() || n.TrapNumber() != smp.TrapBadMKey {
		return d
	}
	secret, knocks := c.sweeps.sweeper.MKeys().Secret(n.BadMKey().MKey())
	if !secret {
		return d
	}
	if p := portOf(c.published.view, n.IssuerLID()); knocks && p != topo.None {
		agent := c.published.view.Topo.Agent(p)
		if c.open(c.sweeps.sweeper.MKeys().Knock(c.fx.now, agent)) {
			c.fx.log(
				warn, "admitting a standby that has the secret but does not know the subnet: for one minute the port answers its queries", "port", agent)
		}
	}
	hidden := *d
	(*smp.Notice)(hidden.Packet.Data()).BadMKey().SetMKey(0)
	return &hidden
}

// open sends a Set that has an agent answer other managers, and reports whether there is one: see sweep.Sweeper.Knock
// and sweep.Found.OpenOwn.
func (c *Core) open(set plan.Set, ok bool) bool {
	if !ok {
		return false
	}
	req := urgent(ownerElection, tagOpen, set.Route, mad.MethodSet, set.Attr, set.Mod, set.MKey)
	req.Data = set.Data
	return c.fx.request(req)
}
