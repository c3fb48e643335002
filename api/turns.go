package api

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/connlimit"
	"ibsm/priority"
)

// longestTurn is how long a turn lasts at most. A goroutine that runs longer may be waiting, so it keeps nobody else.
const longestTurn = 2 * time.Millisecond

// turns bounds how many goroutines work for clients at a time, so that a processor is left for packets of the subnet
// however many requests come. Turns go round by name: the address of a client, or its user. It is safe for concurrent
// use.
type turns struct {
	most int // at a time

	mu      sync.Mutex
	taken   int
	order   []string // names that have someone waiting, in the order of their turns
	waiting map[string][]chan struct{}
}

// newTurns leaves half of the processors to others.
func newTurns() *turns {
	return &turns{most: max(priority.Processors()/2, 1), waiting: map[string][]chan struct{}{}}
}

// take waits for a turn; give ends it.
func (t *turns) take(name string) {
	t.mu.Lock()
	if t.taken < t.most {
		t.taken++
		t.mu.Unlock()
		return
	}
	mine := make(chan struct{})
	if len(t.waiting[name]) == 0 {
		t.order = append(t.order, name)
	}
	t.waiting[name] = append(t.waiting[name], mine)
	t.mu.Unlock()
	<-mine
}

// give gives a turn to the next one.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.taken--
		return
	}
	name := t.order[0]
	t.order = t.order[1:]
	of := t.waiting[name]
	close(of[0])
	if of = of[1:]; len(of) > 0 {
		t.waiting[name] = of
		t.order = append(t.order, name)
	} else {
		delete(t.waiting, name)
	}
}

// turn belongs to a connection or a handler, and is taken and given back many times. Its methods are safe for
// concurrent use.
type turn struct {
	of *turns

	mu    sync.Mutex
	name  string
	has   bool
	timer *time.Timer // ends it; nil before the first one
}

func newTurn(of *turns, name string) *turn { return &turn{of: of, name: name} }

// begin waits for a turn, unless there is one already.
func (t *turn) begin() {
	t.mu.Lock()
	if t.has {
		t.mu.Unlock()
		return
	}
	name := t.name
	t.mu.Unlock()
	t.of.take(name)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has { // another goroutine was faster
		t.of.give()
		return
	}
	t.has = true
	if t.timer == nil {
		t.timer = time.AfterFunc(longestTurn, t.end)
	} else {
		t.timer.Reset(longestTurn)
	}
}

// end ends a turn, if there is one.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has {
		t.has = false
		t.timer.Stop()
		t.of.give()
	}
}

// called returns the name that the turn counts for.
func (t *turn) called() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.name
}

// rename makes later turns count for another name.
func (t *turn) rename(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.name = name
}

// turnListener accepts connections whose readers take turns.
type turnListener struct {
	net.Listener
	turns *turns
}

func (l turnListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &turnConn{Conn: c, turn: newTurn(l.turns, connlimit.Peer(c))}, nil
}

// turnConn is a connection whose reader takes a turn when bytes arrive, and gives it back when it reads again. In
// between it works on the bytes, as in a handshake.
type turnConn struct {
	net.Conn
	turn *turn
	// handling says that the reader of HTTP/1.1 has a handler's turn.
	handling atomic.Bool
}

func (c *turnConn) Read(b []byte) (int, error) {
	c.turn.end()
	n, err := c.Conn.Read(b)
	if n > 0 && !c.handling.Load() {
		c.turn.begin()
	}
	return n, err
}

func (c *turnConn) Close() error {
	c.turn.end()
	return c.Conn.Close()
}

// handlerTurn is the turn of a handler, which one goroutine uses.
type handlerTurn struct {
	*turn
	conn *turnConn // of HTTP/1.1; nil for none
	in   bool
}

type turnKey struct{}

// turnOf is the turn of a request.
func turnOf(ctx context.Context) *handlerTurn { return ctx.Value(turnKey{}).(*handlerTurn) }

// handlerTurn begins the turn of a handler. That of the reader of HTTP/1.1, which calls it, ends.
func (s *Server) handlerTurn(r *http.Request) *handlerTurn {
	conn := connectionOf(r).turns
	t := &handlerTurn{turn: newTurn(s.turns, conn.turn.called())}
	if r.ProtoMajor == 1 {
		t.conn = conn
		conn.handling.Store(true)
		conn.turn.end()
	}
	t.enter()
	return t
}

// enter begins what leave ends.
func (t *handlerTurn) enter() {
	t.in = true
	t.begin()
}

func (t *handlerTurn) leave() {
	t.in = false
	t.end()
}

// pause ends a turn for what waits for a client, and resume begins it again.
func (t *handlerTurn) pause() { t.end() }

func (t *handlerTurn) resume() {
	if t.in {
		t.begin()
	}
}

// finish ends the turn of a handler.
func (t *handlerTurn) finish() {
	t.leave()
	if t.conn != nil {
		t.conn.handling.Store(false)
	}
}
