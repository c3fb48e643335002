package manager

import (
	"fmt"
	"hash/crc32"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// Pace of what traps cause.
const (
	trapWindow   = 5 * time.Second       // equal traps within it count as one series
	unhealthyFor = 60 * time.Second      // a noisy port is believed again after so long a silence
	noisyCount   = 10                    // traps of one series that make a port unhealthy
	babbleCount  = 250                   // and that make it a babbler
	maxSeries    = 4096                  // series remembered
	minHoldOff   = 50 * time.Millisecond // between sweeps that traps ask for
	maxHoldOff   = time.Second           // and after calmSweeps of them, by doubling
	calmSweeps   = 6                     // within a window are no storm yet: a node that reboots
)

// trapKey names a series of equal traps. Their transaction IDs may differ.
type trapKey struct {
	lid    mad.LID
	port   uint8 // of traps 129 to 131
	digest uint32
}

// trapSeries is one of them.
type trapSeries struct {
	last  time.Duration
	count int
}

// noisyPort is a port that is held to be unhealthy until its traps have stopped for
// long enough.
type noisyPort struct {
	lid   mad.LID
	port  uint8
	key   plan.Key // which stays when the LID changes
	until time.Duration
}

// traps is what the manager knows of traps. The first starts a sweep at once; later ones
// wait for the hold-off, which grows in a storm as long as they keep coming, so that few
// sweeps do the work of many traps.
type traps struct {
	series   map[trapKey]*trapSeries
	noisy    []noisyPort
	due      time.Duration // of the sweep that traps have asked for; 0 none
	why      string
	full     bool
	last     time.Duration // when such a sweep was begun
	sweeps   int           // such sweeps since the last quiet window
	holdOff  time.Duration
	overflow uint64 // traps that were not counted, for want of room
}

// trap takes a notice (IBA 13.4.8): it is repressed, counted, and acted upon.
func (c *Core) trap(d *mad.Datagram) {
	if c.elect.State() != smp.Master || d.Packet.MgmtClass() != mad.ClassLIDRouted {
		return
	}
	c.send = append(c.send, response(d, mad.MethodTrapRepress))
	n := (*smp.Notice)(d.Packet.Data())
	c.stats.trap(n)
	series := c.series(n)
	c.tellTrap(d, series.count, c.badKey(n))
	if series.count <= noisyCount {
		c.do(Notice{*n})
	}
	if !n.IsGeneric() {
		return
	}
	switch number := n.TrapNumber(); {
	case number == smp.TrapLinkState && !c.cfg.IgnoreTraps:
		if series.count <= noisyCount {
			c.log(debug, osmlog.TrapSweep(smp.TrapLinkState))
		}
		c.trapSweep(false, "trap 128 of LID "+n.LinkState().LID().String()+": a link changed its state")
	case number == smp.TrapLocalChange:
		c.localChange(n.LocalChange())
	case number == smp.TrapLinkIntegrity, number == smp.TrapBufferOverrun, number == smp.TrapFlowControl:
		c.portTrouble(n, series)
	}
}

// tellTrap tells of a trap: of the first of a series each by itself, and then of their
// number. badKey says between whom it is about a wrong key, if it is.
func (c *Core) tellTrap(d *mad.Datagram, count int, badKey string) {
	n, from := (*smp.Notice)(d.Packet.Data()), d.LID
	text := describe(n)
	if badKey != "" {
		text += ", " + badKey
	}
	if from == 0 && c.view != nil {
		from = c.view.SMs[0].LID // our own port's
	}
	if count > noisyCount {
		if isRound(count) {
			c.log(warn, osmlog.TrapRepeated(count), "lid", from, "text", text)
		}
		return
	}
	c.log(warn, osmlog.Trap(n, from, d.Packet.TID()), "text", text)
	if number := n.TrapNumber(); n.IsGeneric() && (number == smp.TrapBadPKey || number == smp.TrapBadQKey) {
		c.log(warn, osmlog.BadKey(n))
	}
	c.tellSender(n, from)
}

// tellSender tells where a trap came from, and that it is reported.
func (c *Core) tellSender(n *smp.Notice, from mad.LID) {
	if c.view == nil {
		return
	}
	p := c.view.LIDs.PortOf(from)
	if p == topo.None {
		return
	}
	if route, ok := c.view.Topo.RouteTo(p); ok && n.IsGeneric() {
		c.log(info, osmlog.TrapPath(n.TrapNumber(), route))
	}
	c.log(info, osmlog.Reporting(n, c.view.Topo.Ports[p].GUID))
}

// isRound reports whether a number is 10, 20, 50, 100, 200 and so on.
func isRound(n int) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1 || n == 2 || n == 5
}

// series finds the series of a trap and adds to it.
func (c *Core) series(n *smp.Notice) *trapSeries {
	key := trapKey{lid: n.IssuerLID(), digest: crc32.ChecksumIEEE(n[:])}
	switch n.TrapNumber() {
	case smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl:
		key.port = n.PortError().PortNum()
	}
	s := c.traps.series[key]
	if s == nil {
		if len(c.traps.series) >= maxSeries {
			c.forgetSeries()
		}
		s = &trapSeries{}
		if len(c.traps.series) >= maxSeries {
			c.traps.overflow++
		} else {
			c.traps.series[key] = s
		}
	}
	if c.now-s.last > trapWindow {
		s.count = 0
	}
	s.last = c.now
	s.count++
	return s
}

// forgetSeries drops the series that have ended.
func (c *Core) forgetSeries() {
	for k, s := range c.traps.series {
		if c.now-s.last > trapWindow {
			delete(c.traps.series, k)
		}
	}
}

