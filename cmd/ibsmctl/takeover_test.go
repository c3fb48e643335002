package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/profile"
)

// fake is a manager over TLS whose state a test sets.
type fake struct {
	*httptest.Server
	name   string
	word   atomic.Pointer[string] // of GET /leader
	events *ctl.Ring
	// Numbers of requests for its status, and where it stands.
	asked, leaders atomic.Int64
	done           chan struct{} // closed when the test ends
}

// newFake starts a manager that is in a state such as "master".
func newFake(t *testing.T, name, word string) *fake {
	t.Helper()
	f := &fake{name: name, events: ctl.NewRing(100), done: make(chan struct{})}
	f.word.Store(&word)
	m := http.NewServeMux()
	reply := func(path string, of func() any) {
		m.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(of()) })
	}
	m.HandleFunc("GET /leader", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("GET /leader has a credential")
		}
		f.leaders.Add(1)
		w.Header().Set("Content-Type", "text/plain")
		if !f.leads() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, *f.word.Load())
	})
	reply("GET /v1/names", func() any { return map[string]any{"names": []any{}} })
	reply("GET /v1/status", func() any {
		f.asked.Add(1)
		return f.status()
	})
	reply("GET /v1/activity", func() any { return ctl.Activity{Time: time.Now(), Status: f.status(), SA: &ctl.SAStats{}} })
	reply("GET /v1/generations", func() any { return map[string]any{"generations": []any{}} })
	m.HandleFunc("GET /v1/events", f.follow)
	f.Server = httptest.NewUnstartedServer(m)
	f.EnableHTTP2 = true
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.StartTLS()
	t.Cleanup(func() {
		close(f.done)
		f.Close()
	})
	return f
}

func (f *fake) leads() bool { return *f.word.Load() == "master" }

func (f *fake) is(word string) { f.word.Store(&word) }

func (f *fake) status() *ctl.Status {
	return &ctl.Status{Version: "1.0", Started: time.Unix(int64(len(f.name)), 0), Where: f.name, Phase: "idle",
		State: strings.ToUpper(*f.word.Load()), Events: f.events.Last(), Sweep: &ctl.SweepStatus{Up: true}}
}

// follow sends the events as they come.
func (f *fake) follow(w http.ResponseWriter, r *http.Request) {
	since := uint64(0)
	fmt.Sscan(r.URL.Query().Get("since"), &since)
	for {
		events, more := f.events.Since(since, nil)
		for _, e := range events {
			since = e.Seq
			json.NewEncoder(w).Encode(e)
		}
		if r.URL.Query().Get("follow") == "" {
			return
		}
		http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		case <-f.done:
			return
		}
	}
}

// print is the fingerprint of the certificate that all of these have.
func (f *fake) print() string { return ctl.FingerprintOf(f.Certificate()).String() }

// closed is a URL at which nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "https://" + l.Addr().String()
}

