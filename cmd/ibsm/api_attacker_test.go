package main_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ibsm/api"
	"ibsm/api/ufm"
	"ibsm/api/users"
	"ibsm/ctl"
	"ibsm/priority"
)

// attackEnv is the environment variable with the attackOrder of a process that attacks the API. It is a process of its
// own with the lowest priority, so that what it needs of the processors is not taken from those that it attacks.
const attackEnv = "IBSM_TEST_ATTACK"

// attackOrder is what such a process does until its input ends.
type attackOrder struct {
	Name   string
	Addr   string
	Tokens []string // of readers
	Admin  string   // token of an operator
	Conns  int      // that the attack with many connections opens
}

// attackers are at addresses of their own.
const attackers = 8

func attackerAddress(i int) string { return fmt.Sprint("127.0.3.", i%attackers+1) }

// attackRun attacks, once or for as long as the context is not done. from is an address to come from.
type attackRun = func(ctx context.Context, o *attackOrder, from string) error

// attack is a way to take the resources of the API from others.
type attack struct {
	name string
	run  attackRun
	// held says that the server must end what the attack began: run returns when it has.
	held bool
	long bool // takes long, and is for the full size
}

// runAttack is the process of an attack: it says how often it has done what it does, and of which errors the last was.
func runAttack(text string) int {
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19)
	var o attackOrder
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Println(err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for _, a := range attacks {
		if a.name != o.Name {
			continue
		}
		fmt.Println("attacking")
		var rounds, failed atomic.Int64
		var last atomic.Value
		var all sync.WaitGroup
		for i := range attackers {
			all.Go(func() {
				for first := true; ctx.Err() == nil && (first || !a.held); first = false {
					err := a.run(ctx, &o, attackerAddress(i))
					rounds.Add(1)
					if err != nil && ctx.Err() == nil {
						failed.Add(1)
						last.Store(err.Error())
					}
				}
			})
		}
		all.Wait()
		if a.held && failed.Load() > 0 {
			fmt.Printf("not ended: %v\n", last.Load())
		}
		fmt.Printf("ended after %d rounds, the last error of %d is %v\n", rounds.Load(), failed.Load(), last.Load())
		return 0
	}
	fmt.Println("no attack has the name", o.Name)
	return 1
}

// listenerEnv is the environment variable of a process with an API that belongs to no manager: the users' file. Attacks
// on it cost the machine as much as those on a manager.
const listenerEnv = "IBSM_TEST_LISTENER"

// runListener serves until it is killed.
func runListener(path string) int {
	priority.Manage()
	control := ctl.New(ctl.Config{})
	server, err := api.Listen(api.Config{Addr: "127.0.0.1:0", Users: users.NewKeeper(path, time.Now), Control: control,
		Routes: append(control.Routes(), ufm.New(ufm.Config{}).Routes()...), Audit: func(*ctl.Audited) {},
		Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		fmt.Println("listening at " + server.Addr() + ";")
		err = server.Serve(context.Background())
	}
	fmt.Println(err)
	return 1
}

// endsWithin is by when the server must have ended what makes no progress.
const endsWithin = 40 * time.Second

// plain opens a connection; it ends with the context.
func (o *attackOrder) plain(ctx context.Context, from string) (net.Conn, error) {
	c, err := dialFrom(from).DialContext(ctx, "tcp", o.Addr)
	if err == nil {
		context.AfterFunc(ctx, func() { c.Close() })
	}
	return c, err
}

// secure opens one with TLS.
func (o *attackOrder) secure(ctx context.Context, from, proto string) (*tls.Conn, error) {
	c, err := o.plain(ctx, from)
	if err != nil {
		return nil, err
	}
	of := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{proto}})
	if err := of.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return of, nil
}

// frame appends a frame of HTTP/2.
func frame(to []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	to = append(to, byte(n>>16), byte(n>>8), byte(n), kind, flags, byte(stream>>24), byte(stream>>16), byte(stream>>8),
		byte(stream))
	return append(to, payload...)
}

// Types and flags of frames of HTTP/2.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameWindow       = 8
	frameContinuation = 9

	flagEndStream  = 1
	flagEndHeaders = 4
)

