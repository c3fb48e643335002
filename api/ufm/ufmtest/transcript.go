// Package ufmtest has what programs send to UFM, and what they need to get back, for tests: transcripts, clients that
// send them, and partitions and a subnet without a manager.
package ufmtest

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

//go:embed testdata
var files embed.FS

// Exchange is a request of a transcript, and the reply that the program needs.
type Exchange struct {
	Name   string
	Method string
	Path   string      // with the query
	Header [][2]string // in order; with the credential
	Body   string
	Status int    // 0 where the transcript does not have the reply
	Reply  string // the body
}

// IBKubernetes are the requests of the plug-in ufm of ib-kubernetes.
func IBKubernetes(tb testing.TB) []*Exchange { return parse(tb, "ib-kubernetes.http") }

// NICo are the requests of an infra controller, with a token (A), with a client certificate (B), and of an operator
// (D).
func NICo(tb testing.TB) []*Exchange { return parse(tb, "nico.http") }

// parse reads a transcript.
func parse(tb testing.TB, name string) (all []*Exchange) {
	tb.Helper()
	text, err := files.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut("\n"+strings.ReplaceAll(string(text), "\r\n", "\n"), "\n---- ")
	for block := range strings.SplitSeq(rest, "\n---- ") {
		title, rest, _ := strings.Cut(block, "\n")
		request, reply, answered := strings.Cut(rest, "\n<<<< ")
		for strings.HasPrefix(request, "#") {
			_, request, _ = strings.Cut(request, "\n")
		}
		e := &Exchange{Name: title}
		head, body, _ := strings.Cut(request, "\n\n")
		lines := strings.Split(head, "\n")
		line := strings.Fields(lines[0])
		if len(line) != 3 {
			tb.Fatalf("%s: %s: %q is no request", name, title, lines[0])
		}
		e.Method, e.Path, e.Body = line[0], line[1], strings.Trim(body, "\n")
		for _, h := range lines[1:] {
			field, value, _ := strings.Cut(h, ":")
			e.Header = append(e.Header, [2]string{field, strings.TrimSpace(value)})
		}
		if answered {
			reply, _, _ = strings.Cut(reply, "\n# ")
			head, body, _ := strings.Cut(reply, "\n\n")
			if e.Status, err = strconv.Atoi(strings.Fields(head)[0]); err != nil {
				tb.Fatalf("%s: %s: %v", name, title, err)
			}
			e.Reply = strings.TrimSpace(body)
		}
		all = append(all, e)
	}
	return all
}

// Reply is the reply to an Exchange.
type Reply struct {
	Status int
	Header http.Header
	Body   string
	Proto  string
}

// Client sends requests to a server.
type Client struct {
	URL   string      // of the server
	TLS   *tls.Config // nil for no TLS
	HTTP2 bool
	// Credential is the value of the header Authorization in the place of that of a transcript; nil for this one.
	Credential func(transcript string) string
	Seen       func(*Exchange, *Reply) // gets each request and its reply; nil for nobody
	Timeout    time.Duration           // of a reply; 0 for that of programs, which give up after ten seconds

	client *http.Client
}

// Send sends an exchange: over HTTP/1.1 with the bytes of the transcript, apart from the credential.
func (c *Client) Send(tb testing.TB, e *Exchange) *Reply {
	tb.Helper()
	send := c.raw
	if c.HTTP2 {
		send = c.http2
	}
	r, err := send(tb, e)
	if err != nil {
		tb.Fatalf("%s: %s %s: %v", e.Name, e.Method, e.Path, err)
	}
	if c.Seen != nil {
		c.Seen(e, r)
	}
	return r
}

// Do sends a request that no transcript has, with a credential that is any user's of a simulated fabric.
func (c *Client) Do(tb testing.TB, method, path, body string) *Reply {
	tb.Helper()
	e := &Exchange{Name: "request", Method: method, Path: path, Body: body,
		Header: [][2]string{{"Host", "ufm"}, {"Authorization", "Basic YWRtaW46cHc="}}}
	if body != "" {
		e.Header = append(e.Header, [2]string{"Content-Length", strconv.Itoa(len(body))})
	}
	return c.Send(tb, e)
}

func (c *Client) credential(header [2]string) string {
	if c.Credential != nil && strings.EqualFold(header[0], "Authorization") {
		return c.Credential(header[1])
	}
	return header[1]
}

// Close ends connections: the next request has one with the TLS that is set by then.
func (c *Client) Close() {
	if c.client != nil {
		c.client.CloseIdleConnections()
		c.client = nil
	}
}

// timeout is how long a reply may take.
func (c *Client) timeout() time.Duration { return cmp.Or(c.Timeout, 10*time.Second) }

