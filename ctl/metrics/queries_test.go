package metrics

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/perf"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// unanswered are parts of queries of the exporters' dashboards and rules to which ibsm has no answer, as
// docs/metrics.md says.
var unanswered = []string{
	// of the switch's own management
	"temperature_celsius", "fan_", "power_supply", "uptime_seconds", "hardware_info", "watts",
	"infiniband:",                                        // recording rules of the projects, made of what is here
	"node_", "ib-node", "go_build_info", "ALERTS", "up{", // of other exporters and of Prometheus
	"infiniband_exporter_build_info", "infiniband_switch_collect_duration_seconds", // of the exporter as a program
	`collector="hca"`, "last_execution > 300", // alerts about it
	"label_values(", "absent_over_time", // of Grafana; of a metric that is there
}

// TestExporterQueries: what the dashboards and rules of two infiniband_exporter projects ask for, Debian's
// Prometheus answers from ibsm's metrics. The file of queries lies beside the checkout.
func TestExporterQueries(t *testing.T) {
	path := madtest.Need(t, "prometheus")
	text, err := os.ReadFile("../../../shared/data/exporter-queries.tsv")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the file of queries is not there")
	}
	if err != nil {
		t.Fatal(err)
	}
	ask, replace := startAsking(t, path)
	asked := 0
	for line := range strings.Lines(string(text)) {
		_, query, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if !ok || line[0] == '#' || !strings.Contains(query, "infiniband") || containsAny(query, unanswered) {
			continue
		}
		query = replace.Replace(query)
		asked++
		if n := ask("count(" + query + ")"); n == "0" || strings.Contains(n, "results") {
			t.Errorf("no data for %s: %s", query, n)
		}
	}
	if asked < 50 {
		t.Errorf("only %d queries", asked)
	}
}

func containsAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// startAsking has Prometheus scrape a subnet of which, after a while, a port of leaf-01 is down and a switch and an
// adapter do not answer, while all counters rise. replace puts names of it in place of the variables of dashboards.
func startAsking(t *testing.T, path string, rules ...string) (ask func(query string) string,
	replace *strings.Replacer) {
	t.Helper()
	before := viewtest.New(t, "fattree:k=4", 1)
	after := viewtest.New(t, "fattree:k=4", 1)
	for _, v := range []*view.View{before, after} {
		for i := range v.Topo.Ports {
			v.Topo.Ports[i].Info.SetPortState(smp.PortActive)
		}
	}
	leaf := after.Topo.Switches[0]
	down := after.Topo.Port(leaf, 4)
	after.Topo.Ports[down].Info.SetPortState(smp.PortDown)
	after.Topo.Nodes[after.Topo.Switches[3]].Missed = 2
	host := after.Topo.Ports[after.Topo.Port(leaf, 2)].Peer
	after.Topo.Nodes[after.Topo.Ports[host].Node].Missed = 2
	var scrapes atomic.Uint64
	e := newExporter(before)
	e.view = func() *view.View {
		if scrapes.Add(1) > 3 {
			return after
		}
		return before
	}
	e.totals = func(_ context.Context, wanted func(mad.GUID) bool) *perf.Totals {
		totals := totalsOf(before, wanted)
		for i := range totals.Ports {
			for c := range pma.AllCounters.All {
				totals.Ports[i].N[c] += 100 * scrapes.Load()
			}
		}
		return totals
	}
	target := listen(t)
	serveMetrics(t, target, ctl.Config{Metrics: func(w http.ResponseWriter, r *http.Request) error {
		return e.Serve(w, r)
	}})
	ask = ctltest.Prometheus(t, path, target.Addr().String(), "", rules...)
	for late := time.Now().Add(time.Minute); ask("count(infiniband_switch_up == 0)") != "1" ||
		ask("count(rate(infiniband_switch_port_link_downed_total[1m]) > 0)") == "0"; time.Sleep(
		200 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("Prometheus does not show what changed")
		}
	}
	at := before.Topo.Ports[before.Topo.Port(leaf, 2)].Peer
	return ask, strings.NewReplacer("${datasource}", "", "$port", "1", "$switch", before.Topo.Nodes[leaf].Desc.String(),
		"$hca", name(before.Topo.Nodes[before.Topo.Ports[at].Node].Desc.String()),
		"$guid", before.Topo.Ports[at].GUID.String(), "$instance", ".*", "$__rate_interval", "1m", "[1h]", "[1m]")
}
