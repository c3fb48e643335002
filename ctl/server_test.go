package ctl_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

// counted are n rows.
func counted(n int) func(ctl.List, ctl.Filter) (iter.Seq[any], error) {
	return func(ctl.List, ctl.Filter) (iter.Seq[any], error) {
		return func(yield func(any) bool) {
			for i := range n {
				if !yield(&ctl.Node{Desc: fmt.Sprint(i)}) {
					return
				}
			}
		}, nil
	}
}

func TestReplies(t *testing.T) {
	s := &source{flags: 3, dump: func(w io.Writer) error { _, err := io.WriteString(w, "text\n"); return err }}
	s.status.Where = "here"
	s.rows = func(l ctl.List, f ctl.Filter) (iter.Seq[any], error) {
		if f.Node == "x" {
			return nil, fmt.Errorf("%w: node x", ctl.ErrNotFound)
		}
		return slices.Values([]any{&ctl.End{Desc: string(l)}, &ctl.End{Desc: f.Type + f.Node + f.State, Port: 2}}), nil
	}
	s.plan = func(reroute bool) (*ctl.Plan, error) {
		if reroute {
			return nil, fmt.Errorf("%w: not master", ctl.ErrNotNow)
		}
		return &ctl.Plan{Steps: slices.Values([]string{"one", "<two>"})}, nil
	}
	b := serve(t, s, ctl.Config{})
	b.events.Add(ctl.Event{Text: "first"})
	b.mustAnswer()
	for _, c := range []struct{ method, path, want string }{
		{get, "/v1/links", `{"generation":7,"links":[` + "\n" +
			`{"node":"","desc":"links","type":"","port":0,"lid":0}` + "\n" +
			`,{"node":"","desc":"","type":"","port":2,"lid":0}` + "\n]}\n"},
		{get, "/v1/why", `{"generation":7,"diagnoses":[` + "\n" +
			`{"port":{"node":"","desc":"","type":"","port":0,"lid":0},"state":"Down","works":false,"reasons":[]}` +
			"\n]}\n"},
		{get, "/v1/activity",
			`{"time":"0001-01-01T00:00:00Z","status":{"version":"","pid":0,"started":"0001-01-01T00:00:00Z","where":"here","state":"","phase":"","engines":null,"engine":"","mastership_term":0,"events":0,"sms":null},"sa":null,"sweeps":{"light":2},"phases":null,"smps":{"sent":0,"retries":0,"replied":0,"timed_out":0,"window":0,"on_wire":0,"overdue":0,"waiting":0,"path_limited":false},"traps":null,"bad_keys":null,"clients":{"seconds":0,"asked":0,"active":0,"most":null}}` + "\n"},
		{get, "/v1/generations", `{"generations":[` + "\n" +
			`{"generation":3,"last":4,"time":"0001-01-01T00:00:00Z","counts":{"node":1},"entries":0}` + "\n]}\n"},
		{get, "/v1/diff", `{"rows":[` + "\n" + `{"span":{"from":0,"to":4,"time":"0001-01-01T00:00:00Z","entries":0}}` +
			"\n" +
			`,{"change":{"what":"node","name":"a","to":"CA"}}` + "\n]}\n"},
		{post, "/v1/plan", "{\"outdated\":false,\"routes\":\"\",\"steps\":[\n\"one\"\n,\"<two>\"\n]}\n"},
		{get, "/v1/dump/lfts", "text\n"},
		{get, "/v1/congestion-control", `{"enabled":true,"requests":2,"devices":null}` + "\n"},
		{get, "/v1/rails", `{"seen":"no rails: none","units":0,"rails":null,"wrong":null}` + "\n"},
		{get, "/v1/quality",
			`{"links":4,"unused":0,"mean":0,"fullest":9,"several":0,"cut":0,"all":{"hosts":0,"shifts":0,"shift":0,"worst":0,"bisection":0},"partitions":null}` + "\n"},
		{get, "/v1/qos", `{"default":{"position":"","limits":"","sl":3},"rules":null,"levels":null,"groups":null}` +
			"\n"},
		{get, "/v1/sa-stats",
			`{"replies":[{"attribute":"PathRecord","status":"ok","count":3}],"dropped":[],"packets":[{"kind":"SA request","received":5,"dropped":2}],"times":[],"transfers":{"sent":0,"received":0,"failed":0,"under_way":0,"repeated":0,"refused":0},"registrations":{"full":0,"mlid_share":0,"late":0,"expired":0,"reset":0,"absent":0,"unwritten":0,"defects":0,"notices":0,"notices_dropped":0,"reports":0,"reports_dropped":0,"unanswered":0,"replies_waiting":0,"reports_waiting":0}}` + "\n"},
		{get, "/v1/log-level", `{"flags":3}` + "\n"},
		{get, "/v1/events", `{"seq":1,"time":"0001-01-01T00:00:00Z","level":"","text":"first"}` + "\n"},
		{get, "/v1/config",
			`{"settings":[{"key":"lmc","value":"1","chosen":true,"source":"master","position":"settings of 0x1.toml"},{"key":"sm_key","value":"-","chosen":false,"source":"default","note":"not shown"}]}` + "\n"},
		{post, "/v1/reload",
			`{"file":"f","refused":false,"changed":["lmc"],"findings":[{"file":"f","line":2,"column":5,"severity":"note","text":"text"}]}` + "\n"},
		{post, "/v1/security/rotate", `{"number":3,"events":1}` + "\n"},
		{post, "/v1/reroute", `{"order":"reroute","events":1}` + "\n"},
		{get, "/v1/counters/status",
			`{"enabled":true,"interval":0,"sweeping":false,"age":-1,"took":0,"ports":2,"answered":0,"outstanding":0,"images":0,"bytes":0,"absent":0,"sweeps":0,"late":0,"asked":0,"unanswered":0,"resets":0,"findings":0}` + "\n"},
		{get, "/v1/counters",
			`{"ports":[` + "\n" +
				`{"node":"","desc":"","port":0,"read":"0001-01-01T00:00:00Z","age":0,"span":0,"since":"0001-01-01T00:00:00Z","reading":"","answered":false,"complete":false,"utilization":0,"waiting":0,"sent":0,"received":0,"errors":0,"counters":[{"name":"a","value":1,"total":2,"at_least":true,"rose":3,"error":true}]}` + "\n]}\n"},
		{get, "/v1/links/sick",
			`{"rules":null,"since":"0001-01-01T00:00:00Z","age":-1,"links":null,"more":0,"excluded":null}` + "\n"},
		{post, "/v1/counters/clear", `{"ports":1}` + "\n"},
	} {
		if got := b.text(c.method, c.path); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.path, got, c.want)
		}
	}
	if status, text := b.raw(post, "/v1/plan?security=tenants", ""); status != 200 ||
		!strings.Contains(text, `"settings":[],"steps":[`) {
		t.Errorf("a plan with security tenants: %d %q", status, text)
	}
	var path ctl.Path
	var answer ctl.PathAnswer
	asked := url.Values{"from": {"a"}, "to": {"b"}, "service_id": {"0x10"}, "pkey": {"0x8001"}, "qos_class": {"5"}}
	if err := b.Get(t.Context(), "/v1/path-record", asked, &answer); err != nil ||
		answer.Rule != "a to b, service 16, P_Key 32769, class 5" {
		t.Errorf("%+v %v", answer, err)
	}
	if err := b.Get(t.Context(), "/v1/path", url.Values{"from": {"a b"}, "to": {"c&d"}}, &path); err != nil ||
		path.Result != "a b to c&d" {
		t.Errorf("path: %q, %v", path.Result, err)
	}
	var flags ctl.LogFlags
	if err := b.Post(t.Context(), "/v1/log-level", url.Values{"flags": {"0x43"}}, &flags); err != nil ||
		flags.Flags != 0x43 || s.flags != 0x43 {
		t.Errorf("log level: %#x, %v", flags.Flags, err)
	}
	for kind, want := range map[string]ctl.Order{"light": ctl.LightSweep, "": ctl.HeavySweep} {
		s.orders = nil
		if err := b.Post(t.Context(), "/v1/sweep", url.Values{"kind": {kind}}, nil); err != nil ||
			!slices.Equal(s.orders, []ctl.Order{want}) {
			t.Errorf("sweep %q: %q, %v", kind, s.orders, err)
		}
	}
}

