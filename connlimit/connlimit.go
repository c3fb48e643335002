// Package connlimit bounds the connections of a listener, in total and of each peer, so that one client cannot keep
// others out.
package connlimit

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Counters count the connections of one listener. Every goroutine may read them.
type Counters struct {
	Open     atomic.Int64  // connections now
	Accepted atomic.Uint64 // connections
	Full     atomic.Uint64 // connections refused by Limits.Total
	Crowded  atomic.Uint64 // connections refused by Limits.Peer
}

// Refused is the number of refused connections.
func (c *Counters) Refused() uint64 { return c.Full.Load() + c.Crowded.Load() }

// Limits are numbers of connections at a time.
//
// A peer is an IPv4 address, an IPv6 network of 64 bits, or the user at the other end of a unix socket. Total does not
// apply to root, so that others cannot keep it out of a unix socket; Peer does.
type Limits struct{ Total, Peer int }

// Listener refuses connections beyond its limits at once, so that they use no resources.
type Listener struct {
	net.Listener
	limits   Limits
	refusal  []byte
	counters *Counters

	mu    sync.Mutex
	total int // of others than root
	peers map[string]int
}

// New returns a Listener that accepts the connections of l. A refused client gets refusal, which fits into the buffer
// of a new socket.
func New(l net.Listener, limits Limits, refusal []byte, counters *Counters) *Listener {
	return &Listener{Listener: l, limits: limits, refusal: refusal, counters: counters, peers: map[string]int{}}
}

// Accept returns the next connection within the limits.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := peerOf(c)
		if l.admit(peer) {
			return &conn{Conn: c, peer: peer, leave: sync.OnceFunc(func() { l.leave(peer) })}, nil
		}
		c.SetDeadline(time.Now().Add(time.Second))
		c.Write(l.refusal)
		c.Close()
	}
}

// admit counts a connection of a peer, and reports whether it is within the limits.
func (l *Listener) admit(peer string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.peers[peer] >= l.limits.Peer:
		l.counters.Crowded.Add(1)
		return false
	case peer == root:
	case l.total >= l.limits.Total:
		l.counters.Full.Add(1)
		return false
	default:
		l.total++
	}
	l.peers[peer]++
	l.counters.Open.Add(1)
	l.counters.Accepted.Add(1)
	return true
}

// leave takes back what admit has counted.
func (l *Listener) leave(peer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if peer != root {
		l.total--
	}
	if l.peers[peer]--; l.peers[peer] == 0 {
		delete(l.peers, peer)
	}
	l.counters.Open.Add(-1)
}

// conn is a counted connection.
type conn struct {
	net.Conn
	peer  string
	leave func()
}

// Peer is the peer of a connection that a Listener accepted, such as 10.0.0.7 or "user 0"; "" for another connection.
func Peer(c net.Conn) string {
	if c, is := c.(*conn); is {
		return c.peer
	}
	return ""
}

func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

const root = "user 0"

// peerOf is the peer at the other end of a connection.
func peerOf(c net.Conn) string {
	switch c := c.(type) {
	case *net.TCPConn:
		addr := c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
		return network(addr)
	case *net.UnixConn:
		return user(c)
	}
	return c.RemoteAddr().String()
}

// network is the part of an address that a client cannot choose.
func network(addr netip.Addr) string {
	if addr.Is4() {
		return addr.String()
	}
	prefix, _ := addr.WithZone("").Prefix(64) // no error: an IPv6 address has 128 bits
	return prefix.String()
}

// user is the user who has connected to a unix socket.
func user(c *net.UnixConn) string {
	const unknown = "user unknown"
	raw, err := c.SyscallConn()
	if err != nil {
		return unknown
	}
	name := unknown
	raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			name = fmt.Sprintf("user %d", cred.Uid)
		}
	})
	return name
}
