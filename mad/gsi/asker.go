package gsi

import (
	"context"
	"time"

	"ibsm/mad"
	"ibsm/mad/txn"
)

// Asker has the requests of one user of QP1 under way: it sends them, again where no answer comes,
// and finds the request of each answer. Its requests leave with the lowest priority of their class.
//
// One goroutine is in Run, which calls the functions of Asking; Ask and SetMaxWindow may only be
// called by these. All other methods may be called by any goroutine.
type Asker struct {
	asking   Asking
	start    time.Time
	received chan mad.Datagram
	calls    chan func()
	wake     chan struct{} // has room for one
	table    *txn.Table
	refused  []uint64 // tags of requests for which the table had no room
	ended    []txn.Outcome
}

// Asking is what the user of an Asker does.
type Asking struct {
	// Answered takes the end of a request: its response, which is valid during the call, or nil for
	// none.
	Answered func(tag uint64, p *mad.Packet)
	// OnWake is called after Wake, once for any number of calls.
	OnWake func()
	// Due is when Tick has to be called, by Now; ok is false for never. Both may be nil.
	Due  func() (at time.Duration, ok bool)
	Tick func()
}

// maxReceived is how many responses wait. More are dropped, and asked for again.
const maxReceived = 1024

// NewAsker returns an Asker without requests.
func NewAsker(cfg txn.Config, asking Asking) *Asker {
	a := &Asker{asking: asking, start: time.Now(), received: make(chan mad.Datagram, maxReceived),
		calls: make(chan func()),
		wake:  make(chan struct{}, 1), table: txn.New(cfg)}
	a.table.SetYields(true)
	return a
}

// Take takes packets of the user's kind, for Users. It does not wait.
func (a *Asker) Take(ds []mad.Datagram) (dropped int) {
	for i := range ds {
		select {
		case a.received <- ds[i]:
		default:
			dropped++
		}
	}
	return dropped
}

// Now is the time since the Asker was made, and never 0.
func (a *Asker) Now() time.Duration { return time.Since(a.start) + 1 }

// Time is when Now was at.
func (a *Asker) Time(at time.Duration) time.Time { return a.start.Add(at) }

// Wake has Run call OnWake. It does not wait.
func (a *Asker) Wake() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Do has Run call a function, and returns when it has; ok is false when ctx is done before: then the
// function is not called.
func (a *Asker) Do(ctx context.Context, f func()) (ok bool) {
	if ctx.Err() != nil {
		return false // select would choose at random
	}
	done := make(chan struct{})
	select {
	case a.calls <- func() { f(); close(done) }:
	case <-ctx.Done():
		return false
	}
	<-done
	return true
}

// Ask submits a request. Answered gets its tag when it has ended.
func (a *Asker) Ask(to mad.Addr, p *mad.Packet, tag uint64) {
	if !a.table.Submit(&txn.Request{Packet: p, Addr: to, Tag: tag}) {
		a.refused = append(a.refused, tag)
	}
}

// SetMaxWindow changes txn.Config.MaxWindow.
func (a *Asker) SetMaxWindow(limit int) { a.table.SetMaxWindow(limit, true) }

// Run runs until ctx is done or the port is broken. send is that of the port.
func (a *Asker) Run(ctx context.Context, send func([]mad.Datagram) (int, error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var out []mad.Datagram
	for {
		now := a.Now()
		a.settle(now)
		if out = a.table.Output(now, out[:0]); len(out) > 0 {
			if _, err := send(out); err != nil {
				return err
			}
		}
		timer.Reset(a.wait(now))
		select {
		case <-ctx.Done():
			return nil
		case d := <-a.received:
			a.take(&d)
		case <-a.wake:
			a.asking.OnWake()
		case f := <-a.calls:
			f()
		case <-timer.C:
		}
	}
}

// due is when Tick is due.
func (a *Asker) due() (at time.Duration, ok bool) {
	if a.asking.Due == nil {
		return 0, false
	}
	return a.asking.Due()
}

// wait is how long nothing is due.
func (a *Asker) wait(now time.Duration) time.Duration {
	const long = time.Hour
	at := now + long
	if len(a.refused) > 0 {
		return 0
	}
	if due, ok := a.due(); ok {
		at = min(at, due)
	}
	if due, ok := a.table.Deadline(); ok {
		at = min(at, due)
	}
	return max(0, at-now)
}

// settle ends requests that got no response, and does what is due.
func (a *Asker) settle(now time.Duration) {
	a.ended = a.table.Expire(now, a.ended[:0])
	for i := range a.ended {
		a.asking.Answered(a.ended[i].Tag, nil)
	}
	if at, ok := a.due(); ok && at <= now {
		a.asking.Tick()
	}
	for len(a.refused) > 0 {
		tag := a.refused[0]
		a.refused = a.refused[1:]
		a.asking.Answered(tag, nil)
	}
}

// take takes a packet.
func (a *Asker) take(d *mad.Datagram) {
	o, ok := a.table.Match(a.Now(), d)
	switch {
	case !ok:
	case o.Result == txn.Replied:
		a.asking.Answered(o.Tag, &d.Packet)
	default:
		a.asking.Answered(o.Tag, nil)
	}
}
