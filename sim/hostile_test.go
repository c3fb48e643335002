package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sa"
	"ibsm/sa/mirror"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/elect"
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
				if a := stats.Alarms(); len(a) != 1 || a[0].Port != i.guid() || a[0].LID == 0 ||
					a[0].Count != m.alarms(manager.AlarmManager) {
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
			cfg.Elect.SMKey, cfg.Elect.Allowed = 1,
				[]mad.GUID{b.Fabric.PortGUID(host(n, 0)), b.Fabric.PortGUID(host(n, 6))}
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

// routeTo is a directed route from its port to another one.
func (i *intruder) routeTo(to net.End) mad.Route {
	f, from := i.harness.Fabric, i.station.At()
	type step struct {
		node  int32
		route mad.Route
	}
	queue, seen := []step{{f.Peer(from).Node, mad.MakeRoute(from.Port)}}, map[int32]bool{}
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		for num := 1; f.NodeType(s.node) == mad.Switch && num <= i.harness.net.Nodes[s.node].NumPorts(); num++ {
			peer := f.Peer(net.End{Node: s.node, Port: uint8(num)})
			if peer == net.NoEnd || seen[peer.Node] {
				continue
			}
			seen[peer.Node] = true
			route, _ := s.route.Then(uint8(num))
			if peer == to {
				return route
			}
			queue = append(queue, step{peer.Node, route})
		}
	}
	i.harness.Fatal("no route to", to)
	return mad.Route{}
}

// smInfo sends an SMInfo of what it likes to a port, by directed route or by LID.
func (i *intruder) smInfo(to net.End, directed bool, method mad.Method, mod uint32, info smp.SMInfo, tid int) {
	var d mad.Datagram
	if directed {
		route := i.routeTo(to)
		d.LID = mad.PermissiveLID
		d.Packet.SetDirected(&route, method, smp.AttrSMInfo, mod)
	} else {
		pi := i.harness.Fabric.PortInfo(to)
		d.LID = pi.LID()
		d.Packet.SetHeader(mad.ClassLIDRouted, method, smp.AttrSMInfo, mod)
	}
	d.Packet.SetTID(mad.TID(tid))
	*d.Packet.Data() = info
	i.station.Send([]mad.Datagram{d})
}

// statuses are those of the answers that it got.
func (i *intruder) statuses() (all []mad.Status) {
	for _, p := range i.got {
		if p.Method() == mad.MethodGetResp && p.AttrID() == smp.AttrSMInfo {
			all = append(all, p.Status())
		}
	}
	i.got = nil
	return all
}

// Control packets change nothing unless they come from the port of the known master, whatever they
// claim; from there they do.
func TestControlFromOthers(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := minhopConfig(), minhopConfig()
	high.Elect.Priority, high.Elect.SMKey, low.Elect.SMKey = 9, 1, 1
	master := b.comeUp(high)
	standby := b.add(host(n, 6), low)
	asleep := low
	asleep.Elect.Inactive = true
	inactive := b.add(host(n, 9), asleep)
	t.Cleanup(standby.dump)
	b.pass(settling)
	i := b.intrude(host(n, 5))
	sweeps, tid, alarms := master.Core.Stats().Sweeps, 0, uint64(0)
	for _, at := range []*watched{standby, inactive, master} {
		states := len(at.states)
		for _, name := range []mad.GUID{b.Fabric.PortGUID(firstHost(n)), i.guid(), 0x1234} {
			for _, directed := range []bool{false, true} {
				for mod := smp.ControlHandover; mod <= smp.ControlDiscover; mod++ {
					if mod == smp.ControlAcknowledge {
						continue // changes nothing, from anybody
					}
					tid++
					info := otherSM(name, 15, smp.Master)
					info.SetSMKey(1)
					i.smInfo(at.Station.At(), directed, mad.MethodSet, mod, info, tid)
					b.pass(3 * time.Second)
					// A manager that has been MASTER elsewhere hands over to this one, which looks again.
					harmless := at == master && mod == smp.ControlHandover && directed && name == i.guid()
					if got := i.statuses(); len(got) != 1 || (got[0] == mad.StatusOK) != harmless {
						t.Errorf("%v, named %v, directed %t, modifier %d: answered %v", at.last(), name, directed, mod,
							got)
					}
					if !harmless {
						alarms++
					}
					if len(at.states) != states {
						t.Fatalf("named %v, directed %t, modifier %d: %v", name, directed, mod, at.states)
					}
				}
			}
		}
	}
	if got := master.alarms(manager.AlarmControl) + standby.alarms(manager.AlarmControl) +
		inactive.alarms(manager.AlarmControl); got != alarms {
		t.Errorf("%d alarms, want %d", got, alarms)
	}
	if now := master.Core.Stats().Sweeps; now[manager.HeavySweep] > sweeps[manager.HeavySweep]+1 {
		t.Errorf("sweeps %v, before %v", now, sweeps)
	}
	b.mustBeWhole(master)
	for _, c := range []struct {
		mod  uint32
		want smp.SMState
	}{{smp.ControlDisable, smp.NotActive}, {smp.ControlStandby, smp.Standby}, {smp.ControlDiscover, smp.Standby}} {
		if status := b.setSMInfo(master, standby, c.mod); status != mad.StatusBadField {
			t.Errorf("with another SM_Key, modifier %d: %v", c.mod, status)
		}
		info := otherSM(b.Fabric.PortGUID(firstHost(n)), 9, smp.Master)
		info.SetSMKey(1)
		d := master.directedTo(standby.Station.At(), mad.MethodSet, smp.AttrSMInfo, c.mod)
		*d.Packet.Data() = info
		master.Station.Send([]mad.Datagram{d})
		if b.pass(5 * time.Second); standby.last() != c.want {
			t.Errorf("the master's own, modifier %d: %v", c.mod, standby.states)
		}
	}
}

