package mkeys

import (
	"container/heap"
	"fmt"
	"iter"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/plan"
	"ibsm/sweep/program"
	"ibsm/topo"
)

// Leases is the machine that renews the leases of M_Keys. A refused SMP starts the countdown of a port's lease, and an
// SMP with the M_Key ends it (IBA 14.2.4). A TrapRepress does so as well, but not every port sends trap 256. So the
// PortInfo of each port whose lease can run out is read with its M_Key, a third of the lease after it was read before,
// beside all sweeps: which of these are made, and when, depends on links and traps, and so on what the owner of any
// host does. What they read besides puts no deadline off. Ports are read one after the other, not all at once.
type Leases struct {
	sweeps  func() Sweeps
	ports   map[mad.GUID]*lease
	queue   leaseQueue        // of those that wait, the one with the first deadline on top
	quiet   leaseQueue        // likewise, of those that are quiet
	asked   map[uint64]*lease // by the tag of the request
	unheard int               // of asked, those that came from quiet
	last    uint64            // tag
	subnet  *topo.Topo        // whose ports are known; nil where a walk alone has found them
	follows bool              // a program has written to it since
	walks   uint64            // Sweeps.Walks at the last walk whose answers were taken
	scanned time.Duration     // when they were looked for
	scans   uint64
}

// lease is that of a port.
type lease struct {
	agent
	state  leaseState
	due    time.Duration // the deadline
	sent   time.Duration // when it was asked last
	open   bool          // it has lost its protection, which was reported
	missed uint8         // reads in a row that it has not answered, since a walk has heard it
	scan   uint64        // the last one that has found the port
	index  int           // in the queue
}

// leaseState is how far the renewal of a lease is.
type leaseState uint8

const (
	leaseWaits  leaseState = iota // for its deadline
	leasePutOff                   // likewise, for a second one: at the first a program was about to change the M_Key
	leaseAsked                    // the port is asked
)

func (s leaseState) String() string {
	return [...]string{"waits", "put off", "asked"}[s]
}

const (
	// leaseTick is the resolution of deadlines: reads due within it are sent together.
	leaseTick = 50 * time.Millisecond
	// scanPause is how often ports are looked for that a program has given a lease. It goes on for minutes where it
	// sets M_Keys rack by rack.
	scanPause = time.Second
)

// quietAfter is after how many reads without an answer a port is quiet, and maxUnheard how many of these are asked at a
// time. They must not keep others waiting: a request without answer is under way for all its attempts.
const (
	quietAfter = 2
	maxUnheard = 16
)

// RenewalsPerLease is how often a port is read in the time of its lease: two reads may be lost.
const RenewalsPerLease = 3

// period is the time between two reads.
func (a *agent) period() time.Duration { return a.length / RenewalsPerLease }

// quiet reports whether a port has not answered for some time.
func (l *lease) quiet() bool { return l.missed >= quietAfter }

// agent is a port with a lease, as it was read last.
type agent struct {
	port    mad.GUID
	route   mad.Route
	mod     uint32
	key     mad.MKey
	protect uint8
	length  time.Duration
	answers bool // a walk has heard it
}

// agentOf is the agent with a PortInfo; ok is false where its M_Key has no lease that can run out.
func agentOf(port mad.GUID, info *smp.PortInfo) (a agent, ok bool) {
	lease := info.MKeyLeasePeriod()
	if info.MKey() == 0 || info.MKeyProtectBits() == 0 || lease == 0 {
		return a, false
	}
	return agent{port: port, key: info.MKey(), protect: info.MKeyProtectBits(),
		length: time.Duration(lease) * time.Second}, true
}

// Sweeps are what the sweeps have made of the subnet and its M_Keys by now.
type Sweeps struct {
	Prev    *topo.Topo       // the subnet as the last sweep left it; nil for none
	Program *program.Program // that runs; nil for none
	Changes bool             // Program changes M_Keys
	Walks   uint64           // programs that began after walks that asked all ports
	Wanted  plan.MKeys       // by the settings
	Knocked map[mad.GUID]time.Duration
}

// NewLeases has no leases until a walk or a sweep has found ports.
func NewLeases(sweeps func() Sweeps) *Leases {
	l := &Leases{sweeps: sweeps}
	l.Forget()
	return l
}

// Forget ends all renewals: this manager is not master any more, or reaches nobody.
func (l *Leases) Forget() {
	*l = Leases{sweeps: l.sweeps, ports: map[mad.GUID]*lease{}, asked: map[uint64]*lease{}, last: l.last}
}

