package metrics

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"ibsm/congestioncontrol"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/gsi"
	"ibsm/mad/madtest"
	"ibsm/mad/pma"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/opensm/console"
	"ibsm/perf"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sa/mirror"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// figures are metrics of a subnet that no manager has published.
type figures struct {
	subnet     *ctl.SubnetStatus
	registered registry.Counts
}

func (figures) Describe(chan<- *prometheus.Desc) {}

func (f figures) Collect(to chan<- prometheus.Metric) {
	sink(to).subnet(f.subnet)
	sink(to).registered(f.registered)
	sink(to).counters(&ctl.CounterStatus{Enabled: true, Sweeps: 1, Ports: 3, Answered: 2})
	sink(to).congestionControl(
		&congestioncontrol.State{
			Enabled: true, Sent: 7, Devices: []congestioncontrol.Device{{}, {Standing: congestioncontrol.NoClass}},
		})
	sink(to).held(func() (int, int) { return 1, 2 })
	sink(to).refused(&ctl.Status{Refused: []ctl.EngineRefusal{{Engine: "tree"}}, QoSPolicy: &ctl.QoSTrouble{},
		Unwritten: []ctl.Unwritten{{What: "state store"}}})
	sink(to).security([]ctl.SecurityRule{{Rule: "tenants", State: ctl.RuleHolds}})
	sink(to).cabling(&ctl.Cabling{Plan: true})
	sink(to).badKeys(slices.Values([]manager.Offender{{Port: 7, Trap: smp.TrapBadPKey, Count: 1}}))
	sink(to).replies(maps.All(map[sa.Kind]uint64{{Attr: sarec.AttrPathRecord}: 1}))
}

// newExporter is an Exporter of a manager that shows a view, with metrics of every kind.
func newExporter(v *view.View) *Exporter {
	control := server.New(server.Config{Version: `1"0`, Where: "x", Console: &console.Counters{}})
	control.Serve(&manager.Shell{}, "x")
	control.Notify(manager.TreeLoop{Links: 4, Text: "spines"})
	control.Notify(
		manager.Up{Summary: manager.Summary{Took: 1500 * time.Millisecond, Failures: 1, Cut: 2, Bad: 3, Longest: 5}})
	none := func() uint64 { return 0 }
	e := New(Config{Control: control, Stats: new(ctl.Stats), LogDropped: none, AuditDropped: none,
		API: func() *ctl.APICounts {
			return &ctl.APICounts{Open: 2, Requests: []ctl.APIRequests{{Family: "v1", Class: "2xx", Count: 7}}, Wrong: 3}
		}, Logger: slog.New(slog.DiscardHandler)})
	e.view = func() *view.View { return v }
	e.totals = func(_ context.Context, wanted func(mad.GUID) bool) *perf.Totals { return totalsOf(v, wanted) }
	e.registry.MustRegister(figures{
		&ctl.SubnetStatus{Switches: 4, CAs: 8, Links: 16, LIDs: 12, Generation: 3, Ports: map[string]int{"Active": 32}},
		registry.Counts{Groups: 1, Members: 2, Services: 3, Subscriptions: 4, Aliases: 5, GRHPorts: 6},
	})
	return e
}

// totalsOf are totals of all ports of a view: counter c of port n has counted 1000*n+c.
func totalsOf(v *view.View, wanted func(mad.GUID) bool) *perf.Totals {
	t := &perf.Totals{}
	for _, p := range perf.PortsOf(v, false) {
		if wanted != nil && !wanted(p.Node) {
			continue
		}
		c := perf.Counted{Key: p.Key, Has: pma.AllCounters}
		for counter := range pma.AllCounters.All {
			c.N[counter] = 1000*uint64(p.Port) + uint64(counter)
		}
		if p.Port == 2 {
			c.Has, c.AtLeast, c.Note = pma.AllCounters&^pma.Of(pma.QP1Dropped), pma.Of(pma.PortXmitWait), perf.NoAnswer
		}
		if v.Topo.Nodes[v.Topo.FindNode(p.Node)].Type == mad.CA {
			c.AtLeast = pma.Of(pma.PortXmitWait)
		}
		t.Ports = append(t.Ports, c)
	}
	return t
}

