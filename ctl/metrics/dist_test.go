package metrics

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ibsm/mad/madtest"
)

// TestRules: Debian's promtool accepts the rules of dist/prometheus, and each alert fires as its test says.
func TestRules(t *testing.T) {
	promtool := madtest.Need(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "ibsm.rules.yml"}, {"test", "rules", "ibsm.rules.test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "../../dist/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	rules, err := os.ReadFile("../../dist/prometheus/ibsm.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("../../dist/prometheus/ibsm.rules.test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(rules)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "- alert: "); ok &&
			!strings.Contains(string(tests), "alertname: "+name) {
			t.Errorf("alert %s has no test", name)
		}
	}
}

// empty are panels that show nothing on a subnet without a fault of their kind.
var empty = map[string]bool{"Alarms within an hour": true}

// TestDashboards: Debian's Prometheus, with the rules, answers each query of the dashboards of dist/grafana.
func TestDashboards(t *testing.T) {
	path := madtest.Need(t, "prometheus")
	rules, err := filepath.Abs("../../dist/prometheus/ibsm.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	ask, replace := startAsking(t, path, rules)
	for late := time.Now().Add(time.Minute); strings.Contains(ask("count(infiniband:switch_port_waiting:ratio5m > 0)"),
		"results"); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the recording rules have no result")
		}
	}
	files, err := filepath.Glob("../../dist/grafana/*.json")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct {
			Title  string
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &dashboard); err != nil || len(dashboard.Panels) < 5 {
			t.Fatalf("%s: %v, %d panels", file, err, len(dashboard.Panels))
		}
		for _, p := range dashboard.Panels {
			for _, target := range p.Targets {
				query := replace.Replace(target.Expr)
				if n := ask("count(" + query + ")"); !empty[p.Title] && (n == "0" || strings.Contains(n, "results")) {
					t.Errorf("%s, %s: no data for %s: %s", dashboard.Title, p.Title, query, n)
				}
			}
		}
	}
}
