package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/keys"
	"ibsm/keys/keystest"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep/elect"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// provingConfig is a manager with the secret of a keys_file.
func provingConfig(priority uint8) manager.Config {
	cfg := minhopConfig()
	cfg.Elect.Priority, cfg.Elect.SMKey, cfg.Elect.Secret = priority, subnetSecret.SMKey(), subnetSecret
	return cfg
}

// smInfos are the SMInfo that managers have sent, and which of all packets showed what nobody may see.
type smInfos struct {
	search keystest.Search
	shown  map[string]int
	sent   []mad.Datagram
	from   []*sim.Manager
}

// watchSMInfo looks at every packet that managers send from now on.
func (b *harness) watchSMInfo() *smInfos {
	b.Helper()
	w := &smInfos{shown: map[string]int{}}
	if err := w.search.AddSecret(subnetSecret, 1, nil); err != nil {
		b.Fatal(err)
	}
	b.Sent = func(m *sim.Manager, batch []mad.Datagram) {
		for i := range batch {
			p := &batch[i].Packet
			for _, what := range w.search.Find(p[:]) {
				if what != "m_key" && !strings.Contains(what, "let in") { // which unknown agents are shown
					w.shown[what]++
				}
			}
			if p.AttrID() == smp.AttrSMInfo {
				w.sent, w.from = append(w.sent, batch[i]), append(w.from, m)
			}
		}
	}
	return w
}

// mustShowNothing fails the test where a packet has shown the SM_Key or more.
func (w *smInfos) mustShowNothing(t testing.TB) {
	t.Helper()
	if len(w.shown) > 0 || len(w.sent) == 0 {
		t.Errorf("of %d SMInfo and all other packets, so many show: %v", len(w.sent), w.shown)
	}
}

// Managers with one secret elect, hand over, leave, and take over as managers without one do, and no packet shows the
// SM_Key: at two hosts, at a switch, and cabled to each other; by the secret of a keys_file, with M_Keys of ports as
// with security tenants, and by an sm_key alone. Nothing raises an alarm.
func TestProofs(t *testing.T) {
	tree := nettest.Generate(t, "fattree:k=4")
	pair := cabled(t, "host-1/1=host-2/1")
	tenants := func(b *harness, at net.End, priority uint8) manager.Config {
		cfg := portMKeys(1)
		cfg.Elect, cfg.Sweep.Restored = provingConfig(priority).Elect, b.kept(at)
		return cfg
	}
	keysFile := func(_ *harness, _ net.End, priority uint8) manager.Config { return provingConfig(priority) }
	smKey := func(_ *harness, _ net.End, priority uint8) manager.Config {
		cfg := provingConfig(priority)
		cfg.Elect.Secret = keys.Secret{}
		return cfg
	}
	isSwitch := func(n net.Node) bool { return n.Type == mad.Switch }
	aSwitch := net.End{Node: int32(slices.IndexFunc(tree.Nodes, isSwitch))}
	for _, c := range []struct {
		name string
		net  *net.Net
		at   net.End // of the second
		cfg  func(*harness, net.End, uint8) manager.Config
	}{
		{"keys_file", tree, host(tree, 6), keysFile}, {"sm_key", tree, host(tree, 6), smKey},
		{"tenants", tree, host(tree, 6), tenants}, {"at a switch", tree, aSwitch, keysFile},
		{"at a switch, tenants", tree, aSwitch, tenants}, {"a cable", pair, host(pair, 1), keysFile},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newHarness(t, c.net, fabric.Config{Seed: 1})
			w := b.watchSMInfo()
			first := b.comeUp(c.cfg(b, firstHost(c.net), 3))
			second := b.add(c.at, c.cfg(b, c.at, 5))
			t.Cleanup(second.dump)
			b.pass(settling)
			if first.last() != smp.Standby || second.last() != smp.Master ||
				first.says("handing the mastership over") != 1 {
				t.Fatalf("handed over: %v and %v", first.states, second.states)
			}
			second.Heard = func(received []mad.Datagram) { // as ibsim, which gives requests only to ports with IsSM
				for i := range received {
					if p := &received[i].Packet; p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet {
						p.SetMethod(mad.MethodTrapRepress)
					}
				}
			}
			b.Leave(second.Manager)
			began := b.Fabric.Now()
			if !b.Run(began+elect.LeavePatience, func() bool { return first.last() == smp.Master }) {
				t.Fatalf("left: %v and %v", first.states, second.states)
			}
			b.pass(elect.LeavePatience)
			second = b.add(c.at, c.cfg(b, c.at, 1))
			b.pass(settling)
			if first.last() != smp.Master || second.last() != smp.Standby {
				t.Fatalf("back: %v and %v", first.states, second.states)
			}
			b.Kill(first.Manager)
			b.pass(settling)
			if second.last() != smp.Master {
				t.Fatalf("taken over: %v and %v", first.states, second.states)
			}
			b.mustBeWhole(second)
			if alarms := first.says("ALARM") + second.says("ALARM"); alarms > 0 {
				t.Errorf("%d alarms", alarms)
			}
			w.mustShowNothing(t)
		})
	}
}

