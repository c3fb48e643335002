package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sim/hosts"
	"ibsm/sim/ibsim"
	"ibsm/topo/net"
)

// saClients is how many hosts ask at a time on Debian's ibsim, which has room for few
// clients.
const saClients = 4

// onIbsim measures a manager's answers to path queries on Debian's ibsim: first with so
// many requests open at any time, then at a steady rate while routes are computed anew.
func (b *benchSA) onIbsim(ctx context.Context, n *net.Net, m manager) error {
	place, err := newIbsimPlace(n)
	if err != nil {
		return err
	}
	defer place.close()
	run, err := startManager(m, place.sock, place.host, onIbsim, b.keep)
	if err != nil {
		return err
	}
	r := measurement{}
	err = run.awaitUp(ctx)
	if err == nil {
		err = b.askOnIbsim(ctx, place, run, n, m)
	}
	return errors.Join(err, run.kill(&r))
}

func (b *benchSA) askOnIbsim(ctx context.Context, place *ibsimPlace, run *process, n *net.Net, m manager) error {
	var clients []*saClient
	defer func() {
		for _, c := range clients {
			c.port.Close()
		}
	}()
	for i := range saClients {
		c, err := newSAClient(ctx, place.sock, hostAt(n, 1+i*(countHosts(n)-1)/saClients), len(n.Nodes), uint64(i))
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	cpu := cpuTime(run.cmd.Process.Pid)
	o, err := together(clients, func(c *saClient) error { return c.keepOpen(ctx, max(b.open/saClients, 1), b.lasts) })
	cpuOf := cpuTime(run.cmd.Process.Pid) - cpu
	b.showIbsim(fmt.Sprintf("rate on ibsim, %d open", b.open), o, cpuOf)
	if err != nil {
		return err
	}
	var orders sync.WaitGroup
	defer orders.Wait() // the manager lives until it has taken the last
	stop := make(chan struct{})
	orders.Go(func() {
		for tick := time.NewTicker(rerouteEvery); ; {
			run.reroute(ctx, m)
			select {
			case <-tick.C:
			case <-stop:
				tick.Stop()
				return
			}
		}
	})
	cpu = cpuTime(run.cmd.Process.Pid)
	o, err = together(clients, func(c *saClient) error { return c.keepRate(ctx, float64(b.rate)/saClients, b.lasts) })
	close(stop)
	cpuOf = cpuTime(run.cmd.Process.Pid) - cpu
	b.showIbsim(fmt.Sprintf("latency on ibsim at %d/s, full reroutes", b.rate), o, cpuOf)
	return err
}

// showIbsim prints what became of the requests of one part.
func (b *benchSA) showIbsim(part string, o saOutcome, cpu time.Duration) {
	granted := hosts.Outcome{Took: o.took}
	at := func(share float64) time.Duration { return round(granted.Quantile(share)) }
	fmt.Fprintf(b.out,
		"  %s: CPU %.2f s\n    %-15s %8d asked %9.0f/s  %8d granted %7d refused %6d unanswered  p50 %-9v p99 %-9v max %v\n", part, cpu.Seconds(),
		"path", o.asked, float64(len(o.took))/b.lasts.Seconds(), len(o.took), o.refused, o.asked-len(o.took)-o.refused,
		at(0.5), at(0.99), at(1))
}

// saOutcome is what became of requests.
type saOutcome struct {
	asked, refused int
	took           []time.Duration // of those that were granted
}

// together has all clients do something at a time, and adds up what came of it.
func together(clients []*saClient, do func(*saClient) error) (sum saOutcome, err error) {
	errs := make([]error, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() { errs[i] = do(c) })
	}
	all.Wait()
	for _, c := range clients {
		o := c.take()
		sum.asked, sum.refused, sum.took = sum.asked+o.asked, sum.refused+o.refused, append(sum.took, o.took...)
	}
	return sum, errors.Join(errs...)
}

// saClient is a host that asks for paths between LIDs. Its receive loop ends when its port
// is closed.
type saClient struct {
	port   *ibsim.Port
	sm     mad.LID
	lids   int // unicast LIDs in use: 1 to lids
	random *rand.Rand
	ended  chan error    // of the receive loop
	answer chan struct{} // has one for each answer
	next   uint32

	sent [1 << 16]atomic.Int64 // when a request left, since start, in ns; 0 once it is answered
	mu   sync.Mutex            // guards out
	out  saOutcome
}

var saBegan = time.Now()

