package lids

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"ibsm/mad"
)

// Assignment are the LIDs of an end port, present or absent.
type Assignment struct {
	Port mad.GUID
	Base mad.LID
	LMC  uint8
	// Absent is when a sweep first missed the port, in seconds since 1970; 0 while the port is
	// present.
	Absent int64
}

// Last is the highest of its LIDs.
func (k Assignment) Last() mad.LID { return k.Base + 1<<k.LMC - 1 }

// since is Absent, or the maximum for a port that this sweep misses for the first time.
func (k Assignment) since() int64 {
	if k.Absent == 0 {
		return math.MaxInt64
	}
	return k.Absent
}

// Valid reports whether a port can have these LIDs.
func (k Assignment) Valid() bool {
	return k.Port != 0 && k.LMC <= 7 && k.Base != 0 && int(k.Base)+1<<k.LMC-1 <= int(mad.MaxUnicastLID)
}

// Merge merges the assignments of two sources, in order of GUID. Where they contradict
// each other, first takes precedence.
func Merge(first, second []Assignment) []Assignment {
	bySecond := make(map[mad.GUID]Assignment, len(second))
	for _, k := range second {
		bySecond[k.Port] = k
	}
	merged := make(map[mad.GUID]Assignment, len(first))
	taken := make([]bool, int(mad.MaxUnicastLID)+1)
	for _, k := range slices.Concat(first, second) {
		if _, known := merged[k.Port]; known || !k.Valid() || slices.Contains(taken[k.Base:k.Last()+1], true) {
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
	return slices.SortedFunc(maps.Values(merged), ByPort)
}

// ByPort orders assignments by GUID.
func ByPort(a, b Assignment) int { return cmp.Compare(a.Port, b.Port) }

// Find returns the assignment of a port, or the zero value. list ascends by GUID.
func Find(list []Assignment, port mad.GUID) Assignment {
	i, ok := slices.BinarySearchFunc(list, port, func(k Assignment, g mad.GUID) int { return cmp.Compare(k.Port, g) })
	if !ok {
		return Assignment{}
	}
	return list[i]
}

// finder finds the assignments of ports in one pass through a list, if they are asked for in the order of their GUIDs;
// of others it searches from the beginning.
type finder struct {
	list []Assignment
	rest []Assignment // from the port that was asked for last
	last mad.GUID
}

func (f *finder) find(port mad.GUID) (k Assignment) {
	if port < f.last || f.rest == nil {
		f.rest = f.list
	}
	f.last = port
	for len(f.rest) > 0 && f.rest[0].Port < port {
		f.rest = f.rest[1:]
	}
	if len(f.rest) > 0 && f.rest[0].Port == port {
		k = f.rest[0]
	}
	return k
}

// Changes are the assignments that is has and was lacks, and the ports that have none any more, both in order of GUID.
func Changes(was, is []Assignment) (changed []Assignment, forgotten []mad.GUID) {
	for len(was)+len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Port < is[0].Port:
			forgotten, was = append(forgotten, was[0].Port), was[1:]
		case len(was) == 0 || is[0].Port < was[0].Port:
			changed, is = append(changed, is[0]), is[1:]
		default:
			if was[0] != is[0] {
				changed = append(changed, is[0])
			}
			was, is = was[1:], is[1:]
		}
	}
	return changed, forgotten
}
