package sweep

import (
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/verify"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// Memory is what lasts from sweep to sweep, by GUID because indexes change. While
// a Job runs the Memory is the job's; otherwise it is the Sweeper's.
type Memory struct {
	lids       map[mad.GUID]KeptLID // of each end port ever seen; no two share a LID
	changed    map[mad.GUID]bool    // ports whose LIDs Changes has not told of
	stale      bool                 // what ports report goes before lids
	registered bool                 // clients are registered here still, though this manager has just begun
	inherited  mad.LID              // of the master before, if what its clients registered is known here
	switches   map[mad.GUID]*switchMemory
	silent     map[plan.Key]uint8 // sweeps in a row that nothing answered behind an ACTIVE port, though nobody was known there
	resent     []tableBlock       // blocks that were sent more than once and not read since
	refusals   plan.Refusals
	told       map[mad.GUID]plan.Told // by switch, where it did not take its SwitchInfo whole
	unhealthy  map[plan.Key]bool      // ports whose links are avoided
	babblers   map[plan.Key]bool      // ports to be disabled
	pkeys      pkeyMemory
	mkeys      map[mad.GUID]mad.MKey // by port GUID, where there is one
	plain      map[discover.Device]bool
	prev       *topo.Topo         // as the last sweep left it
	unread     map[mad.GUID]bool  // switches that have told of a change since prev
	findings   []discover.Finding // of the walk that prev is from
	report     *verify.Report     // of the tables computed last; nil without any
	adopted    bool               // the routes are another manager's: mended, never improved unasked
	swept      bool               // a sweep has been completed in this reign
	settings   Settings           // that values were made of
	values     plan.Values
}

// switchMemory is what is known of a switch's routes.
type switchMemory struct {
	held *plan.Held // what it holds; nil when nothing is known
	row  []uint8    // what it was meant to hold; nil before it was routed first
	up   portSet    // ports that the last walk found ARMED or ACTIVE
	// failed counts the sweeps in a row after which it did not hold row.
	failed   uint8
	contents Contents // of its tables, since the last sweep that ended
}

// Contents says what became of the tables of a switch since the sweep before.
type Contents uint8

// Contents of tables.
const (
	Ours    Contents = 0 // nobody else has written them
	Foreign Contents = 1 // another manager may have
	Lost    Contents = 2 // the switch has been powered up
)

// maxFailed is how many sweeps in a row a switch may not take its table before the
// routes of others no longer lead through it.
const maxFailed = 2

// portSet has a bit for each port of a switch.
type portSet [4]uint64

func (s *portSet) add(num uint8) { s[num/64] |= 1 << (num % 64) }

func (s *portSet) empty() bool { return *s == portSet{} }

func (s *portSet) meets(o *portSet) bool {
	return s[0]&o[0]|s[1]&o[1]|s[2]&o[2]|s[3]&o[3] != 0
}

// NewMemory knows nothing.
func NewMemory() *Memory {
	return &Memory{
		lids: map[mad.GUID]KeptLID{}, changed: map[mad.GUID]bool{}, switches: map[mad.GUID]*switchMemory{}, silent: map[plan.Key]uint8{},
		unread: map[mad.GUID]bool{}, refusals: plan.Refusals{}, told: map[mad.GUID]plan.Told{}, unhealthy: map[plan.Key]bool{}, babblers: map[plan.Key]bool{}, plain: map[discover.Device]bool{},
		mkeys: map[mad.GUID]mad.MKey{}, pkeys: pkeyMemory{indexes: partitions.Indexes{}, doubted: map[plan.Key]int{}},
	}
}

// forgetReign drops what does not outlive mastership: another manager may have
// written tables and given LIDs since. Those that ports report then count before those
// that are remembered. The quirks of devices stay.
func (m *Memory) forgetReign() {
	m.stale, m.registered, m.inherited = true, false, 0
	m.switches = map[mad.GUID]*switchMemory{}
	m.silent = map[plan.Key]uint8{}
	m.prev, m.adopted, m.swept, m.resent = nil, false, false, nil
	m.findings = nil
	clear(m.unread)
	m.pkeys.forgetReign()
}

// aside is a copy for a Job that is only to be looked at: what it learns is forgotten
// with it.
func (m *Memory) aside() *Memory {
	c := *m
	c.changed = map[mad.GUID]bool{}
	c.lids, c.told, c.refusals = maps.Clone(m.lids), maps.Clone(m.told), m.refusals.Clone()
	c.pkeys.indexes = maps.Clone(m.pkeys.indexes)
	c.switches = make(map[mad.GUID]*switchMemory, len(m.switches))
	for guid, s := range m.switches {
		copied := *s
		copied.held = s.held.Clone()
		c.switches[guid] = &copied
	}
	return &c
}

// tableBlock is a block of a switch's forwarding table.
type tableBlock struct {
	node  mad.GUID
	block uint16
}

// contradicts reports whether a switch that was believed to hold a block holds
// something else, and does not believe it any more.
func (m *Memory) contradicts(guid mad.GUID, block int, data []byte) bool {
	s := m.switches[guid]
	if s == nil || !s.held.Known(block) {
		return false
	}
	from := block * smp.LFTBlockSize
	if string(s.held.Row[from:from+smp.LFTBlockSize]) == string(data) {
		return false
	}
	s.held.Doubt(block)
	return true
}

// top is the LinearFDBTop of a switch whose table is certain.
func (m *Memory) top(guid mad.GUID) (mad.LID, bool) {
	if s := m.switches[guid]; s != nil && s.held.Certain() {
		return s.held.Top, true
	}
	return 0, false
}

// learn takes over what a walk read, and forgets the tables of switches that have, or
// may have, rebooted: LinearFDBTop is not what was written, or is 0 as after power-up
// and never was written, or of the ports that the last walk found in use none is any
// more. Ports that were armed since do not count: a switch may have rebooted after that
// walk, and been armed by what was planned from it.
func (m *Memory) learn(t *topo.Topo, tables map[mad.GUID]*discover.Table) {
	for _, n := range t.Switches {
		node := &t.Nodes[n]
		if node.Missed > 0 {
			continue
		}
		s, up, top := m.switches[node.GUID], portsUp(t, node), node.SwitchInfo.LinearFDBTop()
		lost := s == nil || !s.up.empty() && !s.up.meets(&up) || s.held != nil && (top == 0 || top != s.held.Top)
		if s == nil {
			s = &switchMemory{}
			m.switches[node.GUID] = s
		}
		if read := tables[node.GUID]; read != nil {
			s.held = plan.NewHeld(read.Top, read.Row, read.Missing)
			m.adopted = m.adopted || !m.swept
		} else if lost {
			s.held = nil
		}
		switch {
		case lost && up.empty():
			s.contents = Lost
		case lost:
			s.contents = Foreign
		}
		s.up = up
	}
}

// contents tells once what became of the tables of each switch.
func (m *Memory) contents(t *topo.Topo) []Contents {
	all := make([]Contents, len(t.Switches))
	for i, n := range t.Switches {
		if s := m.switches[t.Nodes[n].GUID]; s != nil {
			all[i], s.contents = s.contents, Ours
		}
	}
	return all
}

// kept reports whether a switch, of which these ports are ARMED or ACTIVE, holds its table
// for certain and has been in use since the last walk, as far as can be seen.
func (m *Memory) kept(guid mad.GUID, top mad.LID, up [4]uint64) bool {
	s := m.switches[guid]
	return s != nil && s.held.Certain() && top != 0 && top == s.held.Top && (s.up.empty() || s.up.meets((*portSet)(&up)))
}

// portsUp are the external ports of a switch that are ARMED or ACTIVE.
func portsUp(t *topo.Topo, node *topo.Node) (up portSet) {
	for num := uint8(1); num <= node.NumPorts; num++ {
		if p := &t.Ports[node.First+topo.PortIdx(num)]; p.Seen && p.Info.PortState() >= smp.PortArmed {
			up.add(num)
		}
	}
	return up
}

// resolve fills the settings up once in a reign. Later the fabric is no witness: it
// holds what it was told, but for ports that do not hold it.
func (m *Memory) resolve(s *Settings, t *topo.Topo) plan.Values {
	if !m.swept || m.settings != *s {
		m.settings, m.values = *s, resolve(s, t)
	}
	return m.values
}

// bypass marks the links of switches that do not take their tables, unless they carry
// traffic all the same: such links are not armed, and a route over one leads nowhere.
func (m *Memory) bypass(t *topo.Topo) {
	for _, n := range t.Switches {
		node := &t.Nodes[n]
		if s := m.switches[node.GUID]; node.Missed > 0 || s.failed < maxFailed || !s.up.empty() {
			continue
		}
		for num := range node.NumPorts {
			port := &t.Ports[t.Port(n, num+1)]
			if port.Peer != topo.None {
				port.Unhealthy, t.Ports[port.Peer].Unhealthy = true, true
			}
		}
	}
}

// avoid marks the links of unhealthy ports in t, unless that would cut the subnet. It
// returns how many it could not avoid, and the ports that are to be disabled.
func (m *Memory) avoid(t *topo.Topo) (needed int, babblers []topo.PortIdx) {
	find := func(k plan.Key) topo.PortIdx {
		n := t.FindNode(k.Node)
		if n == topo.None || k.Port > t.Nodes[n].NumPorts {
			return topo.None
		}
		return t.Port(n, k.Port)
	}
	var marked []topo.PortIdx
	for k := range m.unhealthy {
		if p := find(k); p != topo.None && t.Ports[p].Peer != topo.None {
			marked = append(marked, p, t.Ports[p].Peer)
		}
	}
	before := parts(t)
	for _, p := range marked {
		t.Ports[p].Unhealthy = true
	}
	if len(marked) > 0 && parts(t) > before {
		for _, p := range marked {
			t.Ports[p].Unhealthy = false
		}
		needed = len(marked) / 2
	}
	for k := range m.babblers {
		if p := find(k); p != topo.None {
			babblers = append(babblers, p)
		}
	}
	slices.Sort(babblers)
	m.babblers = map[plan.Key]bool{}
	return needed, babblers
}

// parts is the number of pieces that the switches of a subnet fall into.
func parts(t *topo.Topo) int {
	n := int32(0)
	for _, part := range routing.NewGraph(t).Components() {
		n = max(n, part+1)
	}
	return int(n)
}

// hush counts how long each ACTIVE port has had nothing behind it, if the walk has asked
// there, and returns those that have been so too long. grace tells whether there is one that
// has not.
func (m *Memory) hush(t *topo.Topo, asked bool) (dead []topo.PortIdx, grace bool) {
	counts := map[plan.Key]uint8{}
	for i := range t.Ports {
		if !silent(t, topo.PortIdx(i)) {
			continue
		}
		k := plan.Key{Node: t.Nodes[t.Ports[i].Node].GUID, Port: t.Ports[i].Num}
		if counts[k] = m.silent[k]; asked || counts[k] == 0 {
			counts[k]++
		}
		if m.waited(k) {
			counts[k] = topo.MaxMissed + 1
		}
		if counts[k] > topo.MaxMissed {
			dead = append(dead, topo.PortIdx(i))
		} else {
			grace = true
		}
	}
	m.silent = counts
	return dead, grace
}

// waited reports whether the node behind a port has been waited for already: it was
// kept for as long as a node is.
func (m *Memory) waited(k plan.Key) bool {
	if m.prev == nil {
		return false
	}
	n := m.prev.FindNode(k.Node)
	if n == topo.None || k.Port > m.prev.Nodes[n].NumPorts {
		return false
	}
	peer := m.prev.Ports[m.prev.Port(n, k.Port)].Peer
	return peer != topo.None && m.prev.Nodes[m.prev.Ports[peer].Node].Missed >= topo.MaxMissed
}

// grown reports whether t has a link between switches that prev had not, or that could
// not be used then.
func grown(prev, t *topo.Topo) bool {
	before := prev.Remap(t)
	for i := range t.Ports {
		p := &t.Ports[i]
		if !t.IsSwitchPort(topo.PortIdx(i)) || p.Peer == topo.None || !t.IsSwitchPort(p.Peer) {
			continue
		}
		old := before[p.Node]
		if old == topo.None || p.Num > prev.Nodes[old].NumPorts {
			return true
		}
		before := &prev.Ports[prev.Port(old, p.Num)]
		was, far := before.Peer, &t.Ports[p.Peer]
		if was == topo.None || before.Unhealthy && !p.Unhealthy || prev.Ports[was].Num != far.Num || prev.Nodes[prev.Ports[was].Node].GUID != t.Nodes[far.Node].GUID {
			return true
		}
	}
	return false
}
