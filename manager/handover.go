package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/sa"
	"ibsm/sweep/elect"
)

// ClearIsSM says that this manager hands the mastership over and ends: its port is to say no
// more that a manager runs there, before what follows is sent. Otherwise the new master
// would wait for its answer.
type ClearIsSM struct{}

func (ClearIsSM) action() {}

// handover is the machine that hands the mastership over: to a standby that ranks higher when
// that has everything, and to any when this manager ends.
type handover struct {
	state  handoverState
	by     time.Duration // when this manager ends at the latest; but for staying
	to     mad.GUID      // who was offered the mastership last; but for staying
	target mad.GUID      // who gets everything first; 0 for none
}

// handoverState is how far the end of this manager is.
type handoverState uint8

const (
	staying    handoverState = iota // nobody has asked it to end
	leaving                         // it was: a standby is wanted that takes the mastership
	handedOver                      // HANDOVER was sent for good
)

func (s handoverState) String() string { return [...]string{"staying", "leaving", "handed over"}[s] }

// leave begins the end.
func (h *handover) leave(now time.Duration) { h.state, h.by = leaving, now+elect.LeavePatience }

// offer takes who is offered the mastership.
func (h *handover) offer(to mad.GUID) { h.to = to }

// depart ends the mastership for good.
func (h *handover) depart(fx *effects) {
	h.state = handedOver
	fx.log(info, "ending: handing the mastership over", "guid", h.to)
	fx.do(ClearIsSM{})
}

// over reports whether this manager ends now.
func (h *handover) over(now time.Duration) bool { return h.state != staying && h.by <= now }

// deadline is when it ends at the latest; false for never.
func (h *handover) deadline() (time.Duration, bool) { return h.by, h.state != staying }

// prepare takes who is to have everything before it is handed the mastership, 0 for nobody.
func (h *handover) prepare(fx *effects, target mad.GUID) {
	if target == h.target {
		return
	}
	switch h.target = target; {
	case target != 0 && h.state != staying:
		fx.log(info, "ending: sending client registrations to a standby before handing the mastership over", "guid", target)
	case target != 0:
		fx.log(info, "sending client registrations to a subnet manager that ranks higher before handing the mastership over", "guid", target)
	}
	fx.do(ForRegistrar{sa.PrepareHandover{To: target}})
}
