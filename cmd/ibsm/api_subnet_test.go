package main_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ibsm/api/users"
	"ibsm/rights"
	"ibsm/topo/net/nettest"
)

// apiSubnet is a served fabric whose first hosts have managers that serve the API. They share a file of users.
type apiSubnet struct {
	*testSubnet
	dir      string
	users    string
	token    string // of the operator
	managers []*apiManager
}

// apiManager is one of them; it keeps its files over its end.
type apiManager struct {
	*process
	addr    string // of the API, HOST:PORT
	metrics string // URL
	socket  string // control socket
	state   string // directory
}

// The operator of the subnet, who has a token and a password.
const (
	operator         = "ops"
	operatorPassword = "correct horse battery"
)

func newAPISubnet(t *testing.T, spec string, managers int) *apiSubnet {
	t.Helper()
	s := &apiSubnet{testSubnet: newTestSubnetOf(t, nettest.Generate(t, spec), managers), dir: t.TempDir()}
	s.users = filepath.Join(s.dir, "users.toml")
	s.token = s.addUser(operator, operatorPassword, rights.Operator)
	for i := range managers {
		s.managers = append(s.managers, &apiManager{addr: "127.0.0.1:" + freePort(t),
			metrics: "http://127.0.0.1:" + freePort(t), socket: filepath.Join(s.dir, fmt.Sprint("ctl", i)),
			state: filepath.Join(s.dir, fmt.Sprint("state", i))})
	}
	return s
}

// addUser adds a user with a password, and returns a token.
func (s *apiSubnet) addUser(name, password string, role rights.Role) (token string) {
	s.t.Helper()
	secret, err := users.NewPassword(password)
	if err != nil {
		s.t.Fatal(err)
	}
	made, token, err := users.NewToken(time.Now(), 1, "")
	if err != nil {
		s.t.Fatal(err)
	}
	err = users.Change(s.t.Context(), s.users, func(set *users.Set) (*users.Set, error) {
		return set.Add(users.Account{User: rights.User{Name: name, Role: role}, Password: secret,
			Tokens: []users.Token{made}})
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// run starts a manager, or starts it again.
func (s *apiSubnet) run(i, priority int, more ...string) *apiManager {
	s.t.Helper()
	m := s.managers[i]
	m.process = s.start(s.hosts[i], append([]string{program(s.t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0",
		"-k", "5ec", "-p", fmt.Sprint(priority), "--ctl_socket", m.socket, "--state_dir", m.state,
		"--metrics_addr", strings.TrimPrefix(m.metrics, "http://"), "--api_addr", m.addr,
		"--api_users_file", s.users, "--api_audit_file", filepath.Join(s.dir, fmt.Sprint("audit", i))}, more...)...)
	return m
}

// authority is the certificate that the manager has made.
func (m *apiManager) authority() []byte {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.state, "api", "api.crt"))
	if err != nil {
		m.t.Fatal(err)
	}
	return text
}

// tls is the configuration of a client that trusts the certificate which the manager has made.
func (m *apiManager) tls() *tls.Config {
	m.t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(m.authority())
	return &tls.Config{RootCAs: pool, ServerName: "localhost"}
}

// dialFrom has connections come from an address of the loopback.
func dialFrom(address string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: patience()}
}

// client is a client of its own, which comes from an address, with HTTP/2 or HTTP/1.1.
func (m *apiManager) client(from string, http2 bool) *http.Client {
	m.t.Helper()
	transport := &http.Transport{TLSClientConfig: m.tls(), DialContext: dialFrom(from).DialContext,
		Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP2(http2)
	transport.Protocols.SetHTTP1(!http2)
	m.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// call sends a request, and returns the status and the body of its reply.
func (m *apiManager) call(ctx context.Context, c *http.Client, authorization, method, path, body string) (
	status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "https://"+m.addr+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	reply, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	all, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(all), err
}

// figures are metrics of the process of a manager, by name.
func (m *apiManager) figures() map[string]float64 {
	m.t.Helper()
	reply, err := http.Get(m.metrics + "/metrics?collect[]=manager")
	if err != nil {
		m.t.Fatal(err)
	}
	defer reply.Body.Close()
	values := map[string]float64{}
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			values[name] = v
		}
	}
	if values[goroutines] == 0 || values[resident] == 0 || values[heap] == 0 {
		m.t.Fatalf("metrics: %d values, none of the process", len(values))
	}
	return values
}

// Names of metrics of a process.
const (
	goroutines = "go_goroutines"
	resident   = "process_resident_memory_bytes"
	heap       = "go_memstats_heap_alloc_bytes"
	files      = "process_open_fds"
)
