package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/keys/keystest"
	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sa/mirror"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net/nettest"
)

// Secrets of the managers of these tests. No other number or text of a run has them.
const (
	secretMKey, secretSMKey, secretSAKey = 0x6d5f4b6579a1b2c3, 0x736d5f4b65d4e5f6, 0x73615f4b65978869
	secretService                        = "storage.of.the.bank"
	secretPartition                      = "tenant-of-rack-7"
)

// secretConfig is a manager with secret keys and a policy.
func secretConfig(t *testing.T, priority uint8, file string) manager.Config {
	t.Helper()
	cfg := withPolicy(t, priority, file)
	cfg.Elect.SMKey, cfg.SAKey = secretSMKey, secretSAKey
	cfg.Sweep.Settings.MKey, cfg.Sweep.Settings.MKeyProtect = sweep.Given(mad.MKey(secretMKey)), sweep.Given(uint8(2))
	cfg.Registrar.Mirror = mirror.Config{Secret: subnetSecret, SMKey: secretSMKey, MKey: secretMKey, SAKey: secretSAKey,
		Policy: []byte(file)}
	return cfg
}

// overheard are the mirror packets of a run, as they were sent, and what sent them.
type overheard struct {
	sent []mad.Datagram
	from []*sim.Manager
}

// overhear keeps what managers send each other from now on.
func (b *harness) overhear() *overheard {
	o := &overheard{}
	b.Sent = func(m *sim.Manager, batch []mad.Datagram) {
		for i := range batch {
			if batch[i].Packet.MgmtClass() == mad.ClassMirror {
				o.sent, o.from = append(o.sent, batch[i]), append(o.from, m)
			}
		}
	}
	return o
}

// texts are the data of each packet, and of the segments of each message one after the other.
func (o *overheard) texts() (all [][]byte) {
	messages := map[string][]byte{}
	for i := range o.sent {
		p := &o.sent[i].Packet
		all = append(all, p[:])
		if p.IsRMPP() && rmpp.TypeOf(p) == rmpp.TypeData {
			at := fmt.Sprintf("%v %v", o.sent[i].LID, p.TID())
			messages[at] = append(messages[at], p.SAData()[:]...)
		}
	}
	for _, m := range messages {
		all = append(all, m)
	}
	return all
}

// register has each client's port register a service.
func (b *harness) register(m *watched, clients []*client) {
	for i, c := range clients {
		pi := b.Fabric.PortInfo(c.At())
		d := mad.Datagram{Addr: mad.Addr{LID: pi.LID(), QPN: 1}}
		p := &d.Packet
		p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrServiceRecord, 0)
		p.SetTID(mad.TID(1000 + i))
		p.SetComponentMask(sarec.ServiceServiceID | sarec.ServiceServiceGID | sarec.ServiceServicePKey |
			sarec.ServiceServiceName)
		rec := (*sarec.ServiceRecord)(p.SAData()[:])
		rec.SetServiceID(uint64(77 + i))
		rec.SetServiceGID(c.gid)
		rec.SetServicePKey(mad.DefaultPKey)
		rec.SetServiceLease(0xffffffff)
		var name [64]byte
		copy(name[:], secretService)
		rec.SetServiceName(name)
		b.Deliver(m.Manager, d)
	}
	b.pass(time.Second)
}

// mustShowNothing searches what was overheard, and all logs, for the keys of managers and ports, and what was overheard
// for names of services and text of the policy.
func (b *harness) mustShowNothing(o *overheard, logs []string) {
	b.Helper()
	var search keystest.Search
	var ports []uint64
	for at := range b.Fabric.EndPorts() {
		ports = append(ports, uint64(b.Fabric.PortGUID(at)))
	}
	if err := search.AddSecret(subnetSecret, 2, ports); err != nil {
		b.Fatal(err)
	}
	search.AddKey("m_key", secretMKey)
	search.AddKey("sm_key", secretSMKey)
	search.AddKey("sa_key", secretSAKey)
	for _, line := range logs {
		if shown := search.Find([]byte(line)); shown != nil {
			b.Errorf("the log shows %v: %s", shown, line)
		}
	}
	search.AddBytes("a service", []byte(secretService))
	search.AddBytes("a partition", []byte(secretPartition))
	search.AddBytes("the policy", []byte("ALL_CAS=full"))
	shown, all := map[string]int{}, o.texts()
	for _, data := range all {
		for _, what := range search.Find(data) {
			shown[what]++
		}
	}
	for what, count := range shown {
		b.Errorf("%d of %d packets and messages of the mirror show %s", count, len(all), what)
	}
}

// perPort gives ports M_Keys of their own.
func perPort(cfg manager.Config, restored sweep.Restored) manager.Config {
	s := &cfg.Sweep.Settings
	s.MKeyLease, s.PortMKeys, s.MKeyPerPort = sweep.Given(uint16(60)), subnetSecret.Ports(2).Beside(secretMKey, 0), true
	cfg.Sweep.Restored = restored
	return cfg
}

