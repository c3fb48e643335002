package ctl_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/rights"
)

// certificate is a certificate for some names; parent nil is a self-signed one.
func certificate(t *testing.T, parent *tls.Certificate, names []string, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true, IsCA: parent == nil}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	signer, by := c, any(key)
	if parent != nil {
		signer, by = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, signer, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func pool(of tls.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(of.Leaf)
	return p
}

// overTLS serves a handler over TLS with a certificate.
func overTLS(t *testing.T, h http.Handler, conf *tls.Config) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS, s.EnableHTTP2 = conf, true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// protocol is the control protocol of a source for users by their tokens.
func protocol(server *ctl.Server, users map[string]*rights.User) http.Handler {
	m := http.NewServeMux()
	for _, rt := range server.Routes() {
		m.HandleFunc(rt.String(), ctl.Guard{}.Handler(&rt))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		u := users[token]
		if u == nil && token != "" {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":"unknown token"}`)
			return
		}
		server.Patient(m).ServeHTTP(w, r.WithContext(rights.With(r.Context(), u)))
	})
}

// TestOverTLS: the protocol over HTTP/2 and HTTP/1.1, by the rights of the user, with each form of credential, and
// without the proxy of the environment.
func TestOverTLS(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://192.0.2.1:9") // an address of no host
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:9")
	own := certificate(t, nil, []string{"127.0.0.1"}, time.Now().Add(time.Hour))
	server := ctl.New(ctl.Config{Source: &source{status: ctl.Status{Where: "here"}},
		Leader: func() (string, bool) { return "standby", false }})
	h := protocol(server, map[string]*rights.User{
		"Bearer ibsm_r":      {Name: "r", Role: rights.Reader},
		"Bearer ibsm_t":      {Name: "t", Role: rights.Tenant},
		"Basic bzpzZWNyZXQ=": {Name: "o", Role: rights.Operator}, // of RFC 7617: o:secret
	})
	for _, http2 := range []bool{true, false} {
		conf := &tls.Config{Certificates: []tls.Certificate{own}}
		if !http2 {
			conf.NextProtos = []string{"http/1.1"}
		}
		versions := make(chan int, 100)
		at := overTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			versions <- r.ProtoMajor
			h.ServeHTTP(w, r)
		}), conf)
		for _, c := range []struct {
			remote      ctl.Remote
			get, sweeps string // "" or the error
		}{
			{ctl.Remote{Token: "ibsm_r"}, "", "user r may not do this: POST /v1/sweep"},
			{ctl.Remote{Token: "ibsm_t"}, "user t may not do this: GET /v1/status", "user t may not do this: POST /v1/sweep"},
			{ctl.Remote{User: "o", Password: "secret"}, "", ""},
			{ctl.Remote{Token: "ibsm_x"}, "unknown token", "unknown token"},
		} {
			c.remote.URL, c.remote.TLS = at.URL, &tls.Config{RootCAs: pool(own)}
			client, err := ctl.NewTLSClient(c.remote)
			if err != nil {
				t.Fatal(err)
			}
			st := &ctl.Status{}
			check := func(err error, want string) {
				t.Helper()
				f := (*ctl.Failure)(nil)
				if want == "" && err != nil || want != "" && (err == nil || err.Error() != want || !errors.As(err, &f) ||
					f.Status != http.StatusForbidden && f.Status != http.StatusUnauthorized) {
					t.Errorf("%v, HTTP/2 %t: %v, want %q", c.remote, http2, err, want)
				}
				if major := <-versions; (major == 2) != http2 {
					t.Errorf("HTTP/%d is spoken, want HTTP/2 %t", major, http2)
				}
			}
			check(client.Get(t.Context(), "/v1/status", nil, st), c.get)
			if c.get == "" && st.Where != "here" {
				t.Errorf("got %+v", st)
			}
			check(client.Post(t.Context(), "/v1/sweep", nil, nil), c.sweeps)
			word, leads, err := client.Leader(t.Context()) // without credential
			if word != "standby" || leads {
				t.Errorf("leader: %q %t", word, leads)
			}
			check(err, "")
			if client.Address() != at.URL || !client.Remote() {
				t.Errorf("the address is %q", client.Address())
			}
			client.Close()
		}
	}
}

