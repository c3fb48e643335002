package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/opensm/console"
)

// newConsole serves a console of a manager that says hello.
func newConsole() *consoleServer {
	return &consoleServer{
		daemon: &console.Daemon{
			Version: "hello", Now: time.Now,
			Config:  func() ([]byte, error) { return []byte(strings.Repeat("x", 1<<20)), nil },
			PerfMgr: console.PerfMgr{Status: func() (st console.PerfStatus) { return st }},
			Status:  func() console.Status { return console.Status{} },
			Do:      func(console.Order) error { return nil },
		},
		counters: &console.Counters{}, logger: slog.New(slog.DiscardHandler),
		perAddress: console.MaxClients, readPatience: consoleReadPatience, writePatience: consoleWritePatience,
	}
}

// served has a console take clients, for a minute each, until end is called.
func served(t *testing.T, server *consoleServer) (dial func() net.Conn, end func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var task sync.WaitGroup
	task.Go(func() { server.serve(ctx, l) })
	dial = func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		return conn
	}
	return dial, func() {
		cancel()
		task.Wait()
	}
}

// TestConsolePatience: a client that says nothing, or takes nothing, is cut off in time;
// one that watches the status is not.
func TestConsolePatience(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(conn net.Conn)
		ends time.Duration // 0 for after a day
	}{
		{"unresponsive", func(conn net.Conn) { io.Copy(io.Discard, conn) }, consoleReadPatience},
		{"takes nothing", func(net.Conn) {}, consoleWritePatience},
		{"half a line", func(conn net.Conn) {
			go io.Copy(io.Discard, conn)
			io.WriteString(conn, "vers")
		}, consoleReadPatience},
		{"does not take the answer", func(conn net.Conn) {
			io.ReadFull(conn, make([]byte, len(console.Prompt)))
			io.WriteString(conn, "dump_conf\n")
			io.ReadFull(conn, make([]byte, 1000))
		}, consoleWritePatience},
		{"watches", func(conn net.Conn) {
			go io.Copy(io.Discard, conn)
			io.WriteString(conn, "status loop\n")
		}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := newConsole()
			ours, theirs := net.Pipe()
			defer theirs.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			began := time.Now()
			go c.do(theirs)
			server.client(ctx, ours)
			took, cut := time.Since(began), server.counters.Cut.Load()
			if c.ends == 0 && (took < 24*time.Hour || cut != 0) || c.ends > 0 && (took != c.ends || cut != 1) {
				t.Errorf("%s: ended after %v, %d cut off", c.name, took, cut)
			}
		})
	}
}

// TestConsoleCrowd: thousands of clients, most of them with rubbish, leave the console as
// it was.
func TestConsoleCrowd(t *testing.T) {
	server := newConsole()
	dial, end := served(t, server)
	const clients, at = 3000, 25
	var crowd sync.WaitGroup
	for i := range at {
		crowd.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for range clients / at {
				conn := dial()
				rubbish := make([]byte, rng.IntN(3*console.MaxLine))
				for i := range rubbish {
					rubbish[i] = byte(rng.Uint32())
				}
				conn.Write(rubbish)
				if rng.IntN(2) == 0 {
					conn.(*net.TCPConn).CloseWrite()
					io.Copy(io.Discard, conn)
				}
				conn.Close()
			}
		})
	}
	crowd.Wait()
	for conn, answer := dial(), make([]byte, 64); ; conn = dial() { // until the last of the crowd has been let go
		fmt.Fprintf(conn, "%s\nversion\nquit\n", strings.Repeat("x", console.MaxLine))
		n, _ := io.ReadFull(conn, answer)
		conn.Close()
		if string(answer[:n]) == busyConsole {
			continue
		}
		if want := console.Prompt + "Command line too long: more than 4096 bytes\n"; !strings.HasPrefix(
			string(answer[:n]), want) {
			t.Errorf("%q, want %q", answer[:n], want)
		}
		break
	}
	end()
	c := server.counters
	if sum := c.Accepted.Load() + c.Refused(); sum < clients+1 || c.Open.Load() != 0 || c.TooLong.Load() == 0 ||
		c.Accepted.Load() == 0 {
		t.Errorf("%d clients: %d taken, %d refused, %d open, %d lines too long", clients, c.Accepted.Load(),
			c.Refused(), c.Open.Load(), c.TooLong.Load())
	}
	t.Logf("%d clients: %d taken, %d refused, %d lines, %d of them too long", clients, c.Accepted.Load(),
		c.Refused(), c.Lines.Load()+c.TooLong.Load(), c.TooLong.Load())
}

