// Package hosts is a crowd of hosts on a simulated fabric that ask the SA what Linux
// hosts ask: for the broadcast group, to join it, for events, for paths. Each request
// is sent at its time whether or not earlier ones were answered, sent again as the
// kernel would, and given up when the kernel would give it up.
//
// A Crowd keeps the fabric's time and is called between its events, so it works in
// virtual and in real time; all that is random comes from one seed.
package hosts

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// Kind is what a request is for.
type Kind uint8

// Kinds.
const (
	BroadcastGroup Kind = iota // Get(MCMemberRecord) of the IPoIB broadcast group
	Join                       // Set(MCMemberRecord): full member of it
	Subscribe                  // Set(InformInfo)
	Path                       // Get(PathRecord) between two GIDs
	OwnGroup                   // Set(MCMemberRecord): the host's own group, which it makes
	Offer                      // Set(ServiceRecord)
	NumKinds
)

func (k Kind) String() string {
	return [...]string{"broadcast group", "join", "subscription", "path", "own group", "service"}[k]
}

// patience is how often and how long a request is tried. Linux's ib_sa divides the time
// that its caller gives into ten retries; subscriptions come from programs that use
// umad (srp_daemon, ibacm).
var patience = [NumKinds]struct {
	timeOut time.Duration
	tries   uint8
}{
	BroadcastGroup: {300 * time.Millisecond, 11},
	Join:           {300 * time.Millisecond, 11},
	Subscribe:      {time.Second, 4},
	Path:           {100 * time.Millisecond, 11},
	OwnGroup:       {300 * time.Millisecond, 11},
	Offer:          {time.Second, 4},
}

// traps are what each host subscribes to: ports and groups that come and go.
var traps = [...]uint16{64, 65, 66, 67}

// Crowd is the hosts. It is owned by whoever owns the fabric.
type Crowd struct {
	f       *fabric.Fabric
	random  *rand.Rand
	hosts   []host
	timers  timers         // of first transmissions
	retries [NumKinds]fifo // of retransmissions: all of a kind have the same timeout
	booting *Boot
	booted  int // hosts that have begun to boot
	asked   []request
	free    []uint32 // of asked
	open    int
	keep    int // requests for paths to be kept open
	report  Report
}

type host struct {
	at      fabric.VPort // of index 0: the port itself
	station *fabric.Station
	boots   time.Duration // not before
	begun   bool
}

// request is one that is open.
type request struct {
	host  uint32
	to    uint32 // the other host of a path
	kind  Kind
	tries uint8
	trap  uint16
	round uint16 // distinguishes requests in one slot of asked
	first time.Duration
	due   time.Duration
}

// New places a host at each of the end ports.
func New(f *fabric.Fabric, seed uint64, at []net.End) (*Crowd, error) {
	ports := make([]fabric.VPort, len(at))
	for i, end := range at {
		ports[i].At = end
	}
	return NewFunctions(f, seed, ports)
}

// NewFunctions places a host at each of the vPorts. At one that shares the LID of another, its requests have a GRH to
// the SA's well-known GID, as Linux sends them where a GRH is required. A host asks with the GID that its vPort has
// then.
func NewFunctions(f *fabric.Fabric, seed uint64, at []fabric.VPort) (*Crowd, error) {
	c := &Crowd{f: f, random: rand.New(rand.NewPCG(seed, 0x5a)), hosts: make([]host, len(at))}
	for i, v := range at {
		station, err := f.AttachVPort(v)
		if err != nil {
			return nil, fmt.Errorf("host %d: %w", i, err)
		}
		c.hosts[i] = host{at: v, station: station}
		station.OnReceive(func(d mad.Datagram) { c.received(uint32(i), &d) })
	}
	return c, nil
}

// Close takes all hosts away from their ports.
func (c *Crowd) Close() {
	for i := range c.hosts {
		c.hosts[i].station.Detach()
	}
}

// Boot is what every host does once its port is Active: it asks for the broadcast
// group, joins it, subscribes to four traps and asks for paths.
type Boot struct {
	Over  time.Duration // hosts boot at random moments of it
	Paths int           // each host asks for, to others at random
	Every time.Duration // between two of them
	// Own has each host join a group of its own and offer a service instead. It is a
	// other requests apart, since each host that has subscribed gets a Report for each new group.
	Own bool
}

