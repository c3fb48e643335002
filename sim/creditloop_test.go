package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/engines"
	"ibsm/topo/net/nettest"
)

// TestCreditLoop: shortest routes in a ring of five switches form a credit loop (each packet
// over two links waits in the first for the second). It is logged once, each of its ports says
// so, and it ends with a link.
func TestCreditLoop(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	b.mustBeWhole(m)
	m.sweep(manager.Heavy)
	const text = "the routes have a credit loop"
	if m.says(text, "WARN") != 1 {
		t.Errorf("logged %d times", m.says(text, "WARN"))
	}
	ports := 0
	for i := range n.Nodes {
		for num := range n.Nodes[i].Ports {
			if n.Nodes[i].Type != mad.Switch || num == 0 {
				continue
			}
			d := ctltest.Diagnose(t, server.Show(m.View), fmt.Sprintf("%s:%d", n.Nodes[i].Desc, num), "")
			if ctltest.HasReason(d, "credit loop", "in a credit loop: 5 links") {
				ports++
			}
			if !d.Works && d.State == "Active" {
				t.Errorf("%+v", d)
			}
		}
	}
	if ports != 5 || m.ups[len(m.ups)-1].CreditLoop != 5 {
		t.Errorf("%d ports say so, the sweep %+v", ports, m.ups[len(m.ups)-1])
	}
	b.Fabric.LinkDown(uplink(n, 0))
	b.pass(settling)
	if m.says("ended: the routes have a credit loop") != 1 || m.ups[len(m.ups)-1].CreditLoop != 0 {
		t.Error("a chain has a credit loop")
	}
}

// TestCreditLoopTakenOver: tables of another manager, which are kept, get SLs without a credit loop
// where ports have lanes. Where they have one, there is an error, because packets may have had SLs that
// nobody knows now.
func TestCreditLoopTakenOver(t *testing.T) {
	for lanes, level := range ordered(map[uint8]string{1: "ERROR", 5: "WARN"}) {
		n := nettest.Generate(t, "torus:dims=5,hosts=1")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.Sweep.Settings.MaxOpVLs = sweep.Given(lanes)
		b.comeUp(cfg).retire()
		m := b.add(host(n, 1), cfg)
		b.pass(settling)
		if m.says("the routes of another manager are kept", level) != 1 {
			t.Errorf("OperationalVLs %d: it is not said", lanes)
		}
		if m.says("connections made before keep theirs", level) != 1 {
			t.Errorf("OperationalVLs %d: nothing is said of the connections that there are", lanes)
		}
	}
}

// TestCertificate: routes in force are proved once more when they are written, those of packets from and to
// switches too. In a tree nobody waits; in a fat tree packets between spines turn upwards at a leaf.
func TestCertificate(t *testing.T) {
	for _, c := range []struct {
		spec, says, level string
		state             sweep.CertificateState
	}{
		{"torus:dims=5,hosts=1", "", "", sweep.NoCertificate},
		{"fattree:k=4", "packets between hosts have no credit loop, but", "INFO", sweep.HostsCertified},
		{"torus:dims=3,hosts=1", "the routes are certified", "INFO", sweep.Certified},
	} {
		n := nettest.Generate(t, c.spec)
		b := newHarness(t, n, fabric.Config{Seed: 1})
		b.Certify = true
		m := b.add(host(n, 0), minhopConfig())
		var proved []manager.Proved
		out, most := 0, 0
		m.OnAction = func(now time.Duration, a manager.Action) {
			m.took(now, a)
			switch a := a.(type) {
			case manager.Certify:
				out++
				most = max(most, out)
			case manager.Proved:
				proved = append(proved, a)
				out--
			}
		}
		b.pass(settling)
		last := func() manager.Proved { return proved[len(proved)-1] }
		if len(proved) == 0 || last().State != c.state || most != 1 || (last().Channels > 0) != (c.state != sweep.NoCertificate) ||
			(last().Loop > 0) != (c.state == sweep.HostsCertified) {
			t.Fatalf("%s: %+v, %d tasks at a time", c.spec, proved, most)
		}
		if c.says != "" && m.says(c.says, c.level) != 1 {
			t.Errorf("%s: %s was logged %d times", c.spec, c.says, m.says(c.says, c.level))
		}
		before := len(proved)
		m.sweep(manager.Heavy)
		b.pass(settling)
		if c.says != "" && m.says(c.says, c.level) != 1 || len(proved) == before {
			t.Errorf("%s: the second sweep logs it again, or is not proved", c.spec)
		}
	}
}

// TestCertificateEnded: a newer plan ends the proof of the routes before it, which then is not reported.
func TestCertificateEnded(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=3,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.Certify, b.ComputeTime = true, 100*time.Millisecond
	m := b.add(host(n, 0), minhopConfig())
	var story []string
	var begun []time.Duration
	m.OnAction = func(now time.Duration, a manager.Action) {
		m.took(now, a)
		switch a := a.(type) {
		case manager.Certify:
			story = append(story, "begins")
			begun = append(begun, now)
			if len(story) == 1 {
				b.Fabric.LinkDown(uplink(n, 0))
			}
		case manager.EndCertify:
			story = append(story, "ended")
		case manager.Proved:
			story = append(story, a.State.String())
		}
	}
	b.pass(settling)
	if got := strings.Join(story, " "); !strings.HasPrefix(got, "begins ended begins all") || strings.Count(got, "all") != strings.Count(got, "begins")-1 {
		t.Error(got)
	}
	if wait := begun[1] - begun[0]; wait != 10*b.ComputeTime {
		t.Errorf("the newer routes wait %v for the task that was ended", wait)
	}
}

// TestCertificateOfTrees: routes in force are proved again with the multicast trees that joins make, before
// any heavy sweep. In a ring of five, lash has no credit loop with two lanes; a tree over all switches on
// one of these closes one.
func TestCertificateOfTrees(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.Certify = true
	c := newChoir(b, chainConfig(t, engines.Settings{}, "lash"))
	var proved []manager.Proved
	forward := c.m.OnAction
	c.m.OnAction = func(now time.Duration, a manager.Action) {
		if p, is := a.(manager.Proved); is {
			proved = append(proved, p)
		}
		forward(now, a)
	}
	const says = "multicast groups and the routes between hosts have a credit loop"
	// change expects proofs of what is registered, the last of them with a result, and no heavy sweep.
	change := func(want sweep.CertificateState, loop bool) {
		t.Helper()
		sweeps := len(c.m.ups)
		proved = nil
		c.sing()
		c.pass(2 * time.Second)
		if len(proved) != 1 || proved[0].State != want || (proved[0].Loop > 0) != loop || len(c.m.ups) != sweeps {
			t.Errorf("%+v after %d sweeps, want %v", proved, len(c.m.ups)-sweeps, want)
		}
	}
	c.group(0, 0)
	for i := range 5 {
		c.join(0, host(n, i), registry.FullMember)
	}
	change(sweep.NoCertificate, true)
	if c.m.says(says, "WARN") != 1 {
		t.Errorf("the loop was logged %d times", c.m.says(says, "WARN"))
	}
	for i := range 4 {
		c.leave(0, host(n, i))
	}
	change(sweep.Certified, false)
	proved = nil
	c.sing()
	c.pass(2 * time.Second)
	if len(proved) != 0 {
		t.Errorf("the same trees are proved again: %+v", proved)
	}
}
