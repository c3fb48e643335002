package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/mad/madtest"
	"ibsm/view/viewtest"
)

// Debian's Prometheus scrapes the manager, in OpenMetrics and in protobuf, both
// compressed, and has all samples.
func TestPrometheus(t *testing.T) {
	path := madtest.Need(t, "prometheus")
	v := viewtest.New(t, "fattree:k=8", 1)
	e := newExporter(v)
	contentType, body := scrape(t, e, "")
	links := 0
	for _, f := range families(t, contentType, body) {
		if f.GetName() == "infiniband_switch_uplink_info" {
			links = len(f.Metric)
		}
	}
	for _, feature := range []string{"", "native-histograms"} { // with which it prefers protobuf
		t.Run(feature, func(t *testing.T) {
			var stats ctl.Stats
			accept := make(chan string, 1)
			target := listen(t)
			serveMetrics(t, target, ctl.Config{Stats: &stats, Metrics: func(w http.ResponseWriter, r *http.Request) error {
				select {
				case accept <- r.Header.Get("Accept") + " " + r.Header.Get("Accept-Encoding"):
				default:
				}
				return e.Serve(w, r)
			}})
			ask := startPrometheus(t, path, target.Addr().String(), feature)
			for query, want := range map[string]string{
				"up": "1", "count(process_start_time_seconds)": "1", "ibsm_mastership_total": "0", "ibsm_last_sweep_seconds": "1.5",
				`count(ibsm_sa_answer_seconds_bucket{way="get"})`: "44",
				"count(infiniband_switch_uplink_info)":            strconv.Itoa(links),
				"count(infiniband_switch_port_rate_bytes_per_second * on (guid, port) group_left (uplink) infiniband_switch_uplink_info)": strconv.Itoa(links),
				`scrape_samples_scraped - on () count({job="ibsm", __name__!~"up|scrape_.*"})`:                                            "0",
			} {
				if got := ask(query); got != want {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
			asked := <-accept
			if protobuf := strings.HasPrefix(asked, "application/vnd.google.protobuf"); protobuf != (feature != "") || !strings.HasSuffix(asked, " gzip") {
				t.Errorf("Prometheus asked for %s", asked)
			}
		})
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveMetrics serves metrics over TCP until the test ends.
func serveMetrics(t *testing.T, l net.Listener, cfg ctl.Config) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- ctl.New(cfg).Serve(ctx, nil, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// startPrometheus starts one that scrapes target until the test ends, and returns when it
// has done so once. ask is the value of the one sample that a query has. rules are files.
func startPrometheus(t *testing.T, path, target, feature string, rules ...string) (ask func(query string) string) {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "global: {evaluation_interval: 1s}\nrule_files: [%s]\nscrape_configs:\n- job_name: ibsm\n  scrape_interval: 1s\n  static_configs:\n  - targets: [%q]\n", strings.Join(rules, ", "), target), 0o644); err != nil {
		t.Fatal(err)
	}
	free := listen(t)
	addr := free.Addr().String()
	free.Close()
	var out strings.Builder
	cmd := exec.Command(path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--enable-feature="+feature)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if cmd.Wait(); t.Failed() {
			t.Logf("%s", out.String())
		}
	})
	ask = func(query string) string {
		resp, err := http.Get("http://" + addr + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		var reply struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || len(reply.Data.Result) != 1 {
			return fmt.Sprintf("%d results, %v", len(reply.Data.Result), err)
		}
		return fmt.Sprint(reply.Data.Result[0].Value[1])
	}
	for deadline := time.Now().Add(time.Minute); ask("up") != "1"; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("Prometheus has not scraped after a minute; up is %s", ask("up"))
		}
	}
	return ask
}
