// Package vports finds the vPorts behind ports of adapters, those of SR-IOV's functions, and brings them up: it enables
// virtualization, and gives them LIDs where they ask for one, P_Keys, and then their states. It works beside the
// sweeps, whose subnet, LIDs and partition policy it gets as values, so that a function that boots needs no sweep.
//
// The machine visits a port: it reads what the port says, and then does what its vPorts lack. It asks before it writes,
// changes one field of what it has read, and believes the response. What is not known of these attributes from any
// document (see smp.VPortModifiers) is in their encoding; a port that answers with what cannot be is left as it was
// found.
package vports

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/partitions"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// Mode is what becomes of virtualization (virt_enabled).
type Mode uint8

// Modes.
const (
	Ignore  Mode = 0 // nothing is asked, and nothing changes
	Disable Mode = 1 // on all ports
	Enable  Mode = 2
)

// Settings are the operator's.
type Settings struct {
	Mode     Mode
	MaxPorts int // visited at a time (virt_max_ports_in_process); 0 is no limit
	Layout   smp.VPortLayout
	// FirstKeeps says that a GUID stays with the vPort that has it until that is gone, where two have it.
	FirstKeeps bool
}

// Subnet is a subnet as a heavy sweep has left it.
type Subnet struct {
	Topo       *topo.Topo
	LIDs       *topo.LIDs // of vPorts, those that switches forward
	Partitions *partitions.Tables
	Full       bool          // the sweep has asked about everything: all ports are read again
	Reset      []mad.GUID    // ports, by GUID, whose links have been down since the sweep before
	Reregister RegisterAgain // which clients have to
	Exhausted  []mad.GUID    // vPorts for which no LID is left
}

// RegisterAgain is which clients of vPorts have to register again because the SA does not know what they registered.
type RegisterAgain struct {
	None bool // they are never asked to
	All  bool // all that are ACTIVE when they are read first in this term
}

// Machine brings vPorts up. It is pure, and owned by one goroutine.
type Machine struct {
	settings Settings
	keys     plan.MKeys
	features *device.Features

	subnet *Subnet // nil while this manager is not master
	ports  map[mad.GUID]*port
	queue  visits  // ports that wait for a visit
	active []*port // that are visited, in the order in which they ask next
	turn   int     // of active, the one that asks next
	asked  map[uint64]*request
	last   uint64 // tag
	unread int    // ports that have not been visited yet in this term

	owners
	wanting
	showing
	tables topo.PKeyTables
}

// request is one without an outcome.
type request struct {
	p     *port
	v     *vPort // nil for one about the port
	op    op
	block uint16
	sent  device.Data
}

// New knows nothing. The M_Keys are for ports that do not show theirs.
func New(settings Settings, keys plan.MKeys) *Machine {
	m := &Machine{settings: settings, keys: keys}
	m.Abdicate()
	return m
}

// Configure takes other settings. They apply from the next subnet on.
func (m *Machine) Configure(settings Settings, keys plan.MKeys) {
	if m.keys = keys; settings == m.settings {
		return
	}
	m.Abdicate()
	m.settings = settings
}

// Abdicate forgets all that another manager may change. The results of a Task that is out and of requests that are open
// are dropped.
func (m *Machine) Abdicate() {
	*m = Machine{
		settings: m.settings, keys: m.keys, last: m.last, features: device.NewFeatures(),
		ports: map[mad.GUID]*port{}, asked: map[uint64]*request{},
		owners:  owners{of: map[mad.GUID]*vPort{}, others: map[mad.GUID][]*vPort{}},
		showing: showing{changed: m.known != nil && len(m.known.ports) > 0, known: m.known},
	}
}

// Pause has all read again, because another manager may have been master for a moment. What is known is shown until
// then.
func (m *Machine) Pause() {
	for _, p := range m.ports {
		p.forgive()
		p.visit, p.index, p.wish, p.has, p.wasRead = visit{}, -1, 0, false, false
		for _, v := range p.vPorts {
			v.open, v.has, v.wanted, v.row, v.more, v.saidReset = false, 0, false, nil, nil, false
		}
	}
	m.subnet, m.queue, m.active, m.turn, m.unread = nil, nil, nil, 0, len(m.ports)
	clear(m.asked)
	m.wanting = wanting{}
}

// SendAgain has what ports have not taken sent again.
func (m *Machine) SendAgain(now time.Duration) {
	m.features.Clear()
	for _, p := range m.sorted() {
		p.forgive()
		m.want(p, now, reads)
	}
}

