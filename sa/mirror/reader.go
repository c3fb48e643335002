package mirror

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sa/client"
)

// Pace of a Reader.
const (
	// ReadInterval is the time from the end of one reading of a master's tables to the next;
	// more, where a Reader would be sent more than ReadRate packets a second.
	ReadInterval = time.Second
	// ReadRate is how many packets a second a Reader requests on average.
	ReadRate = 10_000
	// ReadSlack is how much older than a master's last answer a reading may be and still count
	// as complete.
	ReadSlack = 3 * time.Second

	afterReport    = 100 * time.Millisecond // until the next reading, unless rest is later
	readAgain      = 10 * time.Second       // until a refused table is asked for again
	subscribeAgain = 10 * time.Second
)

// maxTable bounds each table that is read, in bytes.
const maxTable = 128 << 20

// Reader is a standby's end where the master is not ibsm. It reads the registration tables of
// the master's SA at intervals, as any client with its SM_Key may, and subscribes to Reports
// of groups that are created and deleted. One goroutine owns it; times never run backwards.
type Reader struct {
	cfg     Config
	master  Master
	client  *client.Client
	reading *Reading      // under way; nil while none is
	asks    part          // of it that is being read
	due     time.Duration // when the next one begins
	rest    time.Duration // before which none begins
	signUp  time.Duration // before which it does not subscribe again
	signed  bool          // it has sent a subscription
	answers []client.Answer
	stats   ReaderStats
}

// ReaderStats counts what a Reader has done.
type ReaderStats struct {
	Master     mad.GUID      // whose tables are read now; 0 for none
	Readings   uint64        // that have ended
	Complete   uint64        // of them, those that had all
	Failures   uint64        // queries without a usable response
	Reports    uint64        // of ports and groups that came and went
	Began      time.Duration // when the last complete one began; 0 never
	Took       time.Duration // duration of the last one
	Incomplete string        // why the last one may be incomplete; "" if it is complete
}

// NewReader returns a Reader without a master.
func NewReader(cfg Config) *Reader { return &Reader{cfg: cfg} }

// Configure takes another configuration.
func (r *Reader) Configure(cfg Config) { r.cfg = cfg }

// Follow sets the master whose tables to read from now on. The previous master has no SA any
// more, so its subscriptions need no end.
func (r *Reader) Follow(now time.Duration, m Master) {
	if m == r.master {
		return
	}
	r.master, r.reading, r.signed = m, nil, false
	r.stats.Began, r.stats.Incomplete = 0, ""
	r.due, r.rest, r.signUp = now, now, now
	r.client = client.New(client.Config{SA: mad.Addr{LID: m.LID, QPN: 1}, MaxTable: maxTable})
}

// Leave stops reading, and appends the packets that end our subscriptions.
func (r *Reader) Leave(now time.Duration, out []mad.Datagram) []mad.Datagram {
	if r.signed {
		for i, trap := range wanted {
			r.client.Ask(uint64(parts)+uint64(i), subscription(trap, 0))
		}
		out = r.client.Output(now, out)
	}
	r.Follow(now, Master{})
	return out
}

// Receive takes a response of the master's SA, and returns true and the reading that it
// completes.
func (r *Reader) Receive(now time.Duration, d *mad.Datagram) (*Reading, bool) {
	if r.master.GUID == 0 {
		return nil, false
	}
	a, ok := r.client.Receive(now, d)
	if !ok {
		return nil, false
	}
	return r.answered(now, &a)
}

// Expire drops queries without a response in time, and returns true and the reading that ends
// by that.
func (r *Reader) Expire(now time.Duration) (done *Reading, ok bool) {
	if r.master.GUID == 0 {
		return nil, false
	}
	r.answers = r.client.Expire(now, r.answers[:0])
	for i := range r.answers {
		if x, ended := r.answered(now, &r.answers[i]); ended {
			done, ok = x, true
		}
	}
	return done, ok
}

// Report takes a Report and returns its acknowledgement; ok is false if it is not from the
// master. If a group was created or deleted, the next reading begins soon; until then known
// is false: the last reading is incomplete.
func (r *Reader) Report(now time.Duration, d *mad.Datagram) (ack mad.Datagram, known, ok bool) {
	if r.master.GUID == 0 || d.LID != r.master.LID || d.Packet.AttrID() != sarec.AttrNotice {
		return ack, false, false
	}
	ack = *d
	ack.Packet.SetMethod(mad.MethodReportResp)
	n := (*sarec.Notice)(d.Packet.SAData()[:len(sarec.Notice{})]).Notice()
	switch trap := n.TrapNumber(); {
	case !n.IsGeneric() || trap < smp.TrapGIDInService || trap > smp.TrapGroupDeleted:
		return ack, true, true
	case trap == smp.TrapGIDInService || trap == smp.TrapGIDOutOfService:
		known = true // its registrations stay for some time
	}
	r.stats.Reports++
	r.due = min(r.due, max(now+afterReport, r.rest))
	if r.reading != nil {
		r.reading.Overtaken = r.reading.Overtaken || !known
	}
	return ack, known, true
}

