package main

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

// TestTroublesOfStandby: a standby that cannot write its state store says so in status, why and security, although it
// knows no subnet.
func TestTroublesOfStandby(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "ctl.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	standby := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/status" {
			io.WriteString(w,
				`{"state":"STANDBY","unwritten":[{"what":"state store","reason":"disk full","since":"2026-11-20T10:00:00Z"}]}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"error":"not available now: the subnet is not known"}`)
	})}
	go standby.Serve(l)
	defer standby.Close()
	since := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	want := (&ctl.Unwritten{What: "state store", Reason: "disk full", Since: since}).String() + "\n"
	for _, verb := range []string{"status", "why", "why a b", "security"} {
		out, errs, status := invoke(t, append([]string{"--socket", socket}, strings.Fields(verb)...)...)
		if !strings.HasPrefix(out, want) || (status == 0) != (verb == "status") ||
			(status == 1) != strings.Contains(errs, "the subnet is not known") {
			t.Errorf("%s: status %d, it wrote\n%s%s", verb, status, out, errs)
		}
	}
	if out, _, _ := invoke(t, "--socket", socket, "--json", "security"); out != "" {
		t.Errorf("beside no JSON it writes %q", out)
	}
}
