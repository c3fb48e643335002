package sim

import (
	"context"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/proof"
	"ibsm/topo/net"
	"ibsm/view"
)

// World is a fabric with managers on it.
type World struct {
	Fabric   *fabric.Fabric
	Managers []*Manager
	// ComputeTime is how long a route task takes in virtual time.
	ComputeTime time.Duration
	// ProveTrees has managers prove the multicast trees that joins have changed, which takes ten times as long.
	ProveTrees bool
	// StepTook, when set, is given the time that a core computed for one event, by Clock, or else in real time.
	StepTook func(ev manager.Event, took time.Duration)
	// Sent, when set, is given every datagram that a manager's station sends, before the
	// fabric has it. Returned is given every action of a Core, before it is done. Both are
	// called in virtual time order, and may keep nothing of what they are given.
	Sent     func(m *Manager, batch []mad.Datagram)
	Returned func(m *Manager, a manager.Action)
	// Clock, when set, is that by which Manager.Busy is counted: CPU time, say.
	Clock func() time.Duration
	// StepTakes, when set, is how long a manager is busy with what a Core has returned, in virtual time.
	StepTakes func(m *Manager, actions []manager.Action) time.Duration
	// Steps counts what the managers were given, so that a run can be bounded
	// even where virtual time does not pass.
	Steps int
}

// Manager is one manager in a World.
type Manager struct {
	Core    *manager.Core
	Station *fabric.Station
	View    *view.View // published last
	Disk    *Disk      // where it keeps what must outlive it; nil for nowhere
	Exited  bool
	Err     error
	// OnAction, when set, is given every action as the core returned it.
	OnAction func(now time.Duration, a manager.Action)
	// Heard, when set, is shown what has been received before the core is, and may
	// change it.
	Heard func(received []mad.Datagram)
	// Mirrored, when set, is given the policy of the master that is followed.
	Mirrored func(policy []byte)
	// Asleep is until when it does not run, as a process that is stopped: what comes
	// in waits.
	Asleep time.Duration
	// Busy is how long it has computed, by World.Clock: its core, its SA, its tasks.
	Busy time.Duration

	begun bool
	tasks [manager.NumPurposes]task
	buf   []mad.Datagram
	sa    *saServer // nil without a Registrar
}

// task is a task that is out.
type task struct {
	out    bool
	done   time.Duration
	result any // on its way
}

func (t *task) due(now time.Duration) bool { return t.out && t.done <= now }

// Add puts a manager at a port. It begins with the next Run, from what is on the disk,
// which is nil for a manager without one.
func (w *World) Add(at net.End, cfg manager.Config, disk *Disk) (*Manager, error) {
	st, err := w.Fabric.Attach(at)
	if err != nil {
		return nil, err
	}
	var kept *registry.Registry
	if disk != nil {
		contents := disk.Contents()
		kept = contents.Registry
		cfg.Resume(contents, time.Unix(int64(w.Fabric.Now()/time.Second), 0))
		cfg.Registered = kept.Freeze()
	}
	st.SetIsSM(!cfg.DryRun)
	cfg.Salt = proof.Salt(w.salt(at))
	m := &Manager{Core: manager.NewCore(cfg), Station: st, Disk: disk, buf: make([]mad.Datagram, 64)}
	if cfg.Registrar.Groups != nil {
		cfg.Registrar.Salt = w.salt(at)
		m.sa = newSAServer(cfg.Registrar, kept)
	}
	w.Managers = append(w.Managers, m)
	return m, nil
}

// Ask asks a manager for a sweep.
func (w *World) Ask(m *Manager, s manager.Sweep) { w.step(m, manager.SweepRequested{Sweep: s}) }

// WriteGUIDs has a manager write a block of GUIDs.
func (w *World) WriteGUIDs(m *Manager, b sa.GUIDBlock) { w.step(m, manager.WriteGUIDs{Block: b}) }

// Request is Ask for a plan of something else than the subnet and the configuration as they are.
func (w *World) Request(m *Manager, r manager.SweepRequested) { w.step(m, r) }

