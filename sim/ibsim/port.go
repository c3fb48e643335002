package ibsim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"ibsm/mad"
)

// Port is one node's port on a running simulator, of both its queue pairs. Any number of
// goroutines may send while one receives; SetIsSM, Link and Close may be called from
// anywhere.
//
// Somebody must always receive: with some 160 replies unread, ibsim waits for this
// client and serves nobody.
type Port struct {
	where    string
	control  controller
	conn     net.Conn // the data socket; out and in do its work
	slot     uint32
	node     string
	nodeGUID mad.GUID
	out      sender
	in       receiver
	closed   atomic.Bool
}

// Dial attaches to a node of the simulator. The error is one line that says what
// is missing.
func Dial(ctx context.Context, cfg Config) (*Port, error) {
	p := &Port{where: cfg.String()}
	if err := p.dial(ctx, cfg); err != nil {
		p.closeSockets()
		return nil, fmt.Errorf("ibsim: %w", err)
	}
	return p, nil
}

func (p *Port) dial(ctx context.Context, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	cfg = cfg.withDefaults()
	p.control.timeout, p.control.turn = cfg.Timeout, make(chan struct{}, 1)
	s, err := openSockets(ctx, cfg)
	if err != nil {
		return err
	}
	p.control.conn, p.conn = s.control, s.data
	if err := p.attach(ctx, cfg, s.id); err != nil {
		return err
	}
	if err := s.connect(p.slot); err != nil {
		p.ask(ctx, &control{kind: controlDisconnect})
		return fmt.Errorf("simulator at %s: data socket: %w", p.where, err)
	}
	p.out.init(s.raw)
	p.in.raw, p.in.step = s.raw, p.in.try
	return nil
}

// attach makes the client known to the simulator and learns where it is.
func (p *Port) attach(ctx context.Context, cfg Config, id uint32) error {
	c := control{kind: controlConnect}
	info := clientInfo{id: id, node: cfg.Node}
	info.encode(&c)
	switch err := p.ask(ctx, &c); {
	case errors.Is(err, errRefused) && cfg.Node != "":
		return fmt.Errorf("simulator at %s: client refused: it has no node %q, or no room for another client",
			p.where, cfg.Node)
	case errors.Is(err, errRefused):
		return fmt.Errorf("simulator at %s: client refused: it has no room for another", p.where)
	case errors.Is(err, syscall.ECONNREFUSED):
		return missing(cfg)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("simulator at %s: %w; start its network (ibsim -s, or Start at its console)", p.where, err)
	case err != nil:
		return fmt.Errorf("simulator at %s: %w", p.where, err)
	}
	info.decode(&c)
	if info.id >= maxSlots {
		return fmt.Errorf("simulator at %s: gave client slot %d: expected 0 to %d", p.where, info.id, maxSlots-1)
	}
	p.slot, p.node = info.id, info.node
	c = control{kind: controlGetGUID, length: 8}
	if err := p.ask(ctx, &c); err != nil {
		p.ask(ctx, &control{kind: controlDisconnect})
		return fmt.Errorf("simulator at %s: node GUID: %w", p.where, err)
	}
	p.nodeGUID = mad.GUID(binary.NativeEndian.Uint64(c.data[:]))
	return nil
}

// missing says that there is no simulator, and what to do.
func missing(cfg Config) error {
	env := "IBSIM_SOCKNAME"
	if cfg.Server != "" {
		env = "IBSIM_SERVER_NAME"
	}
	return fmt.Errorf("no simulator at %s: %w; start ibsim or set %s", cfg, syscall.ECONNREFUSED, env)
}

func (p *Port) ask(ctx context.Context, c *control) error {
	c.client = p.slot
	return p.control.ask(ctx, c)
}

// Node is the ID of the node attached to.
func (p *Port) Node() string { return p.node }

// NodeGUID is that node's. The simulator reports the port's own GUID and number only
// to a NodeInfo Get along the empty route.
func (p *Port) NodeGUID() mad.GUID { return p.nodeGUID }

// Link is the port's LID, 0 before it has one, and its PortState code.
func (p *Port) Link(ctx context.Context) (mad.LID, uint8, error) {
	c := control{kind: controlGetPort, length: 4}
	if err := p.ask(ctx, &c); err != nil {
		return 0, 0, fmt.Errorf("ibsim: simulator at %s: state of the port: %w", p.where, err)
	}
	return mad.LID(binary.NativeEndian.Uint16(c.data[:])), c.data[2], nil
}

// SetIsSM sets or clears IsSM in the port's CapabilityMask. The simulator gives
// requests of others only to a client that has set it.
func (p *Port) SetIsSM(ctx context.Context, is bool) error {
	c := control{kind: controlSetIsSM, length: 4}
	if is {
		binary.NativeEndian.PutUint32(c.data[:], 1)
	}
	if err := p.ask(ctx, &c); err != nil {
		return fmt.Errorf("ibsim: simulator at %s: IsSM: %w", p.where, err)
	}
	return nil
}

// Send sends the datagrams in order. It waits while the simulator's queue is
// full; one that is gone is an error.
func (p *Port) Send(ds []mad.Datagram) (int, error) {
	n, err := p.out.send(ds)
	return n, p.explain("send to", err)
}

// TrySend sends what the simulator's queue has room for.
func (p *Port) TrySend(ds []mad.Datagram) (int, error) {
	n, err := p.out.trySend(ds)
	return n, p.explain("send to", err)
}

// explain makes a sentence of why a packet was not sent or received.
func (p *Port) explain(what string, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTCONN) {
		return fmt.Errorf("ibsim: the simulator at %s is gone: %w", p.where, err)
	} else if err != nil {
		return fmt.Errorf("ibsim: %s %s: %w", what, p.where, err)
	}
	return nil
}

// Recv waits for datagrams and takes as many as are there, up to len(ds).
func (p *Port) Recv(ds []mad.Datagram) (int, error) {
	n, err := p.in.recv(ds)
	return n, p.explain("receive from", err)
}

// Malformed is how many datagrams were dropped because they are none of the
// protocol's.
func (p *Port) Malformed() uint64 { return p.in.malformed.Load() }

// closeTimeout bounds the farewell to a simulator that does not answer.
const closeTimeout = time.Second

// Close detaches from the simulator and ends a blocked Recv or Send. A second call returns at once.
func (p *Port) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	p.ask(ctx, &control{kind: controlDisconnect})
	p.closeSockets()
	return nil
}

func (p *Port) closeSockets() {
	if p.conn != nil {
		p.conn.Close()
	}
	if p.control.conn != nil {
		p.control.conn.Close()
	}
}
