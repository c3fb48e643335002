package manager

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/mad/gsi"
	"ibsm/mad/rmpp"
	"ibsm/mad/smi"
	"ibsm/perf"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/store"
	"ibsm/sweep/lids"
	"ibsm/view"
)

// Shell is what a Core runs in: a port, a clock, and receivers of what it reports.
//
// Run starts, and waits for, these goroutines:
//   - the receive loop of each port, which ends when the port is closed;
//   - those of saPort, tableServer, registrar, the reader of counters and the writer of congestion
//     control, which end with the context of Run;
//   - a worker for each Task; its context ends with Run.
//
// The core itself runs in the goroutine of Run.
type Shell struct {
	Config Config
	Port   mad.Port // of QP0, or of both queue pairs; Run closes it
	GSI    mad.Port // of QP1 where it has a port of its own, else nil; Run closes it
	// PlainPeers is set where clients of the SA may know no RMPP, as ibsim's: such a one
	// gets the first packet of a table, once.
	PlainPeers bool
	// Held counts the requests of each queue pair that the host's kernel has not returned. It
	// may be nil, and is called by any goroutine.
	Held   func() (qp0, qp1 int)
	Logger *slog.Logger
	// Asks are sweeps that are asked for; may be nil.
	Asks <-chan SweepRequested
	// Configs are configurations that were read again: of Config only what can change
	// while a manager runs is taken. May be nil.
	Configs <-chan Config
	// Notify receives notifications that are more than a log line. It may be nil, and must not block for long.
	Notify func(Notification)
	// Mirrored receives the policy of the master, as in RegistrarConfig; empty if it has none. The configuration that
	// it sends on Configs applies before the mastership can be handed to this manager. It may be nil; one goroutine
	// calls it.
	Mirrored func(master mad.GUID, policy []byte)
	// Published receives each view from which requests are answered, and nil when there is none any more. It may be
	// nil, and must not block.
	Published func(*view.View)
	// Moved is called after each step with where the manager stands; may be nil.
	Moved func(Progress)
	// OnCounters gets what the reader of counters finds, OnCongestion what the writer of congestion
	// control does.
	OnCounters   perf.Listener
	OnCongestion congestioncontrol.Listener
	// Store is the state store; nil for none.
	// Its opener runs and closes it.
	Store *store.Store
	// Restored is what Store held when this manager began, as Config.Resume was given it. It
	// is the manager's alone; nil without a Store.
	Restored *store.Contents
	// Recall reads the LIDs of OpenSM's guid2lid for Config.HonorGUID2LID; may be nil.
	// It is called by workers.
	Recall func() []lids.Assignment
	// Restore reads the registrations of an earlier manager; nil if there are none except Restored. If the result is
	// incomplete, clients are asked to register again whatever the configuration says. A worker calls it when this
	// manager first becomes master, if it has mirrored nothing. hasPort reports whether the walk has found a port. It
	// may be nil.
	Restore func(hasPort func(mad.GUID) bool) (reg *registry.Registry, whole bool)

	sa        saServer
	gsi       atomic.Pointer[gsi.Port]
	registrar atomic.Pointer[registrar]
	counters  atomic.Pointer[perf.Reader]
	congested atomic.Pointer[congestioncontrol.Writer]
	view      atomic.Pointer[view.View]
	mu        sync.Mutex // guards the following
	stats     Stats
	leads     time.Time // until then, with the time of day: Core.LeadsUntil
}

// View is the view from which requests are answered, or nil. Any goroutine may call it at any time.
func (s *Shell) View() *view.View { return s.view.Load() }

// Stats counts what the manager has done. It may be asked for at any time; the core
// waits for it no longer than a copy takes.
func (s *Shell) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Registry is what clients have registered; nil while this manager is not master.
func (s *Shell) Registry() *registry.State {
	if a := s.sa.responder.Load(); a != nil {
		return a.Registry()
	}
	return nil
}

// GSICounts counts what has been received at QP1. It may be asked for at any time.
func (s *Shell) GSICounts() (counts [gsi.NumKinds]gsi.Count) {
	if p := s.gsi.Load(); p != nil {
		return p.Counts()
	}
	return counts
}

// SAStats counts what the SA has answered. It may be read at any time.
func (s *Shell) SAStats() *sa.Stats { return &s.sa.stats }

// SARegistrations counts what the SA did about what clients have registered. It may be
// asked for at any time.
func (s *Shell) SARegistrations() sa.RegistrarStats {
	if r := s.registrar.Load(); r != nil {
		return r.Stats()
	}
	return sa.RegistrarStats{}
}

// MirrorStats counts what managers have mirrored to each other. It may be asked for at
// any time.
func (s *Shell) MirrorStats() sa.MirrorStats {
	if r := s.registrar.Load(); r != nil {
		return r.MirrorStats()
	}
	return sa.MirrorStats{}
}

// SATransfers counts the SA's answers that are longer than a packet. It may be asked for
// at any time.
func (s *Shell) SATransfers() rmpp.Stats { return s.sa.transferStats() }

// Counters is the reader of counters; nil before Run.
func (s *Shell) Counters() *perf.Reader { return s.counters.Load() }

// CongestionControl is the writer of congestion control; nil before Run.
func (s *Shell) CongestionControl() *congestioncontrol.Writer { return s.congested.Load() }

// Run is the manager, until its context is done, the port breaks, or the work of a run of
// one sweep is finished. When the context is done and this manager is master, it first hands
// the mastership over, if it can, and returns after elect.LeavePatience at the latest.
func (s *Shell) Run(until context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(until)) // the port outlives until by what is said last
	defer cancel()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	port := s.Port // for the core
	start := time.Now()
	s.logSA(ctx)
	inbox := newInbox(&s.sa.stats, start)
	counters := perf.NewReader(perf.ReaderConfig{Settings: s.Config.Counters, Transactions: s.Config.Queries,
		Listener: s.OnCounters})
	congested := congestioncontrol.NewWriter(congestioncontrol.WriterConfig{Settings: s.Config.Congestion,
		Transactions: s.Config.Queries, Listener: s.OnCongestion})
	gsi := newSAPort(cmp.Or(s.GSI, s.Port), &s.sa, inbox, counters, congested, s.PlainPeers)
	if s.GSI == nil {
		port = gsi
	}
	gsi.start(ctx, &tasks)
	s.gsi.Store(gsi.Port)
	registrar := newRegistrar(s, inbox, gsi.Send, start)
	s.registrar.Store(registrar)
	tasks.Go(func() { registrar.run(ctx) })
	s.counters.Store(counters)
	s.congested.Store(congested)
	qp0 := smi.New(port)
	tasks.Go(func() { qp0.Run(ctx) })

	s.Config.Epoch = start.Unix()
	cfg := s.Config
	cfg.Registered = registrar.state.Load()
	_, _ = rand.Read(cfg.Salt[:]) // it never fails
	loop := &loop{shell: s, core: NewCore(cfg), qp0: qp0, registrar: registrar, counters: counters,
		congested: congested, tasks: &tasks, results: make(chan TaskDone), start: start}
	if s.GSI != nil {
		ended := make(chan error, 1)
		loop.gsiEnded = ended
		tasks.Go(func() { ended <- gsi.Serve(ctx) })
	}
	err := loop.run(until)
	if s.Config.Once && err == nil {
		congested.Finish(until)
	}
	registrar.leave()
	return err
}
