package manager

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/store"
)

// registrar is the goroutine that owns the registry, and alone changes it: run, which ends
// with its context. Others reach it through its inbox.
//
// A change goes first to the responder, then to the store and the core; replies leave when
// both have it.
type registrar struct {
	*inbox
	sa       *saServer
	send     func([]mad.Datagram) (int, error)
	store    *store.Store                         // nil: nothing is kept
	mirrored func(master mad.GUID, policy []byte) // Shell.Mirrored
	core     *sa.Registrar
	start    time.Time

	state   atomic.Pointer[registry.State] // for the core
	changed chan struct{}                  // has room for one: state is new
	guids   chan sa.GUIDBlock              // for the core, to be written
	// for the core: of other managers, and of ports to be asked to register again
	heard chan Event
	left  chan struct{} // closed when sa.Leave has been obeyed

	mu    sync.Mutex // guards stats
	stats sa.RegistrarStats
	ends  sa.MirrorStats
}

// maxGUIDWrites is how many blocks may wait for the core.
const maxGUIDWrites = 64

// maxHeard is how much of what other managers said may wait for the core.
const maxHeard = 16

func newRegistrar(s *Shell, inbox *inbox, send func([]mad.Datagram) (int, error), start time.Time) *registrar {
	reg := registry.New()
	if s.Restored != nil {
		reg = s.Restored.Registry
	}
	cfg := s.Config.Registrar
	cfg.Began = start.Unix()
	_, _ = rand.Read(cfg.Salt[:]) // it never fails
	r := &registrar{
		inbox: inbox, sa: &s.sa, send: send, store: s.Store, mirrored: s.Mirrored,
		core: sa.NewRegistrar(cfg, reg, &s.sa.stats), start: start,
		changed: make(chan struct{}, 1), guids: make(chan sa.GUIDBlock, maxGUIDWrites),
		heard: make(chan Event, maxHeard),
		left:  make(chan struct{}),
	}
	r.announce(r.core.State())
	return r
}

// announce has requests answered from a state, and the core bring it to the switches.
func (r *registrar) announce(s *registry.State) {
	r.sa.setRegistry(s)
	r.state.Store(s)
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Stats is a copy of the counters. It may be asked for by any goroutine.
func (r *registrar) Stats() sa.RegistrarStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// MirrorStats is a copy of the counters of the exchange between managers. It may be asked
// for by any goroutine.
func (r *registrar) MirrorStats() sa.MirrorStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ends
}

func (r *registrar) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	batch := make([]mad.Datagram, 0, max(maxWriteBatch, maxReceived))
	for {
		for ctx.Err() == nil {
			ev, ok := r.next(batch[:0])
			if !ok {
				break
			}
			r.step(ctx, ev)
		}
		if at, ok := r.core.Deadline(); ok {
			timer.Reset(at - time.Since(r.start))
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
			r.step(ctx, sa.TimePassed{})
		}
	}
}

func (r *registrar) step(ctx context.Context, ev sa.Event) {
	do := r.core.Step(time.Since(r.start), ev)
	if do.State != nil {
		r.announce(do.State)
		r.keep(do)
	}
	for _, o := range do.Answered {
		o.To(o.Answer)
	}
	for _, g := range do.GUIDs {
		select {
		case <-ctx.Done():
		case r.guids <- g:
		}
	}
	if do.Heard.Policy != nil && r.mirrored != nil {
		r.mirrored(do.Heard.Master, do.Heard.Policy)
	}
	if do.Heard.Master != 0 || do.Complete != 0 {
		select {
		case <-ctx.Done():
		case r.heard <- fromOthers(do):
		}
	}
	if do.OtherVersion.Manager != 0 {
		select {
		case <-ctx.Done():
		case r.heard <- OtherVersion{do.OtherVersion}:
		}
	}
	if do.Reregister != nil {
		select {
		case <-ctx.Done():
		case r.heard <- Reregister{do.Reregister}:
		}
	}
	if do.Crowded != 0 {
		select {
		case <-ctx.Done():
		case r.heard <- MLIDShareReached{do.Crowded}:
		}
	}
	if len(do.Send) > 0 { // behind what it acknowledges
		_, _ = r.send(do.Send) // the receive loop reports a port that is broken
	}
	r.mu.Lock()
	r.stats, r.ends = r.core.Stats(), r.core.MirrorStats()
	r.mu.Unlock()
	if _, leaves := ev.(sa.Leave); leaves {
		close(r.left)
	}
}

// leavePatience is how long the end of a manager waits for its registrar to say good-bye.
const leavePatience = 200 * time.Millisecond

// leave ends the subscriptions with a master of another kind. It is called once.
func (r *registrar) leave() {
	if r.MirrorStats().Reader.Master == 0 {
		return
	}
	r.notify(sa.Leave{})
	select {
	case <-r.left:
	case <-time.After(leavePatience):
	}
}

// fromOthers is what the exchange between managers has come to, for the core: a standby
// hears, a master completes.
func fromOthers(do *sa.Effects) Event {
	if do.Complete != 0 {
		return StandbyComplete{do.Complete}
	}
	return MirrorHeard{do.Heard}
}

// keep puts changes into the store. Without one, they are as durable as they get.
func (r *registrar) keep(do *sa.Effects) {
	seq := do.State.Seq()
	if r.store == nil {
		r.isDurable(seq)
		return
	}
	r.store.Put(store.Batch{Changes: do.Changes, Registry: do.State}, func(err error) {
		if err == nil {
			r.isDurable(seq)
		}
	})
}
