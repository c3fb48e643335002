package ctl_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"ibsm/ctl"
)

// TestLeader: GET and HEAD of /leader are answered in one word, with status 200 on the master only, on the control
// socket and over TCP, where nothing else is served. The answer of a standby is not an error.
func TestLeader(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	word := "standby"
	b := serve(t, &source{}, ctl.Config{Leader: func() (string, bool) { return word, word == "master" }},
		ctl.Listeners{Leader: l})
	ask := func(method, path string) (status int, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		if cache := resp.Header.Get("Cache-Control"); path == "/leader" && resp.StatusCode != 405 && cache != "no-store" {
			t.Errorf("%s: Cache-Control: %q", method, cache)
		}
		return resp.StatusCode, string(text)
	}
	for answer, status := range map[string]int{"standby": 503, "master": 200, "unconfirmed": 503} {
		word = answer
		if got, text := ask(get, "/leader"); got != status || text != answer+"\n" {
			t.Errorf("%s: %d %q", answer, got, text)
		}
		if got, text := ask(http.MethodHead, "/leader"); got != status || text != "" {
			t.Errorf("HEAD, %s: %d %q", answer, got, text)
		}
		if got, text := b.raw(get, "/leader", ""); got != status || text != answer+"\n" {
			t.Errorf("%s on the socket: %d %q", answer, got, text)
		}
	}
	if n := b.server.Stats().Errors.Load(); n != 0 {
		t.Errorf("%d errors counted", n)
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{post, "/leader", 405}, {get, "/", 404}, {get, "/v1/status", 404}, {get, "/metrics", 404}, {get, "/leader/", 404},
		{get, "/leader?x=1", 400}} {
		if status, text := ask(c.method, c.path); status != c.status {
			t.Errorf("%s %s: %d %q, want %d", c.method, c.path, status, text, c.status)
		}
	}
	if n := b.server.Stats().Leader.Accepted.Load(); n == 0 {
		t.Error("no connection counted")
	}
	none := serve(t, &source{}, ctl.Config{})
	if status, text := none.raw(get, "/leader", ""); status != 404 || !strings.Contains(text, "no election") {
		t.Errorf("without a manager: %d %q", status, text)
	}
}
