package ibsim

import (
	"encoding/binary"
	"errors"
	"ibsm/mad"
	"syscall"
)

// answerControl answers the questions on the control socket.
func (s *Server) answerControl() {
	var b [controlSize + 1]byte
	for range controlBatch {
		n, from, err := syscall.Recvfrom(s.control, b[:], 0)
		if err == syscall.EINTR {
			continue
		} else if err != nil {
			return // nothing there, or an error that a UDP client left behind
		}
		var c control
		if from == nil || c.decode(b[:n]) != nil {
			s.stats.Malformed++
			continue
		}
		key, to := nameOf(from)
		if !s.answer(&c, key, to) {
			s.stats.Refused++
			c.kind = controlError
		}
		reply := c.encode()
		syscall.Sendto(s.control, reply[:], 0, to) // a client that does not read it asks again
	}
}

// answer turns a control message into its reply; ok is false when it cannot be
// carried out.
func (s *Server) answer(c *control, key string, from syscall.Sockaddr) (ok bool) {
	if c.kind == controlConnect {
		return s.connect(c, key, from)
	}
	if c.client >= uint32(len(s.clients)) || s.clients[c.client] == nil || s.clients[c.client].from != key {
		return c.kind == controlDisconnect // of one that is gone already
	}
	k := s.clients[c.client]
	switch c.kind {
	case controlDisconnect:
		s.detach(k)
		return true
	case controlSetIsSM:
		s.setIsSM(k, binary.NativeEndian.Uint32(c.data[:]) != 0)
		s.handOut()
		return true
	}
	return s.describe(c, k)
}

// connect gives a client a slot and a attachment. One that connects again, because it
// missed the reply or because another had its name, leaves its old slot.
func (s *Server) connect(c *control, key string, from syscall.Sockaddr) (ok bool) {
	var info clientInfo
	info.decode(c)
	for _, old := range s.clients {
		if old != nil && (old.from == key || !s.isAlive(old)) {
			s.detach(old)
		}
	}
	k := &client{id: info.id, from: key, fd: -1}
	for slot, other := range s.clients {
		if other != nil {
			continue
		}
		fd, peer, err := s.openData(slot, info.id, from)
		if err == nil {
			k.slot, k.fd, k.peer = slot, fd, peer
			break
		} else if !errors.Is(err, syscall.EADDRINUSE) {
			return false
		}
	}
	if k.fd < 0 {
		return false
	}
	if !s.sit(k, info.node) {
		closeSocket(k.fd)
		return false
	}
	s.clients[k.slot], s.byFD[k.fd] = k, k
	if info.isSM {
		if k.attachment.manager() != nil {
			s.detach(k)
			return false
		}
		s.setIsSM(k, true)
	}
	info.id, info.node = uint32(k.slot), s.fabric.NodeID(k.attachment.node)
	info.encode(c)
	return true
}

// describe answers a client's queries about its port.
func (s *Server) describe(c *control, k *client) (ok bool) {
	at := k.attachment.station.At()
	node, port := s.fabric.NodeInfo(at), s.fabric.PortInfo(at)
	asked := c.data[0]
	data := c.data[:]
	clear(data)
	order := binary.NativeEndian
	switch c.kind {
	case controlGetPort:
		order.PutUint16(data, uint16(port.LID()))
		data[2] = uint8(port.PortState())
	case controlGetVendor:
		order.PutUint32(data, node.VendorID())
		order.PutUint32(data[4:], uint32(node.DeviceID()))
		order.PutUint32(data[8:], node.Revision())
		order.PutUint64(data[16:], 1) // firmware
	case controlGetGID:
		binary.BigEndian.PutUint64(data, uint64(port.GidPrefix()))
		order.PutUint64(data[8:], uint64(node.NodeGUID()))
	case controlGetGUID:
		order.PutUint64(data, uint64(node.NodeGUID()))
	case controlGetNodeInfo:
		// libumad2sim adds the port's number to get the port's GUID
		node.SetNodeGUID(node.PortGUID() - mad.GUID(node.LocalPortNum()))
		copy(data, node[:])
	case controlGetPortInfo:
		if asked != 0 && asked <= s.fabric.NumPorts(at.Node) {
			at.Port = asked
			port = s.fabric.PortInfo(at)
		}
		copy(data, port[:])
	case controlGetPKeys:
		for i, key := range s.fabric.PKeys(at) {
			if 2*i == controlData {
				break
			}
			binary.BigEndian.PutUint16(data[2*i:], uint16(key))
		}
	default:
		return false
	}
	return true
}
