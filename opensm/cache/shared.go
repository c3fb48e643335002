package cache

import (
	"maps"
	"slices"

	"ibsm/mad"
)

// Shared is OpenSM's own folder on a host with several managers, each of which has a folder of
// its own. All OpenSM of a host read and write this one, whatever their subnets: one keeps the
// records of the other, and gives nobody a LID that the other has used. But where a record of another subnet has
// the LID of a port, OpenSM moves that port, also if it is in use. So the managers keep these files
// together: each replaces the records of its own subnet, and no LID of a port in use is in the
// record of another.
type Shared struct {
	Files  Files
	Others []string // folders of the other managers
}

// Running are the LIDs of ports that the other managers have found running, and of some that are
// away: those whose link may still be behind a port (neighbors).
func (s *Shared) Running() map[mad.GUID]LIDRange {
	running := map[mad.GUID]LIDRange{}
	for _, dir := range s.Others {
		f := Files{Dir: dir}
		links, _, _ := f.ReadNeighbors() // its manager reports what is wrong with it
		lids, _, _ := f.ReadLIDs(0)
		for end := range links {
			if r, has := lids[end.GUID]; has {
				running[end.GUID] = r
			}
		}
	}
	return running
}

// known is what a manager knows of its subnet: LIDs and M_Keys also of absent ports, and which
// ports and links run.
type known struct {
	lids    map[mad.GUID]LIDRange
	mkeys   map[mad.GUID]mad.MKey
	running map[mad.GUID]bool
	links   []Link
}

// merge writes what a manager knows. It returns how many ports have LIDs that are in use in two
// subnets, and so have no record.
func (s *Shared) merge(k *known) (both int, err error) {
	unlock, err := lockDir(s.Files.Dir)
	if err != nil {
		return 0, err
	}
	defer unlock()
	theirs := s.Running()
	maps.DeleteFunc(theirs, func(g mad.GUID, _ LIDRange) bool { return k.running[g] })

	// Of a damaged file what can be read is kept: it is written anew.
	all, _, _ := s.Files.ReadLIDs(0)
	merged, both := mergeLIDs(all, k.lids, theirs, k.running)
	if err := s.Files.WriteLIDs(merged); err != nil {
		return both, err
	}
	keys, _, _ := s.Files.ReadMKeys()
	if keys == nil {
		keys = map[mad.GUID]mad.MKey{}
	}
	for g, key := range k.mkeys {
		if _, other := theirs[g]; !other {
			keys[g] = key
		}
	}
	if err := s.Files.WriteMKeys(keys); err != nil {
		return both, err
	}
	ours := map[mad.GUID]bool{} // a switch has the GUID of its node here
	for _, l := range k.links {
		ours[l.Near.GUID] = true
	}
	old, _, _ := s.Files.ReadNeighbors()
	rest := slices.DeleteFunc(linksOf(old), func(l Link) bool { return ours[l.Near.GUID] || ours[l.Far.GUID] })
	return both, s.Files.WriteNeighbors(slices.Concat(rest, k.links))
}

// mergeLIDs are all records with those of lids in place of the old ones. theirs run in another
// subnet, ours in this one.
func mergeLIDs(all, lids, theirs map[mad.GUID]LIDRange, ours map[mad.GUID]bool) (merged map[mad.GUID]LIDRange,
	both int) {
	m := merger{merged: map[mad.GUID]LIDRange{}, owner: map[mad.LID]mad.GUID{}}
	absent := func(g mad.GUID) bool { _, other := theirs[g]; return !other && !ours[g] }
	inUse := map[mad.LID]bool{}
	for _, r := range theirs {
		for l := int(r.Min); l <= int(r.Max); l++ {
			inUse[mad.LID(l)] = true
		}
	}
	guids := slices.Sorted(maps.Keys(lids))
	for _, g := range guids {
		r := lids[g]
		switch {
		case !ours[g]:
		case r.any(func(l mad.LID) bool { return inUse[l] }):
			both++
			m.block(r)
		default:
			m.add(g, r)
		}
	}
	for _, g := range slices.Sorted(maps.Keys(theirs)) {
		if r, has := all[g]; has {
			m.add(g, r)
		}
		m.block(theirs[g])
	}
	for _, g := range slices.Sorted(maps.Keys(all)) {
		if _, known := lids[g]; !known && absent(g) {
			m.add(g, all[g])
		}
	}
	for _, g := range guids {
		if absent(g) {
			m.add(g, lids[g])
		}
	}
	return m.merged, both
}

// any reports whether is holds for a LID of the range.
func (r LIDRange) any(is func(mad.LID) bool) bool {
	for l := int(r.Min); l <= int(r.Max); l++ {
		if is(mad.LID(l)) {
			return true
		}
	}
	return false
}

// merger collects records of which no two have a LID in common.
type merger struct {
	merged map[mad.GUID]LIDRange
	owner  map[mad.LID]mad.GUID // of LIDs that are not free; 0 for one that nobody gets
}

// add takes a record, unless one before has a LID of it.
func (m *merger) add(g mad.GUID, r LIDRange) {
	taken := func(l mad.LID) bool { _, is := m.owner[l]; return is }
	if r.any(taken) {
		return
	}
	m.merged[g] = r
	for l := int(r.Min); l <= int(r.Max); l++ {
		m.owner[mad.LID(l)] = g
	}
}

// block leaves the range to no further record.
func (m *merger) block(r LIDRange) {
	for l := int(r.Min); l <= int(r.Max); l++ {
		if _, is := m.owner[mad.LID(l)]; !is {
			m.owner[mad.LID(l)] = 0
		}
	}
}
