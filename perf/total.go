package perf

import (
	"time"

	"ibsm/mad/pma"
)

// Total is what a port showed when it was read first, and what it has counted since, as far as that
// is known; after Clear, what it has counted since then.
type Total struct {
	Readings int
	Since    time.Duration // of the first one, or of Clear
	Until    time.Duration // of the last one
	Has      pma.Counters  // counters that have a total
	AtLeast  pma.Counters  // of those, counters of which more may have been counted
	N        [pma.NumCounters]uint64
}

// add adds a reading.
func (t *Total) add(d *Delta) {
	if t.Readings == 0 {
		t.Since = d.At
	}
	t.Readings++
	t.Until = d.At
	t.Has |= d.Has
	t.AtLeast |= d.AtLeast
	for c := range d.Has.All {
		t.N[c] += min(d.N[c], ^t.N[c])
	}
}

// begin adds what counters showed that were read for the first time.
func (t *Total) begin(which pma.Counters, r *reading) {
	t.Has |= which
	for c := range which.All {
		t.N[c] = r.raw[c]
	}
}

// clear begins anew.
func (t *Total) clear(now time.Duration) {
	*t = Total{Readings: t.Readings, Since: now, Until: now, Has: t.Has}
}

// Total is that of a port; ok is false for a port that was not read yet. A counter that went unknown
// for an interval has a total that is too low by that: its AtLeast is set.
func (m *Machine) Total(k Key) (t Total, ok bool) {
	i, known := m.table.index[k]
	if !known || m.ports[i].total.Readings == 0 {
		return Total{}, false
	}
	return m.ports[i].total, true
}

// clear begins totals anew.
func (m *Machine) clear(now time.Duration, of func(Key) bool) {
	for i := range m.ports {
		if of == nil || of(m.table.keys[i]) {
			m.ports[i].total.clear(now)
		}
	}
	for k, p := range m.absent {
		if of == nil || of(k) {
			p.total.clear(now)
			m.absent[k] = p
		}
	}
}