// raw sends an exchange over HTTP/1.1, on a connection of its own.
func (c *Client) raw(tb testing.TB, e *Exchange) (*Reply, error) {
	at, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	var conn net.Conn
	if dialer := (&net.Dialer{Timeout: c.timeout()}); c.TLS == nil {
		conn, err = dialer.DialContext(tb.Context(), "tcp", at.Host)
	} else {
		config := c.TLS.Clone()
		config.NextProtos = []string{"http/1.1"}
		conn, err = (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(tb.Context(), "tcp", at.Host)
	}
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(c.timeout()))
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", e.Method, e.Path)
	for _, h := range e.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], c.credential(h))
	}
	if _, err := io.WriteString(conn, b.String()+"\r\n"+e.Body); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: e.Method})
	return read(resp, err)
}

// http2 sends an exchange over HTTP/2.
func (c *Client) http2(tb testing.TB, e *Exchange) (*Reply, error) {
	if c.client == nil {
		protocols := new(http.Protocols)
		protocols.SetHTTP2(true)
		t := &http.Transport{TLSClientConfig: c.TLS, Protocols: protocols, DisableCompression: true}
		tb.Cleanup(t.CloseIdleConnections)
		c.client = &http.Client{Transport: t, Timeout: c.timeout(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	req, err := http.NewRequestWithContext(tb.Context(), e.Method, c.URL, strings.NewReader(e.Body))
	if err != nil {
		return nil, err
	}
	for _, h := range e.Header {
		switch strings.ToLower(h[0]) {
		case "host":
			req.Host = h[1]
		case "content-length":
		default:
			req.Header.Set(h[0], c.credential(h))
		}
	}
	// the path as it is: from the parts of a URL another one may be made
	path, query, _ := strings.Cut(e.Path, "?")
	req.URL.Opaque, req.URL.RawQuery = "//"+req.Host+path, query
	return read(c.client.Do(req))
}

// read reads a reply whole.
func read(resp *http.Response, err error) (*Reply, error) {
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return &Reply{resp.StatusCode, resp.Header, string(body), resp.Proto}, err
}

// Sound reports what programs cannot live with in any reply.
func (r *Reply) Sound() error {
	switch {
	case r.Status >= 300 && r.Status < 400 || r.Header.Get("Location") != "":
		return fmt.Errorf("status %d, Location %q: it redirects", r.Status, r.Header.Get("Location"))
	case !utf8.ValidString(r.Body):
		return fmt.Errorf("%q is not valid UTF-8", r.Body)
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return fmt.Errorf("Content-Type %q", r.Header.Get("Content-Type"))
	case r.Header.Get("Content-Length") != strconv.Itoa(len(r.Body)):
		return fmt.Errorf("Content-Length %q of %d bytes", r.Header.Get("Content-Length"), len(r.Body))
	case r.Header.Get("Content-Encoding") != "":
		return fmt.Errorf("Content-Encoding %q: nobody asked for it", r.Header.Get("Content-Encoding"))
	case strings.TrimSpace(r.Body) != r.Body:
		return fmt.Errorf("%q has blanks around it", r.Body)
	}
	var value any
	if err := json.Unmarshal([]byte(r.Body), &value); err != nil {
		return fmt.Errorf("%q is not JSON: %w", r.Body, err)
	}
	if hasNull(value) {
		return fmt.Errorf("%s has a null", r.Body)
	}
	return nil
}

// hasNull reports whether a value of JSON has a null anywhere.
func hasNull(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(value, hasNull)
	case map[string]any:
		for _, v := range value {
			if hasNull(v) {
				return true
			}
		}
	}
	return false
}

// Is reports how a reply differs from that of an exchange.
func (r *Reply) Is(e *Exchange) error {
	if err := r.Sound(); err != nil {
		return err
	}
	if e.Status != 0 && (r.Status != e.Status || r.Body != e.Reply) {
		return fmt.Errorf("status %d, %s\nwant %d, %s", r.Status, r.Body, e.Status, e.Reply)
	}
	return nil
}

// Has reports how a reply lacks what that of an exchange has: objects may have further members.
func (r *Reply) Has(e *Exchange) error {
	if err := r.Sound(); err != nil {
		return err
	}
	var got, want any
	if err := json.Unmarshal([]byte(e.Reply), &want); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(r.Body), &got); err != nil || r.Status != e.Status {
		return fmt.Errorf("status %d, %s, %v; want status %d", r.Status, r.Body, err, e.Status)
	}
	return lacks("", got, want)
}

// lacks reports what a value does not have of another one.
func lacks(at string, got, want any) error {
	switch want := want.(type) {
	case map[string]any:
		object, is := got.(map[string]any)
		if !is {
			return fmt.Errorf("%s is no object: %v", at, got)
		}
		for name, value := range want {
			if err := lacks(at+"."+name, object[name], value); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, is := got.([]any)
		if !is || len(list) != len(want) {
			return fmt.Errorf("%s: %v, want %d elements", at, got, len(want))
		}
		for i := range want {
			if err := lacks(fmt.Sprintf("%s[%d]", at, i), list[i], want[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if got != want {
		return fmt.Errorf("%s: %v, want %v", at, got, want)
	}
	return nil
}