// sorted are the ports by GUID.
func (m *Machine) sorted() []*port {
	return slices.SortedFunc(maps.Values(m.ports), func(a, b *port) int { return cmp.Compare(a.guid, b.guid) })
}

// SetSubnet takes the subnet of a sweep.
func (m *Machine) SetSubnet(now time.Duration, s Subnet) {
	if m.settings.Mode == Ignore {
		return
	}
	before := m.subnet
	m.subnet = &s
	policy := before == nil || before.Partitions.Policy != s.Partitions.Policy ||
		before.Partitions.Settings != s.Partitions.Settings
	reset := make(map[mad.GUID]bool, len(s.Reset))
	for _, guid := range s.Reset {
		reset[guid] = true
	}
	there := map[mad.GUID]bool{}
	var taken []mad.GUID
	for _, at := range s.Topo.EndPorts {
		guid := s.Topo.Ports[at].GUID
		if m.of[guid] != nil {
			taken = append(taken, guid)
		}
		p := m.ports[guid]
		if !m.mayHave(at) {
			continue
		}
		there[guid] = true
		if p == nil {
			p = &port{guid: guid, at: at, index: -1, registers: s.Reregister.All}
			m.ports[guid] = p
			m.unread++
			m.want(p, now, reads)
			continue
		}
		p.at = at
		if !p.wasRead && s.Reregister.All {
			p.registerAgain()
		}
		switch {
		case !p.wasRead:
			m.want(p, now, reads)
		case reset[guid]:
			p.forgive()
			m.want(p, now, reads)
		case p.none:
		case s.Full:
			m.want(p, now, reads)
		case policy || p.waitsForSweep():
			m.want(p, now, writes)
		}
		if policy {
			p.forgetWanted()
		}
	}
	for _, p := range m.sorted() {
		if !there[p.guid] {
			m.drop(now, p)
		}
	}
	m.areOfPorts(taken)
	m.changed = m.changed || len(m.ports) > 0
}

// mayHave reports whether a port may have vPorts: it is an adapter's, of a vendor that defines them, and says so, or
// has not been asked in the older way.
func (m *Machine) mayHave(at topo.PortIdx) bool {
	t := m.subnet.Topo
	port := &t.Ports[at]
	return mayHave(t, at) && (announces(&port.Info) ||
		m.features.Of(device.GeneralInfo, &t.Nodes[port.Node].Info) != device.Fails)
}

// mayHave reports whether a port is an adapter's, of a vendor that defines vPorts.
func mayHave(t *topo.Topo, at topo.PortIdx) bool {
	port := &t.Ports[at]
	node := &t.Nodes[port.Node]
	return node.Type == mad.CA && !node.Aggregation && smp.NVIDIAVendor(node.Info.VendorID()) && port.Seen
}

func announces(info *smp.PortInfo) bool {
	return smp.AnnouncesVirtualization(info.CapabilityMask(), info.CapabilityMask2())
}

// drop forgets a port that is not in the subnet any more.
func (m *Machine) drop(now time.Duration, p *port) {
	m.endVisit(p)
	if p.index >= 0 {
		heap.Remove(&m.queue, p.index)
	}
	if !p.wasRead {
		m.unread--
	}
	for _, v := range p.vPorts {
		m.gone(now, v)
	}
	for tag, r := range m.asked {
		if r.p == p {
			delete(m.asked, tag)
		}
	}
	delete(m.ports, p.guid)
	m.changed = true
}

// Trap takes trap 1146 of a port, by GUID: some vPort has changed its state.
func (m *Machine) Trap(now time.Duration, guid mad.GUID) {
	if p := m.ports[guid]; p != nil && p.wasRead {
		p.looks = maxLooks
		stormed := p.traps.storms()
		m.want(p, now+p.holdOff(now), reads)
		m.changed = m.changed || p.traps.storms() != stormed // which is a finding
	}
}

// Changed takes trap 1144 of a port: a vPort has another description, or other capabilities.
func (m *Machine) Changed(now time.Duration, guid mad.GUID, index uint16) {
	p := m.ports[guid]
	if p == nil {
		return
	}
	if v := p.find(index); v != nil && v.has&hasDesc != 0 {
		v.has &^= hasDesc | hasInfo
		m.want(p, now+p.holdOff(now), writes)
	}
}