// Managers that share the SM_Key, but not the secret of keys_file, ignore each other: whatever the rank of the one that
// comes later, the master stays master and raises an alarm.
func TestProofOfAnotherSecret(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	w := b.watchSMInfo()
	first := b.comeUp(provingConfig(3))
	other := provingConfig(9)
	other.Elect.Secret = keys.Secret{}
	second := b.add(host(n, 6), other)
	t.Cleanup(second.dump)
	b.pass(settling)
	if first.last() != smp.Master || len(first.states) != 2 || first.says("ALARM", "subnet manager") == 0 ||
		second.says("ALARM", "subnet manager") == 0 {
		t.Errorf("the first is %v, the second %v", first.states, second.states)
	}
	w.mustShowNothing(t)
}

// The cable of a standby's host is moved to another port of its switch, so fast that the standby does not notice. It
// finds out where it is when the master asks it there, and takes over when the master ends.
func TestProofMoved(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(provingConfig(3))
	second := b.add(host(n, 6), provingConfig(1))
	t.Cleanup(second.dump)
	b.pass(settling)
	here := b.Fabric.Peer(host(n, 6))
	other := host(n, 7)
	there := b.Fabric.Peer(other)
	if here.Node != there.Node {
		t.Fatal("the hosts are at two switches")
	}
	states := len(second.states)
	b.Fabric.Unplug(here)
	b.Fabric.Unplug(there)
	b.Fabric.Plug(here, other, mad.Width4x, mad.HDR)
	b.Fabric.Plug(there, host(n, 6), mad.Width4x, mad.HDR)
	b.pass(settling)
	stats := first.Core.Stats()
	if len(stats.Rivals) != 1 || len(stats.Ignored) > 0 || first.says("ALARM") > 0 || len(second.states) != states {
		t.Errorf("the master knows %+v, ignores %v; the standby is %v", stats.Rivals, stats.Ignored, second.states)
	}
	b.Kill(first.Manager)
	b.pass(settling)
	if second.last() != smp.Master {
		t.Errorf("the standby is %v", second.states)
	}
}

// answers has an intruder answer each Get(SMInfo); with false it keeps quiet.
func (i *intruder) answers(says func(asked smp.SMInfo) (smp.SMInfo, bool)) {
	i.station.SetIsSM(true)
	i.station.OnReceive(func(d mad.Datagram) {
		p := &d.Packet
		if p.AttrID() != smp.AttrSMInfo || p.Method() != mad.MethodGet {
			i.got = append(i.got, *p)
			return
		}
		info, ok := says(*p.Data())
		if !ok {
			return
		}
		i.reply(d, info)
	})
}

