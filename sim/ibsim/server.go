package ibsim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ibsm/mad"
	"ibsm/sim/fabric"
)

// ServerConfig says which fabric a Server offers and where. The zero value of a
// field means the stated default.
type ServerConfig struct {
	Fabric     *fabric.Fabric // the Server's own from Listen on: others reach it by Do
	SockName   string         // base of the local socket names; "sim"
	Listen     string         // "HOST:PORT" of the control socket, to serve UDP instead; data ports follow it
	MaxClients int            // at a time, at most 1024; 256

	// Timeout is how long another client may take over the answer to a request
	// before the requester gets it back; 4 s. A request that is lost comes back
	// at once, as ibsim has it.
	Timeout time.Duration
}

// ServerStats counts what a Server could not do. Datagrams are those of clients.
type ServerStats struct {
	Malformed uint64 // datagrams and control messages that are none of the protocol's
	Refused   uint64 // control messages answered with ERROR
	GivenBack uint64 // requests that came back with status 110
	Late      uint64 // answers to a question that nobody asks, or no longer
	Unwanted  uint64 // requests for a port where no client has set IsSM
	Dropped   uint64 // datagrams for a client that does not read
	Died      uint64 // clients that went without a farewell
}

// ClientInfo is a client that is connected.
type ClientInfo struct {
	Slot   int
	ID     uint32 // process, or UDP port
	Node   string // ID of the node it is attached to
	IsSM   bool
	Queued int // datagrams that it has not read yet
}

// Server offers a fabric to programs that speak ibsim's protocol. The time of the
// fabric is real time from Run on.
//
// Run is one loop in one goroutine: it waits for sockets, hands what they bring to
// the fabric and writes what the fabric has for clients, never blocking for one of
// them. The loop alone uses the fields; it does what the other methods want between
// two turns.
type Server struct {
	cfg     ServerConfig
	poll    *poller
	control int // socket

	calls chan func()   // of other methods
	ended chan struct{} // has one value after Close; the goroutine that has taken it may use the fields

	closed sync.Once

	fabric      *fabric.Fabric
	clients     []*client // by slot, nil where free
	byFD        map[int]*client
	attachments []*attachment
	smps        smps
	dead        []*client // to be detached at the end of the turn
	stats       ServerStats
	started     time.Time // when the fabric's time was zero
	now         time.Time // when the turn began
	visited     time.Time // when dead clients were last looked for
	frame       [frameSize + 1]byte
	batch       []mad.Datagram
}

// How much a turn does for one socket before it looks at the others.
const (
	batchSize    = 64
	controlBatch = 16
	smpBatch     = 16
)

// visitInterval is how often dead clients are looked for and unanswered requests
// given back.
const visitInterval = 250 * time.Millisecond

// Listen makes the sockets. The fabric's time does not advance until Run.
func Listen(cfg ServerConfig) (*Server, error) {
	if cfg.MaxClients == 0 {
		cfg.MaxClients = 256
	}
	if cfg.MaxClients < 1 || cfg.MaxClients > maxSlots {
		return nil, fmt.Errorf("ibsim: %d clients: expected 1 to %d", cfg.MaxClients, maxSlots)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 4 * time.Second
	}
	names := Config{SockName: cfg.SockName}
	if err := names.check(); err != nil {
		return nil, fmt.Errorf("ibsim: %w", err)
	}
	cfg.SockName = names.withDefaults().SockName
	s := &Server{cfg: cfg, control: -1, fabric: cfg.Fabric, clients: make([]*client, cfg.MaxClients),
		byFD: map[int]*client{}, batch: make([]mad.Datagram, batchSize), calls: make(chan func(), 1),
		ended: make(chan struct{}, 1)}
	var err error
	if s.poll, err = newPoller(); err != nil {
		return nil, fmt.Errorf("ibsim: %w", err)
	}
	if err := s.listenControl(); err != nil {
		s.poll.close()
		return nil, fmt.Errorf("ibsim: %w", err)
	}
	s.fabric.SetOnDrop(s.lost)
	return s, nil
}

