package vports

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ibsm/mad"
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
	of    []wantedOf // by VPortIdx
}

// wantedOf is a vPort as it was when the task was made.
type wantedOf struct {
	v    *vPort
	guid mad.GUID
	keys *topo.PKeyTable
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
	t := *m.subnet.Topo
	task := &Task{topo: &t, parts: m.subnet.Partitions}
	var list []topo.VPort
	for _, at := range t.EndPorts {
		p := m.ports[t.Ports[at].GUID]
		if p == nil || !p.awaits {
			continue
		}
		for _, v := range p.vPorts {
			shown := m.show(v)
			shown.Port = at
			list = append(list, shown)
			task.of = append(task.of, wantedOf{v, v.guid(), v.keys})
		}
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(list[a].Port, list[b].Port), cmp.Compare(list[a].Index, list[b].Index))
	})
	sorted, of := make([]topo.VPort, len(list)), make([]wantedOf, len(list))
	for i, from := range order {
		sorted[i], of[i] = list[from], task.of[from]
	}
	t.VPorts, task.of = topo.NewVPorts(sorted, nil), of
	return task
}

// Run computes the tables; nil when ctx is done.
func (t *Task) Run(ctx context.Context) *Result {
	tables := partitions.Compile(t.parts.Policy, t.parts.Settings, t.topo, t.parts.Remember)
	if ctx.Err() != nil {
		return nil
	}
	r := &Result{task: t, want: tables.VPorts, left: map[topo.VPortIdx]string{}}
	for _, o := range tables.Overflows {
		if o.VPort != topo.None {
			r.left[o.VPort] = tables.Explain(o, t.topo)
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
	for i, of := range r.task.of {
		v := of.v
		if v.goneFrom || v.guid() != of.guid || v.keys != of.keys || v.keys == nil || v.has&hasKeys == 0 ||
			m.subnet.Partitions != r.task.parts {
			continue
		}
		v.want, v.wanted, v.short = r.want[i], true, r.left[topo.VPortIdx(i)]
	}
	for _, p := range m.active {
		if p.awaits {
			p.awaits = false
			for _, v := range p.vPorts {
				if !v.open {
					p.ready = append(p.ready, v)
				}
			}
		}
	}
}
