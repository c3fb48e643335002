package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ibsm/ctl/ctltest"
	"ibsm/mad/madtest"
)

// TestPrometheusFaults: Debian's Prometheus scrapes a manager for ten minutes, while a fabric under load has a bad
// cable, an adapter that receives badly, a link that fails again and again, a port that drops packets, a host that does
// not take its data, and a switch whose agent hangs. Each has its alert, at that port, and no other port has one. The
// small size is thirty seconds: alerts are pending then.
func TestPrometheusFaults(t *testing.T) {
	t.Parallel()
	path, promtool := madtest.Need(t, "prometheus"), madtest.Need(t, "promtool")
	long, state := 30*time.Second, "pending"
	if os.Getenv("IBSM_PROOF") != "" {
		long, state = 11*time.Minute, "firing" // most alerts wait ten minutes
	}
	s := startCounting(t, generated("fattree:k=4").file(t))
	s.conf = "perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_log_errors FALSE\n"
	addr := "127.0.0.1:" + freePort(t)
	p := ibsm.bringUp(s, "--ctl_socket", s.path("s"), "--metrics_addr", addr)
	defer p.stop()
	ask := ctltest.Prometheus(t, path, addr, "", abs(t, "../../dist/prometheus/ibsm.rules.yml"))
	host := func(name string) string { // its ID
		for _, n := range s.net.nodes {
			if strings.HasPrefix(n.desc, name+" ") {
				return n.id
			}
		}
		t.Fatal(name)
		return ""
	}
	s.command("load pair %s %s 50%%", host("host-02"), host("host-10"))
	s.command("load pair %s %s 50%%", host("host-05"), host("host-13"))
	for late := time.Now().Add(patience()); ask("count(infiniband_hca_port_counters_read == 1)") != "16"; time.Sleep(
		200 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("counters of %s hosts are read", ask("count(infiniband_hca_port_counters_read == 1)"))
		}
	}
	// the values from which counters rise
	const before = `min(count_over_time({__name__=~"infiniband_(hca|switch)_port_counters_read"}[1m])) > bool 3`
	eventually(t, "counters that have not risen yet were scraped four times", func() bool { return ask(before) == "1" })
	addCount(s, "leaf-02", 1, "LinkDownedCounter", 4)
	s.command("drain %s 5%%", host("host-13"))
	s.command("mute spine-03")
	run(t, s.dir, nil, program(t, "ibsmctl"), "--socket", s.path("s"), "sweep") // which finds that
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(time.Second) {
		addCount(s, "leaf-01", 3, "SymbolErrorCounter", 20)
		addCount(s, host("host-03"), 1, "PortRcvErrors", 20)
		addCount(s, "agg-01", 1, "PortXmitDiscards", 50)
	}
	for _, alert := range []string{
		`InfinibandLinkDowned",switch="leaf-02",port="1`, `InfinibandBitErrors",switch="leaf-01",port="3`,
		`InfinibandAdapterBitErrors",hca="host-03 mlx5_0",port="1`,
		`InfinibandDiscards",switch="agg-01",port="1`, `InfinibandSwitchSilent",switch="spine-03`,
	} {
		want := state
		if strings.HasPrefix(alert, "InfinibandLinkDowned") { // at once
			want = "firing"
		}
		if got := ask(fmt.Sprintf(`count(ALERTS{alertname="%s",alertstate=%q})`, alert, want)); got != "1" {
			t.Errorf("%s: %s, want 1 that is %s", alert, got, want)
		}
	}
	// Those that wait for the host are on the way to it. The rate of five minutes rises slowly.
	if got := ask(
		`count(ALERTS{alertname="InfinibandCongestion",switch=~"leaf-0[37]|agg-0[1-8]|spine-0[1-4]"})`); state == "firing" && (got == "0" || strings.Contains(got, "results")) {
		t.Errorf("congestion: %s", got)
	}
	if got := ask(`count(ALERTS{alertname=~"Infiniband.*",alertname!="InfinibandCongestion"})`); got != "5" {
		t.Errorf("%s alerts, want 5", got)
	}
	if got := ask(
		`count(ALERTS{alertname=~"Ibsm(NoMaster|RoutesLost|CreditLoop|Alarm|CountersOld)"})`); !strings.HasPrefix(got,
		"0 results") {
		t.Errorf("%s alerts about the manager", got)
	}
	// a busy host can miss the second that a scrape has
	if got := ask("avg_over_time(up[15m]) > bool 0.95"); got != "1" {
		t.Errorf("scrapes: up is %s on average", ask("avg_over_time(up[15m])"))
	}
	if t.Failed() {
		t.Logf("congestion %s", run(t, s.dir, nil, program(t, "ibsmctl"), "--socket", s.path("s"), "counters",
			"congestion").stdout)
	}
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = resp.Body
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