// hpack appends a field of a header as HPACK's literal without an index.
func hpack(to []byte, name, value string) []byte {
	to = append(to, 0)
	for _, text := range []string{name, value} {
		if n := len(text); n < 127 {
			to = append(to, byte(n))
		} else {
			to = append(to, 127)
			for n -= 127; n >= 128; n >>= 7 {
				to = append(to, byte(n)|128)
			}
			to = append(to, byte(n))
		}
		to = append(to, text...)
	}
	return to
}

// headers is the header of a request of HTTP/2.
func (o *attackOrder) headers(method, path, token string) []byte {
	h := hpack(nil, ":method", method)
	h = hpack(h, ":scheme", "https")
	h = hpack(h, ":authority", o.Addr)
	h = hpack(h, ":path", path)
	if token != "" {
		h = hpack(h, "authorization", "Bearer "+token)
	}
	return h
}

// http2 opens a connection of HTTP/2. window is that of each stream for what the server sends.
func (o *attackOrder) http2(ctx context.Context, from string, window uint32) (*tls.Conn, error) {
	c, err := o.secure(ctx, from, "h2")
	if err != nil {
		return nil, err
	}
	settings := []byte{0, 4, byte(window >> 24), byte(window >> 16), byte(window >> 8), byte(window)}
	_, err = c.Write(frame([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frameSettings, 0, 0, settings))
	return c, err
}

// pour writes to a connection until the server ends it. What the server writes is read if read says so.
func pour(c net.Conn, read bool, next func() []byte) error {
	defer c.Close()
	if read {
		go io.Copy(io.Discard, c)
	}
	for {
		if _, err := c.Write(next()); err != nil {
			return err
		}
	}
}

// drip writes a byte each half second until the server ends the connection.
func drip(c net.Conn, each []byte) error {
	defer c.Close()
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, c)
		close(ended)
	}()
	pace := time.NewTicker(time.Second / 2)
	defer pace.Stop()
	late := time.After(endsWithin)
	for {
		select {
		case <-ended:
			return nil
		case <-late:
			return fmt.Errorf("a connection still is after %v", endsWithin)
		case <-pace.C:
			c.Write(each) // an error means that it has ended
		}
	}
}

// several are what one attacker opens at a time.
func several(n int, one func() error) error {
	errs := make(chan error, n)
	for range n {
		go func() { errs <- one() }()
	}
	var last error
	for range n {
		if err := <-errs; err != nil {
			last = err
		}
	}
	return last
}

// repeated is a text so many times.
func repeated(text string, n int) []byte { return bytes.Repeat([]byte(text), n) }

// resets are requests that are taken back at once.
func resets(path func(*attackOrder) []byte) attackRun {
	return func(ctx context.Context, o *attackOrder, from string) error {
		c, err := o.http2(ctx, from, 1<<20)
		if err != nil {
			return err
		}
		stream, header := uint32(1), path(o)
		return pour(c, true, func() (text []byte) {
			for range 100 {
				text = frame(text, frameHeaders, flagEndHeaders|flagEndStream, stream, header)
				text = frame(text, frameReset, 0, stream, []byte{0, 0, 0, 8})
				stream += 2
			}
			return text
		})
	}
}

// unread are frames that the server answers, while nothing of that is read.
func unread(kind byte, payload []byte) attackRun {
	return func(ctx context.Context, o *attackOrder, from string) error {
		return several(8, func() error {
			c, err := o.http2(ctx, from, 0)
			if err != nil {
				return err
			}
			var text []byte
			for range 500 {
				text = frame(text, kind, 0, 0, payload)
			}
			return pour(c, false, func() []byte { return text })
		})
	}
}

// requests sends a request again and again.
func requests(each func(o *attackOrder, n int) *http.Request) attackRun {
	var count atomic.Int64
	return func(ctx context.Context, o *attackOrder, from string) error {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			DialContext: dialFrom(from).DialContext, ForceAttemptHTTP2: count.Add(1)%2 == 0}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: endsWithin}
		return several(4, func() (last error) {
			for ctx.Err() == nil {
				r := each(o, int(count.Add(1)))
				reply, err := client.Do(r.WithContext(ctx))
				if err != nil {
					last = err
					continue
				}
				if _, err := io.Copy(io.Discard, reply.Body); err != nil {
					last = err
				}
				reply.Body.Close()
				if reply.StatusCode >= 500 && reply.StatusCode != 503 && reply.StatusCode != 501 {
					last = fmt.Errorf("%s %s: %s", r.Method, r.URL.Path, reply.Status)
				}
			}
			return last
		})
	}
}

