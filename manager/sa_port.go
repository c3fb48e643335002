package manager

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/txn"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/view"
)

// saServer is what all that answers the SA's clients shares.
type saServer struct {
	answerer atomic.Pointer[sa.Answerer]
	stats    sa.Stats
	clients  clientCounts

	mu         sync.Mutex // guards the rest, and writing answerer
	transfers  rmpp.Stats
	registered *registry.State
}

// setView makes a view the one that questions are answered from; nil for none. It is
// for one goroutine.
func (s *saServer) setView(v *view.View) {
	var a *sa.Answerer
	if v != nil {
		a = s.answerer.Load().WithView(v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a != nil {
		a = a.WithRegistry(s.registered)
	}
	s.answerer.Store(a)
}

// setRegistry makes a state the one that questions are answered from.
func (s *saServer) setRegistry(state *registry.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registered = state
	if a := s.answerer.Load(); a != nil {
		s.answerer.Store(a.WithRegistry(state))
	}
}

func (s *saServer) transferStats() rmpp.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transfers
}

// saPort is a port that answers the SA's clients by itself, in the goroutine that
// receives, so that they never wait for a sweep. What takes longer than a moment is
// passed on to the table server, and what changes something, or comes from another
// manager's registrar, to the registrar.
type saPort struct {
	txn.Port
	sa      *saServer
	opened  time.Time
	tables  *tableServer
	writes  *inbox
	out     *replies
	answers []mad.Datagram // of one call of Recv

	mu      sync.Mutex     // held while sending: the core, the table server, the registrar and out do
	leaving []mad.Datagram // answers; guarded by mu
	came    []arrival      // of what they answer; guarded by mu
}

// newSAPort returns a port of an SA; plainPeers is rmpp.Config's.
func newSAPort(port txn.Port, s *saServer, plainPeers bool) *saPort {
	p := &saPort{Port: port, sa: s, opened: time.Now(), out: newReplies()}
	p.tables = newTableServer(s, p.Send, plainPeers)
	return p
}

// start starts what sends answers and makes tables, until ctx is done.
func (p *saPort) start(ctx context.Context, tasks *sync.WaitGroup) {
	tasks.Go(func() { p.out.run(ctx, p.sendReplies) })
	p.tables.start(ctx, tasks)
}

// sendBatch is how many packets go out before replies that wait do.
const sendBatch = 8

// Send sends for any goroutine but that of the receive loop, which must not wait. Replies
// of that go before.
func (p *saPort) Send(ds []mad.Datagram) (sent int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for sent < len(ds) && err == nil {
		if err = p.flush(); err == nil {
			var n int
			n, err = p.Port.Send(ds[sent:min(sent+sendBatch, len(ds))])
			sent += n
		}
	}
	return sent, err
}

// sendReplies sends what replies there are.
func (p *saPort) sendReplies() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flush()
}

// flush is sendReplies with mu held.
func (p *saPort) flush() (err error) {
	if p.leaving, p.came = p.out.take(p.leaving, p.came); len(p.leaving) > 0 {
		_, err = p.Port.Send(p.leaving)
		now := time.Since(p.opened)
		for _, a := range p.came {
			p.sa.stats.Took(sa.AtOnce, now-a.at, a.n)
		}
	}
	return err
}

// Recv receives, answers what is for the SA and gives what is left.
func (p *saPort) Recv(ds []mad.Datagram) (int, error) {
	for {
		n, err := p.Port.Recv(ds)
		came := time.Since(p.opened) // one look at the clock for all of them
		left := 0
		p.answers = p.answers[:0]
		answerer := p.sa.answerer.Load()
		for i := range ds[:n] {
			in := &ds[i]
			if in.Packet.MgmtClass() == mad.ClassSA {
				p.sa.clients.add(in.LID)
			}
			switch {
			case in.Packet.MgmtClass() == mad.ClassMirror:
				p.writes.receive(in)
			case in.Packet.MgmtClass() != mad.ClassSA:
				ds[left] = *in
				left++
			case in.TimedOut || in.Packet.IsResponse(): // to what the registrar asked
				p.writes.receive(in)
			case rmpp.IsActive(&in.Packet) || sa.IsTable(&in.Packet):
				p.tables.take(in)
			case sa.IsWrite(&in.Packet):
				p.writes.receive(in)
			default:
				p.answer(answerer, in)
			}
		}
		if len(p.answers) > 0 {
			for range p.out.put(p.answers, came) {
				p.sa.stats.Drop(sa.DropNoRoom)
			}
		}
		if left > 0 || err != nil {
			return left, err
		}
	}
}

// answer adds the answer to answers, if there is one.
func (p *saPort) answer(a *sa.Answerer, in *mad.Datagram) {
	p.answers = append(p.answers, mad.Datagram{})
	last := len(p.answers) - 1
	if !a.Answer(in, &p.answers[last], &p.sa.stats) {
		p.answers = p.answers[:last]
	}
}

// saBatch is how many packets are taken at a time from a port of QP1, and given.
const saBatch = 64

// serve answers until ctx is done, when it closes the port, or the port breaks.
// Nothing else comes on QP1: the manager asks nothing there.
func (p *saPort) serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { p.Close() })()
	batch := make([]mad.Datagram, saBatch)
	for {
		if _, err := p.Recv(batch); err != nil {
			p.Close()
			return err
		}
	}
}
