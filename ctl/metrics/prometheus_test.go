package metrics

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
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
			serveMetrics(t, target,
				ctl.Config{Stats: &stats, Metrics: func(w http.ResponseWriter, r *http.Request) error {
					select {
					case accept <- r.Header.Get("Accept") + " " + r.Header.Get("Accept-Encoding"):
					default:
					}
					return e.Serve(w, r)
				}})
			ask := ctltest.Prometheus(t, path, target.Addr().String(), feature)
			for query, want := range map[string]string{
				"up": "1", "count(process_start_time_seconds)": "1", "ibsm_mastership_total": "0",
				"ibsm_last_sweep_seconds":                         "1.5",
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
			if protobuf := strings.HasPrefix(asked, "application/vnd.google.protobuf"); protobuf != (feature != "") ||
				!strings.HasSuffix(asked, " gzip") {
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
	go func() { ended <- ctl.New(cfg).Serve(ctx, ctl.Listeners{Metrics: l}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
