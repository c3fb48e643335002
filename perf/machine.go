package perf

import (
	"cmp"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// Machine is the performance manager: it sweeps over the ports.
type Machine struct {
	settings Settings
	state    sweepState
	table    *table
	ports    []port
	agents   []agent
	ready    []int32 // agents with something to ask, those from next on
	next     int     // of ready
	slots    []slot
	free     []int32
	waiting  int           // requests of the sweep on the way
	given    int           // requests on the way that were given up
	begun    time.Duration // of the sweep under way or the last one
	due      time.Duration // of the next sweep
	pending  []Port        // that replace the ports when the sweep is done; nil for none
	deltas   []byte        // of the sweep under way, in the order of responses
	where    []int32       // where each port is in deltas, -1 for nowhere
	image    *Image        // of the sweep under way
	found    int           // findings of the sweep
	absent   map[Key]port  // those of nodes that have gone, with Settings.KeepAbsent
	history  History
	out      Output
	scratch  Delta
	Stats    Stats
}

// Stats counts since the machine was made.
type Stats struct {
	Sweeps     uint64
	Asked      uint64 // requests
	Unanswered uint64 // of them
	Resets     uint64 // of them
	Unwanted   uint64 // responses to nothing
	Late       uint64 // sweeps that began late, because the one before had not ended
	Findings   uint64 // also those beyond maxFindings
	Forgotten  uint64 // ports that have gone, and for whose totals there was no room
}

// sweepState is whether a sweep is under way.
type sweepState uint8

const (
	resting sweepState = iota
	sweeping
	sweepsAgain // another one was asked for, and begins when this one ends
)

// port is what is known of a port.
type port struct {
	agent int32
	words uint64
	total Total
	track track
}

// slot is a request on the way.
type slot struct {
	serial uint32
	agent  int32 // or free, or givenUp
	what   what
}

// States of a slot without an agent.
const (
	free    int32 = -1
	givenUp int32 = -2
)

// New makes a machine without ports.
func New(s Settings) *Machine {
	m := &Machine{table: &table{}}
	m.change(0, s)
	return m
}

// Step takes an event at a time, which never goes back.
func (m *Machine) Step(now time.Duration, e Event) *Output {
	m.out = Output{Asks: m.out.Asks[:0], Findings: m.out.Findings[:0], Gone: m.out.Gone[:0]}
	switch e := e.(type) {
	case *Ports:
		m.setPorts(now, e.List)
	case *Rebooted:
		m.rebooted(e.Nodes)
	case *Answered:
		m.outcome(now, e.Tag, e.Packet)
	case *Unanswered:
		m.outcome(now, e.Tag, nil)
	case *SweepNow:
		if m.state == resting {
			m.begin(now)
		} else {
			m.state = sweepsAgain
		}
	case *Clear:
		m.clear(now, e.Of)
	case *ForgetAbsent:
		m.absent = nil
	case *ForgetRedirects:
		for i := range m.agents {
			if a := &m.agents[i]; a.redirect.LID != 0 && (e.Node == 0 || e.Node == a.node) {
				a.info = infoStale
			}
		}
	case *Changed:
		m.change(now, e.Settings)
	}
	if at, ok := m.Next(); ok && now >= at {
		m.begin(now)
	}
	m.fill(now)
	return &m.out
}

// Next is when the machine wants a Tick; ok is false for never. Without ports there is nothing
// to do: the first sweep begins when there are some.
func (m *Machine) Next() (at time.Duration, ok bool) {
	return m.due, m.state == resting && m.settings.Interval > 0 && len(m.ports) > 0
}

// History is what was read in the last time.
func (m *Machine) History() *History { return &m.history }

// Values are a port's counters as they were last read, or after they were reset since, those
// that were read; ok is false for a port that was not read yet.
func (m *Machine) Values(k Key) (n [pma.NumCounters]uint64, has pma.Counters, at time.Duration, ok bool) {
	i, known := m.table.index[k]
	if !known || m.ports[i].track.has == 0 {
		return n, 0, 0, false
	}
	t := &m.ports[i].track
	n = t.base
	for c := range t.unconfirmedCounters().All {
		n[c] = t.unconfirmed.seen[c]
	}
	return n, t.has, t.at(), true
}

func (m *Machine) change(now time.Duration, s Settings) {
	s.Window = max(1, s.Window)
	was := m.settings
	m.settings = s
	m.history.keep, m.history.memory = s.Keep, s.Memory
	if s.Interval != was.Interval {
		m.due = now
		if was.Interval > 0 {
			m.due = max(now, m.begun+s.Interval)
		}
	}
	if s.QueryInfo != was.QueryInfo {
		for i := range m.agents {
			m.agents[i].info = infoStale
		}
	}
}

// setPorts replaces the ports: when the sweep under way is done, or now, if an agent has
// another LID. Then that sweep is given up: another device may have the old one.
func (m *Machine) setPorts(now time.Duration, list []Port) {
	list = append(make([]Port, 0, len(list)), list...) // never nil
	slices.SortFunc(list, func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.To.LID, b.To.LID), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port))
	})
	seen := make(map[Key]bool, len(list))
	list = slices.DeleteFunc(list, func(p Port) bool { known := seen[p.Key]; seen[p.Key] = true; return known })
	m.pending = nil
	switch {
	case m.state == resting:
		m.replace(list)
	case m.moved(list):
		m.giveUp()
		m.replace(list)
		m.begin(now)
	default:
		m.pending = list
	}
}