// request is one of an attacker.
func (o *attackOrder) request(method, path, authorization, body string) *http.Request {
	r, err := http.NewRequest(method, "https://"+o.Addr+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

// routesWithBody are all requests that have one.
var routesWithBody = sync.OnceValue(func() (all []ctl.Route) {
	for _, rt := range append(ctl.New(ctl.Config{}).Routes(), ufm.New(ufm.Config{}).Routes()...) {
		if rt.Body != (ctl.Content{}) {
			all = append(all, rt)
		}
	}
	return all
})

// bodies sends a body to each request that has one.
func bodies(bodies ...string) attackRun {
	return requests(func(o *attackOrder, n int) *http.Request {
		routes := routesWithBody()
		rt := &routes[n%len(routes)]
		return o.request(rt.Method, strings.Replace(rt.Path, "{name}", "red", 1), "Bearer "+o.Admin,
			bodies[n/len(routes)%len(bodies)])
	})
}

func zipped(text []byte) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	return b.String()
}

// slowBody is a request whose body comes byte by byte. Its status shows when it has ended.
func slowBody(ctx context.Context, o *attackOrder, from string, proto string) error {
	path := "/ufmRest/resources/pkeys"
	if proto == "h2" {
		c, err := o.http2(ctx, from, 1<<20)
		if err != nil {
			return err
		}
		defer c.Close()
		text := frame(nil, frameHeaders, flagEndHeaders, 1, o.headers("POST", path, o.Admin))
		if _, err := c.Write(text); err != nil {
			return err
		}
		go drip(c, frame(nil, frameData, 0, 1, []byte{' '}))
		return stream1Ends(c)
	}
	c, err := o.secure(ctx, from, proto)
	if err != nil {
		return err
	}
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100000\r\n\r\n", path,
		o.Admin)
	return drip(c, []byte{' '})
}

// unreadLists are as many requests of a connection as there can be, of whose replies no byte may be sent.
func unreadLists(ctx context.Context, o *attackOrder, from string) error {
	c, err := o.http2(ctx, from, 0)
	if err != nil {
		return err
	}
	defer c.Close()
	var text []byte
	for i := range uint32(64) {
		text = frame(text, frameHeaders, flagEndHeaders|flagEndStream, 2*i+1,
			o.headers("GET", "/v1/nodes", o.Tokens[int(from[len(from)-1])%len(o.Tokens)]))
	}
	if _, err := c.Write(text); err != nil {
		return err
	}
	return stream1Ends(c)
}

// stream1Ends returns when the server has ended the first stream of a connection, or all of it.
func stream1Ends(c net.Conn) error {
	c.SetReadDeadline(time.Now().Add(endsWithin))
	for from, head := bufio.NewReader(c), make([]byte, 9); ; {
		if _, err := io.ReadFull(from, head); err != nil {
			if os.IsTimeout(err) {
				return fmt.Errorf("a stream still is after %v", endsWithin)
			}
			return nil
		}
		if _, err := from.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2])); err != nil {
			return nil
		}
		if head[8] == 1 && (head[3] == frameReset || head[3] <= frameHeaders && head[4]&flagEndStream != 0) {
			return nil
		}
	}
}

