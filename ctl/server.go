package ctl

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"ibsm/connlimit"
	"ibsm/opensm/names"
	"ibsm/priority"
	"ibsm/rights"
)

// Config of a Server.
type Config struct {
	Source   Source
	Counters CounterSource // nil: no performance manager
	// LogFlags are OpenSM's (-D), and SetLogFlags changes them; nil: no log.
	LogFlags    func() uint8
	SetLogFlags func(flags uint8)
	// Reload reads the configuration again, and Settings returns the one in force; nil: no configuration.
	Reload   func() *Reloaded
	Settings func() []Setting
	// RotateMKeys has all ports get their next M_Keys, and returns their number; nil: no configuration.
	RotateMKeys func() (number uint32, err error)
	// PlanPartitions returns the changes that a text, or for nil the manager's own partition file, would make.
	// ApplyPartitions applies the manager's file unless it has errors or, without force, dangerous lines that are not
	// in force; it does not wait for the end of the sweep. nil: no partitions.
	PlanPartitions  func(text []byte) ([]PartitionRow, error)
	ApplyPartitions func(force bool) ([]PartitionRow, error)
	Partitions      PartitionSource // of the file and of callers; nil: no partitions
	// Generations are the stored generations with changes, oldest first. Diff returns the changes between two: to 0 is
	// the newest, from 0 the one before the last change up to to. nil: no history.
	Generations func() []Generation
	Diff        func(from, to uint64) (*Diff, error)
	// Plan returns the Sets that a heavy sweep would send now; nil: no plans.
	Plan func(ctx context.Context, q PlanQuery) (*Plan, error)
	// Drain carries out an order, and returns when routes follow it, or with an error when ctx is done. It is called
	// for one order at a time. nil: no configuration.
	Drain func(ctx context.Context, o DrainOrder) (*DrainDone, error)
	// CongestionControl is how far the devices hold its settings; nil: nothing writes them.
	CongestionControl func(ctx context.Context) (*CongestionControl, error)
	// Capture requests a heavy sweep, and returns its packets as package mad/capture writes them; nil: nothing is
	// recorded.
	Capture func(ctx context.Context) ([]byte, error)
	Names   names.Map // that the operator gave to nodes; nil for none
	Events  *Ring     // nil: an empty one
	Stats   *Stats    // nil: nobody else reads them
	// Metrics answers a scrape, or returns an error and has written nothing; nil: there
	// are none.
	Metrics func(w http.ResponseWriter, r *http.Request) error
	// Leader is in one word where the manager stands in the election, and whether it is the master whose SA answers;
	// nil: no manager. Clients without credentials call it.
	Leader func() (word string, leads bool)
	// Audit records a change over the control protocol, or a refusal; it is safe for concurrent use. nil: nowhere.
	Audit func(*Audited)
	// Audits are the last changes and refusals, the oldest first, at most so many; nil: none are kept.
	Audits func(most int) ([]Audited, error)
	API    func() *API // nil, also as a result: the API is not served
	Logger *slog.Logger
	// More are requests of others, which are served like those of the control protocol.
	More []Route

	MaxConns int           // at a time, of each listener, of which one peer has at most half; 0 for 64
	Patience time.Duration // timeout for a request to arrive and for each piece of a reply to be read; 0 for 10 s
}

// maxHeader is the maximum length of a request header, in bytes.
const maxHeader = 16 << 10

// Server serves a manager.
//
// Serve starts, and waits for, one goroutine for each listener and each connection. A
// goroutine ends with its connection, after Config.Patience, or with Serve's context.
type Server struct {
	cfg     Config
	stats   *Stats
	scrapes chan struct{} // has a token for each scrape that is answered
	// partitionWaits has one for each request that waits for a partition.
	partitionWaits chan struct{}

	plans, partitionPlans, partitionApplies, partitionBodies, measurements, drains, nameMaps, choices turns
}

