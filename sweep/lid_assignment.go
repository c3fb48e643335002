package sweep

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"ibsm/mad"
	"ibsm/sweep/plan"
)

// LIDAssignment are the LIDs of an end port, present or absent.
type LIDAssignment struct {
	Port mad.GUID
	Base mad.LID
	LMC  uint8
	// Absent is when a sweep first missed the port, in seconds since 1970; 0 while the port is
	// present.
	Absent int64
}

// Last is the highest of its LIDs.
func (k LIDAssignment) Last() mad.LID { return k.Base + 1<<k.LMC - 1 }

// since is Absent, or the maximum for a port that this sweep misses for the first time.
func (k LIDAssignment) since() int64 {
	if k.Absent == 0 {
		return math.MaxInt64
	}
	return k.Absent
}

// valid reports whether a port can have these LIDs.
func (k LIDAssignment) valid() bool {
	return k.Port != 0 && k.LMC <= 7 && k.Base != 0 && int(k.Base)+1<<k.LMC-1 <= int(mad.MaxUnicastLID)
}

// Restored is what the manager knows of a subnet when it starts.
type Restored struct {
	LIDs []LIDAssignment
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

// MergeLIDs merges the assignments of two sources, in order of GUID. Where they contradict
// each other, first takes precedence.
func MergeLIDs(first, second []LIDAssignment) []LIDAssignment {
	bySecond := make(map[mad.GUID]LIDAssignment, len(second))
	for _, k := range second {
		bySecond[k.Port] = k
	}
	merged := make(map[mad.GUID]LIDAssignment, len(first))
	taken := make([]bool, int(mad.MaxUnicastLID)+1)
	for _, k := range slices.Concat(first, second) {
		if _, known := merged[k.Port]; known || !k.valid() || slices.Contains(taken[k.Base:k.Last()+1], true) {
			continue
		}
		if same := bySecond[k.Port]; k.Absent == 0 && same.Base == k.Base {
			k.Absent = same.Absent // first may not have it
		}
		merged[k.Port] = k
		for l := k.Base; l <= k.Last(); l++ {
			taken[l] = true
		}
	}
	return slices.SortedFunc(maps.Values(merged), byPort)
}

func byPort(a, b LIDAssignment) int { return cmp.Compare(a.Port, b.Port) }

// findLID is the assignment of a port, the zero value for none. lids ascend by GUID.
func findLID(lids []LIDAssignment, port mad.GUID) LIDAssignment {
	if i, ok := slices.BinarySearchFunc(lids, port, func(k LIDAssignment, g mad.GUID) int { return cmp.Compare(k.Port, g) }); ok {
		return lids[i]
	}
	return LIDAssignment{}
}

// retained are the assignments to store, ascending GUID: before itself if nothing has
// changed. Ports whose LIDs were reclaimed are left out.
func (a *assignment) retained(before []LIDAssignment, now int64) []LIDAssignment {
	lids := make([]LIDAssignment, 0, len(a.t.EndPorts)+len(a.absent))
	for _, p := range a.t.EndPorts {
		if base := a.lids.Base[p]; base != 0 {
			lids = append(lids, LIDAssignment{Port: a.t.Ports[p].GUID, Base: base, LMC: a.lids.LMC[p]})
		}
	}
	for i := range a.absent {
		if k := &a.absent[i]; k.Absent == 0 {
			k.Absent = max(now, 1)
		}
	}
	lids = append(lids, a.absent...)
	slices.SortFunc(lids, byPort)
	if slices.Equal(lids, before) {
		return before
	}
	return lids
}

// HasPort reports whether the walk has found an end port. It is called before Run.
func (j *RouteTask) HasPort(guid mad.GUID) bool {
	_, is := j.walked.builder.PortOwner(guid)
	return is
}

// Recall gives the LIDs of another source precedence over all others. It is called before Run.
func (j *RouteTask) Recall(lids []LIDAssignment) {
	j.state.stale, j.state.lids = false, MergeLIDs(lids, j.state.lids)
}

// Reregister has clients asked to register again, whatever the settings say. It is called
// before Run.
func (j *RouteTask) Reregister() { j.settings.NoReregister = false }

// Changes returns the assignments that have changed since the last call, and the ports that
// have none any more, both in order of GUID.
func (s *Sweeper) Changes() (lids []LIDAssignment, forgotten []mad.GUID) {
	was, is := s.state.stored, s.state.lids
	for len(was)+len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Port < is[0].Port:
			forgotten, was = append(forgotten, was[0].Port), was[1:]
		case len(was) == 0 || is[0].Port < was[0].Port:
			lids, is = append(lids, is[0]), is[1:]
		default:
			if was[0] != is[0] {
				lids = append(lids, is[0])
			}
			was, is = was[1:], is[1:]
		}
	}
	s.state.stored = s.state.lids
	return lids, forgotten
}
