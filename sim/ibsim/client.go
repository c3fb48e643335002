package ibsim

import (
	"syscall"

	"ibsm/mad"
)

// client is one that is connected: a slot with a data socket, at a attachment.
type client struct {
	slot       int
	id         uint32
	from       string // its control socket
	fd         int    // data socket, connected to the client's
	peer       syscall.Sockaddr
	attachment *attachment
	isSM       bool

	asked   asked
	smps    int           // of it in the Server's queue
	queue   []queuedFrame // queue[head:] is for the client to read
	head    int
	answers int  // of them
	paused  bool // its requests wait until it reads
	waiting bool // to write the queue
	dead    bool // and to be detached at the end of the turn
}

// queuedFrame is a datagram for a client.
type queuedFrame struct {
	frame  [frameSize]byte
	answer bool // to what it asked itself
}

// A client that has pauseAt answers to read is not listened to until it has read half
// of them, and none is lost: there are at most maxAsked. What others send it is queued
// up to maxQueue and then lost; it does not make the client wait, as it may be busy
// with sending answers of its own.
const (
	pauseAt  = 1024
	maxQueue = 16384
)

func (c *client) queued() int { return len(c.queue) - c.head }

// heed says which readiness of the client's socket matters.
func (s *Server) heed(c *client, paused, waiting bool) {
	if c.paused != paused || c.waiting != waiting {
		c.paused, c.waiting = paused, waiting
		s.poll.set(c.fd, !paused, waiting)
	}
}

// receive reads requests and answers of a client. Its SMPs must wait for their turn, what
// else it sends need not wait for them.
func (s *Server) receive(c *client) {
	for range batchSize {
		if c.paused || c.dead || c.smps >= maxSMPs {
			return
		}
		n, err := readNow(c.fd, s.frame[:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return
		case isGone(err):
			s.bury(c)
			return
		case err != nil:
			s.stats.Malformed++
		case n == frameSize && (*mad.Packet)(s.frame[frameHeader:]).MgmtClass().IsSubnet():
			s.smps.push(c, (*[frameSize]byte)(s.frame[:]))
		default:
			s.take(c, s.frame[:n])
		}
	}
}

// take puts a client's datagram on the wire. The slot takes the place of the upper
// 16 bits of a request's TID and leads its answer back.
func (s *Server) take(c *client, b []byte) {
	d := &s.batch[0]
	if decodeFromClient(d, b) != nil {
		s.stats.Malformed++
		return
	}
	p := &d.Packet
	switch method := p.Method(); {
	case method == mad.MethodTrapRepress:
		// umad2sim takes it for a request and puts an agent into the TID; of the
		// fabric's own TIDs the lower half is all there is.
		p.SetTID(p.TID() & 0xffffffff)
	case method.IsResponse():
		if p.MgmtClass() == mad.ClassDirected && p.HopPointer() == 0 {
			p.SetHopPointer(p.HopCount() + 1)
		}
	default:
		p.SetTID(mad.TID(c.slot)<<48 | p.TID()&(1<<48-1))
		if method != mad.MethodTrap && method != mad.MethodSend {
			copy(b[frameHeader:], p[:madHeader])
			if !c.asked.add(p.TID(), (*[frameSize]byte)(b), s.now) {
				s.sendBack(c, (*[frameSize]byte)(b))
				return
			}
		}
	}
	c.attachment.station.Send(s.batch[:1])
	s.handOut()
}

// put gives a client a datagram, or queues it when it has others to read. What is no
// answer to it is lost when it has too much.
func (s *Server) put(c *client, b *[frameSize]byte, answer bool) {
	switch {
	case c.dead:
		return
	case !answer && c.queued() >= maxQueue:
		s.stats.Dropped++
		return
	}
	if c.queued() == 0 {
		if wait := s.write(c, b); !wait {
			return
		}
	}
	if c.head > len(c.queue)/2 {
		c.queue = c.queue[:copy(c.queue, c.queue[c.head:])]
		c.head = 0
	}
	c.queue = append(c.queue, queuedFrame{*b, answer})
	if answer {
		c.answers++
	}
	s.heed(c, c.paused || c.answers >= pauseAt, true)
}

// flush writes what waits as far as the client's socket takes it.
func (s *Server) flush(c *client) {
	for c.queued() > 0 {
		if wait := s.write(c, &c.queue[c.head].frame); wait {
			s.heed(c, c.paused && c.answers > pauseAt/2, true)
			return
		}
		if c.dead {
			return
		}
		if c.queue[c.head].answer {
			c.answers--
		}
		c.head++
	}
	c.queue, c.head = c.queue[:0], 0
	s.heed(c, false, false)
}

// write gives the socket a datagram, or says to wait until it takes one. What it
// refuses for another reason is lost.
func (s *Server) write(c *client, b *[frameSize]byte) (wait bool) {
	for {
		_, err := writeNow(c.fd, b[:])
		switch {
		case err == nil:
			return false
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return true
		case isGone(err):
			s.bury(c)
		default:
			s.stats.Dropped++
		}
		return false
	}
}

// isGone reports whether an error of a socket says that its other end is not there.
func isGone(err error) bool {
	return err == syscall.ECONNREFUSED || err == syscall.ENOTCONN || err == syscall.ECONNRESET
}

// bury marks a client that is gone. Its attachment may be in use further up the stack:
// the end of the turn takes it away.
func (s *Server) bury(c *client) {
	if !c.dead {
		c.dead = true
		s.stats.Died++
		s.dead = append(s.dead, c)
	}
}

// reap detaches the clients that died during the turn.
func (s *Server) reap() {
	for len(s.dead) > 0 {
		c := s.dead[0]
		s.dead = s.dead[1:]
		s.detach(c)
	}
}

// detach frees a client's slot and attachment.
func (s *Server) detach(c *client) {
	c.dead = true
	if s.clients[c.slot] == c {
		s.clients[c.slot] = nil
		delete(s.byFD, c.fd)
		closeSocket(c.fd)
		s.leave(c)
	}
}
