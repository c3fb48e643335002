package repair

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// adopt gives LIDs to which no other switch has a way, which are new or new at their switch, the SLs of
// another LID there: of a host's if they are a host's, or else of the switch's.
func (j *joiner) adopt() {
	sls := j.tables.SLs
	if sls == nil {
		return
	}
	type place struct {
		at   topo.SwitchIdx
		port bool // of hosts
	}
	model, fresh := map[place]mad.LID{}, []target(nil)
	for i := range j.order {
		d := &j.order[i]
		for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
			at := place{d.Switch, d.Egress != 0}
			if j.isFresh(d.Switch, lid) {
				fresh = append(fresh, target{d, lid})
			} else if _, is := model[at]; !is && entryOf(sls.From, lid) >= 0 && entryOf(sls.To, lid) >= 0 {
				model[at] = lid
			}
		}
	}
	from, to := resized(sls.From, len(j.LIDs.Owner)), resized(sls.To, len(j.LIDs.Owner))
	for _, f := range fresh {
		if like, is := model[place{f.Switch, f.Egress != 0}]; is {
			from[f.lid], to[f.lid] = sls.From[like], sls.To[like]
		}
	}
	adopted := routing.NewSLs(from, to, sls.Rows)
	adopted.Hint, adopted.Maps = sls.Hint, sls.Maps
	if !adopted.Equal(sls) {
		j.tables.SLs = adopted
	}
}

// isFresh reports whether no switch but that of its owner has a way to a LID.
func (j *joiner) isFresh(home topo.SwitchIdx, lid mad.LID) bool {
	for s := range topo.SwitchIdx(len(j.own)) {
		if s != home && !j.isBroken(s, lid) {
			return false
		}
	}
	return len(j.own) > 1
}

// entryOf is what SLs have for a LID, negative for nothing.
func entryOf(list []int32, lid mad.LID) int32 {
	if int(lid) >= len(list) {
		return -1
	}
	return list[lid]
}

// resized is a copy with so many LIDs.
func resized(list []int32, size int) []int32 {
	list = slices.Clone(list)[:min(len(list), size)]
	for len(list) < size {
		list = append(list, -1)
	}
	return list
}
