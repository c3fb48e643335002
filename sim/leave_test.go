package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sa/mirror"
	"ibsm/sim/fabric"
	"ibsm/sweep/elect"
	"ibsm/topo/net/nettest"
)

// A master is asked to end while clients join and leave, and packets are lost. The standby,
// though it ranks lower, is master some ten milliseconds later where nothing is lost, and
// has everything: nobody is asked to register again. Of two standbys the higher is master.
func TestLeaveLosesNothing(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			leaveUnderLoad(t, seed)
		})
	}
}

func leaveUnderLoad(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x1eae))
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: rng.Uint64(), Latency: pick(rng, latency, 2*time.Millisecond)})
	var all []*watched
	for i, at := range []int{0, 6, 9}[:pick(rng, 2, 3)] {
		cfg := registrarConfig()
		cfg.Elect.Priority = uint8(9 - i)
		all = append(all, b.add(host(n, at), cfg))
		t.Cleanup(all[i].dump)
	}
	first, second := all[0], all[1]
	b.pass(settling)
	clients := b.clients(rng, 1, 2, 3, 4, 5, 7)
	loss := pick(rng, 0, 0, 0.01, 0.05)
	b.Fabric.SetFaults(fabric.Faults{Loss: loss, Reorder: 0.05, ReorderBy: time.Millisecond})
	b.ask(clients, b.Fabric.Now()+3*time.Second+time.Duration(rng.Int64N(int64(time.Second))), true)
	for _, c := range clients {
		c.TakeReregister()
	}
	for _, c := range clients {
		if c.tries == 0 {
			c.act(b.Fabric.Now())
		}
	}
	b.Run(b.Fabric.Now()+20*time.Millisecond, func() bool { // the standby lacks something
		return slices.ContainsFunc(first.Registrar().MirrorStats().Standbys, func(s mirror.Standby) bool {
			return s.Lacks
		})
	})
	began := b.Fabric.Now()
	b.Leave(first.Manager)
	if !b.Run(began+elect.LeavePatience, func() bool { return second.last() == smp.Master }) {
		t.Fatalf("the standby is %v", second.last())
	}
	took := b.Fabric.Now() - began
	had, has := first.Registrar().State(), second.Registrar().State()
	if first.says("does not mirror") == 0 &&
		!slices.Equal(slices.Collect(has.Changes()), slices.Collect(had.Changes())) {
		t.Errorf("the old master has %+v, the new one begins with %+v", had.Counts(), has.Counts())
	}
	t.Logf("loss %v: master after %v", loss, took)
	if loss == 0 && took > 50*time.Millisecond {
		t.Errorf("the standby is master only after %v", took)
	}
	if !b.Run(began+elect.LeavePatience, func() bool { return first.Exited }) || first.Err != nil {
		t.Errorf("the old master has not ended: %v, %v", first.last(), first.Err)
	}
	b.ask(clients, b.Fabric.Now()+5*time.Second, true)
	b.Fabric.SetFaults(fabric.Faults{})
	b.ask(clients, b.Fabric.Now()+20*time.Second, false)
	b.mustHold(second, clients)
	for i, m := range all[1:] {
		if want := []smp.SMState{smp.Master, smp.Standby}[i]; m.last() != want {
			t.Errorf("in the end standby %d is %v", i, m.last())
		}
	}
	b.mustAskNobody(clients)
}

