package ctl_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/rights"
)

// tenantRoutes are the requests that a tenant may send; operatorRoutes those that a reader may not, and adminRoutes
// those that only an admin may.
const (
	tenantRoutes = `GET /v1/hosts
GET /v1/vports
GET /v1/partition
GET /v1/partition/{name}
PUT /v1/partition/{name}
PATCH /v1/partition/{name}
DELETE /v1/partition/{name}
GET /v1/partitions/history
POST /v1/partitions/undo
`
	operatorRoutes = `PUT /v1/partition/{name}
PATCH /v1/partition/{name}
DELETE /v1/partition/{name}
POST /v1/partitions/undo
POST /v1/counters/clear
POST /v1/links/isolate
POST /v1/links/heal
POST /v1/sweep
POST /v1/reroute
POST /v1/drain
POST /v1/undrain
POST /v1/reload
POST /v1/log-level
POST /v1/partitions/apply
`
	adminRoutes = `POST /v1/capture
GET /v1/audit
POST /v1/security/rotate
`
)

// TestRights: who may send each request is as the lists above say, and refusals and changes are recorded.
func TestRights(t *testing.T) {
	server := ctl.New(ctl.Config{Source: &source{}})
	var last *ctl.Audited
	guard := ctl.Guard{Audit: func(a *ctl.Audited) { last = a }}
	for _, rt := range server.Routes() {
		line, query := rt.String()+"\n", url.Values{}
		for _, p := range rt.Params {
			if p.Required {
				query.Set(p.Name, "1")
			}
		}
		for _, u := range []*rights.User{nil, {Name: "r", Role: rights.Reader}, {Name: "t", Role: rights.Tenant},
			{Name: "o", Role: rights.Operator}, {Name: "a", Role: rights.Admin}} {
			role := rights.Role(0)
			if u != nil {
				role = u.Role
			}
			want := map[rights.Role]bool{
				0:               rt.Path == "/leader",
				rights.Reader:   !strings.Contains(operatorRoutes+adminRoutes, line),
				rights.Tenant:   rt.Path == "/leader" || strings.Contains(tenantRoutes, line),
				rights.Operator: !strings.Contains(adminRoutes, line),
				rights.Admin:    true,
			}[role]
			handled := false
			rt.Handle = func(w http.ResponseWriter, _ *http.Request) error {
				handled = true
				w.WriteHeader(http.StatusOK)
				return nil
			}
			r := httptest.NewRequest(rt.Method, "/?"+query.Encode(), nil)
			w := httptest.NewRecorder()
			last = nil
			server.Patient(guard.Handler(&rt)).ServeHTTP(w, r.WithContext(rights.With(r.Context(), u)))
			if handled != want || (w.Code == http.StatusForbidden) == want {
				t.Errorf("%v, role %v: handled %t with status %d, want %t", &rt, role, handled, w.Code, want)
			}
			changes := rt.Method != "GET" && strings.Contains(operatorRoutes+adminRoutes, line)
			if (last != nil) != (!want || changes) {
				t.Errorf("%v, role %v: recorded %+v", &rt, role, last)
			}
			if last != nil && (last.Status != w.Code || last.Request != rt.String() ||
				u != nil && last.User != u.Name) {
				t.Errorf("%v, role %v: recorded %+v", &rt, role, last)
			}
		}
	}
}

// TestRoutesDocumented: docs/ctl.md has each request, with its parameters.
func TestRoutesDocumented(t *testing.T) {
	f, err := os.Open("../docs/ctl.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range ctl.New(ctl.Config{Source: &source{}}).Routes() {
		path := strings.NewReplacer("{name}", "NAME", "{kind}", "KIND").Replace(rt.Path)
		at := strings.Index(string(text), "| `"+rt.Method+" "+path+"`")
		if at < 0 {
			t.Errorf("docs/ctl.md does not have %v", &rt)
			continue
		}
		row, _, _ := strings.Cut(string(text[at:]), "\n")
		for _, p := range rt.Params {
			if !strings.Contains(row, "`"+p.Name+"`") && !strings.Contains(row, "the same") && p.Name != "all" {
				t.Errorf("docs/ctl.md does not have the parameter %s of %v", p.Name, &rt)
			}
		}
		if rt.Does == "" || strings.HasSuffix(rt.Does, ".") {
			t.Errorf("%v has no description: %q", &rt, rt.Does)
		}
	}
}
