package perf

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// State is where a Machine stands.
type State struct {
	Settings Settings
	Sweeping bool
	Waiting  int // requests on the way
	Ports    int // that are read
	Absent   int // ports that have gone and keep their totals
	Bytes    int // that the images take
	Stats    Stats
}

// State is where the machine stands.
func (m *Machine) State() State {
	return State{m.settings, m.state != resting, m.waiting + m.given, len(m.ports), len(m.absent), m.history.bytes,
		m.Stats}
}

// Keys are the ports that are read, in the order of the LIDs of their agents. The slice must not be
// changed.
func (m *Machine) Keys() []Key { return m.table.keys }

// AbsentTotals are the totals of ports that have gone, by GUID and port.
func (m *Machine) AbsentTotals() []PortTotal {
	list := make([]PortTotal, 0, len(m.absent))
	for k, p := range m.absent {
		list = append(list, PortTotal{k, p.total})
	}
	slices.SortFunc(list, func(a, b PortTotal) int { return a.Compare(b.Key) })
	return list
}

// PortTotal is the Total of a port.
type PortTotal struct {
	Key
	Total
}

// Totals are those of many ports at a time, in the order of the last image. They do not change.
type Totals struct {
	Begin, End time.Duration // of the last sweep that was complete, 0 if none was
	Ports      []Counted
}

// Counted is what a port has counted, and how far that is known.
type Counted struct {
	Key
	Has, AtLeast pma.Counters
	Note         Note // of the last reading
	N            [pma.NumCounters]uint64
}

// Totals are those of the ports of the last image that are still read, of nodes that wanted accepts; nil
// for all. Ports that are new begin with the next image.
func (m *Machine) Totals(wanted func(mad.GUID) bool) *Totals {
	t := &Totals{Ports: make([]Counted, 0, len(m.ports))}
	last := m.history.Last()
	if last == nil {
		return t
	}
	t.Begin, t.End = last.Begin, last.End
	for k, d := range last.All {
		i, known := m.table.index[k]
		if known && (wanted == nil || wanted(k.Node)) {
			total := &m.ports[i].total
			t.Ports = append(t.Ports, Counted{k, total.Has, total.AtLeast, d.Note, total.N})
		}
	}
	return t
}

// Redirect is an agent that redirected elsewhere.
type Redirect struct {
	Key
	From mad.LID
	To   mad.Addr
}

// Redirects are the ports whose agent redirected elsewhere, by GUID and port.
func (m *Machine) Redirects() (list []Redirect) {
	for i := range m.agents {
		a := &m.agents[i]
		for p := a.first; a.redirect.LID != 0 && p <= a.last; p++ {
			list = append(list, Redirect{m.table.keys[p], a.to.LID, a.redirect})
		}
	}
	slices.SortFunc(list, func(a, b Redirect) int { return a.Compare(b.Key) })
	return list
}

// Last is the newest image, nil if there is none.
func (h *History) Last() *Image {
	if len(h.images) == 0 {
		return nil
	}
	return h.images[len(h.images)-1]
}
