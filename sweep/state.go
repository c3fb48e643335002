package sweep

import (
	"slices"

	"ibsm/mad"
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
	devices      *device.Record
	lids         []LIDAssignment    // of each end port ever seen, ascending GUID; no two share a LID
	stored       []LIDAssignment    // lids as Changes has told them
	stale        bool               // what ports report takes precedence over lids
	registered   bool               // clients are registered here still, though this manager has just begun
	inherited    mad.LID            // of the master before, if what its clients registered is known here
	unresponsive map[plan.Key]uint8 // sweeps in a row that nothing answered behind an ACTIVE port, though nobody was known there
	unhealthy    map[plan.Key]bool  // ports whose links are avoided
	babblers     map[plan.Key]bool  // ports to be disabled
	pkeys        pkeyMemory
	mkeys        map[mad.GUID]mad.MKey // by port GUID, where there is one
	plain        map[discover.Device]bool
	prev         *topo.Topo         // as the last sweep left it
	findings     []discover.Finding // of the walk that prev is from
	report       *verify.Report     // of the tables computed last; nil without any
	adopted      bool               // the routes are another manager's: mended, never improved unasked
	swept        bool               // a sweep has been completed in this mastership
	settings     Settings           // that values were made of
	values       plan.Values
}

// maxFailed is how many sweeps in a row a switch may not take its table before the
// routes of others no longer lead through it.
const maxFailed = 2

func newState(kept Restored) *state {
	s := &state{
		stale: kept.Stale, registered: kept.Registered, stored: slices.SortedFunc(slices.Values(kept.LIDs), byPort),
		devices: device.NewRecord(),
		plain:   map[discover.Device]bool{}, mkeys: map[mad.GUID]mad.MKey{}, pkeys: pkeyMemory{indexes: partitions.Indexes{}},
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
	s.devices.ForeignMaster()
	s.unresponsive, s.prev, s.adopted, s.swept, s.findings = nil, nil, false, false, nil
	s.pkeys.waited = 0
}

// snapshot is the state as it is now, for a task.
func (s *state) snapshot() *state {
	c := *s
	c.devices = s.devices.Snapshot()
	return &c
}
