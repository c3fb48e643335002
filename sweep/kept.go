package sweep

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"ibsm/mad"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// KeptLID is what an end port was given, whether it is there or not.
type KeptLID struct {
	Port mad.GUID
	Base mad.LID
	LMC  uint8
	// Absent is when the port was missed first, in seconds since 1970; 0 while it is
	// there.
	Absent int64
}

// Last is the highest of its LIDs.
func (k KeptLID) Last() mad.LID { return k.Base + 1<<k.LMC - 1 }

// since is Absent, or the end of time for a port that is only now being missed.
func (k KeptLID) since() int64 {
	if k.Absent == 0 {
		return math.MaxInt64
	}
	return k.Absent
}

// valid reports whether these are LIDs that a port can have.
func (k KeptLID) valid() bool {
	return k.Port != 0 && k.LMC <= 7 && k.Base != 0 && int(k.Base)+1<<k.LMC-1 <= int(mad.MaxUnicastLID)
}

// Kept is what is known of a subnet from before the manager began.
type Kept struct {
	LIDs []KeptLID
	// Stale says that another manager has ruled since: what ports report counts before
	// LIDs, which then are for the others.
	Stale bool
	// Registered says that clients are known to be registered here: they are not asked
	// to register again unless they follow another manager.
	Registered bool
	// MKeys are of the agents of ports, by port GUID, and Behind tells by which port GUID
	// a port's link was answered last. OpenSM's guid2mkey and neighbors have them.
	MKeys  map[mad.GUID]mad.MKey
	Behind map[plan.Key]mad.GUID
	Port   mad.GUID // our own; 0 when it is not known
}

// MergeLIDs is what two sources know, in order of GUID. Where they know different LIDs of
// a port, or give a LID to two, the first counts.
func MergeLIDs(first, second []KeptLID) []KeptLID {
	bySecond := make(map[mad.GUID]KeptLID, len(second))
	for _, k := range second {
		bySecond[k.Port] = k
	}
	merged := make(map[mad.GUID]KeptLID, len(first))
	taken := make([]bool, int(mad.MaxUnicastLID)+1)
	for _, k := range slices.Concat(first, second) {
		if _, known := merged[k.Port]; known || !k.valid() || slices.Contains(taken[k.Base:k.Last()+1], true) {
			continue
		}
		if same := bySecond[k.Port]; k.Absent == 0 && same.Base == k.Base {
			k.Absent = same.Absent // which the first may not know
		}
		merged[k.Port] = k
		for l := k.Base; l <= k.Last(); l++ {
			taken[l] = true
		}
	}
	return slices.SortedFunc(maps.Values(merged), byPort)
}

func byPort(a, b KeptLID) int { return cmp.Compare(a.Port, b.Port) }

// memoryOf begins with what is kept.
func memoryOf(kept Kept) *Memory {
	m := NewMemory()
	m.stale, m.registered = kept.Stale, kept.Registered
	for _, k := range kept.LIDs {
		if k.valid() {
			m.lids[k.Port] = k
		} else {
			m.changed[k.Port] = true
		}
	}
	return m
}

// remember brings what is kept up to an assignment, and notes what that changed. Ports
// whose LIDs were given away are forgotten.
func (m *Memory) remember(a *assignment, now int64) {
	absent := make(map[mad.GUID]bool, len(a.absent))
	for _, k := range a.absent {
		absent[k.Port] = true
		if k.Absent == 0 {
			k.Absent = max(now, 1)
			m.put(k)
		}
	}
	given := func(guid mad.GUID) bool {
		p := a.t.FindPort(guid)
		return p != topo.None && a.lids.Base[p] != 0
	}
	for guid := range m.lids {
		if !absent[guid] && !given(guid) {
			delete(m.lids, guid)
			m.changed[guid] = true
		}
	}
	for _, p := range a.t.EndPorts {
		if base := a.lids.Base[p]; base != 0 {
			m.put(KeptLID{Port: a.t.Ports[p].GUID, Base: base, LMC: a.lids.LMC[p]})
		}
	}
	m.stale = false
}

func (m *Memory) put(k KeptLID) {
	if m.lids[k.Port] != k {
		m.lids[k.Port] = k
		m.changed[k.Port] = true
	}
}

// Recall has the LIDs of another source count before all others, before the Job is run.
func (j *Job) Recall(lids []KeptLID) {
	m := j.memory
	m.stale = false
	merged := MergeLIDs(lids, slices.Collect(maps.Values(m.lids)))
	for guid := range m.lids {
		m.changed[guid] = true
	}
	clear(m.lids)
	for _, k := range merged {
		m.put(k)
	}
}

// Reregister has clients asked to register again whatever the settings say. It is called
// before the Job is run.
func (j *Job) Reregister() { j.settings.NoReregister = false }

// Changes returns the LIDs that have changed since it was asked last, and the ports that
// have none any more, both in order of GUID. No Job may be out.
func (s *Sweeper) Changes() (lids []KeptLID, forgotten []mad.GUID) {
	m := s.memory
	for guid := range m.changed {
		if k, ok := m.lids[guid]; ok {
			lids = append(lids, k)
		} else {
			forgotten = append(forgotten, guid)
		}
	}
	clear(m.changed)
	slices.SortFunc(lids, byPort)
	slices.Sort(forgotten)
	return lids, forgotten
}

// forgetSwitches drops what was known of switches that have been given up: their tables
// are read, or written, when they come back.
func (m *Memory) forgetSwitches(t *topo.Topo) {
	for guid := range m.switches {
		if t.FindNode(guid) == topo.None {
			delete(m.switches, guid)
		}
	}
}
