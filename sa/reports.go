package sa

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	osmlog "ibsm/opensm/log"
	"ibsm/registry"
	"ibsm/topo"
)

// notice is an event that subscriptions may ask for.
type notice struct {
	sarec.Notice
	event registry.Event

	// Only members of the partition may know, or else ports that share a P_Key with the port.
	group mad.PKey // 0 where it is about a port
	port  mad.GUID
	keys  *topo.PKeyTable
}

// reports are the Reports that wait or are under way. Each subscriber is sent one at a
// time, in order, and only few of those that did not answer the last one have any under way,
// so that they delay nobody else.
type reports struct {
	table   *txn.Table
	notices []*notice               // to be compared with subscriptions
	queues  map[mad.GID]*subscriber // that Reports wait for
	ready   []*subscriber           // those with nothing under way
	retried []*subscriber           // the same, if they are unresponsive
	flying  map[uint64]*subscriber  // the others, by tag
	retries int                     // of flying, those that are unresponsive
	tag     uint64
	waiting int // Reports in queues
	ended   []txn.Outcome

	unresponsive map[mad.GID]struct{} // did not answer the last Report; at most maxUnresponsive
}

func newReports(table *txn.Table, tag uint64) reports {
	return reports{table: table, tag: tag, queues: map[mad.GID]*subscriber{}, flying: map[uint64]*subscriber{},
		unresponsive: map[mad.GID]struct{}{}}
}

const (
	// maxRetried is how many unresponsive subscribers have a Report under way at a time. Half
	// of the window that a Table begins with stays free for the others.
	maxRetried      = 8
	maxUnresponsive = 1 << 16
)

// subscriber is a port that Reports wait for.
type subscriber struct {
	gid          mad.GID
	unresponsive bool // when the first Report was queued
	queue        []report
}

type report struct {
	*notice
	to registry.Destination
}

// clear drops all.
func (p *reports) clear() {
	p.ended = p.table.Cancel(p.ended[:0])
	ended := p.ended
	*p = newReports(p.table, p.tag)
	p.ended = ended
}

// deadline is when there is something to be done.
func (p *reports) deadline(now time.Duration) (time.Duration, bool) {
	if len(p.notices) > 0 {
		return now, true
	}
	return p.table.Deadline()
}

// groupEvent reports that a group was created or deleted.
func (r *Registrar) groupEvent(trap smp.TrapNumber, g *registry.Group) {
	r.stats.Refusals.grouped(r.asks, osmlog.ReportingGroup(trap, g.MGID))
	n := r.own(trap, g.MGID)
	n.group = g.PKey
	r.publish(n)
}

// portEvent reports that a port or vPort of a Topo came or went.
func (r *Registrar) portEvent(trap smp.TrapNumber, t *topo.Topo, e topo.EndIdx) {
	n := r.own(trap, mad.MakeGID(r.view.Subnet.Prefix, t.EndGUID(e)))
	n.port, n.keys = t.EndGUID(e), t.EndPKeys(e)
	r.publish(n)
}

// own is a notice of the SA's own about an address.
func (r *Registrar) own(trap smp.TrapNumber, about mad.GID) *notice {
	n := &notice{}
	s, self := n.Notice.Notice(), &r.view.SMs[0]
	s.SetIsGeneric(true)
	s.SetType(smp.NoticeSubnetManagement)
	s.SetProducerType(smp.ProducerClassManager)
	s.SetTrapNumber(trap)
	s.SetIssuerLID(self.LID)
	s.Address().SetGID(about)
	n.SetIssuerGID(mad.MakeGID(r.view.Subnet.Prefix, self.GUID))
	return n
}

// forward reports a trap, unless its issuer is not known.
func (r *Registrar) forward(trap *smp.Notice) {
	if r.view == nil {
		return
	}
	p := r.view.EndOfLID(trap.IssuerLID())
	if p == topo.None {
		r.count.NoticesDropped++
		return
	}
	n := &notice{port: r.view.Topo.EndGUID(p), keys: r.view.Topo.EndPKeys(p)}
	*n.Notice.Notice() = *trap
	n.SetIssuerGID(r.portGID(p))
	r.publish(n)
}

// publish has a notice compared with the subscriptions.
func (r *Registrar) publish(n *notice) {
	if len(r.reports.notices) >= maxEvents {
		r.count.NoticesDropped++
		return
	}
	r.count.Notices++
	s := n.Notice.Notice()
	n.event = registry.Event{
		IssuerGID: n.IssuerGID(), IssuerLID: s.IssuerLID(), Generic: s.IsGeneric(), Type: uint8(s.Type()),
		Trap: uint16(s.TrapNumber()), Producer: uint32(s.ProducerType()),
	}
	r.reports.notices = append(r.reports.notices, n)
}

