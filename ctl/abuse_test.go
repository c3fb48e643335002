package ctl_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ibsm/ctl"
)

// late is when a test gives up waiting for what should be soon.
const late = 20 * time.Second

func (b *bench) dial() net.Conn {
	b.Helper()
	c, err := net.Dial("unix", b.path)
	if err != nil {
		b.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(late))
	return c
}

// Bytes of any kind are answered with an error or not at all, and leave nothing behind.
func TestRandomBytes(t *testing.T) {
	b := serve(t, &source{rows: counted(3)}, ctl.Config{Patience: 100 * time.Millisecond})
	starts := []string{"", "GET /v1/", "GET /v1/nodes?", "POST /v1/sweep HTTP/1.1\r\n",
		"GET /v1/status HTTP/1.1\r\nHost: x\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}
	var tasks sync.WaitGroup
	for worker := range 8 {
		tasks.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 50 {
				c := b.dial()
				junk := make([]byte, rng.IntN(2000))
				for i := range junk {
					junk[i] = byte(rng.Uint32())
				}
				io.WriteString(c, starts[rng.IntN(len(starts))])
				c.Write(junk)
				if rng.IntN(2) == 0 {
					c.(*net.UnixConn).CloseWrite()
					io.Copy(io.Discard, c)
				}
				c.Close()
			}
		})
	}
	tasks.Wait()
	b.mustAnswer()
}

// connections is how many a crowd opens.
func connections() int {
	if os.Getenv("IBSM_PROOF") != "" {
		return 10_000
	}
	return 1_000
}

// A crowd of connections is turned away beyond the limit, with an answer, and when it
// leaves others are served as before.
func TestCrowd(t *testing.T) {
	const limit = 10 // of one user
	b := serve(t, &source{}, ctl.Config{MaxConns: 2 * limit, Patience: time.Minute})
	var held []net.Conn
	turned := 0
	for range connections() {
		c := b.dial()
		if len(held) < limit {
			fmt.Fprint(c, "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n") // and stay
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			held = append(held, c)
			continue
		}
		if reply, _ := io.ReadAll(c); strings.HasPrefix(string(reply), "HTTP/1.1 503 ") &&
			strings.HasSuffix(string(reply), "}") {
			turned++
		}
		c.Close()
	}
	st := &b.server.Stats().Control
	if want := connections() - limit; turned != want || st.Crowded.Load() != uint64(want) || st.Open.Load() != limit {
		t.Errorf("%d turned away, %d counted, %d open; want %d, and %d open", turned, st.Crowded.Load(), st.Open.Load(),
			want, limit)
	}
	var f *ctl.Failure
	if err := b.Get(t.Context(), "/v1/status", nil, nil); !errors.As(err, &f) ||
		!strings.Contains(f.Err+f.Hint, "too many") {
		t.Errorf("a client beyond the limit: %v", err)
	}
	for _, c := range held {
		c.Close()
	}
	for deadline := time.Now().Add(late); b.Get(t.Context(), "/v1/status", nil, nil) != nil; {
		if time.Now().After(deadline) {
			t.Fatal("nobody is served after the crowd has left")
		}
	}
}

// TestIdleScrapers: 64 idle TCP connections of one address keep nobody out of the control socket, and no client of
// another address from the metrics. They end when the patience with a request does.
func TestIdleScrapers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const patience = time.Second
	scrape := func(w http.ResponseWriter, _ *http.Request) error {
		_, err := io.WriteString(w, "x 1\n")
		return err
	}
	b := serve(t, &source{}, ctl.Config{Metrics: scrape, Patience: patience}, ctl.Listeners{Metrics: l})
	dial := func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(late))
		return c
	}
	began := time.Now()
	var idle []net.Conn
	for range 64 {
		idle = append(idle, dial("127.0.0.1"))
	}
	st := &b.server.Stats().Metrics
	b.until("32 are refused", func() bool { return st.Crowded.Load() == 32 })
	b.mustAnswer()
	other := dial("127.0.0.2")
	fmt.Fprint(other, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if reply, err := io.ReadAll(other); err != nil || !strings.HasSuffix(string(reply), "x 1\n") {
		t.Errorf("a scrape from another address: %q, %v", reply, err)
	}
	for i, c := range idle {
		text, err := io.ReadAll(c)
		if refused := strings.HasPrefix(string(text), "HTTP/1.1 503 "); err != nil || refused != (i >= 32) {
			t.Errorf("idle connection %d: %q, %v", i, text, err)
		}
	}
	if took := time.Since(began); took < patience {
		t.Errorf("idle connections have ended after %v, before %v", took, patience)
	}
	b.until("none is open", func() bool { return st.Open.Load() == 0 })
}

