package vports

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ibsm/partitions"
	"ibsm/topo"
)

// The P_Keys of vPorts are computed in a Task, from the partition policy: of many vPorts at once, because the policy
// has to be evaluated for each Task.

// gatherTime is how long vPorts wait for others that are read meanwhile.
const gatherTime = 50 * time.Millisecond

// wanting is what is known of wanted tables.
type wanting struct {
	task     *Task         // that is out
	wantedAt time.Duration // when the next one is made; 0 for never
}

// Task computes the wanted P_Key tables of vPorts. It runs outside the core, on a snapshot.
type Task struct {
	topo  *topo.Topo
	parts *partitions.Tables
	of    []wantedOf
}

// wantedOf is a port as it was when the task was made.
type wantedOf struct {
	placed
	vPorts []*vPort // of the list that is shown
}

// Result is what a Task has computed.
type Result struct {
	task *Task
	want []*topo.PKeyTable // by VPortIdx
	left map[topo.VPortIdx]string
}

// Settle goes on as far as it can without an outcome, and returns a task for the caller to run, whose result TaskDone
// takes; nil for none.
func (m *Machine) Settle(now time.Duration) *Task {
	if m.subnet == nil || m.task != nil {
		return nil
	}
	awaiting := false
	for _, p := range m.active {
		awaiting = awaiting || p.awaits
	}
	switch {
	case !awaiting:
		m.wantedAt = 0
		return nil
	case m.wantedAt == 0:
		m.wantedAt = now + gatherTime
	}
	if now < m.wantedAt && len(m.asked) > 0 {
		return nil
	}
	m.wantedAt = 0
	m.task = m.newTask()
	return m.task
}

// newTask is the computation for all vPorts of ports with some that wait for it.
func (m *Machine) newTask() *Task {
	task := &Task{topo: m.subnet.Topo, parts: m.subnet.Partitions}
	for _, p := range m.active {
		if p.awaits {
			task.of = append(task.of, wantedOf{placed{p.at, m.showPort(p)}, slices.Clone(p.vPorts)})
		}
	}
	slices.SortFunc(task.of, func(a, b wantedOf) int { return cmp.Compare(a.at, b.at) })
	return task
}

// Run computes the tables; nil when ctx is done.
func (t *Task) Run(ctx context.Context) *Result {
	of := make([]placed, len(t.of))
	for i := range t.of {
		of[i] = t.of[i].placed
	}
	with := *t.topo
	with.VPorts = list(of)
	tables := partitions.Compile(t.parts.Policy, t.parts.Settings, &with, t.parts.Remember)
	if ctx.Err() != nil {
		return nil
	}
	r := &Result{task: t, want: tables.VPorts, left: map[topo.VPortIdx]string{}}
	for _, o := range tables.Overflows {
		if o.VPort != topo.None {
			r.left[o.VPort] = tables.Explain(o, &with)
		}
	}
	return r
}

// TaskDone takes the result of a Task. It drops the result of an abandoned one.
func (m *Machine) TaskDone(r *Result) {
	if r == nil || r.task != m.task || m.subnet == nil {
		return
	}
	m.task = nil
	at := 0
	for _, of := range r.task.of {
		for i, v := range of.vPorts {
			m.wants(v, &of.list[i], r, topo.VPortIdx(at))
			at++
		}
	}
	for _, p := range m.active {
		if p.awaits {
			p.awaits = false
			m.wakeAll(p)
		}
	}
}

// wants takes the table of a vPort, unless it is another one by now than it was.
func (m *Machine) wants(v *vPort, was *topo.VPort, r *Result, at topo.VPortIdx) {
	if v.goneFrom || v.guid() != was.GUID || v.keys != was.PKeys || v.keys == nil || v.has&hasKeys == 0 ||
		m.subnet.Partitions != r.task.parts {
		return
	}
	v.want, v.wanted = r.want[at], true
	if short := r.left[at]; short != v.short {
		v.short, v.p.shown, m.changed = short, nil, true
	}
}
