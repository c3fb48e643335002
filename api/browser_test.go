package api_test

import (
	"strings"
	"testing"

	"ibsm/ctl/page"
)

// TestPageForBrowsers: users get the page, a browser without a credential is asked for one, and a page of another site
// may lead to the page, but has neither frames of it nor its data.
func TestPageForBrowsers(t *testing.T) {
	h := prepare(t)
	cfg := h.config()
	routes := page.New(page.Config{}).Routes()
	for i := range routes {
		routes[i].Fail = h.control.Fail
	}
	cfg.Routes = append(cfg.Routes, routes...)
	h.serve(cfg)
	opens := []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}
	frames := []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}
	for _, c := range []struct {
		path, user string
		header     []string
		status     int
	}{
		{"/", "reader", nil, 200}, {"/", "tenant", nil, 200}, {"/page/main.js", "tenant", nil, 200},
		{"/", "", nil, 401}, {"/page/main.js", "", nil, 401}, {"/v1/problems", "tenant", nil, 403}, {"/v1/map", "tenant", nil, 403},
		{"/v1/changes", "tenant", nil, 403}, {"/v1/table/nodes", "tenant", nil, 403}, {"/v1/find?text=a", "tenant", nil, 403},
		{"/", "reader", opens, 200}, {"/", "reader", frames, 403}, {"/page/main.js", "reader", opens, 403},
		{"/v1/log-level", "reader", opens, 403}, {"/?a=b", "reader", opens, 200},
		{"/", "reader", append([]string{"Host: rebound.example"}, opens...), 403},
	} {
		a := ask{header: c.header}
		if c.user != "" {
			a.header = append(as(c.user).header, c.header...)
		}
		for _, line := range c.header {
			if name, value, _ := strings.Cut(line, ": "); name == "Host" {
				a.host = value
			}
		}
		r := h.send("GET", c.path, a)
		if r.StatusCode != c.status {
			t.Errorf("%s of %q with %v: %s, want %d", c.path, c.user, c.header, r.Status, c.status)
		}
		if c.status == 401 && !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("%s: the browser is not asked for a password", c.path)
		}
		if c.status == 200 && (!strings.Contains(r.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
			r.Header.Get("X-Frame-Options") != "DENY") {
			t.Errorf("%s: %v", c.path, r.Header)
		}
	}
}