// Begin has all hosts boot.
func (c *Crowd) Begin(m Boot) {
	c.booting, c.booted = &m, 0
	for i := range c.hosts {
		c.hosts[i].begun = false
		c.hosts[i].boots = c.f.Now() + time.Duration(c.random.Int64N(int64(max(m.Over, 1))))
	}
}

// Begun reports whether every host has begun to boot.
func (c *Crowd) Begun() bool { return c.booted == len(c.hosts) }

// Open is how many requests are waiting to be sent or answered.
func (c *Crowd) Open() int { return c.open }

// Step does what is due. Call it often: requests are sent only when it is called.
func (c *Crowd) Step() {
	c.boot()
	for len(c.timers) > 0 && c.timers[0].at <= c.f.Now() {
		c.rings(heap.Pop(&c.timers).(timer))
	}
	for kind := range c.retries {
		for t, ok := c.retries[kind].pop(c.f.Now()); ok; t, ok = c.retries[kind].pop(c.f.Now()) {
			c.rings(t)
		}
	}
}

// rings does what a timer is for, unless the request has ended.
func (c *Crowd) rings(t timer) {
	if r := &c.asked[t.request]; r.round == t.round && r.due == t.at {
		c.due(t.request)
	}
}

// boot boots the hosts whose time has come and whose ports are Active.
func (c *Crowd) boot() {
	if c.booting == nil || c.Begun() {
		return
	}
	for i := range c.hosts {
		h := &c.hosts[i]
		if h.begun || h.boots > c.f.Now() {
			continue
		}
		if !c.active(h) {
			continue
		}
		h.begun = true
		c.booted++
		c.plan(uint32(i))
	}
}

// active reports whether the port of a host is Active, and knows a master.
func (c *Crowd) active(h *host) bool {
	info := c.f.PortInfo(h.at.At)
	state := info.PortState()
	if h.at.Index > 0 {
		v := c.f.VPortInfo(h.at)
		state = v.VPortState()
	}
	return state == smp.PortActive && info.MasterSMLID() != 0
}

// sharesLID reports whether a host is reached with a GRH only.
func (c *Crowd) sharesLID(h *host) bool {
	if h.at.Index == 0 {
		return false
	}
	v := c.f.VPortInfo(h.at)
	return !v.LIDRequired()
}

// plan schedules the requests of one host that boots.
func (c *Crowd) plan(i uint32) {
	at := c.f.Now()
	if c.booting.Own {
		c.schedule(request{host: i, kind: OwnGroup, due: at})
		c.schedule(request{host: i, kind: Offer, due: at + 10*time.Millisecond})
		return
	}
	c.schedule(request{host: i, kind: BroadcastGroup, due: at})
	c.schedule(request{host: i, kind: Join, due: at + 10*time.Millisecond})
	for n, trap := range traps {
		c.schedule(request{host: i, kind: Subscribe, trap: trap, due: at + time.Duration(20+n)*time.Millisecond})
	}
	for n := range c.booting.Paths {
		c.schedule(
			request{host: i, to: c.other(i), kind: Path, due: at + 50*time.Millisecond +
				time.Duration(n)*c.booting.Every})
	}
}

func (c *Crowd) other(i uint32) uint32 {
	j := uint32(c.random.IntN(len(c.hosts) - 1))
	if j >= i {
		j++
	}
	return j
}

// Ask sends requests for paths between random hosts now.
func (c *Crowd) Ask(n int) {
	for range n {
		i := uint32(c.random.IntN(len(c.hosts)))
		c.due(c.place(request{host: i, to: c.other(i), kind: Path, due: c.f.Now()}))
	}
}

// KeepOpen sends so many requests for paths now, and another for each that ends. None
// are sent any more when n is 0.
func (c *Crowd) KeepOpen(n int) {
	c.Ask(n - c.keep)
	c.keep = n
}

// schedule has a request sent when it is due.
func (c *Crowd) schedule(r request) {
	n := c.place(r)
	heap.Push(&c.timers, timer{r.due, n, c.asked[n].round})
}