func newSAClient(ctx context.Context, sock, node string, lids int, seed uint64) (*saClient, error) {
	port, err := ibsim.Dial(ctx, ibsim.Config{SockName: sock, Node: node})
	if err != nil {
		return nil, err
	}
	c := &saClient{port: port, lids: lids, random: rand.New(rand.NewPCG(seed, 0x5a)), ended: make(chan error, 1),
		answer: make(chan struct{}, 1<<16)}
	if c.sm, err = masterSM(port); err != nil {
		port.Close()
		return nil, fmt.Errorf("%s: %w", node, err)
	}
	go func() { c.ended <- c.receive() }()
	return c, nil
}

// masterSM asks a port's own agent for the LID of the master subnet manager.
func masterSM(port *ibsim.Port) (mad.LID, error) {
	var ask mad.Packet
	ask.SetDirected(&mad.Route{}, mad.MethodGet, smp.AttrPortInfo, 0)
	ask.SetTID(1)
	if _, err := port.Send([]mad.Datagram{{Addr: mad.Addr{LID: mad.PermissiveLID}, Packet: ask}}); err != nil {
		return 0, err
	}
	in := make([]mad.Datagram, 1)
	if _, err := port.Recv(in); err != nil {
		return 0, err
	}
	return cmp.Or((*smp.PortInfo)(in[0].Packet.Data()).MasterSMLID(), 1), nil
}

// ask sends a request for a path.
func (c *saClient) ask() error {
	c.next++
	d := mad.Datagram{Addr: mad.Addr{LID: c.sm, QPN: 1}}
	p := &d.Packet
	p.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
	rec := (*sarec.PathRecord)(p.SAData()[:64])
	rec.SetSLID(mad.LID(1 + c.random.IntN(c.lids)))
	rec.SetDLID(mad.LID(1 + c.random.IntN(c.lids)))
	rec.SetNumbPath(1)
	p.SetComponentMask(sarec.PathDLID | sarec.PathSLID | sarec.PathNumbPath)
	p.SetTID(mad.TID(c.next))
	c.sent[c.next%uint32(len(c.sent))].Store(int64(time.Since(saBegan)))
	c.mu.Lock()
	c.out.asked++
	c.mu.Unlock()
	_, err := c.port.Send([]mad.Datagram{d})
	return err
}

// receive takes answers until the port is closed.
func (c *saClient) receive() error {
	in := make([]mad.Datagram, 64)
	for {
		n, err := c.port.Recv(in)
		for i := range in[:n] {
			p := &in[i].Packet
			if p.MgmtClass() != mad.ClassSA || !p.IsResponse() {
				continue
			}
			left := c.sent[uint32(p.TID())%uint32(len(c.sent))].Swap(0)
			if left == 0 {
				continue
			}
			c.mu.Lock()
			if p.Status() == mad.StatusOK {
				c.out.took = append(c.out.took, time.Since(saBegan)-time.Duration(left))
			} else {
				c.out.refused++
			}
			c.mu.Unlock()
			c.answer <- struct{}{}
		}
		if err != nil {
			return err
		}
	}
}

// take gives out what became of the requests since the last time.
func (c *saClient) take() saOutcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.out
	c.out = saOutcome{}
	return o
}

// keepOpen keeps a number of requests open for a time. It does not wait for the last.
func (c *saClient) keepOpen(ctx context.Context, open int, d time.Duration) error {
	for range open {
		if err := c.ask(); err != nil {
			return err
		}
	}
	end := time.After(d)
	for {
		select {
		case <-c.answer:
			if err := c.ask(); err != nil {
				return err
			}
		case <-end:
			return c.drain()
		case err := <-c.ended:
			return err
		case <-ctx.Done():
			return errors.New("interrupted")
		}
	}
}

// keepRate sends requests at a steady rate for a time.
func (c *saClient) keepRate(ctx context.Context, rate float64, d time.Duration) error {
	began, asked := time.Now(), 0
	for next := began; time.Since(began) < d; {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		next = pause(next)
		for due := int(time.Since(began).Seconds() * rate); asked < due; asked++ {
			if err := c.ask(); err != nil {
				return err
			}
		}
		for len(c.answer) > 0 {
			<-c.answer
		}
	}
	return c.drain()
}

// drainFor is how long the answers to the last requests are waited for.
const drainFor = time.Second

// drain takes the answers that are still under way.
func (c *saClient) drain() error {
	for late := time.After(drainFor); ; {
		select {
		case <-c.answer:
		case err := <-c.ended:
			return err
		case <-late:
			return nil
		}
	}
}
