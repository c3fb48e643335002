package users_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/netip"
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
		time.Sleep(24 * time.Hour)
		_, err := h.Authenticate(t.Context(), users.Credential{Authorization: "Bearer " + h.token})
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
