package cache

import (
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// LIDRange is the LIDs of a port.
type LIDRange struct{ Min, Max mad.LID }

// parseLIDs reads guid2lid. Ranges of more than one LID must suit the LMC in force.
func parseLIDs(file string, b []byte, lmc uint8) (map[mad.GUID]LIDRange, diag.List, error) {
	var w warnings
	records, err := parse(file, b, &w)
	lids := map[mad.GUID]LIDRange{}
	owner := map[mad.LID]mad.GUID{}
	for _, r := range records {
		g, canonical := guid(r.key)
		lid, right := lidRange(r.value)
		_, twice := lids[g]
		taken, by := taken(owner, lid, lmc)
		switch {
		case !canonical || g == 0:
			w.add(r.Position, "%q is no port GUID; want 0x and 16 digits, not all 0", r.key)
		case !right:
			w.add(r.Position, "port %s: LIDs %q; want the lowest and the highest, as 0x0004 0x0004", g, r.value)
		case twice:
			w.add(r.Position, "port %s is here twice; the first record applies", g)
		case lid.Min == 0 || lid.Min > lid.Max || lid.Max > mad.MaxUnicastLID:
			w.add(r.Position, "port %s: LIDs 0x%04x to 0x%04x are no range between 0x0001 and 0xbfff", g,
				uint16(lid.Min), uint16(lid.Max))
		case lid.Min != lid.Max && lid.Min&(1<<lmc-1) != 0:
			w.add(r.Position, "port %s: LID 0x%04x is no multiple of %d, as LMC %d wants it", g, uint16(lid.Min),
				1<<lmc, lmc)
		case taken != 0:
			w.add(r.Position, "port %s: LID 0x%04x is that of port %s already", g, uint16(taken), by)
		default:
			lids[g] = lid
			for l := int(lid.Min); l <= lid.last(lmc); l++ {
				owner[mad.LID(l)] = g
			}
		}
	}
	return lids, w.list(), err
}

// last is the highest LID of a range that is in use with an LMC.
func (r LIDRange) last(lmc uint8) int { return min(int(r.Max), int(r.Min)+1<<lmc-1) }

// taken finds a LID of the range that a port has, 0 if there is none.
func taken(owner map[mad.LID]mad.GUID, r LIDRange, lmc uint8) (mad.LID, mad.GUID) {
	for l := int(r.Min); l <= r.last(lmc); l++ {
		if g, has := owner[mad.LID(l)]; has {
			return mad.LID(l), g
		}
	}
	return 0, 0
}

func lidRange(value string) (LIDRange, bool) {
	words := strings.Fields(value)
	if len(words) < 2 {
		return LIDRange{}, false
	}
	lowest, right := number(words[0], 16)
	highest, alsoRight := number(words[1], 16)
	return LIDRange{mad.LID(lowest), mad.LID(highest)}, right && alsoRight
}
