package sa

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/sa/mirror"
	"ibsm/topo"
	"ibsm/view"
)

// mirrored is a Registrar's part in mirroring. On the master the Source sends its changes; on
// a standby the Follower receives or the Reader reads the master's registry, so that the
// standby can go on at once when it becomes master.
type mirrored struct {
	source   *mirror.Source
	follower *mirror.Follower
	reader   *mirror.Reader
	// subscribers are those that the Reader read. Their addresses are known when there is a
	// View.
	subscribers []registry.SubscriptionKey
	adopted     bool // in this Step
}

// MirrorStats are the counters of mirroring.
type MirrorStats struct {
	Source   mirror.SourceStats
	Standbys []mirror.Standby // of the Source
	Follower mirror.FollowerStats
	Reader   mirror.ReaderStats
}

// Heard is how much of the master's registry a standby has.
type Heard struct {
	Master     mad.GUID
	Known      time.Duration // all registrations up to this time are known; 0 if some may be missing
	Less       bool          // some that were known before may be outdated
	Incomplete string        // why some may be missing
	Some       bool          // some registrations are known
	// Policy is the master's policy when it has changed, else nil; empty if it sends none.
	Policy []byte
}

// noAnswer is why a standby knows nothing of a master that is ibsm.
const noAnswer = "the master does not answer: its keys_file, sm_key or m_key is another one, or it is an ibsm of another version"

func (m *mirrored) configure(cfg mirror.Config) {
	m.source.Configure(cfg)
	m.follower.Configure(cfg)
	m.reader.Configure(cfg)
}

// exchange takes a mirroring packet from another manager.
func (r *Registrar) exchange(d *mad.Datagram) {
	if r.view != nil {
		r.mirrored.source.Receive(r.now, d, r.managerAt(d.LID))
		if offer := r.mirrored.source.Offered(); offer != nil {
			r.joinApart(offer)
		}
		return
	}
	if u, ok := r.mirrored.follower.Receive(r.now, d); ok {
		r.update(&u)
	}
}

// managerAt is the port with a LID if there is another manager in the view, else 0.
func (r *Registrar) managerAt(lid mad.LID) mad.GUID {
	p := r.view.LIDs.PortOf(lid)
	if p == topo.None {
		return 0
	}
	guid := r.view.Topo.Ports[p].GUID
	if !slices.ContainsFunc(r.view.SMs[min(1, len(r.view.SMs)):], func(sm view.SM) bool { return sm.GUID == guid }) {
		return 0
	}
	return guid
}

// update applies an update of the master.
func (r *Registrar) update(u *mirror.Update) {
	if u.Whole != nil {
		r.keepApart(&u.Whole.State)
		r.adopt(u.Whole)
	}
	if !r.applyRemote(u.Changes) {
		r.mirrored.follower.Forget()
		return
	}
	if r.orders.apart != nil && !callers.Lacks(&r.reg.State, r.orders.apart) {
		r.keepApart(&r.reg.State)
	}
	r.mirrored.subscribers = nil
	r.effects.Heard = Heard{Master: u.Master, Known: r.now, Some: true, Policy: u.Policy}
}

// applyRemote applies the master's changes, without Reports to subscribers.
func (r *Registrar) applyRemote(changes []registry.Change) bool {
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

// adopt replaces the registry.
func (r *Registrar) adopt(reg *registry.Registry) {
	r.reg = reg
	r.tally = newTally(&reg.State)
	r.mirrored.adopted = true
}

// beginTerm begins a mastership term.
func (r *Registrar) beginTerm() {
	r.pending.durable, r.pending.forwarded = r.reg.Seq(), r.reg.Seq()
	r.tally.creditSoleMembers(&r.reg.State)
	for key, g := range r.guids { // the answer is lost, if there was one
		r.guids[key] = guidWrite{g.wanted, r.now}
	}
	_, r.expiry = r.reg.Expired(0)
	r.mirrored.follow(r.now, mirror.Master{})
	r.mirrored.follower.Forget()
	term := mirror.Term{Began: uint64(time.Duration(r.cfg.Began)*time.Second + r.now)}
	if len(r.view.SMs) > 0 {
		term.Manager = r.view.SMs[0].GUID
	}
	r.orders.term = registry.PartitionTerm{Manager: term.Manager, Began: term.Began}
	r.mirrored.source.Begin(term, r.reg.Freeze())
	if apart := r.orders.apart; apart != nil {
		r.orders.apart = nil
		r.joinApart(apart)
	}
}

// mirrorOut appends the packets of mirroring to the Effects.
func (r *Registrar) mirrorOut() {
	if r.view != nil && r.effects.State != nil {
		r.mirrored.source.Changed(r.effects.Changes, r.effects.State)
	}
	r.effects.Send = r.mirrored.source.Output(r.now, r.effects.Send)
	r.effects.OtherVersion = r.mirrored.source.Foreign()
	r.effects.Send = r.mirrored.follower.Output(r.now, r.effects.Send)
	if r.effects.Heard.Master == 0 && r.mirrored.follower.Unresponsive(r.now) {
		r.effects.Heard = Heard{Master: r.mirrored.follower.Stats().Master, Incomplete: noAnswer}
	}
	r.effects.Send = r.mirrored.reader.Output(r.now, r.effects.Send)
}

// follow has the Follower follow a master that is ibsm, and the Reader another one.
func (m *mirrored) follow(now time.Duration, master mirror.Master) {
	peer, foreign := master, mirror.Master{}
	if master.Foreign {
		peer, foreign = foreign, peer
	}
	m.follower.Follow(now, peer)
	m.reader.Follow(now, foreign)
}

// deadline is that of the Source, Reader or Follower, whichever is in use.
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
	return MirrorStats{r.mirrored.source.Stats(), r.mirrored.source.Standbys(), r.mirrored.follower.Stats(),
		r.mirrored.reader.Stats()}
}