func TestFailures(t *testing.T) {
	s := &source{rows: counted(1)}
	s.plan = func(bool) (*ctl.Plan, error) { return nil, fmt.Errorf("%w: not master", ctl.ErrNotNow) }
	b := serve(t, s, ctl.Config{})
	for _, c := range []struct {
		method, path, body string
		none               bool
		status             int
		says               string
	}{
		{method: get, path: "/", status: 404, says: `"hint":"docs/ctl.md`},
		{method: get, path: "/v2/status", status: 404, says: "no such request"},
		{method: post, path: "/v1/status", status: 404, says: "POST /v1/status"},
		{method: get, path: "/v1/sweep", status: 404, says: "GET /v1/sweep"},
		{method: get, path: "/v1/status?x=1", status: 400, says: "unknown parameter"},
		{method: get, path: "/v1/nodes?type=CA&type=switch", status: 400, says: "repeated parameter"},
		{method: get, path: "/v1/nodes", none: true, status: 503, says: "subnet is not known"},
		{method: get, path: "/v1/path-record?from=1", status: 400, says: "parameter to is required"},
		{method: get, path: "/v1/path-record?from=1&to=2&qos_class=0x1000", status: 400, says: "qos_class"},
		{method: get, path: "/v1/path-record?from=1&to=2&pkey=x", status: 400, says: "at most 16 bits"},
		{method: get, path: "/v1/path?from=1", status: 400, says: "parameter to is required"},
		{method: get, path: "/v1/path?from=1&to=nowhere", status: 404, says: `"error":"no node is named nowhere"`},
		{method: get, path: "/v1/why?port=nobody", status: 404, says: `"error":"no node is named nobody"`},
		{method: get, path: "/v1/why?other=x", status: 400, says: "requires parameter port"},
		{method: get, path: "/v1/why?node=x", status: 400, says: "unknown parameter"},
		{method: get, path: "/v1/why", none: true, status: 503, says: "subnet is not known"},
		{method: get, path: "/v1/diff?from=1&to=5", status: 404, says: "no such generation"},
		{method: get, path: "/v1/diff?from=x", status: 400, says: "expected a number"},
		{method: get, path: "/v1/generations?from=1", status: 400, says: "unknown parameter"},
		{method: get, path: "/v1/hosts?rail=0", status: 400, says: "expected the number of a rail"},
		{method: get, path: "/v1/hosts?rail=1&rail=x", status: 400, says: "ibsmctl rails lists them"},
		{method: get, path: "/v1/hosts?rail=65536", status: 400, says: "expected the number of a rail"},
		{method: get, path: "/v1/hosts?device=a" + strings.Repeat("&device=b", 64), status: 400, says: "more than 64"},
		{method: get, path: "/v1/hosts?name=a&name=b", status: 400, says: "repeated parameter name"},
		{method: get, path: "/v1/dump/x", status: 404, says: "dumps are lfts"},
		{method: get, path: "/v1/counters?ports=1", status: 400, says: "unknown parameter"},
		{method: get, path: "/v1/counters?brief=x", status: 400, says: "expected 0 or 1"},
		{method: get, path: "/v1/counters/top?by=x", status: 400, says: "expected errors, traffic or congestion"},
		{method: get, path: "/v1/counters/top?by=errors&most=x", status: 400, says: "expected a number"},
		{method: get, path: "/v1/counters?port=none", status: 503, says: "not now"},
		{method: post, path: "/v1/counters/clear?port=none", status: 503, says: "not now"},
		{method: post, path: "/v1/sweep?kind=x", status: 400, says: "light or heavy"},
		{method: post, path: "/v1/drain", status: 400, says: "expected switch=SWITCH"},
		{method: post, path: "/v1/drain?all=1", status: 400, says: "expected switch=SWITCH"},
		{method: post, path: "/v1/undrain?all=1&switch=a", status: 400, says: "expected switch=SWITCH"},
		{method: post, path: "/v1/drain?switch=a&switch=b", status: 404, says: "has no configuration"},
		{method: post, path: "/v1/plan?reroute=yes", status: 400, says: "expected 0 or 1"},
		{method: post, path: "/v1/plan?security=open", status: 400, says: "expected tenants"},
		{method: post, path: "/v1/security/rotate?x=1", status: 400, says: "unknown parameter"},
		{method: post, path: "/v1/plan", status: 503, says: "not master"},
		{method: post, path: "/v1/log-level", status: 400, says: "parameter flags is required"},
		{method: post, path: "/v1/log-level?flags=256", status: 400, says: "8 bits"},
		{method: get, path: "/v1/events?since=-1", status: 400, says: "since"},
		{method: post, path: "/v1/reroute?kind=light", status: 400, says: "unknown parameter"},
		{method: post, path: "/v1/reload?file=x", status: 400, says: "unknown parameter"},
		{method: post, path: "/v1/sweep", body: "x", status: 400, says: "has a body"},
	} {
		s.none = c.none
		status, text := b.raw(c.method, c.path, c.body)
		if status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %q, want %d with %q", c.method, c.path, status, text, c.status, c.says)
		}
	}
	if n := b.server.Stats().Errors.Load(); n != 46 {
		t.Errorf("%d errors counted", n)
	}
}

