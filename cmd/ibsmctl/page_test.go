package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/ctl"
)

// proxied is a proxy of a manager that repeats the requests it gets.
func proxied(t *testing.T) (p *pageProxy, base string) {
	t.Helper()
	sock := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	manager := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Header().Set("Set-Cookie", "a=b")
		if r.URL.Path == "/v1/none" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"))
	}))
	manager.Listener = l
	manager.Start()
	t.Cleanup(manager.Close)
	front := httptest.NewUnstartedServer(nil)
	p = newPageProxy(&asker{Client: ctl.NewClient(sock)}, front.Listener.Addr().String())
	front.Config.Handler = p
	front.Start()
	t.Cleanup(front.Close)
	return p, front.URL
}

// TestPageProxy: the token of the link is taken once; without its key nothing of the manager is shown; only reads pass;
// pages of other sites, and names that lead to the loopback, are refused.
func TestPageProxy(t *testing.T) {
	p, base := proxied(t)
	token := strings.TrimPrefix(p.link(), base+"/#token=")
	if len(token) < 40 || token == p.link() {
		t.Fatalf("the link is %s", p.link())
	}
	do := func(method, path, body string, header ...string) (status int, text string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			if req.Header.Set(name, value); name == "Host" {
				req.Host = value
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		read, _ := io.ReadAll(resp.Body)
		if resp.Header.Get("X-Frame-Options") != "DENY" || resp.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s %s: header %v", method, path, resp.Header)
		}
		return resp.StatusCode, string(read)
	}
	for _, wrong := range []string{"", "x", token[1:], token + "0", strings.Repeat("x", 1000)} {
		if status, _ := do("POST", "/session", wrong); status != 403 {
			t.Errorf("the token %.60q: status %d", wrong, status)
		}
	}
	if status, _ := do("GET", "/v1/status", "", "Authorization: Bearer "); status != 401 {
		t.Errorf("an empty key before there is one: %d", status)
	}
	status, key := do("POST", "/session", token, "Origin: "+base)
	if status != 200 || len(key) < 40 || key == token {
		t.Fatalf("the token: %d %s", status, key)
	}
	if status, text := do("POST", "/session", token); status != 403 || !strings.Contains(text, "has been used") {
		t.Errorf("the token again: %d %s", status, text)
	}
	own, other := "Authorization: Bearer "+key, "Authorization: Bearer "+token
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	for _, c := range []struct {
		method, path string
		header       []string
		status       int
		text         string
	}{
		{"GET", "/", nil, 200, "GET / "},
		{"GET", "/page/main.js", nil, 200, "GET /page/main.js "},
		{"GET", "/v1/ports?a=1&b=%2F", []string{own}, 200, "GET /v1/ports?a=1&b=%2F "},
		{"GET", "/v1/status", []string{own, "Host: localhost:" + port}, 200, "GET /v1/status "},
		{"GET", "/v1/status", []string{own, "Sec-Fetch-Site: same-origin"}, 200, "GET /v1/status "},
		{"GET", "/v1/none", []string{own}, 404, "GET /v1/none"},
		{"GET", "/v1/status", nil, 401, "has no key"},
		{"GET", "/v1/status", []string{other}, 401, "has no key"},
		{"GET", "/v1/status", []string{"Authorization: Basic " + key}, 401, "has no key"},
		{"POST", "/v1/sweep", []string{own}, 405, "only reads"},
		{"DELETE", "/v1/partition/a", []string{own}, 405, "only reads"},
		{"HEAD", "/v1/status", []string{own}, 405, ""},
		{"GET", "/metrics", []string{own}, 404, ""},
		{"GET", "/ufmRest/x", []string{own}, 404, ""},
		{"GET", "/v1/status", []string{own, "Host: rebound.example:" + port}, 403, "header Host"},
		{"GET", "/", []string{"Host: rebound.example"}, 403, "header Host"},
		{"GET", "/v1/status", []string{own, "Origin: http://other.example"}, 403, "another site"},
		{"GET", "/v1/status", []string{own, "Origin: http://127.0.0.1:1"}, 403, "another site"},
		{"GET", "/v1/status", []string{own, "Sec-Fetch-Site: cross-site"}, 403, "another site"},
		{"GET", "/v1/status", []string{own, "Sec-Fetch-Site: same-site"}, 403, "another site"},
		{"POST", "/session", []string{"Origin: null"}, 403, "another site"},
		{"GET", "/", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: iframe"}, 403, "another site"},
		{"GET", "/", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"}, 200, "GET / "},
	} {
		if status, text := do(c.method, c.path, "", c.header...); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %s %v: status %d %s, want %d %s", c.method, c.path, c.header, status, text, c.status, c.text)
		}
	}
}
