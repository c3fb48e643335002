// Package gsi owns QP1, the queue pair of general services: Port receives, classifies each
// packet by management class and direction, and gives it to its user, which has a bounded
// queue of its own, so that a flood of one kind costs the others nothing but the time to
// classify it.
//
// A user keeps the transactions of its own requests in a txn.Table; a response finds its
// user by class and method, and its request there by transaction ID.
//
// Where QP0 and QP1 have a port each, as with user MAD devices, Serve is the receive loop
// of QP1 and QP0 has an smi.Port of its own. Where one port carries both, as at ibsim, the
// smi.Port of QP0 is the receive loop of both: it runs on a Port, whose Recv gives QP1's
// packets to their users and returns QP0's.
package gsi

import (
	"context"
	"runtime"
	"sync/atomic"

	"ibsm/mad"
)

// Users take what has been received, by kind. They are called by the receive loop: they
// copy what they keep, do not wait, and return how many packets they had no room for.
type Users struct {
	SARequest, SAReport, SAClient, Mirror func(ds []mad.Datagram) (dropped int)
	// Perf and Congestion may be nil: nobody asks for counters, or writes settings of congestion control.
	Perf, Congestion func(ds []mad.Datagram) (dropped int)
}

// Port owns QP1. Send, TrySend and Counts may be called by any number of goroutines.
type Port struct {
	port     mad.Port
	users    [NumKinds]func([]mad.Datagram) int
	counts   [NumKinds]struct{ received, dropped atomic.Uint64 }
	unserved chan mad.Datagram
}

// maxUnserved is how many requests wait for their refusal.
const maxUnserved = 64

// New returns the owner of a port of QP1, or of both queue pairs.
func New(port mad.Port, users Users) *Port {
	p := &Port{port: port, unserved: make(chan mad.Datagram, maxUnserved)}
	nobody := func(ds []mad.Datagram) int { return len(ds) }
	p.users = [NumKinds]func([]mad.Datagram) int{
		SARequest: users.SARequest, SAReport: users.SAReport, SAClient: users.SAClient, Mirror: users.Mirror,
		Perf: users.Perf, Congestion: users.Congestion, Unserved: p.queueUnserved, Unwanted: nobody,
	}
	for _, k := range []Kind{Perf, Congestion} {
		if p.users[k] == nil {
			p.users[k] = nobody
		}
	}
	return p
}

// Count is what has become of the packets of a kind.
type Count struct {
	Received uint64
	Dropped  uint64 // of them, those that had no room or no user
}

// Counts are the counters by kind.
func (p *Port) Counts() (counts [NumKinds]Count) {
	for k := range counts {
		counts[k] = Count{p.counts[k].received.Load(), p.counts[k].dropped.Load()}
	}
	return counts
}

// Recv receives until there are packets of QP0, which it returns, or the port has ended.
// Those of QP1 go to their users. It implements mad.Port.
func (p *Port) Recv(ds []mad.Datagram) (int, error) {
	for {
		n, err := p.port.Recv(ds)
		if left := p.deliver(ds[:n]); left > 0 || err != nil {
			return left, err
		}
	}
}

// deliver gives packets to their users, in runs of one kind, and moves those of QP0 to the
// front.
func (p *Port) deliver(ds []mad.Datagram) (left int) {
	for from := 0; from < len(ds); {
		kind, to := Classify(&ds[from]), from+1
		for to < len(ds) && Classify(&ds[to]) == kind {
			to++
		}
		run := ds[from:to]
		from = to
		p.counts[kind].received.Add(uint64(len(run)))
		if kind == Subnet {
			left += copy(ds[left:], run)
		} else if dropped := p.users[kind](run); dropped > 0 {
			p.counts[kind].dropped.Add(uint64(dropped))
		}
	}
	return left
}

// recvBatch is how many packets Serve receives at a time.
const recvBatch = 64

// Serve receives until ctx is done, when it closes the port, or the port breaks. It is for
// a port of QP1 alone.
func (p *Port) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { p.Close() })()
	batch := make([]mad.Datagram, recvBatch)
	for {
		if _, err := p.Recv(batch); err != nil {
			p.Close()
			return err
		}
	}
}

// Send sends the packets in order, a share at a time (see share). It implements mad.Port.
func (p *Port) Send(ds []mad.Datagram) (sent int, err error) {
	for {
		n := 0
		n, err = p.port.Send(ds[sent : sent+turn(ds[sent:])])
		if sent += n; err != nil || sent == len(ds) {
			return sent, err
		}
		runtime.Gosched() // to goroutines that wait for the port
	}
}

// TrySend sends what the port takes without waiting. It implements mad.Port.
func (p *Port) TrySend(ds []mad.Datagram) (sent int, err error) { return p.port.TrySend(ds) }

// turn is how many of the packets are sent before others have their turn. Packets of QP0
// have no limit.
func turn(ds []mad.Datagram) (n int) {
	if len(ds) == 0 || ds[0].Packet.MgmtClass().IsSubnet() {
		return len(ds)
	}
	most := share(&ds[0].Packet)
	for n < min(most, len(ds)) && share(&ds[n].Packet) == most {
		n++
	}
	return n
}

// Close closes the port. It implements mad.Port.
func (p *Port) Close() error { return p.port.Close() }

func (p *Port) queueUnserved(ds []mad.Datagram) (dropped int) {
	for i := range ds {
		select {
		case p.unserved <- ds[i]:
		default:
			dropped++
		}
	}
	return dropped
}

// RefuseUnserved refuses requests of classes that have no server here, until ctx is done or
// the port breaks, which the receive loop reports.
func (p *Port) RefuseUnserved(ctx context.Context) {
	out := make([]mad.Datagram, 1)
	for {
		select {
		case <-ctx.Done():
			return
		case in := <-p.unserved:
			Refuse(&in, &out[0])
		}
		if _, err := p.Send(out); err != nil {
			return
		}
	}
}
