package congestion

import (
	"cmp"
	"slices"
	"time"

	"ibsm/mad/pma"
	"ibsm/perf"
	"ibsm/topo"
)

// Uses is what the ports of a fabric did between an image and the one before, by topo.PortIdx. PortXmitWait counts in
// ticks whose length the architecture leaves open; see perf.Delta.Share.
func Uses(t *topo.Topo, im *perf.Image) []Use {
	ports := make([]Use, len(t.Ports))
	for k, d := range im.All {
		p := k.In(t)
		if p == topo.None {
			continue
		}
		words := perf.Words(t, p)
		if u := (Use{true, d.Share(pma.PortXmitData, words), d.Share(pma.PortXmitWait, words)}); u.Busy >= 0 &&
			u.Waited >= 0 {
			ports[p] = u
		}
	}
	return ports
}

// Event is a congestion, from the first image that shows it to the last.
type Event struct {
	Root  perf.Key
	Cause Cause
	Since time.Time // of the image
	Until time.Time // of the last image that shows it
	// Waiting are the ports that wait for it by the last image, those that do for the longest time first, MaxWaiting of
	// them; Ports is how many there were in the image with the most.
	Waiting []perf.Key
	Ports   int
	Weight  float64 // the most of Tree.Weight
}

// MaxWaiting is how many ports an Event names.
const MaxWaiting = 256

const (
	// leastWeight is the least weight of a Tree that begins an event: less comes and goes with any traffic.
	leastWeight = 0.2
	// sure is how many images in a row show a congestion when it begins, and clean how many do not when it ends: what
	// an application does for a moment is none, and what changed between two readings may show at another port first.
	sure, clean = 2, 2
	// maxEvents bounds the events at a time, and maxEnded those that are kept after their end.
	maxEvents, maxEnded = 256, 64
)

// Tracker makes events of images. It is used by one goroutine.
type Tracker struct {
	open  []tracked // by weight in the last image that shows them
	ended []Event   // the last one first
	// Dropped counts trees that found no room.
	Dropped uint64
}

type tracked struct {
	Event
	shown   int // images in a row that showed it, until it began
	missing int // images in a row that did not show it
}

func (e *tracked) began() bool { return e.shown >= sure }

// Take takes what an image shows, and says which events begin and end with it.
func (t *Tracker) Take(at time.Time, top *topo.Topo, trees []Tree) (began, ended []Event) {
	for i := range t.open {
		t.open[i].missing++
	}
	for i := range trees {
		tree := &trees[i]
		root := perf.KeyOf(top, tree.Root)
		known := slices.IndexFunc(t.open, func(e tracked) bool { return e.Root == root })
		switch {
		case known >= 0:
			e := &t.open[known]
			if e.see(at, top, tree); !e.began() && tree.Weight >= leastWeight {
				if e.shown++; e.began() {
					began = append(began, e.Event)
				}
			}
		case tree.Weight < leastWeight:
		case len(t.open) == maxEvents:
			t.Dropped++
		default:
			e := tracked{Event: Event{Root: root, Since: at}, shown: 1}
			e.see(at, top, tree)
			t.open = append(t.open, e)
		}
	}
	t.open = slices.DeleteFunc(t.open, func(e tracked) bool {
		if e.began() && e.missing >= clean {
			ended = append(ended, e.Event)
		}
		return e.missing >= clean || e.missing > 0 && !e.began()
	})
	t.ended = append(slices.Clone(ended), t.ended...)
	t.ended = t.ended[:min(len(t.ended), maxEnded)]
	slices.SortStableFunc(t.open, func(a, b tracked) int { return cmp.Compare(b.Weight, a.Weight) })
	return began, ended
}

func (e *tracked) see(at time.Time, top *topo.Topo, tree *Tree) {
	e.missing, e.Until, e.Cause = 0, at, tree.Cause
	e.Ports, e.Weight = max(e.Ports, len(tree.Waiting)), max(e.Weight, tree.Weight)
	e.Waiting = make([]perf.Key, 0, min(len(tree.Waiting), MaxWaiting)) // others hold the last one
	for _, p := range tree.Waiting[:cap(e.Waiting)] {
		e.Waiting = append(e.Waiting, perf.KeyOf(top, p))
	}
}

// Events are those under way, with the most weight first, and those that have ended, the last one first. They do not
// change.
func (t *Tracker) Events() (open, ended []Event) {
	for i := range t.open {
		if t.open[i].began() {
			open = append(open, t.open[i].Event)
		}
	}
	return open, slices.Clone(t.ended)
}

// Of is the event under way that a port waits for, or is the root of; ok is false for none.
func (t *Tracker) Of(k perf.Key) (e Event, ok bool) {
	for i := range t.open {
		if e := &t.open[i]; e.began() && (e.Root == k || slices.Contains(e.Waiting, k)) {
			return e.Event, true
		}
	}
	return Event{}, false
}
