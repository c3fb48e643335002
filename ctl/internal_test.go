package ctl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ibsm/opensm/names"
	"ibsm/partitions"
	"ibsm/rights"
)

// TCPClient is a Client of a server that a test has elsewhere.
func TCPClient(addr string) *Client {
	return &Client{
		base: &url.URL{Scheme: "http", Host: "ibsm"}, http: http.Client{
			Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			}, DisableKeepAlives: true}}}
}

func TestRing(t *testing.T) {
	r := NewRing(3)
	for n := range 8 {
		for since := range uint64(10) {
			events, _ := r.Since(since, nil)
			var want []uint64
			for seq := max(since, uint64(max(n-3, 0))) + 1; seq <= uint64(n); seq++ {
				want = append(want, seq)
			}
			var got []uint64
			for _, e := range events {
				got = append(got, e.Seq)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || r.Last() != uint64(n) {
				t.Errorf("of %d events after %d: %v, want %v", n, since, got, want)
			}
		}
		_, added := r.Since(0, nil)
		r.Add(Event{})
		select {
		case <-added:
		default:
			t.Error("nobody is reported a new event")
		}
	}
}

// The log is as it would be without events, and events are what is Info or above.
func TestTee(t *testing.T) {
	record := func(log *slog.Logger) {
		log = log.With("guid", "0x1")
		log.Debug("unseen", "x", 1)
		log.Info("seen", "n", 1, "d", time.Second, "e", errors.New("bad"), "t", true)
		log.WithGroup("g").With("a", 1).Warn("grouped", "b", uint8(2))
		log.Log(context.Background(), slog.LevelError+4, "state")
		log.Error("bad\xff", "v", "\xff")
	}
	options := &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	var plain, teed bytes.Buffer
	ring := NewRing(10)
	record(slog.New(slog.NewTextHandler(&plain, options)))
	record(slog.New(Tee(slog.NewTextHandler(&teed, options), ring)))
	if plain.String() != teed.String() {
		t.Errorf("the log is\n%swithout events\n%s", teed.String(), plain.String())
	}
	events, _ := ring.Since(0, nil)
	var got []string
	for _, e := range events {
		if e.Time.IsZero() {
			t.Errorf("event %d has no time", e.Seq)
		}
		e.Time = time.Time{}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Replace(string(line), `"time":"0001-01-01T00:00:00Z",`, "", 1))
	}
	want := []string{
		`{"seq":1,"level":"info","text":"seen","attrs":{"d":"1s","e":"bad","guid":"0x1","n":1,"t":true}}`,
		`{"seq":2,"level":"warn","text":"grouped","attrs":{"g.a":1,"g.b":2,"guid":"0x1"}}`,
		`{"seq":3,"level":"info","text":"state","attrs":{"guid":"0x1"}}`,
		`{"seq":4,"level":"error","text":"bad` + `\ufffd` + `","attrs":{"guid":"0x1","v":"?"}}`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The answer to a connection too many is a whole one.
func TestBusy(t *testing.T) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(busy)), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	var f Failure
	if err != nil || json.Unmarshal(body, &f) != nil || f.Err == "" || !bytes.HasSuffix(busy, body) ||
		int(resp.ContentLength) != len(body) {
		t.Errorf("%q, %v", body, err)
	}
}

// plainSource has one of everything.
type plainSource struct{}

func (plainSource) SAStats() *SAStats   { return &SAStats{} }
func (plainSource) Activity() *Activity { return &Activity{} }

func (plainSource) Status() *Status                               { return &Status{} }
func (plainSource) Subnet() Subnet                                { return plainSource{} }
func (plainSource) Order(context.Context, Order) error            { return nil }
func (plainSource) Generation() uint64                            { return 1 }
func (plainSource) Why(string, string) (*Why, error)              { return &Why{}, nil }
func (plainSource) Path(from, to string) (*Path, error)           { return &Path{}, nil }
func (plainSource) Quality(context.Context) (*Quality, error)     { return &Quality{}, nil }
func (plainSource) Security() *Security                           { return &Security{} }
func (plainSource) Cabling() *Cabling                             { return &Cabling{} }
func (plainSource) Rails() *Rails                                 { return &Rails{} }
func (plainSource) QoS() (*QoS, error)                            { return &QoS{}, nil }
func (plainSource) Named(names.Map) Subnet                        { return plainSource{} }
func (plainSource) Dumps() []string                               { return []string{"lfts"} }
func (plainSource) Dump(context.Context, io.Writer, string) error { return nil }
func (plainSource) Rows(List, Filter) (iter.Seq[any], error)      { return func(func(any) bool) {}, nil }
func (plainSource) PathRecord(from, to string, ask *PathRequest) (*PathAnswer, error) {
	return &PathAnswer{}, nil
}
func (plainSource) Diagnose(port, other string) (iter.Seq[*Diagnosis], error) {
	return func(func(*Diagnosis) bool) {}, nil
}
func (plainSource) Plan(context.Context, PlanQuery) (*Plan, error) {
	return &Plan{Steps: func(func(string) bool) {}}, nil
}

