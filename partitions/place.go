package partitions

import (
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// place is one table to be laid out.
type place struct {
	port   Port
	held   *topo.PKeyTable // as it is
	ever   *topo.PKeyTable // and each key that was there, where it was last; nil for none but those
	size   int
	want   []mad.PKey
	first  mad.PKey // of want, the one that must be at index 0; 0 for none
	home   mad.PKey // of want, the one that goes to index 0 when it comes and no key is there; 0 for none
	forget bool
}

// scratch is memory used again.
type scratch struct {
	one    [1]member
	ofType map[mad.NodeType][]topo.PortIdx
	table  []mad.PKey
	late   []mad.PKey
	hosts  *HostIndex[topo.PortIdx]
	groups map[string][]topo.PortIdx // the end ports of port groups
	// vPorts, and the end ports with them; nil before they are needed
	virtual, all []member
}

// settled reports whether the table equals the target.
func (at *place) settled() bool {
	if at.first != 0 && at.held.Key(0) != at.first {
		return false
	}
	entries := 0
	for _, k := range at.held.Keys() {
		if k != 0 {
			entries++
		}
	}
	if entries != len(at.want) {
		return false
	}
	return !slices.ContainsFunc(at.want, func(k mad.PKey) bool { return !at.held.Has(k) })
}

// assign lays the table out, and returns the keys that found no room. The table is the scratch's.
func (at *place) assign(s *scratch) (table, left []mad.PKey) {
	s.table, s.late = append(s.table[:0], make([]mad.PKey, at.size)...), s.late[:0]
	table = s.table
	if at.first != 0 {
		table[0] = at.first
	}
	for _, k := range at.want { // what stays as it is
		if i := at.index(k, func(held mad.PKey) bool { return held == k }); k != at.first && i >= 0 && table[i] == 0 {
			table[i] = k
		} else if k != at.first {
			s.late = append(s.late, k)
		}
	}
	s.late = at.changed(table, s.late)
	next := max(len(at.held.Keys()), len(at.ever.Keys()))
	for n, k := range s.late { // what comes
		i := 0
		if k != at.home || table[0] != 0 {
			i = at.before(k, table)
		}
		if i < 0 {
			i, next = at.free(table, next)
		}
		if i < 0 {
			return table, slices.Clone(s.late[n:])
		}
		table[i] = k
	}
	return table, nil
}

// changed gives keys of which only the membership changes their index, and returns the
// others.
func (at *place) changed(table, late []mad.PKey) []mad.PKey {
	rest := late[:0]
	for _, k := range late {
		i := at.index(k, func(held mad.PKey) bool {
			return held.Valid() && held.Base() == k.Base() && !slices.Contains(at.want, held)
		})
		if i >= 0 && table[i] == 0 && !at.held.Has(k) { // a key that moves needs an entry that is empty now
			table[i] = k
		} else {
			rest = append(rest, k)
		}
	}
	return rest
}

// index is that of the first entry that fits, -1 for none.
func (at *place) index(k mad.PKey, fits func(mad.PKey) bool) int {
	if _, ok := at.held.Find(k); !ok {
		return -1
	}
	i := slices.IndexFunc(at.held.Keys(), fits)
	if i >= at.size {
		return -1
	}
	return i
}

// before is the index that a key had before it was removed, if it is free; else -1.
func (at *place) before(k mad.PKey, table []mad.PKey) int {
	if at.forget {
		return -1
	}
	i := slices.IndexFunc(at.ever.Keys(), func(was mad.PKey) bool { return was.Valid() && was.Base() == k.Base() })
	if i >= len(table) || i >= 0 && (table[i] != 0 || at.held.Key(i).Valid()) {
		return -1
	}
	return i
}

// free is an index for a new key: after all indexes that were ever used, unless they are
// forgotten, then the first where nothing is, then one where something still is. next is
// the first that never was used. -1 says that the table is full.
func (at *place) free(table []mad.PKey, next int) (i, after int) {
	if !at.forget {
		for ; next < len(table); next++ {
			if table[next] == 0 {
				return next, next + 1
			}
		}
	}
	for _, taken := range []bool{false, true} {
		for i := range table {
			if table[i] == 0 && (taken || !at.held.Key(i).Valid()) {
				return i, next
			}
		}
	}
	return -1, next
}

// outlived are the keys that the table will have had, each where it was last.
func (at *place) outlived(table []mad.PKey) []mad.PKey {
	ever := slices.Clone(table)
	for i := range ever {
		for _, k := range []mad.PKey{at.held.Key(i), at.ever.Key(i)} {
			if !ever[i].Valid() && k.Valid() && !slices.ContainsFunc(ever, func(e mad.PKey) bool {
				return e.Base() == k.Base()
			}) {
				ever[i] = k
			}
		}
	}
	return ever
}
