package sweep

import (
	"cmp"
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing/verify"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// state is what lasts from sweep to sweep, by GUID because indexes change. A task works
// with a snapshot of it and returns a delta: maps and slices that a snapshot shares are
// replaced, never written.
type state struct {
	lids         []KeptLID          // of each end port ever seen, ascending GUID; no two share a LID
	stored       []KeptLID          // lids as Changes has told them
	stale        bool               // what ports report takes precedence over lids
	registered   bool               // clients are registered here still, though this manager has just begun
	inherited    mad.LID            // of the master before, if what its clients registered is known here
	switches     []switchState      // ascending GUID
	unresponsive map[plan.Key]uint8 // sweeps in a row that nothing answered behind an ACTIVE port, though nobody was known there
	resent       []tableBlock       // blocks that were sent more than once and not read since
	refusals     plan.Refusals
	told         map[mad.GUID]plan.Told // by switch, where it did not take its SwitchInfo whole
	unhealthy    map[plan.Key]bool      // ports whose links are avoided
	babblers     map[plan.Key]bool      // ports to be disabled
	pkeys        pkeyMemory
	mkeys        map[mad.GUID]mad.MKey // by port GUID, where there is one
	plain        map[discover.Device]bool
	prev         *topo.Topo         // as the last sweep left it
	unread       map[mad.GUID]bool  // switches that have told of a change since prev
	findings     []discover.Finding // of the walk that prev is from
	report       *verify.Report     // of the tables computed last; nil without any
	adopted      bool               // the routes are another manager's: mended, never improved unasked
	swept        bool               // a sweep has been completed in this mastership
	settings     Settings           // that values were made of
	values       plan.Values
}

// switchState is what is known of a switch's routes.
type switchState struct {
	guid mad.GUID
	held *device.Table // nil when nothing is known
	top  mad.LID       // LinearFDBTop, where held is not nil
	row  []uint8       // the target of the last route task; nil before there was one
	up   portSet       // ports that the last walk found ARMED or ACTIVE
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

func newState(kept Kept) *state {
	s := &state{
		stale: kept.Stale, registered: kept.Registered, stored: slices.SortedFunc(slices.Values(kept.LIDs), byPort),
		unread: map[mad.GUID]bool{}, refusals: plan.Refusals{}, told: map[mad.GUID]plan.Told{},
		plain: map[discover.Device]bool{}, mkeys: map[mad.GUID]mad.MKey{}, pkeys: pkeyMemory{indexes: partitions.Indexes{}, doubted: map[plan.Key]int{}},
	}
	for _, k := range s.stored {
		if k.valid() {
			s.lids = append(s.lids, k)
		}
	}
	return s
}

// forgetMastership drops what does not outlive mastership: another manager may have
// written tables and given LIDs since. Those that ports report then take precedence over
// those that are remembered. The quirks of devices stay.
func (s *state) forgetMastership() {
	s.stale, s.registered, s.inherited = true, false, 0
	s.switches, s.unresponsive = nil, nil
	s.prev, s.adopted, s.swept, s.resent = nil, false, false, nil
	s.findings = nil
	clear(s.unread)
	s.pkeys.forgetMastership()
}

// snapshot is the state as it is now, for a task.
func (s *state) snapshot() *state {
	c := *s
	c.told, c.refusals = maps.Clone(s.told), s.refusals.Clone()
	c.switches = slices.Clone(s.switches)
	tables := make([]device.Table, len(s.switches))
	for i := range c.switches {
		if sw := &c.switches[i]; sw.held != nil {
			tables[i] = sw.held.Snapshot()
			sw.held = &tables[i]
		}
	}
	return &c
}

// find is what is known of a switch, nil for nothing.
func (s *state) find(guid mad.GUID) *switchState {
	i, ok := slices.BinarySearchFunc(s.switches, guid, func(sw switchState, g mad.GUID) int { return cmp.Compare(sw.guid, g) })
	if !ok {
		return nil
	}
	return &s.switches[i]
}

// tableBlock is a block of a switch's forwarding table.
type tableBlock struct {
	node  mad.GUID
	block uint16
}

// contradicts reports whether a switch that was believed to hold a block holds
// something else, and does not believe it any more.
func (s *state) contradicts(guid mad.GUID, block int, data []byte) bool {
	sw := s.find(guid)
	return sw != nil && sw.held.State(block) == device.Known && string(sw.held.Block(block)) != string(data) &&
		sw.held.Take(block, device.Contradicted)
}

// top is the LinearFDBTop of a switch whose table is known whole.
func (s *state) top(guid mad.GUID) (mad.LID, bool) {
	if sw := s.find(guid); sw != nil && sw.held.Complete() {
		return sw.top, true
	}
	return 0, false
}

// contents tells once what became of the tables of each switch.
func (s *state) contents(t *topo.Topo) []Contents {
	all := make([]Contents, len(t.Switches))
	for i, n := range t.Switches {
		if sw := s.find(t.Nodes[n].GUID); sw != nil {
			all[i], sw.contents = sw.contents, Ours
		}
	}
	return all
}

// keptTable reports whether a switch, of which these ports are ARMED or ACTIVE, is known
// to hold its table and has been in use since the last walk, as far as can be seen.
func (s *state) keptTable(guid mad.GUID, top mad.LID, up [4]uint64) bool {
	sw := s.find(guid)
	return sw != nil && sw.held.Complete() && top != 0 && top == sw.top && (sw.up.empty() || sw.up.meets((*portSet)(&up)))
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
