package ufm_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ibsm/api"
	"ibsm/api/openapi"
	"ibsm/api/openapi/openapitest"
	"ibsm/api/ufm"
	"ibsm/api/ufm/ufmtest"
	"ibsm/api/users"
	"ibsm/api/users/userstest"
	"ibsm/ctl"
	"ibsm/rights"
)

// bench is a server of the API with UFM's calls, for one user.
type bench struct {
	*testing.T
	*ufmtest.Backend
	client      *ufmtest.Client
	server      *api.Server
	ca          *userstest.Authority // of clients
	certificate *tls.Certificate     // of the user
	user, token string
}

// serve serves a Backend, over HTTPS. The client sends the user's token. Others are users, too.
func serve(t *testing.T, b *ufmtest.Backend, u *rights.User, cfg ufm.Config, others ...rights.User) *bench {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	cfg.Partitions, cfg.Source, cfg.Logger = b, b, log
	if cfg.SMConf == nil {
		cfg.SMConf = func() ufm.SMConf {
			return ufm.SMConf{SubnetPrefix: 0xfe80000000000000, MKey: true, SMKey: true, SAKey: true, MKeyPerPort: true}
		}
	}
	bench := &bench{T: t, Backend: b, ca: userstest.NewAuthority(t, "clients"), user: u.Name}
	account, token := userstest.Account(t, *u)
	dir := t.TempDir()
	ca, file := filepath.Join(dir, "clients.crt"), filepath.Join(dir, "users.toml")
	err := errors.Join(os.WriteFile(ca, bench.ca.PEM, 0o600), users.Change(t.Context(), file,
		func(s *users.Set) (_ *users.Set, err error) {
			s, err = s.Add(account)
			for i := 0; err == nil && i < len(others); i++ {
				other, _ := userstest.Account(t, others[i])
				s, err = s.Add(other)
			}
			return s, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	bench.token, bench.certificate = token, bench.ca.Of(t, userstest.CertificateName(u.Name), nil)
	bench.server, err = api.Listen(api.Config{Addr: "127.0.0.1:0", ClientCA: ca,
		Users: users.NewKeeper(file, time.Now), Audit: func(*ctl.Audited) {}, Logger: log,
		Control: ctl.New(ctl.Config{Source: b, Logger: log}), Routes: ufm.New(cfg).Routes()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- bench.server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	bench.client = &ufmtest.Client{URL: bench.server.URL(), TLS: &tls.Config{InsecureSkipVerify: true},
		Seen: func(e *ufmtest.Exchange, r *ufmtest.Reply) {
			if err := keep(e, r); err != nil {
				t.Error(err)
			}
		}}
	bench.as(byToken)
	return bench
}

// way is how a client shows who it is.
type way int

const (
	byCertificate way = iota // with an empty header Authorization, as NICo does
	byToken                  // Bearer TOKEN
	byBasicToken             // Basic TOKEN, as NICo does
	byTokenAsUser            // Basic base64(TOKEN:), as scripts do
	byPassword
	ways
)

// String is the name of a way.
func (w way) String() string {
	return [ways]string{"certificate", "token", "token-as-basic", "token-as-user", "password"}[w]
}

// as has the client show in a way who it is.
func (b *bench) as(w way) {
	header := [ways]string{byToken: "Bearer " + b.token, byBasicToken: "Basic " + b.token,
		byTokenAsUser: basic(b.token, ""), byPassword: basic(b.user, userstest.Password)}[w]
	b.client.Credential = func(string) string { return header }
	b.client.TLS.Certificates = nil
	if w == byCertificate {
		b.client.TLS.Certificates = []tls.Certificate{*b.certificate}
	}
}

// basic is the value of a header.
func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// admin may do everything.
var admin = &rights.User{Name: "admin", Role: rights.Admin}

// nico is a bench with the subnet of the transcript of NICo, and an operator's partition of the file.
func nico(t *testing.T, others ...rights.User) *bench {
	t.Helper()
	file := ufmtest.NICoFile + "storage=0x10, ipoib, rate=23, mtu=5, sl=3: ALL=limited, 0xb83fd20300485b2e=full;\n"
	return serve(t, ufmtest.New(t, ufmtest.NICoSubnet(t), file), admin, ufm.Config{}, others...)
}

// do sends a request, METHOD PATH below /ufmRest, and returns the status and the body.
func (b *bench) do(request, body string) (status int, reply string) {
	b.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := b.client.Do(b.T, method, "/ufmRest/"+path, body)
	if err := r.Sound(); err != nil {
		b.Errorf("%s %s: %v", request, body, err)
	}
	return r.Status, r.Body
}

// ok sends a request that must succeed without a reply.
func (b *bench) ok(request, body string) {
	b.Helper()
	if status, reply := b.do(request, body); status != 200 || reply != "{}" {
		b.Errorf("%s %s: status %d, %s", request, body, status, reply)
	}
}

// fails sends a request that must fail with a status and an error that has a text.
func (b *bench) fails(request, body string, status int, says string) {
	b.Helper()
	if got, reply := b.do(request, body); got != status || !strings.HasPrefix(reply, `{"error": "`) ||
		!strings.Contains(reply, says) {
		b.Errorf("%s %s: status %d, %s\nwant %d, %s", request, body, got, reply, status, says)
	}
}

// gets sends a GET that must have a reply.
func (b *bench) gets(path, want string) {
	b.Helper()
	if status, reply := b.do("GET "+path, ""); status != 200 || reply != want {
		b.Errorf("GET %s: status %d, %s\nwant %s", path, status, reply, want)
	}
}

// both runs a test over HTTP/1.1 and HTTP/2.
func both(t *testing.T, test func(t *testing.T, http2 bool)) {
	t.Helper()
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/%d", map[bool]int{false: 1, true: 2}[http2]), func(t *testing.T) { test(t, http2) })
	}
}

// everyWay runs a test over both versions of HTTP with each way of authentication. reach prepares a bench for it.
func everyWay(t *testing.T, test func(t *testing.T, reach func(*bench) *bench)) {
	t.Helper()
	both(t, func(t *testing.T, http2 bool) {
		for w := range ways {
			t.Run(w.String(), func(t *testing.T) {
				test(t, func(b *bench) *bench {
					b.client.HTTP2 = http2
					b.as(w)
					return b
				})
			})
		}
	})
}

// everyWayNICo runs a test of nico.
func everyWayNICo(t *testing.T, test func(b *bench)) {
	t.Helper()
	everyWay(t, func(t *testing.T, reach func(*bench) *bench) { test(reach(nico(t))) })
}

// replies are those of all tests: TestMain checks them against the description of the calls.
var replies openapitest.Recorder

// keep keeps a reply, unless the path of its request is written in another way than the description has it, or has
// several segments for one parameter, which OpenAPI has no word for.
func keep(e *ufmtest.Exchange, r *ufmtest.Reply) error {
	name, query, _ := strings.Cut(e.Path, "?")
	if clean := path.Clean(name); strings.TrimSuffix(name, "/") != clean || strings.Contains(name, "%") ||
		strings.Count(name, "/cloudx/") > 0 {
		return nil
	} else if name = clean; query != "" {
		name += "?" + query
	}
	return replies.Add(openapitest.Reply{Method: e.Method, Path: name, Status: r.Status, Lenient: true,
		Type: r.Header.Get("Content-Type"), Reply: []byte(r.Body)})
}

func TestMain(m *testing.M) {
	status := m.Run()
	if status == 0 && replies.Len() > 0 {
		text, err := openapi.Document(ufm.New(ufm.Config{}).Routes(), "1")
		if err == nil {
			err = replies.Validate(text)
		}
		if err != nil {
			fmt.Println(err)
		}
		if err != nil && !errors.Is(err, openapitest.ErrNoValidator) {
			status = 1
		}
	}
	os.Exit(status)
}