// place gives a request a place.
func (c *Crowd) place(r request) (n uint32) {
	if last := len(c.free) - 1; last >= 0 {
		n, c.free = c.free[last], c.free[:last]
		r.round = c.asked[n].round + 1
		c.asked[n] = r
	} else {
		n = uint32(len(c.asked))
		c.asked = append(c.asked, r)
	}
	c.open++
	return n
}

// due sends a request, for the first time or again, or gives it up.
func (c *Crowd) due(n uint32) {
	r := &c.asked[n]
	p := &patience[r.kind]
	kind := &c.report.Kinds[r.kind]
	switch {
	case r.tries == 0:
		r.first = c.f.Now()
		kind.Asked++
	case r.tries == p.tries:
		kind.GivenUp++
		c.end(n)
		return
	default:
		kind.Resent++
	}
	r.tries++
	r.due = c.f.Now() + p.timeOut
	c.retries[r.kind].push(timer{r.due, n, r.round})
	c.send(n, r)
}

// end frees the place of a request.
func (c *Crowd) end(n uint32) {
	c.asked[n].due = -1
	c.free = append(c.free, n)
	c.open--
	if c.keep > 0 {
		c.Ask(1)
	}
}

// wellKnownSA is the interface identifier by which any port reaches the SA (IBA 4.1.1).
const wellKnownSA mad.GUID = 0x0200000000000002

// tid holds the place of a request, and which of those that had it this is.
func tid(n uint32, round uint16) mad.TID { return mad.TID(round)<<32 | mad.TID(n) }

// send puts a request on the wire.
func (c *Crowd) send(n uint32, r *request) {
	h := &c.hosts[r.host]
	info := c.f.PortInfo(h.at.At)
	d := mad.Datagram{Addr: mad.Addr{LID: info.MasterSMLID(), QPN: 1, SL: info.MasterSMSL()}}
	if c.sharesLID(h) {
		d.GRH = mad.GRH{Present: true, GID: mad.MakeGID(info.GidPrefix(), wellKnownSA), HopLimit: 1}
	}
	p := &d.Packet
	r.write(c.f.VPortGID(h.at), p)
	if r.kind == Path {
		rec := (*sarec.PathRecord)(p.SAData()[:64])
		rec.SetDGID(c.f.VPortGID(c.hosts[r.to].at))
	}
	p.SetTID(tid(n, r.round))
	h.station.Send([]mad.Datagram{d})
}

// received takes what comes for a host: answers, and Reports, which it acknowledges.
func (c *Crowd) received(i uint32, d *mad.Datagram) {
	p := &d.Packet
	switch {
	case p.MgmtClass() != mad.ClassSA:
	case p.Method() == mad.MethodReport:
		c.report.Reports++
		ack := *d
		ack.Packet.SetMethod(mad.MethodReportResp)
		c.hosts[i].station.Send([]mad.Datagram{ack})
	case p.IsResponse():
		c.answered(i, p)
	}
}

func (c *Crowd) answered(i uint32, p *mad.Packet) {
	n := uint32(p.TID())
	if n >= uint32(len(c.asked)) {
		return
	}
	r := &c.asked[n]
	if r.host != i || r.due < 0 || r.tries == 0 || p.TID() != tid(n, r.round) {
		c.report.Late++
		return
	}
	kind := &c.report.Kinds[r.kind]
	if st := p.Status(); st != mad.StatusOK {
		kind.refuse(st)
	} else {
		kind.Took = append(kind.Took, c.f.Now()-r.first)
	}
	c.end(n)
}

// timer is a moment of a request.
type timer struct {
	at      time.Duration
	request uint32
	round   uint16
}

// timers is a heap of them.
type timers []timer

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].at < t[j].at }
func (t timers) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *timers) Push(x any)        { *t = append(*t, x.(timer)) }
func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}

// fifo is timers in the order in which they were pushed, which is that of their times.
type fifo struct {
	timers []timer
	head   int
}

func (q *fifo) push(t timer) {
	if q.head > len(q.timers)/2 {
		q.timers, q.head = q.timers[:copy(q.timers, q.timers[q.head:])], 0
	}
	q.timers = append(q.timers, t)
}

// pop is the first timer if it is due.
func (q *fifo) pop(now time.Duration) (timer, bool) {
	if q.head == len(q.timers) || q.timers[q.head].at > now {
		return timer{}, false
	}
	q.head++
	return q.timers[q.head-1], true
}
