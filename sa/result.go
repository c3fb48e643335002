package sa

import "ibsm/mad"

// MaxTable is the most bytes of records that one answer has: what about 1,400 ports
// need for the paths between all of them. What would be longer is refused with
// StatusNoResources.
const MaxTable = 128 << 20

// result takes the records that match. For a Get it keeps the first and needs to know
// of a second; for a GetTable it keeps all.
type result struct {
	table bool
	data  []byte // the reply's own for a Get; grows for a table
	size  int    // of a record in bytes
	n     int
	// refused is why there is no answer in records, StatusOK otherwise.
	refused mad.Status
}

// add returns false when further records cannot change the answer.
func (res *result) add(rec []byte) (more bool) {
	res.n++
	if res.table {
		if len(res.data)+len(rec) > MaxTable {
			res.data, res.refused = nil, mad.StatusNoResources
			return false
		}
		res.data = append(res.data, rec...)
		res.size = len(rec)
		return true
	}
	if res.n > 1 {
		return false
	}
	res.size = copy(res.data, rec)
	return true
}

func (res *result) status() mad.Status {
	switch {
	case res.refused != mad.StatusOK:
		return res.refused
	case res.n == 1 || res.table:
		return mad.StatusOK
	case res.n == 0:
		return mad.StatusNoRecords
	}
	return mad.StatusTooManyRecords
}
