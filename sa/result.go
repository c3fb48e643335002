package sa

import "ibsm/mad"

// result takes the records that match a Get: it keeps the first and needs to know
// of a second.
type result struct {
	data *[mad.SADataSize]byte // of the reply
	size int                   // of a record in bytes
	n    int
}

// add returns false when further records cannot change the answer.
func (res *result) add(rec []byte) (more bool) {
	if res.n++; res.n > 1 {
		return false
	}
	res.size = copy(res.data[:], rec)
	return true
}

func (res *result) status() mad.Status {
	switch res.n {
	case 0:
		return mad.StatusNoRecords
	case 1:
		return mad.StatusOK
	}
	return mad.StatusTooManyRecords
}
