package sa

import (
	"time"

	"ibsm/mad"
	"ibsm/sa/mirror"
	"ibsm/sa/registry"
)

// mirrored is a Registrar's part in the exchange between managers. As master it is the
// Source of what it does; else what the Follower hears becomes its registry, so that it
// can go on at once when it becomes master.
type mirrored struct {
	source   *mirror.Source
	follower *mirror.Follower
	adopted  bool // in this Step
}

// MirrorStats are the two ends of the exchange.
type MirrorStats struct {
	Source   mirror.SourceStats
	Standbys []mirror.Standby // of the Source
	Follower mirror.FollowerStats
}

// Heard is what a standby was told by the master: all that it does not know is younger.
type Heard struct {
	Master mad.GUID
	// Policy is what the master rules by, when that is new, else nil; empty if it does not
	// tell.
	Policy []byte
}

func newMirrored(cfg mirror.Config) mirrored {
	return mirrored{source: mirror.NewSource(cfg), follower: mirror.NewFollower(cfg)}
}

func (m *mirrored) configure(cfg mirror.Config) {
	m.source.Configure(cfg)
	m.follower.Configure(cfg)
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
	for _, c := range u.Changes {
		r.tally.count(&r.reg.State, c)
		if err := r.reg.Apply(c); err != nil {
			r.count.Refused++
			r.tally = newTally(&r.reg.State)
			r.mirrored.follower.Forget()
			return
		}
		r.effects.Changes = append(r.effects.Changes, c)
	}
	r.effects.Heard = Heard{Master: u.Master, Policy: u.Policy}
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
	r.mirrored.follower.Follow(r.now, mirror.Master{})
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
}

// deadline is that of the end that works.
func (m *mirrored) deadline() (time.Duration, bool) {
	if at, ok := m.source.Deadline(); ok {
		return at, true
	}
	return m.follower.Deadline()
}

// MirrorStats is a copy of the counters.
func (r *Registrar) MirrorStats() MirrorStats {
	return MirrorStats{r.mirrored.source.Stats(), r.mirrored.source.Standbys(), r.mirrored.follower.Stats()}
}