var attacks = []attack{
	{name: "connections", run: func(ctx context.Context, o *attackOrder, from string) error {
		for range o.Conns / attackers {
			if _, err := o.plain(ctx, from); err != nil {
				return err
			}
		}
		fmt.Println("open")
		<-ctx.Done()
		return nil
	}},
	{name: "handshakes", run: func(ctx context.Context, o *attackOrder, from string) error {
		c, err := o.secure(ctx, from, "h2")
		if err == nil {
			c.Close()
		}
		return err
	}},
	{name: "random bytes", run: func(ctx context.Context, o *attackOrder, from string) error {
		c, err := o.plain(ctx, from)
		if err != nil {
			return err
		}
		junk := []byte("\x16\x03\x01\xff\xff" + strings.Repeat("\x00\xff\x16\x03", 1000))
		return pour(c, true, func() []byte { return junk })
	}},
	{name: "header without end, HTTP/1.1", run: func(ctx context.Context, o *attackOrder, from string) error {
		c, err := o.secure(ctx, from, "http/1.1")
		if err != nil {
			return err
		}
		io.WriteString(c, "GET / HTTP/1.1\r\n")
		lines := repeated("X-Header: "+strings.Repeat("x", 100)+"\r\n", 600)
		return pour(c, true, func() []byte { return lines })
	}},
	{name: "header without end, HTTP/2", run: func(ctx context.Context, o *attackOrder, from string) error {
		c, err := o.http2(ctx, from, 1<<20)
		if err != nil {
			return err
		}
		var block []byte
		for len(block) < 15_000 {
			block = hpack(block, "x-header", strings.Repeat("x", 100))
		}
		more := frame(nil, frameContinuation, 0, 1, block)
		text := frame(nil, frameHeaders, flagEndStream, 1, o.headers("GET", "/", ""))
		return pour(c, true, func() []byte {
			defer func() { text = more }()
			return text
		})
	}},
	{name: "empty CONTINUATION frames", run: func(ctx context.Context, o *attackOrder, from string) error {
		c, err := o.http2(ctx, from, 1<<20)
		if err != nil {
			return err
		}
		more := bytes.Repeat(frame(nil, frameContinuation, 0, 1, nil), 1000)
		text := frame(nil, frameHeaders, flagEndStream, 1, o.headers("GET", "/", ""))
		return pour(c, true, func() []byte {
			defer func() { text = more }()
			return text
		})
	}},
	{name: "requests taken back", run: resets(func(o *attackOrder) []byte { return o.headers("GET", "/v1/nodes", "") })},
	{name: "requests of a user taken back", run: resets(func(o *attackOrder) []byte {
		return o.headers("GET", "/v1/nodes", o.Tokens[0])
	})},
	{name: "unread answers to PING", run: unread(framePing, make([]byte, 8))},
	{name: "unread answers to SETTINGS", run: unread(frameSettings, nil)},
	{name: "requests without a credential", run: requests(func(o *attackOrder, n int) *http.Request {
		return o.request("GET", []string{"/v1/nodes", "/leader", "/none"}[n%3], "", "")
	})},
	{name: "wrong passwords", run: requests(func(o *attackOrder, n int) *http.Request {
		text := fmt.Sprintf("%s:wrong password %d %d", operator, os.Getpid(), n)
		return o.request("GET", "/v1/status", "Basic "+base64.StdEncoding.EncodeToString([]byte(text)), "")
	})},
	{name: "a wrong password again", run: requests(func(o *attackOrder, n int) *http.Request {
		text := fmt.Sprintf("%s:wrong password", operator)
		return o.request("GET", "/v1/status", "Basic "+base64.StdEncoding.EncodeToString([]byte(text)), "")
	})},
	{name: "unknown tokens", run: requests(func(o *attackOrder, n int) *http.Request {
		return o.request("GET", "/v1/status", fmt.Sprintf("Bearer ibsm_%043d", n), "")
	})},
	{name: "deep and long JSON", run: bodies(strings.Repeat("[", 10_000), strings.Repeat(`{"pkey":`, 10_000),
		`{"members":`+strings.Repeat("[", 10_000), strings.Repeat("7", 1<<20), `{"pkey":`+strings.Repeat("7", 1<<20)+`}`,
		`{"mtu":`+strings.Repeat("7", 1<<20)+`,"mtu_limit":1e`+strings.Repeat("9", 1<<20)+`}`,
		`{"pkey":"0x2fb","rate_limit":`+strings.Repeat("7", 1<<20)+`}`,
		`{"pkey":"`+strings.Repeat(`\u0000`, 1<<17)+`"}`, strings.Repeat(" ", 9<<20), `{"`+strings.Repeat("x", 1<<20)+`":1}`)},
	{name: "bodies with gzip", run: func() attackRun {
		text := zipped(bytes.Repeat([]byte{' '}, 64<<20))
		return requests(func(o *attackOrder, n int) *http.Request {
			routes := routesWithBody()
			rt := &routes[n%len(routes)]
			r := o.request(rt.Method, strings.Replace(rt.Path, "{name}", "red", 1), "Bearer "+o.Admin, text)
			r.Header.Set("Content-Encoding", "gzip")
			return r
		})
	}()},
	{name: "requests whose answers are not read", run: func(ctx context.Context, o *attackOrder, from string) error {
		return several(8, func() error {
			c, err := o.secure(ctx, from, "http/1.1")
			if err != nil {
				return err
			}
			text := repeated("GET /v1/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+o.Tokens[1]+"\r\n\r\n",
				100)
			return pour(c, false, func() []byte { return text })
		})
	}},
	{name: "lists that are not read, HTTP/2", held: true, run: unreadLists},
	{name: "connections that say nothing", held: true, run: func(ctx context.Context, o *attackOrder,
		from string) error {
		return several(16, func() error {
			c, err := o.plain(ctx, from)
			if err != nil {
				return err
			}
			return drip(c, nil)
		})
	}},
	{name: "slow handshakes", held: true, run: func(ctx context.Context, o *attackOrder, from string) error {
		return several(16, func() error {
			c, err := o.plain(ctx, from)
			if err != nil {
				return err
			}
			c.Write([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 252})
			return drip(c, []byte{3})
		})
	}},
	{name: "slow headers, HTTP/1.1", held: true, run: func(ctx context.Context, o *attackOrder, from string) error {
		return several(16, func() error {
			c, err := o.secure(ctx, from, "http/1.1")
			if err != nil {
				return err
			}
			io.WriteString(c, "GET / HTTP/1.1\r\nX: ")
			return drip(c, []byte{'x'})
		})
	}},
	{name: "slow headers, HTTP/2", held: true, run: func(ctx context.Context, o *attackOrder, from string) error {
		return several(16, func() error {
			c, err := o.http2(ctx, from, 1<<20)
			if err != nil {
				return err
			}
			c.Write(frame(nil, frameHeaders, flagEndStream, 1, o.headers("GET", "/", "")))
			return drip(c, frame(nil, frameContinuation, 0, 1, nil))
		})
	}},
	{name: "slow bodies, HTTP/1.1", held: true, run: func(ctx context.Context, o *attackOrder, from string) error {
		return several(16, func() error { return slowBody(ctx, o, from, "http/1.1") })
	}},
	{name: "slow bodies, HTTP/2", held: true, run: func(ctx context.Context, o *attackOrder, from string) error {
		return several(16, func() error { return slowBody(ctx, o, from, "h2") })
	}},
	{name: "unread answers, then a frame now and then", held: true, long: true, run: func() attackRun {
		var once sync.Once
		var most int
		var err error
		return func(ctx context.Context, o *attackOrder, from string) error {
			if once.Do(func() { most, err = o.mostUnread(ctx, from) }); err != nil {
				return err
			}
			return several(2, func() error { return o.keepUnread(ctx, from, most) })
		}
	}()},
}

