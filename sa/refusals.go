package sa

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/topo"
)

// Limits of Refusals.
const (
	maxRefusals     = 1 << 10 // that are kept, each of a port and a group
	maxSenders      = 1 << 16 // whose minute is known
	refusalsAMinute = 10      // of one port that are logged; each may have three lines
	groupsAMinute   = 100     // that one port creates or deletes and that are logged
)

// Refusals logs refused requests and groups that come and go, and keeps the latest refusal of each port
// and group, until the port has joined the group. Any number of goroutines may use it. The zero value logs nothing.
type Refusals struct {
	// Log logs a line; nil for no log. It must not change once requests are served.
	Log func(level slog.Level, text string)

	mu      sync.Mutex // guards the following
	kept    map[refusalKey]*Refusal
	missed  uint64 // refusals that are not kept, or not any more, as too many were
	senders map[mad.GUID]*sender
}

type refusalKey struct {
	port mad.GUID
	mgid mad.GID
}

// sender is how much of a port was logged.
type sender struct{ refusals, groups minute }

// minute is how many events of a kind were logged within a minute, and how many were not.
type minute struct {
	since       time.Time
	logged, not int
}

// full reports whether so many have been logged that no more are now.
func (m *minute) full(now time.Time, limit int) bool {
	return m.logged >= limit && now.Sub(m.since) < time.Minute
}

// admit reports whether an event is logged, of which a minute has so many, and how many were not in the
// minute that has ended.
func (m *minute) admit(now time.Time, limit int) (skipped int, wanted bool) {
	if now.Sub(m.since) >= time.Minute {
		skipped = m.not
		*m = minute{since: now}
	}
	if m.full(now, limit) {
		m.not++
		return skipped, false
	}
	m.logged++
	return skipped, true
}

// Refusal is a request to join a group that was refused.
type Refusal struct {
	Port  mad.GUID // the wanted member
	MGID  mad.GID
	Cause string // the last one, in a few words
	Count uint64 // of refusals since the port joined last
	Last  time.Time
}

// All are the refusals that are kept, the latest first.
func (r *Refusals) All() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Refusal, 0, len(r.kept))
	for _, k := range r.kept {
		all = append(all, *k)
	}
	slices.SortFunc(all, func(a, b Refusal) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Port, b.Port), slices.Compare(a.MGID[:], b.MGID[:]))
	})
	return all
}

// Missed is how many refusals All lacks because too many were: of one port in a minute, or in all.
func (r *Refusals) Missed() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.missed
}

// add notes a refused request of a port, and logs it unless too many were.
func (r *Refusals) add(from mad.GUID, w *refused) {
	now := time.Now()
	r.mu.Lock()
	skipped, wanted := r.sender(from).refusals.admit(now, refusalsAMinute)
	switch known := r.kept[refusalKey{w.port, w.mgid}] != nil; {
	case w.mgid == (mad.GID{}):
	case known || wanted:
		r.keep(w, now)
	default:
		r.missed++
	}
	r.mu.Unlock()
	if skipped > 0 {
		r.log(slog.LevelWarn, fmt.Sprintf("rejected requests not logged: port %v, %d in the last minute", from,
			skipped))
	}
	for _, line := range w.lines {
		if wanted {
			r.log(slog.LevelError, line)
		}
	}
}

// logs reports whether a refused request of a port would be logged now; if too many were, it counts one more.
func (r *Refusals) logs(from mad.GUID) bool {
	if r.Log == nil {
		return false
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := &r.sender(from).refusals; m.full(now, refusalsAMinute) {
		m.not++
		return false
	}
	return true
}

func (r *Refusals) log(level slog.Level, text string) {
	if r.Log != nil {
		r.Log(level, text)
	}
}

// grouped logs that a group was created or deleted, unless too many were. from is the port whose request
// did it; 0 for none.
func (r *Refusals) grouped(from mad.GUID, line string) {
	skipped, wanted := 0, true
	if from != 0 {
		r.mu.Lock()
		skipped, wanted = r.sender(from).groups.admit(time.Now(), groupsAMinute)
		r.mu.Unlock()
	}
	if skipped > 0 {
		r.log(slog.LevelWarn, fmt.Sprintf("lines about groups not logged: port %v, %d in the last minute", from,
			skipped))
	}
	if wanted {
		r.log(slog.LevelInfo, line)
	}
}

// sender is what was logged of a port.
func (r *Refusals) sender(from mad.GUID) *sender {
	if r.senders == nil || len(r.senders) > maxSenders {
		r.senders = map[mad.GUID]*sender{}
	}
	s := r.senders[from]
	if s == nil {
		s = &sender{}
		r.senders[from] = s
	}
	return s
}

// keep keeps a refusal, in place of the oldest if there is no room.
func (r *Refusals) keep(w *refused, now time.Time) {
	key := refusalKey{w.port, w.mgid}
	k := r.kept[key]
	if r.kept == nil {
		r.kept = map[refusalKey]*Refusal{}
	}
	if k == nil {
		if len(r.kept) >= maxRefusals {
			var oldest *Refusal
			for _, o := range r.kept {
				if oldest == nil || o.Last.Before(oldest.Last) {
					oldest = o
				}
			}
			delete(r.kept, refusalKey{oldest.Port, oldest.MGID})
			r.missed += oldest.Count
		}
		k = &Refusal{Port: w.port, MGID: w.mgid}
		r.kept[key] = k
	}
	k.Count++
	k.Cause, k.Last = w.cause, now
}

// joined forgets a refusal: the port is a member now.
func (r *Refusals) joined(port mad.GUID, mgid mad.GID) {
	r.mu.Lock()
	delete(r.kept, refusalKey{port, mgid})
	r.mu.Unlock()
}

// refused is why a request is refused.
type refused struct {
	cause string
	lines []string // of the log
	port  mad.GUID
	mgid  mad.GID // 0: nothing is kept of it
}

// because notes why a request is refused, and adds a line of the log, a format of opensm/log. It
// returns the status.
func (q *writeRequest) because(st mad.Status, cause, format string, args ...any) mad.Status {
	q.refused.cause = cmp.Or(cause, q.refused.cause)
	for i, arg := range args {
		if gid, is := arg.(mad.GID); is {
			args[i] = netip.AddrFrom16(gid) // as OpenSM prints it
		}
	}
	if format != "" {
		q.refused.lines = append(q.refused.lines, fmt.Sprintf(format, args...))
	}
	return st
}

// named is the GUID of a port or vPort, and the NodeDescription of its node.
func named(t *topo.Topo, e topo.EndIdx) (guid uint64, desc string) {
	return uint64(t.EndGUID(e)), t.Nodes[t.Ports[t.Physical(e)].Node].Desc.String()
}
