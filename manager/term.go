package manager

import (
	"time"

	"ibsm/mad/smp"
	"ibsm/store"
)

// term is the state machine of the mastership term, an epoch number that increases whenever this
// manager becomes master and whenever it ceases to be master.
type term struct {
	state termState
	last  store.Term // that was stored last
	epoch int64      // Config.Epoch
	// begun counts the terms of this manager as master; fromStandby says that the last of
	// them began in STANDBY.
	begun       uint64
	fromStandby bool
}

// termState says whether this manager is master.
type termState uint8

const (
	noTerm  termState = iota // not master, and not STANDBY since it last was
	stoodBy                  // not master, and STANDBY since
	inTerm                   // master
)

// begin begins a term if this manager has just become master. It returns the previous state.
func (t *term) begin(fx *effects) (before termState) {
	before = t.state
	if before != inTerm {
		t.fromStandby = before == stoodBy
		t.begun++
		t.raise(fx, true)
	}
	t.state = inTerm
	return before
}

// end increments the term when this manager is no longer master, or was master when it last
// exited and another manager is now.
func (t *term) end(fx *effects) {
	if t.last.Master {
		t.raise(fx, false)
	}
}

// standBy notes that another manager becomes or stays master.
func (t *term) standBy() { t.state = stoodBy }

// enter handles the state that this manager has come to.
func (t *term) enter(s smp.SMState) {
	if s != smp.Master && t.state == inTerm {
		t.state = noTerm
	}
}

func (t *term) raise(fx *effects, master bool) {
	t.last = store.Term{Number: t.last.Number + 1, Master: master, Began: t.timeOfDay(fx.now)}
	last := t.last
	fx.do(Persist{Term: &last})
}

// timeOfDay is now in seconds since 1970.
func (t *term) timeOfDay(now time.Duration) int64 { return t.epoch + int64(now/time.Second) }
