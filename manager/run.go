package manager

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/mad"
	"ibsm/mad/gsi"
	"ibsm/mad/rmpp"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	osmlog "ibsm/opensm/log"
	"ibsm/priority"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/sa"
	"ibsm/store"
	"ibsm/sweep"
	"ibsm/view"
)

// Shell is what a Core runs in: a port, a clock, and somebody to tell.
//
// Run starts, and waits for, these goroutines:
//   - the receive loop of each port, which ends when the port is closed;
//   - those of saPort, tableServer and registrar, which end with the context of Run;
//   - a worker for each Job, of which there is one at a time; its context ends with
//     Run.
//
// The core itself runs in the goroutine of Run.
type Shell struct {
	Config Config
	Port   txn.Port // of QP0, or of both queue pairs; Run closes it
	GSI    txn.Port // of QP1 where it has a port of its own, else nil; Run closes it
	// PlainPeers is set where clients of the SA may know no RMPP, as ibsim's: such a one
	// gets the first packet of a table, once.
	PlainPeers bool
	Logger     *slog.Logger
	// Asks are sweeps that are asked for; may be nil.
	Asks <-chan Sweep
	// Configs are configurations that were read again: of Config only what can change
	// while a manager runs is taken. May be nil.
	Configs <-chan Config
	// Tell is given what is more than a line of the log. It may be nil, and must not block
	// for long.
	Tell func(Notification)
	// Mirrored is given the policy by which the master rules, as its RegistrarConfig has it;
	// empty if it tells none. What it sends on Configs comes into force before this manager
	// can be handed the mastership. It may be nil, and is called by one goroutine.
	Mirrored func(master mad.GUID, policy []byte)
	// Published is given each view that questions are answered from, nil when there is
	// none any more. It may be nil, and must not block.
	Published func(*view.View)
	// Moved is called after each step with where the manager stands; may be nil.
	Moved func(Progress)
	// Store is where the manager keeps what must outlive it; nil where nothing is kept.
	// Who opened it runs and closes it.
	Store *store.Store
	// Kept is what Store held when this manager began, as Config.Resume was given it. It
	// is the manager's alone; nil without a Store.
	Kept *store.Contents
	// Recall reads the LIDs of OpenSM's guid2lid for Config.HonorGUID2LID; may be nil.
	// It is called by workers.
	Recall func() []sweep.KeptLID
	// Restore reads what clients had registered with a manager before; nil for nothing but
	// Kept. Unless it is whole, clients are asked to register again whatever the
	// configuration says. It is called by a worker when this manager first becomes master,
	// if it has mirrored nothing. It may be nil.
	Restore func() (reg *registry.Registry, whole bool)

	sa        saServer
	gsi       atomic.Pointer[gsi.Port]
	registrar atomic.Pointer[registrar]
	view      atomic.Pointer[view.View]
	mu        sync.Mutex // guards stats
	stats     Stats
}

// View is the view that questions are answered from, nil while there is none. It may
// be asked for at any time.
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

// SATransfers counts the SA's answers that are longer than a packet. It may be asked for
// at any time.
func (s *Shell) SATransfers() rmpp.Stats { return s.sa.transferStats() }

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
	inbox := newInbox(&s.sa.stats, start)
	gsi := newSAPort(cmp.Or(s.GSI, s.Port), &s.sa, inbox, s.PlainPeers)
	if s.GSI == nil {
		port = gsi
	}
	gsi.start(ctx, &tasks)
	s.gsi.Store(gsi.Port)
	registrar := newRegistrar(s, inbox, gsi.Send, start)
	s.registrar.Store(registrar)
	tasks.Go(func() { registrar.run(ctx) })
	engine := txn.NewEngine(port)
	tasks.Go(func() { engine.Run(ctx) })

	s.Config.Epoch = start.Unix()
	loop := &loop{shell: s, core: NewCore(s.Config), engine: engine, registrar: registrar, tasks: &tasks, results: make(chan RoutesComputed, 1), grown: make(chan MulticastComputed), start: start}
	if s.GSI != nil {
		ended := make(chan error, 1)
		loop.gsiEnded = ended
		tasks.Go(func() { ended <- gsi.Serve(ctx) })
	}
	err := loop.run(until)
	registrar.leave()
	return err
}

