package sick

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/perf"
)

// Link is the link of a port.
type Link struct {
	Peer perf.Key // the other end; Node 0 if there is none
	Bits uint64   // that it carries in a second in one direction, 0 if that is not known
	Slow bool     // it is narrower or slower than both ends have enabled
	// Disabled says that there is no link because this manager has disabled it: the time counts as clean.
	Disabled bool
}

// Finding is a port that is beyond the limit of a rule.
type Finding struct {
	Port, Peer perf.Key
	Rule       *Rule
	Since      time.Duration // when it was found
	Last       time.Duration // when it was beyond the limit last
	Counted    uint64        // in Rule.Window then, or since the reading before if that is longer
	Most       uint64        // that it may count
	Relapses   int           // times that it was clean before
	place      int           // of the rule
	clean      time.Duration // that was read since Last
}

// Left is how long the port has to be read within all limits from the last reading on before this is no finding any
// more.
func (f *Finding) Left() time.Duration { return clean<<min(f.Relapses, maxRelapses) - f.clean }

// clean is how long a port must have been read within all limits before it is no finding any more; each
// relapse doubles that, up to maxRelapses times.
const (
	clean       = 126 * time.Minute
	maxRelapses = 4
)

// event is what a port has counted in a reading.
type event struct {
	at   time.Duration
	span time.Duration // since the reading before
	n    uint64
}

// spot is a port and a rule.
type spot struct {
	port perf.Key
	rule int
}

// maxPeers bounds the ports whose last peer is known.
const maxPeers = 1 << 18

// unconfirmed is a link-down that the next reading confirms: the other end has not rebooted, from the reading on in
// which it was counted.
type unconfirmed struct {
	spot
	event
	peer perf.Key
}

// Watch judges readings one after the other. It belongs to one goroutine.
type Watch struct {
	rules       []Rule
	all         pma.Counters  // of the rules
	began       time.Duration // of the first reading; negative before
	last        time.Duration // end of the reading before
	events      map[spot][]event
	unconfirmed []unconfirmed
	found       map[spot]*Finding
	relapses    map[spot]int
	peers       map[perf.Key]perf.Key // the last known peer of each port
	held        map[perf.Key]held     // of the reading before
}

// New returns a Watch by rules, which must not be changed.
func New(rules []Rule) *Watch {
	all := pma.Counters(0)
	for i := range rules {
		all |= rules[i].Counters
	}
	return &Watch{rules: rules, all: all, began: -1, events: map[spot][]event{}, found: map[spot]*Finding{},
		relapses: map[spot]int{}, peers: map[perf.Key]perf.Key{}}
}

// Rules are those that it judges by.
func (w *Watch) Rules() []Rule { return w.rules }

// restarted are notes of a port that has lost what it had counted, or cannot be asked: its node may have
// rebooted, and then its links went down.
const restarted = perf.First | perf.NoAnswer | perf.Refused | perf.ResetByOther | perf.AfterReboot

// uncounted are notes of readings that count nothing here.
const uncounted = perf.Implausible | perf.Backwards