// New returns a Server that is not yet serving.
func New(cfg Config) *Server {
	if cfg.MaxConns == 0 {
		cfg.MaxConns = 64
	}
	if cfg.Patience == 0 {
		cfg.Patience = 10 * time.Second
	}
	if cfg.Events == nil {
		cfg.Events = NewRing(1)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Stats == nil {
		cfg.Stats = new(Stats)
	}
	s := &Server{cfg: cfg, stats: cfg.Stats, scrapes: make(chan struct{}, maxScrapes),
		partitionWaits: make(chan struct{}, maxReadyWaits)}
	s.plans = newTurns("plans", maxPlans, s.stats)
	s.partitionPlans = newTurns("previews of partition files", maxOther, s.stats)
	s.partitionApplies = newTurns("partition files to be applied", maxOther, s.stats)
	s.partitionBodies = newTurns("large partitions", maxPlans, s.stats)
	s.drains = newTurns("changes of drain_file", maxOther, s.stats)
	s.nameMaps = newTurns("node-name-maps", maxPlans, s.stats)
	s.choices = newTurns("lists of chosen adapters", maxOther, s.stats)
	s.measurements = newTurns("measurements of routes", maxOther, s.stats)
	return s
}

// Stats returns the counters.
func (s *Server) Stats() *Stats { return s.stats }

// Listeners are those of a Server; each may be nil.
type Listeners struct {
	Control net.Listener // for all requests
	Metrics net.Listener // for metrics and nothing else
	Leader  net.Listener // for GET /leader and nothing else
}

// Close closes them.
func (l *Listeners) Close() {
	for _, l := range []net.Listener{l.Control, l.Metrics, l.Leader} {
		if l != nil {
			l.Close()
		}
	}
}

// Serve serves the listeners until ctx is done or one of them fails. It closes them.
func (s *Server) Serve(ctx context.Context, on Listeners) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ended := make(chan error, 3)
	all := s.Routes()
	limits := connlimit.Limits{Total: s.cfg.MaxConns, Peer: (s.cfg.MaxConns + 1) / 2}
	for _, l := range []struct {
		net.Listener
		http.Handler
		*connlimit.Counters
	}{{on.Control, s.handler(all, true), &s.stats.Control},
		{on.Metrics, s.handler(only(all, "/metrics"), false), &s.stats.Metrics},
		{on.Leader, s.handler(only(all, "/leader"), false), &s.stats.Leader}} {
		if l.Listener == nil {
			continue
		}
		srv := s.httpServer(ctx, l.Handler)
		if l.Listener == on.Control {
			srv.ConnContext = withPeer
		}
		tasks.Go(func() {
			defer context.AfterFunc(ctx, func() { srv.Close() })()
			ended <- srv.Serve(connlimit.New(l.Listener, limits, busy, l.Counters))
		})
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}
}

// withPeer gives the user at the other end of the control socket all rights: the socket's mode says who that may be.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	return rights.With(ctx, &rights.User{Name: connlimit.Peer(c), Role: rights.Admin})
}

// only is the route of a listener that serves nothing else, to anyone.
func only(all []Route, path string) []Route {
	one := all[slices.IndexFunc(all, func(rt Route) bool { return rt.Path == path })]
	one.Right = rights.Anyone
	return []Route{one}
}

// handler answers routes. others says that other requests get an error of the control protocol.
func (s *Server) handler(routes []Route, others bool) http.Handler {
	m, guard := http.NewServeMux(), Guard{Audit: s.cfg.Audit}
	for i := range routes {
		m.HandleFunc(routes[i].String(), guard.Handler(&routes[i]))
	}
	if others {
		m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != 0 {
				w.Header().Set("Connection", "close")
			}
			s.Fail(w, unknown(r))
		})
	}
	return m
}

func (s *Server) httpServer(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler:           s.Patient(h),
		ReadHeaderTimeout: s.cfg.Patience,
		ReadTimeout:       s.cfg.Patience,
		IdleTimeout:       s.cfg.Patience,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
}

// Patient counts requests, and bounds the time for pieces of replies. Handlers of a Guard need its writers.
func (s *Server) Patient(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		priority.AnswerFirst()
		s.stats.Requests.Add(1)
		p := &patient{ResponseWriter: w, server: s, control: http.NewResponseController(w)}
		defer p.count() // of a reply that is broken off, too
		h.ServeHTTP(p, r)
		p.extend() // for the end of the reply
	})
}

// patient is a reply of which the client must read each piece in time.
type patient struct {
	http.ResponseWriter
	server  *Server
	control *http.ResponseController
	status  int
	failed  bool      // the client did not read it completely
	until   time.Time // by then all of it must be taken; zero for no limit

	before, after any // of an audit
}

// count counts the reply when it has ended.
func (p *patient) count() {
	if p.status >= http.StatusBadRequest {
		p.server.stats.Errors.Add(1)
	}
	if p.failed {
		p.server.stats.Cut.Add(1)
	}
}

func (p *patient) WriteHeader(status int) {
	if status == http.StatusServiceUnavailable {
		// An address that leads to the master leads elsewhere by now, but a connection that is kept does not.
		p.Header().Set("Connection", "close")
	}
	p.status = status
	p.extend()
	p.ResponseWriter.WriteHeader(status)
}

func (p *patient) Write(b []byte) (int, error) {
	p.extend()
	n, err := p.ResponseWriter.Write(b)
	p.failed = p.failed || err != nil
	return n, err
}

// FlushError sends the buffered data. What has been sent has no time limit any more: a stream may be quiet for long,
// and HTTP/2 resets one whose time is over even if nothing waits.
func (p *patient) FlushError() error {
	p.extend()
	err := p.control.Flush()
	p.failed = p.failed || err != nil
	if err == nil && p.until.IsZero() {
		p.control.SetWriteDeadline(time.Time{})
	}
	return err
}

func (p *patient) extend() {
	deadline := time.Now().Add(p.server.cfg.Patience)
	if !p.until.IsZero() && p.until.Before(deadline) {
		deadline = p.until
	}
	p.control.SetWriteDeadline(deadline)
}

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