// Get(SMInfo) in the name of another port costs no sweep, and no false manager is remembered, to
// which a leaving master would hand over.
func TestFalseQuestions(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	i := b.intrude(host(n, 5))
	before := m.Core.Stats().Sweeps[manager.HeavySweep]
	for k := range 400 {
		name := mad.GUID(0xdeadbeef + k)
		if k%3 == 0 {
			name = b.Fabric.PortGUID(host(n, 7)) // an honest host
		}
		q := elect.New(elect.Config{GUID: name, Priority: 15}).Question()
		q.SetSMState([]smp.SMState{smp.Standby, smp.Master, smp.Discovering}[k%3])
		i.smInfo(firstHost(n), k%2 == 0, mad.MethodGet, 0, q, k+1)
		b.pass(5 * time.Millisecond)
	}
	b.pass(settling)
	stats := m.Core.Stats()
	if heavy := stats.Sweeps[manager.HeavySweep] - before; heavy > 0 {
		t.Errorf("%d heavy sweeps", heavy)
	}
	for k := range 400 { // from where nobody is known: sweeps at the pace of traps
		q := elect.New(elect.Config{GUID: mad.GUID(0xdeadbeef + k), Priority: 15}).Question()
		d := m.directedTo(m.Station.At(), mad.MethodGet, smp.AttrSMInfo, 0)
		d.Packet[6], d.Packet[7] = 1, 1 // a hop, done
		d.Packet.ReturnPath()[1] = 99
		*d.Packet.Data() = q
		b.Deliver(m.Manager, d)
		b.pass(20 * time.Millisecond)
	}
	b.pass(settling)
	if heavy := m.Core.Stats().Sweeps[manager.HeavySweep] - before; heavy == 0 || heavy > 18 {
		t.Errorf("%d heavy sweeps in 8 s because of an unknown port", heavy)
	}
	if got := m.alarms(manager.AlarmQuestion); got != 400 {
		t.Errorf("%d alarms", got)
	}
	began := b.Fabric.Now()
	b.Leave(m.Manager)
	if !b.Run(began+elect.LeavePatience, func() bool { return m.Exited }) || b.Fabric.Now() != began {
		t.Errorf("it ends after %v: somebody is offered the mastership", b.Fabric.Now()-began)
	}
}

// otherSM is what a manager says of itself.
func otherSM(guid mad.GUID, priority uint8, state smp.SMState) (i smp.SMInfo) {
	i.SetGUID(guid)
	i.SetPriority(priority)
	i.SetSMState(state)
	return i
}

// trap sends a trap to a manager's port.
func (i *intruder) trap(to net.End, number smp.TrapNumber, tid int, fill func(*smp.Notice)) {
	pi, own := i.harness.Fabric.PortInfo(to), i.harness.Fabric.PortInfo(i.station.At())
	d := trapFrom(number, own.LID(), tid, fill)
	d.LID = pi.LID()
	i.station.Send([]mad.Datagram{d})
}

