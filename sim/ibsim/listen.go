package ibsim

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// sendBuffer is asked for on data sockets, in bytes: the kernel may give less.
const sendBuffer = 1 << 20

// listenControl binds the control socket.
func (s *Server) listenControl() error {
	var at syscall.Sockaddr = serverName(s.cfg.SockName, "ctl")
	where := "@" + s.cfg.SockName + ":ctl"
	if s.cfg.Listen != "" {
		where = s.cfg.Listen
		udp, err := net.ResolveUDPAddr("udp4", s.cfg.Listen)
		if err != nil {
			return fmt.Errorf("address %q: %w", where, err)
		}
		if udp.Port < 1 || udp.Port > maxServerPort {
			return fmt.Errorf("port %d: expected 1 to %d", udp.Port, maxServerPort)
		}
		in := &syscall.SockaddrInet4{Port: udp.Port}
		copy(in.Addr[:], udp.IP.To4())
		at = in
	}
	fd, err := boundSocket(at)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another simulator is at %s: %w", where, syscall.EADDRINUSE)
	} else if err != nil {
		return fmt.Errorf("control socket %s: %w", where, err)
	}
	if err := s.poll.add(fd); err != nil {
		closeSocket(fd)
		return err
	}
	s.control = fd
	return nil
}

// openData makes the data socket of a slot and connects it to the one of the client
// with that ID whose control socket is from.
func (s *Server) openData(slot int, id uint32, from syscall.Sockaddr) (fd int, peer syscall.Sockaddr, err error) {
	var at syscall.Sockaddr
	switch from := from.(type) {
	case *syscall.SockaddrUnix:
		at = serverName(s.cfg.SockName, "out"+strconv.Itoa(slot))
		peer = serverName(s.cfg.SockName, "in"+strconv.Itoa(int(int32(id))))
	case *syscall.SockaddrInet4:
		own, err := syscall.Getsockname(s.control)
		if err != nil {
			return -1, nil, os.NewSyscallError("getsockname", err)
		}
		in := *own.(*syscall.SockaddrInet4)
		in.Port += 1 + slot
		at, peer = &in, &syscall.SockaddrInet4{Port: int(id), Addr: from.Addr}
		if id == 0 || id > 65535 {
			return -1, nil, fmt.Errorf("client ID %d is no UDP port", id)
		}
	default:
		return -1, nil, fmt.Errorf("control socket of family %T", from)
	}
	if fd, err = boundSocket(at); err != nil {
		return -1, nil, err
	}
	syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, sendBuffer) // best effort
	syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, sendBuffer)
	if err = syscall.Connect(fd, peer); err == nil {
		err = s.poll.add(fd)
	}
	if err != nil {
		closeSocket(fd)
		return -1, nil, fmt.Errorf("data socket of client %d: %w", id, err)
	}
	return fd, peer, nil
}

// isAlive reports whether the client's data socket is there. Of UDP one learns it
// only from what is sent.
func (s *Server) isAlive(c *client) bool {
	if _, local := c.peer.(*syscall.SockaddrUnix); !local {
		return true
	}
	err := syscall.Connect(c.fd, c.peer) // once more: nothing changes when it is
	return !errors.Is(err, syscall.ECONNREFUSED)
}

// serverName is a name in the abstract namespace; the NUL at its end counts.
func serverName(base, suffix string) *syscall.SockaddrUnix {
	return &syscall.SockaddrUnix{Name: localName(Config{SockName: base}, suffix)}
}

func boundSocket(at syscall.Sockaddr) (int, error) {
	family := syscall.AF_UNIX
	if _, udp := at.(*syscall.SockaddrInet4); udp {
		family = syscall.AF_INET
	}
	fd, err := datagramSocket(family)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := syscall.Bind(fd, at); err != nil {
		closeSocket(fd)
		return -1, os.NewSyscallError("bind", err)
	}
	return fd, nil
}

func closeSocket(fd int) { syscall.Close(fd) }

// nameOf is the address that a control message came from, for comparison and, in
// the form that replies need, for sending.
func nameOf(from syscall.Sockaddr) (key string, to syscall.Sockaddr) {
	switch a := from.(type) {
	case *syscall.SockaddrUnix:
		// Receiving cuts the NUL that belongs to the name.
		return a.Name, &syscall.SockaddrUnix{Name: a.Name + "\x00"}
	case *syscall.SockaddrInet4:
		return net.IP(a.Addr[:]).String() + ":" + strconv.Itoa(a.Port), a
	}
	return "", from
}