// TestMirrorShowsNothing: a capture of every packet of the mirror has in it no key, no service and no
// text of the policy, over registrations, another policy, a takeover and a handover back.
func TestMirrorShowsNothing(t *testing.T) {
	const file, later = "Default=0x7fff: ALL=full;\n" + secretPartition + "=0x0001: ALL_CAS=full;\n",
		"Default=0x7fff: ALL=full;\n" + secretPartition + "=0x0002: ALL_CAS=full;\n"
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	o := b.overhear()
	first := b.add(host(n, 0), perPort(secretConfig(t, 5, file), b.kept(host(n, 0))))
	t.Cleanup(first.dump)
	second := b.add(host(n, 6), perPort(secretConfig(t, 3, file), b.kept(host(n, 6))))
	t.Cleanup(second.dump)
	policies := 0
	second.Mirrored = func([]byte) { policies++ }
	b.pass(settling)
	clients := b.clients(rand.New(rand.NewPCG(1, 1)), 1, 2, 3, 4)
	b.ask(clients, b.Fabric.Now()+5*time.Second, true)
	b.register(first, clients)
	b.Configure(first.Manager, perPort(secretConfig(t, 5, later), sweep.Restored{}))
	b.ask(clients, b.Fabric.Now()+5*time.Second, false)
	b.Kill(first.Manager)
	b.pass(settling)
	third := b.add(host(n, 0), perPort(secretConfig(t, 9, later), b.kept(host(n, 0))))
	t.Cleanup(third.dump)
	b.pass(2 * time.Minute)
	if first.last() != smp.Master || second.last() != smp.Standby || third.last() != smp.Master || policies < 2 {
		t.Fatalf("the first is %v, the second %v, the third %v; %d policies", first.last(), second.last(), third.last(),
			policies)
	}
	if got := third.Registrar().State().Counts(); got.Services != len(clients) || got.Members == 0 {
		t.Errorf("the third has %+v", got)
	}
	if st := second.Registrar().MirrorStats(); len(o.sent) < 500 || st.Follower.Changes == 0 {
		t.Errorf("%d packets, %+v", len(o.sent), st)
	}
	b.mustShowNothing(o, slices.Concat(first.log, second.log, third.log))
}

// replay sends a manager every packet of the mirror that was overheard, as if its sender did.
func (b *harness) replay(o *overheard, to *watched) {
	for i := range o.sent {
		if o.from[i].Station.At() == to.Station.At() {
			continue
		}
		d, pi := o.sent[i], b.Fabric.PortInfo(o.from[i].Station.At())
		d.LID = pi.LID()
		b.Deliver(to.Manager, d)
	}
}

// TestMirrorReplayed: whoever replays the mirror, after a minute and after a restart of either manager,
// changes nothing: neither what a standby has nor that it takes over with it, and nobody is asked to
// register again.
func TestMirrorReplayed(t *testing.T) {
	const file = "Default=0x7fff: ALL=full;\n" + secretPartition + "=0x0001: ALL_CAS=full;\n"
	for restarts, name := range []string{"none", "standby", "master"} {
		t.Run(name+" restarts", func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			o := b.overhear()
			disk := sim.NewDisk(time.Millisecond)
			first := b.addKept(host(n, 0), secretConfig(t, 5, file), disk)
			second := b.add(host(n, 6), secretConfig(t, 3, file))
			b.pass(settling)
			clients := b.clients(rand.New(rand.NewPCG(1, 1)), 1, 2, 3, 4)
			b.ask(clients, b.Fabric.Now()+5*time.Second, true)
			b.Sent = nil
			b.ask(clients, b.Fabric.Now()+5*time.Second, false)
			b.register(first, clients) // which is not in what is replayed
			b.pass(time.Minute)
			switch restarts {
			case 1:
				b.Kill(second.Manager)
				second = b.add(host(n, 6), secretConfig(t, 3, file))
			case 2: // before the standby notices
				b.Kill(first.Manager)
				first = b.addKept(host(n, 0), secretConfig(t, 5, file), disk)
			}
			t.Cleanup(second.dump)
			t.Cleanup(first.dump)
			if restarts > 0 {
				b.pass(20 * time.Second)
			}
			for _, c := range clients {
				c.TakeReregister()
			}
			before, opened := first.Registrar().State(), first.Registrar().MirrorStats().Source.Opened
			answers, updates := first.Registrar().MirrorStats().Source.Whole, 0
			second.Mirrored = func([]byte) { updates++ }
			for range 20 {
				b.replay(o, first)
				b.replay(o, second)
				b.pass(300 * time.Millisecond)
			}
			a, z := first.Registrar().State(), second.Registrar().State()
			if first.last() != smp.Master || a.Seq() != before.Seq() || z.Seq() != a.Seq() ||
				!slices.Equal(slices.Collect(a.Changes()), slices.Collect(z.Changes())) || updates > 0 {
				t.Errorf("the master is %v and has %d %+v, the standby %d %+v, %d policies", first.last(), a.Seq(),
					a.Counts(), z.Seq(), z.Counts(), updates)
			}
			if st := first.Registrar().MirrorStats().Source; st.Opened != opened || st.Whole != answers ||
				st.Untrusted < 100 || st.Standbys != 1 {
				t.Errorf("%+v, before %d sessions and %d whole answers", st, opened, answers)
			}
			b.mustGoOn(first, second, clients)
		})
	}
}
