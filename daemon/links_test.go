package daemon

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// TestLinks: what is decided on sick links goes to the manager, into the store and to standbys; a standby that takes
// over goes on with it, and so does a manager that starts again. Only a master decides.
func TestLinks(t *testing.T) {
	c := newFixture(t, "sick_links avoid\nperfmgr TRUE\n", "Default=0x7fff: ALL=full;\n")
	v := viewtest.New(t, "fattree:k=4", 0)
	views := func() *view.View { return v }
	c.views.Store(&views)
	var k perf.Key
	for i := range v.Topo.Ports {
		if v.Topo.BetweenSwitches(topo.PortIdx(i)) {
			k = perf.KeyOf(v.Topo, topo.PortIdx(i))
			break
		}
	}
	peer := perf.KeyOf(v.Topo, v.Topo.Ports[k.In(v.Topo)].Peer)
	rule := sick.Rule{Name: "r", Action: sick.Disable}
	found := &server.FoundLinks{Findings: []sick.Finding{{Port: k, Peer: peer, Rule: &rule}}, Saved: &sick.Saved{
		Found:    []sick.SavedFinding{{Port: k, Peer: peer, Rule: "r", Since: 5}},
		Relapses: []sick.Relapse{{Port: k, Rule: "r", Times: 2}}}}
	decide := func(o *fixture) []sick.Decision {
		var d []sick.Decision
		o.decideLinks(func() *server.FoundLinks {
			return found
		}, func(_ []sick.Finding, decisions []sick.Decision, kept *sick.Saved) {
			if d = decisions; !kept.Same(knownLinks(o.state.links())) {
				t.Errorf("%+v is shown, %+v is kept", kept, o.state.links())
			}
		})
		return d
	}
	forget := func() {}
	must := func(what string, o *fixture, excluded, findings int) {
		t.Helper()
		cfg := o.managerConfig(o.current.Load())
		p, err := decodePolicy(cfg.Registrar.Mirror.Policy)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := sick.Decode(o.state.store.Load().Contents().Links)
		if err != nil || len(cfg.Sweep.Avoided) != excluded || len(p.links.Excluded) != excluded ||
			len(kept.Excluded) != excluded || len(kept.Found) != findings || !kept.Same(p.links) {
			t.Errorf("%s: the manager avoids %+v; standbys get %+v; kept is %+v, %v", what, cfg.Sweep.Avoided, p.links,
				kept, err)
		}
	}
	if decide(c) != nil {
		t.Error("a standby decides")
	}
	must("of a standby", c, 0, 0)
	if c.isolate(k, peer, time.Time{}) == nil || c.heal(k, peer, forget) == nil {
		t.Error("a standby changes links")
	}
	c.entered(smp.Master)
	if d := decide(c); len(d) != 1 || d[0].Does != sick.Avoid || d[0].Would != sick.Disable {
		t.Errorf("%+v", d)
	}
	must("decided", c, 1, 1)
	select {
	case cfg := <-c.configs:
		if cfg.Unchanged || len(cfg.Sweep.Avoided) != 1 || cfg.Sweep.Avoided[0].Ports != sweep.PortsStay {
			t.Errorf("the manager gets %+v", cfg.Sweep.Avoided)
		}
	default:
		t.Error("the manager gets nothing")
	}
	decide(c)
	if len(c.configs) > 0 {
		t.Error("nothing has changed, and the manager gets a configuration")
	}
	found.Saved.Relapses[0].Times = 3
	found = &server.FoundLinks{Findings: found.Findings,
		Saved: &sick.Saved{Found: found.Saved.Found, Relapses: []sick.Relapse{{Port: k, Rule: "r", Times: 4}}}}
	decide(c)
	if cfg := <-c.configs; !cfg.Unchanged {
		t.Error("a sweep follows though only what is known has changed")
	}
	must("known", c, 1, 1)
	if err := c.isolate(k, peer, time.Time{}); err == nil {
		t.Error("a link is taken out of use twice")
	}

	// A standby takes over.
	standby := newFixture(t, "perfmgr TRUE\n", "Default=0x7fff: ALL=full;\n")
	standby.views.Store(&views)
	standby.hears(c.managerConfig(c.current.Load()).Registrar.Mirror.Policy)
	must("mirrored", standby, 1, 1)
	before := standby.log.String()
	standby.hears(strippedOfLinks(t, c))
	if got := strings.TrimPrefix(standby.log.String(), before); strings.Contains(got, "own files") {
		t.Errorf("it is compared again: %s", got)
	}
	must("without", standby, 0, 0)
	standby.hears(c.managerConfig(c.current.Load()).Registrar.Mirror.Policy)
	standby.entered(smp.Master)
	if d := decide(standby); len(d) != 1 || d[0].Does != sick.Avoid { // by the settings of the master
		t.Errorf("after a takeover: %+v", d)
	}
	must("after a takeover", standby, 1, 1)
	if err := standby.heal(peer, k, forget); err != nil {
		t.Error(err)
	}
	must("healed", standby, 0, 0)

	// Another standby reads no counters, so that links would return: it warns of that once.
	other := newFixture(t, "perfmgr FALSE\n", "Default=0x7fff: ALL=full;\n")
	other.hears(c.managerConfig(c.current.Load()).Registrar.Mirror.Policy)
	other.hears(strippedOfFindings(t, c))
	for o, times := range map[*fixture]int{other: 1, standby: 0} {
		if got := strings.Count(o.log.String(),
			"this manager reads no counters: after a failover they return to use"); got != times {
			t.Errorf("%d warnings, want %d: %s", got, times, o.log.String())
		}
	}

	// A manager starts again.
	c.change(func(next *inForce) { next.links = nil })
	c.again()
	must("again", c, 1, 1)
	if !slices.Equal(c.sent.Sweep.Avoided, c.managerConfig(c.current.Load()).Sweep.Avoided) ||
		len(c.sent.Sweep.Avoided) != 1 {
		t.Errorf("it begins with %+v", c.sent.Sweep.Avoided)
	}
	last := found
	found = nil
	decide(c)
	must("nothing is judged yet", c, 1, 1)
	found = last
	c.write("opensm.conf", "sick_links avoid\nperfmgr FALSE\n")
	if r := c.Reload(); r.Refused {
		t.Errorf("%+v", r)
	}
	decide(c)
	must("no counters are read any more", c, 0, 0)
	if err := c.isolate(k, peer, time.Unix(7, 0)); err != nil {
		t.Error(err)
	}
	must("by hand", c, 1, 0)
	decide(c)
	must("its time is over", c, 0, 0)

	// No more are taken out of use than can be kept.
	c.change(func(next *inForce) {
		many := &sick.Saved{}
		for i := range sick.MaxSaved {
			many.Excluded = append(many.Excluded,
				sick.Excluded{Port: perf.Key{Node: 0x99, Port: uint8(i)}, Peer: perf.Key{Node: mad.GUID(0x100000 + i)},
					Action: sick.Avoid, ByHand: true})
		}
		next.links = many
	})
	if err := c.isolate(k, peer, time.Time{}); err != errTooMany {
		t.Errorf("one more than can be kept: %v", err)
	}
}

