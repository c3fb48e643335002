package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/sa"
	"ibsm/sweep/elect"
)

// ClearIsSM clears IsSM of the port before the following packets are sent, because this manager
// hands the mastership over and exits. Otherwise the new master would wait for its response.
type ClearIsSM struct{}

func (ClearIsSM) action() {}

// handover is the state machine of the handover: to a standby with a higher rank when that has
// all registrations, and to any standby when this manager exits.
type handover struct {
	state  handoverState
	by     time.Duration // when this manager exits at the latest; not while staying
	to     mad.GUID      // the manager that was offered the mastership last; not while staying
	target mad.GUID      // the handover target; 0 for none
}

// handoverState says whether this manager is about to exit, or has exited.
type handoverState uint8

const (
	staying    handoverState = iota // it is not
	leaving                         // it looks for a standby that accepts the mastership
	handedOver                      // HANDOVER was sent for good
	exited                          // Exit was returned: there are no more steps
)

// leave begins the exit.
func (h *handover) leave(now time.Duration) { h.state, h.by = leaving, now+elect.LeavePatience }

// offer notes which manager is offered the mastership.
func (h *handover) offer(to mad.GUID) { h.to = to }

// depart ends the mastership for good.
func (h *handover) depart(fx *effects) {
	h.state = handedOver
	fx.log(info, "exiting: handing mastership over", "guid", h.to)
	fx.do(ClearIsSM{})
}

// over reports whether this manager exits now.
func (h *handover) over(now time.Duration) bool {
	return (h.state == leaving || h.state == handedOver) && h.by <= now
}

// deadline is when this manager exits at the latest; false for never.
func (h *handover) deadline() (time.Duration, bool) { return h.by, h.state != staying }

// prepare sets the handover target; 0 means none.
func (h *handover) prepare(fx *effects, target mad.GUID) {
	if target == h.target {
		return
	}
	switch h.target = target; {
	case target != 0 && h.state != staying:
		fx.log(info, "exiting: sending client registrations to a standby before handing mastership over", "guid",
			target)
	case target != 0:
		fx.log(info, "sending client registrations to a higher-ranking subnet manager before handing mastership over",
			"guid", target)
	}
	fx.do(ForRegistrar{sa.PrepareHandover{To: target}})
}
