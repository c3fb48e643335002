package api_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"ibsm/api"
	"ibsm/api/users"
	"ibsm/api/users/userstest"
	"ibsm/rights"
)

const readerURI = "spiffe://cluster/reader"

// TestClientCertificates: a certificate that is valid now, for clients and by an authority of the file, is its user.
// Each other one has status 401 with its reason. A credential in the header decides.
func TestClientCertificates(t *testing.T) {
	h := listen(t, nil)
	other, between := userstest.NewAuthority(t, "clients"), userstest.NewAuthority(t, "between")
	valid := h.ca.Of(t, readerURI, nil)
	for _, c := range []struct {
		what        string
		certificate *tls.Certificate
		header      string
		says        string // "" for status 200
	}{
		{"valid", valid, "", ""},
		{"a DNS name that no user has", h.ca.Of(t, "node1.example", nil), "", "no user has the name node1.example"},
		{"another URI", h.ca.Of(t, readerURI+"/", nil), "", "no user has the name " + readerURI + "/"},
		{"no name", h.ca.Of(t, "", nil), "", "the client certificate has no DNS name and no URI"},
		{"expired", h.ca.Of(t, readerURI, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "",
			"certificate has expired or is not yet valid"},
		{"future", h.ca.Of(t, readerURI, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), "",
			"certificate has expired or is not yet valid"},
		{"foreign", other.Of(t, readerURI, nil), "", "signed by unknown authority"},
		{"foreign, of an authority that is sent", withChain(other.Of(t, readerURI, nil), other), "", "signed by unknown authority"},
		{"by a certificate that is no authority", withChain(between.Of(t, readerURI, nil), between), "",
			"signed by unknown authority"},
		{"signs itself", h.ca.Of(t, readerURI, func(c *x509.Certificate) { c.DNSNames = []string{userstest.SignsItself} }), "",
			"signed by unknown authority"},
		{"of a server", h.ca.Of(t, readerURI, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}), "", "incompatible key usage"},
		{"without one", nil, "", "no client certificate, and no header Authorization"},
		{"empty header", valid, "Authorization: ", ""},
		{"empty header, without one", nil, "Authorization: ", "no client certificate"},
		{"valid, wrong password", valid, basic("reader:wrong password"), "wrong user or password"},
		{"expired, right password", h.ca.Of(t, readerURI, func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Minute)
		}), basic("reader:" + password), ""},
		{"of two users", h.ca.Of(t, readerURI, func(c *x509.Certificate) {
			c.URIs = append(c.URIs, h.ca.Of(t, "spiffe://cluster/admin", nil).Leaf.URIs...)
		}), "", "names of the users reader and admin"},
	} {
		for _, http1 := range []bool{true, false} {
			a := ask{certificate: c.certificate, http1: http1}
			if c.header != "" {
				a.header = []string{c.header}
			}
			r := h.send("GET", "/v1/log-level", a)
			switch want := map[bool]int{true: 200, false: 401}[c.says == ""]; {
			case r.StatusCode != want || !strings.Contains(r.failure(), c.says):
				t.Errorf("%s: %s %s", c.what, r.Status, r.text)
			case c.what == "empty header, without one" && r.text != `{"error": "no client certificate"}`:
				t.Errorf("%s: %s, want that of the transcript", c.what, r.text)
			case want == 401 && !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Basic "):
				t.Errorf("%s: header WWW-Authenticate: %s", c.what, r.Header.Get("WWW-Authenticate"))
			}
		}
	}
}

// withChain is a certificate that is sent with that of the authority.
func withChain(c *tls.Certificate, of *userstest.Authority) *tls.Certificate {
	c.Certificate = append(c.Certificate, of.Certificate.Raw)
	return c
}

// TestChain: a certificate between the authority and the client's is sent by the client.
func TestChain(t *testing.T) {
	h := listen(t, nil)
	between := h.ca.Of(t, "", func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
		c.Subject.CommonName = "between"
	})
	issuer := userstest.AuthorityOf(t, between)
	c := issuer.Of(t, readerURI, nil)
	if r := h.send("GET", "/v1/log-level", ask{certificate: c}); r.StatusCode != 401 {
		t.Errorf("without the chain: %s", r.Status)
	}
	if r := h.send("GET", "/v1/log-level", ask{certificate: withChain(c, issuer)}); r.StatusCode != 200 {
		t.Errorf("with the chain: %s %s", r.Status, r.text)
	}
}

