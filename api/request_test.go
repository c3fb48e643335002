package api_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"ibsm/api"
	"ibsm/ctl"
)

// say sends the text of a request over HTTP/1.1, and reads the reply.
func (h *harness) say(method, text string) (*http.Response, string) {
	h.Helper()
	var conn net.Conn
	var err error
	if strings.HasPrefix(h.server.URL(), "http:") {
		conn, err = net.Dial("tcp", h.server.Addr())
	} else {
		conn, err = tls.Dial("tcp", h.server.Addr(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	if err != nil {
		h.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		h.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		h.Fatalf("%.200q: %v", text, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	return resp, string(body)
}

// TestPaths: each way to write a path leads to the request that it names, or to an error. None is redirected.
func TestPaths(t *testing.T) {
	h := listen(t, nil)
	for _, c := range []struct {
		target string // as it is sent
		status int    // with a credential; 0: refused by HTTP itself
	}{
		{"/v1/log-level", 200}, {"/v1/log-level/", 200}, {"/v1/log-level//", 200}, {"//v1//log-level", 200},
		{"///v1/log-level", 200}, {"/./v1/./log-level", 200}, {"/v1/log-level/.", 200}, {"/%2e/v1/log-level", 200},
		{"/v1/log%2dlevel", 200}, {"/%76%31/log-level", 200}, {"/v1/log-level?", 200},
		{"/v1/log-level/..", 404}, {"/v1/../v1/log-level", 404}, {"/../v1/log-level", 404}, {"/v1/%2e%2e/v1/log-level", 404},
		{"/v1/.%2E/v1/log-level", 404}, {"/v1%2flog-level", 404}, {"/v1%2Flog-level", 404}, {"/v1/log-level%2f", 404},
		{"/v1/log-level%2f..", 404}, {"/v1%5clog-level", 404}, {"/V1/log-level", 404}, {"/v1/LOG-LEVEL", 404},
		{"/v1/log-level%00", 404}, {"/v1/log-level;a=b", 404}, {"/v1/log-level%3fflags=1", 404}, {"/v1/log-level%20", 404},
		{"/v1", 404}, {"/v1/", 404}, {"/", 404}, {"//", 404}, {"/.", 404}, {"/v1/none", 404}, {"/v1/log-level/more", 404},
		{"/v1/partition/a%2fb", 404}, {"/v1/%252e%252e/log-level", 404}, {"/v1/%E2%80%AElevel", 404}, {"/v1/%ff", 404},
		{"/" + strings.Repeat("a", 8000), 404}, {"/" + strings.Repeat("a/", 4000), 404}, {"/metrics/..", 404},
		{"/v1/log-level?flags=1", 400}, {"/v1/log-level?%gg", 200},
		{"/v1/log-level%", 0}, {"/v1/log-level%zz", 0}, {"v1/log-level", 0}, {"", 0}, {`\v1\log-level`, 0},
		{"http://other.example/v1/log-level", 200}, {"https://other.example//v1/log-level", 200}, {"http://other.example", 404},
		{"ftp://other.example/v1/../log-level", 404}, {"//other.example/v1/log-level", 404}, {"*", 404},
	} {
		credential := basic("reader:" + password)
		resp, body := h.say("GET", "GET "+c.target+" HTTP/1.1\r\nHost: "+h.server.Addr()+"\r\n"+credential+"\r\n\r\n")
		checkPath(t, "HTTP/1.1", c.target, resp, body, c.status)
		if strings.HasPrefix(c.target, "/") && c.status != 0 {
			r := h.send("GET", "/", ask{raw: c.target, header: []string{credential}})
			checkPath(t, "HTTP/2", c.target, r.Response, r.text, c.status)
		}
		resp, body = h.say("GET", "GET "+c.target+" HTTP/1.1\r\nHost: "+h.server.Addr()+"\r\n\r\n")
		want := 401
		if c.status == 0 || resp.StatusCode == 404 && strings.Contains(body, "no such request") {
			want = resp.StatusCode
		}
		checkPath(t, "HTTP/1.1 without a credential", c.target, resp, body, want)
	}
}

func checkPath(t *testing.T, proto, target string, resp *http.Response, body string, want int) {
	t.Helper()
	refused := want == 0 && resp.StatusCode == 400
	if resp.StatusCode != want && !refused || resp.Header.Get("Location") != "" {
		t.Errorf("%s, %.60q: %s %s, want %d", proto, target, resp.Status, body, want)
	}
	if len(body) > 400 {
		t.Errorf("%s, %.60q: the reply has %d bytes", proto, target, len(body))
	}
}

// samplePath is a path of a route.
func samplePath(rt *ctl.Route) string {
	return regexp.MustCompile(`\{\w+\}`).ReplaceAllString(strings.ReplaceAll(rt.Path, "...}", "}"), "x")
}

// pattern matches the paths of a route.
func pattern(rt *ctl.Route) *regexp.Regexp {
	rest := regexp.MustCompile(`\\\{\w+\\.\\.\\.\\\}`).ReplaceAllString(regexp.QuoteMeta(rt.Path), ".*")
	return regexp.MustCompile("^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(rest, "[^/]+") + "$")
}

// TestMethods: a path has the methods of the table, and HEAD where it has GET. Others have status 405 with the header
// Allow. Who has no credential does not learn that.
func TestMethods(t *testing.T) {
	h := listen(t, nil)
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	has, routes := map[string][]string{}, served(h.control)
	for i := range routes {
		path := samplePath(&routes[i])
		has[path] = nil
		for _, rt := range routes { // another route may stand for this path, too
			if pattern(&rt).MatchString(path) && !slices.Contains(has[path], rt.Method) {
				has[path] = append(has[path], rt.Method)
			}
		}
	}
	if len(has) < 50 {
		t.Errorf("only %d paths", len(has))
	}
	client := h.client(ask{})
	for _, path := range slices.Sorted(maps.Keys(has)) {
		for _, method := range append(methods, "OPTIONS", "TRACE", "PROPFIND", "get") {
			if slices.Contains(has[path], method) {
				continue
			}
			r := h.send(method, path, ask{header: as("admin").header, client: client})
			if want := slices.DeleteFunc(slices.Clone(methods), func(m string) bool {
				return !slices.Contains(has[path], m)
			}); r.StatusCode != 405 || r.Header.Get("Allow") != strings.Join(want, ", ") {
				t.Errorf("%s %s: %s, Allow: %s", method, path, r.Status, r.Header.Get("Allow"))
			}
			if r := h.send(method, path, ask{client: client}); r.StatusCode != 401 || r.Header.Get("Allow") != "" {
				t.Errorf("%s %s without a credential: %s", method, path, r.Status)
			}
		}
	}
	for _, c := range []struct {
		path   string
		status int
	}{{"/v1/log-level", 200}, {"/leader", 200}, {"/v1/none", 404}} {
		if r := h.send("HEAD", c.path, as("reader")); r.StatusCode != c.status || r.text != "" {
			t.Errorf("HEAD %s: %s %q", c.path, r.Status, r.text)
		}
	}
	for _, request := range []string{"OPTIONS *", "CONNECT 127.0.0.1:22", "CONNECT /v1/log-level", "PRI *"} {
		resp, body := h.say("GET", request+" HTTP/1.1\r\nHost: "+h.server.Addr()+"\r\n"+basic("admin:"+password)+"\r\n\r\n")
		if resp.StatusCode == 200 && (request != "OPTIONS *" || body != "") || resp.StatusCode/100 == 3 {
			t.Errorf("%s: %s %s", request, resp.Status, body)
		}
	}
}

// TestPagesOfOtherSites: a request that a browser sends for a page of another site is refused before its credential is
// looked at, which the browser may add. So is one for a page whose name leads to the address of this server.
func TestPagesOfOtherSites(t *testing.T) {
	h := listen(t, nil)
	plain := listen(t, func(cfg *api.Config) { cfg.Addr = "http://127.0.0.1:0" })
	const site, host = "another site", "not this server's"
	for _, c := range []struct {
		host   string // PORT is that of the server
		header []string
		tls    string // why it is refused; "" if it is not
		plain  string
	}{
		{"", nil, "", ""},
		{"localhost:PORT", nil, "", ""},
		{"localhost", nil, "", ""},
		{"[::1]:PORT", nil, "", ""},
		{"192.0.2.1:PORT", nil, "", host},
		{"evil.example:PORT", nil, "", host}, // over TLS a browser would have refused the certificate
		{"127.0.0.1.evil.example", nil, "", host},
		{"localhost.evil.example", nil, "", host},
		{"", []string{"Sec-Fetch-Site: cross-site"}, site, site},
		{"", []string{"Sec-Fetch-Site: same-site"}, site, site},
		{"", []string{"Sec-Fetch-Site: SAME-ORIGIN"}, site, site},
		{"", []string{"Sec-Fetch-Site: none"}, "", ""},
		{"", []string{"Sec-Fetch-Site: same-origin"}, "", ""},
		{"evil.example:PORT", []string{"Sec-Fetch-Site: none"}, host, host},
		{"evil.example:PORT", []string{"Sec-Fetch-Site: same-origin", "Origin: SCHEME://evil.example:PORT"}, host, host},
		{"evil.example:PORT", []string{"Origin: SCHEME://evil.example:PORT"}, host, host},
		{"localhost:PORT", []string{"Origin: SCHEME://localhost:PORT"}, "", ""},
		{"localhost:PORT", []string{"Origin: SCHEME://localhost:1"}, site, site},
		{"localhost:PORT", []string{"Origin: SCHEME://127.0.0.1:PORT"}, site, site},
		{"", []string{"Origin: null"}, site, site},
		{"", []string{"Origin: https://evil.example"}, site, site},
		{"", []string{"Origin: %"}, site, site},
		{"", []string{"Origin: SCHEME://127.0.0.1:PORT", "Sec-Fetch-Site: cross-site"}, site, site},
	} {
		for _, on := range []*harness{h, plain} {
			scheme, _, _ := strings.Cut(on.server.URL(), ":")
			_, port, _ := net.SplitHostPort(on.server.Addr())
			in := strings.NewReplacer("PORT", port, "SCHEME", scheme)
			for _, user := range []string{"admin:" + password, "admin:wrong one", ""} {
				a := ask{host: in.Replace(c.host)}
				for _, line := range c.header {
					a.header = append(a.header, in.Replace(line))
				}
				if user != "" {
					a.header = append(a.header, basic(user))
				}
				says, want := c.tls, 200
				if on == plain {
					says = c.plain
				}
				switch {
				case says != "":
					want = 403
				case user != "admin:"+password:
					want = 401
				}
				r := on.send("POST", "/v1/log-level?flags=3", a)
				if r.StatusCode != want || want == 403 && !strings.Contains(r.text, says) {
					t.Errorf("%s, host %q, %v, %q: %s %s", scheme, c.host, c.header, user, r.Status, r.text)
				}
				if r.Header.Get("Access-Control-Allow-Origin") != "" {
					t.Error("a page of another site may read the reply")
				}
			}
		}
	}
}

// TestRequestIDs: each reply has an ID of its own, which the audit has, too, and headers for browsers.
func TestRequestIDs(t *testing.T) {
	h := listen(t, nil)
	var mu sync.Mutex
	seen := map[string]bool{}
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			client := h.client(ask{})
			for _, path := range []string{"/v1/log-level", "/v1/none", "/v1/..", "/openapi.json", "/leader", "/"} {
				for range 5 {
					a := ask{client: client, header: []string{"X-Request-Id: mine"}}
					if i%2 == 0 {
						a.header = append(a.header, basic("reader:"+password))
					}
					r := h.send("GET", path, a)
					id := r.Header.Get("X-Request-Id")
					mu.Lock()
					if seen[id] || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) {
						t.Errorf("GET %s: ID %q", path, id)
					}
					seen[id] = true
					mu.Unlock()
					for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
						"X-Frame-Options": "DENY", "Server": ""} {
						if got := r.Header.Get(name); got != want {
							t.Errorf("GET %s: header %s: %q", path, name, got)
						}
					}
				}
			}
		})
	}
	clients.Wait()
	if len(seen) != 8*6*5 {
		t.Errorf("%d IDs", len(seen))
	}
}

// TestWrongCredentials: who sends a wrong user, a wrong password or a password of a user without one gets the same
// reply after the same work; what was wrong once costs no further work, and the right password is not kept out.
func TestWrongCredentials(t *testing.T) {
	h := listen(t, nil)
	checks := func() uint64 { return h.server.Counts().Checks }
	var first reply
	for i, credential := range []string{"admin:wrong password", "nobody:wrong password", "nobody:" + password, ":", ":x",
		"admin:", "Admin:" + password, "admin:" + password + " ", strings.Repeat("n", 500) + ":x"} {
		for again := range 2 {
			before := checks()
			r := h.send("GET", "/v1/log-level", ask{header: []string{basic(credential)}})
			want := uint64(1 - again)
			if r.StatusCode != 401 || checks()-before != want {
				t.Errorf("%.20q: %s after %d passwords were hashed, want %d", credential, r.Status, checks()-before, want)
			}
			r.Header.Del("X-Request-Id")
			r.Header.Del("Date")
			if i == 0 {
				first = r
			}
			if r.text != first.text || fmt.Sprint(r.Header) != fmt.Sprint(first.Header) {
				t.Errorf("%.20q: %v %s, other than %v %s", credential, r.Header, r.text, first.Header, first.text)
			}
		}
	}
	for i := range 2 {
		before := checks()
		if r := h.send("GET", "/v1/log-level", as("admin")); r.StatusCode != 200 || checks()-before != uint64(1-i) {
			t.Errorf("the right password: %s after %d checks", r.Status, checks()-before)
		}
	}
	for _, header := range []string{"Basic !", "Basic", "Bearer", "Bearer x", "Bearer ibsm_x", "Digest x", "Basic ibsm_x",
		"Negotiate x", strings.Repeat("x", 2000)} {
		before := checks()
		r := h.send("GET", "/v1/log-level", ask{header: []string{"Authorization: " + header}})
		if r.StatusCode != 401 || checks() != before || strings.Contains(r.text, "ibsm_x") {
			t.Errorf("header %.20q: %s %s after %d checks", header, r.Status, r.text, checks()-before)
		}
	}
	c := h.server.Counts()
	if c.Right != 2 || c.Wrong != 27 || c.Busy != 0 {
		t.Errorf("%d right credentials, %d wrong ones, %d busy", c.Right, c.Wrong, c.Busy)
	}
}

// TestForms: each form of a credential is taken, over both versions of HTTP, for the right of its user.
func TestForms(t *testing.T) {
	h := listen(t, nil)
	for _, http1 := range []bool{true, false} {
		for user, change := range map[string]int{"admin": 200, "operator": 200, "reader": 403, "tenant": 403} {
			read := 200
			if user == "tenant" {
				read = 403 // of the whole subnet
			}
			token := h.tokens[user]
			for name, a := range map[string]ask{
				"password": as(user), "bearer": {header: []string{"Authorization: Bearer " + token}},
				"token as it is":     {header: []string{"Authorization: Basic " + token}},
				"token as user":      {header: []string{basic(token + ":")}},
				"certificate":        {certificate: h.ca.Of(t, "spiffe://cluster/"+user, nil)},
				"certificate, empty": {certificate: h.ca.Of(t, "spiffe://cluster/"+user, nil), header: []string{"Authorization: "}},
			} {
				a.http1 = http1
				if r := h.send("GET", "/v1/log-level", a); r.StatusCode != read {
					t.Errorf("%s, %s: %s %s", user, name, r.Status, r.text)
				}
				if r := h.send("POST", "/v1/log-level?flags=7", a); r.StatusCode != change {
					t.Errorf("%s, %s: %s %s", user, name, r.Status, r.text)
				}
			}
		}
	}
}
