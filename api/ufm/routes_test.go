package ufm_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"ibsm/api/ufm"
	"ibsm/api/ufm/ufmtest"
	"ibsm/ctl"
	"ibsm/rights"
)

// Calls that not every user may send, by what only those may who have the right.
const (
	changeCalls = `POST /app/tokens
POST /app/tokens/revoke
POST /resources/pkeys
PUT /resources/pkeys
POST /resources/pkeys/add
PUT /resources/pkeys/qos_conf
POST /resources/pkeys/hosts
POST /actions/remove_guids_from_pkey
DELETE /resources/pkeys/{pkey}
DELETE /resources/pkeys/{pkey}/guids/{guids}
DELETE /resources/pkeys/{pkey}/hosts/{hosts}
`
	subnetCalls = `GET /resources/links
GET /app/unhealthy_ports
`
	operatorCalls = `PUT /app/unhealthy_ports
`
)

// TestRights: who may send each call is as the lists above say, and changes and refusals are recorded.
func TestRights(t *testing.T) {
	b := ufmtest.New(t, ufmtest.NICoSubnet(t), "")
	log := slog.New(slog.DiscardHandler)
	server := ctl.New(ctl.Config{Source: b, Logger: log})
	var last *ctl.Audited
	guard := ctl.Guard{Audit: func(a *ctl.Audited) { last = a }}
	routes := ufm.New(ufm.Config{Partitions: b, Source: b, Logger: log}).Routes()
	if len(routes)%len(ufm.Bases()) != 0 || len(routes) < 3*25 {
		t.Errorf("%d routes", len(routes))
	}
	for _, rt := range routes {
		base := ufm.Bases()[0]
		for _, other := range ufm.Bases() {
			if strings.HasPrefix(rt.Path, other+"/") {
				base = other
			}
		}
		line := rt.Method + " " + strings.TrimPrefix(rt.Path, base) + "\n"
		changes := strings.Contains(changeCalls, line) || strings.Contains(operatorCalls, line)
		for role, want := range map[rights.Role]bool{
			0:               false,
			rights.Reader:   !changes,
			rights.Tenant:   !strings.Contains(subnetCalls, line) && !strings.Contains(operatorCalls, line),
			rights.Operator: true,
			rights.Admin:    true,
		} {
			handled := false
			rt.Handle = func(w http.ResponseWriter, _ *http.Request) error {
				handled = true
				w.WriteHeader(http.StatusOK)
				return nil
			}
			r, w := httptest.NewRequest(rt.Method, "/?made_up=1", strings.NewReader("{}")), httptest.NewRecorder()
			last = nil
			server.Patient(guard.Handler(&rt)).ServeHTTP(w, r.WithContext(rights.With(r.Context(),
				&rights.User{Name: "u", Role: role})))
			if handled != want || (w.Code == http.StatusForbidden) == want {
				t.Errorf("%v, role %v: handled %t with status %d, want %t", &rt, role, handled, w.Code, want)
			}
			if recorded := last != nil; recorded != (!want || changes) {
				t.Errorf("%v, role %v: recorded %+v", &rt, role, last)
			}
		}
	}
}

// TestDocumented: docs/ufm.md has each call, and each parameter.
func TestDocumented(t *testing.T) {
	f, err := os.Open("../../docs/ufm.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	b := ufmtest.New(t, ufmtest.NICoSubnet(t), "")
	for _, rt := range ufm.New(ufm.Config{Partitions: b, Source: b}).Routes() {
		if rt.Does == "" || strings.HasSuffix(rt.Does, ".") {
			t.Errorf("%v has no description: %q", &rt, rt.Does)
		}
		path, first := strings.CutPrefix(rt.Path, ufm.Bases()[0]+"/")
		if !first || strings.HasPrefix(path, "cloudx") {
			continue
		}
		path = strings.NewReplacer("{pkey}", "P", "{guids}", "G1,G2", "{hosts}", "H1,H2").Replace(path)
		found := false
		for row := range strings.SplitSeq(string(text), "\n") {
			calls, _, is := strings.Cut(strings.TrimPrefix(row, "| "), " |")
			if is && strings.Contains(calls, "`"+rt.Method) && (strings.Contains(calls, " "+path+"`") ||
				strings.Contains(calls, "`"+path+"`")) {
				found = true
			}
		}
		if !found {
			t.Errorf("docs/ufm.md does not have %s %s", rt.Method, path)
		}
		for _, p := range rt.Params {
			if !strings.Contains(string(text), p.Name) {
				t.Errorf("docs/ufm.md does not have the parameter %s of %v", p.Name, &rt)
			}
		}
	}
}
