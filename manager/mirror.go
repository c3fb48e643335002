package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/sa"
	"ibsm/sa/mirror"
)

// mirrorSlack is how much older than a master's last response to a poll the last update of the
// mirror may be: one interval and a half between questions. If it is older, the mirror failed
// before the master did.
const mirrorSlack = mirror.AskInterval + mirror.AskInterval/2

// ForeignMaster reports that the master is not ibsm: it does not answer the mirror.
type ForeignMaster struct{ GUID mad.GUID }

func (ForeignMaster) action() {}

// mirroring is the state machine of the mirror: while this manager is STANDBY, the registrations
// of the master's clients are copied to its Registrar.
type mirroring struct {
	state    mirrorState
	last     mirror.Master // of Follow
	from     mirror.Master // the master that was followed last
	complete time.Duration // when the mirror was last complete, in state mirrorsAll
	ever     bool          // some registrations have been copied
	alive    time.Duration // when the master last answered a poll as MASTER
	// end of our own term, up to which we know the registrations; 0 if another master's were copied since
	ownUntil   time.Duration
	foreign    mad.GUID // the foreign master that was reported; 0 after an update from a peer ibsm
	incomplete string   // why the last reading from a foreign master may be incomplete
	reported   string   // the reason that was logged last; "" when it was logged that there is none
}

// mirrorState says whether the master's registrations are known.
type mirrorState uint8

const (
	mirrorsNothing mirrorState = iota // not yet, or there is no master to follow
	mirrorsAll                        // all up to a time
)

// follow sets the master to follow; the zero value means none. standby says that this manager is STANDBY.
func (f *mirroring) follow(fx *effects, m mirror.Master, standby bool) {
	if standby && m != f.from {
		f.forget()
		f.from, f.incomplete, f.reported = m, "", noReason
	}
	if m != f.last {
		f.last = m
		fx.do(ForRegistrar{sa.Follow{Master: m}})
	}
}

// forget notes that the master may go on without our mirror.
func (f *mirroring) forget() { f.state, f.from, f.complete = mirrorsNothing, mirror.Master{}, 0 }

// ownTerm notes that all registrations up to now are known here.
func (f *mirroring) ownTerm(now time.Duration) { f.ownUntil = now }

// polled takes the response of a master to a poll.
func (f *mirroring) polled(now time.Duration) { f.alive = now }

// source reports whether all registrations are known when a term begins, so that clients are not
// asked to register again. Either the mirror was complete when the master, at LID from, last
// answered; or they are from our own term, which has just ended, and from is 0.
func (f *mirroring) source(now time.Duration) (from mad.LID, known bool) {
	switch {
	case f.state == mirrorsAll && f.complete+f.slack() >= f.alive:
		return f.from.LID, true
	case f.ownUntil > 0 && now-f.ownUntil < quickRestart:
		return 0, true
	}
	return 0, false
}

// noReason differs from every reason.
const noReason = "\x00"

// slack is how much older than the master's last response to a poll the mirror may be.
func (f *mirroring) slack() time.Duration {
	if f.from.Foreign {
		return mirror.ReadSlack
	}
	return mirrorSlack
}

// heard takes an update of the mirror.
func (f *mirroring) heard(fx *effects, h *sa.Heard) {
	if h.Master == 0 || h.Master != f.from.GUID {
		return // an update that arrives after the mastership was handed to us
	}
	if f.from.Foreign {
		f.read(fx, h)
	} else {
		f.answered(fx, h)
	}
	if h.Known > 0 {
		f.state, f.complete = mirrorsAll, h.Known
	} else if h.Less {
		f.state, f.complete = mirrorsNothing, 0
	}
	if h.Some {
		f.ever, f.ownUntil = true, 0
	}
	if !f.from.Foreign && h.Incomplete == "" {
		f.foreign = 0
	}
}

// answered logs when a master that is ibsm begins to answer, or does not.
func (f *mirroring) answered(fx *effects, h *sa.Heard) {
	if h.Incomplete != "" && h.Incomplete != f.reported {
		fx.log(warn, notMirrored, "guid", h.Master, "reason", h.Incomplete)
	} else if h.Incomplete == "" && (f.state == mirrorsNothing || f.reported != "") {
		fx.log(info, "mirroring the client registrations of the master", "guid", h.Master)
	}
	f.reported = h.Incomplete
}

// logOtherVersion logs that a standby cannot be mirrored to.
func logOtherVersion(fx *effects, o mirror.OtherVersion) {
	const text = "a standby gets no mirror: its version of the mirror protocol differs; install the same version of ibsm on all managers"
	fx.log(warn, text, "guid", o.Manager, "version", o.Version, "understood", mirror.Version)
}

// notMirrored is logged with the reason.
const notMirrored = "the mirror of the master's client registrations may be incomplete: after a failover clients are asked to register again"

// foreignMaster reports once that the master is not ibsm.
func (f *mirroring) foreignMaster(fx *effects, guid mad.GUID) {
	if f.foreign != guid {
		f.foreign = guid
		fx.do(ForeignMaster{guid})
	}
}

// read logs when readings from a foreign master become complete or incomplete. It logs a reason
// only if two readings in a row have it.
func (f *mirroring) read(fx *effects, h *sa.Heard) {
	lasts := h.Incomplete == f.incomplete
	if f.incomplete = h.Incomplete; h.Incomplete == f.reported || h.Incomplete != "" && !lasts || h.Incomplete == "" &&
		h.Known == 0 {
		return
	}
	if f.reported = h.Incomplete; h.Incomplete != "" {
		fx.log(warn, notMirrored, "guid", h.Master, "reason", h.Incomplete)
		return
	}
	fx.log(info, "mirroring the client registrations of the master by SA queries", "guid", h.Master)
}

// Mirror is the state of the mirror of a standby.
type Mirror struct {
	Standby mad.GUID
	Lag     time.Duration // for how long it has been incomplete; 0 if it is complete
	// Reads is set if the master is not ibsm: the standby reads its tables repeatedly. Lag is
	// then the time since the last complete reading began, or since the manager started.
	Reads      bool
	Incomplete string // why the last reading may be incomplete; "" if it is complete
}

// Mirrors are the known mirrors: for a master those of all standbys that ask, for a standby its own. Any goroutine may
// call it.
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
		if lag := now - f.Heard; lag > mirrorSlack {
			m.Lag = lag
		}
		all = append(all, m)
	}
	if d := &ends.Reader; d.Master != 0 && d.Readings > 0 {
		all = append(all, Mirror{Standby: s.Stats().Self.GUID, Lag: now - d.Began, Reads: true,
			Incomplete: d.Incomplete})
	}
	return all
}
