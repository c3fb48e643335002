package sick

import (
	"iter"
	"time"

	"ibsm/mad/pma"
	"ibsm/perf"
)

// held is what a port counted in a reading that none has confirmed.
type held struct {
	skip  uint8 // readings of which nothing is believed, because one before was contradicted
	which pma.Counters
	span  time.Duration
	n     [pma.NumCounters]uint64
	peer  perf.Key // of a link that went down
	lost  bool     // that peer did not answer in one of these readings, or may have rebooted
}

// downs are how often the link went down.
func (h *held) downs() uint64 { return h.n[pma.LinkDownedCounter] }

// afterContradiction is of how many readings nothing is believed after one that was contradicted: what they count may
// make up for it.
const afterContradiction = 5

// contradicts are notes of a reading which shows that the one before may have been wrong: a wrong value that looks like
// a rise is followed by one that looks like a fall.
const contradicts = perf.First | perf.ResetByOther | perf.AfterReboot | perf.Backwards | perf.Implausible

// confirmed is a reading in which ports have counted what they had in the one before that they answered, unless this
// one contradicts it. What they count in this one is held. sure is what they have counted.
func (w *Watch) confirmed(reading iter.Seq2[perf.Key, *perf.Delta],
	link func(perf.Key) Link) (_ iter.Seq2[perf.Key, *perf.Delta], sure map[perf.Key]held) {
	was, now := w.held, map[perf.Key]held{}
	sure = map[perf.Key]held{}
	for k, d := range reading {
		h, is := was[k]
		skip := h.skip > 0
		switch {
		case d.Note&(perf.NoAnswer|perf.Refused) != 0:
		case d.Note&contradicts != 0:
			now[k] = held{skip: afterContradiction}
			continue
		case skip:
			h.skip--
			is = h.skip > 0
		case h.which&^d.Has == 0:
			if h.which != 0 {
				sure[k] = h
			}
			h, is = held{}, false
		case d.Note&perf.Partial == 0: // counters that began anew
			h, is = held{}, false
		}
		if !skip && !w.nothing(d) {
			h.which, h.span, is = h.which|w.all&d.Has, h.span+d.Span, true
			for c := range (w.all & d.Has).All {
				h.n[c] += d.N[c]
			}
			if h.downs() > 0 && h.peer.Node == 0 {
				h.peer, _ = w.peer(k, link)
			}
		}
		if is {
			now[k] = h
		}
	}
	w.held = now
	return func(yield func(perf.Key, *perf.Delta) bool) {
		for k, d := range reading {
			h, is := sure[k]
			if is || !w.nothing(d) {
				copied := *d
				d = &copied
				for c := range w.all.All {
					d.N[c] = h.n[c]
				}
				d.Span = max(d.Span, h.span)
			}
			if !yield(k, d) {
				return
			}
		}
	}, sure
}
