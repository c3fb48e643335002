package users_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/api/users"
	"ibsm/rights"
)

// harness is an Authenticator of some users, whose time is that of synctest.
type harness struct {
	*users.Authenticator
	set   *users.Set
	token string // of nico

	run     time.Duration // of argon2id
	running atomic.Int64
	most    atomic.Int64 // that ran at a time
}

// compute stands for argon2id, which costs no time of synctest.
func (h *harness) compute(is func() bool) bool {
	h.most.Store(max(h.most.Load(), h.running.Add(1)))
	defer h.running.Add(-1)
	time.Sleep(h.run)
	return is()
}

// try sends a user's name and a password, and returns how long the answer takes.
func (h *harness) try(ctx context.Context, from, user, password string) (time.Duration, error) {
	began := time.Now()
	_, err := h.Authenticate(ctx, users.Credential{From: netip.MustParseAddr(from),
		Authorization: basic(user + ":" + password)})
	return time.Since(began), err
}

const password = "correct horse"

func newHarness(t *testing.T) *harness {
	t.Helper()
	p, err := users.NewPassword(password)
	token, text, err2 := users.NewToken(time.Now(), 1, "")
	set := &users.Set{}
	for _, a := range []users.Account{
		{User: rights.User{Name: "k8s", Role: rights.Operator}, Password: p},
		{User: rights.User{Name: "nico", Role: rights.Admin}, Tokens: []users.Token{token},
			Certificates: []string{"spiffe://cluster/ns/x", "node1.example.com"}},
		{User: rights.User{Name: "reader", Role: rights.Reader}, Certificates: []string{"node2.example.com"}},
	} {
		var err3 error
		set, err3 = set.Add(a)
		err = errors.Join(err, err3)
	}
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	h := &harness{set: set, token: text}
	h.Authenticator = users.NewAuthenticator(func() *users.Set { return h.set }, time.Now, pause)
	h.SetCheck(h.compute)
	h.SetTurns(8)
	return h
}

// pause sleeps in the time of synctest.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

var here = netip.MustParseAddr("192.0.2.1")