// TestMaster: of several managers the master is asked; without one each is named with what it answered.
func TestMaster(t *testing.T) {
	one, two, none := newFake(t, "one", "standby"), newFake(t, "two", "master"), closed(t)
	hung, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Close()
	before := leaderPatience
	defer func() { leaderPatience = before }()
	leaderPatience = 500 * time.Millisecond
	servers := strings.Join([]string{one.URL, none, "https://" + hung.Addr().String(), two.URL}, ",")
	ask := func(servers string) (string, string, int) {
		t.Helper()
		return invoke(t, "status", "--server", servers, "--fingerprint", one.print())
	}
	if out, errs, status := ask(servers); status != 0 || !strings.Contains(out, "port      two\n") || one.asked.Load() != 0 {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	two.is("unconfirmed")
	out, errs, status := ask(servers)
	want := "ibsmctl: error: no manager is master: " + one.URL + ": standby; " + none +
		": no manager is running there: connect: connection refused; https://" + hung.Addr().String() +
		": no answer within 500ms; " + two.URL + ": unconfirmed\nhint: name one of them alone"
	if status != 1 || out != "" || !strings.HasPrefix(errs, want) {
		t.Errorf("status %d, %s%s\nwant %s", status, out, errs, want)
	}
	if out, errs, status := ask(one.URL); status != 0 || !strings.Contains(out, "port      one\n") {
		t.Errorf("a standby that is named alone: status %d, %s%s", status, out, errs)
	}
}

// TestServerWait: status --wait waits until one of several managers is master and has come up.
func TestServerWait(t *testing.T) {
	one, two := newFake(t, "one", "standby"), newFake(t, "another", "starting")
	next := lines(t, "status", "--server", one.URL+","+two.URL, "--fingerprint", one.print(), "--wait=10m")
	for deadline := time.Now().Add(patience); two.leaders.Load() < 2 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if one.asked.Load()+two.asked.Load() > 0 {
		t.Error("a manager is asked that is not master")
	}
	two.is("master")
	if got := next("port "); got != "port      another" {
		t.Errorf("got %q", got)
	}
}

// lines are what a command prints, as it prints it.
func lines(t *testing.T, args ...string) (next func(want string) string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		run(args, w, w)
		w.Close()
	}()
	late := time.AfterFunc(patience, func() { r.Close() })
	t.Cleanup(func() {
		late.Stop()
		r.Close()
	})
	s := bufio.NewScanner(r)
	return func(want string) string {
		t.Helper()
		for s.Scan() {
			if strings.Contains(s.Text(), want) {
				return s.Text()
			}
		}
		t.Fatalf("ibsmctl %s does not print %q", strings.Join(args, " "), want)
		return ""
	}
}

// TestTakeover: events and top say that another manager has become master, and go on with that one: after a handover,
// in which the connection stays, and after the death of the master.
func TestTakeover(t *testing.T) {
	one, two := newFake(t, "one", "master"), newFake(t, "another", "standby")
	servers := []string{"--server", one.URL + "," + two.URL, "--fingerprint", one.print()}
	add := func(f *fake, text string) { f.events.Add(ctl.Event{Time: time.Now(), Text: text}) }
	add(two, "before")
	add(one, "first of one")
	events := lines(t, append(servers, "events", "--follow")...)
	top := lines(t, append(servers, "top", "--batch", "--interval", "500ms")...)
	events("first of one")
	top("  one  ")
	one.is("standby")
	two.is("master")
	add(two, "first of another")
	takeover := "takeover: " + two.URL + " is master now, and " + one.URL + " is not"
	events("ibsmctl: " + takeover)
	if got := events("of another"); !strings.HasPrefix(got, "2 ") {
		t.Errorf("got %q, want no event before the takeover", got)
	}
	top(takeover)
	top("  another  ")
	two.CloseClientConnections()
	two.Listener.Close()
	one.is("master")
	add(one, "second of one")
	takeover = "takeover: " + one.URL + " is master now, and " + two.URL + " is not"
	events("ibsmctl: " + takeover)
	events("second of one")
	top(takeover)
	top("  one  ")
}

