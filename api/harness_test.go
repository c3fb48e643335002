package api_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ibsm/api"
	"ibsm/api/audit"
	"ibsm/api/openapi"
	"ibsm/api/openapi/openapitest"
	"ibsm/api/ufm"
	"ibsm/api/users"
	"ibsm/api/users/userstest"
	"ibsm/ctl"
	"ibsm/ctl/page"
	"ibsm/rights"
)

// replies are those of all tests: TestMain checks them against the description.
var replies openapitest.Recorder

func TestMain(m *testing.M) {
	status := m.Run()
	if status == 0 && replies.Len() > 0 {
		status = checkReplies()
	}
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(status)
}

func checkReplies() int {
	text, err := openapi.Document(served(ctl.New(ctl.Config{More: page.New(page.Config{}).Routes()})), "1")
	if err == nil {
		err = replies.Validate(text)
	}
	if errors.Is(err, openapitest.ErrNoValidator) {
		fmt.Println(err)
		return 0
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// served are all routes of a listener.
func served(control *ctl.Server) []ctl.Route {
	routes := slices.Concat(control.Routes(), ufm.New(ufm.Config{}).Routes())
	rt, err := openapi.Route(routes, "1", control.Fail)
	if err != nil {
		panic(err)
	}
	return append(routes, rt)
}

// password is that of each user.
const password = userstest.Password

// harness is a listener with a user of each role, over a control server without a manager. The users are named as
// their roles, and their certificates have the name spiffe://cluster/ROLE.
type harness struct {
	*testing.T
	dir     string
	server  *api.Server
	control *ctl.Server
	users   string               // their file
	tokens  map[string]string    // by user
	ca      *userstest.Authority // of clients
	audit   *audit.Log
	log     *book
	flags   uint8 // of the log, which requests change
}

// listen opens a listener as change wants it, and serves until the test ends.
func listen(t *testing.T, change func(*api.Config)) *harness {
	t.Helper()
	h := prepare(t)
	cfg := h.config()
	if change != nil {
		change(&cfg)
	}
	h.serve(cfg)
	return h
}

// prepare makes what a listener needs.
func prepare(t *testing.T) *harness {
	t.Helper()
	h := &harness{T: t, dir: t.TempDir(), tokens: map[string]string{}, ca: userstest.NewAuthority(t, "clients"), log: &book{}}
	h.users = h.path("users.toml")
	h.write("clients.crt", 0o644, h.ca.PEM)
	h.changeUsers(func(s *users.Set) (_ *users.Set, err error) {
		for _, role := range rights.Roles() {
			a, token := userstest.Account(t, rights.User{Name: role.String(), Role: role})
			h.tokens[role.String()] = token
			if s, err = s.Add(a); err != nil {
				return nil, err
			}
		}
		return s, nil
	})
	var err error
	if h.audit, err = audit.Open(h.path("audit.log"), h.logger(), io.Discard); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.audit.Close)
	h.control = ctl.New(ctl.Config{Logger: h.logger(), Audits: h.audit.Last, Audit: h.audit.Record,
		LogFlags: func() uint8 { return h.flags }, SetLogFlags: func(flags uint8) { h.flags = flags },
		Leader:   func() (string, bool) { return "MASTER", true },
		Settings: func() []ctl.Setting { return []ctl.Setting{{Key: "lmc", Value: "1", Source: "default"}} }})
	return h
}

func (h *harness) config() api.Config {
	return api.Config{Addr: "127.0.0.1:0", ClientCA: h.path("clients.crt"), Users: users.NewKeeper(h.users, time.Now),
		Control: h.control, Routes: served(h.control), Audit: h.audit.Record, Logger: h.logger()}
}

// serve serves until the test ends.
func (h *harness) serve(cfg api.Config) {
	h.Helper()
	var err error
	if h.server, err = api.Listen(cfg); err != nil {
		h.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- h.server.Serve(ctx) }()
	h.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.Errorf("the listener ended with %v", err)
		}
	})
}

func (h *harness) path(name string) string { return filepath.Join(h.dir, name) }

// write replaces a file as a whole, as an editor or a program that renews certificates does.
func (h *harness) write(name string, mode os.FileMode, text []byte) {
	h.Helper()
	next := h.path(name + ".new")
	err := errors.Join(os.WriteFile(next, text, mode), os.Chmod(next, mode), os.Rename(next, h.path(name)))
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) changeUsers(change func(*users.Set) (*users.Set, error)) {
	h.Helper()
	if err := users.Change(h.Context(), h.users, change); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// eventually waits until something is so.
func (h *harness) eventually(what string, is func() bool) {
	h.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			lines := strings.SplitAfter(h.log.text(), "\n")
			h.Fatalf("not within a minute: %s; the log ends with\n%s", what, lines[max(0, len(lines)-20):])
		}
	}
}

// book is what was logged.
type book struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (b *book) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines.Write(line)
}

func (b *book) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines.String()
}

// ask is how a request is sent.
type ask struct {
	header      []string // "Name: value"
	certificate *tls.Certificate
	http1       bool
	host        string // of the header Host; "" for the address
	raw         string // path as it is sent; "" for that of the request
	body        string
	client      *http.Client // in place of one of its own
}

// reply is a reply with its body.
type reply struct {
	*http.Response
	text string
}

// failure is the error of a reply.
func (r *reply) failure() string {
	var f ctl.Failure
	json.Unmarshal([]byte(r.text), &f)
	return f.Err
}

// as is a request with the password of a user.
func as(user string) ask { return ask{header: []string{basic(user + ":" + password)}} }

func basic(text string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(text))
}

// client is a client with connections of its own. It trusts any server: TestCertificateFiles looks at that.
func (h *harness) client(a ask) *http.Client {
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: !a.http1}
	if a.certificate != nil {
		tr.TLSClientConfig.Certificates = []tls.Certificate{*a.certificate}
	}
	h.Cleanup(tr.CloseIdleConnections)
	to := http.RoundTripper(tr)
	if a.raw == "" {
		to = replies.Transport(to)
	}
	return &http.Client{Transport: to, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// send sends a request, and reads the reply.
func (h *harness) send(method, path string, a ask) reply {
	h.Helper()
	u, err := url.Parse("https://" + h.server.Addr() + path)
	if err != nil {
		h.Fatal(err)
	}
	u.Scheme, _, _ = strings.Cut(h.server.URL(), ":")
	if a.raw != "" {
		u.Opaque = "//" + u.Host + a.raw
	}
	req, err := http.NewRequestWithContext(h.Context(), method, "https://x/", strings.NewReader(a.body))
	if err != nil {
		h.Fatal(err)
	}
	req.URL, req.Host = u, a.host
	for _, line := range a.header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	client := a.client
	if client == nil {
		client = h.client(a)
		defer client.CloseIdleConnections()
	}
	resp, err := client.Do(req)
	if err != nil {
		h.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	if want := map[bool]int{true: 1, false: 2}[a.http1 || u.Scheme == "http"]; resp.ProtoMajor != want {
		h.Errorf("%s %s: answered over %s", method, path, resp.Proto)
	}
	return reply{resp, string(text)}
}

func (h *harness) keeper(path string) *users.Keeper { return users.NewKeeper(path, time.Now) }