// TestConsoleBusy: the number of clients is limited, and the next gets a message.
func TestConsoleBusy(t *testing.T) {
	server := newConsole()
	dial, end := served(t, server)
	hear := func(want string) net.Conn {
		t.Helper()
		conn := dial()
		got := make([]byte, len(want))
		if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
			t.Errorf("%q, %v", got[:n], err)
		}
		return conn
	}
	for range console.MaxClients {
		defer hear(console.Prompt).Close()
	}
	hear(busyConsole).Close()
	if n := server.counters.Refused(); n != 1 {
		t.Errorf("%d refused", n)
	}
	end() // though none of them has left
}

// TestConsoleHTTP: of an HTTP POST whose body has command lines, as a web page can have a browser send it, none is
// obeyed, and the connection ends. The same lines from another client are obeyed.
func TestConsoleHTTP(t *testing.T) {
	server := newConsole()
	orders := make(chan console.Order, 8)
	server.daemon.Do = func(o console.Order) error {
		orders <- o
		return nil
	}
	dial, end := served(t, server)
	plain := dial()
	io.WriteString(plain, "resweep heavy\nquit\n")
	io.Copy(io.Discard, plain)
	plain.Close()
	if len(orders) != 1 {
		t.Fatalf("%d orders of a plain client, want 1", len(orders))
	}
	<-orders
	probe := dial()
	url := "http://" + probe.RemoteAddr().String() + "/"
	probe.Close()
	for _, path := range []string{"", strings.Repeat("x", console.MaxLine)} { // a long request line is not read
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
		answer, err := client.Post(url+path, "text/plain", strings.NewReader("\nresweep heavy\nreroute\nquit\n"))
		if err == nil {
			answer.Body.Close()
			t.Errorf("a POST is answered: %v", answer.Status)
		}
	}
	end()
	if len(orders) != 0 {
		t.Errorf("the console obeys a POST: %v", <-orders)
	}
}

// TestIsHTTP: lines of HTTP, and lines of the console that resemble them.
func TestIsHTTP(t *testing.T) {
	for line, want := range map[string]bool{
		"POST / HTTP/1.1\r": true, "get / http/1.0": true, "Host: localhost:10000\r": true, "Origin:null": true,
		"": false, "\r": false, "resweep heavy": false, "perfmgr print_counters a:b": false, "help": false,
	} {
		if isHTTP(line) != want {
			t.Errorf("%q: %t", line, !want)
		}
	}
}

// TestConsoleAddresses: the clients of one address leave places for those of another.
func TestConsoleAddresses(t *testing.T) {
	server := newConsole()
	server.perAddress = console.MaxClients / 2
	dial, end := served(t, server)
	for range server.perAddress {
		conn := dial()
		defer conn.Close()
		io.ReadFull(conn, make([]byte, len(console.Prompt)))
	}
	crowded := dial()
	defer crowded.Close()
	other, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("tcp",
		crowded.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetDeadline(time.Now().Add(time.Minute))
	for conn, want := range map[net.Conn]string{crowded: busyConsole, other: console.Prompt} {
		got := make([]byte, len(want))
		if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
			t.Errorf("from %v: %q, %v", conn.LocalAddr(), got[:n], err)
		}
	}
	if n := server.counters.Crowded.Load(); n != 1 {
		t.Errorf("%d refused for their address, want 1", n)
	}
	end()
}

// TestWriteBelow: a client at a socket writes to the folder for dump files alone.
func TestWriteBelow(t *testing.T) {
	top := t.TempDir()
	dir, secret := filepath.Join(top, "dumps"), filepath.Join(top, "secret")
	for _, err := range []error{
		os.Mkdir(dir, 0o777), os.WriteFile(secret, []byte("s"), 0o600), os.Symlink(secret, filepath.Join(dir, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, ok := range map[string]bool{
		"guids": true, dir + "/guids2": true, "../secret": false, secret: false, "link": false,
		dir + "/../secret": false, "/etc/passwd": false, "": false,
	} {
		if err := writeBelow(dir, name, []byte("x")); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if writeBelow("", "guids", nil) == nil {
		t.Error("a file was written to no folder")
	}
	if text, err := os.ReadFile(secret); string(text) != "s" || err != nil {
		t.Errorf("the file outside is %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "guids2")); string(text) != "x" || err != nil {
		t.Errorf("the file inside is %q, %v", text, err)
	}
}