// TestRemoteErrors: the errors of a server that cannot be reached, or is none.
func TestRemoteErrors(t *testing.T) {
	later, ended := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	own := certificate(t, nil, []string{"127.0.0.1"}, later)
	another := certificate(t, nil, []string{"127.0.0.1"}, later)
	named := certificate(t, &own, []string{"sm1.example.com"}, later)
	old := certificate(t, &own, []string{"127.0.0.1"}, ended)
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") })
	serve := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	trusting := &tls.Config{RootCAs: pool(own)}
	print := func(c tls.Certificate) []ctl.Fingerprint { return []ctl.Fingerprint{ctl.FingerprintOf(c.Leaf)} }
	plain := httptest.NewServer(h)
	defer plain.Close()
	none := strings.Replace(plain.URL, "http:", "https:", 1)
	unresponsive := listener(t, func(net.Conn) {})
	strange := listener(t, func(c net.Conn) { io.WriteString(c, "220 mail.example.com ready\r\n") })
	needs := serve(own)
	needs.ClientAuth, needs.ClientCAs = tls.RequireAndVerifyClientCert, pool(own)
	needs12 := needs.Clone()
	needs12.MaxVersion = tls.VersionTLS12
	ready := overTLS(t, h, serve(own))
	for _, c := range []struct {
		what       string
		remote     ctl.Remote
		text, hint string // parts; "" for no error
	}{
		{"a private authority", ctl.Remote{URL: ready.URL, TLS: trusting}, "", ""},
		{"a fingerprint", ctl.Remote{URL: ready.URL, Fingerprints: append(print(another), print(own)...)}, "", ""},
		{"both", ctl.Remote{URL: ready.URL, TLS: trusting, Fingerprints: print(own)}, "", ""},
		{"a fingerprint of a certificate that has ended, for another name", ctl.Remote{URL: overTLS(t, h, serve(old)).URL,
			Fingerprints: print(old)}, "", ""},
		{"plain HTTP on this host", ctl.Remote{URL: plain.URL}, "", ""},
		{"an unknown authority", ctl.Remote{URL: ready.URL}, "not of a known authority",
			ctl.FingerprintOf(own.Leaf).String() + " with ibsmctl api fingerprint on the manager's host"},
		{"another fingerprint", ctl.Remote{URL: ready.URL, TLS: trusting, Fingerprints: print(another)},
			"another fingerprint than the expected one: " + ctl.FingerprintOf(own.Leaf).String(), "ibsmctl api fingerprint"},
		{"an authority but another fingerprint", ctl.Remote{URL: ready.URL, TLS: &tls.Config{RootCAs: pool(another)},
			Fingerprints: print(own)}, "not of a known authority", "set ca in the profile"},
		{"another name", ctl.Remote{URL: overTLS(t, h, serve(named)).URL, TLS: trusting},
			"its certificate is for another name: cannot validate certificate for 127.0.0.1", "use a name"},
		{"a certificate that has ended", ctl.Remote{URL: overTLS(t, h, serve(old)).URL, TLS: trusting},
			"to " + ended.UTC().Format(time.RFC3339) + " only", "clocks of both hosts"},
		{"no client certificate", ctl.Remote{URL: overTLS(t, h, needs).URL, TLS: trusting},
			" the connection", "certificate"}, // refuses, or closed: the client may learn the reason too late
		{"no client certificate, TLS 1.2", ctl.Remote{URL: overTLS(t, h, needs12).URL, TLS: trusting},
			"the server refuses the connection: tls: ", "see certificate and key of the profile"},
		{"plain HTTP", ctl.Remote{URL: none}, "plain HTTP is spoken there", "metrics_addr and leader_addr are others"},
		{"another protocol", ctl.Remote{URL: "https://" + strange}, "TLS is not spoken there", "api_addr"},
		{"nobody", ctl.Remote{URL: "https://127.0.0.1:1"}, "no manager is running there: connect: connection refused",
			"api_addr"},
		{"nobody answers", ctl.Remote{URL: "https://" + unresponsive}, "no answer within 10ms", "firewall"},
	} {
		t.Run(c.what, func(t *testing.T) {
			client, err := ctl.NewTLSClient(c.remote)
			if err != nil {
				t.Fatal(err)
			}
			client.SetPatience(time.Minute) // on a busy machine
			if c.what == "nobody answers" {
				client.SetPatience(10 * time.Millisecond)
			}
			defer client.Close()
			err = client.Get(t.Context(), "/v1/status", nil, nil)
			f := (*ctl.Failure)(nil)
			switch {
			case c.text == "" && err == nil:
			case c.text == "" || !errors.As(err, &f):
				t.Fatalf("got %v, want %q", err, c.text)
			case !strings.HasPrefix(f.Err, c.remote.URL+": ") || !strings.Contains(f.Err, c.text) ||
				!strings.Contains(f.Hint, c.hint) || f.Status != 0:
				t.Errorf("got %q\n%q, want %q\n%q", f.Err, f.Hint, c.text, c.hint)
			case c.what != "no client certificate" && !errors.Is(err, ctl.ErrUnreachable):
				t.Errorf("%v is no ErrUnreachable", err)
			}
		})
	}
}