// TestNamesOfRequest: the body of a request whose reply has names in texts is a node-name-map. It is as tolerant as the
// manager's own file, and bounded.
func TestNamesOfRequest(t *testing.T) {
	s := &source{rows: counted(1), dump: func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }}
	b := serve(t, s, ctl.Config{})
	wrong := strings.Repeat("no GUID\n", 1<<10) // of which the first errors end the reading, but not the request
	for _, path := range []string{"/v1/why", "/v1/path-record?from=a&to=b", "/v1/dump/lfts"} {
		for _, body := range []string{"0x1 spine\n", "0x1 \"spine\" # mine\n" + wrong} {
			s.given = nil
			if status, text := b.raw(get, path, body); status != 200 || len(s.given) != 1 || s.given[1] != "spine" {
				t.Errorf("%s: %d %q, names %v", path, status, text, s.given)
			}
		}
		s.given = nil
		if status, _ := b.raw(get, path, ""); status != 200 || s.given != nil {
			t.Errorf("%s without a body: %d, names %v", path, status, s.given)
		}
	}
	if status, text := b.raw(get, "/v1/why",
		strings.Repeat("# a comment that is longer than any map\n", ctl.MaxNames/40+1)); status != 400 ||
		!strings.Contains(text, "the node-name-map: more than 16777216 bytes: no more are read") {
		t.Errorf("a map without end: %d %q", status, text)
	}
	b.Client.Named([]byte("0x2 leaf"))
	var why ctl.PathAnswer
	if err := b.Get(t.Context(), "/v1/path-record", url.Values{"from": {"a"}, "to": {"b"}}, &why); err != nil ||
		s.given[2] != "leaf" {
		t.Errorf("a client with a map: %v, names %v", err, s.given)
	}
	if err := b.Get(t.Context(), "/v1/status", nil, nil); err != nil {
		t.Error(err)
	}
}

