package manager

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/mad/smi"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/perf"
	"ibsm/priority"
	"ibsm/routing"
	"ibsm/sa"
	"ibsm/sweep"
)

// loop is what Run's goroutine owns.
type loop struct {
	shell     *Shell
	core      *Core
	qp0       *smi.Port
	registrar *registrar
	counters  *perf.Reader
	congested *congestioncontrol.Writer
	gsiEnded  <-chan error // why the port of QP1 has ended; nil without one
	tasks     *sync.WaitGroup
	results   chan TaskDone
	endTask   [NumPurposes]context.CancelFunc
	start     time.Time
	ahead     time.Duration // of slept
	set       time.Duration // ahead at the last ClockSet
	stopped   time.Duration // of the time that an event has taken, what the process has not run for
	sampled   time.Time     // when ran was asked for
	ran       time.Duration // priority.Ran at sampled
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
		case <-l.qp0.Ready():
			if priority.Answers() {
				priority.Yield() // to goroutines that answer
			}
			var err error
			if batch, err = l.qp0.Receive(batch); err != nil {
				return err
			}
			l.catchUp(ctx)
			ev = Received{batch}
		case err := <-l.gsiEnded:
			return err
		case ev = <-l.results:
		case ev = <-l.shell.Asks:
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
	l.counters.Configure(cfg.Counters)
	l.congested.Configure(cfg.Congestion)
	return ConfigChanged{cfg}
}

// catchUp takes what was mirrored before it takes received packets: these may hand over the mastership, which happens
// when everything is mirrored.
func (l *loop) catchUp(ctx context.Context) {
	for {
		var ev Event
		select {
		case cfg := <-l.shell.Configs:
			ev = l.configure(&cfg)
		case ev = <-l.registrar.heard:
		case <-l.registrar.changed:
			ev = RegistryChanged{l.registrar.state.Load()}
		default:
			return
		}
		l.step(ctx, ev)
	}
}

// slept is how much farther the time of day has come, since it was asked last, than the
// clock that stops while the host sleeps. A time of day that is set forward looks the
// same, and does no harm.
func (l *loop) slept(timeOfDay, clock time.Duration) time.Duration {
	ahead := timeOfDay - clock
	slept := ahead - l.ahead
	l.ahead = ahead
	return slept
}

func (l *loop) step(ctx context.Context, ev Event) {
	now := time.Now()
	slept := l.slept(now.Round(0).Sub(l.start.Round(0)), now.Sub(l.start))
	if d := max(slept, l.stopped); d > minSleep {
		l.give(ctx, Resumed{d})
	}
	l.stopped = 0
	if set, is := l.clockSet(); is {
		l.give(ctx, set)
	}
	l.give(ctx, ev)
}

// clockSet is the time of day for the core, if it has been set since the last ClockSet.
func (l *loop) clockSet() (set ClockSet, is bool) {
	if (l.ahead - l.set).Abs() <= minSleep {
		return ClockSet{}, false
	}
	l.set = l.ahead
	return ClockSet{l.start.Add(l.ahead).Round(time.Second).Unix()}, true
}

// minSleep is the least that is reported: the time of day is not set by more at a time when it
// is kept in step.
const minSleep = 500 * time.Millisecond

// ranAge is how old priority.Ran may be before it is asked for again, which is a system call. The time of all threads
// since then counts for the event that is taken.
const ranAge = 10 * time.Millisecond

// give passes an event to the core and carries out the resulting actions.
func (l *loop) give(ctx context.Context, ev Event) {
	began := time.Now()
	if began.Sub(l.sampled) > ranAge {
		l.sampled, l.ran = began, priority.Ran()
	}
	since := began.Sub(l.start)
	for _, a := range l.core.Step(since, ev) {
		l.act(ctx, a)
	}
	stats := l.core.Stats()
	stats.QueueFull = l.qp0.Dropped()
	l.shell.mu.Lock()
	l.shell.stats, l.shell.leads = stats, began.Add(l.core.LeadsUntil()-since)
	l.shell.mu.Unlock()
	if l.shell.Moved != nil {
		l.shell.Moved(l.core.Progress())
	}
	if took := time.Since(began); took > minSleep {
		l.stopped = max(l.stopped, took-(priority.Ran()-l.ran))
	}
	l.core.Waits(time.Since(l.start))
}

