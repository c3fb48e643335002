// Package connlimit bounds the connections of a listener, in total and of each peer, so that one client cannot keep
// others out.
package connlimit

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
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
	Yielded  atomic.Uint64 // connections closed for a new one by Limits.Kept
}

// Refused is the number of refused connections.
func (c *Counters) Refused() uint64 { return c.Full.Load() + c.Crowded.Load() }

// Limits are numbers of connections at a time.
//
// A peer is an IPv4 address, an IPv6 network of 64 bits, or the user at the other end of a unix socket. Total does not
// apply to root, so that others cannot keep it out of a unix socket; Peer does.
type Limits struct {
	Total, Peer int
	// Kept has an earlier connection closed in place of a new one, unless it is kept: the oldest of the peer, or,
	// beyond Total, of the peer that has most of them. So many connections of an owner can be kept. 0 closes none.
	Kept int
}

// Listener refuses connections beyond its limits at once, so that they use no resources.
type Listener struct {
	net.Listener
	limits   Limits
	refusal  []byte
	counters *Counters

	mu       sync.Mutex
	total    int // of others than root
	peers    map[string]int
	yielding map[string][]*conn // those that are not kept, by peer, the oldest first; nil without Limits.Kept
	kept     map[string]int     // by owner
	next     uint64             // number of the next connection
}

// New returns a Listener that accepts the connections of l. A refused client gets refusal, which fits into the buffer
// of a new socket.
func New(l net.Listener, limits Limits, refusal []byte, counters *Counters) *Listener {
	of := &Listener{Listener: l, limits: limits, refusal: refusal, counters: counters, peers: map[string]int{}}
	if limits.Kept > 0 {
		of.yielding, of.kept = map[string][]*conn{}, map[string]int{}
	}
	return of
}

// Accept returns the next connection within the limits.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		of := &conn{Conn: c, peer: peerOf(c), listener: l}
		admitted, yields := l.admit(of)
		if yields != nil {
			yields.Conn.Close()
		}
		if admitted {
			return of, nil
		}
		c.SetDeadline(time.Now().Add(time.Second))
		c.Write(l.refusal)
		c.Close()
	}
}

// admit counts a connection, and reports whether it is within the limits. yields is one to close for it, which has
// left.
func (l *Listener) admit(c *conn) (admitted bool, yields *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused := (*atomic.Uint64)(nil)
	switch {
	case l.peers[c.peer] >= l.limits.Peer:
		refused, yields = &l.counters.Crowded, l.oldest(c.peer)
	case c.peer != root && l.total >= l.limits.Total:
		refused, yields = &l.counters.Full, l.oldestOfMost()
	}
	if refused != nil && yields == nil {
		refused.Add(1)
		return false, nil
	}
	if yields != nil {
		l.remove(yields)
		l.counters.Yielded.Add(1)
	}
	if c.peer != root {
		l.total++
	}
	l.peers[c.peer]++
	l.counters.Open.Add(1)
	l.counters.Accepted.Add(1)
	c.number = l.next
	l.next++
	if l.yielding != nil {
		l.yielding[c.peer] = append(l.yielding[c.peer], c)
	}
	return true, yields
}

// oldest is the connection of a peer to close first, nil for none.
func (l *Listener) oldest(peer string) *conn {
	if of := l.yielding[peer]; len(of) > 0 {
		return of[0]
	}
	return nil
}

// oldestOfMost is that of the peer with most connections that can be closed; of several such peers the oldest.
func (l *Listener) oldestOfMost() (found *conn) {
	most := 0
	for _, of := range l.yielding {
		if len(of) > most || len(of) == most && of[0].number < found.number {
			most, found = len(of), of[0]
		}
	}
	return found
}

// remove takes back what admit has counted.
func (l *Listener) remove(c *conn) {
	if c.left {
		return
	}
	c.left = true
	if c.peer != root {
		l.total--
	}
	if l.peers[c.peer]--; l.peers[c.peer] == 0 {
		delete(l.peers, c.peer)
	}
	l.counters.Open.Add(-1)
	if !c.kept {
		l.yieldsNot(c)
	} else if l.kept[c.owner]--; l.kept[c.owner] == 0 {
		delete(l.kept, c.owner)
	}
}

// yieldsNot forgets that a connection can be closed.
func (l *Listener) yieldsNot(c *conn) {
	of := l.yielding[c.peer]
	if i := slices.Index(of, c); i >= 0 {
		if of = slices.Delete(of, i, i+1); len(of) == 0 {
			delete(l.yielding, c.peer)
		} else {
			l.yielding[c.peer] = of
		}
	}
}

// conn is a counted connection.
type conn struct {
	net.Conn
	peer     string
	listener *Listener
	number   uint64 // in the order of Accept

	// guarded by the Listener's mutex
	left, kept bool
	owner      string // of one that is kept
}

// Peer is the peer of a connection that a Listener accepted, such as 10.0.0.7 or "user 0"; "" for another connection.
func Peer(c net.Conn) string {
	if c, is := c.(*conn); is {
		return c.peer
	}
	return ""
}

// Keep has a connection that a Listener accepted be kept, in the name of an owner: see Limits.Kept.
func Keep(c net.Conn, owner string) {
	of, is := c.(*conn)
	if !is {
		return
	}
	l := of.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if of.left || of.kept || l.kept[owner] >= l.limits.Kept {
		return
	}
	of.kept, of.owner = true, owner
	l.kept[owner]++
	l.yieldsNot(of)
}

func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
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