// strippedOfLinks is a policy of a master that knows of no sick link.
func strippedOfLinks(t *testing.T, c *fixture) []byte { return withLinks(t, c, nil) }

// strippedOfFindings is a policy of a master that has links out of use, and knows nothing else of them.
func strippedOfFindings(t *testing.T, c *fixture) []byte {
	return withLinks(t, c, &sick.Saved{Excluded: c.current.Load().links.Excluded})
}

func withLinks(t *testing.T, c *fixture, k *sick.Saved) []byte {
	p, err := newMasterPolicy(c.managerConfig(c.current.Load()).Registrar.Mirror.Policy)
	if err != nil {
		t.Fatal(err)
	}
	p.links = k
	return p.encode()
}

// TestLinksInPolicy: what a policy has of sick links is read again; a policy whose links are damaged is refused.
func TestLinksInPolicy(t *testing.T) {
	p := &policyText{of: 7, mkeys: mkeyNumber{3, 5}, source: partitions.FromFile,
		file: []byte("Default=0x7fff: ALL;\n")}
	p.links = &sick.Saved{
		Excluded: []sick.Excluded{{Port: perf.Key{Node: 1, Port: 2}, Action: sick.Disable, State: sick.Returning}},
	}
	got, err := decodePolicy(p.encode())
	if err != nil || !got.links.Same(p.links) || got.mkeys != p.mkeys || string(got.file) != string(p.file) {
		t.Errorf("%+v, %v", got, err)
	}
	text := strings.Replace(string(p.encode()), `"action":2`, `"action":7`, 1)
	if _, err := decodePolicy([]byte(text)); err == nil {
		t.Errorf("%q is taken", text)
	}
}
