package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/history"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/opensm/console"
	"ibsm/opensm/names"
	"ibsm/perf"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/view"
)

// Config of a Server.
type Config struct {
	Version string
	Where   string // the port to run on
	// Asks is the channel of requests to the manager.
	Asks  chan<- manager.SweepRequested
	Names names.Map // that the operator gave to nodes; nil for none
	// Events holds the latest log events; may be nil.
	Events *ctl.Ring
	// Console holds the counters of OpenSM's console; nil without one.
	Console *console.Counters
	// Engines is a list of routing engines with the settings in force; nil without a configuration.
	Engines func(list []string) (engines.Chain, error)
	// Isolate takes a link out of use, until a time unless that is zero, and Heal has it return, with forget called in
	// between decisions; nil without a configuration.
	Isolate func(port, peer perf.Key, until time.Time) error
	Heal    func(port, peer perf.Key, forget func()) error
	// CallerRules are the rules of orders about partitions, which the caller may change; they are nil before the
	// manager has its port.
	CallerRules func() *CallerRules
	// Tenants is what security tenants would change; nil without a configuration.
	Tenants func() (*sweep.Policy, []ctl.SettingChange, error)
}

// Server is the ctl.Source of a manager, or of several that
// run one after the other on a port. The goroutine that runs the managers calls Notify,
// Published, Serve and Wait; the other methods are safe for concurrent use. Run, a goroutine
// of its own, compares published views; without it there is no history.
type Server struct {
	cfg     Config
	started time.Time
	shell   atomic.Pointer[manager.Shell] // nil while no manager runs
	seen    atomic.Pointer[subnet]        // of the view that was last requested
	past    *history.Keeper
	clients clientRates

	congestion congestionWatch
	links      linkJudge

	mu        sync.Mutex // guards the following
	where     string     // the port
	settings  Settings
	waiting   string        // why there is no port
	nextView  chan struct{} // is closed when a view is published
	sweep     *ctl.SweepStatus
	treeLoop  *ctl.TreeLoop // nil for none
	unwritten []ctl.Unwritten

	plans planAskers
}

// New returns a Server without a manager.
func New(cfg Config) *Server {
	return &Server{cfg: cfg, started: time.Now(), where: cfg.Where, past: history.NewKeeper(cfg.Names),
		nextView: make(chan struct{})}
}

// Serve sets the manager that is about to run, and its port.
func (d *Server) Serve(s *manager.Shell, where string) {
	d.mu.Lock()
	d.where, d.waiting = where, ""
	d.mu.Unlock()
	d.shell.Store(s)
}

// Settings are what is in force of the configuration. They are immutable.
type Settings struct {
	Engines    []string               // the routing engines as they were chosen; nil for none
	Mirrored   *ctl.MirroredSettings  // nil if the manager uses its own files
	Partitions *ctl.PartitionsTrouble // nil if the partition file is in force
	QoSPolicy  *ctl.QoSTrouble        // nil if the QoS policy file is in force, or there is none
	Keys       Keys
}

// keys is what the configuration says of them.
func (d *Server) keys() Keys {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settings.Keys
}

// ShowSettings sets what is in force from now on.
func (d *Server) ShowSettings(s Settings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settings = s
}

// Unwritten records that files cannot be written, with the reason, or with nil that they can again. Any goroutine may
// call it.
func (d *Server) Unwritten(what string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(d.unwritten), func(u ctl.Unwritten) bool { return u.What == what })
	if err != nil {
		u := ctl.Unwritten{What: what, Reason: err.Error(), Since: time.Now()}
		if i := slices.IndexFunc(d.unwritten, func(u ctl.Unwritten) bool { return u.What == what }); i >= 0 {
			u.Since = d.unwritten[i].Since // the reason may change meanwhile
		}
		next = append(next, u)
	}
	d.unwritten = next
}

// Wait records that no manager runs, and why.
func (d *Server) Wait(reason string) {
	d.shell.Store(nil)
	d.seen.Store(nil)
	d.past.Put(nil, nil)
	d.mu.Lock()
	d.waiting = reason
	d.mu.Unlock()
	d.plans.refuse(errNoManager)
}

var errNoManager = errors.New("no manager is running")