// report compares notices with subscriptions and sends Reports, as many as one Step may.
func (r *Registrar) report() {
	p := &r.reports
	if r.view == nil {
		return
	}
	for done := 0; len(p.notices) > 0 && done < matchesAStep; done += 1 + r.reg.Counts().Subscriptions {
		n := p.notices[0]
		p.notices[0] = nil
		p.notices = p.notices[1:]
		for sub := range r.reg.Matching(&n.event) {
			r.queue(n, &sub)
		}
	}
	p.ended = p.table.Expire(r.now, p.ended[:0])
	for i := range p.ended {
		r.reportEnded(&p.ended[i])
	}
	for len(p.ready) > 0 && p.table.Room() > 0 && r.submit(p.ready[0]) {
		p.ready[0] = nil
		p.ready = p.ready[1:]
	}
	for len(p.retried) > 0 && p.retries < maxRetried && p.table.Room() > 0 && r.submit(p.retried[0]) {
		p.retries++
		p.retried[0] = nil
		p.retried = p.retried[1:]
	}
	r.effects.Send = p.table.Output(r.now, r.effects.Send)
}

// queue queues the Report of a notice, if the subscriber is there and may know of it. Traps
// about keys go only to those that asked for them by number, for which they had to be trusted.
func (r *Registrar) queue(n *notice, sub *registry.Subscription) {
	port := r.portOf(sub.Subscriber.GUID())
	if port == topo.None || !r.mayKnow(port, n) || sub.Trap == registry.AnyTrap &&
		isSecurity(n.event.Generic, n.event.Trap) {
		return
	}
	p := &r.reports
	s := p.queues[sub.Subscriber]
	if p.waiting >= maxReports || s != nil && len(s.queue) >= maxPortReports {
		r.count.ReportsDropped++
		return
	}
	if s == nil {
		s = &subscriber{gid: sub.Subscriber}
		p.queues[sub.Subscriber] = s
		if _, s.unresponsive = p.unresponsive[s.gid]; s.unresponsive {
			p.retried = append(p.retried, s)
		} else {
			p.ready = append(p.ready, s)
		}
	}
	to := sub.Destination
	to.Addr = r.reaching(port, sub.Subscriber, to.Addr)
	s.queue = append(s.queue, report{n, to})
	p.waiting++
}

// mayKnow reports whether a port may know of a notice.
func (r *Registrar) mayKnow(p topo.EndIdx, n *notice) bool {
	if n.group != 0 {
		return r.holds(p, n.group)
	}
	keys := r.view.Topo.EndPKeys(p)
	if r.view.Topo.EndGUID(p) == n.port || keys == nil || n.keys == nil {
		return true
	}
	_, ok := keys.Common(n.keys)
	return ok
}

// submit sends the next Report of a subscriber.
func (r *Registrar) submit(s *subscriber) bool {
	p := &r.reports
	next := &s.queue[0]
	var packet mad.Packet
	packet.SetHeader(mad.ClassSA, mad.MethodReport, sarec.AttrNotice, 0)
	copy(packet.SAData()[:], next.Notice[:])
	p.tag++
	if !p.table.Submit(&txn.Request{Packet: &packet, Addr: r.addr(&next.to), Tag: p.tag}) {
		return false
	}
	p.flying[p.tag] = s
	r.count.Reports++
	return true
}

// reported takes the answer to a Report, or the Report if nobody took it.
func (r *Registrar) reported(in *mad.Datagram) {
	if o, ended := r.reports.table.Match(r.now, in); ended {
		r.reportEnded(&o)
	}
}

// reportEnded ends a Report. A subscriber that does not answer keeps its subscriptions, but
// what waits for it is dropped.
func (r *Registrar) reportEnded(o *txn.Outcome) {
	p := &r.reports
	s := p.flying[o.Tag]
	if s == nil {
		return
	}
	delete(p.flying, o.Tag)
	if s.unresponsive {
		p.retries--
		s.unresponsive = false
	}
	n := 1
	if o.Result == txn.TimedOut {
		n = len(s.queue)
		r.count.Unanswered += uint64(n)
		if len(p.unresponsive) < maxUnresponsive {
			p.unresponsive[s.gid] = struct{}{}
		}
	} else {
		delete(p.unresponsive, s.gid)
	}
	p.waiting -= n
	if s.queue = s.queue[n:]; len(s.queue) > 0 {
		p.ready = append(p.ready, s)
	} else {
		delete(p.queues, s.gid)
	}
}
