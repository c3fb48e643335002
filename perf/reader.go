package perf

import (
	"context"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/mad/gsi"
	"ibsm/mad/txn"
	"ibsm/view"
)

// Reader runs a Machine at a port of QP1. One goroutine is in Run; all other methods may be called by
// any.
type Reader struct {
	cfg     ReaderConfig
	asker   *gsi.Asker
	machine *Machine
	follows *view.View // whose ports are read

	mu       sync.Mutex
	view     *view.View        // to be followed; nil for none yet
	settings *Settings         // that Run has not taken yet
	rebooted map[mad.GUID]bool // likewise
}

// ReaderConfig is what a Reader needs beside the Machine's Settings.
type ReaderConfig struct {
	Settings Settings
	// Transactions says how often a request is sent, and for how long a response is awaited.
	Transactions txn.Config
	Listener     Listener
}

// Listener is called by the goroutine of a Reader's Run. Its functions may be nil, and must not block.
type Listener struct {
	Image func(*Image)   // each image
	Found func(Finding)  // each finding about a reading
	Gone  func(mad.GUID) // each node of which no port is read any more
}

// NewReader returns a Reader that has no ports yet.
func NewReader(cfg ReaderConfig) *Reader {
	r := &Reader{cfg: cfg, machine: New(cfg.Settings)}
	transactions := cfg.Transactions
	transactions.MaxWindow = cfg.Settings.Window
	r.asker = gsi.NewAsker(transactions, gsi.Asking{Answered: r.answered, OnWake: r.catchUp,
		Due: r.machine.Next, Tick: func() { r.step(&Tick{}) }})
	return r
}

// Time is when the Machine's time was at.
func (r *Reader) Time(at time.Duration) time.Time { return r.asker.Time(at) }

// Follow has the ports of a view read from now on. It does not wait. Without one, which is nil, those
// of the view before are still read: another manager is their master now.
func (r *Reader) Follow(v *view.View) {
	if v != nil {
		r.mu.Lock()
		r.view = v
		r.mu.Unlock()
		r.asker.Wake()
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
	r.asker.Wake()
}

// Rebooted says that nodes may have rebooted. It does not wait.
func (r *Reader) Rebooted(nodes []mad.GUID) {
	if len(nodes) == 0 {
		return
	}
	r.mu.Lock()
	if r.rebooted == nil {
		r.rebooted = map[mad.GUID]bool{}
	}
	for _, n := range nodes {
		r.rebooted[n] = true
	}
	r.mu.Unlock()
	r.asker.Wake()
}

// Take takes packets of performance management, for gsi.Users. It does not wait.
func (r *Reader) Take(ds []mad.Datagram) (dropped int) { return r.asker.Take(ds) }

// Event has Run take a step of the Machine with an event, and returns when it has; ok is false when ctx
// is done before: then the event is dropped.
func (r *Reader) Event(ctx context.Context, e Event) (ok bool) {
	return r.asker.Do(ctx, func() { r.step(e) })
}

// Do has Run call a function with the Machine between two steps, and returns when it has; ok
// is false when ctx is done before.
func (r *Reader) Do(ctx context.Context, f func(*Machine)) (ok bool) {
	return r.asker.Do(ctx, func() { f(r.machine) })
}

// Run reads counters until ctx is done or the port is broken. send is that of the port.
func (r *Reader) Run(ctx context.Context, send func([]mad.Datagram) (int, error)) error {
	return r.asker.Run(ctx, send)
}

// catchUp puts settings into force that are new, and reads the ports of a view that is. While there
// are no sweeps it leaves the ports as they are.
func (r *Reader) catchUp() {
	r.mu.Lock()
	v, s, rebooted := r.view, r.settings, r.rebooted
	r.settings, r.rebooted = nil, nil
	r.mu.Unlock()
	was := r.machine.settings
	if s != nil {
		r.step(&Changed{*s})
	}
	if rebooted != nil {
		r.step(&Rebooted{rebooted})
	}
	now := r.machine.settings
	same := r.follows != nil && v != nil && v.SameAgents(r.follows) && now.SwitchesOnly == was.SwitchesOnly
	if v != nil && now.Interval > 0 && !same {
		r.follows = v
		r.step(&Ports{PortsOf(v, now.SwitchesOnly)})
	}
}

// answered takes the end of a request.
func (r *Reader) answered(tag uint64, p *mad.Packet) {
	if p == nil {
		r.step(&Unanswered{tag})
	} else {
		r.step(&Answered{tag, p})
	}
}

// step has the machine take a step, and submits what it asks for.
func (r *Reader) step(e Event) {
	if c, is := e.(*Changed); is {
		r.asker.SetMaxWindow(c.Settings.Window)
	}
	out := r.machine.Step(r.asker.Now(), e)
	for i := range out.Asks {
		a := &out.Asks[i]
		r.asker.Ask(a.To, &a.Packet, a.Tag)
	}
	if r.cfg.Listener.Found != nil {
		for _, f := range out.Findings {
			r.cfg.Listener.Found(f)
		}
	}
	if r.cfg.Listener.Gone != nil {
		for _, node := range out.Gone {
			r.cfg.Listener.Gone(node)
		}
	}
	if out.Image != nil && r.cfg.Listener.Image != nil {
		r.cfg.Listener.Image(out.Image)
	}
}