// A client that takes nothing of a reply, or does not end a request, is let go after a while.
func TestSlow(t *testing.T) {
	ended := make(chan bool, 1)
	s := &source{rows: func(ctl.List, ctl.Filter) (iter.Seq[any], error) {
		return func(yield func(any) bool) {
			for yield(&ctl.Node{Desc: strings.Repeat("x", 1000)}) { // for ever
			}
			ended <- true
		}, nil
	}}
	b := serve(t, s, ctl.Config{Patience: 50 * time.Millisecond})

	reader := b.dial()
	defer reader.Close()
	fmt.Fprint(reader, "GET /v1/nodes HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case <-ended:
	case <-time.After(late):
		t.Fatal("a client that takes nothing is served for ever")
	}

	writer := b.dial()
	defer writer.Close()
	fmt.Fprint(writer, "GET /v1/no")
	if _, err := io.Copy(io.Discard, writer); err != nil {
		t.Errorf("a client that does not end a request: %v", err)
	}

	follower := b.dial()
	defer follower.Close()
	fmt.Fprint(follower, "GET /v1/events?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := follower.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(late); b.server.Stats().Cut.Load() < 2; { // the reader was the first
		b.events.Add(ctl.Event{Text: strings.Repeat("x", 10_000)})
		if time.Now().After(deadline) {
			t.Fatal("a follower that takes nothing is served for ever")
		}
	}
	b.mustAnswer()
}

// A client that sends a body without end, a byte at a time, is let go after the server's patience, in each request that
// has a body.
func TestSlowBodies(t *testing.T) {
	const patience = 50 * time.Millisecond
	_, callers := serveCallers(t)
	b := serve(t, &source{}, ctl.Config{Patience: patience, Partitions: callers,
		PlanPartitions: func([]byte) ([]ctl.PartitionRow, error) { return nil, nil }})
	for _, rt := range b.server.Routes() {
		if rt.Body == (ctl.Content{}) {
			continue
		}
		for _, length := range []string{"Content-Length: 100000", "Transfer-Encoding: chunked"} {
			c := b.dial()
			defer c.Close()
			path := strings.NewReplacer("{name}", "red", "{kind}", "lfts").Replace(rt.Path)
			fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", rt.Method, path, length)
			if strings.HasPrefix(length, "T") {
				fmt.Fprint(c, "fffff\r\n")
			}
			ended := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, c)
				ended <- err
			}()
			pace := time.NewTicker(patience / 10)
			defer pace.Stop()
			for read := true; read; {
				select {
				case err := <-ended:
					if read = false; errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("%v, %s: a body is read for ever", &rt, length)
					}
				case <-pace.C:
					io.WriteString(c, " ")
				}
			}
		}
	}
	b.mustAnswer()
}

// Clients that send bodies of no stated length and do not end them keep nobody else from sending a short one.
func TestBodiesWithoutEnd(t *testing.T) {
	_, callers := serveCallers(t)
	b := serve(t, &source{}, ctl.Config{Patience: time.Minute, Partitions: callers})
	put := func(body string) net.Conn {
		c := b.dial()
		t.Cleanup(func() { c.Close() })
		fmt.Fprint(c, "PUT /v1/partition/red HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", body)
		return c
	}
	const slow = 25 // more than may wait for the turn of a long body
	for range slow {
		put("100000\r\n ")
	}
	b.until("they are read", func() bool { return b.server.Stats().Requests.Load() >= slow })
	reply, err := http.ReadResponse(bufio.NewReader(put("2\r\n{}\r\n0\r\n\r\n")), nil)
	if err != nil || reply.StatusCode != http.StatusCreated {
		t.Fatalf("a short body: %v, %v", reply, err)
	}
	reply.Body.Close()
}

// A follower that has nothing to be reported is not taken for a slow one.
func TestPatientFollower(t *testing.T) {
	b := serve(t, &source{}, ctl.Config{Patience: 20 * time.Millisecond})
	c := b.dial()
	defer c.Close()
	fmt.Fprint(c, "GET /v1/events?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n")
	text := make([]byte, 4096)
	if _, err := c.Read(text); err != nil {
		t.Fatal(err)
	}
	for range 5 { // each ends after the server's patience
		idle := b.dial()
		io.Copy(io.Discard, idle)
		idle.Close()
	}
	b.events.Add(ctl.Event{Text: "at last"})
	if n, err := c.Read(text); err != nil || !strings.Contains(string(text[:n]), "at last") {
		t.Errorf("%q, %v", text[:n], err)
	}
}