// Traps about other nodes than the sender's, and traps that only the master reports, are neither
// believed nor forwarded, and no link is avoided or disabled because of them.
func TestForgedTraps(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Sweep.Settings.DisableBabblers = true
	m := b.comeUp(cfg)
	forwarded, forward := 0, m.OnAction
	m.OnAction = func(now time.Duration, a manager.Action) {
		forward(now, a)
		if ev, is := a.(manager.ForRegistrar); is {
			if _, is := ev.Event.(sa.TrapReceived); is {
				forwarded++
			}
		}
	}
	i := b.intrude(host(n, 5))
	link := uplink(n, b.Fabric.Peer(host(n, 5)).Node)
	own, victim := b.Fabric.PortInfo(i.station.At()), b.Fabric.PortInfo(host(n, 7))
	sw := b.Fabric.PortInfo(net.End{Node: link.Node})
	heavy, tid := m.Core.Stats().Sweeps, 0
	send := func(number smp.TrapNumber, count int, fill func(*smp.Notice)) {
		for range count {
			tid++
			i.trap(firstHost(n), number, tid, fill)
			b.pass(10 * time.Millisecond)
		}
	}
	send(smp.TrapLinkIntegrity, 300, func(n *smp.Notice) {
		n.PortError().SetLID(sw.LID())
		n.PortError().SetPortNum(link.Port)
	})
	send(smp.TrapFlowControl, 20, func(n *smp.Notice) {
		n.PortError().SetLID(victim.LID())
		n.PortError().SetPortNum(1)
	})
	send(smp.TrapLinkState, 20, func(n *smp.Notice) { n.LinkState().SetLID(sw.LID()) })
	send(smp.TrapLocalChange, 20, func(n *smp.Notice) { n.LocalChange().SetLID(victim.LID()) })
	send(smp.TrapBadMKey, 20, func(n *smp.Notice) { n.SetIssuerLID(victim.LID()) })
	send(smp.TrapSwitchBadPKey, 20, func(n *smp.Notice) { n.SwitchBadPKey().SetSwitchLID(sw.LID()) })
	send(smp.TrapBadPKey, 20, func(n *smp.Notice) { n.BadKey().SetLID1(victim.LID()); n.BadKey().SetLID2(sw.LID()) })
	for number := smp.TrapGIDInService; number <= smp.TrapRepath; number++ {
		send(number, 5, func(n *smp.Notice) {})
	}
	send(smp.TrapSystemImageGUID, 5, func(n *smp.Notice) { n.SetIssuerLID(victim.LID()) })
	// where trap 145 has it, too
	send(smp.TrapSystemImageGUID, 5, func(n *smp.Notice) { n.PortError().SetLID(victim.LID()) })
	send(smp.TrapBufferOverrun, 20, func(n *smp.Notice) {
		n.PortError().SetLID(sw.LID())
		n.PortError().SetPortNum(link.Port)
	})
	send(smp.TrapBadQKey, 20, func(n *smp.Notice) { n.BadKey().SetLID1(victim.LID()); n.BadKey().SetLID2(sw.LID()) })
	b.pass(2 * settling)
	if forwarded > 0 {
		t.Errorf("%d traps are forwarded to subscribers", forwarded)
	}
	if now := m.Core.Stats().Sweeps; now[manager.HeavySweep] != heavy[manager.HeavySweep] ||
		now[manager.QuickSweep] != heavy[manager.QuickSweep] {
		t.Errorf("sweeps %v, before %v", now, heavy)
	}
	if m.says("unhealthy") > 0 || m.says("babbles") > 0 || !m.usesLink(link) {
		t.Error("a link is avoided")
	}
	if got := m.alarms(manager.AlarmTrap); got != uint64(tid) {
		t.Errorf("%d alarms of %d", got, tid)
	}
	b.mustBeWhole(m)
	send(smp.TrapLinkIntegrity, 1, func(n *smp.Notice) { n.PortError().SetLID(own.LID()); n.PortError().SetPortNum(1) })
	if forwarded != 1 || m.alarms(manager.AlarmTrap) != uint64(tid-1) {
		t.Error("a trap of the port itself is ignored")
	}
}

// With default keys a standby mirrors nothing and a handover waits for no mirror, unless the
// operator asks for it; with a secret key or M_Key it mirrors.
func TestMirrorNeedsSecret(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for name, c := range ordered(map[string]struct {
		smKey uint64
		mKey  mad.MKey
		asked bool
		on    bool
	}{"default keys": {1, 0, false, false}, "no key": {0, 0, false, false}, "asked for": {1, 0, true, true},
		"SM_Key": {0x5ec, 0, false, true}, "M_Key": {1, 0x77, false, true}}) {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			high, low := registrarConfig(), registrarConfig()
			for _, cfg := range []*manager.Config{&high, &low} {
				cfg.Elect.SMKey = c.smKey
				cfg.Registrar.Mirror = mirror.Config{SMKey: c.smKey, MKey: c.mKey, DefaultKeys: c.asked,
					Policy: []byte("a=0x8001: ALL;\n")}
				cfg.Elect.Unmirrored = !cfg.Registrar.Mirror.On()
			}
			high.Elect.Priority = 9
			first, second := b.comeUp(high), b.add(host(n, 6), low)
			t.Cleanup(second.dump)
			policies := 0
			second.Mirrored = func([]byte) { policies++ }
			b.pass(settling)
			if st := second.Registrar().MirrorStats(); (st.Follower.Answers > 0) != c.on || (policies > 0) != c.on {
				t.Errorf("%+v, %d policies", st.Follower, policies)
			}
			began := b.Fabric.Now()
			b.Leave(first.Manager)
			if !b.Run(began+elect.LeavePatience, func() bool { return second.last() == smp.Master }) {
				t.Fatalf("the standby is %v", second.states)
			}
			if took := b.Fabric.Now() - began; took > 50*time.Millisecond {
				t.Errorf("master only after %v", took)
			}
		})
	}
}