// Found takes the ports that the first walk of a term has read since a time: their leases may run out before the first
// plan is computed.
func (l *Leases) Found(since time.Duration, b *topo.Builder) {
	if l.sweeps().Prev != nil {
		return // Follow finds them
	}
	var agents []agent
	for at, info := range endPorts(b) {
		node := b.Node(at.Node)
		if a, ok := agentOf(b.PortGUID(at), info); ok {
			if a.route, ok = b.RouteTo(at); ok {
				a.mod, a.answers = smp.PortInfoMod(at.Port, node.GetsExtended), true
				agents = append(agents, a)
			}
		}
	}
	l.scanned = since
	l.take(since, agents)
}

// endPorts are the ports that a walk has read and that have an agent: port 0 of switches, and all ports of other nodes.
func endPorts(b *topo.Builder) iter.Seq2[topo.End, *smp.PortInfo] {
	return func(yield func(topo.End, *smp.PortInfo) bool) {
		for n := range int32(b.Len()) {
			node := b.Node(n)
			first, last := 1, int(node.NumPorts)
			if node.Type == mad.Switch {
				first, last = 0, 0
			}
			for num := first; num <= last && !b.Dropped(n); num++ {
				at := topo.End{Node: n, Port: uint8(num)}
				if info := b.Port(at); info != nil && !yield(at, info) {
					return
				}
			}
		}
	}
}

// Follow takes the ports of the subnet as the last sweep left it, and as the replies to a program change it.
func (l *Leases) Follow(now time.Duration) {
	s := l.sweeps()
	t, runs := s.Prev, s.Program != nil
	switch {
	case runs:
		t = s.Program.Topo
	case t == nil && l.follows:
		t = l.subnet // the program was given up
	}
	walked := s.Walks != l.walks // a quick walk takes ports for as they were
	if t == nil || t == l.subnet && !walked && (!l.follows && !runs || runs && now < l.scanned+scanPause) {
		return
	}
	since := l.scanned
	l.subnet, l.follows, l.scanned, l.walks = t, runs, now, s.Walks
	var agents []agent
	for _, p := range t.EndPorts {
		if a, ok := agentOf(t.Ports[p].GUID, &t.Ports[p].Info); ok {
			if agents == nil { // growing bit by bit would move megabytes
				agents = make([]agent, 0, len(t.EndPorts))
			}
			if a.route, ok = t.RouteTo(p); ok {
				a.mod, a.answers = smp.PortInfoMod(t.Ports[p].Num, t.Nodes[t.Ports[p].Node].GetsExtended),
					walked && t.Answers(p)
				agents = append(agents, a)
			}
		}
	}
	l.take(since, agents)
}

// take takes all ports with a lease. Those that are new were read after a time: their deadlines are spread over the
// time between two reads.
func (l *Leases) take(since time.Duration, agents []agent) {
	l.scans++
	mkeys := l.sweeps().Wanted
	for i := range agents {
		a := &agents[i]
		if mkeys.NoLookup && !mkeys.PerPort && a.key != mkeys.One {
			continue // no request shows its M_Key
		}
		e := l.ports[a.port]
		if e == nil {
			e = &lease{agent: *a, scan: l.scans}
			e.due = since + e.period()*time.Duration(i+1)/time.Duration(len(agents))
			l.ports[a.port] = e
			heap.Push(&l.queue, e)
			continue
		}
		shorter := max(e.period()-a.period(), 0)
		e.agent, e.scan, e.open = *a, l.scans, false
		if heard := e.missed > 0 && a.answers; e.state != leaseAsked && (heard || shorter > 0) {
			heap.Remove(l.queueOf(e), e.index)
			if e.due -= shorter; heard {
				e.missed = 0
			}
			heap.Push(l.queueOf(e), e)
		}
	}
}

// queueOf is where a lease waits.
func (l *Leases) queueOf(e *lease) *leaseQueue {
	if e.quiet() {
		return &l.quiet
	}
	return &l.queue
}

// Next is the next request to make; ok is false when there is none now. Only where there is room, quiet ports are
// asked.
func (l *Leases) Next(now time.Duration, room bool) (req txn.Request, ok bool) {
	if req, ok = l.next(now, &l.queue); !ok && room && l.unheard < maxUnheard {
		req, ok = l.next(now, &l.quiet)
	}
	return req, ok
}

// next is Next for a queue.
func (l *Leases) next(now time.Duration, q *leaseQueue) (req txn.Request, ok bool) {
	for len(*q) > 0 && (*q)[0].due <= now {
		e := (*q)[0]
		if e.scan != l.scans {
			heap.Pop(q)
			delete(l.ports, e.port)
			continue
		}
		if l.putsOff(e) {
			heap.Fix(q, 0)
			continue
		}
		heap.Pop(q)
		if e.quiet() {
			l.unheard++
		}
		l.last++
		e.state, e.sent, l.asked[l.last] = leaseAsked, now, e
		return txn.Request{Class: mad.ClassDirected, Route: e.route, Method: mad.MethodGet, Attr: smp.AttrPortInfo,
			Mod: e.mod, MKey: e.key, Tag: l.last}, true
	}
	return req, false
}