// listener is an address where each connection is given to a function, and then kept open.
func listener(t *testing.T, each func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			each(c)
		}
	}()
	return l.Addr().String()
}

// TestRemoteReplies: refusals in words, where their body has none.
func TestRemoteReplies(t *testing.T) {
	own := certificate(t, nil, []string{"127.0.0.1"}, time.Now().Add(time.Hour))
	elsewhere := false
	at := overTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		var body string
		fmt.Sscanf(r.URL.Path, "/%d/%s", &status, &body)
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "7")
		elsewhere = elsewhere || r.URL.Path == "/elsewhere"
		w.WriteHeader(status)
		io.WriteString(w, body)
	}), &tls.Config{Certificates: []tls.Certificate{own}})
	client, err := ctl.NewTLSClient(ctl.Remote{URL: at.URL, TLS: &tls.Config{RootCAs: pool(own)}, Token: "ibsm_secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for path, want := range map[string]string{
		"/401/":                               "401 " + at.URL + ": the credential is no user's",
		"/403/":                               "403 " + at.URL + ": the user may not do this",
		"/429/":                               "429 " + at.URL + ": too many requests; try again in 7s",
		"/503/":                               "503 " + at.URL + ": the manager cannot do this now; try again in 7s",
		"/302/":                               "302 " + at.URL + ": a redirect, which is not followed: 302 Found",
		"/307/":                               "307 " + at.URL + ": a redirect, which is not followed: 307 Temporary Redirect",
		"/404/<html>":                         "404 /404/<html>: the server answers 404 Not Found",
		`/401/{"error":"e"}`:                  "401 e",
		`/503/{"error":"busy","hint":"wait"}`: "503 busy; wait",
	} {
		err := client.Post(t.Context(), path, nil, nil)
		f := (*ctl.Failure)(nil)
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got := fmt.Sprintf("%d %s", f.Status, f.Err)
		if f.Status == 429 || f.Status == 503 {
			got += "; " + f.Hint
		}
		if got != want || strings.Contains(fmt.Sprintf("%+v", f), "secret") {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if elsewhere {
		t.Error("a redirect is followed")
	}
}

// TestRemoteAddress: which addresses are those of servers, and that no error repeats a password.
func TestRemoteAddress(t *testing.T) {
	for url, want := range map[string]string{
		"https://sm1.example.com:8443": "https://sm1.example.com:8443", "https://[2001:db8::1]:8443/": "https://[2001:db8::1]:8443",
		"https://sm1": "https://sm1", "http://127.0.0.1:80": "http://127.0.0.1:80", "http://[::1]:80": "http://[::1]:80",
		"http://localhost:80": "http://localhost:80",
		"http://sm1:80":       "", "http://127.0.0.1.example.com": "", "ftp://sm1": "", "sm1:8443": "", "sm1": "", "": "",
		"https://": "", "https://:8443": "", "https://sm1/v1": "", "https://sm1?a": "", "https://sm1#a": "",
		"https://u:geheim@sm1": "", "https://sm1:port": "", "https://geheim@": "",
	} {
		client, err := ctl.NewTLSClient(ctl.Remote{URL: url, Token: "ibsm_geheim"})
		switch {
		case (err == nil) != (want != ""), err == nil && client.Address() != want,
			(ctl.CheckURL(url) == nil) != (want != ""):
			t.Errorf("%q: %v", url, err)
		case err != nil && strings.Contains(err.Error(), "geheim"):
			t.Errorf("%q: the error has the password: %v", url, err)
		}
	}
	_, err := ctl.NewTLSClient(ctl.Remote{URL: "https://sm1", Token: "a\r\nb: c"})
	if err == nil || strings.Contains(err.Error(), "b: c") {
		t.Errorf("a token of two lines: %v", err)
	}
	r := ctl.Remote{URL: "https://sm1", Token: "geheim", User: "u", Password: "geheim"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(verb+verb, r, &r); strings.Contains(text, "geheim") || strings.Contains(text, "67656865") {
			t.Errorf("%s: %s", verb, text)
		}
	}
}

// TestFingerprint: the forms of a fingerprint.
func TestFingerprint(t *testing.T) {
	hex := strings.Repeat("0aFf", 16)
	colons := strings.TrimSuffix(strings.Repeat("0A:FF:", 16), ":")
	for _, text := range []string{hex, colons, strings.ToLower(colons)} {
		f, err := ctl.ParseFingerprint(text)
		if err != nil || f.String() != colons {
			t.Errorf("%s: %v, %v", text, f, err)
		}
	}
	for _, text := range []string{"", hex[1:], hex + "00", "x" + hex[1:], hex[:40]} {
		if f, err := ctl.ParseFingerprint(text); err == nil {
			t.Errorf("%q is %v", text, f)
		}
	}
}

// TestRemoteFollow: a reply that goes on without end arrives as it is sent, and ends with the server.
func TestRemoteFollow(t *testing.T) {
	own := certificate(t, nil, []string{"127.0.0.1"}, time.Now().Add(time.Hour))
	events := ctl.NewRing(10)
	server := ctl.New(ctl.Config{Source: &source{}, Events: events})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	h := protocol(server, map[string]*rights.User{"Bearer ibsm_r": {Name: "r", Role: rights.Reader}})
	at := overTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		both, cancel := context.WithCancel(r.Context())
		defer context.AfterFunc(ctx, cancel)()
		h.ServeHTTP(w, r.WithContext(both))
	}), &tls.Config{Certificates: []tls.Certificate{own}})
	client, err := ctl.NewTLSClient(ctl.Remote{URL: at.URL, TLS: &tls.Config{RootCAs: pool(own)}, Token: "ibsm_r"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	events.Add(ctl.Event{Text: "first"})
	var got []string
	err = client.Follow(t.Context(), 0, func(e *ctl.Event) error {
		got = append(got, e.Text)
		if e.Text == "first" {
			events.Add(ctl.Event{Text: "second"})
		} else {
			stop()
		}
		return nil
	})
	if err != nil || strings.Join(got, " ") != "first second" {
		t.Errorf("got %q, %v", got, err)
	}
}
