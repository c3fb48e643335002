package sim_test

import (
	"os"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/baddays"
	"ibsm/sim/fabric"
	"ibsm/sim/hosts"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// badDay is a subnet with a master and a standby on a bad day.
type badDay struct {
	*harness
	master, standby *watched
	asker           *baddays.Asker
	course          *baddays.Course
	watches         bool
	last            time.Duration                  // when a Set came last
	useless         map[mad.AttrID]int             // Sets
	seen            map[int32]map[setOf]fabric.Set // the last, by node since it has power
}

// setOf is what a Set is for.
type setOf struct {
	attr mad.AttrID
	mod  uint32
}

// dayCost is what a bad day may cost, or has cost.
type dayCost struct {
	silence time.Duration // longest without an answer of the SA
	heavy   int           // sweeps, quick ones too
	smps    int           // in small size
	useless int           // Sets of what the device had acknowledged
	whole   time.Duration // from the end of the day to the last Set
}

// TestBadDays: on each kind of bad day, alone and while a standby takes over, the SA answers, sweeps coalesce, no Set
// is sent twice for nothing, and the subnet is whole soon after. A Set whose answer was lost may be sent again.
func TestBadDays(t *testing.T) {
	// lossy is for one request that gets no answer in any attempt
	const soon, takesOver, lossy = 20 * time.Millisecond, 100 * time.Millisecond, 1200 * time.Millisecond
	for _, c := range []struct {
		day             string
		alone, takeover dayCost
	}{
		{"flapping", dayCost{soon, 10, 4000, 8, 500 * time.Millisecond},
			dayCost{takesOver, 12, 7000, 8, 500 * time.Millisecond}},
		{"ports", dayCost{soon, 12, 8000, 0, 200 * time.Millisecond},
			dayCost{takesOver, 22, 12000, 0, 200 * time.Millisecond}},
		{"traps", dayCost{soon, 16, 8000, 0, 0}, dayCost{takesOver, 24, 11000, 0, 0}},
		{"spine", dayCost{soon, 5, 1700, 2, 1300 * time.Millisecond},
			dayCost{lossy, 8, 5500, 2, 500 * time.Millisecond}},
		{"loss", dayCost{soon, 5, 3200, 2, 2 * time.Second}, dayCost{lossy, 8, 5500, 2, 500 * time.Millisecond}},
		{"power", dayCost{soon, 18, 13000, 0, 0}, dayCost{takesOver, 24, 13000, 2, 0}},
		{"morning", dayCost{soon, 6, 3000, 0, 0}, dayCost{takesOver, 8, 4500, 0, 0}},
		{"reboots", dayCost{soon, 6, 2500, 0, 0}, dayCost{takesOver, 8, 6000, 0, 0}},
	} {
		day, ok := baddays.Find(c.day)
		if !ok {
			t.Fatalf("no day %q", c.day)
		}
		t.Run(c.day, func(t *testing.T) { newBadDay(t).must(day, false, c.alone) })
		t.Run(c.day+" takeover", func(t *testing.T) { newBadDay(t).must(day, true, c.takeover) })
	}
}

// newBadDay has the engine that is the default.
func newBadDay(t *testing.T) *badDay {
	n := nettest.Generate(t, stormSpec("fattree:k=8", "fattree:k=28"))
	d := &badDay{seen: map[int32]map[setOf]fabric.Set{}, useless: map[mad.AttrID]int{}}
	d.harness = newHarness(t, n, fabric.Config{Seed: 1, Latency: 50 * time.Microsecond,
		TrainTime: 20 * time.Millisecond, OnSet: d.set})
	if os.Getenv("IBSM_PROOF") != "" {
		d.ComputeTime = 100 * time.Millisecond
	}
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	high.Sweep.Engines = engines.Default(&engines.Settings{})
	low.Sweep.Engines = high.Sweep.Engines
	d.master = d.addKept(host(n, 0), high, sim.NewDisk(time.Millisecond))
	d.pass(settling)
	d.standby = d.addKept(host(n, 1), low, sim.NewDisk(time.Millisecond))
	d.pass(settling)
	if d.master.last() != smp.Master || d.standby.last() != smp.Standby {
		t.Fatalf("the first is %v, the second %v", d.master.last(), d.standby.last())
	}
	return d
}

// set watches what is written.
func (d *badDay) set(s fabric.Set) {
	d.last = s.At
	of := setOf{s.Attr, s.Mod}
	if d.seen[s.Node] == nil {
		d.seen[s.Node] = map[setOf]fabric.Set{}
	}
	before, known := d.seen[s.Node][of]
	d.seen[s.Node][of] = s
	reregisters := s.Attr == smp.AttrPortInfo && (*smp.PortInfo)(&s.Data).ClientReregister()
	if d.watches && known && !s.Changed && before.Data == s.Data && before.TID != s.TID && !reregisters {
		d.useless[s.Attr]++
	}
}

// must has a day pass, on which the master may be killed, and fails the test where it costs more than it may.
func (d *badDay) must(day baddays.Day, takeover bool, most dayCost) {
	d.Helper()
	lasts, serves := 2*time.Second, d.master
	if os.Getenv("IBSM_PROOF") != "" {
		lasts = time.Minute
		most.heavy += 2 * int(lasts/time.Second)
		most.whole += 3 * time.Second
		switch {
		case takeover && day.Name == "loss": // with a third lost, a walk takes longer than that
			most.silence += lasts/2 + 5*time.Second
		case takeover:
			most.silence += 2 * time.Second
		}
	}
	spared := []net.End{host(d.net, 0), host(d.net, 1), host(d.net, 2)}
	var err error
	if d.asker, err = baddays.NewAsker(d.Fabric, spared[2], spared[1]); err != nil {
		d.Fatal(err)
	}
	if d.course, err = day.Begin(d.Fabric, spared, 1, lasts); err != nil {
		d.Fatal(err)
	}
	began, smps, heavy := d.Fabric.Now(), d.smps(), d.heavy()
	d.watches = true
	for !d.course.Over() && d.Fabric.Now() < began+d.course.Lasts()+settling {
		if takeover && d.Fabric.Now() >= began+d.course.Lasts()/2 {
			d.Kill(d.master.Manager)
			takeover, serves = false, d.standby
		}
		d.step(time.Millisecond)
	}
	calm := d.Fabric.Now()
	for d.Fabric.Now() < calm+settling {
		d.step(baddays.AskEvery)
	}
	if d.Cleanup(serves.dump); !d.course.Over() {
		d.Error("hosts still wait for answers")
	}
	// a host of the reboots may lose its power before it is answered, and one asks for a path for 1.1 s
	mayGiveUp := day.Name == "reboots" || most.silence > time.Second
	for kind, o := range d.course.Answers().Kinds {
		if o.GivenUp > 0 && !mayGiveUp {
			d.Errorf("%d of %d requests for a %v got no answer", o.GivenUp, o.Asked, hosts.Kind(kind))
		}
	}
	is := dayCost{d.asker.Longest(), d.heavy() - heavy, d.smps() - smps, 0, max(d.last-calm, 0)}
	for _, n := range d.useless {
		is.useless += n
	}
	if os.Getenv("IBSM_PROOF") != "" {
		most.smps, most.useless = is.smps, is.smps/200
		if day.Name == "flapping" {
			most.useless = is.smps / 50 // answers are lost with links
		}
	}
	d.judgeCost(is, most)
	d.mustBeWhole(serves)
	if up := serves.ups[len(serves.ups)-1]; up.CreditLoop > 0 || up.Failures > 0 || up.Errors {
		d.Errorf("the last sweep: %+v", up)
	}
}

// judgeCost fails the test where something costs more than it may.
func (d *badDay) judgeCost(is, most dayCost) {
	d.Helper()
	d.Logf("%d of %d requests were answered, 99 of 100 after %v, the longest silence is %v; %d SMPs, %d heavy sweeps, "+
		"useless Sets %v, whole after %v", d.asker.Answered(), d.asker.Asked(), d.asker.Quantile(0.99), is.silence, is.smps,
		is.heavy, d.useless, is.whole)
	if is.silence > most.silence || is.heavy > most.heavy || is.useless > most.useless || is.whole > most.whole ||
		is.smps > most.smps {
		d.Errorf("it may cost at most %+v, and costs %+v", most, is)
	}
	if p99 := d.asker.Quantile(0.99); p99 > 50*time.Millisecond {
		d.Errorf("99 of 100 answers after %v", p99)
	}
}

// step lets some time pass.
func (d *badDay) step(by time.Duration) {
	for node := range d.seen {
		if !d.Fabric.Powered(node) {
			delete(d.seen, node)
		}
	}
	d.asker.Step()
	d.course.Step()
	d.Run(d.Fabric.Now()+by, nil)
}

// heavy is the number of heavy sweeps of both managers.
func (d *badDay) heavy() (n int) {
	for _, m := range []*watched{d.master, d.standby} {
		s := m.Core.Stats().Sweeps
		n += int(s[manager.HeavySweep] + s[manager.QuickSweep])
	}
	return n
}

// smps is the number of SMPs that have arrived.
func (d *badDay) smps() (n int) {
	for _, k := range d.Fabric.Stats().SMPs {
		n += int(k)
	}
	return n
}

// TestTakeoverUnderLoss: a standby that has seen that the master has ended serves while a third of all SMPs is still
// being lost. It has found every node, and changes no route.
func TestTakeoverUnderLoss(t *testing.T) {
	d := newBadDay(t)
	nodes := len(d.master.View.Topo.Nodes)
	lfts := d.lfts()
	d.Fabric.SetFaults(fabric.Faults{SMPLoss: 1.0 / 3})
	d.Kill(d.master.Manager)
	began, smps := d.Fabric.Now(), d.smps()
	for d.standby.last() != smp.Master || len(d.standby.ups) == 0 {
		if d.pass(10 * time.Millisecond); d.Fabric.Now()-began > time.Minute {
			t.Fatal("it does not become master")
		}
	}
	took := d.Fabric.Now() - began
	t.Logf("after %v and %d SMPs", took, d.smps()-smps)
	if found := len(d.standby.View.Topo.Nodes); took > 15*time.Second || found != nodes || blocks(lfts, d.lfts()) > 0 {
		t.Errorf("after %v: %d of %d nodes, %d other blocks of routes", took, found, nodes, blocks(lfts, d.lfts()))
	}
}
