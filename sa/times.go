package sa

import (
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"ibsm/mad"
)

// Way is how a request is answered. The time until the reply depends mostly on it.
type Way uint8

// Ways, each with the event at which its time ends. The time begins when the request has been
// received.
const (
	AtOnce  Way = 0 // from the View, by a Responder: the port has the reply
	AsTable Way = 1 // by RMPP: the table has been made
	// a registration: it is on disk, in the switches' tables and in the port, or the wait for these has ended
	Recording Way = 2
)

// WayOf is how a request is answered. Packets of RMPP transfers count as tables.
func WayOf(p *mad.Packet) Way {
	switch {
	case p.IsRMPP() || IsTable(p):
		return AsTable
	case IsWrite(p):
		return Recording
	}
	return AtOnce
}

var ways = [...]string{"get", "table", "register"}

// String is "get", "table" or "register".
func (w Way) String() string { return ways[w] }

// TimeBounds are the upper bounds of AnswerTimes' counts, 1 us to 10 s: so close together
// that what is read between two of them is true within a fifth.
var TimeBounds = timeBounds()

func timeBounds() (bounds [43]time.Duration) {
	i := 0
	for decade := time.Microsecond; decade < 10*time.Second; decade *= 10 {
		for _, tenths := range [...]time.Duration{10, 15, 20, 30, 50, 70} {
			bounds[i] = decade * tenths / 10
			i++
		}
	}
	bounds[i] = 10 * time.Second
	return bounds
}

// times counts how long answers of one way took.
type times struct {
	counts [len(TimeBounds) + 1]atomic.Uint64
	sum    atomic.Int64
}

// AnswerTimes is how long answers took.
type AnswerTimes struct {
	Counts [len(TimeBounds) + 1]uint64 // up to each bound but above the one before, and above all
	Sum    time.Duration
}

// Took counts answers that took a time each. It does not allocate.
func (s *Stats) Took(w Way, each time.Duration, answers int) {
	t := &s.times[w]
	slot, _ := slices.BinarySearch(TimeBounds[:], each)
	t.counts[slot].Add(uint64(answers))
	t.sum.Add(int64(each) * int64(answers))
}

// Times is how long answers took, by the way to them, in a fixed order.
func (s *Stats) Times() iter.Seq2[Way, *AnswerTimes] {
	return func(yield func(Way, *AnswerTimes) bool) {
		for w := range s.times {
			now := AnswerTimes{Sum: time.Duration(s.times[w].sum.Load())}
			for i := range now.Counts {
				now.Counts[i] = s.times[w].counts[i].Load()
			}
			if !yield(Way(w), &now) {
				return
			}
		}
	}
}