// pings are frames that the server answers.
var pings = bytes.Repeat(frame(nil, framePing, 0, 0, make([]byte, 8)), 500)

// reluctant is a connection of HTTP/2 of which little is received.
func (o *attackOrder) reluctant(ctx context.Context, from string) (*tls.Conn, error) {
	c, err := o.http2(ctx, from, 0)
	if err == nil {
		err = c.NetConn().(*net.TCPConn).SetReadBuffer(4096)
	}
	return c, err
}

// mostUnread is how often a client can write pings until the server ends the connection, as too many of its answers
// wait.
func (o *attackOrder) mostUnread(ctx context.Context, from string) (most int, err error) {
	c, err := o.reluctant(ctx, from)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for late := time.Now().Add(endsWithin); time.Now().Before(late); most++ {
		if _, err := c.Write(pings); err != nil {
			return most, nil
		}
	}
	return 0, fmt.Errorf("any number of answers waits")
}

// keepUnread has as many answers wait as can, and then sends a frame now and then. A client that receives nothing does
// not learn that the server has ended the connection: it looks for that in the end.
func (o *attackOrder) keepUnread(ctx context.Context, from string, most int) error {
	c, err := o.reluctant(ctx, from)
	if err != nil {
		return err
	}
	defer c.Close()
	late := time.Now().Add(endsWithin)
	c.SetWriteDeadline(late)
	for range most - 6 {
		if _, err := c.Write(pings); err != nil {
			return ended(c.NetConn())
		}
	}
	for pace := time.NewTicker(time.Second / 2); time.Now().Before(late); <-pace.C {
		if _, err := c.Write(frame(nil, frameWindow, 0, 0, []byte{0, 0, 0, 1})); err != nil {
			break
		}
	}
	return ended(c.NetConn())
}

// ended is an error if the server has not ended a connection.
func ended(c net.Conn) error {
	c.SetReadDeadline(time.Now().Add(endsWithin))
	if _, err := io.Copy(io.Discard, c); os.IsTimeout(err) {
		return fmt.Errorf("a connection still is after %v", endsWithin)
	}
	return nil
}
