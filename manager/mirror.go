package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/sa"
	"ibsm/sa/mirror"
)

// Follow says which master's registrations are mirrored; with GUID 0 nobody's.
type Follow struct{ mirror.Master }

// mirrorSlack is how much older than a master's last sign of life its last word on what
// is registered may be: a question a second, and the one after it. If it is older, the
// mirror has failed before the master has.
const mirrorSlack = mirror.AskInterval + mirror.AskInterval/2

// Forget has the Registrar forget subscriptions and services, which clients register anew.
type Forget struct{}

// ForeignMaster is a master that is followed and answers no questions of the mirror: it is no ibsm.
type ForeignMaster struct{ GUID mad.GUID }

func (Follow) action()        {}
func (Forget) action()        {}
func (ForeignMaster) action() {}

// mirroring is the machine of the mirror: while this manager stands by, what clients register
// with the master that is followed is copied here.
type mirroring struct {
	state    mirrorState
	last     mirror.Master // of Follow
	from     mirror.Master // who was followed last, since this manager last stood by
	complete time.Duration // when all was copied that there was, last; while whole
	ever     bool          // something has been copied
	alive    time.Duration // when the master last answered a poll, as such
	ownUntil time.Duration // until when what clients registered is known from our own term; 0 where another master's was copied since
	foreign  mad.GUID      // the foreign master that was reported, 0 since a peer ibsm was heard
	doubt    string        // of the last reading at a foreign master
	reported string        // the doubt that was logged last, "" for none
}

// mirrorState says what is known of what clients have registered with the master.
type mirrorState uint8

const (
	mirrorsNothing mirrorState = iota // nothing yet of this master's, or nobody is followed
	mirrorsAll                        // all that there was at a time
)

func (s mirrorState) String() string { return [...]string{"nothing", "all"}[s] }

// follow takes the master that is followed, the zero value for none. standby says that this
// manager is STANDBY.
func (f *mirroring) follow(fx *effects, m mirror.Master, standby bool) {
	if standby && m != f.from {
		f.forget()
		f.from, f.doubt, f.reported = m, "", notReportedDoubt
	}
	if m != f.last {
		f.last = m
		fx.do(Follow{m})
	}
}

// forget takes that the master which was followed may go on without us.
func (f *mirroring) forget() { f.state, f.from, f.complete = mirrorsNothing, mirror.Master{}, 0 }

// ownTerm notes that what clients have registered up to now is known here.
func (f *mirroring) ownTerm(now time.Duration) { f.ownUntil = now }

// polled takes an answer of a master to a poll.
func (f *mirroring) polled(now time.Duration) { f.alive = now }

// source says from where clients' registrations are known when a term begins, so that they are
// not asked to register again: they are mirrored, and the mirror was all there was when the
// master, at LID from, was last seen alive; or they are our own from just before, and the
// ports do not know of another master (LID 0).
func (f *mirroring) source(now time.Duration) (from mad.LID, known bool) {
	switch {
	case f.state == mirrorsAll && f.complete+f.slack() >= f.alive:
		return f.from.LID, true
	case f.ownUntil > 0 && now-f.ownUntil < quickRestart:
		return 0, true
	}
	return 0, false
}

// notReportedDoubt is nothing that a doubt could be.
const notReportedDoubt = "\x00"

// slack is how much older than the master's last sign of life the mirror may be.
func (f *mirroring) slack() time.Duration {
	if f.from.Foreign {
		return mirror.ReadSlack
	}
	return mirrorSlack
}

// heard takes what the master that is followed has said.
func (f *mirroring) heard(fx *effects, h *sa.Heard) {
	if h.Master == 0 || h.Master != f.from.GUID {
		return // what was said last may come when the mastership has been handed to us
	}
	if f.from.Foreign {
		f.read(fx, h)
	} else if f.state == mirrorsNothing {
		fx.log(info, "mirroring the client registrations of the master", "guid", h.Master)
	}
	if h.Known > 0 {
		f.state, f.complete = mirrorsAll, h.Known
	} else if h.Less {
		f.state, f.complete = mirrorsNothing, 0
	}
	if h.Some {
		f.ever, f.ownUntil = true, 0
	}
	if !f.from.Foreign {
		f.foreign = 0
	}
}

// foreignMaster reports once that the master which is polled is no ibsm.
func (f *mirroring) foreignMaster(fx *effects, guid mad.GUID) {
	if f.foreign != guid {
		f.foreign = guid
		fx.do(ForeignMaster{guid})
	}
}

// read logs whether what is read at a foreign master is all there is, when that has changed: a
// doubt that is gone with the next reading is none.
func (f *mirroring) read(fx *effects, h *sa.Heard) {
	lasts := h.Doubt == f.doubt
	if f.doubt = h.Doubt; h.Doubt == f.reported || h.Doubt != "" && !lasts || h.Doubt == "" && h.Known == 0 {
		return
	}
	if f.reported = h.Doubt; h.Doubt != "" {
		fx.log(warn, "mirroring of the master's client registrations may be incomplete: if it dies, clients are asked to register again",
			"guid", h.Master, "reason", h.Doubt)
		return
	}
	fx.log(info, "mirroring the client registrations of the master by SA queries", "guid", h.Master)
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