// putsOff notes what a program that runs has made of the M_Key of a port. Where it is about to change it the port is
// asked once more as late, so that it is not shown the M_Key of before when it has the new one already; and not at all
// while the Set is on its way, which shows the right one.
func (l *Leases) putsOff(e *lease) bool {
	s := l.sweeps()
	p := s.Program
	if p == nil || !s.Changes {
		return false
	}
	at := p.Topo.FindPort(e.port)
	if at == topo.None {
		return false
	}
	if key := p.Topo.MKey(at); key != 0 {
		e.key = key
	}
	if wanted := p.Plan.WithMKey(at); wanted.MKey() == e.key {
		return false
	}
	if e.state != leasePutOff {
		e.state, e.due = leasePutOff, e.due+e.period()
		return true
	}
	if p.Asks(at) {
		e.due += leaseTick
		return true
	}
	return false
}

// Done takes the outcome of a request. lost says what a full sweep has to find out; "" for nothing.
func (l *Leases) Done(o *txn.Outcome) (lost string) {
	e := l.asked[o.Tag]
	if e == nil {
		return ""
	}
	delete(l.asked, o.Tag)
	if e.quiet() {
		l.unheard--
	}
	if e.scan != l.scans {
		delete(l.ports, e.port)
		return ""
	}
	// The deadlines of a port stay at equal distances, so that those of all stay apart, also after many had to be asked
	// at once.
	e.state = leaseWaits
	if late := e.sent - e.due; late >= 0 {
		e.due += (late/e.period() + 1) * e.period()
	}
	switch {
	case o.Result == txn.TimedOut:
		e.missed = min(e.missed+1, quietAfter)
	case o.Result == txn.Replied:
		e.missed = 0
	}
	if o.Result == txn.Replied && o.Status == mad.StatusOK {
		lost = l.lost(e, (*smp.PortInfo)(&o.Data))
	}
	heap.Push(l.queueOf(e), e)
	return lost
}

// lost reports once that a port has lost the protection of its M_Key. Others may have written to a port that was open
// for a while. A program protects ports again, and a port may be open to another manager for a moment: see
// Lookup.Knock.
func (l *Leases) lost(e *lease, info *smp.PortInfo) string {
	if s := l.sweeps(); s.Program != nil || l.subnet == nil || e.open || s.Knocked[e.port] != 0 ||
		info.MKey() == e.key && info.MKeyProtectBits() >= e.protect {
		return ""
	}
	p := l.subnet.FindPort(e.port)
	if p == topo.None {
		return ""
	}
	e.open = true
	port := &l.subnet.Ports[p]
	node := &l.subnet.Nodes[port.Node]
	return fmt.Sprintf("port %d of node %v %q has lost the protection of its M_Key", port.Num, node.GUID, node.Desc)
}

// Cancelled takes that no request has an outcome: the ports are asked again.
func (l *Leases) Cancelled() {
	for _, e := range l.asked {
		e.state = leaseWaits
		heap.Push(l.queueOf(e), e)
	}
	clear(l.asked)
	l.unheard = 0
}

// Asked is how many requests have no outcome yet.
func (l *Leases) Asked() int { return len(l.asked) }

// Due is when Next has a request; false for never.
func (l *Leases) Due(room bool) (at time.Duration, ok bool) {
	if len(l.queue) > 0 {
		at, ok = l.queue[0].due, true
	}
	if room && len(l.quiet) > 0 && l.unheard < maxUnheard && (!ok || l.quiet[0].due < at) {
		at, ok = l.quiet[0].due, true
	}
	return (at + leaseTick - 1).Truncate(leaseTick), ok
}

// leaseQueue is a heap of leases by their deadlines.
type leaseQueue []*lease

func (q leaseQueue) Len() int { return len(q) }
func (q leaseQueue) Less(i, j int) bool {
	return q[i].due < q[j].due || q[i].due == q[j].due && q[i].port < q[j].port
}
func (q leaseQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push adds a lease.
func (q *leaseQueue) Push(x any) {
	e := x.(*lease)
	e.index = len(*q)
	*q = append(*q, e)
}

// Pop removes the last one.
func (q *leaseQueue) Pop() any {
	n := len(*q) - 1
	e := (*q)[n]
	(*q)[n] = nil
	*q = (*q)[:n]
	return e
}