// raw makes a request as others do.
func (b *bench) raw(method, path, body string) (status int, text string) {
	b.Helper()
	c := b.dial()
	defer c.Close()
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, path,
		len(body), body)
	reply, err := io.ReadAll(c)
	if err != nil {
		b.Fatal(err)
	}
	head, text, _ := strings.Cut(string(reply), "\r\n\r\n")
	fmt.Sscanf(head, "HTTP/1.1 %d", &status)
	return status, text
}

// A list that ends early, because the server or what it shows broke, is not taken for
// the whole.
func TestCutReply(t *testing.T) {
	s := &source{dump: func(w io.Writer) error {
		io.WriteString(w, strings.Repeat("x", 1<<17))
		return errors.New("broken")
	}}
	b := serve(t, s, ctl.Config{})
	body, err := b.Open(t.Context(), get, "/v1/dump/lfts", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if n, err := io.Copy(io.Discard, body); err == nil {
		t.Errorf("%d bytes and no error", n)
	}

	whole := `{"generation":1,"nodes":[` + "\n" + `{"desc":"0"}` + "\n" + `,{"desc":"1"}` + "\n]}\n"
	for n := range len(whole) - 1 { // its last newline may be missing
		cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, whole[:n])
		}))
		err := list(cut, nil)
		cut.Close()
		if err == nil {
			t.Errorf("no error for %q", whole[:n])
		}
	}
}

