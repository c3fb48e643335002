package main_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestCongestion: a host of a fabric under load does not take its data any more. The log names it, ibsmctl names
// who waits for it, and why the route between two others is slow, until it takes its data again.
func TestCongestion(t *testing.T) {
	t.Parallel()
	s := startCounting(t, abs(t, "../../testdata/fabrics/captured.net"))
	s.conf = "perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_log_errors FALSE\n"
	socket := s.path("s")
	p := ibsm.bringUp(s, "--ctl_socket", socket)
	defer p.stop()
	ask := func(args ...string) string {
		return run(t, s.dir, nil, append([]string{program(t, "ibsmctl"), "--socket", socket}, args...)...).stdout
	}
	s.command("load pair H1 H3 50%%")
	s.command("load pair H2 H4 40%%")
	for late := time.Now().Add(patience()); !strings.Contains(ask("counters", "congestion"),
		"no port waits for another"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal(ask("counters", "congestion"))
		}
	}
	if why := ask("why", "H1", "H3"); strings.Contains(why, "congest") {
		t.Errorf("without congestion: %s", why)
	}
	s.command("drain H4 5%%")
	awaitLine(
		t, p, `ports wait for a slow port node="?SW2"? guid=\S+ port=2 cause="a host that does not accept its data" waiting=\d+ to="?H4"?`)
	shown := ask("counters", "congestion")
	if !regexp.MustCompile(
		`^read \d+s ago\n\nSW2 port 2 to H4 port 1\n  a host that does not accept its data since .*; 4 ports wait, equivalent to [0-9.]+ ports that always wait\n(    .* port \d to .* port \d\n){4}$`).MatchString(shown) {
		t.Errorf("%s", shown)
	}
	for _, of := range []string{"SW1 port 7 to SW2 port 7", "H1 port 1 to SW1 port 1", "H2 port 1 to SW1 port 2"} {
		if !strings.Contains(shown, of) {
			t.Errorf("%s does not wait: %s", of, shown)
		}
	}
	if why := ask("why", "H1", "H3"); !regexp.MustCompile(
		`waits since .* for .*SW2.* port 2.*: a host that does not accept its data`).MatchString(why) {
		t.Errorf("why H1 H3: %s", why)
	}
	s.command("drain H4 1")
	awaitLine(t, p, `ports no longer wait for a slow port node="?SW2"?`)
	if shown := ask("counters", "congestion"); !regexp.MustCompile(
		`no port waits for another\n\nended:\n  SW2 port 2 to H4 port 1: a host that does not accept its data from .* to .*; \d ports wait\n$`).MatchString(shown) {
		t.Errorf("%s", shown)
	}
}