// scrape asks an exporter, and returns the content type and the body, uncompressed.
func scrape(t testing.TB, e *Exporter, query string, header ...string) (contentType string, body []byte) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics"+query, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	if err := e.Serve(w, r); err != nil {
		t.Fatal(err)
	}
	var in io.Reader = w.Body
	if w.Header().Get("Content-Encoding") == "gzip" {
		zip, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		in = zip
	}
	body, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return w.Header().Get("Content-Type"), body
}

// families are those of a body, in order; batches of one are joined.
func families(t testing.TB, contentType string, body []byte) (all []*dto.MetricFamily) {
	t.Helper()
	d := expfmt.NewDecoder(bytes.NewReader(body), expfmt.Format(contentType))
	for {
		f := new(dto.MetricFamily)
		switch err := d.Decode(f); {
		case errors.Is(err, io.EOF):
			slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
			return all
		case err != nil:
			t.Fatal(err)
		}
		if n := len(all); n > 0 && all[n-1].GetName() == f.GetName() {
			all[n-1].Metric = append(all[n-1].Metric, f.Metric...)
			continue
		}
		all = append(all, f)
	}
}

// accepted are the clients of the formats.
var accepted = []struct{ accept, contentType string }{
	{"", "text/plain; version=0.0.4"},
	{"*/*", "text/plain; version=0.0.4"},
	{"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		"application/openmetrics-text; version=1.0.0"},
	{"application/openmetrics-text; version=0.0.1", "application/openmetrics-text; version=0.0.1"},
	{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"},
}

// A client gets the same families, with the same samples, in the format that it asks for,
// compressed if it wants them so.
func TestFormats(t *testing.T) {
	e := newExporter(viewtest.New(t, "fattree:k=8", 1)) // families of more than one batch
	_, text := scrape(t, e, "")
	want := ports(families(t, "text/plain; version=0.0.4", text))
	if n := strings.Count(string(text), "# TYPE infiniband_switch_uplink_info"); n != 1 {
		t.Errorf("%d lines with the type of a family, want 1", n)
	}
	for _, tt := range accepted {
		for _, coding := range []string{"", "gzip"} {
			contentType, body := scrape(t, e, "", "Accept", tt.accept, "Accept-Encoding", coding)
			if !strings.HasPrefix(contentType, tt.contentType) {
				t.Errorf("Accept %q: Content-Type %q, want %q", tt.accept, contentType, tt.contentType)
			}
			if open := strings.HasPrefix(tt.contentType, "application/openmetrics-text"); open != bytes.HasSuffix(body,
				[]byte("\n# EOF\n")) {
				t.Errorf("%s: ends with %q", contentType, body[len(body)-8:])
			} else if open {
				checkOpenMetrics(t, text, body)
				continue
			}
			if got := ports(families(t, contentType, body)); !slices.EqualFunc(got, want,
				func(a, b *dto.MetricFamily) bool {
					return a.String() == b.String()
				}) {
				t.Errorf("%s: other families than as text", contentType)
			}
		}
	}
}

// ports are the families about ports, which are the same in each scrape.
func ports(all []*dto.MetricFamily) []*dto.MetricFamily {
	return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool {
		return !strings.HasPrefix(f.GetName(), "infiniband_") || strings.HasPrefix(f.GetName(), "infiniband_exporter_")
	})
}

// checkOpenMetrics compares the lines about ports, which have the same form in both text
// formats but for the numbers.
func checkOpenMetrics(t *testing.T, text, open []byte) {
	t.Helper()
	lines := func(b []byte) (names []string) {
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "infiniband_") && !strings.Contains(line, "infiniband_exporter_") {
				if i := strings.LastIndexByte(line, ' '); line[0] != '#' {
					line = line[:i]
				} else { // of a counter the name of the family has no _total there
					line = strings.Replace(line, "_total ", " ", 1)
				}
				names = append(names, line)
			}
		}
		return names
	}
	if !slices.Equal(lines(text), lines(open)) {
		t.Error("OpenMetrics has other lines about ports than text")
	}
}