// TestSeveral: a line or a block for each of several subnets, in the order of the profiles, also of one that does not
// answer.
func TestSeveral(t *testing.T) {
	a, c := newFake(t, "port of a", "master"), newFake(t, "port of c", "master")
	none := closed(t)
	file := filepath.Join(t.TempDir(), "profiles.toml")
	text := fmt.Sprintf("[c]\nservers = %q\nfingerprint = %q\n[a]\nservers = %q\nfingerprint = %q\n[b]\nservers = %q\n",
		c.URL, c.print(), a.URL, a.print(), none)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(profile.FileEnv, file)
	refused := regexp.QuoteMeta(none) + ": no manager is running there: connect: connection refused"
	partitions := `{"partitions":[
{"name":"x","pkey":"0x8001","origin":"file","ready":true,"states":{"applied":4}},
{"name":"y","pkey":"0x8002","origin":"caller","states":{"applied":1,"pending":2}}]}
`
	for _, f := range []*fake{a, c} {
		m := f.Config.Handler.(*http.ServeMux)
		m.HandleFunc("GET /v1/partition", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, partitions) })
		m.HandleFunc("GET /v1/why", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("port") == "leaf-01" && f == a {
				io.WriteString(w, `{"diagnoses":[{"port":{"node":"0x1","desc":"leaf-01","port":1,"state":"Active"},"works":true,"reasons":[]}]}`)
				return
			}
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"error":"no node is named %s"}`, r.URL.Query().Get("port"))
		})
	}
	for _, x := range []struct {
		args   string
		want   string // a regular expression of standard output
		status int
		says   string // part of standard error
	}{
		{"--server a,b,c status", `^NAME .*\na  +MASTER .*` + a.URL + ` *\nb  +- .*` + refused + `\nc  +MASTER .*` + c.URL + ` *\n$`,
			1, "no answer from 1 of 3 subnets: b\nhint: ask one alone"},
		{"--server c,a status", `^NAME .*\nc  +MASTER .*\na  +MASTER .*\n$`, 0, ""},
		{"--server a,b status --json", `(?s)^{\s+"subnets": \[.*"name": "a",\s+"manager": "` + a.URL +
			`",\s+"reply": {.*"state": "MASTER".*"name": "b",\s+"manager": "` + none + `",\s+"error": "` + refused, 1, "no answer from 1 of 2 subnets: b"},
		{"--server a,b partitions", `^NAME .*\na +1 +1 +7 +1 not ready: 2 pending +` + a.URL + ` *\nb +- .*` + refused + `\n$`,
			1, "no answer from 1 of 2 subnets: b"},
		{"--server a,c partitions list --json", `(?s)"name": "a".*"origin": "file".*"name": "c".*"origin": "file"`, 0, ""},
		{"--server a,c why leaf-01", `^a: ` + a.URL + "\n  leaf-01 port 1 .*\n(  .*\n)*c: no node is named leaf-01\n$", 0, ""},
		{"--server a,b why leaf-01", `^a: ` + a.URL + "\n  leaf-01 port 1 .*\n(  .*\n)*b: " + refused + "\n$", 1, "no answer from 1 of 2 subnets: b"},
		{"--server a,c why leaf-02", "^a: no node is named leaf-02\nc: no node is named leaf-02\n$", 1, "no answer from 2 of 2 subnets: a, c"},
		{"--server a,c nodes", "^$", 2, "--server names several subnets, which status, partitions and why take"},
		{"--server a,c status --wait", "^$", 2, "--wait waits for one subnet"},
		{"--server a status", `(?s)^manager .*\nport      port of a\n`, 0, ""},
		{"--server a,a status", "^$", 2, "the profile a twice"},
		{"--server a," + c.URL + " status", "^$", 1, "has no profile"},
		{"--server d status", "^$", 1, file + ` has no profile "d"`},
		{"--server a --ca x status", "^$", 2, "are for URLs\nhint: set them in the profile"},
		{"--ca x status", "^$", 2, "need --server"},
		{"--server a --socket s status", "^$", 2, "exclude each other"},
		{"--server http://sm1 status", "^$", 2, "use https"},
		{"--server " + a.URL + " status", "^$", 1, "not of a known authority\nhint: set ca in the profile, or --ca"},
		{"--server " + a.URL + " --fingerprint AA status", "^$", 2, "expected 64 hexadecimal digits"},
	} {
		out, errs, status := invoke(t, strings.Fields(x.args)...)
		if status != x.status || !regexp.MustCompile(x.want).MatchString(out) || !strings.Contains(errs, x.says) ||
			(errs == "") != (status == 0) {
			t.Errorf("ibsmctl %s: status %d, it printed\n%s%swant %s", x.args, status, out, errs, x.want)
		}
	}
	t.Setenv(serverEnv, "a")
	if out, errs, status := invoke(t, "status"); status != 0 || !strings.Contains(out, "port of a") {
		t.Errorf("%s: status %d, %s%s", serverEnv, status, out, errs)
	}
	words, _ := candidates(t, "--server", "")
	if got := strings.Join(words, " "); got != "a b c" {
		t.Errorf("--server is completed with %q", got)
	}
	words, _ = candidates(t, "status", "--server", "b,")
	if got := strings.Join(words, " "); got != "b,a b,c" {
		t.Errorf("--server b, is completed with %q", got)
	}
}