// reply answers a request.
func (i *intruder) reply(d mad.Datagram, info smp.SMInfo) {
	p := &d.Packet
	p.SetMethod(mad.MethodGetResp)
	if p.MgmtClass() == mad.ClassDirected {
		p.SetReturning()
	}
	*p.Data() = info
	i.station.Send([]mad.Datagram{d})
}

// relays has an intruder pass each Get(SMInfo) on to a port, and its answer back, with another GUID and state if change
// wants so.
func (i *intruder) relays(to net.End, change func(*smp.SMInfo)) {
	i.station.SetIsSM(true)
	asked, count := map[mad.TID]mad.Datagram{}, 0
	i.station.OnReceive(func(d mad.Datagram) {
		p := &d.Packet
		switch {
		case p.AttrID() != smp.AttrSMInfo:
		case p.Method() == mad.MethodGet:
			count++
			asked[mad.TID(count)] = d
			i.smInfo(to, true, mad.MethodGet, 0, *p.Data(), count)
		case p.Method() == mad.MethodGetResp:
			if back, is := asked[p.TID()]; is {
				info := *p.Data()
				if change != nil {
					change((*smp.SMInfo)(&info))
				}
				i.reply(back, info)
			}
		}
	})
}

// likes is what a liar says of itself in another's name.
func likes(guid mad.GUID, key uint64) (i smp.SMInfo) {
	i = otherSM(guid, 15, smp.Master)
	i.SetSMKey(key)
	copy(i[56:], "ibsm-yes")
	return i
}

// A host with the GUID of the standby's port, whose link is down, of the master's, or of nobody, learns no SM_Key,
// takes no mastership and keeps nobody from it, however it answers: with a guess, with what it was asked, with proofs
// that it has heard before, or with those of another manager.
func TestLiarIsStandby(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, how := range []string{"guess", "zero", "echo", "replay", "relay", "silence"} {
		for _, who := range []string{"standby", "master", "nobody"} {
			t.Run(how+" as "+who, func(t *testing.T) {
				b := newHarness(t, n, fabric.Config{Seed: 1})
				w := b.watchSMInfo()
				first := b.comeUp(provingConfig(3))
				second := b.add(host(n, 6), provingConfig(1))
				third := b.add(host(n, 9), provingConfig(0))
				t.Cleanup(third.dump)
				b.pass(settling)
				at := map[string]net.End{"standby": host(n, 6), "master": host(n, 0), "nobody": host(n, 5)}[who]
				guid := b.Fabric.PortGUID(at)
				var heard []smp.SMInfo
				for i := range w.sent {
					if p := &w.sent[i].Packet; p.IsResponse() && (*smp.SMInfo)(p.Data()).GUID() == guid {
						heard = append(heard, *p.Data())
					}
				}
				liar := b.intrude(host(n, 5))
				b.Fabric.SetLie(host(n, 5).Node, &fabric.Lie{Self: b.Fabric.ClaimOf(at.Node, 1)})
				b.answerAs(liar, how, guid, heard)
				if who == "standby" {
					b.Fabric.LinkDown(host(n, 6))
					b.Kill(second.Manager)
				}
				peer := b.Fabric.Peer(host(n, 5))
				b.Fabric.LinkDown(peer)
				b.pass(time.Second)
				b.Fabric.LinkUp(peer)
				b.pass(settling)
				liar.asks(host(n, 0), host(n, 9))
				b.pass(settling)
				if first.last() != smp.Master || len(first.states) != 2 {
					t.Fatalf("the master is %v", first.states)
				}
				if first.says("ALARM", "subnet manager") == 0 && how != "silence" && who == "standby" {
					t.Error("the master raises no alarm")
				}
				b.Kill(first.Manager)
				b.pass(2 * time.Minute)
				if third.last() != smp.Master && (who == "standby" || second.last() != smp.Master) {
					t.Errorf("nobody takes over: %v and %v", second.states, third.states)
				}
				w.mustShowNothing(t)
			})
		}
	}
}

