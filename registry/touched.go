package registry

import (
	"iter"
	"slices"

	"ibsm/mad"
)

// MLIDs iterates over the multicast LIDs that groups have, in ascending order.
func (s *State) MLIDs() iter.Seq[mad.LID] {
	return func(yield func(mad.LID) bool) {
		last := mad.LID(0)
		for k := range s.mlids.all() {
			if k.mlid != last && !yield(k.mlid) {
				return
			}
			last = k.mlid
		}
	}
}

// TopMLID is the highest multicast LID that a group has, 0 when there is no group.
func (s *State) TopMLID() mad.LID {
	if n := len(s.mlids.leaves); n > 0 {
		entries := s.mlids.leaves[n-1].entries
		return entries[len(entries)-1].key.mlid
	}
	return 0
}

// TouchedMLIDs are the multicast LIDs, in ascending order, whose groups or members differ
// between this State and an older one of the same Registry; nil stands for an empty one.
// It costs what has changed, not what there is. Where aliases have changed it names every
// multicast LID: any member may be one.
func (s *State) TouchedMLIDs(old *State) []mad.LID {
	if old == nil {
		return slices.Collect(s.MLIDs())
	}
	touched := map[mad.LID]bool{}
	for range s.slots.unshared(&old.slots) {
		for _, st := range []*State{old, s} {
			for mlid := range st.MLIDs() {
				touched[mlid] = true
			}
		}
		break
	}
	for mgid := range s.groups.unshared(&old.groups) {
		before, was := old.groups.get(mgid)
		after, is := s.groups.get(mgid)
		if was != is || before.MLID != after.MLID {
			touched[before.MLID], touched[after.MLID] = true, true
		}
	}
	for k := range s.members.unshared(&old.members) {
		before, was := old.members.get(k)
		after, is := s.members.get(k)
		if was != is || before.state != after.state {
			g, _ := s.groups.get(k.first) // one that has gone is touched by that
			touched[g.MLID] = true
		}
	}
	delete(touched, 0) // of groups that there are not
	mlids := make([]mad.LID, 0, len(touched))
	for mlid := range touched {
		mlids = append(mlids, mlid)
	}
	slices.Sort(mlids)
	return mlids
}

// shares reports whether two copies of a table have the same leaves.
func (t *table[K, V]) shares(o *table[K, V]) bool { return slices.Equal(t.leaves, o.leaves) }

// unshared iterates over the keys in leaves that two copies of a table do not share: all
// keys that differ between them, and others. Keys may come twice.
func (t *table[K, V]) unshared(o *table[K, V]) iter.Seq[K] {
	return func(yield func(K) bool) {
		a, b := t.leaves, o.leaves
		for len(a) > 0 || len(b) > 0 {
			if len(a) > 0 && len(b) > 0 && a[0] == b[0] {
				a, b = a[1:], b[1:]
				continue
			}
			from := &a
			if len(a) == 0 || len(b) > 0 && t.compare(a[0].entries[0].key, b[0].entries[0].key) > 0 {
				from = &b
			}
			for i := range (*from)[0].entries {
				if !yield((*from)[0].entries[i].key) {
					return
				}
			}
			*from = (*from)[1:]
		}
	}
}