// Reregister has the clients of vPorts that are among some GUIDs register again.
func (m *Machine) Reregister(now time.Duration, guids []mad.GUID) {
	for _, guid := range guids {
		if v := m.of[guid]; v != nil {
			v.registers = true
			m.want(v.p, now, writes)
		}
	}
}

// Complete reports whether all ports that may have vPorts have been read: a GUID or a LID of which nothing is known
// then belongs to no vPort.
func (m *Machine) Complete() bool {
	return m.settings.Mode != Enable || m.subnet != nil && m.unread == 0
}

// Busy reports whether vPorts may become ACTIVE without anything that happens elsewhere: a port is visited or waits for
// a visit, or a sweep is about to be asked for; or what has changed has not been shown yet. A port that does not answer
// and one that reports changes without end are left out.
func (m *Machine) Busy() bool {
	if m.subnet == nil {
		return false
	}
	soon := func(p *port) bool { return p.unheard < 2 && !p.traps.storms() }
	return m.task != nil || len(m.active) > 0 || m.asksSweep || m.changed || slices.ContainsFunc(m.queue, soon)
}

// Due is when there is something to do without an outcome; false for never.
func (m *Machine) Due() (at time.Duration, ok bool) {
	if m.subnet == nil {
		return 0, false
	}
	earlier := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if len(m.queue) > 0 && m.hasRoom() {
		earlier(m.queue[0].due)
	}
	if m.shownAt != 0 {
		earlier(m.shownAt)
	}
	if m.wantedAt != 0 {
		earlier(m.wantedAt)
	}
	if m.judgeAt != 0 {
		earlier(m.judgeAt)
	}
	if m.passAt != 0 {
		earlier(m.passAt)
	}
	if m.sweepAt != 0 {
		earlier(m.sweepAt)
	}
	return at, ok
}

// hasRoom reports whether one more port may be visited.
func (m *Machine) hasRoom() bool {
	return m.settings.MaxPorts == 0 || len(m.active) < m.settings.MaxPorts
}

// Next is the next request to make; ok is false when there is none now. Each must be answered by Done.
func (m *Machine) Next(now time.Duration) (req txn.Request, ok bool) {
	if m.subnet == nil {
		return req, false
	}
	for len(m.queue) > 0 && m.queue[0].due <= now && m.hasRoom() {
		m.begin(heap.Pop(&m.queue).(*port))
	}
	for range len(m.active) {
		if m.turn >= len(m.active) {
			m.turn = 0
		}
		p := m.active[m.turn]
		if req, ok = m.ask(now, p); ok {
			m.turn++
			return req, true
		}
		if p.open == 0 && !p.awaits {
			m.endVisit(p)
			m.visited(now, p)
			continue // another one is in its place
		}
		m.turn++
	}
	return req, false
}

// begin begins the visit of a port.
func (m *Machine) begin(p *port) {
	p.index = -1
	m.active = append(m.active, p)
	p.begin()
}

// endVisit takes a port off those that are visited.
func (m *Machine) endVisit(p *port) {
	i := slices.Index(m.active, p)
	if i < 0 {
		return
	}
	m.active = slices.Delete(m.active, i, i+1)
	if i < m.turn {
		m.turn--
	}
}

// visited ends the visit of a port, and decides when the next one is.
func (m *Machine) visited(now time.Duration, p *port) {
	if !p.wasRead {
		m.unread--
		p.wasRead, m.changed = true, true
	}
	again, due := p.end(now)
	if again != 0 {
		m.want(p, due, again)
	}
}

// want has a port visited at a time, or earlier if that is wanted already.
func (m *Machine) want(p *port, at time.Duration, why wish) {
	p.wish |= why
	switch {
	case p.stage != rests:
		p.again = min(cmp.Or(p.again, at), at)
	case p.index < 0:
		p.due = at
		heap.Push(&m.queue, p)
	case at < p.due:
		p.due = at
		heap.Fix(&m.queue, p.index)
	}
}

// visits is a heap of ports by the times of their visits.
type visits []*port

func (q visits) Len() int { return len(q) }
func (q visits) Less(i, j int) bool {
	return q[i].due < q[j].due || q[i].due == q[j].due && q[i].guid < q[j].guid
}
func (q visits) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push adds a port.
func (q *visits) Push(x any) {
	p := x.(*port)
	p.index = len(*q)
	*q = append(*q, p)
}

// Pop removes the last one.
func (q *visits) Pop() any {
	n := len(*q) - 1
	p := (*q)[n]
	(*q)[n] = nil
	*q = (*q)[:n]
	return p
}
