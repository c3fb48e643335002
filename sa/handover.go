package sa

import (
	"time"

	"ibsm/mad"
)

// maxDrain is how long requests of clients are dropped while the handover target gets the last
// changes.
const maxDrain = time.Second

// handover is how far a handover of the mastership has come. The target first gets all registrations. When it lacks
// only few changes, this manager drops the requests of clients, so that no more are
// acknowledged; clients retry, and then the new master answers.
type handover struct {
	state  handoverState
	target mad.GUID      // not in noHandover
	until  time.Duration // when draining ends at the latest
}

// handoverState says how far a handover is.
type handoverState uint8

const (
	noHandover handoverState = iota
	sending                  // the target gets the registrations
	draining                 // it lacks few changes: requests of clients are dropped
	complete                 // it has everything: requests are still dropped
	gaveUp                   // it did not acknowledge the last changes in time: requests are answered again
)

// prepare begins a handover; target 0 cancels it.
func (h *handover) prepare(target mad.GUID) {
	*h = handover{}
	if target != 0 {
		h.state, h.target = sending, target
	}
}

// drops reports whether requests of clients are dropped.
func (h *handover) drops() bool { return h.state == draining || h.state == complete }

// handOver begins and ends draining, and reports when the target has everything.
func (r *Registrar) handOver() {
	h := &r.handover
	if h.state != sending && h.state != draining || r.view == nil {
		return
	}
	all, nearly := r.mirrored.source.Progress(h.target)
	switch {
	case all:
		h.state = complete
		r.effects.Complete = h.target
	case h.state == draining && h.until <= r.now:
		h.state = gaveUp
	case h.state == sending && nearly:
		h.state, h.until = draining, r.now+maxDrain
	}
}