// FuzzRequest: whatever is asked for, there is one answer, and it is JSON where it is
// said to be.
func FuzzRequest(f *testing.F) {
	for _, path := range []string{"/v1/status", "/v1/nodes?type=CA", "/v1/path?from=1&to=2", "/v1/why?port=1&other=2",
		"/v1/qos", "/v1/quality", "/v1/rails", "/v1/port-groups?group=x",
		"/v1/path-record?from=1&to=2&service_id=0x1&pkey=2&qos_class=3", "/v1/diff?from=1&to=2", "/v1/dump/lfts",
		"/v1/events?since=0x10", "/v1/counters/status", "/v1/counters?port=x", "/v1/counters/top?by=errors&most=3",
		"/v1/counters/congestion",
		"/v1/sweep?kind=light", "/v1/plan?reroute=1", "/v1/log-level?flags=3", "/metrics", "/v1/../x?%zz"} {
		f.Add(true, path)
		f.Add(false, path)
	}
	server := New(Config{Source: plainSource{}, Plan: plainSource{}.Plan,
		Metrics: func(http.ResponseWriter, *http.Request) error {
			return ErrBadRequest
		}})
	routes := server.Patient(server.handler(server.Routes(), true))
	f.Fuzz(func(t *testing.T, isPost bool, target string) {
		method := http.MethodGet
		if isPost {
			method = http.MethodPost
		}
		admin := rights.With(context.Background(), &rights.User{Role: rights.Admin})
		ctx, cancel := context.WithCancel(admin)
		cancel() // so that nobody follows for ever
		req, err := http.NewRequestWithContext(ctx, method, target, nil)
		if err != nil || !strings.HasPrefix(target, "/") {
			t.Skip("no request that a client could make")
		}
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, req)
		if kind := w.Header().Get("Content-Type"); kind == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: %d %q", method, target, w.Code, w.Body)
		}
	})
}

// FuzzPartition: what is taken of the body of a PUT is valid, and is taken alike when it is written again; of that of a
// PATCH each member is a port or a host. Errors are short, and valid UTF-8.
func FuzzPartition(f *testing.F) {
	for _, text := range []string{`{}`, `null`, `[]`, `{"pkey":"auto"}`, `{"pkey":"0x2fb","members":[{"guid":"0x1"}]}`,
		`{"name":"red","pkey":"0x12","note":"x","ipoib":true,"mtu":2048,"rate":100,"sl":1,"scope":5,"qkey":"0xb1b",
		"delete_when_empty":true,"members":[{"host":"node-7","membership":"limited"},{"guid":"00:00:00:00:00:00:00:01",
		"membership":"both","index0":true,"state":"x"}],"etag":"e","ready":false,"states":{}}`,
		`{"add":[{"host":"node-7"}],"remove":[{"guid":"0x2"}]}`, `{"pkey":7}`, `{"mtu":1e999}`, `{"sl":"a","sl":"b"}`,
		strings.Repeat(`{"members":[`, 50)} {
		f.Add([]byte(text))
	}
	check := func(t *testing.T, err error) {
		if err != nil && (len(err.Error()) > 1000 || !utf8.ValidString(err.Error())) {
			t.Fatalf("error %q", err)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := parseWanted(bytes.NewReader(text), "red")
		check(t, err)
		if err == nil {
			out := Partition{Name: first.Name, PKey: "auto", Note: first.Note, IPoIB: first.IPoIB, MTU: first.MTU.Bytes(),
				Rate: first.Rate.Gbps(), SL: first.SL, Scope: first.Scope, QKey: fmt.Sprint(first.QKey),
				DeleteWhenEmpty: first.DeleteWhenEmpty}
			if first.Key != 0 {
				out.PKey = first.Key.String()
			}
			for _, m := range first.Members {
				member := PartitionMember{Host: m.Host, Membership: m.Membership.String(), Index0: m.Index0}
				if m.Membership == 0 {
					member.Membership = "full"
				}
				if m.Port != 0 {
					member.GUID = m.Port.String()
				}
				out.Members = append(out.Members, member)
			}
			written, err := json.Marshal(&out)
			if err != nil {
				t.Fatal(err)
			}
			for i := range first.Members {
				if m := &first.Members[i]; m.Membership == 0 {
					m.Membership = partitions.Full
				}
			}
			again, err := parseWanted(bytes.NewReader(written), "red")
			if err != nil || fmt.Sprint(again) != fmt.Sprint(first) {
				t.Fatalf("%s\nis taken as %+v, then %s as %+v, %v", text, first, written, again, err)
			}
		}
		edit, err := parseEdit(bytes.NewReader(text))
		check(t, err)
		if err != nil {
			return
		}
		for _, m := range append(edit.Add, edit.Remove...) {
			if (m.Port == 0) == (m.Host == "") {
				t.Fatalf("%s: the member %+v is not either a port or a host", text, m)
			}
		}
	})
}

// SetPatience has connections given up after another time. It is called before the first request.
func (c *Client) SetPatience(d time.Duration) { c.patience = d }