// trapSweep asks for a heavy sweep, at once or when the storm allows. full asks about
// everything, not only where ports have changed their state.
func (c *Core) trapSweep(full bool, why string) {
	t := &c.traps
	t.full = t.full || full
	if t.due > 0 {
		return
	}
	switch t.sweeps++; {
	case c.now-t.last > trapWindow || t.last == 0:
		t.holdOff, t.sweeps = 0, 1
	case t.sweeps <= calmSweeps:
		t.holdOff = minHoldOff
	default:
		t.holdOff = min(2*t.holdOff, maxHoldOff)
	}
	t.due, t.why = max(c.now, t.last+t.holdOff), why
}

// trapsDue begins what traps have asked for, when it is time.
func (c *Core) trapsDue() {
	c.heal()
	t := &c.traps
	if t.due > 0 && t.due <= c.now {
		t.due, t.last = 0, c.now
		c.full = c.full || t.full
		c.wantQuick(t.why)
		if !t.full {
			c.hurry()
		}
		t.full = false
	}
}

// localChange takes trap 144. A changed description is asked for by itself, since no walk
// asks for one that it knows; anything else can mean a new subnet manager.
func (c *Core) localChange(d *smp.LocalChangeDetails) {
	if d.OtherLocalChanges() && d.ChangeFlags()&smp.ChangedNodeDescription != 0 {
		c.describeNode(d.LID())
		if d.ChangeFlags() == smp.ChangedNodeDescription {
			return
		}
	}
	if c.cfg.IgnoreTraps {
		return
	}
	c.log(debug, osmlog.TrapSweep(smp.TrapLocalChange))
	c.trapSweep(true, "trap 144 of LID "+d.LID().String()+": a port changed its capabilities")
}

// portTrouble takes traps 129 to 131: errors at a port. One that does not stop makes
// the port unhealthy, and its link is avoided where there is another way. A port is
// shut off only where the operator has asked for that.
func (c *Core) portTrouble(n *smp.Notice, s *trapSeries) {
	e := n.PortError()
	if s.count >= babbleCount {
		if off, ok := c.sweeper.ShutOff(e.LID(), e.PortNum()); ok {
			c.log(erro, "port babbles and is disabled, as babbling_port_policy asks", "lid", e.LID(), "port", e.PortNum(), "disabled_guid", off.Node, "disabled_port", off.Port)
			c.trapSweep(false, fmt.Sprintf("port %d of LID %v babbles", e.PortNum(), e.LID()))
		}
	}
	for i := range c.traps.noisy {
		if p := &c.traps.noisy[i]; p.lid == e.LID() && p.port == e.PortNum() {
			p.until = c.now + unhealthyFor
			return
		}
	}
	if s.count < noisyCount {
		return
	}
	key, news := c.sweeper.Avoid(e.LID(), e.PortNum())
	if !news {
		return
	}
	c.traps.noisy = append(c.traps.noisy, noisyPort{e.LID(), e.PortNum(), key, c.now + unhealthyFor})
	c.log(warn, "port is unhealthy: its link is avoided", "lid", e.LID(), "port", e.PortNum(), "text", describe(n))
	c.trapSweep(false, fmt.Sprintf("port %d of LID %v is unhealthy", e.PortNum(), e.LID()))
}

// heal believes in ports again whose traps have stopped.
func (c *Core) heal() {
	left := c.traps.noisy[:0]
	for _, p := range c.traps.noisy {
		if p.until > c.now {
			left = append(left, p)
			continue
		}
		c.sweeper.Heal(p.key)
		c.log(info, "port is healthy again", "lid", p.lid, "port", p.port)
		c.trapSweep(false, "a port is healthy again")
	}
	c.traps.noisy = left
}

// trapDeadline is the next time that traps have something to be done; false for
// never.
func (c *Core) trapDeadline() (at time.Duration, ok bool) {
	at, ok = c.traps.due, c.traps.due > 0
	for _, p := range c.traps.noisy {
		if !ok || p.until < at {
			at, ok = p.until, true
		}
	}
	return at, ok
}

// describe is a notice in a few words.
func describe(n *smp.Notice) string {
	if !n.IsGeneric() {
		return fmt.Sprintf("vendor notice %d", uint16(n.TrapNumber()))
	}
	number := n.TrapNumber()
	switch number {
	case smp.TrapLinkState:
		return fmt.Sprintf("128 link state change at switch LID %v", n.LinkState().LID())
	case smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl:
		e := n.PortError()
		return fmt.Sprintf("%d errors at LID %v port %d", uint16(number), e.LID(), e.PortNum())
	case smp.TrapLocalChange:
		return fmt.Sprintf("144 local change at LID %v", n.LocalChange().LID())
	case smp.TrapSystemImageGUID:
		return fmt.Sprintf("145 SystemImageGUID of LID %v is %v", n.SystemImage().LID(), n.SystemImage().SystemImageGUID())
	case smp.TrapBadMKey:
		k := n.BadMKey()
		return fmt.Sprintf("256 bad M_Key shown to LID %v: %v of attribute %v", k.LID(), k.Method(), k.AttributeID())
	case smp.TrapBadPKey, smp.TrapBadQKey:
		k := n.BadKey()
		return fmt.Sprintf("%d bad key 0x%x from LID %v to LID %v", uint16(number), k.Key(), k.LID1(), k.LID2())
	case smp.TrapSwitchBadPKey:
		k := n.SwitchBadPKey()
		return fmt.Sprintf("259 bad P_Key %v from LID %v to LID %v at switch LID %v port %d", k.PKey(), k.LID1(), k.LID2(), k.SwitchLID(), k.PortNum())
	}
	return fmt.Sprintf("%d", uint16(number))
}