// Take judges a reading of all ports that ended at a time, and returns the findings that are new, and those
// that have ended.
func (w *Watch) Take(end time.Duration, reading iter.Seq2[perf.Key, *perf.Delta], link func(perf.Key) Link) (found,
	ended []Finding) {
	since := end - w.last
	w.last = end
	if w.began < 0 {
		w.began = end
		for k := range reading {
			w.peer(k, link)
		}
		return nil, nil // nothing was counted before
	}
	reading, sure := w.confirmed(reading, link)
	answers := map[perf.Key]bool{} // only ports that may be asked for
	asked := w.peersOfDowns(sure)
	var downs []unconfirmed
	read := map[perf.Key]time.Duration{} // Span of ports with a finding that were read while their link is up
	for at := range w.found {
		read[at.port] = 0
	}
	states := states{rules: w.rules}
	for k, d := range reading {
		_, up := w.peer(k, link)
		states.take(k, d, up, link)
		if _, wanted := read[k]; wanted && up && d.Note&(restarted|uncounted) == 0 {
			read[k] = d.Span
		}
		if asked[k] {
			answers[k] = d.Note&restarted == 0
		}
		if w.nothing(d) {
			continue
		}
		for i := range w.rules {
			n := uint64(0)
			for c := range (w.rules[i].Counters & d.Has).All {
				n += d.N[c]
			}
			switch at := (spot{k, i}); {
			case n == 0:
			case w.rules[i].Counters.Has(pma.LinkDownedCounter):
				if h := sure[k]; !h.lost {
					downs = append(downs, unconfirmed{at, event{end, d.Span, n}, h.peer})
				}
			default:
				w.events[at] = append(w.events[at], event{end, d.Span, n})
			}
		}
	}
	for k := range read { // a host whose link is disabled is not read
		if link(k).Disabled {
			read[k] = since
		}
	}
	for _, at := range states.found() {
		w.events[at] = append(w.events[at], event{end, 0, 1})
	}
	w.confirm(downs, answers)
	found = w.judge(end, link)
	return found, append(w.heal(end, read), w.dropGone(reading, link)...)
}

// peer is the last known peer of a port, which the view of now does not have while the link is down, and
// whether the link is up.
func (w *Watch) peer(k perf.Key, link func(perf.Key) Link) (peer perf.Key, up bool) {
	last, known := w.peers[k]
	l := link(k)
	now := l.Peer
	if now.Node == 0 {
		return last, l.Disabled
	}
	if now != last && (known || len(w.peers) < maxPeers) {
		w.peers[k] = now
	}
	return now, true
}

// states are the ports in one reading that count for rules about a State.
type states struct {
	rules             []Rule
	last              mad.GUID // node of the port before; its ports follow each other
	all, unresponsive int      // agents, and those that did not answer
	seen, unsure      []spot   // unsure: unless most agents were unresponsive
}

func (s *states) take(k perf.Key, d *perf.Delta, up bool, link func(perf.Key) Link) {
	first := k.Node != s.last // of its node
	s.last = k.Node
	if first {
		s.all++
		if d.Note&perf.NoAnswer != 0 {
			s.unresponsive++
		}
	}
	for i := range s.rules {
		switch at := (spot{k, i}); s.rules[i].State {
		case BelowBest:
			if l := link(k); up && l.Slow && k.Compare(l.Peer) < 0 { // once for both ends
				s.seen = append(s.seen, at)
			}
		case Reboots:
			if first && d.Note&perf.AfterReboot != 0 {
				s.seen = append(s.seen, at)
			}
		case LostReplies:
			if first && up && d.Note&perf.NoAnswer != 0 {
				s.unsure = append(s.unsure, at)
			}
		}
	}
}

// found are the ports that count. Where most agents are unresponsive it is this manager that hears nothing.
func (s *states) found() []spot {
	if 2*s.unresponsive > s.all {
		return s.seen
	}
	return append(s.seen, s.unsure...)
}

// nothing reports whether a port counted nothing that a rule is about, as most do.
func (w *Watch) nothing(d *perf.Delta) bool {
	n := uint64(0)
	for c := range (w.all & d.Has).All {
		n |= d.N[c]
	}
	return n == 0
}

// peersOfDowns are the other ends of links that went down, of which this reading says whether they may have rebooted:
// of downs that are held, sure, or unconfirmed.
func (w *Watch) peersOfDowns(sure map[perf.Key]held) map[perf.Key]bool {
	peers := map[perf.Key]bool{}
	for _, list := range []map[perf.Key]held{w.held, sure} {
		for _, h := range list {
			if h.downs() > 0 {
				peers[h.peer] = true
			}
		}
	}
	for _, d := range w.unconfirmed {
		peers[d.peer] = true
	}
	return peers
}