// loop is what Run's goroutine owns.
type loop struct {
	shell     *Shell
	core      *Core
	engine    *txn.Engine
	registrar *registrar
	gsiEnded  <-chan error // why the port of QP1 has ended; nil without one
	tasks     *sync.WaitGroup
	results   chan RoutesComputed
	grown     chan MulticastComputed
	endJob    context.CancelFunc
	start     time.Time
	ahead     time.Duration // of slept
	done      bool
	err       error
}

func (l *loop) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx) // what it began ends with it: a run of one sweep ends by itself
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var batch []mad.Datagram
	leave := ctx.Done()
	l.step(ctx, TimePassed{})
	for !l.done {
		if at, ok := l.core.Deadline(); ok {
			timer.Reset(at - time.Since(l.start))
		} else {
			timer.Stop()
		}
		var ev Event
		select {
		case <-leave:
			leave, ev = nil, Leave{}
		case <-timer.C:
			ev = TimePassed{}
		case <-l.engine.Ready():
			if l.shell.View() != nil {
				priority.Yield() // to those who answer
			}
			var err error
			if batch, err = l.engine.Receive(batch); err != nil {
				return err
			}
			l.catchUp(ctx)
			ev = Received{batch}
		case err := <-l.gsiEnded:
			return err
		case ev = <-l.results:
		case s := <-l.shell.Asks:
			ev = SweepRequested{s}
		case ev = <-l.grown:
		case cfg := <-l.shell.Configs:
			ev = l.configure(&cfg)
		case <-l.registrar.changed:
			ev = RegistryChanged{l.registrar.state.Load()}
		case b := <-l.registrar.guids:
			ev = WriteGUIDs{b}
		case ev = <-l.registrar.heard:
		}
		l.step(ctx, ev)
	}
	return l.err
}

// configure takes a configuration that was read again.
func (l *loop) configure(cfg *Config) Event {
	l.registrar.notify(sa.ConfigChanged{Config: cfg.Registrar})
	return ConfigChanged{cfg}
}

// catchUp takes what was mirrored before what has come in: that may be the mastership,
// which is handed over when everything is mirrored.
func (l *loop) catchUp(ctx context.Context) {
	for {
		var ev Event
		select {
		case cfg := <-l.shell.Configs:
			ev = l.configure(&cfg)
		case ev = <-l.registrar.heard:
		default:
			return
		}
		l.step(ctx, ev)
	}
}

// slept is how much farther the time of day has come, since it was asked last, than the
// clock that stands still while the host sleeps. A time of day that is set forward looks the
// same, and does no harm.
func (l *loop) slept(timeOfDay, clock time.Duration) time.Duration {
	ahead := timeOfDay - clock
	slept := ahead - l.ahead
	l.ahead = ahead
	return slept
}

func (l *loop) step(ctx context.Context, ev Event) {
	now := time.Now()
	if d := l.slept(now.Round(0).Sub(l.start.Round(0)), now.Sub(l.start)); d > minSleep {
		l.give(ctx, Resumed{d})
	}
	l.give(ctx, ev)
}

// minSleep is the least that is told of: the time of day is not set by more at a time when it
// is kept in step.
const minSleep = 500 * time.Millisecond

// give gives the core an event and does what it wants.
func (l *loop) give(ctx context.Context, ev Event) {
	for _, a := range l.core.Step(time.Since(l.start), ev) {
		l.act(ctx, a)
	}
	l.shell.mu.Lock()
	l.shell.stats = l.core.Stats()
	l.shell.mu.Unlock()
	if l.shell.Moved != nil {
		l.shell.Moved(l.core.Progress())
	}
}