// moved reports whether the agent of a port has another LID now. Requests of the sweep under way still have the SL of
// before.
func (m *Machine) moved(list []Port) bool {
	for i := range list {
		if j, known := m.table.index[list[i].Key]; known && m.agents[m.ports[j].agent].to.LID != list[i].To.LID {
			return true
		}
	}
	return false
}

// replace makes a sorted list the ports. What is known of those that stay is kept.
func (m *Machine) replace(list []Port) {
	old, oldPorts, oldAgents := m.table, m.ports, m.agents
	m.table = &table{keys: make([]Key, len(list)), index: make(map[Key]int32, len(list))}
	m.ports, m.agents = make([]port, len(list)), nil
	for i := range list {
		x := &list[i]
		m.table.keys[i], m.table.index[x.Key] = x.Key, int32(i)
		p := &m.ports[i]
		from := int32(-1)
		if j, known := old.index[x.Key]; known {
			*p, from = oldPorts[j], oldPorts[j].agent
		} else if gone, known := m.absent[x.Key]; known {
			*p = gone
			delete(m.absent, x.Key)
		}
		if n := len(m.agents); n == 0 || m.agents[n-1].to.LID != x.To.LID || m.agents[n-1].node != x.Node {
			a := agent{node: x.Node, first: int32(i)}
			if from >= 0 {
				a.wide = oldAgents[from].wide
			}
			if from >= 0 && oldAgents[from].to.LID == x.To.LID {
				a.info, a.mask, a.mask2 = oldAgents[from].info, oldAgents[from].mask, oldAgents[from].mask2
				a.redirect = oldAgents[from].redirect
			}
			a.to = x.To
			m.agents = append(m.agents, a)
		}
		p.agent, p.words = int32(len(m.agents)-1), x.Words
		m.agents[p.agent].last = int32(i)
	}
	if slices.Equal(old.keys, m.table.keys) {
		m.table = old // shared by images
		return
	}
	m.leave(old, oldPorts)
}

// maxAbsent bounds the ports that have gone and keep their totals.
const maxAbsent = 1 << 16