// Notify takes a notification of the manager. It does not block.
func (d *Server) Notify(a manager.Notification) {
	switch a := a.(type) {
	case manager.Up:
		sweep := &ctl.SweepStatus{
			Ended: time.Now(), Seconds: a.Took.Seconds(), Up: !a.Errors, Sets: a.SetsText(),
			Failures: a.Failures, Cut: a.Cut, Lost: a.Bad, Longest: a.Longest, Forbidden: a.Forbidden,
			ConnectRoots: a.Connects, ByRules: a.ByRules, CreditLoop: a.CreditLoop,
		}
		d.mu.Lock()
		d.sweep = sweep
		d.mu.Unlock()
	case manager.TreeLoop:
		d.mu.Lock()
		if d.treeLoop = nil; a.Links > 0 {
			d.treeLoop = &ctl.TreeLoop{Time: time.Now(), Links: a.Links, Text: a.Text}
		}
		d.mu.Unlock()
	case manager.Planned:
		d.plans.answer(a)
	}
}

// showRouting shows where routes come from.
func showRouting(st *ctl.Status, r *view.Routing) {
	st.Engine, st.RoutesKept, st.NotOf, st.Lanes, st.Fabric = r.Engine, r.Kept, r.Foreign, r.Lanes, r.Fabric
	st.RoutingNotes, st.AwaitedEngine = r.Notes, r.Awaited
	for _, f := range r.Refused {
		st.Refused = append(st.Refused, ctl.EngineRefusal{Engine: f.Engine, Reason: f.Reason})
	}
}

// RoutesText says in one line where routes come from.
func RoutesText(r *view.Routing) string {
	st := &ctl.Status{}
	showRouting(st, r)
	return st.RoutesText()
}

// subnet is the view with its derived values, which are computed once.
func (d *Server) subnet() *subnet {
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
		s.names, s.past, s.refusals = d.cfg.Names, d.past, shell.SAStats().Refusals.All
		s.offending = func() []sa.Offender {
			rows, _ := shell.SAStats().Offenders.All()
			return rows
		}
		s.droppedPackets = func() []manager.DroppedPackets {
			stats := shell.Stats()
			return stats.DroppedPackets()
		}
		s.shell, s.keys, s.waits, s.sickLinks = shell, d.keys, d.waitingOn, d.sickLinks
	case s.registered != reg:
		s = s.with(reg)
	default:
		return s
	}
	d.seen.Store(s)
	return s
}

// Subnet is the latest published subnet.
func (d *Server) Subnet() ctl.Subnet {
	if s := d.subnet(); s != nil {
		return s
	}
	return nil
}

// Status returns the state of the manager.
func (d *Server) Status() *ctl.Status {
	st := &ctl.Status{Version: d.cfg.Version, PID: os.Getpid(), Started: d.started, Engines: []string{},
		SMs: []ctl.SM{}}
	if d.cfg.Events != nil {
		st.Events = d.cfg.Events.Last()
	}
	d.mu.Lock()
	st.Where, st.Waiting, st.Sweep, st.TreeLoop = d.where, d.waiting, d.sweep, d.treeLoop
	if d.settings.Engines != nil {
		st.Engines = d.settings.Engines
	}
	st.MirroredSettings, st.Partitions, st.QoSPolicy = d.settings.Mirrored, d.settings.Partitions, d.settings.QoSPolicy
	st.Unwritten = d.unwritten
	d.mu.Unlock()
	shell := d.shell.Load()
	if shell == nil {
		return st
	}
	stats := shell.Stats()
	st.State, st.Phase, st.MastershipTerm, st.OwnPort = stats.State.String(), stats.Phase.String(), stats.Terms,
		stats.OwnPort
	st.JoinsUnlisted = shell.SAStats().Refusals.Missed()
	if s := d.subnet(); s != nil {
		stats.Self.LID = s.view.SMs[0].LID // which may be newer
		st.Subnet = s.status
		showRouting(st, &s.view.Routing)
		for _, d := range s.view.Drained {
			if d.By == view.BySickLinks {
				st.SickLinksAvoided++
				if d.State == view.DrainNeeded {
					st.SickLinksNeeded++
				}
				continue
			}
			st.Drained++
			if d.Port > 0 {
				st.DrainedPorts++
			}
			if d.State == view.DrainNeeded {
				st.StillNeeded++
			}
		}
		st.SickLinksAvoided += d.links.ofHosts()
		st.Cabling = cablingStatus(s.view.Cabling)
	}
	st.SMs = managers(&stats)
	if s := d.subnet(); s != nil {
		s.nameManagers(st.SMs)
	}
	for _, a := range stats.Alarms() {
		alarm := ctl.Alarm{Kind: a.Kind.String(), LID: a.LID, Where: a.Where, Count: a.Count,
			Last: time.Unix(a.Last, 0)}
		if a.Port != 0 {
			alarm.GUID = a.Port.String()
		}
		st.Alarms = append(st.Alarms, alarm)
	}
	for _, m := range shell.Mirrors() {
		for i := range st.SMs {
			if sm := &st.SMs[i]; sm.GUID == m.Standby.String() {
				sm.Mirrors, sm.Lag, sm.Reads, sm.Incomplete = true, m.Lag.Seconds(), m.Reads, m.Incomplete
			}
		}
	}
	return st
}