// A standby of another kind is handed the mastership at once and does not hand it back. The
// one that leaves is not waited for: it is on no list any more.
func TestLeaveToOthers(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.add(host(n, 0), high)
	plain := rival{plain: true, m: b.add(host(n, 6), low)}
	asked := 0
	plain.m.OnAction = func(now time.Duration, a manager.Action) {
		plain.m.took(now, a)
		s, _ := a.(manager.Send)
		for i := range s.Datagrams {
			p := &s.Datagrams[i].Packet
			plain.blind(p)
			if first.Exited && p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet {
				asked++
			}
		}
	}
	t.Cleanup(plain.m.dump)
	b.pass(settling)
	began := b.Fabric.Now()
	b.Leave(first.Manager)
	if !b.Run(began+elect.LeavePatience, func() bool { return plain.m.last() == smp.Master }) {
		t.Fatal("the standby is not master")
	}
	if took := b.Fabric.Now() - began; took > 5*time.Millisecond {
		t.Errorf("it is master only after %v", took)
	}
	if own := b.Fabric.PortInfo(host(n, 0)); own.CapabilityMask().Has(smp.IsSM) {
		t.Error("IsSM is still set at the port of the one that leaves")
	}
	b.pass(settling)
	if plain.m.last() != smp.Master || !first.Exited {
		t.Errorf("in the end it is %v, and the other has ended: %v", plain.m.last(), first.Exited)
	}
	if asked > 0 {
		t.Errorf("the one that has ended was asked %d times", asked)
	}
	b.mustBeWhole(plain.m)
}

// A manager ends at once when nobody can be handed the mastership, and in time when those
// who could be do not answer.
func TestLeaveAlone(t *testing.T) {
	cfg := registrarConfig()
	cfg.Elect.Priority = 9
	for _, c := range []struct {
		name         string
		others       int
		unresponsive bool
		most         time.Duration
	}{
		{"alone", 0, false, 0},
		{"a standby that hangs", 1, true, elect.LeavePatience},
		{"many that hang", 6, true, elect.LeavePatience},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			m := b.add(host(n, 0), cfg)
			for i := range c.others {
				b.add(host(n, i+1), registrarConfig())
			}
			b.pass(settling)
			b.Fabric.LinkDown(uplink(n, n.Nodes[host(n, 1).Node].Ports[1].Peer.Node))
			if !b.Run(b.Fabric.Now()+settling, func() bool { return m.Core.Stats().Phase == manager.Computing }) {
				t.Fatal("no sweep is under way")
			}
			for _, o := range b.Managers[1:] {
				o.Asleep = b.Fabric.Now() + time.Hour
			}
			sets, began := b.sets(), b.Fabric.Now()
			b.Leave(m.Manager)
			b.Run(began+time.Minute, func() bool { return m.Exited })
			if took := b.Fabric.Now() - began; !m.Exited || m.Err != nil || took > c.most {
				t.Errorf("ended: %v, %v, after %v", m.Exited, m.Err, took)
			}
			if b.sets() != sets {
				t.Errorf("%d Sets", b.sets()-sets)
			}
			if c.unresponsive != (b.Fabric.Now() > began) {
				t.Errorf("unresponsive standbys were waited for: %v", !c.unresponsive)
			}
		})
	}
}

// A standby that did not answer the last walk is known when it has asked, and has answered the
// master's own question then.
func TestLeaveToUnmet(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority, high.SweepInterval = 9, 3, 0
	first, second := b.add(host(n, 0), high), b.add(host(n, 6), low)
	dropping := true
	second.Heard = func(received []mad.Datagram) {
		for i := range received {
			if p := &received[i].Packet; dropping && p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet {
				received[i] = mad.Datagram{}
			}
		}
	}
	t.Cleanup(first.dump)
	b.pass(settling)
	if others := first.Core.Stats().Rivals; len(others) > 0 {
		t.Fatalf("a walk has met %+v", others)
	}
	dropping = false
	b.pass(3 * time.Second)
	if others := first.Core.Stats().Rivals; len(others) > 0 {
		t.Fatalf("a walk has met %+v", others)
	}
	b.Leave(first.Manager)
	b.Run(b.Fabric.Now()+elect.LeavePatience, func() bool { return first.Exited })
	if first.says("exiting: handing mastership over") != 1 || second.last() != smp.Master {
		t.Errorf("the standby is %v", second.last())
	}
}

// A standby that is asked to end does so at once, and the master does not mind.
func TestLeaveAsStandby(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first, second := b.add(host(n, 0), high), b.add(host(n, 6), low)
	b.pass(settling)
	b.Leave(second.Manager)
	if !second.Exited || second.Err != nil {
		t.Errorf("ended: %v, %v", second.Exited, second.Err)
	}
	b.pass(settling)
	if first.last() != smp.Master {
		t.Errorf("the master is %v", first.last())
	}
}
