package connlimit

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// crowd admits n connections of a peer, and returns those within the limits.
func crowd(l *Listener, peer string, n int) (admitted []*conn) {
	for range n {
		c := &conn{Conn: nowhere{}, peer: peer, listener: l}
		if ok, _ := l.admit(c); ok {
			admitted = append(admitted, c)
		}
	}
	return admitted
}

// nowhere is a connection that only ends.
type nowhere struct{ net.Conn }

func (nowhere) Close() error { return nil }

// TestRoot: two users of a unix socket use all that others than root may have. Root has its own share, within which it
// always gets in, and no more.
func TestRoot(t *testing.T) {
	c := new(Counters)
	l := New(nil, Limits{Total: 64, Peer: 32}, nil, c)
	admitted := map[string][]*conn{}
	for _, step := range []struct {
		peer string
		want int
	}{{"user 1", 32}, {"user 2", 32}, {"user 3", 0}, {root, 32}} {
		admitted[step.peer] = crowd(l, step.peer, 40)
		if got := len(admitted[step.peer]); got != step.want {
			t.Errorf("%s has %d connections, want %d", step.peer, got, step.want)
		}
	}
	if full, crowded := c.Full.Load(), c.Crowded.Load(); full != 40 || crowded != 8+8+8 || c.Refused() != 64 {
		t.Errorf("%d refused as too many, %d of a peer", full, crowded)
	}
	for i := range 32 {
		admitted["user 1"][i].Close()
		admitted[root][i].Close()
	}
	if got := len(crowd(l, "user 3", 40)); got != 32 || c.Open.Load() != 64 {
		t.Errorf("user 3 has %d connections of %d", got, c.Open.Load())
	}
	if len(l.peers) != 2 {
		t.Errorf("peers without a connection are kept: %v", l.peers)
	}
}

// TestYield: a new connection takes the place of the oldest of its peer, or of the peer that has most, unless it is
// kept. Those that are kept are never closed.
func TestYield(t *testing.T) {
	c := new(Counters)
	l := New(nil, Limits{Total: 6, Peer: 3, Kept: 4}, nil, c)
	a, b, d := crowd(l, "a", 3), crowd(l, "b", 2), crowd(l, "d", 1)
	Keep(a[0], "x")
	for i, step := range []struct {
		peer   string
		yields *conn // nil where it is refused
	}{{"a", a[1]}, {"e", a[2]}, {"f", b[0]}} {
		if ok, yields := l.admit(&conn{Conn: nowhere{}, peer: step.peer, listener: l}); !ok || yields != step.yields ||
			!yields.left {
			t.Errorf("step %d: admitted %t, %+v yields", i, ok, yields)
		}
	}
	for _, c := range [][]*conn{a, b, d} {
		for _, c := range c {
			c.Close() // also where it was closed already
		}
	}
	if l.total != 3 || c.Open.Load() != 3 || c.Yielded.Load() != 3 || len(l.yielding) != 3 {
		t.Errorf("%d connections, %+v", l.total, c)
	}
	if len(l.kept) != 0 {
		t.Errorf("of connections that are closed %v are kept", l.kept)
	}
	var all []*conn
	for range 20 {
		for _, peer := range []string{"g", "h"} {
			for _, c := range crowd(l, peer, 1) {
				Keep(c, "owner of "+peer)
				Keep(c, "another")
				all = append(all, c)
			}
		}
	}
	if len(l.yielding) != 0 || l.total != 6 || l.peers["g"] != 3 || l.peers["h"] != 3 || c.Crowded.Load() != 34 {
		t.Errorf("all are kept: %v, refused %d and %d", l.peers, c.Full.Load(), c.Crowded.Load())
	}
	if got := crowd(l, "i", 1); got != nil || c.Full.Load() != 1 {
		t.Errorf("a connection is admitted beyond the limit")
	}
	for _, c := range all {
		c.Close()
	}
	for i := range 5 {
		for _, c := range crowd(l, fmt.Sprint("of one ", i), 1) {
			Keep(c, "one")
		}
	}
	if len(l.yielding) != 1 || l.kept["one"] != 4 {
		t.Errorf("of five connections of one owner %v are kept", l.kept)
	}
}

// TestPeers: clients of one address cannot use all connections, and those of all addresses have no more than the total.
func TestPeers(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(inner, Limits{Total: 3, Peer: 2}, []byte("full"), new(Counters))
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			accepted <- c
		}
	}()
	refused := func(from string) bool {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		answer := make(chan string, 1)
		go func() {
			text, _ := io.ReadAll(c)
			answer <- string(text)
		}()
		select {
		case c := <-accepted:
			t.Cleanup(func() { c.Close() })
			return false
		case text := <-answer:
			if text != "full" {
				t.Errorf("a refused client has %q", text)
			}
			return true
		case <-time.After(time.Minute):
			t.Fatal("neither accepted nor refused")
		}
		return false
	}
	for i, step := range []struct {
		from string
		want bool
	}{{"127.0.0.1", false}, {"127.0.0.1", false}, {"127.0.0.1", true}, {"127.0.0.2", false}, {"127.0.0.3", true}} {
		if got := refused(step.from); got != step.want {
			t.Errorf("client %d, of %s: refused %t", i, step.from, got)
		}
	}
}

// TestClose: a connection that is closed twice frees one place.
func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	inner, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	c := new(Counters)
	l := New(inner, Limits{Total: 2, Peer: 2}, nil, c)
	for range 2 {
		client, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
	}
	first, err1 := l.Accept()
	second, err2 := l.Accept()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if us := fmt.Sprintf("user %d", os.Geteuid()); l.peers[us] != 2 {
		t.Errorf("the peers of two connections of %s are %v", us, l.peers)
	}
	first.Close()
	first.Close()
	if n := c.Open.Load(); n != 1 {
		t.Errorf("%d open, want 1", n)
	}
	second.Close()
	if n := c.Open.Load(); n != 0 || len(l.peers) != 0 {
		t.Errorf("%d open, peers %v", n, l.peers)
	}
}

// TestNetwork: a host has a network of IPv6 addresses, and one IPv4 address.
func TestNetwork(t *testing.T) {
	for addr, want := range map[string]string{
		"10.1.2.3": "10.1.2.3", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := network(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
