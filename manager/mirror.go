package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sa"
	"ibsm/sa/mirror"
)

// Follow says which master's registrations are to be mirrored; with GUID 0 nobody's.
type Follow struct{ mirror.Master }

func (Follow) action() {}

// mirrorSlack is how much older than a master's last sign of life its last word on what
// is registered may be: a question a second, and the one after it. If it is older, the
// mirror has failed before the master has.
const mirrorSlack = mirror.AskInterval + mirror.AskInterval/2

// Yield says which standby is to be master next, and gets everything first; with To 0
// none.
type Yield struct{ To mad.GUID }

func (Yield) action() {}

// Stranger is a master that is followed and tells nothing: it is of another kind.
type Stranger struct{ GUID mad.GUID }

func (Stranger) action() {}

// following is what is known of the mirror of a master's registrations.
type following struct {
	told  mirror.Master // of Follow
	from  mirror.Master // who was followed last, since this manager last stood by
	heard time.Duration // when the mirror was last all there was; 0 never
	ever  bool          // something has been mirrored
	alive time.Duration // when the master last answered a poll, as such
	ruled time.Duration // when this manager handed over, if it has mirrored nobody since; else 0
	// stranger is the master of another kind that was told of, 0 since one of our own was heard.
	stranger mad.GUID
}

// follow says whom to follow when that has changed: the master that is polled, if it is
// of our own kind.
func (c *Core) follow() {
	var m mirror.Master
	f, standby := &c.following, c.elect.State() == smp.Standby
	if standby && c.elect.Kin() && c.polledLID != 0 {
		m = mirror.Master{GUID: c.elect.Polled(), LID: c.polledLID, Self: c.own.guid}
	}
	if standby && m != f.from {
		f.from, f.heard = m, 0
	}
	if m != f.told {
		f.told = m
		c.do(Follow{m})
	}
}

// yield says who is to have everything before it is handed the mastership, when that has
// changed.
func (c *Core) yield() {
	to := c.elect.Heir()
	if to == c.heir {
		return
	}
	if c.heir = to; to != 0 {
		c.log(info, "a subnet manager that ranks higher is sent what clients have registered, then the mastership is handed over", "guid", to)
	}
	c.do(Yield{to})
}

// inherit has clients not asked to register again whose registrations are known: they are
// mirrored, and the mirror was all there was when the master was last seen alive; or they
// are our own from just before, and the ports do not know of another master.
func (c *Core) inherit() {
	switch f := &c.following; {
	case f.heard > 0 && f.heard+mirrorSlack >= f.alive:
		c.sweeper.Inherit(f.from.LID)
	case f.ruled > 0 && c.now-f.ruled < quickRestart:
		c.sweeper.Inherit(0)
	}
}

// mirrored takes that the master which is followed has spoken.
func (c *Core) mirrored(h *sa.Heard) {
	f := &c.following
	if h.Master == 0 || h.Master != f.from.GUID {
		return // what was said last may come when the mastership has been handed to us
	}
	if f.heard == 0 {
		c.log(info, "what clients register with the master is mirrored here", "guid", h.Master)
	}
	f.heard, f.ever, f.ruled, f.stranger = c.now, true, 0, 0
}

// stranger tells once that the master is of another kind.
func (c *Core) stranger() {
	f, guid := &c.following, c.elect.Polled()
	if c.elect.Kin() || c.elect.State() != smp.Standby || f.stranger == guid {
		return
	}
	f.stranger = guid
	c.do(Stranger{guid})
}

// Mirror is how far a standby has what clients have registered with the master.
type Mirror struct {
	Standby mad.GUID
	Lag     time.Duration // for how long it has lacked something; 0 where it lacks nothing
}

// Mirrors are those that are known: as master of all standbys that ask, as standby of this
// one. It may be asked for at any time.
func (s *Shell) Mirrors() (all []Mirror) {
	r := s.registrar.Load()
	if r == nil {
		return nil
	}
	ends, now := r.MirrorStats(), time.Since(r.start)
	for _, p := range ends.Standbys {
		m := Mirror{Standby: p.GUID}
		if p.Lacks {
			m.Lag = now - p.Since
		}
		all = append(all, m)
	}
	if f := &ends.Follower; f.Master != 0 && f.Heard != 0 {
		m := Mirror{Standby: s.Stats().Self.GUID}
		if silent := now - f.Heard; silent > mirrorSlack {
			m.Lag = silent
		}
		all = append(all, m)
	}
	return all
}