// With allowed_sm_guids and an M_Key, a host that runs a subnet manager is shown neither the M_Key
// nor the SM_Key, and the managers on the list find each other.
func TestSecretsAreNotShown(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Elect.SMKey = 0x5ec
	cfg.Elect.Allowed = []mad.GUID{b.Fabric.PortGUID(host(n, 0)), b.Fabric.PortGUID(host(n, 6))}
	cfg.Sweep.AllowedSMs = cfg.Elect.Allowed
	cfg.Sweep.Settings.MKey, cfg.Sweep.Settings.MKeyProtect = sweep.Given(mad.MKey(0x3347)), sweep.Given(uint8(1))
	i := b.intrude(host(n, 5))
	i.impersonate(15, smp.Master, 0)
	answer := i.station
	shown, asked := 0, 0
	answer.OnReceive(func(d mad.Datagram) {
		if p := &d.Packet; p.AttrID() == smp.AttrSMInfo {
			asked++
			if p.MKey() != 0 || (*smp.SMInfo)(p.Data()).SMKey() != 0 {
				shown++
			}
		}
		i.take(d)
	})
	first := b.comeUp(cfg)
	second := b.add(host(n, 6), cfg)
	t.Cleanup(second.dump)
	b.pass(settling)
	for _, at := range []*watched{first, second} {
		for _, directed := range []bool{false, true} {
			q := elect.New(elect.Config{GUID: i.guid(), Priority: 15}).Question()
			i.smInfo(at.Station.At(), directed, mad.MethodGet, 0, q, 1)
			b.pass(settling)
		}
	}
	unknown := b.intrude(host(n, 8)) // that no walk finds to be a manager is asked what it is
	unknown.smInfo(first.Station.At(), true, mad.MethodGet, 0,
		elect.New(elect.Config{GUID: unknown.guid(), Priority: 15}).Question(), 1)
	b.pass(settling)
	inquiries := 0
	for _, p := range unknown.got {
		if p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet {
			inquiries++
			if p.MKey() != 0 || (*smp.SMInfo)(p.Data()).SMKey() != 0 {
				shown++
			}
		}
	}
	if inquiries == 0 {
		t.Error("a manager that names itself is not asked")
	}
	if asked < 8 || shown > 0 {
		t.Errorf("%d of %d packets show a key", shown, asked)
	}
	if first.last() != smp.Master || second.last() != smp.Standby {
		t.Errorf("the first is %v, the second %v", first.states, second.states)
	}
	b.Leave(first.Manager)
	if b.pass(settling); second.last() != smp.Master {
		t.Errorf("the second is %v", second.states)
	}
	b.mustBeWhole(second)
}

// sendUnasked brings a manager the k-th reply that it did not ask for, with a table block as no switch
// holds it.
func (b *harness) sendUnasked(m *watched, k int) {
	tables := []mad.AttrID{smp.AttrLinearForwardingTable, smp.AttrMulticastForwardingTable, smp.AttrPKeyTable}
	t := m.View.Topo
	var d mad.Datagram
	d.LID = mad.PermissiveLID
	p := &d.Packet
	p.SetDirected(&t.Nodes[t.Switches[k%len(t.Switches)]].Route, mad.MethodGetResp, tables[k%len(tables)], 0)
	p.SetReturning()
	p.SetTID(mad.TID(k))
	for i := range p.Data() {
		p.Data()[i] = byte(k + i)
	}
	b.Deliver(m.Manager, d)
}

// Replies that nobody asked for, which show another table of a switch than it holds, have the table
// read again, at the pace of traps. They change nothing.
func TestUnaskedReplies(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	before, sweeps, began := b.snapshot(), m.Core.Stats().Sweeps, b.Fabric.Now()
	for k := range 400 {
		b.sendUnasked(m, k)
		b.pass(50 * time.Millisecond)
	}
	took := b.Fabric.Now() - began
	b.pass(settling)
	now := m.Core.Stats().Sweeps
	if heavy := now[manager.HeavySweep] - sweeps[manager.HeavySweep]; heavy == 0 || heavy > uint64(took/time.Second)+
		10 {
		t.Errorf("%d heavy sweeps in %v", heavy, took)
	}
	b.mustBeAsBefore(before)
	b.mustBeWhole(m)
}