func (l *loop) act(ctx context.Context, a Action) {
	switch a := a.(type) {
	case Send:
		if err := l.engine.Send(a.Datagrams); err != nil && ctx.Err() == nil {
			l.done, l.err = true, err
		}
	case Compute:
		if l.shell.View() != nil {
			ctx = routing.LeaveProcessor(ctx)
		}
		ctx, cancel := context.WithCancel(ctx)
		l.endJob = cancel
		l.tasks.Go(func() {
			defer cancel()
			priority.GiveWay()
			if a.Recall && l.shell.Recall != nil {
				a.Job.Recall(l.shell.Recall())
			}
			if a.Restore && l.shell.Restore != nil {
				l.restore(a.Job)
			}
			l.results <- RoutesComputed{a.Job.Run(ctx)}
		})
	case Grow:
		l.tasks.Go(func() {
			priority.GiveWay()
			if g := a.Job.Run(ctx); g != nil {
				select {
				case l.grown <- MulticastComputed{g}:
				case <-ctx.Done():
				}
			}
		})
	case Cancel:
		l.endJob()
	case Publish:
		l.shell.view.Store(a.View)
		l.shell.sa.setView(a.View)
		l.registrar.notify(publishedTo(a))
		if l.shell.Published != nil {
			l.shell.Published(a.View)
		}
	case Reset:
		l.registrar.notify(sa.PortsReset{Ports: a.Ports})
	case Notice:
		l.registrar.notify(sa.TrapReceived{Notice: a.Notice})
	case Forwarded:
		l.registrar.notify(sa.Forwarded{Seq: a.Seq})
	case Follow:
		l.registrar.notify(sa.Follow{Master: a.Master})
	case Forget:
		l.registrar.notify(sa.Forget{})
	case Yield:
		l.registrar.notify(sa.PrepareHandover{To: a.To})
	case GUIDsWritten:
		l.registrar.notify(a.GUIDsWritten)
	case Keep:
		if l.shell.Store != nil {
			l.shell.Store.Put(a.Batch(), nil)
		}
		l.notify(a)
	case Log:
		l.log(a)
	case Notification:
		l.notify(a)
	case Exit:
		l.done, l.err = true, a.Err
	}
}

// publishedTo is a publication as the registrar takes it.
func publishedTo(p Publish) sa.Event {
	if p.View == nil {
		return sa.ViewWithdrawn{}
	}
	return sa.ViewPublished{View: p.View}
}

// restore has the registrar begin with what was registered before. It does not return
// before that is in the inbox, so that the view of the Job comes behind it.
func (l *loop) restore(j *sweep.Job) {
	reg, whole := l.shell.Restore()
	if reg != nil {
		l.registrar.notify(sa.Restored{Registry: reg})
	}
	if !whole {
		j.Reregister()
	}
}

// log writes a line of the log.
func (l *loop) log(line Log) {
	handler := l.shell.Logger.Handler()
	if !handler.Enabled(context.Background(), line.Level) {
		return
	}
	r := slog.NewRecord(time.Now(), line.Level, line.Msg, line.PC)
	r.Add(line.Args...)
	_ = handler.Handle(context.Background(), r) // which reports its failures itself
}

// notify passes a Notification on and logs it. Tell comes first, so that who reads a line in
// the log finds what it says to be so.
func (l *loop) notify(a Notification) {
	if l.shell.Tell != nil {
		l.shell.Tell(a)
	}
	log := l.shell.Logger
	switch a := a.(type) {
	case Entered:
		log.Log(context.Background(), sys, osmlog.Entering(a.State))
	case Up:
		level, msg := info, osmlog.SubnetUp
		if a.First {
			level = sys
		}
		if a.Errors {
			level, msg = sys, osmlog.InitErrors
		}
		log.Log(context.Background(), level, msg, "nodes", a.Nodes, "switches", a.Switches, "links", a.Links, "lids", a.LIDs, "active", a.Active,
			"sets", a.SetsText(), "longest", a.Longest, "failures", a.Failures, "took", a.Took.Round(time.Millisecond))
	}
}

// SetsText is the Sets that were sent, by attribute: "none", or "PortInfo 66,
// LinearForwardingTable 4".
func (s *Summary) SetsText() string {
	var parts []string
	for _, attr := range []mad.AttrID{smp.AttrSwitchInfo, smp.AttrLinearForwardingTable, smp.AttrPortInfo, smp.AttrPKeyTable, smp.AttrARInfo} {
		if n := s.Sets[attr]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", smp.AttrName(attr), n))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}