// TestForms: each form of a credential is taken, and what is none gets the sentence that says why.
func TestForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		for _, c := range []struct {
			names      []string
			header     string
			user, text string
		}{
			{nil, basic("k8s:" + password), "k8s", ""},
			{nil, "basic  " + base64.RawStdEncoding.EncodeToString([]byte("k8s:"+password)) + " ", "k8s", ""},
			{nil, "Basic " + h.token, "nico", ""},
			{nil, "Bearer " + h.token, "nico", ""},
			{nil, "bearer " + h.token, "nico", ""},
			{nil, basic(h.token + ":"), "nico", ""},
			{[]string{"spiffe://cluster/ns/x"}, "", "nico", ""},
			{[]string{"other", "node1.example.com", "spiffe://cluster/ns/x"}, " ", "nico", ""},
			{[]string{"node2.example.com"}, basic("k8s:" + password), "k8s", ""},
			{[]string{"node2.example.com"}, basic("k8s:wrong"), "", "wrong user or password"},
			{[]string{"node2.example.com"}, "Bearer x", "", "unknown token"},
			{[]string{"node2.example.com", "node1.example.com"}, "", "",
				"the client certificate has names of the users reader and nico"},
			{nil, "", "", "no client certificate, and no header Authorization"},
			{[]string{}, "", "", "the client certificate has no DNS name and no URI"},
			{[]string{"spiffe://other/x"}, "", "", "no user has the name spiffe://other/x"},
			{[]string{"a\nb"}, "", "", `no user has the name "a\nb"`},
			{nil, basic("k8s:" + password + "x"), "", "wrong user or password"},
			{nil, basic("nobody:" + password), "", "wrong user or password"},
			{nil, basic("nico:" + password), "", "wrong user or password"},
			{nil, basic("k8s:"), "", "wrong user or password"},
			{nil, basic("K8s:" + password), "", "wrong user or password"},
			{nil, basic(":"), "", "wrong user or password"},
			{nil, "Bearer ibsm_x", "", "unknown token"},
			{nil, "Basic ibsm_" + h.token, "", "unknown token"},
		} {
			u, err := h.Authenticate(t.Context(), users.Credential{From: here, Names: c.names, Authorization: c.header})
			var refused *users.Refused
			if name := nameOf(u); name != c.user || (err == nil) != (c.text == "") ||
				err != nil && (!errors.As(err, &refused) || err.Error() != c.text) {
				t.Errorf("%q, %q: user %q, %v; want %q, %s", c.names, c.header, name, err, c.user, c.text)
			}
		}
		for _, header := range []string{h.token, "Basic", "Bearer", "Bearer ", basic("k8s"), basic(h.token), "Basic !",
			"Digest username=k8s", "Negotiate abc", "Bearer" + h.token, "Bearer " + string(make([]byte, 1024))} {
			u, err := h.Authenticate(t.Context(), users.Credential{Names: []string{"node1.example.com"}, Authorization: header})
			if u != nil || err == nil || err.Error() != "the header Authorization has none of the forms Basic "+
				"base64(USER:PASSWORD), Basic TOKEN, Basic base64(TOKEN:) and Bearer TOKEN" {
				t.Errorf("%q: %v, %v", header, u, err)
			}
		}
		_, err := h.Authenticate(t.Context(), users.Credential{Authorization: basic("k8s:" + password)})
		if err != nil {
			t.Errorf("a client without an address: %v", err)
		}
		time.Sleep(24 * time.Hour)
		_, err = h.Authenticate(t.Context(), users.Credential{Authorization: "Bearer " + h.token})
		if err == nil || err.Error() != "the token has ended" {
			t.Errorf("a token of yesterday: %v", err)
		}
	})
}

func nameOf(u *rights.User) string {
	if u == nil {
		return ""
	}
	return u.Name
}

// TestNoUsers: where there are no users, as before the file was read, every credential is refused.
func TestNoUsers(t *testing.T) {
	for _, none := range []*users.Set{nil, {}} {
		a := users.NewAuthenticator(func() *users.Set { return none }, time.Now,
			func(context.Context, time.Duration) error { return nil })
		for _, c := range []users.Credential{{}, {Names: []string{"x"}}, {Authorization: "Bearer x"},
			{Authorization: basic("a:b")}} {
			u, err := a.Authenticate(t.Context(), c)
			if refused := (*users.Refused)(nil); u != nil || !errors.As(err, &refused) || refused.User != "" {
				t.Errorf("%v: %v, %v", c, u, err)
			}
		}
	}
}