// answerAs has a liar answer in one of the ways of TestLiarIsStandby.
func (b *harness) answerAs(liar *intruder, how string, guid mad.GUID, heard []smp.SMInfo) {
	turn := 0
	switch how {
	case "guess":
		liar.answers(func(smp.SMInfo) (smp.SMInfo, bool) { return likes(guid, elect.DefaultSMKey), true })
	case "zero":
		liar.answers(func(smp.SMInfo) (smp.SMInfo, bool) { return likes(guid, 0), true })
	case "echo":
		liar.answers(func(asked smp.SMInfo) (smp.SMInfo, bool) {
			says := likes(guid, 0)
			copy(says[24:56], asked[24:56])
			return says, true
		})
	case "replay":
		liar.answers(func(smp.SMInfo) (smp.SMInfo, bool) {
			if len(heard) == 0 {
				return smp.SMInfo{}, false
			}
			turn++
			return heard[turn%len(heard)], true
		})
	case "relay":
		liar.relays(host(b.net, 9), func(i *smp.SMInfo) { i.SetGUID(guid) })
	case "silence":
		liar.answers(func(smp.SMInfo) (smp.SMInfo, bool) { return smp.SMInfo{}, false })
	}
}

// asks asks managers for their SMInfo as OpenSM and Debian's sminfo do.
func (i *intruder) asks(managers ...net.End) {
	for k, at := range managers {
		for _, directed := range []bool{false, true} {
			i.smInfo(at, directed, mad.MethodGet, 0, smp.SMInfo{}, 1000+k)
			i.harness.pass(5 * time.Second)
			info := likes(i.guid(), 0)
			i.smInfo(at, directed, mad.MethodSet, smp.ControlHandover, info, 2000+k)
			i.harness.pass(5 * time.Second)
		}
	}
}

// A host that says that it is the node of a manager which starts, and passes its Question on to a standby, gets a proof
// for no place but that of the standby: the manager becomes master all the same. It would not if proofs were for any
// place.
func TestLiarRelays(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	w := b.watchSMInfo()
	at := firstHost(n)
	first := b.comeUp(provingConfig(3))
	standby := b.add(host(n, 9), provingConfig(1))
	b.pass(settling)
	liar := b.intrude(host(n, 5))
	b.Fabric.SetLie(host(n, 5).Node, &fabric.Lie{Self: b.Fabric.ClaimOf(at.Node, 1)})
	liar.relays(host(n, 9), nil)
	b.Kill(first.Manager)
	m := b.add(at, provingConfig(3))
	t.Cleanup(m.dump)
	b.pass(2 * time.Second)
	if m.last() != smp.Master || m.says("ALARM", "subnet manager") == 0 {
		t.Errorf("it is %v, with %d alarms", m.states, m.says("ALARM"))
	}
	if b.pass(settling); standby.last() != smp.Standby {
		t.Errorf("the standby is %v", standby.states)
	}
	w.mustShowNothing(t)
}

