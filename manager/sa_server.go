package manager

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/mad/gsi"
	"ibsm/mad/rmpp"
	"ibsm/perf"
	"ibsm/priority"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/view"
)

// saServer is what all goroutines share that answer the SA's clients.
type saServer struct {
	responder atomic.Pointer[sa.Responder]
	last      atomic.Pointer[sa.Responder] // that of the last view, also while there is none
	stats     sa.Stats
	clients   clientCounts
	rates     clientRates
	// vPortRates is nil before a vPort has asked.
	vPortRates atomic.Pointer[vPortRates]

	mu         sync.Mutex // guards the rest, and writing responder and last
	transfers  rmpp.Stats
	registered *registry.State
}

// setView sets the view from which requests are answered, or nil. One goroutine calls it.
func (s *saServer) setView(v *view.View) {
	var r *sa.Responder
	if v != nil {
		r = s.responder.Load().WithView(v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r != nil {
		r = r.WithRegistry(s.registered)
		s.last.Store(r)
	}
	s.responder.Store(r)
}

// setRegistry has requests answered from a state of the registry.
func (s *saServer) setRegistry(state *registry.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registered = state
	last := s.last.Load()
	if last == nil {
		return
	}
	r := last.WithRegistry(state)
	s.last.Store(r)
	if s.responder.Load() != nil {
		s.responder.Store(r)
	}
}

func (s *saServer) transferStats() rmpp.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transfers
}

// saPort is QP1 with its users in this manager. The kind of a request to the SA decides which of three answers it: the
// responder in the receive loop, the table server, or the registrar, which also sends Reports, is a client of other
// SAs, and exchanges mirrors.
type saPort struct {
	*gsi.Port
	sa        *saServer
	counters  *perf.Reader
	congested *congestioncontrol.Writer
	opened    time.Time
	answers   []mad.Datagram // of the receive loop, for one call of answer
	replies   *replyQueue
	tables    *tableServer
	inbox     *inbox // of the registrar
}

// newSAPort returns the QP1 of a port; counters takes the answers about counters, congested those of
// congestion control, and plainPeers is rmpp.Config's.
func newSAPort(port mad.Port, s *saServer, inbox *inbox, counters *perf.Reader, congested *congestioncontrol.Writer,
	plainPeers bool) *saPort {
	p := &saPort{sa: s, counters: counters, congested: congested, opened: time.Now(),
		replies: &replyQueue{wake: make(chan struct{}, 1)}, inbox: inbox}
	p.Port = gsi.New(port, gsi.Users{
		SARequest: p.takeRequests,
		SAReport:  func(ds []mad.Datagram) int { s.clients.add(ds); return inbox.take(forReports, ds) },
		SAClient:  func(ds []mad.Datagram) int { s.clients.add(ds); return inbox.take(forClient, ds) },
		Mirror:    func(ds []mad.Datagram) int { return inbox.take(forMirror, ds) },
		Perf:      counters.Take, Congestion: congested.Take,
	})
	p.tables = newTableServer(s, p.Send, plainPeers)
	return p
}

// start starts what sends replies, makes tables, and asks devices about counters and for congestion control, until ctx
// is done. The receive loop reports a broken port.
func (p *saPort) start(ctx context.Context, tasks *sync.WaitGroup) {
	tasks.Go(func() { p.sendReplies(ctx) })
	tasks.Go(func() { p.RefuseUnserved(ctx) })
	p.tables.start(ctx, tasks)
	tasks.Go(func() { _ = p.counters.Run(ctx, p.sendToAgents) })
	tasks.Go(func() { _ = p.congested.Run(ctx, p.sendToAgents) })
}

// sendToAgents sends requests to agents of general services, with a GRH to ports that demand one. Counters are read by
// the last view while another manager is master.
func (p *saPort) sendToAgents(ds []mad.Datagram) (int, error) {
	p.sa.last.Load().AddGRH(ds)
	return p.Send(ds)
}

// takeRequests takes requests to the SA, for gsi.Users.
func (p *saPort) takeRequests(ds []mad.Datagram) (dropped int) {
	priority.AnswerFirst()
	p.sa.clients.add(ds)
	at := time.Since(p.opened) // one look at the clock for all of them
	responder, came := p.sa.responder.Load(), len(ds)
	ds = p.sa.admit(ds, at, responder)
	dropped = came - len(ds)
	if ports := responder.Heard(ds); ports != nil {
		p.inbox.demandGRH(ports)
	}
	for len(ds) > 0 {
		way, n := sa.WayOf(&ds[0].Packet), 1
		for n < len(ds) && sa.WayOf(&ds[n].Packet) == way {
			n++
		}
		switch way {
		case sa.AsTable:
			dropped += p.tables.take(ds[:n])
		case sa.Recording:
			dropped += p.inbox.takeRequests(ds[:n])
		default:
			dropped += p.answer(ds[:n], at)
		}
		ds = ds[n:]
	}
	return dropped
}
