package main

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/ctl"
)

// TestSeedTrouble: a standby that has the seed of M_Keys in memory only says so in status, why and security, although it knows no subnet.
func TestSeedTrouble(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "ctl.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	standby := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/status" {
			io.WriteString(w, `{"state":"STANDBY","seed":{"in_force":"in memory","file":"/state/keys","reason":"disk full"}}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"error":"not available now: the subnet is not known"}`)
	})}
	go standby.Serve(l)
	defer standby.Close()
	want := (&ctl.SeedTrouble{InForce: "in memory", Reason: "disk full"}).String() + "\n"
	for _, verb := range []string{"status", "why", "why a b", "security"} {
		out, errs, status := invoke(t, append([]string{"--socket", socket}, strings.Fields(verb)...)...)
		if !strings.HasPrefix(out, want) || (status == 0) != (verb == "status") || (status == 1) != strings.Contains(errs, "the subnet is not known") {
			t.Errorf("%s: status %d, it wrote\n%s%s", verb, status, out, errs)
		}
	}
	if out, _, _ := invoke(t, "--socket", socket, "--json", "security"); out != "" {
		t.Errorf("beside no JSON it writes %q", out)
	}
}
