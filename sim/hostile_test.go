package sim_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// intruder is a host that sends what it likes.
type intruder struct {
	harness *harness
	station *fabric.Station
	// says is what it answers to Get(SMInfo), with its own port's GUID; nil for nothing.
	says *smp.SMInfo
	got  []mad.Packet // other packets that it received, the latest 64
}

// intrude puts an intruder at a port.
func (b *harness) intrude(at net.End) *intruder {
	b.Helper()
	st, err := b.Fabric.Attach(at)
	if err != nil {
		b.Fatal(err)
	}
	i := &intruder{harness: b, station: st}
	st.OnReceive(i.take)
	return i
}

// take answers Get(SMInfo), and keeps the rest.
func (i *intruder) take(d mad.Datagram) {
	p := &d.Packet
	if i.says == nil || p.AttrID() != smp.AttrSMInfo || p.Method() != mad.MethodGet {
		if len(i.got) == 64 {
			i.got = i.got[1:]
		}
		i.got = append(i.got, *p)
		return
	}
	p.SetMethod(mad.MethodGetResp)
	if p.MgmtClass() == mad.ClassDirected {
		p.SetReturning()
	}
	*p.Data() = *i.says
	i.station.Send([]mad.Datagram{d})
}

// impersonate has it say that it is a subnet manager.
func (i *intruder) impersonate(priority uint8, state smp.SMState, key uint64) {
	i.says = &smp.SMInfo{}
	i.says.SetGUID(i.guid())
	i.says.SetPriority(priority)
	i.says.SetSMState(state)
	i.says.SetSMKey(key)
	i.station.SetIsSM(true)
}

func (i *intruder) guid() mad.GUID { return i.harness.Fabric.PortGUID(i.station.At()) }

// alarms are the packets that a manager has raised alarms about.
func (w *watched) alarms(kind manager.AlarmKind) uint64 {
	stats := w.Core.Stats()
	for k, n := range stats.AlarmCounts() {
		if k == kind {
			return n
		}
	}
	return 0
}

// A host that says it is MASTER deposes no master that has a secret key or a list of managers, and
// keeps none from becoming master. The alarm names its port.
func TestImpostor(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	own := mad.GUID(0)
	for _, c := range []struct {
		name    string
		key     uint64
		allowed bool
	}{{"secret key", 0x5ec, false}, {"allowed managers", 1, true}} {
		for _, first := range []bool{false, true} {
			for _, shows := range []uint64{0, 1, 0xbad} {
				b := newHarness(t, n, fabric.Config{Seed: 1})
				own = b.Fabric.PortGUID(firstHost(n))
				cfg := minhopConfig()
				cfg.Elect.SMKey = c.key
				if c.allowed {
					cfg.Elect.Allowed = []mad.GUID{own}
				}
				i := b.intrude(host(n, 5))
				if first {
					i.impersonate(15, smp.Master, shows)
				}
				m := b.comeUp(cfg)
				i.impersonate(15, smp.Master, shows)
				b.pass(settling)
				i.says.SetSMState(smp.Standby)
				b.pass(settling)
				if m.last() != smp.Master || len(m.states) != 2 {
					t.Fatalf("%s, an impostor with key %#x: %v", c.name, shows, m.states)
				}
				b.mustBeWhole(m)
				stats := m.Core.Stats()
				if a := stats.Alarms(); len(a) != 1 || a[0].Port != i.guid() || a[0].LID == 0 || a[0].Count != m.alarms(manager.AlarmManager) {
					t.Errorf("%s: alarms %+v", c.name, a)
				}
				if logged := m.says("ERROR", "ALARM", i.guid().String()); logged != 1 {
					t.Errorf("%s: logged %d times in two minutes", c.name, logged)
				}
				before := m.Core.Stats().Sweeps[manager.HeavySweep]
				b.pass(settling)
				if after := m.Core.Stats().Sweeps[manager.HeavySweep]; after != before {
					t.Errorf("%s: %d heavy sweeps because of an impostor", c.name, after-before)
				}
			}
		}
	}
}

// Managers with the same secret key, or that are both allowed, elect one of them beside an impostor.
func TestManagersBesideImpostor(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, allowed := range []bool{false, true} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.Elect.SMKey = 0x5ec
		if allowed {
			cfg.Elect.SMKey, cfg.Elect.Allowed = 1, []mad.GUID{b.Fabric.PortGUID(host(n, 0)), b.Fabric.PortGUID(host(n, 6))}
		}
		i := b.intrude(host(n, 5))
		i.impersonate(15, smp.Master, 1)
		first := b.comeUp(cfg)
		high := cfg
		high.Elect.Priority = 9
		second := b.add(host(n, 6), high)
		t.Cleanup(second.dump)
		b.pass(settling)
		if first.last() != smp.Standby || second.last() != smp.Master {
			t.Fatalf("the lower is %v, the higher %v", first.states, second.states)
		}
		b.Leave(second.Manager)
		b.pass(settling)
		if first.last() != smp.Master {
			t.Fatalf("handed over to the other, it is %v", first.states)
		}
		b.mustBeWhole(first)
	}
}