// confirm counts the unconfirmed link-downs whose other end answers in this reading, too, and has not rebooted. downs
// become unconfirmed then.
func (w *Watch) confirm(downs []unconfirmed, answers map[perf.Key]bool) {
	for _, d := range w.unconfirmed {
		if answers[d.peer] {
			w.events[d.spot] = append(w.events[d.spot], d.event)
		}
	}
	w.unconfirmed = slices.DeleteFunc(downs, func(d unconfirmed) bool { return !answers[d.peer] })
	for k, h := range w.held {
		if h.downs() > 0 && !answers[h.peer] {
			h.lost = true
			w.held[k] = h
		}
	}
}

// judge compares what ports counted with the limits.
func (w *Watch) judge(end time.Duration, link func(perf.Key) Link) (found []Finding) {
	for at, events := range w.events {
		r := &w.rules[at.rule]
		events = slices.DeleteFunc(events, func(e event) bool { return e.at <= end-r.Window })
		if len(events) == 0 {
			delete(w.events, at)
			continue
		}
		w.events[at] = events
		n, l, longest := uint64(0), link(at.port), time.Duration(0)
		for _, e := range events {
			n += e.n
			longest = max(longest, e.span)
		}
		l.Peer = w.peers[at.port]
		// a reading can be about a longer time than the rule
		most, known := r.most(l.Bits, max(min(r.Window, end-w.began), longest))
		if !known || n <= most {
			continue
		}
		f := w.found[at]
		if f == nil {
			f = &Finding{Port: at.port, Rule: r, Since: end, Relapses: w.relapses[at], place: at.rule}
			w.found[at] = f
		}
		f.Peer, f.Last, f.Counted, f.Most, f.clean = l.Peer, end, n, most, 0
		if f.Since == end {
			found = append(found, *f)
		}
	}
	slices.SortFunc(found, order)
	return found
}

// heal ends findings of ports that have been clean for long enough: of the time since they were beyond a
// limit only that counts for which they were read while their link was up.
func (w *Watch) heal(end time.Duration, read map[perf.Key]time.Duration) (ended []Finding) {
	for at, f := range w.found {
		if f.Last == end {
			continue
		}
		f.clean += read[at.port]
		if f.Left() < 0 {
			delete(w.found, at)
			if _, known := w.relapses[at]; known || len(w.relapses) < MaxSaved {
				w.relapses[at] = f.Relapses + 1
			}
			ended = append(ended, *f)
		}
	}
	slices.SortFunc(ended, order)
	return ended
}

// dropGone ends findings of ports that are not in a reading any more, nor disabled, where there are too many findings:
// a host may be another port in each reading. The oldest end first.
func (w *Watch) dropGone(reading iter.Seq2[perf.Key, *perf.Delta], link func(perf.Key) Link) (ended []Finding) {
	excess := len(w.found) - MaxSaved
	if excess <= 0 {
		return nil
	}
	here := map[perf.Key]bool{}
	for k := range reading {
		here[k] = true
	}
	var gone []spot
	for at := range w.found {
		if !here[at.port] && !link(at.port).Disabled {
			gone = append(gone, at)
		}
	}
	slices.SortFunc(gone, func(a, b spot) int {
		return cmp.Or(cmp.Compare(w.found[a].Last, w.found[b].Last), a.port.Compare(b.port),
			cmp.Compare(a.rule, b.rule))
	})
	for _, at := range gone[:min(excess, len(gone))] {
		ended = append(ended, *w.found[at])
		delete(w.found, at)
	}
	slices.SortFunc(ended, order)
	return ended
}

// Findings are all, those of the earlier rules first. The slice is the caller's.
func (w *Watch) Findings() []Finding {
	list := make([]Finding, 0, len(w.found))
	for _, f := range w.found {
		list = append(list, *f)
	}
	slices.SortFunc(list, order)
	return list
}

func order(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(b.Counted, a.Counted), a.Port.Compare(b.Port))
}
