package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/history"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/opensm/console"
	"ibsm/view"
)

// Config of a Desk.
type Config struct {
	Version string
	Engine  string
	Where   string // what port it is to run at
	// Asks is where the manager takes orders from.
	Asks chan<- manager.Sweep
	// Events is what the manager's log is kept in; may be nil.
	Events *ctl.Ring
	// Console is what became of the clients of OpenSM's console; nil without one.
	Console *console.Counters
}

// Desk is the ctl.Source, ctl.Planner and ctl.Historian of a manager, or of several that
// run one after the other at a port. Tell, Published, Serve and Wait are for who runs them,
// the other methods for any number of goroutines. Run is a goroutine of its own, which
// compares what is published; without it there is no history.
type Desk struct {
	cfg     Config
	started time.Time
	shell   atomic.Pointer[manager.Shell] // nil while none runs
	seen    atomic.Pointer[subnet]        // made of the view that was asked for last
	past    *history.Keeper
	clients clientRates

	mu      sync.Mutex // guards the following
	where   string     // the port
	engine  string
	ruling  *ctl.Ruling
	waiting string // why there is none
	sweep   *ctl.SweepStatus
	planned chan manager.Planned // who waits for a plan; nil when nobody does
}

// New returns a Desk without a manager.
func New(cfg Config) *Desk {
	return &Desk{cfg: cfg, started: time.Now(), where: cfg.Where, engine: cfg.Engine, past: history.NewKeeper()}
}

// Serve shows a manager that is about to run, and the port that it runs at.
func (d *Desk) Serve(s *manager.Shell, where string) {
	d.mu.Lock()
	d.where, d.waiting = where, ""
	d.mu.Unlock()
	d.shell.Store(s)
}

// Rules shows the routing engine, and what the manager rules by if not by its own files; that
// must not be changed any more.
func (d *Desk) Rules(engine string, r *ctl.Ruling) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.engine, d.ruling = engine, r
}

// Wait shows that no manager runs, and why.
func (d *Desk) Wait(reason string) {
	d.shell.Store(nil)
	d.seen.Store(nil)
	d.past.Put(nil, nil)
	d.mu.Lock()
	d.waiting = reason
	d.mu.Unlock()
	d.Tell(manager.Planned{Err: errNoManager})
}

var errNoManager = errors.New("no manager runs now")

// Tell takes what a manager tells. It does not block.
func (d *Desk) Tell(a manager.Notification) {
	switch a := a.(type) {
	case manager.Up:
		sweep := &ctl.SweepStatus{
			Ended: time.Now(), Seconds: a.Took.Seconds(), Up: !a.Errors, Sets: a.SetsText(),
			Failures: a.Failures, Cut: a.Cut, Lost: a.Bad, Longest: a.Longest,
		}
		d.mu.Lock()
		d.sweep = sweep
		d.mu.Unlock()
	case manager.Planned:
		d.mu.Lock()
		waiting := d.planned
		d.planned = nil
		d.mu.Unlock()
		if waiting != nil {
			waiting <- a // it has room for one
		}
	}
}

// subnet is the view, with what is made of it once.
func (d *Desk) subnet() *subnet {
	shell := d.shell.Load()
	if shell == nil {
		return nil
	}
	v, reg := shell.View(), shell.Registry()
	if v == nil {
		return nil
	}
	s := d.seen.Load()
	switch {
	case s == nil || s.view != v:
		s = newSubnet(v, reg)
		s.past = d.past
	case s.registered != reg:
		s = s.with(reg)
	default:
		return s
	}
	d.seen.Store(s)
	return s
}

// Subnet is what was published last.
func (d *Desk) Subnet() ctl.Subnet {
	if s := d.subnet(); s != nil {
		return s
	}
	return nil
}

// Status is the manager in short.
func (d *Desk) Status() *ctl.Status {
	st := &ctl.Status{Version: d.cfg.Version, PID: os.Getpid(), Started: d.started, SMs: []ctl.SM{}}
	if d.cfg.Events != nil {
		st.Events = d.cfg.Events.Last()
	}
	d.mu.Lock()
	st.Where, st.Waiting, st.Sweep, st.Engine, st.Ruling = d.where, d.waiting, d.sweep, d.engine, d.ruling
	d.mu.Unlock()
	shell := d.shell.Load()
	if shell == nil {
		return st
	}
	stats := shell.Stats()
	st.State, st.Phase, st.Reign = stats.State.String(), stats.Phase.String(), stats.Reign
	if s := d.subnet(); s != nil {
		stats.Self.LID = s.view.SMs[0].LID // which may have been published since
		st.Subnet = s.status
	}
	st.SMs = managers(&stats)
	for _, m := range shell.Mirrors() {
		for i := range st.SMs {
			if sm := &st.SMs[i]; sm.GUID == m.Standby.String() {
				sm.Mirrors, sm.Lag, sm.Reads, sm.Doubt = true, m.Lag.Seconds(), m.Reads, m.Doubt
			}
		}
	}
	return st
}

// managers are those of the subnet, this one first.
func managers(st *manager.Stats) []ctl.SM {
	all := append([]view.SM{st.Self}, st.Rivals...)
	sms := make([]ctl.SM, len(all))
	heir := -1
	for i, m := range all {
		state := smp.SMState(m.State)
		sms[i] = ctl.SM{GUID: m.GUID.String(), LID: m.LID, Priority: m.Priority, State: state.String(), ActCount: m.ActCount}
		if state == smp.Master || state == smp.NotActive {
			continue
		}
		if heir < 0 || m.Priority > all[heir].Priority || m.Priority == all[heir].Priority && m.GUID < all[heir].GUID {
			heir = i
		}
	}
	if heir >= 0 {
		sms[heir].Heir = true
	}
	return sms
}

// orders are the sweeps that carry them out.
var orders = map[ctl.Order]manager.Sweep{ctl.LightSweep: manager.Light, ctl.HeavySweep: manager.Heavy, ctl.Reroute: manager.Reroute}

// Order hands an order on.
func (d *Desk) Order(ctx context.Context, o ctl.Order) error { return d.ask(ctx, orders[o]) }

func (d *Desk) ask(ctx context.Context, s manager.Sweep) error {
	if d.shell.Load() == nil {
		return fmt.Errorf("%w: the manager waits for its port", ctl.ErrNotNow)
	}
	if d.View() == nil {
		return fmt.Errorf("%w: the manager is not master, or its first sweep has not ended", ctl.ErrNotNow)
	}
	select {
	case d.cfg.Asks <- s:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the manager does not take orders", ctl.ErrNotNow)
	}
}

// Plan has the manager make a plan, and returns its steps.
func (d *Desk) Plan(ctx context.Context, reroute bool) (iter.Seq[string], error) {
	answer := make(chan manager.Planned, 1)
	d.mu.Lock()
	if d.planned != nil {
		d.mu.Unlock()
		return nil, fmt.Errorf("%w: another plan is being made", ctl.ErrNotNow)
	}
	d.planned = answer
	d.mu.Unlock()
	what := manager.Plan
	if reroute {
		what = manager.PlanReroute
	}
	if err := d.ask(ctx, what); err != nil {
		d.mu.Lock()
		d.planned = nil
		d.mu.Unlock()
		return nil, err
	}
	select {
	case p := <-answer:
		if p.Err != nil {
			return nil, fmt.Errorf("%w: no plan: %w", ctl.ErrNotNow, p.Err)
		}
		return p.Computed.Steps, nil
	case <-ctx.Done(): // the answer still comes, and the next who asks is not to take it for his
		return nil, ctx.Err()
	}
}