// Close frees the sockets of a Server that does not run. It may be called again.
func (s *Server) Close() { s.closed.Do(s.close) }

func (s *Server) close() {
	for _, c := range s.clients {
		if c != nil {
			s.detach(c)
		}
	}
	s.fabric.SetOnDrop(nil)
	closeSocket(s.control)
	s.poll.close()
	s.ended <- struct{}{}
}

// Run serves until the context ends, and then closes the Server.
func (s *Server) Run(ctx context.Context) error {
	defer s.Close()
	s.started = time.Now().Add(-s.fabric.Now())
	stop := context.AfterFunc(ctx, s.poll.wake)
	defer stop()
	for ctx.Err() == nil {
		ready, err := s.poll.wait(s.pause())
		if err != nil {
			return fmt.Errorf("ibsim: %w", err)
		}
		s.turn(ready)
		select {
		case fn := <-s.calls:
			fn()
		default:
		}
	}
	return nil
}

// between has the loop call fn between two turns, and waits for that. It waits for Run to begin, and
// calls fn itself when the Server is closed.
func (s *Server) between(fn func()) {
	done := make(chan struct{})
	call := func() {
		fn()
		close(done)
	}
	calls := s.calls
	for {
		select {
		case calls <- call:
			calls = nil
			s.poll.wake()
		case <-done:
			return
		case <-s.ended:
			defer func() { s.ended <- struct{}{} }()
			select {
			case <-done: // in the last turn
			default:
				fn()
			}
			return
		}
	}
}

// pause is how long nothing will happen by itself.
func (s *Server) pause() time.Duration {
	if s.smps.waiting() > 0 {
		return 0
	}
	d := visitInterval - time.Since(s.visited)
	if at, ok := s.fabric.Next(); ok {
		d = min(d, at-time.Since(s.started))
	}
	return max(d, 0)
}

// turn deals with the sockets that are ready.
func (s *Server) turn(ready []readiness) {
	defer s.reap()
	s.advance()
	for _, r := range ready {
		c := s.byFD[r.fd]
		switch {
		case r.fd == s.control:
			s.answerControl()
		case c == nil: // left in this very turn
		default:
			if r.write {
				s.flush(c)
			}
			if r.read {
				s.receive(c)
			}
		}
	}
	for range min(smpBatch, s.smps.waiting()) {
		if c, frame := s.smps.pop(); !c.dead {
			s.take(c, frame)
		}
	}
	if s.now.Sub(s.visited) >= visitInterval {
		s.visit()
	}
}

// advance brings the fabric to the present and hands out what it brought.
func (s *Server) advance() {
	if s.started.IsZero() {
		return
	}
	s.now = time.Now()
	s.fabric.Advance(s.now.Sub(s.started))
	s.handOut()
}

// visit frees the slots of clients that died and gives back what was not answered
// in time.
func (s *Server) visit() {
	s.visited = s.now
	for _, c := range s.clients {
		if c == nil {
			continue
		}
		if !s.isAlive(c) {
			s.bury(c)
			continue
		}
		for {
			frame, ok := c.asked.expired(s.now.Add(-s.cfg.Timeout))
			if !ok {
				break
			}
			s.giveBack(c, frame)
		}
	}
}

// Do lets fn act on the fabric, at the present time and between two datagrams. fn
// must not call the Server.
func (s *Server) Do(fn func(f *fabric.Fabric)) {
	s.between(func() {
		s.advance()
		fn(s.fabric)
		s.handOut()
		s.reap()
	})
}

// Stats returns the counters.
func (s *Server) Stats() (stats ServerStats) {
	s.between(func() { stats = s.stats })
	return stats
}

// Clients are those connected, by slot.
func (s *Server) Clients() (list []ClientInfo) {
	s.between(func() {
		for _, c := range s.clients {
			if c != nil {
				list = append(list, ClientInfo{c.slot, c.id, s.fabric.NodeID(c.attachment.station.At().Node), c.isSM,
					c.queued()})
			}
		}
	})
	return list
}