// Leader is in one word where the manager stands in the election, and whether it is the master whose SA answers.
func (d *Server) Leader() (word string, leads bool) {
	shell := d.shell.Load()
	if shell == nil {
		return "waiting", false
	}
	switch state := shell.State(); {
	case state != smp.Master:
		return strings.ToLower(state.String()), false
	case shell.Leads():
		return "master", true
	case shell.View() == nil:
		return "starting", false
	}
	return "unconfirmed", false
}

// managers are the subnet managers, this one first.
func managers(st *manager.Stats) []ctl.SM {
	all := append([]view.SM{st.Self}, st.Rivals...)
	sms := make([]ctl.SM, len(all))
	next := -1
	for i, m := range all {
		state := smp.SMState(m.State)
		sms[i] = ctl.SM{GUID: m.GUID.String(), LID: m.LID, Priority: m.Priority, State: state.String(),
			ActCount: m.ActCount}
		sms[i].Ignored = slices.Contains(st.Ignored, m.GUID)
		if state == smp.Master || state == smp.NotActive || sms[i].Ignored {
			continue
		}
		if next < 0 || m.Priority > all[next].Priority || m.Priority == all[next].Priority && m.GUID < all[next].GUID {
			next = i
		}
	}
	if next >= 0 {
		sms[next].NextMaster = true
	}
	return sms
}

// nameManagers adds the names of the nodes of managers.
func (s *subnet) nameManagers(sms []ctl.SM) {
	for i := range sms {
		if guid, err := mad.ParseGUID(sms[i].GUID); err == nil {
			if p := s.view.Topo.FindPort(guid); p != topo.None {
				sms[i].Desc = s.nodeName(s.view.Topo.Ports[p].Node)
			}
		}
	}
}

// orders map requests to sweeps.
var orders = map[ctl.Order]manager.Sweep{ctl.LightSweep: manager.Light, ctl.HeavySweep: manager.Heavy,
	ctl.Reroute: manager.Reroute}

// Order passes a request on.
func (d *Server) Order(ctx context.Context, o ctl.Order) error {
	return d.ask(ctx, manager.SweepRequested{Sweep: orders[o]})
}

func (d *Server) ask(ctx context.Context, s manager.SweepRequested) error {
	if err := d.takesRequests(); err != nil {
		return err
	}
	return d.send(ctx, s)
}

// takesRequests returns the error that the manager takes none now.
func (d *Server) takesRequests() error {
	if d.shell.Load() == nil {
		return fmt.Errorf("%w: the manager is waiting for its port", ctl.ErrNotNow)
	}
	if d.View() == nil {
		return fmt.Errorf("%w: the manager is not master, or its first sweep has not completed", ctl.ErrNotNow)
	}
	return nil
}

func (d *Server) send(ctx context.Context, s manager.SweepRequested) error {
	select {
	case d.cfg.Asks <- s:
		return nil
	case <-ctx.Done():
		return errNotAccepted
	}
}

var errNotAccepted = fmt.Errorf("%w: the manager does not accept requests", ctl.ErrNotNow)
