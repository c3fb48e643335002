package sa

import (
	"time"

	"ibsm/mad"
)

// maxDeaf is how long clients are not listened to while the manager that is to be master
// next is sent the last changes.
const maxDeaf = time.Second

// heir is a standby that is to be master next, and gets everything first. When it lacks
// little, clients are not listened to any more, so that what was acknowledged to them has
// an end; they ask again, and then the new master.
type heir struct {
	guid  mad.GUID // 0 for nobody
	deaf  bool
	until time.Duration // deaf, at most
	done  bool          // it has everything, or does not take it
}

// bequeath tells when the heir has everything.
func (r *Registrar) bequeath() {
	h := &r.heir
	if h.guid == 0 || h.done || r.view == nil {
		return
	}
	all, nearly := r.mirrored.source.Standing(h.guid)
	switch {
	case all:
		h.deaf, h.done = true, true
		r.effects.Complete = h.guid
	case h.deaf && h.until <= r.now:
		h.deaf, h.done = false, true
	case nearly && !h.deaf:
		h.deaf, h.until = true, r.now+maxDeaf
	}
}
