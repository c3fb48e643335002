package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

// entries are the lines of a file of the audit.
func (h *harness) entries(name string) (all []ctl.Audited) {
	h.Helper()
	text, err := os.ReadFile(h.path(name))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		var a ctl.Audited
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			h.Fatalf("%s: %q: %v", name, line, err)
		}
		all = append(all, a)
	}
	return all
}

// TestAudit: each change and each refusal is a line with who, from where, what and the ID of the reply; others are
// none. A file that was moved away is followed by a new one. Administrators read it over the API.
func TestAudit(t *testing.T) {
	h := listen(t, nil)
	const change = "POST /v1/log-level"
	began := time.Now().Add(-time.Second)
	var want []ctl.Audited
	do := func(method, path string, a ask, listed ctl.Audited) {
		t.Helper()
		r := h.send(method, path, a)
		if r.StatusCode != listed.Status {
			t.Errorf("%s %s: %s %s", method, path, r.Status, r.text)
		}
		if listed.Request != "" {
			listed.ID, listed.Path = r.Header.Get("X-Request-Id"), path
			want = append(want, listed)
		}
	}
	do("GET", "/v1/log-level", as("reader"), ctl.Audited{Status: 200})
	do("POST", "/v1/log-level?flags=5", as("operator"),
		ctl.Audited{User: "operator", Role: "operator", Request: change, Status: 200})
	do("POST", "/v1/log-level?flags=500", as("admin"),
		ctl.Audited{User: "admin", Role: "admin", Request: change, Status: 400, Error: "flags"})
	do("POST", "/v1/log-level?flags=5", as("reader"),
		ctl.Audited{User: "reader", Role: "reader", Request: change, Status: 403, Error: "user reader may not do this"})
	do("GET", "/v1/log-level", as("tenant"),
		ctl.Audited{User: "tenant", Role: "tenant", Request: "GET /v1/log-level", Status: 403, Error: "may not do this"})
	do("POST", "/v1/log-level?flags=5", ask{header: []string{basic("operator:wrong password")}},
		ctl.Audited{User: "operator", Request: "POST", Status: 401, Error: "wrong user or password"})
	do("GET", "/v1/log-level", ask{header: []string{basic("nobody:wrong password")}},
		ctl.Audited{Request: "GET", Status: 401, Error: "wrong user or password"})
	do("GET", "/v1/none", ask{}, ctl.Audited{Request: "GET", Status: 401, Error: "no client certificate"})
	do("POST", "/v1/log-level?flags=5", ask{header: append(as("admin").header, "Origin: null")},
		ctl.Audited{Request: "POST", Status: 403, Error: "another site"})
	do("GET", "/v1/none", as("reader"), ctl.Audited{Status: 404})
	do("DELETE", "/v1/log-level", as("reader"), ctl.Audited{Status: 405})
	h.eventually("all lines are written", func() bool { return len(h.entries("audit.log")) >= len(want) })
	info, err := os.Stat(h.path("audit.log"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	got := h.entries("audit.log")
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		g := got[i]
		if g.ID != w.ID || g.User != w.User || g.Role != w.Role || g.Request != w.Request || g.Path != w.Path ||
			g.Status != w.Status || !strings.Contains(g.Error, w.Error) || (g.Error == "") != (w.Error == "") ||
			!strings.HasPrefix(g.From, "127.0.0.1:") || g.Time.Before(began) || g.Time.After(time.Now()) ||
			g.Time.Location() != time.UTC {
			t.Errorf("line %d: %+v, want %+v", i, g, w)
		}
		if !strings.Contains(h.log.text(), "id="+w.ID) {
			t.Errorf("no event has line %d", i)
		}
	}
	if err := os.Rename(h.path("audit.log"), h.path("audit.log.1")); err != nil {
		t.Fatal(err)
	}
	do("POST", "/v1/log-level?flags=6", as("admin"), ctl.Audited{User: "admin", Role: "admin", Request: change, Status: 200})
	h.eventually("there is a new file", func() bool { return len(h.entries("audit.log")) == 1 })
	if info, err := os.Stat(h.path("audit.log")); err != nil || info.Mode() != 0o600 {
		t.Errorf("the next file: %v, %v", info, err)
	}
	if n := len(h.entries("audit.log.1")); n != len(want)-1 {
		t.Errorf("the file before has %d lines", n)
	}
	for range 3 {
		do("POST", "/v1/log-level?flags=6", as("admin"), ctl.Audited{User: "admin", Role: "admin", Request: change, Status: 200})
	}
	h.eventually("the last lines are written", func() bool { return len(h.entries("audit.log")) == 4 })
	for path, last := range map[string]int{"/v1/audit?most=2": 2, "/v1/audit": 4, "/v1/audit?most=1000000": 4} {
		var list struct{ Entries []ctl.Audited }
		r := h.send("GET", path, as("admin"))
		if err := json.Unmarshal([]byte(r.text), &list); err != nil || len(list.Entries) != last ||
			list.Entries[last-1].ID != want[len(want)-1].ID {
			t.Errorf("%s: %s %s", path, r.Status, r.text)
		}
	}
	for _, user := range []string{"reader", "tenant", "operator"} {
		if r := h.send("GET", "/v1/audit", as(user)); r.StatusCode != http.StatusForbidden {
			t.Errorf("%s reads the audit: %s", user, r.Status)
		}
	}
}

// TestRefusalsUnlisted: of many refused credentials the audit has the first, and the others are counted.
func TestRefusalsUnlisted(t *testing.T) {
	h := listen(t, nil)
	client := h.client(ask{})
	const sent = 300
	for range sent {
		if r := h.send("GET", "/v1/log-level", ask{client: client}); r.StatusCode != 401 {
			t.Fatal(r.Status)
		}
	}
	unlisted := int(h.server.Counts().Unlisted)
	h.eventually("the others are listed", func() bool { return len(h.entries("audit.log")) == sent-unlisted })
	if unlisted == 0 {
		t.Error("all refusals are listed") // 300 in less than 40 s
	}
}

// TestCounts: connections, requests by what they are and their statuses, and credentials are counted.
func TestCounts(t *testing.T) {
	h := listen(t, nil)
	client := h.client(ask{})
	for _, c := range []struct {
		method, path string
		a            ask
		times        int
	}{
		{"GET", "/v1/log-level", as("reader"), 3}, {"GET", "/v1/none", as("reader"), 2}, {"GET", "/v1/log-level", ask{}, 4},
		{"GET", "/leader", ask{}, 5}, {"GET", "/openapi.json", as("tenant"), 1}, {"GET", "/ufmRest/none", as("admin"), 6},
		{"GET", "/ufmRestV3/cloudx/a", as("admin"), 1},
		{"GET", "/v1/log-level", ask{header: []string{basic("admin:wrong password")}}, 2},
		{"GET", "/leader", ask{header: []string{"Sec-Fetch-Site: cross-site"}}, 7},
	} {
		for range c.times {
			c.a.client = client
			h.send(c.method, c.path, c.a)
		}
	}
	if r := h.send("GET", "/leader", ask{http1: true}); r.StatusCode != 200 {
		t.Error(r.Status)
	}
	c := h.server.Counts()
	got := map[string]uint64{"accepted": c.Accepted, "right": c.Right, "wrong": c.Wrong, "busy": c.Busy, "checks": c.Checks,
		"foreign": c.Foreign, "full": c.Full, "limited": c.Limited}
	for _, r := range c.Requests {
		got[r.Family+" "+r.Class] = r.Count
	}
	want := map[string]uint64{"accepted": 2, "right": 3 + 2 + 1 + 6 + 1, "wrong": 4 + 2, "busy": 0, "checks": 4, "foreign": 7,
		"full": 0, "limited": 0, "v1 2xx": 3, "v1 3xx": 0, "v1 4xx": 2 + 4 + 2, "v1 5xx": 0, "ufm 2xx": 0, "ufm 3xx": 0,
		"ufm 4xx": 6, "ufm 5xx": 1, "other 2xx": 5 + 1 + 1, "other 3xx": 0, "other 4xx": 7, "other 5xx": 0}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	h.eventually("a connection is closed", func() bool { return h.server.Counts().Open == 1 })
}