// leave notes nodes that have gone, and keeps the totals of their ports if that is wanted.
func (m *Machine) leave(old *table, oldPorts []port) {
	present := make(map[mad.GUID]bool, len(m.agents))
	for i := range m.agents {
		present[m.agents[i].node] = true
	}
	for i, k := range old.keys {
		if present[k.Node] {
			continue
		}
		if n := len(m.out.Gone); n == 0 || m.out.Gone[n-1] != k.Node {
			m.out.Gone = append(m.out.Gone, k.Node)
		}
		switch {
		case !m.settings.KeepAbsent:
		case len(m.absent) >= maxAbsent:
			m.Stats.Forgotten++
		default:
			if m.absent == nil {
				m.absent = map[Key]port{}
			}
			m.absent[k] = oldPorts[i]
		}
	}
}

// rebooted has the agents of nodes asked anew what they can do; their counters may have begun again.
func (m *Machine) rebooted(nodes map[mad.GUID]bool) {
	for i := range m.agents {
		if a := &m.agents[i]; nodes[a.node] {
			a.info, a.wide = infoStale, wideUntried
			for p := a.first; p <= a.last; p++ {
				m.ports[p].track.reboot = true
			}
		}
	}
	for k, p := range m.absent {
		if nodes[k.Node] {
			p.track.reboot = true
			m.absent[k] = p
		}
	}
}

// begin begins a sweep.
func (m *Machine) begin(now time.Duration) {
	m.state, m.begun, m.found = sweeping, now, 0
	if late := now - m.due; m.settings.Interval > 0 && late > 0 && m.due > 0 && late > m.settings.Interval/10 {
		m.Stats.Late++
	}
	m.due = now + m.settings.Interval
	m.image = &Image{Begin: now, table: m.table, interval: m.settings.Interval}
	m.deltas = m.deltas[:0]
	m.where = slices.Grow(m.where[:0], len(m.ports))[:len(m.ports)]
	for i := range m.where {
		m.where[i] = -1
	}
	m.ready, m.next = m.ready[:0], 0
	for i := range m.agents {
		m.agents[i].start()
		m.ready = append(m.ready, int32(i))
	}
}

// giveUp ends a sweep without an image. Responses to what is on the way are not wanted; until
// they come, or the requests end without, these are still in the window.
func (m *Machine) giveUp() {
	m.state, m.image, m.ready, m.next = resting, nil, m.ready[:0], 0
	m.given, m.waiting = m.given+m.waiting, 0
	for i := range m.slots {
		if m.slots[i].agent >= 0 {
			m.slots[i].agent = givenUp
		}
	}
}

// fill asks as much as the window allows, and ends the sweep when nothing is left.
func (m *Machine) fill(now time.Duration) {
	if m.state == resting {
		return
	}
	for m.next < len(m.ready) && m.waiting+m.given < m.settings.Window {
		m.ask(now, m.ready[m.next])
		m.next++
	}
	if m.next > len(m.ready)/2 { // moved once for half of them, not for each response
		m.ready, m.next = m.ready[:copy(m.ready, m.ready[m.next:])], 0
	}
	if m.waiting == 0 && m.next == len(m.ready) {
		m.finish(now)
	}
}

// finish makes the image: ports in the order of the table.
func (m *Machine) finish(now time.Duration) {
	im := m.image
	im.End = now
	im.data = make([]byte, 0, len(m.deltas))
	im.blocks = make([]uint32, 0, len(m.ports)/blockPorts+1)
	for i, at := range m.where {
		if i%blockPorts == 0 {
			im.blocks = append(im.blocks, uint32(len(im.data)))
		}
		if at < 0 { // cannot be: each port ends in a delta
			im.data = im.appendDelta(im.data, &Delta{Note: NoAnswer})
			continue
		}
		size := int32(m.deltas[at])
		im.data = append(im.data, m.deltas[at+1:at+1+size]...)
	}
	again := m.state == sweepsAgain
	m.state, m.image = resting, nil
	m.Stats.Sweeps++
	m.history.add(im)
	m.out.Image = im
	if m.pending != nil {
		m.replace(m.pending)
		m.pending = nil
	}
	if again {
		m.due = now
		m.begin(now)
		m.fill(now)
	}
}
