package server

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/view"
)

var (
	_ ctl.Source  = (*Desk)(nil)
	_ ctl.Planner = (*Desk)(nil)
	_ ctl.Subnet  = (*subnet)(nil)
)

// A desk without a manager says so, and keeps nobody waiting.
func TestNobody(t *testing.T) {
	d := New(Config{Version: "1", Engine: "minhop", Where: "a port", Asks: make(chan manager.Sweep)})
	d.Wait("no cable")
	if st := d.Status(); st.Where != "a port" || st.Waiting != "no cable" || st.State != "" || st.Subnet != nil {
		t.Errorf("status %+v", st)
	}
	if d.Subnet() != nil {
		t.Error("there is a subnet")
	}
	if err := d.Order(t.Context(), ctl.HeavySweep); !errors.Is(err, ctl.ErrNotNow) {
		t.Errorf("order: %v", err)
	}
	for range 2 { // the first leaves nothing behind
		if _, err := d.Plan(t.Context(), false); !errors.Is(err, ctl.ErrNotNow) || !strings.Contains(err.Error(), "waits for its port") {
			t.Errorf("plan: %v", err)
		}
	}
	d.Serve(&manager.Shell{}, "another port")
	if st := d.Status(); st.Where != "another port" || st.Waiting != "" || st.State == "" {
		t.Errorf("status %+v", st)
	}
	if err := d.Order(t.Context(), ctl.HeavySweep); !errors.Is(err, ctl.ErrNotNow) || !strings.Contains(err.Error(), "not master") {
		t.Errorf("order: %v", err)
	}
}

func TestLastSweep(t *testing.T) {
	d := New(Config{})
	d.Tell(manager.Up{Summary: manager.Summary{Took: 1500 * time.Millisecond, Failures: 1, Cut: 2, Bad: 3, Longest: 5, Sets: map[mad.AttrID]int{}}})
	s := d.Status().Sweep
	if s == nil || s.Ended.IsZero() {
		t.Fatalf("%+v", s)
	}
	s.Ended = time.Time{}
	if want := (ctl.SweepStatus{Seconds: 1.5, Up: true, Sets: "none", Failures: 1, Cut: 2, Lost: 3, Longest: 5}); *s != want {
		t.Errorf("%+v, want %+v", *s, want)
	}
}

// exposition is what Prometheus is given of a subnet.
func exposition(t *testing.T, s *subnet) string {
	t.Helper()
	d := New(Config{Version: `1"0`, Engine: "minhop", Where: "x"})
	d.Serve(&manager.Shell{}, "x")
	d.Tell(manager.Up{})
	var b strings.Builder
	err := ctl.WriteMetrics(&b, func(m *ctl.Metrics) {
		d.Metrics(m)
		s.metrics(m)
		s.portMetrics(m)
		registeredMetrics(m, s.registered)
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Prometheus' own checker has nothing to say.
func TestPromtool(t *testing.T) {
	path := madtest.Need(t, "promtool")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	check := exec.CommandContext(ctx, path, "check", "metrics")
	check.Stdin = strings.NewReader(exposition(t, newSubnet(newView(t, "fattree:k=4"), nil)))
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestHeir: the highest but the master and those that are not active rules next.
func TestHeir(t *testing.T) {
	sm := func(guid mad.GUID, priority uint8, state smp.SMState) view.SM {
		return view.SM{GUID: guid, Priority: priority, State: uint8(state)}
	}
	for _, tt := range []struct {
		self   view.SM
		rivals []view.SM
		heir   int // -1 nobody
	}{
		{sm(1, 5, smp.Master), nil, -1},
		{sm(1, 5, smp.Standby), []view.SM{sm(2, 0, smp.Master)}, 0},
		{sm(1, 5, smp.Master), []view.SM{sm(2, 3, smp.Standby), sm(3, 4, smp.Standby)}, 2},
		{sm(9, 5, smp.Standby), []view.SM{sm(2, 5, smp.Standby), sm(3, 9, smp.Master)}, 1},
		{sm(9, 5, smp.Standby), []view.SM{sm(2, 15, smp.NotActive), sm(3, 9, smp.Master)}, 0},
		{sm(9, 5, smp.Master), []view.SM{sm(2, 15, smp.NotActive)}, -1},
	} {
		heir := -1
		for i, m := range managers(&manager.Stats{Self: tt.self, Rivals: tt.rivals}) {
			if m.Heir {
				heir = i
			}
		}
		if heir != tt.heir {
			t.Errorf("of %v and %v number %d rules next, want %d", tt.self, tt.rivals, heir, tt.heir)
		}
	}
}

// Names, labels and values of port information are the exporter's, whose own tests have
// lines of this form.
func TestPortMetrics(t *testing.T) {
	v := newView(t, "fattree:k=4,levels=2")
	leaf, host := v.Topo.Switches[0], v.Topo.Ports[v.Topo.Port(v.Topo.Switches[0], 1)].Peer
	v.Topo.Nodes[leaf].Desc.Set("ib-i1l1s01")
	v.Topo.Nodes[v.Topo.Ports[host].Node].Desc.Set("o0002 HCA-1")
	text := exposition(t, newSubnet(v, nil))
	guid := func(s string, g mad.GUID) string { return strings.ReplaceAll(s, "GUID", g.String()) }
	lid := v.LIDs.Base[host].String()
	leafLID := v.LIDs.Base[v.Topo.Port(leaf, 0)].String()
	for _, want := range []string{
		guid(`infiniband_switch_info{guid="GUID",lid="`+leafLID+`",switch="ib-i1l1s01"} 1`, v.Topo.Nodes[leaf].GUID),
		guid(`infiniband_hca_info{guid="GUID",hca="o0002",lid="`+lid+`"} 1`, v.Topo.Ports[host].GUID),
		guid(`infiniband_hca_uplink_info{guid="GUID",port="1",hca="o0002",uplink="ib-i1l1s01",uplink_guid="`, v.Topo.Ports[host].GUID) +
			guid(`GUID",uplink_lid="`+leafLID+`",uplink_port="1",uplink_type="SW"} 1`, v.Topo.Nodes[leaf].GUID),
		guid(`infiniband_switch_uplink_info{guid="GUID",port="1",switch="ib-i1l1s01",uplink="o0002",`, v.Topo.Nodes[leaf].GUID) +
			guid(`uplink_guid="GUID",uplink_lid="`+lid+`",uplink_port="1",uplink_type="CA"} 1`, v.Topo.Ports[host].GUID),
		guid(`infiniband_hca_rate_bytes_per_second{guid="GUID"} 2.5e+10`, v.Topo.Ports[host].GUID), // 4x HDR
		guid(`infiniband_switch_port_rate_bytes_per_second{guid="GUID",port="1"} 2.5e+10`, v.Topo.Nodes[leaf].GUID),
		`ibsm_links 16`, `ibsm_nodes{type="CA"} 8`, `ibsm_state{state="MASTER"} 0`, `ibsm_info{version="1\"0",engine="minhop"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
