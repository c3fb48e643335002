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

// crowd admits n connections of a peer, and returns how many were within the limits.
func crowd(l *Listener, peer string, n int) (admitted int) {
	for range n {
		if l.admit(peer) {
			admitted++
		}
	}
	return admitted
}

// TestRoot: two users of a unix socket use all that others than root may have. Root has its own share, within which it
// always gets in, and no more.
func TestRoot(t *testing.T) {
	c := new(Counters)
	l := New(nil, Limits{Total: 64, Peer: 32}, nil, c)
	for _, step := range []struct {
		peer string
		want int
	}{{"user 1", 32}, {"user 2", 32}, {"user 3", 0}, {root, 32}} {
		if got := crowd(l, step.peer, 40); got != step.want {
			t.Errorf("%s has %d connections, want %d", step.peer, got, step.want)
		}
	}
	if full, crowded := c.Full.Load(), c.Crowded.Load(); full != 40 || crowded != 8+8+8 || c.Refused() != 64 {
		t.Errorf("%d refused as too many, %d of a peer", full, crowded)
	}
	for range 32 {
		l.leave("user 1")
		l.leave(root)
	}
	if got := crowd(l, "user 3", 40); got != 32 || c.Open.Load() != 64 {
		t.Errorf("user 3 has %d connections of %d", got, c.Open.Load())
	}
	if len(l.peers) != 2 {
		t.Errorf("peers without a connection are kept: %v", l.peers)
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
