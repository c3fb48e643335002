package ctl_test

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/rights"
)

// TestVPortsOfTenants: a tenant sees the vPorts of its hosts and GUIDs, others all; a manager that is not master has
// none to show.
func TestVPortsOfTenants(t *testing.T) {
	list := []*ctl.VPort{{GUID: "0x0200000000000001", Host: "node1"}, {GUID: "0x0200000000000002", Host: "node2"},
		{GUID: "0x0000000000000000", Host: "node1"}, {GUID: "0x0000000000000000", Host: "node2"}}
	s := &source{rows: func(ctl.List, ctl.Filter) (iter.Seq[any], error) {
		return func(yield func(any) bool) {
			for _, v := range list {
				if !yield(v) {
					return
				}
			}
		}, nil
	}}
	server := ctl.New(ctl.Config{Source: s})
	routes := server.Routes()
	at := slices.IndexFunc(routes, func(r ctl.Route) bool { return r.Path == "/v1/vports" })
	if at < 0 {
		t.Fatal("no route")
	}
	ask := func(u *rights.User) (status int, text string, guids []string) {
		t.Helper()
		r, w := httptest.NewRequest("GET", "/v1/vports?state=Down", nil), httptest.NewRecorder()
		handler := (&ctl.Guard{}).Handler(&routes[at])
		server.Patient(handler).ServeHTTP(w, r.WithContext(rights.With(r.Context(), u)))
		var reply struct {
			VPorts []ctl.VPort `json:"vports"`
		}
		if w.Code == http.StatusOK {
			if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range reply.VPorts {
			guids = append(guids, v.Host+" "+v.GUID[len(v.GUID)-1:])
		}
		return w.Code, w.Body.String(), guids
	}
	for _, c := range []struct {
		user *rights.User
		want []string
	}{
		{&rights.User{Name: "r", Role: rights.Reader}, []string{"node1 1", "node2 2", "node1 0", "node2 0"}},
		{&rights.User{Name: "h", Role: rights.Tenant, Scope: rights.Scope{Hosts: []string{"node1"}}},
			[]string{"node1 1", "node1 0"}},
		{&rights.User{Name: "g", Role: rights.Tenant, Scope: rights.Scope{GUIDs: rights.Ranges[mad.GUID]{
			{0x0200000000000002, 0x0200000000000009}}}}, []string{"node2 2"}},
		{&rights.User{Name: "n", Role: rights.Tenant}, nil},
	} {
		if status, text, got := ask(c.user); status != http.StatusOK || !slices.Equal(got, c.want) {
			t.Errorf("%s: status %d, %q, want %q: %s", c.user.Name, status, got, c.want, text)
		}
	}
	s.none = true
	if status, text, _ := ask(&rights.User{Name: "r", Role: rights.Reader}); status != http.StatusServiceUnavailable ||
		!strings.Contains(text, "only a master") {
		t.Errorf("a standby: status %d, %s", status, text)
	}
}
