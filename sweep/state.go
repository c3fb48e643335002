package sweep

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/sweep/exclude"
	"ibsm/sweep/lids"
	"ibsm/sweep/mkeys"
	"ibsm/sweep/plan"
	"ibsm/sweep/program"
	"ibsm/sweep/routes"
	"ibsm/sweep/vports"
	"ibsm/topo"
)

// state lasts from sweep to sweep. Its maps use GUIDs, because indexes change. A task gets a snapshot and returns a
// delta: maps and slices that a snapshot shares are replaced, never written.
type state struct {
	devices    *device.Record
	lids       []lids.Assignment // of each end port ever seen, ascending GUID; no two share a LID
	stored     []lids.Assignment // lids as Changes returned them last
	stale      bool              // LIDs that ports report take precedence over lids
	mastership mastership
	inherited  mad.LID // of the previous master, if its clients' registrations are known here
	// sweeps in a row in which nothing answered behind an ACTIVE port without a known node
	unresponsive map[plan.Key]uint8
	unhealthy    map[plan.Key]bool // ports whose links are avoided
	unnamed      []exclude.Unnamed // of the last sweep, those asked longest ago first
	looks        int               // light sweeps that have begun
	// sweeps in a row after which a link between switches was up and not ACTIVE, by its end that was not
	stuck    map[plan.Key]uint8
	disabled map[plan.Key]bool // ports that the next sweep disables
	// removed are the indexes of P_Keys that were removed, and removalsHeld is program.In.RemovalsHeld.
	removed      partitions.Indexes
	removalsHeld uint8
	prev         *topo.Topo    // the subnet as the last sweep left it
	listed       *vports.Known // those that prev has
	before       *topo.Topo    // where prev is nil because of Pause: the subnet as it was until then
	routes       routes.State
	settings     Settings // that values were resolved from
	values       plan.Values
}

// walkState is what walks need beside the state. It lasts as long, and no task reads it.
type walkState struct {
	features   *device.Features             // what devices make of what OpenSM does not send
	differs    map[mad.GUID]differingStates // of switches
	mkeys      *mkeys.Memory
	findings   []discover.Finding                   // of the walk that state.prev is from
	former     map[discover.Place]discover.Resident // who was last behind ports: see discover.Config
	unanswered map[mad.GUID]bool                    // nodes that left some requests of that walk unanswered
	failed     map[mad.GUID]bool                    // nodes at which, or next to which, Sets of that sweep have failed
	changed    map[mad.GUID]bool                    // switches of which the last sweep has cleared PortStateChange
	checks     map[mad.GUID]bool                    // those of which a trap has come since, until Check
	answered   []bool                               // Program.heard of the last sweep, for the walk that comes next
	repeats    program.Repeats                      // Sets of the last sweep that may be sent again
	late       lateNodes
}

func newWalkState(restored *Restored) walkState {
	return walkState{features: device.NewFeatures(), differs: map[mad.GUID]differingStates{},
		checks: map[mad.GUID]bool{}, mkeys: mkeys.NewMemory(restored.Behind)}
}

// forgetMastership drops what another manager may have changed.
func (w *walkState) forgetMastership() {
	w.findings, w.repeats, w.unanswered, w.failed, w.changed = nil, nil, nil, nil, nil
	w.mkeys.ForgetMastership()
}

// mastership is how far a sweeper has come since it forgot, or never knew, the subnet.
type mastership uint8

const (
	clientsUnknown mastership = iota // no sweep has been completed, and clients have to register
	clientsKnown                     // likewise, but they are still registered here: as after a quick restart
	swept                            // a sweep has been completed
)

func newState(restored Restored) *state {
	s := &state{
		stale: restored.Stale, stored: slices.SortedFunc(slices.Values(restored.LIDs), lids.ByPort),
		devices: device.NewRecord(),
		removed: partitions.Indexes{},
	}
	if restored.Registered {
		s.mastership = clientsKnown
	}
	for _, k := range s.stored {
		if k.Valid() {
			s.lids = append(s.lids, k)
		}
	}
	return s
}

// forgetMastership drops what does not outlive mastership: another manager may since have
// written tables and assigned LIDs. LIDs that ports report take precedence over stored ones
// then. The quirks of devices stay; its caller decides about devices and routes.
func (s *state) forgetMastership() {
	s.stale, s.mastership, s.inherited = true, clientsUnknown, 0
	s.unresponsive, s.stuck, s.prev, s.before, s.unnamed = nil, nil, nil, nil, nil
	s.removalsHeld = 0
}

// remembered is the last known subnet, of which a walk may find only a part, or nil.
func (s *state) remembered() *topo.Topo { return cmp.Or(s.prev, s.before) }

// snapshot is the present state, for a task.
func (s *state) snapshot() *state {
	c := *s
	c.devices = s.devices.Snapshot()
	return &c
}
