package ibsim

import (
	"slices"

	"ibsm/mad"
	"ibsm/sim/fabric"
)

// attachment is a port of the fabric with the clients that are attached to it.
type attachment struct {
	node    int32
	station *fabric.Station
	clients []*client
}

// sit attaches a client to the node's port.
func (s *Server) sit(c *client, node string) bool {
	at, ok := s.fabric.FindNode(node)
	if !ok && node == "" {
		at, ok = s.fabric.FindNode(s.fabric.NodeID(0))
	}
	if !ok {
		return false
	}
	i := slices.IndexFunc(s.attachments, func(e *attachment) bool { return e.node == at.Node })
	if i < 0 {
		station, err := s.fabric.Attach(at)
		if err != nil {
			return false // somebody beside the Server sits there
		}
		i = len(s.attachments)
		s.attachments = append(s.attachments, &attachment{node: at.Node, station: station})
	}
	c.attachment = s.attachments[i]
	c.attachment.clients = append(c.attachment.clients, c)
	return true
}

// leave takes a client from its attachment.
func (s *Server) leave(c *client) {
	e := c.attachment
	e.clients = slices.DeleteFunc(e.clients, func(o *client) bool { return o == c })
	s.setIsSM(c, false)
	if len(e.clients) == 0 {
		e.station.Detach()
		s.attachments = slices.DeleteFunc(s.attachments, func(o *attachment) bool { return o == e })
	}
}

// setIsSM makes the client the one that answers for its port, or not. The port is
// one of a subnet manager as long as a client of it is.
func (s *Server) setIsSM(c *client, is bool) {
	c.isSM = is
	c.attachment.station.SetIsSM(c.attachment.manager() != nil)
}

// manager is the client that requests for the port are for, nil for none.
func (e *attachment) manager() *client {
	for _, c := range e.clients {
		if c.isSM {
			return c
		}
	}
	return nil
}

// handOut brings what has arrived at the attachments to their clients.
func (s *Server) handOut() {
	for _, e := range s.attachments {
		for e.station.Pending() > 0 {
			for j := range s.batch[:e.station.Recv(s.batch)] {
				s.hand(e, &s.batch[j])
			}
		}
	}
}

// hand gives a client what arrived at its attachment: an answer to the one that asked, a
// request to the one that has set IsSM. Of the exchange between managers everything is for
// the latter: an answer there has as many packets as it takes.
func (s *Server) hand(e *attachment, d *mad.Datagram) {
	p := &d.Packet
	var c *client
	if p.Method().IsResponse() && p.MgmtClass() != mad.ClassMirror {
		c = s.asker(p.TID())
		if c == nil || c.attachment != e {
			s.stats.Late++
			return
		}
		if _, ok := c.asked.take(p.TID()); !ok {
			s.stats.Late++
			return
		}
	} else if c = e.manager(); c == nil || !forManagers(p.MgmtClass()) {
		s.stats.Unwanted++
		s.unanswered(p)
		return
	}
	if p.MgmtClass() == mad.ClassDirected {
		p.SetHopPointer(0)
	}
	var b [frameSize]byte
	at := e.station.At()
	info := s.fabric.PortInfo(at)
	encodeToClient(&b, d, info.LID())
	s.put(c, &b, p.Method().IsResponse())
}

// forManagers says which classes a subnet manager has registered for. A wrapped
// program does not survive a class that it has not; of the mirror's, managers send
// packets only to clients that have it.
func forManagers(class mad.Class) bool {
	return class.IsSubnet() || class == mad.ClassSA || class == mad.ClassMirror
}

// asker is the client in the slot that a TID names.
func (s *Server) asker(tid mad.TID) *client {
	if slot := int(tid >> 48); slot < len(s.clients) {
		return s.clients[slot]
	}
	return nil
}

// lost is called for each packet that the fabric loses.
func (s *Server) lost(d *mad.Datagram, _ fabric.Drop) {
	if d.Packet.Method() != mad.MethodTrap {
		s.unanswered(&d.Packet)
	}
}

// unanswered gives back the request that p is, or the answer to it.
func (s *Server) unanswered(p *mad.Packet) {
	c := s.asker(p.TID())
	if c == nil {
		return
	}
	if frame, ok := c.asked.take(p.TID()); ok {
		s.giveBack(c, frame)
	}
}

// giveBack returns a request to the client that made it, timed out.
func (s *Server) giveBack(c *client, frame *[frameSize]byte) {
	b := *frame
	s.sendBack(c, &b)
}

func (s *Server) sendBack(c *client, b *[frameSize]byte) {
	s.stats.GivenBack++
	putTimedOut(b)
	s.put(c, b, true)
}