// TestCertificateEnds: a certificate that ends, and one whose authority goes, is refused on connections that exist.
func TestCertificateEnds(t *testing.T) {
	t.Parallel()
	h := listen(t, nil)
	connections := 0
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if !got.Reused {
			connections++
		}
	}}
	status := func(client *http.Client) int {
		t.Helper()
		ctx := httptrace.WithClientTrace(t.Context(), trace)
		req, err := http.NewRequestWithContext(ctx, "GET", "https://"+h.server.Addr()+"/v1/log-level", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	soon := h.ca.Of(t, readerURI, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(3 * time.Second) })
	client := h.client(ask{certificate: soon})
	status(client) // 200, unless this host is very slow
	h.eventually("the certificate has ended", func() bool { return status(client) == 401 })
	if connections != 1 {
		t.Errorf("%d connections", connections)
	}
	client = h.client(ask{certificate: h.ca.Of(t, readerURI, nil)})
	if got := status(client); got != 200 {
		t.Errorf("status %d before the authority goes", got)
	}
	next := userstest.NewAuthority(t, "next")
	h.write("clients.crt", 0o644, []byte("no certificate"))
	h.eventually("a file without a certificate is not used", func() bool {
		return status(client) == 200 && strings.Contains(h.log.text(), "no certificate in PEM form")
	})
	h.write("clients.crt", 0o644, next.PEM)
	h.eventually("the authority has gone", func() bool { return status(client) == 401 })
	if got := status(h.client(ask{certificate: next.Of(t, readerURI, nil)})); got != 200 {
		t.Errorf("status %d of the next authority", got)
	}
	if connections != 3 {
		t.Errorf("%d connections", connections)
	}
	h.write("clients.crt", 0o644, append(next.PEM, h.ca.PEM...)) // while certificates are exchanged
	h.eventually("both are valid", func() bool { return status(client) == 200 })
}

// TestNoClientAuthority: where no certificate can be checked, it is none, and the reply says why.
func TestNoClientAuthority(t *testing.T) {
	h := listen(t, func(cfg *api.Config) { cfg.ClientCA = "" })
	certificate := h.ca.Of(t, readerURI, nil)
	if r := h.send("GET", "/v1/log-level", ask{certificate: certificate}); r.StatusCode != 401 ||
		!strings.Contains(r.text, "api_client_ca_file") {
		t.Errorf("%s %s", r.Status, r.text)
	}
	if r := h.send("GET", "/v1/log-level", ask{certificate: certificate, header: as("reader").header}); r.StatusCode != 200 {
		t.Errorf("with a password: %s %s", r.Status, r.text)
	}
}

// TestUsersChange: a change of the users' file is in force within a second, on connections that exist: another role,
// a password, a token and a certificate that were revoked. A file with an error leaves the users as they were.
func TestUsersChange(t *testing.T) {
	t.Parallel()
	h := listen(t, nil)
	certificate := h.ca.Of(t, "spiffe://cluster/operator", nil)
	clients := map[string]ask{"password": as("operator"), "token": {header: []string{"Authorization: Bearer " + h.tokens["operator"]}},
		"certificate": {certificate: certificate}}
	for name, a := range clients {
		a.client = h.client(a)
		clients[name] = a
	}
	all := func(method, path string) (s string) {
		for _, name := range []string{"password", "token", "certificate"} {
			s += h.send(method, path, clients[name]).Status[:4]
		}
		return s
	}
	is := func(what, method, path, want string) {
		t.Helper()
		h.eventually(what, func() bool { return all(method, path) == want })
	}
	const set, read = "/v1/log-level?flags=3", "/v1/log-level"
	is("all are taken", "POST", set, "200 200 200 ")
	edit := func(change func(*users.Account)) {
		t.Helper()
		h.changeUsers(func(s *users.Set) (*users.Set, error) {
			a, _ := s.Find("operator")
			next, err := s.Delete("operator")
			if err != nil {
				return nil, err
			}
			change(&a)
			return next.Add(a)
		})
	}
	edit(func(a *users.Account) { a.Role = rights.Reader })
	is("the role is another one", "POST", set, "403 403 403 ")
	edit(func(a *users.Account) { a.Role = rights.Operator })
	is("the role is as it was", "POST", set, "200 200 200 ")
	h.changeUsers(func(s *users.Set) (*users.Set, error) {
		a, _ := s.Find("operator")
		return s.RevokeToken("operator", a.Tokens[0].ID)
	})
	is("the token is revoked", "GET", read, "200 401 200 ")
	edit(func(a *users.Account) { a.Certificates = nil })
	is("the certificate is revoked", "GET", read, "200 401 401 ")
	h.write("users.toml", 0o600, []byte("[[user]]\nname = operator\n"))
	h.eventually("a file with an error is not used", func() bool {
		return all("GET", read) == "200 401 401 " && strings.Contains(h.log.text(), "users.toml:2: this is not TOML")
	})
	h.write("users.toml", 0o600, nil)
	is("the user has gone", "GET", read, "401 401 401 ")
}
