package perf

import (
	"context"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/mad/txn"
	"ibsm/view"
)

// Reader runs a Machine at a port of QP1: requests leave with the lowest priority of its users,
// and responses have a bounded queue of their own. One goroutine is in Run; all other methods
// may be called by any.
type Reader struct {
	cfg      ReaderConfig
	start    time.Time // of the Machine's time
	received chan mad.Datagram
	events   chan Event
	calls    chan func(*Machine)
	wake     chan struct{} // has room for one

	mu       sync.Mutex
	view     *view.View // to be followed; nil for none yet
	settings *Settings  // that Run has not taken yet
}

// ReaderConfig is what a Reader needs beside the Machine's Settings.
type ReaderConfig struct {
	Settings Settings
	// Transactions says how often a request is sent, and for how long a response is awaited.
	Transactions txn.Config
	// Image is given each image, Found each finding, and Gone each node of which no port is read
	// any more, by Run. They may be nil, and must not block.
	Image func(*Image)
	Found func(Finding)
	Gone  func(mad.GUID)
}

// maxReceived is how many responses wait. More are dropped, and asked for again.
const maxReceived = 1024

// NewReader returns a Reader that has no ports yet.
func NewReader(cfg ReaderConfig) *Reader {
	return &Reader{cfg: cfg, start: time.Now(), received: make(chan mad.Datagram, maxReceived), events: make(chan Event, 16),
		calls: make(chan func(*Machine)), wake: make(chan struct{}, 1)}
}

// Time is when the Machine's time was at.
func (r *Reader) Time(at time.Duration) time.Time { return r.start.Add(at) }

// Follow has the ports of a view read from now on. It does not wait. Without one, which is nil, those
// of the view before are read on: another manager rules them now.
func (r *Reader) Follow(v *view.View) {
	if v != nil {
		r.mu.Lock()
		r.view = v
		r.mu.Unlock()
		r.wakeUp()
	}
}

// View is the one whose ports are read, or will be; nil before the first.
func (r *Reader) View() *view.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view
}

// Configure puts other settings into force. It does not wait.
func (r *Reader) Configure(s Settings) {
	r.mu.Lock()
	r.settings = &s
	r.mu.Unlock()
	r.wakeUp()
}

func (r *Reader) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Take takes packets of performance management, for gsi.Users. It does not wait.
func (r *Reader) Take(ds []mad.Datagram) (dropped int) {
	for i := range ds {
		select {
		case r.received <- ds[i]:
		default:
			dropped++
		}
	}
	return dropped
}

// Event gives the Machine an event. It returns when Run has taken it, or ctx is done.
func (r *Reader) Event(ctx context.Context, e Event) {
	select {
	case r.events <- e:
	case <-ctx.Done():
	}
}

// Do has Run call a function with the Machine between two steps, and returns when it has; ok
// is false when ctx is done before.
func (r *Reader) Do(ctx context.Context, f func(*Machine)) (ok bool) {
	done := make(chan struct{})
	select {
	case r.calls <- func(m *Machine) { f(m); close(done) }:
	case <-ctx.Done():
		return false
	}
	<-done
	return true
}

// running is the state of Run.
type running struct {
	*Reader
	machine *Machine
	table   *txn.Table
	follows *view.View // whose ports are read
	refused []uint64   // tags of requests for which the table had no room
	ended   []txn.Outcome
}

// Run reads counters until ctx is done or the port is broken. send is that of the port.
func (r *Reader) Run(ctx context.Context, send func([]mad.Datagram) (int, error)) error {
	cfg := r.cfg.Transactions
	cfg.MaxWindow = r.cfg.Settings.Window
	run := &running{Reader: r, machine: New(r.cfg.Settings), table: txn.New(cfg)}
	run.table.SetYields(true)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var out []mad.Datagram
	for {
		now := run.now()
		run.settle(now)
		if out = run.table.Output(now, out[:0]); len(out) > 0 {
			if _, err := send(out); err != nil {
				return err
			}
		}
		timer.Reset(run.wait(now))
		select {
		case <-ctx.Done():
			return nil
		case d := <-r.received:
			run.take(&d)
		case e := <-r.events:
			run.step(e)
		case <-run.wake:
			run.catchUp()
		case f := <-r.calls:
			f(run.machine)
		case <-timer.C:
		}
	}
}

// catchUp puts settings into force that are new, and reads the ports of a view that is. While there
// are no sweeps it leaves the ports as they are.
func (r *running) catchUp() {
	r.mu.Lock()
	v, s := r.view, r.settings
	r.settings = nil
	r.mu.Unlock()
	was := r.machine.settings
	if s != nil {
		r.step(&Changed{*s})
	}
	now := r.machine.settings
	same := r.follows != nil && v != nil && v.Topo == r.follows.Topo && v.LIDs == r.follows.LIDs && now.SwitchesOnly == was.SwitchesOnly
	if v != nil && now.Interval > 0 && !same {
		r.follows = v
		r.step(&Ports{PortsOf(v, now.SwitchesOnly)})
	}
}

// now is the time since the Reader was made, and never 0.
func (r *running) now() time.Duration { return time.Since(r.start) + 1 }

// wait is how long nothing is due.
func (r *running) wait(now time.Duration) time.Duration {
	const long = time.Hour
	at := now + long
	if due, ok := r.machine.Next(); ok {
		at = min(at, due)
	}
	if due, ok := r.table.Deadline(); ok {
		at = min(at, due)
	}
	return max(0, at-now)
}

// settle ends requests that got no response, and begins a sweep that is due.
func (r *running) settle(now time.Duration) {
	r.ended = r.table.Expire(now, r.ended[:0])
	for i := range r.ended {
		r.step(&Unanswered{r.ended[i].Tag})
	}
	if due, ok := r.machine.Next(); ok && due <= now {
		r.step(&Tick{})
	}
	for len(r.refused) > 0 {
		tag := r.refused[0]
		r.refused = r.refused[1:]
		r.step(&Unanswered{tag})
	}
}

// take takes a packet.
func (r *running) take(d *mad.Datagram) {
	o, ok := r.table.Match(r.now(), d)
	switch {
	case !ok:
	case o.Result == txn.Replied:
		r.step(&Answered{o.Tag, &d.Packet})
	default:
		r.step(&Unanswered{o.Tag})
	}
}

// step has the machine take a step, and submits what it asks for.
func (r *running) step(e Event) {
	if c, is := e.(*Changed); is {
		r.table.SetMaxWindow(c.Settings.Window)
	}
	out := r.machine.Step(r.now(), e)
	for i := range out.Asks {
		a := &out.Asks[i]
		if !r.table.Submit(&txn.Request{Packet: &a.Packet, Addr: a.To, Tag: a.Tag}) {
			r.refused = append(r.refused, a.Tag)
		}
	}
	if r.cfg.Found != nil {
		for _, f := range out.Findings {
			r.cfg.Found(f)
		}
	}
	if r.cfg.Gone != nil {
		for _, node := range out.Gone {
			r.cfg.Gone(node)
		}
	}
	if out.Image != nil && r.cfg.Image != nil {
		r.cfg.Image(out.Image)
	}
}