// Register gives a manager another state of what is registered.
func (w *World) Register(m *Manager, s *registry.State) { w.step(m, manager.RegistryChanged{State: s}) }

// Order gives a manager's SA an order about partitions.
func (w *World) Order(m *Manager, o sa.PartitionOrder) { w.register(m, o) }

// Partition gives a manager another policy.
func (w *World) Partition(m *Manager, p sweep.Partitions) {
	w.step(m, manager.PartitionsChanged{Partitions: p})
}

// Configure gives a manager a configuration that was read again.
func (w *World) Configure(m *Manager, cfg manager.Config) {
	if m.sa != nil {
		w.register(m, sa.ConfigChanged{Config: cfg.Registrar})
	}
	w.step(m, manager.ConfigChanged{Config: &cfg})
}

// Sleep has a manager see that its host has slept.
func (w *World) Sleep(m *Manager, d time.Duration) { w.step(m, manager.Resumed{Paused: d}) }

// SetClock has a manager see another time of day.
func (w *World) SetClock(m *Manager, epoch int64) { w.step(m, manager.ClockSet{Epoch: epoch}) }

// Deliver gives a manager a datagram as if it had just come in.
func (w *World) Deliver(m *Manager, d mad.Datagram) {
	rest := []mad.Datagram{d}
	if m.sa != nil {
		rest = w.take(m, rest)
	}
	if len(rest) > 0 {
		w.step(m, manager.Received{Datagrams: rest})
	}
}

// Leave asks a manager to end.
func (w *World) Leave(m *Manager) { w.step(m, manager.Leave{}) }

// leave has the SA of a manager that ends take its leave, as Shell does.
func (w *World) leave(m *Manager) {
	if m.sa == nil {
		return
	}
	events := m.sa.events
	m.sa.events = nil
	for _, ev := range events {
		w.register(m, ev)
	}
	if m.Registrar().MirrorStats().Reader.Master != 0 {
		w.register(m, sa.Leave{})
	}
}

// Kill ends a manager without a word, as a crash does.
func (w *World) Kill(m *Manager) {
	m.Exited = true
	m.Station.Detach()
	if m.Disk != nil {
		m.Disk.crash(w.Fabric.Now())
	}
}

// Run lets the world go on until stop, which may be nil, returns true, or nothing is
// left to happen, or the time has come. It reports whether stop ended it.
func (w *World) Run(until time.Duration, stop func() bool) bool {
	for {
		if stop != nil && stop() {
			return true
		}
		at, ok := w.next()
		if !ok || at > until {
			w.Fabric.Advance(until)
			return false
		}
		w.Fabric.Advance(at)
		for _, m := range w.Managers {
			w.attend(m)
		}
	}
}

// next is the earliest thing to happen.
func (w *World) next() (at time.Duration, ok bool) {
	earlier := func(t time.Duration, set bool) {
		if set && (!ok || t < at) {
			at, ok = t, true
		}
	}
	earlier(w.Fabric.Next())
	for _, m := range w.Managers {
		if m.Exited {
			continue
		}
		at, set := m.Core.Deadline()
		earlier(max(at, m.Asleep), set)
		if m.sa != nil {
			at, set = m.sa.due()
			earlier(max(at, m.Asleep), set)
		}
		for _, t := range m.tasks {
			earlier(max(t.done, m.Asleep), t.out)
		}
		earlier(m.Asleep, !m.begun || m.Station.Pending() > 0)
	}
	return max(at, w.Fabric.Now()), ok
}

