package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep/elect"
	"ibsm/topo/net/nettest"
)

// A port that names itself in questions and answers inquiries in the name of another manager changes
// nothing, and is asked once in ten milliseconds at most.
func TestInquiryAnsweredInOtherName(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	b.pass(settling)
	i := b.intrude(host(n, 5))
	info, asked := otherSM(0xbad, 15, smp.Master), 0
	i.says = &info
	i.station.OnReceive(func(d mad.Datagram) {
		if p := &d.Packet; p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet {
			asked++
		}
		i.take(d)
	})
	before, began := m.Core.Stats().Sweeps[manager.HeavySweep], b.Fabric.Now()
	q := elect.New(elect.Config{GUID: i.guid(), Priority: 15}).Question()
	for k := range 500 {
		i.smInfo(firstHost(n), true, mad.MethodGet, 0, q, k+1)
		b.pass(200 * time.Microsecond)
	}
	if most := 1 + int((b.Fabric.Now()-began)/(10*time.Millisecond)); asked < 2 || asked > most {
		t.Errorf("asked %d times in %v, at most %d are right", asked, b.Fabric.Now()-began, most)
	}
	b.pass(settling)
	if heavy := m.Core.Stats().Sweeps[manager.HeavySweep] - before; heavy > 0 || len(m.states) != 2 {
		t.Errorf("%d heavy sweeps, the master is %v", heavy, m.states)
	}
}

// Of managers that are known by their questions alone, sixteen are remembered.
func TestManagersMet(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=6")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	b.pass(settling)
	for k := range 24 {
		i := b.intrude(host(n, 2+k))
		info := otherSM(i.guid(), 0, smp.Standby)
		info.SetSMKey(minhopConfig().Elect.SMKey)
		i.says = &info
		i.smInfo(firstHost(n), true, mad.MethodGet, 0, elect.New(elect.Config{GUID: i.guid()}).Question(), k+1)
		b.pass(100 * time.Millisecond)
	}
	if met := len(m.View.SMs) - 1; met != 16 {
		t.Errorf("%d managers are remembered", met)
	}
}
