package routes

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// TestWhose: every transition. Another manager's routes are repaired and not improved, so that a wrong answer either
// moves routes that are in use, or never takes a better engine.
func TestWhose(t *testing.T) {
	all := []whose{ownRoutes, foundRoutes, recordedRoutes, coldRoutes}
	for _, c := range []struct {
		what string
		from []whose // all if empty
		e    evidence
		want whose
	}{
		{what: "first sweep, nothing uses the subnet", e: evidence{first: true, read: true, cold: true},
			want: coldRoutes},
		{what: "first sweep, nothing uses the subnet, with the record's tables",
			e: evidence{first: true, read: true, cold: true, recorded: true}, want: coldRoutes},
		{what: "first sweep, interim routes", e: evidence{first: true, read: true, interim: true}, want: coldRoutes},
		{what: "first sweep, tables of the record", e: evidence{first: true, read: true, recorded: true},
			want: recordedRoutes},
		{what: "first sweep, other tables", e: evidence{first: true, read: true}, want: foundRoutes},
		{what: "first sweep, no switch has shown a table", from: []whose{ownRoutes, coldRoutes},
			e: evidence{first: true}, want: ownRoutes},
		{what: "later, a switch is new", from: []whose{ownRoutes, coldRoutes}, e: evidence{read: true},
			want: ownRoutes},
		{what: "later, another manager's", from: []whose{foundRoutes}, e: evidence{read: true}, want: foundRoutes},
		{what: "later, another manager's, of few of the switches", from: []whose{foundRoutes, recordedRoutes},
			e: evidence{read: true, outgrown: true}, want: coldRoutes},
		{what: "later, this manager's, of few of the switches", from: []whose{ownRoutes, coldRoutes},
			e: evidence{read: true, outgrown: true}, want: ownRoutes},
		{what: "first sweep, few of the switches in use", e: evidence{first: true, read: true, outgrown: true},
			want: coldRoutes},
		{what: "later, the record's engine has refused", from: []whose{recordedRoutes}, want: foundRoutes},
		{what: "later, the record's engine is still at work", from: []whose{recordedRoutes}, e: evidence{serves: true},
			want: recordedRoutes},
		{what: "later, interim routes of this manager", from: []whose{ownRoutes}, e: evidence{serves: true},
			want: ownRoutes},
		{what: "later, interim routes for another manager's", from: []whose{foundRoutes}, e: evidence{serves: true},
			want: foundRoutes},
	} {
		if len(c.from) == 0 {
			c.from = all
		}
		for _, from := range c.from {
			if is := from.begins(c.e); is != c.want {
				t.Errorf("%s, from %d: %d, want %d", c.what, from, is, c.want)
			}
		}
	}
}

// TestCold: a subnet in which a single link is ARMED is in use.
func TestCold(t *testing.T) {
	f := newLiving(t, "fattree:k=4")
	if isCold(f.Topo) {
		t.Error("all ports are ACTIVE")
	}
	for p := range f.Topo.Ports {
		f.Topo.Ports[p].Info.SetPortState(smp.PortInit)
	}
	if !isCold(f.Topo) {
		t.Error("nothing uses it")
	}
	for _, n := range f.Topo.Switches {
		f.Topo.Ports[f.Topo.Nodes[n].First].Info.SetPortState(smp.PortActive)
	}
	if !isCold(f.Topo) {
		t.Error("ports 0 of switches have no link")
	}
	p := slices.IndexFunc(f.Topo.Ports, func(p topo.Port) bool { return p.Num > 0 && p.Peer != topo.None })
	if f.Topo.Ports[p].Info.SetPortState(smp.PortArmed); isCold(f.Topo) {
		t.Error("a port is ARMED")
	}
}

// TestResultOfBefore: what engines have made of a subnet is kept only as long as interim routes serve for it.
func TestResultOfBefore(t *testing.T) {
	one, other := &interim{}, &interim{restarts: 1}
	s := State{interim: one}
	if s.Take(&EngineResult{of: other}); s.ready != nil {
		t.Error("an old result is taken")
	}
	s.Take(&EngineResult{of: one})
	if after := s.After(State{interim: one}); after.ready == nil {
		t.Error("a result that came during a sweep is lost")
	}
	for _, left := range []State{{}, {interim: other}} {
		if after := s.After(left); after.ready != nil {
			t.Error("a result that came during a sweep is kept for other routes")
		}
	}
}

// TestForget: after a pause it is still known who chose the engine, and which groups of adaptive routing there were;
// whose the routes are is not. A manager that becomes master anew finds that out, too.
func TestForget(t *testing.T) {
	was := State{whose: foundRoutes, by: byAll, engine: "tree", record: Record{Engine: "tree"}, base: &base{},
		interim: &interim{}, readLanes: true, adaptive: map[mad.GUID]adaptiveSwitch{},
		proof: proof{fitting: Fitting{Needed: 2}}}
	s := was
	s.Pause()
	if s.whose != ownRoutes || s.base != nil || s.interim != nil || s.readLanes || s.fitting != (Fitting{}) ||
		s.by != byAll || s.engine != "tree" || s.record.Engine != "tree" || s.adaptive == nil {
		t.Errorf("after a pause: %+v", s)
	}
	if s.Abdicate(); s.by != byChosen || s.adaptive != nil || s.engine != "tree" || s.record.Engine != "tree" {
		t.Errorf("after mastership: %+v", s)
	}
}
