package congestioncontrol

import (
	"context"
	"sync"

	"ibsm/mad"
	"ibsm/mad/gsi"
	"ibsm/mad/txn"
	"ibsm/view"
)

// Writer runs a Machine at a port of QP1. One goroutine is in Run; all other methods may be called by
// any, and but for Finish they do not wait.
type Writer struct {
	cfg     WriterConfig
	asker   *gsi.Asker
	machine *Machine
	waiting []chan struct{} // closed when the machine is idle

	mu   sync.Mutex
	news news
}

// WriterConfig is what a Writer needs.
type WriterConfig struct {
	Settings Settings
	// Transactions says how often a request is sent, and for how long a response is awaited.
	Transactions txn.Config
	Listener     Listener
}

// Listener is called by the goroutine of a Writer's Run. Its functions may be nil, and must not block.
type Listener struct {
	Found func(Finding) // each device that does not take settings
	Done  func(Report)  // the report of each round
}

// news is what Run has not taken yet.
type news struct {
	settings  *Settings
	forget    bool // before the following
	restarted map[mad.GUID]bool
	view      *view.View
}

// NewWriter returns a Writer that has no devices yet.
func NewWriter(cfg WriterConfig) *Writer {
	w := &Writer{cfg: cfg, machine: New(cfg.Settings)}
	t := cfg.Transactions
	t.MaxWindow = cfg.Settings.Window
	w.asker = gsi.NewAsker(t, gsi.Asking{Answered: w.answered, OnWake: w.catchUp})
	return w
}

// Take takes packets of congestion control, for gsi.Users.
func (w *Writer) Take(ds []mad.Datagram) (dropped int) { return w.asker.Take(ds) }

// Run writes settings until ctx is done or the port is broken. send is that of the port.
func (w *Writer) Run(ctx context.Context, send func([]mad.Datagram) (int, error)) error {
	return w.asker.Run(ctx, send)
}

// Follow has the devices of a view get what they lack, after a heavy sweep.
func (w *Writer) Follow(v *view.View) { w.change(func(n *news) { n.view = v }) }

// Restarted says that ports have lost what they held, or may have.
func (w *Writer) Restarted(ports []mad.GUID) {
	w.change(func(n *news) {
		if n.restarted == nil {
			n.restarted = map[mad.GUID]bool{}
		}
		for _, p := range ports {
			n.restarted[p] = true
		}
	})
}

// Forget says that another manager may be master from now on: nothing is written until Follow.
func (w *Writer) Forget() {
	w.change(func(n *news) { *n = news{settings: n.settings, forget: true} })
}

// Configure puts other settings into force.
func (w *Writer) Configure(s Settings) { w.change(func(n *news) { n.settings = &s }) }

func (w *Writer) change(do func(n *news)) {
	w.mu.Lock()
	do(&w.news)
	w.mu.Unlock()
	w.asker.Wake()
}

// Finish returns when all devices have what they accept, or ctx is done.
func (w *Writer) Finish(ctx context.Context) {
	idle := make(chan struct{})
	w.asker.Do(ctx, func() {
		w.catchUp()
		w.waiting = append(w.waiting, idle)
		w.release()
	})
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// catchUp takes the news.
func (w *Writer) catchUp() {
	w.mu.Lock()
	n := w.news
	w.news = news{}
	w.mu.Unlock()
	if n.settings != nil {
		w.asker.SetMaxWindow(n.settings.Window)
		w.step(&Changed{*n.settings})
	}
	if n.forget {
		w.step(&Forget{})
	}
	if n.restarted != nil {
		w.step(&Restarted{n.restarted})
	}
	if n.view != nil {
		w.step(&Ports{PortsOf(n.view)})
	}
}

// answered takes the end of a request.
func (w *Writer) answered(tag uint64, p *mad.Packet) {
	if p == nil {
		w.step(&Unanswered{tag})
	} else {
		w.step(&Answered{tag, p.Status()})
	}
}

// step has the machine take a step, and does what it wants done.
func (w *Writer) step(e Event) {
	out := w.machine.Step(e)
	for i := range out.Asks {
		a := &out.Asks[i]
		w.asker.Ask(a.To, &a.Packet, a.Tag)
	}
	if w.cfg.Listener.Found != nil {
		for _, f := range out.Findings {
			w.cfg.Listener.Found(f)
		}
	}
	if out.Done != nil && w.cfg.Listener.Done != nil {
		w.cfg.Listener.Done(*out.Done)
	}
	w.release()
}

// release ends the wait of Finish when nothing is left to do.
func (w *Writer) release() {
	if w.machine.Idle() {
		for _, idle := range w.waiting {
			close(idle)
		}
		w.waiting = nil
	}
}
