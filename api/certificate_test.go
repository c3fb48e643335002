package api_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ibsm/api"
	"ibsm/api/users/userstest"
)

// shown is the certificate that a new connection gets.
func (h *harness) shown() *x509.Certificate {
	h.Helper()
	conn, err := tls.Dial("tcp", h.server.Addr(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		h.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

// fingerprint is written as openssl writes it.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf("% X", sum[:])), " ", ":")
}

// TestCertificateFiles: a new certificate is served when its files are complete; what is none, one that has another
// key, and a key that others can read leave the one before in force, with a reason in the log.
func TestCertificateFiles(t *testing.T) {
	t.Parallel()
	h := prepare(t)
	servers := userstest.NewAuthority(t, "servers")
	pairs := make([]*tls.Certificate, 4)
	for i := range pairs {
		pairs[i] = servers.Of(t, fmt.Sprintf("sm%d.example", i), nil)
	}
	put := func(pair *tls.Certificate, mode os.FileMode) {
		certificate, key := userstest.PEM(t, pair)
		h.write("server.key", mode, key)
		h.write("server.crt", 0o644, certificate)
	}
	put(pairs[0], 0o600)
	cfg := h.config()
	cfg.Certificate, cfg.Key = h.path("server.crt"), h.path("server.key")
	h.serve(cfg)
	is := func(i int) bool {
		c := h.shown()
		return c.Equal(pairs[i].Leaf) && h.server.Fingerprint() == fingerprint(c)
	}
	refused := func(reason string) {
		t.Helper()
		lines := func() int {
			n := 0
			for line := range strings.Lines(h.log.text()) {
				if strings.Contains(line, "a changed file of the API is not used") && strings.Contains(line, reason) {
					n++
				}
			}
			return n
		}
		before := lines()
		h.eventually("the log says "+reason, func() bool {
			h.shown() // the files are looked at when a client connects
			return lines() > before
		})
	}
	if !is(0) || h.server.OwnCertificate() {
		t.Fatal("the certificate of the file is not served")
	}
	put(pairs[1], 0o600)
	h.eventually("a new certificate is served", func() bool { return is(1) })
	h.write("server.crt", 0o644, []byte("-----BEGIN CERTIFICATE-----\n"))
	refused("the certificate and its key")
	_, key := userstest.PEM(t, pairs[2])
	certificate, _ := userstest.PEM(t, pairs[1])
	h.write("server.crt", 0o644, certificate)
	h.write("server.key", 0o600, key)
	refused("private key does not match public key")
	if err := os.Remove(h.path("server.key")); err != nil {
		t.Fatal(err)
	}
	refused("no such file")
	put(pairs[2], 0o644)
	refused("other users can read or change " + h.path("server.key"))
	if !is(1) {
		t.Error("the certificate before is not served")
	}
	put(pairs[3], 0o640) // a group may read the key, as Debian's ssl-cert does
	h.eventually("the repaired certificate is served", func() bool { return is(3) })
	if n := strings.Count(h.log.text(), "a changed file of the API is in force"); n < 2 {
		t.Errorf("the log has %d new certificates", n)
	}
}

// TestOwnCertificate: without files a certificate for this host is made once, in files of which only root reads the
// key; it is made again where one of them is missing.
func TestOwnCertificate(t *testing.T) {
	h := prepare(t)
	cfg := h.config()
	cfg.Dir = h.path("state/api")
	listen := func() (*api.Server, error) { return api.Listen(cfg) }
	once := func() string {
		t.Helper()
		s, err := listen()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if !s.OwnCertificate() {
			t.Error("the certificate is not said to be an own one")
		}
		return s.Fingerprint()
	}
	first := once()
	for name, mode := range map[string]os.FileMode{"api.crt": 0o644, "api.key": 0o600} {
		if info, err := os.Stat(h.path("state/api/" + name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want mode %v", name, info, err, mode)
		}
	}
	text, err := os.ReadFile(h.path("state/api/api.crt"))
	block, _ := pem.Decode(text)
	if err != nil || block == nil {
		t.Fatalf("api.crt: %s, %v", text, err)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil || fingerprint(c) != first {
		t.Errorf("fingerprint %s, %v, want that of api.crt", first, err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", host, "127.0.0.1", "::1"} {
		if err := c.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	pool := x509.NewCertPool() // curl --cacert api.crt
	pool.AddCert(c)
	if _, err := c.Verify(x509.VerifyOptions{Roots: pool, DNSName: host}); err != nil {
		t.Errorf("a client that has api.crt: %v", err)
	}
	if again := once(); again != first {
		t.Errorf("the next start has the certificate %s, not %s", again, first)
	}
	if err := os.Remove(h.path("state/api/api.crt")); err != nil {
		t.Fatal(err)
	}
	if again := once(); again == first {
		t.Error("a certificate that was removed is in force")
	}
	if err := os.Chmod(h.path("state/api/api.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := listen(); err == nil || !strings.Contains(err.Error(), "chmod 600 "+h.path("state/api/api.key")) {
		t.Errorf("a key that others can read: %v, %v", s, err)
	}
	cfg.Dir = ""
	if one, two := once(), once(); one == two {
		t.Error("two certificates in memory are equal")
	}
	cfg.Addr = "192.0.2.7:0"
	if s, err := listen(); err == nil {
		t.Errorf("an address of another host is served at %s", s.Addr())
	}
}

// TestFilesAtStart: without what it needs the listener does not start, and says why.
func TestFilesAtStart(t *testing.T) {
	h := prepare(t)
	certificate, key := userstest.PEM(t, userstest.NewAuthority(t, "servers").Of(t, "sm.example", nil))
	h.write("server.crt", 0o644, certificate)
	h.write("server.key", 0o600, key)
	h.write("open.key", 0o604, key)
	h.write("empty", 0o600, nil)
	h.write("long", 0o600, bytes.Repeat([]byte("#"), 1<<20+1))
	h.write("users", 0o600, []byte("[[user]]\nname = \"a b\"\n"))
	h.write("open-users", 0o644, nil)
	for _, c := range []struct{ certificate, key, ca, users, says string }{
		{"server.crt", "server.key", "clients.crt", "users.toml", ""},
		{"none", "server.key", "clients.crt", "users.toml", "none: no such file"},
		{"server.crt", "none", "clients.crt", "users.toml", "none: no such file"},
		{"server.crt", "open.key", "clients.crt", "users.toml", "mode 0604"},
		{"server.key", "server.crt", "clients.crt", "users.toml", "other users can read or change"},
		{"empty", "server.key", "clients.crt", "users.toml", "the certificate and its key"},
		{"long", "server.key", "clients.crt", "users.toml", "more than the 1048576 bytes"},
		{"server.crt", "server.key", "none", "users.toml", "none: no such file"},
		{"server.crt", "server.key", "empty", "users.toml", "no certificate in PEM form"},
		{"server.crt", "server.key", "clients.crt", "none", "none: no such file"},
		{"server.crt", "server.key", "clients.crt", "users", "users:1: "},
		{"server.crt", "server.key", "clients.crt", "open-users", "chmod 600"},
	} {
		cfg := h.config()
		cfg.Certificate, cfg.Key, cfg.ClientCA = h.path(c.certificate), h.path(c.key), h.path(c.ca)
		cfg.Users = h.keeper(h.path(c.users))
		s, err := api.Listen(cfg)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%+v: %v", c, err)
		case err == nil:
			s.Close()
		}
	}
}

// TestPlainHTTP: without TLS there are loopback addresses alone.
func TestPlainHTTP(t *testing.T) {
	h := prepare(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", host + ":0", "127.0.0.1.example:0", "", "127.0.0.1",
		"[::ffff:192.0.2.1]:0"} {
		cfg := h.config()
		cfg.Addr = "http://" + addr
		if s, err := api.Listen(cfg); err == nil || !strings.Contains(err.Error(), "without TLS") {
			t.Errorf("%s: %v, %v", cfg.Addr, s, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "127.9.9.9:0", "localhost:0", "[::1]:0"} {
		if probe, err := net.Listen("tcp", addr); err != nil {
			t.Logf("this host has no %s: %v", addr, err)
			continue
		} else {
			probe.Close()
		}
		cfg := h.config()
		cfg.Addr = "http://" + addr
		h.serve(cfg)
		if r := h.send("GET", "/v1/log-level", as("reader")); r.StatusCode != 200 || !strings.HasPrefix(h.server.URL(), "http://") ||
			h.server.Fingerprint() != "" || h.server.OwnCertificate() {
			t.Errorf("%s: %v %s", addr, r.Status, r.text)
		}
		if r := h.send("GET", "/v1/log-level", ask{}); r.StatusCode != 401 {
			t.Errorf("%s without a credential: %v", addr, r.Status)
		}
	}
}

// TestProtocols: TLS before 1.2, and ciphers of TLS 1.2 without forward secrecy or authenticated encryption, get no
// connection; TLS 1.2 and 1.3 do. OpenSSL asks, which knows what Go does not.
func TestProtocols(t *testing.T) {
	t.Parallel()
	h := prepare(t)
	h.serve(h.config())
	for args, want := range map[string]bool{
		"-tls1_3": true,
		"-tls1_2": true,
		"-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256": true,
		"-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA":        false, // CBC
		"-tls1_2 -cipher AES128-GCM-SHA256":             false, // the key is not a new one each time
		"-tls1_2 -cipher aNULL:@SECLEVEL=0":             false, // nobody is authenticated
		"-tls1_1 -cipher ALL:@SECLEVEL=0":               false,
		"-tls1 -cipher ALL:@SECLEVEL=0":                 false,
	} {
		out, err := exec.Command("openssl", append([]string{"s_client", "-connect", h.server.Addr()},
			strings.Fields(args)...)...).CombinedOutput()
		text := string(out)
		if !strings.Contains(text, "CONNECTED") || strings.Contains(text, "no ciphers available") ||
			!strings.Contains(text, "Cipher is ") {
			t.Errorf("openssl %s has offered nothing: %v\n%s", args, err, text)
		}
		if agreed := !strings.Contains(text, "Cipher is (NONE)"); agreed != want {
			t.Errorf("openssl %s: agreed %t, want %t\n%s", args, agreed, want, text)
		}
	}
}