// TestCertificateNames: names that could pass for another kind are left out.
func TestCertificateNames(t *testing.T) {
	uri := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	got := users.CertificateNames(&x509.Certificate{DNSNames: []string{"node1.example.com", "spiffe://cluster/admin"},
		URIs: []*url.URL{uri("spiffe://cluster/ns/x"), uri("node2.example.com"), uri("mailto:x@example.com")}})
	if want := []string{"node1.example.com", "spiffe://cluster/ns/x"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := users.CertificateNames(&x509.Certificate{}); got == nil || len(got) > 0 {
		t.Errorf("a certificate without names: %#v", got)
	}
}

// TestHidden: no verb of fmt prints a secret, wherever in a value it is.
func TestHidden(t *testing.T) {
	h := newHarness(t)
	set := h.set
	k8s, _ := set.Find("k8s")
	nico, _ := set.Find("nico")
	credential := users.Credential{From: here, Authorization: "Bearer " + h.token}
	_, refused := h.try(t.Context(), network, "k8s", "wrong horse")
	keeper := users.NewKeeper("users.toml", time.Now)
	type inside struct { // fmt calls no method of a field without an exported name
		account  users.Account
		password users.Password
		token    users.Token
		set      *users.Set
		keeper   *users.Keeper
		all      *users.Authenticator
	}
	secrets := []string{h.token, h.token[5:], password, "wrong horse"}
	for line := range strings.Lines(string(set.Text())) {
		if _, value, is := strings.Cut(line, "sha256 = "); is {
			sum, err := hex.DecodeString(strings.Trim(value, "\"\n"))
			if err != nil {
				t.Fatal(err)
			}
			secrets = append(secrets, forms(sum)...)
		}
		if _, value, is := strings.Cut(line, "password = "); is {
			parts := strings.Split(strings.Trim(value, "\"\n"), "$")
			for _, part := range parts[len(parts)-2:] {
				b, err := base64.RawStdEncoding.DecodeString(part)
				if err != nil {
					t.Fatal(err)
				}
				secrets = append(append(secrets, forms(b)...), part)
			}
		}
	}
	if len(secrets) < 13 {
		t.Fatalf("only %d secrets", len(secrets))
	}
	for _, value := range []any{k8s, &k8s, nico, k8s.Password, nico.Tokens, nico.Tokens[0], set, h.Authenticator,
		credential, &credential, refused, &users.Busy{}, keeper, []users.Account{k8s, nico}, h.Counts(),
		inside{k8s, k8s.Password, nico.Tokens[0], set, keeper, h.Authenticator}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			text := fmt.Sprintf(verb, value)
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%s of a %T shows %q: %.200s", verb, value, secret, text)
				}
			}
		}
		if text, err := json.Marshal(value); err == nil {
			for _, secret := range secrets {
				if strings.Contains(string(text), secret) {
					t.Errorf("JSON of a %T shows %q: %.200s", value, secret, text)
				}
			}
		}
	}
}

// forms are the first bytes of a secret as verbs print them.
func forms(b []byte) []string {
	return []string{fmt.Sprintf("%x", b[:6]), strings.Trim(fmt.Sprint(b[:6]), "[]"),
		strings.Trim(fmt.Sprintf("%#v", b[:6]), "[]byte{}")}
}

// FuzzAuthorization: whatever the header is, only the right one is a user's, and the sentence for the client repeats
// nothing of it.
func FuzzAuthorization(f *testing.F) {
	for _, header := range []string{"", "Basic", "Bearer ibsm_x", "Basic ibsm_x", basic("k8s:" + password), basic("ibsm_x:"),
		"basic a=b", "Negotiate x"} {
		f.Add(header)
	}
	p, err := users.NewPassword(password)
	set, err2 := (&users.Set{}).Add(users.Account{User: rights.User{Name: "k8s", Role: rights.Operator}, Password: p})
	if err := errors.Join(err, err2); err != nil {
		f.Fatal(err)
	}
	a := users.NewAuthenticator(func() *users.Set { return set }, time.Now,
		func(context.Context, time.Duration) error { return nil })
	a.SetQuick(func(is func() bool) bool { return is() }, password)
	sentences := []string{"no client certificate, and no header Authorization", "unknown token", "wrong user or password",
		"the header Authorization has none of the forms Basic base64(USER:PASSWORD), Basic TOKEN, Basic base64(TOKEN:) " +
			"and Bearer TOKEN"}
	f.Fuzz(func(t *testing.T, header string) {
		u, err := a.Authenticate(t.Context(), users.Credential{From: here, Authorization: header})
		if err != nil {
			if u != nil || !slices.Contains(sentences, err.Error()) {
				t.Errorf("%q: %v, %v", header, u, err)
			}
			return
		}
		scheme, rest, _ := strings.Cut(strings.Trim(header, " \t"), " ")
		pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.Trim(rest, " \t"), "="))
		if !strings.EqualFold(scheme, "basic") || err != nil || string(pair) != "k8s:"+password || u.Name != "k8s" {
			t.Errorf("%q is of user %v", header, u)
		}
	})
}
