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
	// ReadRate is how many packets a second a Reader has itself sent on average.
	ReadRate = 10_000
	// ReadSlack is how much older than a master's last sign of life a reading may be and
	// still be taken for all there was.
	ReadSlack = 3 * time.Second

	afterReport    = 100 * time.Millisecond // a reading, unless it is to rest longer
	readAgain      = 10 * time.Second       // what is refused
	subscribeAgain = 10 * time.Second
)

// maxTable bounds each table that is read, in bytes.
const maxTable = 128 << 20

// Reader is a standby's end where the master is of another kind, as OpenSM. It asks the
// master's SA for all that is registered, again and again, as anybody may who knows its
// SM_Key, and has itself told of groups that come and go. It belongs to one goroutine;
// times never run backwards.
type Reader struct {
	cfg     Config
	master  Master
	client  *client.Client
	reading *Reading      // under way; nil while none is
	asks    part          // of it
	due     time.Duration // of the next one
	rest    time.Duration // until which none begins
	signUp  time.Duration // until which nothing is subscribed to again
	signed  bool          // to something
	answers []client.Answer
	stats   ReaderStats
}

// ReaderStats counts what a Reader has done.
type ReaderStats struct {
	Master   mad.GUID      // whose tables are read now; 0 for nobody
	Readings uint64        // that have ended
	Certain  uint64        // of them, those that were all there was
	Failures uint64        // questions without an answer that is of use
	Reports  uint64        // of ports and groups that came and went
	Began    time.Duration // when the last one began that was all there was; 0 never
	Took     time.Duration // by the last one
	Doubt    string        // why the last one may not be all there was; "" if it is
}

// NewReader returns an end that reads nobody's tables.
func NewReader(cfg Config) *Reader { return &Reader{cfg: cfg} }

// Configure takes another configuration.
func (r *Reader) Configure(cfg Config) { r.cfg = cfg }

// Follow says whose tables to read from now on. Who was master before has its SA no more,
// and so cannot be told that we do not want to be told.
func (r *Reader) Follow(now time.Duration, m Master) {
	if m == r.master {
		return
	}
	r.master, r.reading, r.signed = m, nil, false
	r.stats.Began, r.stats.Doubt = 0, ""
	r.due, r.rest, r.signUp = now, now, now
	r.client = client.New(client.Config{SA: mad.Addr{LID: m.LID, QPN: 1}, MaxTable: maxTable})
}

// Leave follows nobody any more, and appends the packets that end our subscriptions.
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

// Receive takes an answer of the master's SA, and returns true and the reading that it
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

// Expire gives up what has not been answered in time, and returns true and the reading
// that has ended by that.
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

// Report takes a Report and returns what acknowledges it; false where it is not from the
// master. Of a group that has come or gone it makes us read soon; until then known is
// false: what was read is not all there is.
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

// Deadline is when Expire and Output are to be called even if nothing happens; false for
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

// answered takes an answer, asks what comes next, and returns true and the reading when
// that was the last.
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
	r.stats.Took, r.stats.Doubt = now-x.Began, x.Doubt
	if x.Doubt == "" && !x.Overtaken {
		r.stats.Certain++
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

// wanted are the traps that we have ourselves told of.
var wanted = [...]smp.TrapNumber{smp.TrapGIDInService, smp.TrapGIDOutOfService, smp.TrapGroupCreated, smp.TrapGroupDeleted}

// subscribe asks to be told of what we are not told of yet.
func (r *Reader) subscribe(now time.Duration, x *Reading) {
	if !x.has[partInforms] || len(x.told) == len(wanted) || r.signUp > now {
		return
	}
	r.signed, r.signUp = true, now+subscribeAgain
	for i, trap := range wanted {
		if !x.told[trap] {
			r.client.Ask(uint64(parts)+uint64(i), subscription(trap, 1))
		}
	}
}

// subscription is a question to be told of a trap, or not to be any more.
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

// respTime is how long we take to answer a Report at most: 4.096 us x 2^18, a second.
const respTime = 18