func TestAll(t *testing.T) {
	const rows = 5000
	b := serve(t, &source{rows: counted(rows)}, ctl.Config{})
	n := 0
	err := ctl.All(t.Context(), b.Client, get, "/v1/nodes", nil, func(v *ctl.Node) error {
		if v.Desc != fmt.Sprint(n) {
			t.Fatalf("row %d is %q", n, v.Desc)
		}
		n++
		return nil
	})
	if err != nil || n != rows {
		t.Errorf("%d rows, %v", n, err)
	}
	enough := errors.New("enough")
	if err := ctl.All(t.Context(), b.Client, get, "/v1/nodes", nil, func(*ctl.Node) error {
		return enough
	}); err != enough {
		t.Errorf("the error of the reader: %v", err)
	}
}

// A client learns whether a plan is outdated, also of a manager that does not say.
func TestOutdatedPlan(t *testing.T) {
	s := &source{rows: counted(1)}
	b := serve(t, s, ctl.Config{})
	for _, head := range []ctl.PlanHead{{Outdated: true, Routes: "outdated"},
		{Unrouted: &ctl.Unrouted{Lost: ctl.Pairs{Count: 1, Listed: []ctl.Pair{{LID: 3, Reason: "["}}}},
			Routes: "lash \"[\"",
			Change: &ctl.PlanChange{
				Blocks: 7, Proof: "]}",
				After: ctl.EngineRoutes{Engine: "tree", Refused: []ctl.EngineRefusal{{Engine: "x", Reason: "y"}}},
			}}} {
		s.plan = func(bool) (*ctl.Plan, error) {
			return &ctl.Plan{PlanHead: head, Steps: slices.Values([]string{"outdated", "true"})}, nil
		}
		var steps []string
		got, err := b.Client.Plan(t.Context(), nil, func(step *string) error {
			steps = append(steps, *step)
			return nil
		})
		if !reflect.DeepEqual(got, head) || err != nil || !slices.Equal(steps, []string{"outdated", "true"}) {
			t.Errorf("%+v: %+v, %q, %v", head, got, steps, err)
		}
	}
	enough := errors.New("enough")
	if _, err := b.Client.Plan(t.Context(), nil, func(*string) error { return enough }); err != enough {
		t.Errorf("a client that stops: %v", err)
	}
	s.plan = func(bool) (*ctl.Plan, error) { return nil, ctl.ErrNotNow }
	if _, err := b.Client.Plan(t.Context(), nil, nil); err == nil {
		t.Error("no plan is no error")
	}
	if err := ctl.Elements(io.NopCloser(strings.NewReader(`{"steps":["a"]}`)), "/", func(*string) error {
		return nil
	}); err != nil {
		t.Errorf("a reply without the member: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	err := ctl.NewClient(t.TempDir()+"/none").Get(t.Context(), "/v1/status", nil, nil)
	if !errors.Is(err, ctl.ErrUnreachable) || strings.Contains(err.Error(), "http://") {
		t.Errorf("%v", err)
	}
}

// A follower is reported everything after the number it names, as it happens, and until
// it leaves or the manager ends.
func TestFollow(t *testing.T) {
	b := serve(t, &source{}, ctl.Config{Patience: time.Minute})
	for i := range 20 { // the ring has room for 8
		b.events.Add(ctl.Event{Text: fmt.Sprint("event ", i+1)})
	}
	var seen []uint64
	next := uint64(21)
	err := b.Follow(t.Context(), 2, func(e *ctl.Event) error {
		if e.Text != fmt.Sprint("event ", e.Seq) {
			t.Errorf("event %d is %q", e.Seq, e.Text)
		}
		if seen = append(seen, e.Seq); e.Seq == 30 {
			return io.ErrClosedPipe
		}
		if e.Seq >= 20 {
			b.events.Add(ctl.Event{Text: fmt.Sprint("event ", next)})
			next++
		}
		return nil
	})
	if want := []uint64{13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
		30}; err != io.ErrClosedPipe || !slices.Equal(seen, want) {
		t.Errorf("saw %v, %v", seen, err)
	}
	count := 0
	if err := b.Events(t.Context(), 28, func(*ctl.Event) error { count++; return nil }); err != nil || count != 2 {
		t.Errorf("%d events after 28, %v", count, err)
	}
}

// list reads nodes from a server.
func list(srv *httptest.Server, each func(*ctl.Node) error) error {
	if each == nil {
		each = func(*ctl.Node) error { return nil }
	}
	return ctl.All(context.Background(), ctl.TCPClient(srv.Listener.Addr().String()), get, "/v1/nodes", nil, each)
}

// TestClosesConnection: a client whose address leads to the master does not stay with a manager that is not.
func TestClosesConnection(t *testing.T) {
	s := &source{none: true}
	b := serve(t, s, ctl.Config{})
	for path, want := range map[string]bool{"/v1/nodes": true, "/v1/status": false, "/v1/nodes?x=1": false} {
		conn := b.dial()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.Close != want {
			t.Errorf("%s with status %d: the connection is closed: %t", path, resp.StatusCode, resp.Close)
		}
		conn.Close()
	}
}

// TestChoicesWait: lists of chosen adapters are made one after the other, beside lists of all.
func TestChoicesWait(t *testing.T) {
	begun, next := make(chan ctl.Filter, 3), make(chan bool)
	b := serve(t, &source{rows: func(l ctl.List, f ctl.Filter) (iter.Seq[any], error) {
		if f.Devices != nil {
			begun <- f
			<-next
		}
		return func(yield func(any) bool) { yield(&ctl.Host{Name: "n1", Ports: []ctl.HostPort{{}}}) }, nil
	}}, ctl.Config{})
	ended := make(chan int, 3)
	for i := range 3 {
		go func() {
			status, _ := b.raw(get, "/v1/hosts?rail=2&rail=3&device=mlx5_0&device=mlx5_1", "")
			ended <- status
		}()
		if i == 0 {
			if f := <-begun; !slices.Equal(f.Rails, []int{2, 3}) || !slices.Equal(f.Devices, []string{"mlx5_0", "mlx5_1"}) {
				t.Errorf("%+v", f)
			}
			continue
		}
		b.until("it waits", func() bool { return b.server.Stats().Waiting.Load() == int64(i) })
	}
	if len(begun) != 0 {
		t.Error("a second one begins beside one")
	}
	if status, text := b.raw(get, "/v1/hosts", ""); status != 200 {
		t.Errorf("a list of all: %d %s", status, text)
	}
	close(next)
	for range 3 {
		if status := <-ended; status != 200 {
			t.Errorf("status %d", status)
		}
	}
}
