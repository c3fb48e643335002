package sa

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"ibsm/mad"
)

// Limits of Offenders.
const (
	maxOffenders    = 1 << 10 // rows, a port and a reason each, some 100 KiB
	offencesAMinute = 60      // that are logged
)

// Offenders are the ports whose requests were dropped because they showed a wrong key, asked for what only
// trusted clients get, had the GID of another port, or were too many. Any number of goroutines may
// use it. The zero value is empty.
type Offenders struct {
	mu   sync.Mutex // guards the following
	rows map[offence]*Offender
	more uint64 // requests of rows that others have taken the place of
	log  minute
}

type offence struct {
	lid mad.LID
	why Drop
}

// Offender is what was dropped of one port for one reason.
type Offender struct {
	Port   mad.GUID // 0 where no port has the LID
	LID    mad.LID  // of the sender
	Why    Drop
	Attr   mad.AttrID // of the last one
	Method mad.Method // of the last one
	Count  uint64
	First  time.Time
	Last   time.Time
}

// offends reports whether a request that is dropped for a reason is noted.
func (d Drop) offends() bool {
	return d == DropBadKey || d == DropUntrusted || d == DropSpoofed || d == DropTooMany
}

// because is what a line of the log says of it.
func (d Drop) because() string {
	switch d {
	case DropBadKey:
		return "it shows another SM_Key than sa_key"
	case DropUntrusted:
		return "it shows no SM_Key, and sa_enhanced_trust_model answers such requests only if a host needs them"
	case DropSpoofed:
		return "its GRH has the SGID of another port"
	case DropTooMany:
		return "its port sends more than sa_rate_threshold requests a second"
	}
	return d.String()
}

// add notes a dropped request of a port, in place of the row that is oldest if there is no room. It reports whether
// that must be logged: the first of its kind, unless too many were.
func (o *Offenders) add(in *mad.Datagram, why Drop, port mad.GUID) (logged bool) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	key := offence{in.LID, why}
	row := o.rows[key]
	if row == nil || row.Port != port {
		if row == nil && len(o.rows) >= maxOffenders {
			o.forgetOldest()
		}
		if o.rows == nil {
			o.rows = map[offence]*Offender{}
		}
		row = &Offender{Port: port, LID: in.LID, Why: why, First: now}
		o.rows[key] = row
	}
	row.Attr, row.Method, row.Last = in.Packet.AttrID(), in.Packet.Method(), now
	if row.Count++; row.Count > 1 {
		return false
	}
	_, logged = o.log.admit(now, offencesAMinute)
	return logged
}

// forgetOldest makes room for a row.
func (o *Offenders) forgetOldest() {
	var oldest offence
	for key, row := range o.rows {
		if was := o.rows[oldest]; was == nil || row.Last.Before(was.Last) {
			oldest = key
		}
	}
	o.more += o.rows[oldest].Count
	delete(o.rows, oldest)
}

// All are the rows, the latest first, and how many requests of earlier rows were dropped.
func (o *Offenders) All() (rows []Offender, more uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, row := range o.rows {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b Offender) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.LID, b.LID), cmp.Compare(a.Why, b.Why))
	})
	return rows, o.more
}
