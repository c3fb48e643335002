package sa

import (
	"time"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/sa/mirror"
)

// mirrored is a Registrar's part in the exchange between managers. As master it is the
// Source of what it does; else what the Follower hears, or the Reader reads, becomes its
// registry, so that it can go on at once when it becomes master.
type mirrored struct {
	source   *mirror.Source
	follower *mirror.Follower
	reader   *mirror.Reader
	// subscribers are those that the Reader read, whose addresses only a subnet tells.
	subscribers []registry.SubscriptionKey
	adopted     bool // in this Step
}

// MirrorStats are the ends of the exchange.
type MirrorStats struct {
	Source   mirror.SourceStats
	Standbys []mirror.Standby // of the Source
	Follower mirror.FollowerStats
	Reader   mirror.ReaderStats
}

// Heard is what a standby knows of what is registered with the master.
type Heard struct {
	Master mad.GUID
	Known  time.Duration // all that is not known is younger; 0 where that is not certain
	Less   bool          // nor is it certain any more that all was known before
	Doubt  string        // why it is not certain, where the master is of another kind
	Some   bool          // something of it is known
	// Policy is what the master rules by, when that is new, else nil; empty if it does not
	// tell.
	Policy []byte
}

func newMirrored(cfg mirror.Config) mirrored {
	return mirrored{source: mirror.NewSource(cfg), follower: mirror.NewFollower(cfg), reader: mirror.NewReader(cfg)}
}

func (m *mirrored) configure(cfg mirror.Config) {
	m.source.Configure(cfg)
	m.follower.Configure(cfg)
	m.reader.Configure(cfg)
}

// exchange takes a packet from another manager.
func (r *Registrar) exchange(d *mad.Datagram) {
	if r.view != nil {
		r.mirrored.source.Receive(r.now, d)
		return
	}
	if u, ok := r.mirrored.follower.Receive(r.now, d); ok {
		r.follow(&u)
	}
}

// follow does as the master did.
func (r *Registrar) follow(u *mirror.Update) {
	if u.Whole != nil {
		r.adopt(u.Whole)
	}
	if !r.imitate(u.Changes) {
		r.mirrored.follower.Forget()
		return
	}
	r.mirrored.subscribers = nil
	r.effects.Heard = Heard{Master: u.Master, Known: r.now, Some: true, Policy: u.Policy}
}

// imitate makes changes that were made elsewhere, without telling subscribers.
func (r *Registrar) imitate(changes []registry.Change) bool {
	for _, c := range changes {
		r.tally.count(&r.reg.State, c)
		if err := r.reg.Apply(c); err != nil {
			r.count.Refused++
			r.tally = newTally(&r.reg.State)
			return false
		}
		r.effects.Changes = append(r.effects.Changes, c)
	}
	return true
}

// adopt makes another registry the Registrar's own.
func (r *Registrar) adopt(reg *registry.Registry) {
	r.reg = reg
	r.tally = newTally(&reg.State)
	r.mirrored.adopted = true
}

// rule begins a reign at the Source.
func (r *Registrar) rule() {
	r.pending.durable, r.pending.forwarded = r.reg.Seq(), r.reg.Seq()
	_, r.expiry = r.reg.Expired(0)
	r.mirrored.follow(r.now, mirror.Master{})
	r.mirrored.follower.Forget()
	reign := mirror.Reign{Began: uint64(time.Duration(r.cfg.Began)*time.Second + r.now)}
	if len(r.view.SMs) > 0 {
		reign.Manager = r.view.SMs[0].GUID
	}
	r.mirrored.source.Rule(reign, r.reg.Freeze())
}

// mirrorOut has the exchange's packets sent.
func (r *Registrar) mirrorOut() {
	if r.view != nil && r.effects.State != nil {
		r.mirrored.source.Changed(r.effects.Changes, r.effects.State)
	}
	r.effects.Send = r.mirrored.source.Output(r.now, r.effects.Send)
	r.effects.Send = r.mirrored.follower.Output(r.now, r.effects.Send)
	r.effects.Send = r.mirrored.reader.Output(r.now, r.effects.Send)
}

// follow has the end follow a master that is for its kind.
func (m *mirrored) follow(now time.Duration, master mirror.Master) {
	kin, foreign := master, mirror.Master{}
	if master.Foreign {
		kin, foreign = foreign, kin
	}
	m.follower.Follow(now, kin)
	m.reader.Follow(now, foreign)
}

// deadline is that of the end that works.
func (m *mirrored) deadline() (time.Duration, bool) {
	if at, ok := m.source.Deadline(); ok {
		return at, true
	}
	if at, ok := m.reader.Deadline(); ok {
		return at, true
	}
	return m.follower.Deadline()
}

// MirrorStats is a copy of the counters.
func (r *Registrar) MirrorStats() MirrorStats {
	return MirrorStats{r.mirrored.source.Stats(), r.mirrored.source.Standbys(), r.mirrored.follower.Stats(), r.mirrored.reader.Stats()}
}
