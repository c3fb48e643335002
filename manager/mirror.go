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

// following is what is known of the mirror of a master's registrations.
type following struct {
	told  mirror.Master // of Follow
	heard time.Duration // when the mirror was last all there was
	alive time.Duration // when the master last answered a poll
	// inherited is the LID of the master whose registrations this manager took over
	// whole; 0 when it did not.
	inherited mad.LID
}

// follow says whom to follow when that has changed: the master that is polled, if it is
// of our own kind.
func (c *Core) follow() {
	var m mirror.Master
	f, standby := &c.following, c.elect.State() == smp.Standby
	if standby && c.elect.Kin() && c.polledLID != 0 {
		m = mirror.Master{GUID: c.elect.Polled(), LID: c.polledLID, Self: c.own.guid}
	}
	if standby {
		f.inherited = 0
	}
	if m == f.told {
		return
	}
	if m.GUID == 0 && !standby && !c.portDown {
		f.inherited = c.inheritance()
	}
	f.told, f.heard = m, 0
	c.do(Follow{m})
}

// inheritance is the LID of the master that was followed, if the mirror was all there
// was when it was last seen alive; else 0.
func (c *Core) inheritance() mad.LID {
	f := &c.following
	if f.heard == 0 || f.heard+mirrorSlack < f.alive {
		return 0
	}
	return f.told.LID
}

// inherit has clients not asked to register again whose registrations are mirrored.
func (c *Core) inherit() {
	if from := c.following.inherited; from != 0 {
		c.sweeper.Inherit(from)
	}
}

// mirrored takes that the master which is followed has spoken.
func (c *Core) mirrored(h *sa.Heard) {
	f := &c.following
	if h.Master == 0 || h.Master != f.told.GUID {
		return
	}
	if f.heard == 0 {
		c.log(info, "what clients register with the master is mirrored here", "guid", h.Master)
	}
	f.heard = c.now
	if h.Partitions {
		c.log(erro, "partitions.conf is not that of the master: if it dies, ports get other P_Keys; make the files the same", "guid", h.Master)
	}
	if h.Routing {
		c.log(erro, "the routing settings are not those of the master: if it dies, routes may change; make them the same", "guid", h.Master)
	}
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