// attend gives a manager the next thing that is due for it, if anything is.
func (w *World) attend(m *Manager) {
	if m.Exited || m.Asleep > w.Fabric.Now() {
		return
	}
	switch at, due := m.Core.Deadline(); {
	case !m.begun:
		w.step(m, manager.TimePassed{})
	case m.Station.Pending() > 0:
		received := m.buf[:m.Station.Recv(m.buf)]
		if m.Heard != nil {
			m.Heard(received)
		}
		if m.sa != nil {
			received = w.take(m, received)
		}
		if len(received) > 0 {
			w.step(m, manager.Received{Datagrams: received})
		}
	case w.taskDone(m):
	case due && at <= w.Fabric.Now():
		w.step(m, manager.TimePassed{})
	case m.sa != nil:
		if at, due := m.sa.due(); due && at <= w.Fabric.Now() {
			w.serve(m)
		}
	}
}

// taskDone gives a manager the result of a task that is done, and reports whether there was one.
func (w *World) taskDone(m *Manager) bool {
	for purpose := range m.tasks {
		if t := &m.tasks[purpose]; t.due(w.Fabric.Now()) {
			t.out = false
			w.step(m, manager.TaskDone{Purpose: manager.Purpose(purpose), Result: t.result})
			return true
		}
	}
	return false
}

// begin runs a task, whose result comes later: how much later depends on its purpose.
func (w *World) begin(m *Manager, t manager.Task) {
	if t.Purpose == manager.ForTrees && !w.ProveTrees {
		return
	}
	if t.Routes != nil {
		defer w.time(m)()
	}
	took := map[manager.Purpose]time.Duration{manager.ForSweep: w.ComputeTime, manager.ForPlan: w.ComputeTime,
		manager.ForMulticast: w.ComputeTime / 10, manager.ForTrees: 10 * w.ComputeTime,
		manager.ForEngine: 100 * w.ComputeTime, manager.ForStandby: w.ComputeTime}[t.Purpose]
	m.tasks[t.Purpose] = task{out: true, done: w.Fabric.Now() + took, result: t.Run(context.Background())}
}

// cancel ends a task. A worker of routes stops at once; the result of the others comes no sooner.
func (w *World) cancel(m *Manager, purpose manager.Purpose) {
	t := &m.tasks[purpose]
	if t.result = nil; purpose <= manager.ForPlan {
		t.done = w.Fabric.Now()
	}
}

func (w *World) step(m *Manager, ev manager.Event) {
	w.Steps++
	m.begun = true
	began, busy := time.Now(), m.Busy
	ends := w.time(m)
	actions := m.Core.Step(w.Fabric.Now(), ev)
	ends()
	if w.StepTook != nil {
		took := time.Since(began)
		if w.Clock != nil {
			took = m.Busy - busy
		}
		w.StepTook(ev, took)
	}
	for _, a := range actions {
		if w.Returned != nil {
			w.Returned(m, a)
		}
		if m.OnAction != nil {
			m.OnAction(w.Fabric.Now(), a)
		}
		if m.sa != nil {
			m.sa.notify(a)
		}
		switch a := a.(type) {
		case manager.Send:
			w.send(m, a.Datagrams)
		case manager.Task:
			w.begin(m, a)
		case manager.Cancel:
			w.cancel(m, a.For)
		case manager.Publish:
			m.View = a.View
		case manager.Persist:
			if m.Disk != nil {
				m.Disk.put(w.Fabric.Now(), a.Batch())
			}
		case manager.ClearIsSM:
			m.Station.SetIsSM(false)
		case manager.Exit:
			m.Exited, m.Err = true, a.Err
		}
	}
	if m.Exited {
		w.leave(m)
		m.Station.Detach()
	}
	if w.StepTakes != nil {
		w.Fabric.Advance(w.Fabric.Now() + w.StepTakes(m, actions))
	}
	m.Core.Waits(w.Fabric.Now())
}

// send has a manager's station send datagrams.
func (w *World) send(m *Manager, batch []mad.Datagram) {
	if w.Sent != nil {
		w.Sent(m, batch)
	}
	m.Station.Send(batch)
}

// time counts as Busy what happens until the end.
func (w *World) time(m *Manager) (end func()) {
	if w.Clock == nil {
		return func() {}
	}
	from := w.Clock()
	return func() { m.Busy += w.Clock() - from }
}