// begin runs a task beside the core. While a view is published, one that computes routes leaves a processor to
// goroutines that answer.
func (l *loop) begin(ctx context.Context, t Task) {
	if t.Purpose == ForPlan {
		t.Routes.Workers = 1 // so that a sweep beside it is as fast as alone
	} else if t.Routes != nil && l.shell.View() != nil {
		t.Routes.Workers = routing.Workers(max(priority.Processors()-1, 1))
	}
	own, end := context.WithCancel(ctx)
	l.endTask[t.Purpose] = end
	l.tasks.Go(func() {
		defer end()
		priority.Compute(func() {
			if t.Recall && l.shell.Recall != nil {
				t.Routes.Recall(l.shell.Recall())
			}
			if t.Restore && l.shell.Restore != nil {
				l.restore(t.Routes)
			}
			done := TaskDone{t.Purpose, t.Run(own)}
			select {
			case l.results <- done:
			case <-ctx.Done():
			}
		})
	})
}

func (l *loop) act(ctx context.Context, a Action) {
	switch a := a.(type) {
	case Send:
		if err := l.qp0.Send(a.Datagrams); err != nil && ctx.Err() == nil {
			l.done, l.err = true, err
		}
	case Task:
		l.begin(ctx, a)
	case Cancel:
		l.endTask[a.For]()
	case Publish:
		l.publish(a)
	case StoodBy:
		l.counters.Follow(a.View)
	case Restarted:
		l.congested.Restarted(a.Ports)
		l.counters.Rebooted(a.Nodes)
	case Congestion:
		if a.View == nil {
			l.congested.Forget()
		} else {
			l.congested.Follow(a.View)
		}
	case ForRegistrar:
		l.registrar.notify(a.Event)
	case Forwarded:
		l.registrar.notify(sa.Forwarded{Seq: a.Seq})
	case Persist:
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

// publish has questions answered from a view, and its counters read.
func (l *loop) publish(a Publish) {
	l.shell.view.Store(a.View)
	l.shell.sa.setView(a.View)
	l.registrar.notify(publishedTo(a))
	l.counters.Follow(a.View)
	if l.shell.Published != nil {
		l.shell.Published(a.View)
	}
}

// publishedTo is a publication as the registrar takes it.
func publishedTo(p Publish) sa.Event {
	if p.View == nil {
		return sa.ViewWithdrawn{}
	}
	return sa.ViewPublished{View: p.View}
}

// restore makes the registrar begin with earlier registrations. It returns when they are in the inbox, so that the view
// of the task comes after them.
func (l *loop) restore(j *sweep.RouteTask) {
	reg, whole := l.shell.Restore(j.HasPort)
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

// notify passes a Notification on, and then logs it, so that a reader of the log line finds its statement true.
func (l *loop) notify(a Notification) {
	if l.shell.Notify != nil {
		l.shell.Notify(a)
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
		log.Log(context.Background(), level, msg, "nodes", a.Nodes, "switches", a.Switches, "links", a.Links, "lids",
			a.LIDs, "active", a.Active,
			"sets", a.SetsText(), "longest", a.Longest, "failures", a.Failures, "took", a.Took.Round(time.Millisecond))
	}
}

// SetsText is the Sets that were sent, by attribute: "none", or "PortInfo 66,
// LinearForwardingTable 4".
func (s *Summary) SetsText() string {
	var parts []string
	for _, attr := range slices.Sorted(maps.Keys(s.Sets)) {
		parts = append(parts, fmt.Sprintf("%s %d", smp.AttrName(attr), s.Sets[attr]))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}
