package sa

import (
	"time"

	"ibsm/mad"
)

// maxDrain is how long requests of clients are dropped while the handover target gets the last
// changes.
const maxDrain = time.Second

// handover is the state of a handover. The target first gets all registrations. When it lacks
// only few changes, this manager drops the requests of clients, so that no more are
// acknowledged; clients retry, and then the new master answers.
type handover struct {
	target   mad.GUID // 0 for none
	draining bool
	until    time.Duration // when draining ends at the latest
	done     bool          // the target has everything, or does not accept it
}

// handOver begins and ends draining, and reports when the target has everything.
func (r *Registrar) handOver() {
	h := &r.handover
	if h.target == 0 || h.done || r.view == nil {
		return
	}
	all, nearly := r.mirrored.source.Progress(h.target)
	switch {
	case all:
		h.draining, h.done = true, true
		r.effects.Complete = h.target
	case h.draining && h.until <= r.now:
		h.draining, h.done = false, true
	case nearly && !h.draining:
		h.draining, h.until = true, r.now+maxDrain
	}
}
