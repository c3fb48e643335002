package sa

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sa/mirror"
	"ibsm/view"
)

// Event is something that happened to a Registrar: one of the types below.
type Event interface{ event() }

// TimePassed says that Deadline has come.
type TimePassed struct{}

// Received are requests, responses to Reports, and packets of other managers. They are valid
// only during Step. Came is when each was received; nil means at this moment.
type Received struct {
	Datagrams []mad.Datagram
	Came      []time.Duration
}

// ViewPublished is a view that this manager, as master, has published.
type ViewPublished struct{ View *view.View }

// ViewWithdrawn says that this manager is not master any more.
type ViewWithdrawn struct{}

// PortsReset are ports that were found in INIT: they have forgotten their registrations. The
// event comes before they are made ACTIVE.
type PortsReset struct {
	Ports  []mad.GUID
	VPorts []VPortAt // those that were last behind another port keep theirs: their functions have moved
}

// VPortAt is a vPort by its GUID, and the port that it is behind.
type VPortAt struct{ VPort, Port mad.GUID }

// TrapReceived is a trap to forward to subscribers.
type TrapReceived struct{ Notice smp.Notice }

// Durable says that changes up to a number are on disk.
type Durable struct{ Seq uint64 }

// Forwarded says that changes up to a number are in the switches' tables.
type Forwarded struct{ Seq uint64 }

// GUIDsWritten says what has become of a GUIDBlock. Of several of one port and block, it answers the last.
type GUIDsWritten struct {
	GUIDBlock
	Outcome GUIDOutcome
	Held    smp.GUIDInfo // by the port, of HoldsOthers
}

// GUIDOutcome is what is known of a port after a GUIDBlock was written to it.
type GUIDOutcome uint8

// Outcomes.
const (
	HoldsUnknown GUIDOutcome = iota // no answer came: it may hold the block or not
	HoldsOthers                     // it holds other GUIDs
	HoldsForNow                     // it holds the block, but a copy of the request may arrive yet, after a later one
	HoldsBlock
)

// ConfigChanged is the configuration that applies from now on, except for Began, Reports and Salt.
type ConfigChanged struct{ Config RegistrarConfig }

// Follow says that another manager is master and its registrations have to be mirrored; with
// GUID 0 there is none.
type Follow struct{ mirror.Master }

// PrepareHandover names the handover target, which first gets all registrations. To 0 cancels
// the handover.
type PrepareHandover struct{ To mad.GUID }

// Forget drops all subscriptions and services, if this manager is not master yet.
type Forget struct{}

// Restored is a registry that replaces the present one but for ports that demand a GRH and neighbors, if this manager
// is not master yet. The Registrar owns it from then on.
type Restored struct{ Registry *registry.Registry }

// Leave says that this manager is about to exit.
type Leave struct{}

func (TimePassed) event()      {}
func (Received) event()        {}
func (ViewPublished) event()   {}
func (ViewWithdrawn) event()   {}
func (PortsReset) event()      {}
func (TrapReceived) event()    {}
func (Durable) event()         {}
func (Forwarded) event()       {}
func (GUIDsWritten) event()    {}
func (ConfigChanged) event()   {}
func (Follow) event()          {}
func (PrepareHandover) event() {}
func (Forget) event()          {}
func (Restored) event()        {}
func (Leave) event()           {}

// take handles an event.
func (r *Registrar) take(ev Event) {
	switch ev := ev.(type) {
	case TimePassed:
	case Received:
		for i := range ev.Datagrams {
			came := r.now
			if ev.Came != nil {
				came = ev.Came[i]
			}
			r.receive(&ev.Datagrams[i], came)
		}
	case ViewPublished:
		r.setView(ev.View)
		r.recall()
	case ViewWithdrawn:
		r.endTerm()
	case PortsReset:
		r.reset = append(r.reset, ev.Ports...)
		r.vPortsReset = append(r.vPortsReset, ev.VPorts...)
		r.dropReset()
	case GRHDemanded:
		r.demandGRH(ev.Ports)
	case TrapReceived:
		r.forward(&ev.Notice)
	case Durable:
		r.pending.durable = max(r.pending.durable, ev.Seq)
	case Forwarded:
		r.pending.forwarded = max(r.pending.forwarded, ev.Seq)
	case GUIDsWritten:
		r.written(&ev)
	case ConfigChanged:
		r.noteNewTerms(&ev.Config)
		r.cfg = ev.Config.withDefaults(r.cfg.Began)
		r.mirrored.configure(r.cfg.Mirror)
		r.callersChanged()
	case PrepareHandover:
		r.handover.prepare(ev.To)
	case PartitionOrder:
		r.order(&ev)
	case Leave:
		r.effects.Send = r.mirrored.reader.Leave(r.now, r.effects.Send)
	case Restored, Forget, Follow:
		if r.view == nil {
			r.standBy(ev)
		}
	}
}

// standBy handles the events of a manager that is not master.
func (r *Registrar) standBy(ev Event) {
	switch ev := ev.(type) {
	case Restored:
		keepUnlisted(ev.Registry, &r.reg.State)
		r.adopt(ev.Registry)
	case Forget:
		r.forget()
	case Follow:
		if ev.Master != (mirror.Master{}) {
			clear(r.guids) // it decides what ports have
		}
		r.mirrored.follow(r.now, ev.Master)
	}
}