// Output begins what is due and appends the packets to send.
func (r *Reader) Output(now time.Duration, out []mad.Datagram) []mad.Datagram {
	if r.master.GUID == 0 {
		return out
	}
	if r.reading == nil && r.due <= now {
		r.reading = &Reading{Master: r.master.GUID, Began: now, own: r.master.Self}
		r.ask(0)
	}
	return r.client.Output(now, out)
}

// Deadline is when the caller must call Expire and Output even without a packet; false for
// never.
func (r *Reader) Deadline() (at time.Duration, ok bool) {
	if r.master.GUID == 0 {
		return 0, false
	}
	at, ok = r.client.Deadline()
	if r.reading == nil && (!ok || r.due < at) {
		at, ok = r.due, true
	}
	return at, ok
}

// Stats is a copy of the counters.
func (r *Reader) Stats() ReaderStats {
	st := r.stats
	st.Master = r.master.GUID
	return st
}

// ask asks for a part of the reading.
func (r *Reader) ask(p part) {
	r.asks = p
	r.client.Ask(uint64(p), r.reading.question(p, r.cfg.SAKey))
}

// answered takes a response, sends the next query, and returns true and the reading after the
// last one.
func (r *Reader) answered(now time.Duration, a *client.Answer) (*Reading, bool) {
	x := r.reading
	if x == nil || a.Tag != uint64(r.asks) {
		return nil, false // to a subscription; the next reading shows what came of it
	}
	if !x.take(r.asks, a) {
		r.stats.Failures++
	}
	if next := r.asks + 1; next < parts && x.lid != 0 {
		r.ask(next)
		return nil, false
	}
	x.judge(&r.cfg)
	r.reading = nil
	r.stats.Readings++
	r.stats.Took, r.stats.Incomplete = now-x.Began, x.Incomplete
	if x.Incomplete == "" && !x.Overtaken {
		r.stats.Complete++
		r.stats.Began = x.Began
	}
	r.plan(now, x)
	r.subscribe(now, x)
	return x, true
}

// plan says when to read again.
func (r *Reader) plan(now time.Duration, x *Reading) {
	switch {
	case x.lid == 0: // it is not ready yet, or not any more
		r.rest, r.due = now, now+ReadInterval
		return
	case !x.complete():
		r.rest = now + readAgain
	default:
		r.rest = max(now, x.Began+time.Duration(x.packets)*time.Second/ReadRate)
	}
	r.due = max(now+ReadInterval, r.rest)
	if x.Overtaken {
		r.due = max(now+afterReport, r.rest)
	}
}

// wanted are the traps that a Reader subscribes to.
var wanted = [...]smp.TrapNumber{smp.TrapGIDInService, smp.TrapGIDOutOfService, smp.TrapGroupCreated,
	smp.TrapGroupDeleted}

// subscribe subscribes to the wanted traps that the master has no subscription for.
func (r *Reader) subscribe(now time.Duration, x *Reading) {
	if !x.has[partInforms] || len(x.subscribed) == len(wanted) || r.signUp > now {
		return
	}
	r.signed, r.signUp = true, now+subscribeAgain
	for i, trap := range wanted {
		if !x.subscribed[trap] {
			r.client.Ask(uint64(parts)+uint64(i), subscription(trap, 1))
		}
	}
}

// subscription is a request to begin or, with subscribe 0, end a subscription to a trap.
func subscription(trap smp.TrapNumber, subscribe uint8) *client.Query {
	var info sarec.InformInfo
	info.SetLIDRangeBegin(0xffff)
	info.SetIsGeneric(1)
	info.SetSubscribe(subscribe)
	info.SetType(0xffff)
	info.SetTrapNumber(uint16(trap))
	info.SetQPN(1)
	info.SetRespTimeValue(respTime)
	info.SetProducerType(0xffffff)
	return &client.Query{Method: mad.MethodSet, Attr: sarec.AttrInformInfo, Record: info[:]}
}

// respTime is the longest time until a Report is acknowledged: 4.096 us x 2^18, a second.
const respTime = 18