// OpenMetrics names the family of a counter without _total: no other has that name.
func TestNames(t *testing.T) {
	contentType, body := scrape(t, newExporter(viewtest.New(t, "fattree:k=4", 1)), "")
	seen := map[string]bool{}
	for _, f := range families(t, contentType, body) {
		if strings.HasPrefix(f.GetName(), "go_") { // go_memstats_alloc_bytes is two
			continue
		}
		name := strings.TrimSuffix(f.GetName(), "_total")
		if seen[name] {
			t.Errorf("two families are called %s in OpenMetrics", name)
		}
		seen[name] = true
		if counter := name != f.GetName(); counter != (f.GetType() == dto.MetricType_COUNTER) {
			t.Errorf("%s is a %v", f.GetName(), f.GetType())
		}
	}
	for _, want := range []string{"process_start_time_seconds", "ibsm_mastership", "ibsm_sa_answer_seconds",
		"ibsm_console_connections"} {
		if !seen[want] {
			t.Errorf("no family %s", want)
		}
	}
}

// A client chooses the parts that it wants.
func TestCollect(t *testing.T) {
	e := newExporter(viewtest.New(t, "fattree:k=4", 1))
	for query, want := range map[string][3]bool{
		"": {true, true, true}, "?collect[]=manager": {true, false, false}, "?collect[]=ports": {false, true, false},
		"?collect[]=ports&collect[]=manager": {true, true, false},
		"?collect[]=counters":                {false, false, true},
	} {
		_, body := scrape(t, e, query)
		if got := [3]bool{bytes.Contains(body, []byte("ibsm_info{")),
			bytes.Contains(body, []byte("infiniband_hca_info{")),
			bytes.Contains(body, []byte("infiniband_hca_port_symbol_error_total{"))}; got != want {
			t.Errorf("%q: of manager, ports and counters %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"?collect[]=x", "?collect[]=", "?ports=0", "?share=", "?share=0/2", "?share=3/2",
		"?share=1/2&share=2/2", "?share=x/2", "?share=1/5000"} {
		w := httptest.NewRecorder()
		if err := e.Serve(w, httptest.NewRequest(http.MethodGet, "/metrics"+query, nil)); !errors.Is(err,
			ctl.ErrBadRequest) || w.Body.Len() > 0 {
			t.Errorf("%q: %v, %q", query, err, w.Body)
		}
	}
	e.view = func() *view.View { return nil }
	if _, body := scrape(t, e, "?collect[]=ports"); len(body) > 0 {
		t.Errorf("ports without a subnet: %s", body)
	}
}

func TestAcceptsGzip(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, "gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0, br": false, "deflate": false,
		"gzip;q=x": false, "xgzip": false,
	} {
		if got := acceptsGzip(http.Header{"Accept-Encoding": {value}}); got != want {
			t.Errorf("Accept-Encoding %q: %v", value, got)
		}
	}
}

// A metric that cannot be made leaves the others.
func TestInvalid(t *testing.T) {
	e := newExporter(nil)
	e.registry.MustRegister(invalid{})
	if _, body := scrape(t, e, ""); !bytes.Contains(body, []byte("\nibsm_links 16\n")) {
		t.Errorf("%s", body)
	}
}

type invalid struct{}

func (invalid) Describe(chan<- *prometheus.Desc) {}
func (invalid) Collect(to chan<- prometheus.Metric) {
	sink(to).gauge("x", "No UTF-8.", "label")(1, "\xff")
}

// A client that leaves ends its scrape.
func TestLeft(t *testing.T) {
	e := newExporter(viewtest.New(t, "fattree:k=8", 1))
	w := &leaver{room: 100_000}
	defer func() {
		if recover() != http.ErrAbortHandler || w.after > 0 {
			t.Errorf("not aborted, or %d bytes were written after the client left", w.after)
		}
	}()
	e.Serve(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
}

// leaver is a client that leaves after some bytes.
type leaver struct {
	header      http.Header
	room, after int
}

func (l *leaver) Header() http.Header {
	if l.header == nil {
		l.header = http.Header{}
	}
	return l.header
}
func (*leaver) WriteHeader(int) {}
func (l *leaver) Write(b []byte) (int, error) {
	if l.room < 0 {
		l.after += len(b)
	}
	if l.room -= len(b); l.room < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

// Prometheus' own checker has nothing to say.
func TestPromtool(t *testing.T) {
	path := madtest.Need(t, "promtool")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	check := exec.CommandContext(ctx, path, "check", "metrics")
	_, body := scrape(t, newExporter(viewtest.New(t, "fattree:k=4", 1)), "")
	check.Stdin = bytes.NewReader(body)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// Names, labels and values of port information are the exporter's, whose own tests have
// lines of this form.
func TestPorts(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 1)
	leaf, host := v.Topo.Switches[0], v.Topo.Ports[v.Topo.Port(v.Topo.Switches[0], 1)].Peer
	v.Topo.Nodes[leaf].Desc.Set("ib-i1l1s01")
	v.Topo.Nodes[v.Topo.Ports[host].Node].Desc.Set("o0002 HCA-1")
	_, body := scrape(t, newExporter(v), "")
	guid := func(s string, g mad.GUID) string { return strings.ReplaceAll(s, "GUID", g.String()) }
	lid := v.LIDs.Base[host].String()
	leafLID := v.LIDs.Base[v.Topo.Port(leaf, 0)].String()
	for _, want := range []string{
		guid(`infiniband_switch_info{guid="GUID",lid="`+leafLID+`",switch="ib-i1l1s01"} 1`, v.Topo.Nodes[leaf].GUID),
		guid(`infiniband_hca_info{guid="GUID",hca="o0002",lid="`+lid+`"} 1`, v.Topo.Ports[host].GUID),
		guid(`infiniband_hca_uplink_info{guid="GUID",port="1",hca="o0002",uplink="ib-i1l1s01",uplink_guid="`,
			v.Topo.Ports[host].GUID) +
			guid(`GUID",uplink_lid="`+leafLID+`",uplink_port="1",uplink_type="SW"} 1`, v.Topo.Nodes[leaf].GUID),
		guid(`infiniband_switch_uplink_info{guid="GUID",port="1",switch="ib-i1l1s01",uplink="o0002",`,
			v.Topo.Nodes[leaf].GUID) +
			guid(`uplink_guid="GUID",uplink_lid="`+lid+`",uplink_port="1",uplink_type="CA"} 1`,
				v.Topo.Ports[host].GUID),
		guid(`infiniband_hca_rate_bytes_per_second{guid="GUID"} 25000000000`, v.Topo.Ports[host].GUID), // 4x HDR
		guid(`infiniband_switch_port_rate_bytes_per_second{guid="GUID",port="1",switch="ib-i1l1s01"} 25000000000`,
			v.Topo.Nodes[leaf].GUID),
		`ibsm_links 16`, `ibsm_nodes{type="CA"} 8`, `ibsm_state{state="MASTER"} 0`,
		`ibsm_info{engine="none",version="1\"0"} 1`,
		`ibsm_ports{state="Active"} 32`, `ibsm_ports{state="Down"} 0`, `ibsm_last_sweep_seconds 1.5`,
		`ibsm_last_sweep_lost_routes 3`,
		`ibsm_multicast_credit_loop_links 4`,

		`ibsm_sa_groups 1`, `ibsm_sa_members 2`, `ibsm_sa_services 3`, `ibsm_sa_subscriptions 4`, `ibsm_sa_aliases 5`,
		`ibsm_sa_grh_ports 6`,
	} {
		if !strings.Contains(string(body), want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", body)
	}
}

// Buckets of histograms have counts of all values up to their bound.
func TestHistogram(t *testing.T) {
	var st sa.Stats
	st.Took(sa.AsTable, 900*time.Nanosecond, 2)
	st.Took(sa.AsTable, time.Microsecond, 1)
	st.Took(sa.AsTable, 12*time.Second, 4)
	registry := prometheus.NewRegistry()
	registry.MustRegister(answered{&st})
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() != "ibsm_sa_answer_seconds" {
			continue
		}
		for _, m := range f.Metric {
			h := m.GetHistogram()
			var got [4]float64
			if n := len(h.Bucket); n == len(sa.TimeBounds) {
				got = [4]float64{h.Bucket[0].GetUpperBound(), float64(h.Bucket[0].GetCumulativeCount()),
					h.Bucket[n-1].GetUpperBound(), float64(h.Bucket[n-1].GetCumulativeCount())}
			}
			count := uint64(0)
			want := [4]float64{1e-6, 0, 10, 0}
			if m.Label[0].GetValue() == "table" {
				want, count = [4]float64{1e-6, 3, 10, 3}, 7
			}
			if got != want || h.GetSampleCount() != count || count > 0 && h.GetSampleSum() != 48.0000028 {
				t.Errorf("%v: %v, want %v and %d", m, got, want, count)
			}
		}
		return
	}
	t.Error("there is no histogram")
}

type answered struct{ st *sa.Stats }

func (answered) Describe(chan<- *prometheus.Desc)      {}
func (a answered) Collect(to chan<- prometheus.Metric) { sink(to).answers(a.st) }

// Packets to QP0 that the queue had no room for are counted with the others that were dropped.
func TestQueueFull(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(smps{&manager.Stats{QueueFull: 3}})
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, m := range f.Metric {
			if f.GetName() == "ibsm_smp_dropped_total" && m.Label[0].GetValue() == "queue_full" &&
				m.GetCounter().GetValue() == 3 {
				return
			}
		}
	}
	t.Errorf("%v", all)
}

type smps struct{ st *manager.Stats }

func (smps) Describe(chan<- *prometheus.Desc)      {}
func (s smps) Collect(to chan<- prometheus.Metric) { sink(to).smps(s.st) }

// What managers mirror to each other is counted by role, and answers by what is in them.
func TestMirrored(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(mirrors{sa.MirrorStats{
		Source: mirror.SourceStats{Standbys: 2, Answers: 9, Whole: 3, Failed: 1, Untrusted: 10, Foreign: 11, Full: 13,
			TooLong: 14},
		Follower: mirror.FollowerStats{Answers: 7, Whole: 2, Untrusted: 15, Garbage: 16},
	}})
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range all {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	want := map[string]float64{
		"ibsm_mirror_standbys": 2, "ibsm_mirror_unacknowledged_total": 1,
		"ibsm_mirror_answers_total all sent": 3, "ibsm_mirror_answers_total changes sent": 6,
		"ibsm_mirror_answers_total all received": 2, "ibsm_mirror_answers_total changes received": 5,
		"ibsm_mirror_dropped_total untrusted master": 10, "ibsm_mirror_dropped_total version master": 11,
		"ibsm_mirror_dropped_total limit master": 13, "ibsm_mirror_dropped_total settings master": 14,
		"ibsm_mirror_dropped_total untrusted standby": 15, "ibsm_mirror_dropped_total invalid standby": 16,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

type mirrors struct{ st sa.MirrorStats }

func (mirrors) Describe(chan<- *prometheus.Desc)      {}
func (m mirrors) Collect(to chan<- prometheus.Metric) { sink(to).mirrored(m.st) }

// Packets are counted by kind, but for those of QP0, which other metrics count.
func TestPackets(t *testing.T) {
	var counts received
	counts[gsi.Subnet] = gsi.Count{Received: 9, Dropped: 9}
	counts[gsi.SARequest] = gsi.Count{Received: 7, Dropped: 2}
	registry := prometheus.NewRegistry()
	registry.MustRegister(counts)
	all, err := registry.Gather()
	if err != nil || len(all) != 2 {
		t.Fatalf("%d families, %v", len(all), err)
	}
	for name, want := range map[string]float64{"ibsm_gsi_received_total": 7, "ibsm_gsi_dropped_total": 2} {
		for _, f := range all {
			if f.GetName() != name {
				continue
			}
			if len(f.Metric) != int(gsi.NumKinds)-1 {
				t.Errorf("%s has %d samples", name, len(f.Metric))
			}
			for _, m := range f.Metric {
				expected := 0.0
				if m.Label[0].GetValue() == "SA request" {
					expected = want
				}
				if m.GetCounter().GetValue() != expected {
					t.Errorf("%s: %v", name, m)
				}
			}
		}
	}
}

type received [gsi.NumKinds]gsi.Count

func (received) Describe(chan<- *prometheus.Desc)      {}
func (r received) Collect(to chan<- prometheus.Metric) { sink(to).packets(r) }

// TestCounters: each counter of each external port of a switch and of each port of an adapter, with the
// names and labels of infiniband_exporter, and bytes of data; what a device lacks is left out.
func TestCounters(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4", 1)
	e := newExporter(v)
	contentType, body := scrape(t, e, "?collect[]=counters")
	all := families(t, contentType, body)
	if want := 2 * (len(counterFamilies) + 2); len(all) != want {
		t.Errorf("%d families, want %d", len(all), want)
	}
	for _, f := range all {
		isHCA := strings.HasPrefix(f.GetName(), "infiniband_hca_")
		ports, second, node := 80, 20, "switch" // those with number 2
		if isHCA {
			ports, second, node = 16, 0, "hca"
		}
		switch want := ports; {
		case strings.Contains(f.GetName(), "qp1_dropped"):
			want -= second
			fallthrough
		case strings.HasSuffix(f.GetName(), "_total") || strings.HasSuffix(f.GetName(), "_read"):
			if len(f.Metric) != want {
				t.Errorf("%s: %d samples, want %d", f.GetName(), len(f.Metric), want)
			}
		case isHCA && len(f.Metric) != ports || !isHCA && len(f.Metric) != second: // incomplete
			t.Errorf("%s: %d samples", f.GetName(), len(f.Metric))
		}
		for _, m := range f.Metric {
			if len(m.Label) != 3 || m.Label[0].GetName() != "guid" || m.Label[1].GetName() != "port" &&
				m.Label[1].GetName() != node {
				t.Fatalf("%s: labels %v", f.GetName(), m.Label)
			}
		}
	}
	for _, line := range []string{
		`infiniband_switch_port_transmit_data_bytes_total{guid="0xb83fd20300400000",port="3",switch="leaf-01"} 12048`,
		`infiniband_switch_port_link_downed_total{guid="0xb83fd20300400000",port="4",switch="leaf-01"} 4002`,
		`infiniband_switch_port_counters_read{guid="0xb83fd20300400000",port="2",switch="leaf-01"} 0`,
		`infiniband_switch_port_counters_incomplete{guid="0xb83fd20300400000",port="2",switch="leaf-01"} 1`,
	} {
		if !bytes.Contains(body, []byte("\n"+line+"\n")) {
			t.Errorf("no line %s", line)
		}
	}
}

// TestShare: the shares of nodes together are all of them, each once.
func TestShare(t *testing.T) {
	e := newExporter(viewtest.New(t, "fattree:k=8", 1))
	series := func(query string) (lines []string) {
		_, body := scrape(t, e, query)
		for line := range strings.Lines(string(body)) {
			if line[0] != '#' {
				lines = append(lines, line)
			}
		}
		return lines
	}
	want := series("?collect[]=counters&collect[]=ports")
	var got []string
	for _, share := range []string{"1/3", "2/3", "3/3"} {
		some := series("?collect[]=counters&collect[]=ports&share=" + share)
		if n := len(some); n < len(want)/5 || n > len(want)/2 {
			t.Errorf("share %s: %d of %d series", share, n, len(want))
		}
		got = append(got, some...)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d series in three shares, %d in all", len(got), len(want))
	}
}