// A HANDOVER that was heard earlier, and is sent again from elsewhere, changes nothing: the manager that it names says
// that it is MASTER, and one that answers in its name elsewhere proves nothing.
func TestLiarRepeatsHandover(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, relays := range []bool{false, true} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		w := b.watchSMInfo()
		at := firstHost(n)
		first := b.comeUp(provingConfig(3))
		second := b.add(host(n, 6), provingConfig(5))
		b.pass(settling)
		handover := slices.IndexFunc(w.sent, func(d mad.Datagram) bool {
			return d.Packet.Method() == mad.MethodSet && d.Packet.AttrMod() == smp.ControlHandover
		})
		if handover < 0 || w.from[handover] != first.Manager || second.last() != smp.Master {
			t.Fatalf("no HANDOVER: %v and %v", first.states, second.states)
		}
		b.Kill(second.Manager)
		b.pass(settling)
		second = b.add(host(n, 6), provingConfig(1))
		t.Cleanup(second.dump)
		b.pass(settling)
		if first.last() != smp.Master || second.last() != smp.Standby {
			t.Fatalf("%v and %v", first.states, second.states)
		}
		liar := b.intrude(host(n, 5))
		b.Fabric.SetLie(host(n, 5).Node, &fabric.Lie{Self: b.Fabric.ClaimOf(at.Node, 1)})
		if relays {
			liar.relays(at, nil)
		} else {
			liar.answers(func(smp.SMInfo) (smp.SMInfo, bool) {
				says := likes(b.Fabric.PortGUID(at), 0)
				says.SetSMState(smp.Standby)
				return says, true
			})
		}
		states := len(second.states)
		for k := range 20 {
			liar.smInfo(host(n, 6), true, mad.MethodSet, smp.ControlHandover, *w.sent[handover].Packet.Data(), 100+k)
			b.pass(time.Second)
		}
		if len(second.states) != states || first.last() != smp.Master ||
			second.alarms(manager.AlarmControl) == 0 {
			t.Errorf("the standby is %v, with %d alarms", second.states, second.alarms(manager.AlarmControl))
		}
		w.mustShowNothing(t)
	}
}

// A manager of another kind that shows the SM_Key, as OpenSM does, is shown it when it asks, whether this manager is
// master or standby; it is handed the mastership, and gives it back. The SM_Key goes to no other port.
func TestProofBesideOpenSM(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	w := b.watchSMInfo()
	first := b.comeUp(provingConfig(3))
	other := b.intrude(host(n, 5))
	says := otherSM(other.guid(), 1, smp.Standby)
	says.SetSMKey(subnetSecret.SMKey())
	other.answers(func(smp.SMInfo) (smp.SMInfo, bool) { return says, true })
	asks := func() (key uint64) {
		other.got = nil
		other.smInfo(host(n, 0), true, mad.MethodGet, 0, smp.SMInfo{}, 77)
		b.pass(5 * time.Millisecond)
		for _, p := range other.got {
			if p.Method() == mad.MethodGetResp && p.TID() == 77 {
				return (*smp.SMInfo)(p.Data()).SMKey()
			}
		}
		t.Fatal("no answer")
		return 0
	}
	if got := asks(); got != subnetSecret.SMKey() {
		t.Errorf("the other is shown %#x", got)
	}
	quiet := b.intrude(host(n, 7))
	quiet.smInfo(host(n, 0), true, mad.MethodGet, 0, smp.SMInfo{}, 78)
	b.pass(settling)
	asked, answered := 0, 0
	for _, p := range quiet.got {
		if p.Method() == mad.MethodGet {
			asked++
		} else if (*smp.SMInfo)(p.Data()).SMKey() == 0 {
			answered++
		}
	}
	if asked == 0 || answered != 1 {
		t.Errorf("a port without a manager was asked %d times and answered %d times: %x", asked, answered, quiet.got)
	}
	says.SetPriority(9)
	b.pass(settling)
	if first.last() != smp.Standby || first.says("handing the mastership over") != 1 {
		t.Fatalf("%v", first.states)
	}
	says.SetSMState(smp.Master)
	b.pass(settling)
	if got := asks(); got != subnetSecret.SMKey() {
		t.Errorf("as standby, the other is shown %#x", got)
	}
	says.SetSMKey(0x5ec)
	if got := asks(); got != 0 {
		t.Errorf("with another SM_Key, the other is shown %#x", got)
	}
	b.pass(settling)
	if first.last() != smp.Master || first.says("ALARM", "subnet manager") == 0 {
		t.Errorf("beside a master with another SM_Key: %v", first.states)
	}
	for i := range w.sent {
		p := &w.sent[i].Packet
		if (*smp.SMInfo)(p.Data()).SMKey() != 0 && !p.IsResponse() && p.Method() != mad.MethodSet {
			t.Errorf("a question shows the SM_Key")
		}
	}
	if delete(w.shown, "sm_key"); len(w.shown) > 0 {
		t.Errorf("shown: %v", w.shown)
	}
}
