package sweep

import (
	"ibsm/mad"
	"ibsm/sweep/lids"
	"ibsm/sweep/plan"
)

// Restored is what the manager knows of a subnet when it starts.
type Restored struct {
	LIDs []lids.Assignment
	// Stale says that another manager has been master since: LIDs that ports report take
	// precedence over LIDs.
	Stale bool
	// Registered says that clients are registered here: they are not asked to register again
	// unless their ports name another master.
	Registered bool
	// MKeys are the M_Keys of ports' agents, by port GUID, and Behind are the ports at the other
	// ends of ports' links. They come from OpenSM's guid2mkey and neighbors.
	MKeys  map[mad.GUID]mad.MKey
	Behind map[plan.Key]plan.Key
	Port   mad.GUID // our own; 0 when it is not known
}

// HasPort reports whether the walk has found an end port. It is called before Run.
func (j *RouteTask) HasPort(guid mad.GUID) bool {
	_, is := j.walked.builder.PortOwner(guid)
	return is
}

// Recall gives the LIDs of another source precedence over all others. It is called before Run.
func (j *RouteTask) Recall(list []lids.Assignment) {
	j.state.stale, j.state.lids = false, lids.Merge(list, j.state.lids)
}

// Reregister makes all clients register again, whatever the settings say. It is called before Run.
func (j *RouteTask) Reregister() { j.settings.NoReregister = false }

// Changes returns the assignments that have changed since the last call, and the ports that
// have none any more, both in order of GUID.
func (s *Sweeper) Changes() (changed []lids.Assignment, forgotten []mad.GUID) {
	changed, forgotten = lids.Changes(s.state.stored, s.state.lids)
	s.state.stored = s.state.lids
	return changed, forgotten
}
