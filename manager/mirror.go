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

// Forget has the Registrar forget subscriptions and services, of which clients tell anew.
type Forget struct{}

func (Forget) action() {}

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
	ruled time.Duration // of hasRuled, if nobody has been mirrored since; else 0
	// stranger is the master of another kind that was told of, 0 since one of our own was heard.
	stranger mad.GUID
	doubt    string // of the last reading of a master of another kind
	said     string // the doubt that was told of last, "" for none
}

// follow says whom to follow when that has changed: the master that is polled.
func (c *Core) follow() {
	var m mirror.Master
	f, standby := &c.following, c.elect.State() == smp.Standby
	if standby && c.polledLID != 0 && (c.elect.Kin() || c.elect.Foreign()) {
		m = mirror.Master{GUID: c.elect.Polled(), LID: c.polledLID, Self: c.own.guid, Foreign: !c.elect.Kin()}
	}
	if standby && m != f.from {
		f.from, f.heard, f.doubt, f.said = m, 0, "", unsaid
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
	switch c.heir = to; {
	case to != 0 && c.leaving.by > 0:
		c.log(info, "ending: a standby is sent what clients have registered, then the mastership is handed over", "guid", to)
	case to != 0:
		c.log(info, "a subnet manager that ranks higher is sent what clients have registered, then the mastership is handed over", "guid", to)
	}
	c.do(Yield{to})
}

// hasRuled notes that what clients have registered up to now is known here.
func (c *Core) hasRuled() {
	if c.view != nil {
		c.following.ruled = c.now
	}
}

// inherit has clients not asked to register again whose registrations are known: they are
// mirrored, and the mirror was all there was when the master was last seen alive; or they
// are our own from just before, and the ports do not know of another master. Where
// subscriptions are not to outlive a master, all are asked.
func (c *Core) inherit(stoodBy bool) {
	switch f := &c.following; {
	case stoodBy && c.cfg.Registrar.DropSubscriptions:
		c.do(Forget{})
	case f.heard > 0 && f.heard+f.slack() >= f.alive:
		c.sweeper.Inherit(f.from.LID)
	case f.ruled > 0 && c.now-f.ruled < quickRestart:
		c.sweeper.Inherit(0)
	}
}

// unsaid is nothing that a doubt could be.
const unsaid = "\x00"

// slack is how much older than the master's last sign of life the mirror may be.
func (f *following) slack() time.Duration {
	if f.from.Foreign {
		return mirror.ReadSlack
	}
	return mirrorSlack
}

// mirrored takes that the master which is followed has spoken.
func (c *Core) mirrored(h *sa.Heard) {
	f := &c.following
	if h.Master == 0 || h.Master != f.from.GUID {
		return // what was said last may come when the mastership has been handed to us
	}
	if f.from.Foreign {
		c.tellReading(h)
	} else if f.heard == 0 {
		c.log(info, "what clients register with the master is mirrored here", "guid", h.Master)
	}
	if h.Known > 0 || h.Less {
		f.heard = h.Known
	}
	if h.Some {
		f.ever, f.ruled = true, 0
	}
	if !f.from.Foreign {
		f.stranger = 0
	}
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

// tellReading tells whether what is read at a master of another kind is all there is, when
// that has changed: a doubt that is gone the next time is none.
func (c *Core) tellReading(h *sa.Heard) {
	f := &c.following
	lasts := h.Doubt == f.doubt
	if f.doubt = h.Doubt; h.Doubt == f.said || h.Doubt != "" && !lasts || h.Doubt == "" && h.Known == 0 {
		return
	}
	if f.said = h.Doubt; h.Doubt != "" {
		c.log(warn, "what clients register with the master is mirrored here, but perhaps not all: if it dies they are asked to register again",
			"guid", h.Master, "reason", h.Doubt)
		return
	}
	c.log(info, "what clients register with the master is mirrored here, by SA queries", "guid", h.Master)
}

// Mirror is how far a standby has what clients have registered with the master.
type Mirror struct {
	Standby mad.GUID
	Lag     time.Duration // for how long it has lacked something; 0 where it lacks nothing
	// Reads is set where the master is of another kind: its tables are read again and
	// again. Lag is then since the last reading that was all there was, or that the
	// manager looks for one.
	Reads bool
	Doubt string // why the last reading may not be all there was; "" if it is
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
	if d := &ends.Reader; d.Master != 0 && d.Readings > 0 {
		all = append(all, Mirror{Standby: s.Stats().Self.GUID, Lag: now - d.Began, Reads: true, Doubt: d.Doubt})
	}
	return all
}
