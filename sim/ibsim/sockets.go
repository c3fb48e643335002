package ibsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// sockets are the two sockets of a client: control, connected to the simulator,
// and data, bound to a name that id announces to the simulator. Only its answer says
// what to connect data to.
type sockets struct {
	control net.Conn
	data    net.Conn
	raw     syscall.RawConn
	id      uint32
	peer    func(slot uint32) syscall.Sockaddr
}

func openSockets(ctx context.Context, cfg Config) (*sockets, error) {
	open := openLocal
	if cfg.Server != "" {
		open = openRemote
	}
	s, err := open(ctx, cfg)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, missing(cfg)
	} else if err != nil {
		return nil, fmt.Errorf("simulator at %s: %w", cfg, err)
	}
	return s, nil
}

// connect joins the data socket to the simulator's for the slot.
func (s *sockets) connect(slot uint32) error {
	var failed error
	err := s.raw.Control(func(fd uintptr) {
		failed = os.NewSyscallError("connect", syscall.Connect(int(fd), s.peer(slot)))
	})
	return errors.Join(err, failed)
}

// openLocal binds names in the abstract namespace, of which there is one for each
// network namespace.
func openLocal(ctx context.Context, cfg Config) (*sockets, error) {
	var err error
	for k := range maxClientIDs {
		var s *sockets
		s, err = bindLocal(ctx, cfg, clientID(k))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return s, err
		}
	}
	return nil, err
}

// clientID is the number of the k-th client of this process. The simulator wants
// it positive; process IDs are below 1<<22, so further clients of one process, or
// of processes that have the same ID in other namespaces, find numbers above.
func clientID(k int) uint32 { return uint32(os.Getpid()) + uint32(k)<<22 }

const maxClientIDs = 1 << (31 - 22)

func bindLocal(ctx context.Context, cfg Config, id uint32) (*sockets, error) {
	dialer := net.Dialer{LocalAddr: localAddr(cfg, "ctl", id)}
	control, err := dialer.DialContext(ctx, "unixgram", localName(cfg, "ctl"))
	if err != nil {
		return nil, err
	}
	data, err := net.ListenUnixgram("unixgram", localAddr(cfg, "in", id))
	if err != nil {
		control.Close()
		return nil, err
	}
	raw, err := data.SyscallConn()
	peer := func(slot uint32) syscall.Sockaddr {
		return &syscall.SockaddrUnix{Name: localAddr(cfg, "out", slot).Name}
	}
	return &sockets{control, data, raw, id, peer}, err
}

func localAddr(cfg Config, kind string, n uint32) *net.UnixAddr {
	return &net.UnixAddr{Net: "unixgram", Name: localName(cfg, kind+strconv.FormatUint(uint64(n), 10))}
}

// localName is a name in the abstract namespace. The simulator counts the NUL at
// its end to the name.
func localName(cfg Config, suffix string) string { return "@" + cfg.SockName + ":" + suffix + "\x00" }

// openRemote uses UDP over IPv4, the simulator's only other way.
func openRemote(ctx context.Context, cfg Config) (*sockets, error) {
	var dialer net.Dialer
	control, err := dialer.DialContext(ctx, "udp4", cfg.String())
	if err != nil {
		return nil, err
	}
	data, err := net.ListenUDP("udp4", &net.UDPAddr{IP: control.LocalAddr().(*net.UDPAddr).IP})
	if err != nil {
		control.Close()
		return nil, err
	}
	// Best effort: the kernel caps it at net.core.rmem_max.
	data.SetReadBuffer(4 << 20)
	raw, err := data.SyscallConn()
	server := control.RemoteAddr().(*net.UDPAddr).AddrPort()
	peer := func(slot uint32) syscall.Sockaddr {
		return &syscall.SockaddrInet4{Port: int(server.Port()) + 1 + int(slot), Addr: server.Addr().Unmap().As4()}
	}
	return &sockets{control, data, raw, uint32(data.LocalAddr().(*net.UDPAddr).Port), peer}, err
}
