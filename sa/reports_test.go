package sa

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/view"
)

// reported takes the Reports that were sent, answers them, and names what they say.
func (d *harness) reported() (list []string) {
	d.Helper()
	for len(d.sent) > 0 {
		sent := d.sent
		d.sent = nil
		for i := range sent {
			out := &sent[i]
			p := &out.Packet
			if p.Method() != mad.MethodReport {
				d.Fatalf("sent: %v", p.Method())
			}
			n := (*sarec.Notice)(p.SAData()[:])
			s := n.Notice()
			text := d.name(out.LID) + " " + trapText(s)
			if s.TrapNumber() <= smp.TrapRepath {
				text += " " + s.Address().GID().String()
				if s.ProducerType() != smp.ProducerClassManager || s.Type() != smp.NoticeSubnetManagement ||
					!s.IsGeneric() ||
					s.IssuerLID() != 1 || n.IssuerGID() != mad.MakeGID(mad.DefaultPrefix, h1) {
					d.Errorf("%s: %x", text, n)
				}
			}
			list = append(list, text)
			p.SetMethod(mad.MethodReportResp)
			d.step(Received{Datagrams: []mad.Datagram{*out}})
		}
	}
	return list
}

func trapText(n *smp.Notice) string {
	return map[smp.TrapNumber]string{64: "in", 65: "out", 66: "created", 67: "deleted", 128: "128", 257: "257",
		129: "129"}[n.TrapNumber()]
}

func (d *harness) name(lid mad.LID) string {
	for guid, at := range lidsOfOpenSM {
		if at == lid {
			return map[mad.GUID]string{h1: "h1", h2: "h2", h3: "h3", h4: "h4"}[guid]
		}
	}
	return "?"
}

func (d *harness) expect(what string, want ...string) {
	d.Helper()
	got := d.reported()
	if len(got) != len(want) {
		d.Errorf("%s: %q, want %q", what, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			d.Errorf("%s: %q, want %q", what, got, want)
			return
		}
	}
}

func (d *harness) subscribe(from mad.GUID) {
	d.Helper()
	if p := d.inform(from, everything(1), false); p.Status() != mad.StatusOK {
		d.Fatalf("subscribe: %v", p.Status())
	}
}

// Groups are reported to subscribers in their partition, when the first full member comes and
// when the last goes.
func TestGroupReports(t *testing.T) {
	d := newHarness(t)
	d.subscribe(h2)
	d.subscribe(h4)
	d.joined(h1, broadcast)
	d.expect("first member", "h2 created "+broadcast.String(), "h4 created "+broadcast.String())
	d.joined(h3, broadcast)
	d.expect("second member")
	j := newJoining(h3, ownGroup, 1)
	j.rec.SetPKey(0x8001)
	if _, st := d.member(mad.MethodSet, j); st != mad.StatusOK {
		t.Fatal(st)
	}
	d.expect("group of partition 1", "h2 created "+ownGroup.String())
	if _, st := d.member(mad.MethodDelete, j); st != mad.StatusOK {
		t.Fatal(st)
	}
	d.expect("its end", "h2 deleted "+ownGroup.String())
	d.step(PortsReset{Ports: []mad.GUID{h1}})
	d.expect("one member reset")
	d.step(PortsReset{Ports: []mad.GUID{h3}})
	d.expect("the other reset", "h2 deleted "+broadcast.String(), "h4 deleted "+broadcast.String())
	if _, is := d.State().Group(broadcast); !is {
		t.Error("the well-known group has gone")
	}
}

// without is the view without some ports.
func without(v *view.View, gone ...mad.GUID) *view.View {
	w, t := *v, *v.Topo
	w.Topo = &t
	t.EndPorts = nil
	for _, p := range v.Topo.EndPorts {
		keep := true
		for _, g := range gone {
			keep = keep && v.Topo.Ports[p].GUID != g
		}
		if keep {
			t.EndPorts = append(t.EndPorts, p)
		}
	}
	return &w
}

// Ports that go and come are reported to those they may talk to.
func TestPortReports(t *testing.T) {
	d := newHarness(t)
	d.subscribe(h2)
	d.subscribe(h3)
	four := mad.MakeGID(mad.DefaultPrefix, h4).String()
	d.step(ViewPublished{without(d.view, h4)})
	d.expect("H4 goes", "h3 out "+four)
	d.step(ViewPublished{d.view})
	d.expect("H4 comes", "h3 in "+four)
	again := *d.view
	d.step(ViewPublished{&again})
	d.expect("the same again")
	d.step(ViewWithdrawn{})
	d.step(ViewPublished{without(d.view, h4)})
	d.expect("another term")
}

// A trap is reported to those who may talk to its issuer.
func TestForwardedTraps(t *testing.T) {
	d := newHarness(t)
	d.subscribe(h2)
	d.subscribe(h3)
	trap := smp.Notice{}
	trap.SetIsGeneric(true)
	trap.SetProducerType(smp.ProducerSwitch)
	trap.SetTrapNumber(smp.TrapLinkState)
	trap.SetIssuerLID(2)
	d.step(TrapReceived{trap})
	d.expect("128 of a switch", "h3 128")
	trap.SetTrapNumber(smp.TrapLinkIntegrity)
	trap.SetIssuerLID(4)
	d.step(TrapReceived{trap})
	d.expect("129 of H2", "h2 129", "h3 129")
	trap.SetIssuerLID(99)
	d.step(TrapReceived{trap})
	d.expect("129 of nobody")
	if st := d.Stats(); st.NoticesDropped != 1 || st.Notices != 2 || st.Reports != 3 {
		t.Errorf("%+v", st)
	}
}

// A subscriber that does not answer is tried four times; what waits for it then is
// dropped, but not what it has asked for. Others do not wait for it.
func TestDeadSubscriber(t *testing.T) {
	d := newHarness(t)
	d.subscribe(h2)
	d.subscribe(h3)
	one, three := gid("ff15000000000000000000000000000a"), gid("ff15000000000000000000000000000b")
	d.joined(h3, one)
	d.joined(h3, three)
	count := map[mad.LID]int{}
	for range 20 {
		sent := d.sent
		d.sent = nil
		for _, out := range sent {
			count[out.LID]++
			if out.LID == 5 {
				out.Packet.SetMethod(mad.MethodReportResp)
				d.step(Received{Datagrams: []mad.Datagram{out}})
			}
		}
		d.wait(100 * time.Millisecond)
	}
	if count[4] != 4 || count[5] != 2 {
		t.Errorf("%d packets to the dead one, %d to the other", count[4], count[5])
	}
	if st := d.Stats(); st.Unanswered != 2 || st.Waiting != 0 || d.State().Counts().Subscriptions != 2 {
		t.Errorf("%+v, %+v", st, d.State().Counts())
	}
}

// Subscribers that do not answer, however many, delay those that do only by the first event,
// and are still sent each Report.
func TestUnresponsiveSubscribers(t *testing.T) {
	const unresponsive = 31
	d := newHarness(t)
	d.subscribe(h3)
	for sub := range d.State().SubscriptionsOf(gidOf(h3)) {
		for i := range unresponsive { // aliases of H2, which come before H3
			alias := registry.PutAlias{
				Alias: registry.Alias{Slot: registry.Slot{Port: h2, Index: uint8(1 + i)}, GUID: mad.GUID(0x1000 + i)},
			}
			sub.Subscriber, sub.QPN = mad.MakeGID(mad.DefaultPrefix, alias.GUID), uint32(100+i)
			sub.Addr.LID, sub.Addr.QPN = 4, sub.QPN
			if !d.apply(alias, registry.PutSubscription{Subscription: sub}) {
				t.Fatal("the registry refuses a subscription")
			}
		}
	}
	for event := range 3 {
		d.joined(h1, gid(fmt.Sprintf("ff1500000000000000000000000000%02x", event)))
		began, first := d.at, map[uint32]time.Duration{}
		for d.at < began+10*time.Second {
			sent := d.sent
			d.sent = nil
			for _, out := range sent {
				if _, again := first[out.QPN]; !again {
					first[out.QPN] = d.at - began
				}
				if out.LID == 5 {
					out.Packet.SetMethod(mad.MethodReportResp)
					d.step(Received{Datagrams: []mad.Datagram{out}})
				}
			}
			d.wait(50 * time.Millisecond)
		}
		if after, most := first[1], time.Duration(0); event > 0 && after > most || after > time.Second {
			t.Errorf("event %d: sent after %v to the one that answers, want %v", event, after, most)
		}
		if len(first) != unresponsive+1 {
			t.Errorf("event %d: sent to %d, want %d", event, len(first), unresponsive+1)
		}
	}
	if st := d.Stats(); st.Waiting != 0 || st.Unanswered != 3*unresponsive {
		t.Errorf("%+v", st)
	}
}

// A Report goes where the subscriber is now.
func TestMovedSubscriber(t *testing.T) {
	d := newHarness(t)
	d.subscribe(h2)
	v := *d.view
	base := append([]mad.LID{}, v.LIDs.Base...)
	base[v.Topo.FindPort(h2)] = 40
	v.LIDs = topo.NewLIDs(base, make([]uint8, len(base)))
	d.step(ViewPublished{&v})
	d.joined(h3, gid("ff15000000000000000000000000000a"))
	if len(d.sent) != 1 || d.sent[0].LID != 40 || d.sent[0].QPN != 1 {
		t.Errorf("sent %+v", d.sent)
	}
}

// A Report goes by the P_Key that the InformInfo came by, wherever our port's table has that
// now, and by the default partition when it is gone; it has a GRH if the InformInfo had one.
func TestReportAddress(t *testing.T) {
	d := newHarness(t)
	table := func(keys ...mad.PKey) {
		v, tp := *d.view, *d.view.Topo
		v.Topo, tp.Ports = &tp, slices.Clone(tp.Ports)
		tp.Ports[tp.Self].PKeys = topo.NewPKeyTable(keys)
		d.view = &v
		d.step(ViewPublished{&v})
		d.sent = nil
	}
	grh := mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, h2), FlowLabel: 0x12345, TrafficClass: 3,
		HopLimit: 255, GIDIndex: 2}
	table(0x7fff, 0x8001, 0xffff)
	info := everything(1)
	in := d.request(h2, mad.MethodSet, sarec.AttrInformInfo, 0, info[:])
	in.PKeyIndex, in.GRH = 1, grh
	if p := d.ask(in); p.Status() != mad.StatusOK {
		t.Fatalf("subscribe: %v", p.Status())
	}
	for sub := range d.State().SubscriptionsOf(gidOf(h2)) {
		if want := grh; sub.PKey != 0x8001 || sub.Addr.PKeyIndex != 0 || sub.Addr.GRH.FlowLabel != want.FlowLabel ||
			sub.Addr.GRH.GIDIndex != 0 {
			t.Errorf("stored: %+v", sub.Destination)
		}
	}
	grh.GIDIndex = 0 // our port's own GID
	for i, c := range []struct {
		keys  []mad.PKey
		index uint16
	}{
		{[]mad.PKey{0x7fff, 0x8001, 0xffff}, 1},
		{[]mad.PKey{0x7fff, 0x0001, 0xffff, 0x8001}, 3}, // as a full member
		{[]mad.PKey{0x7fff, 0, 0xffff, 0x0001}, 3},      // as a limited one
		{[]mad.PKey{0, 0x8002, 0x7fff}, 2},              // in the default partition
		{[]mad.PKey{0x8002}, 0},
		{nil, 0},
	} {
		table(c.keys...)
		d.joined(h3, gid(fmt.Sprintf("ff1500000000000000000000000000%02x", i)))
		if len(d.sent) != 1 || d.sent[0].PKeyIndex != c.index || d.sent[0].GRH != grh {
			t.Errorf("with %v: sent %+v, want index %d", c.keys, d.sent, c.index)
		}
		d.reported()
	}
}

// Ports that are gone have their grace; then what they had registered goes. What was
// registered before this manager began has it, too.
func TestAbsence(t *testing.T) {
	d := newHarness(t)
	d.subscribe(h2)
	d.joined(h2, broadcast)
	d.joined(h3, broadcast)
	rec := service(7, mad.MakeGID(mad.DefaultPrefix, h2))
	if p := d.ask(d.request(h2, mad.MethodSet, sarec.AttrServiceRecord, serviceComps,
		rec[:])); p.Status() != mad.StatusOK {
		t.Fatal(p.Status())
	}
	d.reported()
	want := func(what string, members, subscriptions, services int) {
		t.Helper()
		if c := d.State().Counts(); c.Members != members || c.Subscriptions != subscriptions || c.Services != services {
			t.Errorf("%s: %+v", what, c)
		}
	}
	d.step(ViewPublished{without(d.view, h2)})
	d.wait(4 * time.Minute)
	d.step(ViewPublished{d.view})
	d.wait(10 * time.Minute)
	want("back in time", 2, 1, 1)
	d.step(ViewPublished{without(d.view, h2)})
	d.wait(5*time.Minute - 1)
	want("almost too late", 2, 1, 1)
	d.wait(1)
	want("too late", 1, 0, 0)

	reg := registry.New()
	for c := range d.State().Changes() {
		if err := reg.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	d.Registrar = NewRegistrar(RegistrarConfig{Groups: d.cfg.Groups, Began: 1_000_000}, reg, new(Stats))
	d.at = 0
	d.step(ViewPublished{without(d.view, h3)})
	want("begun again", 1, 0, 0)
	d.wait(5 * time.Minute)
	want("begun again, and never there", 0, 0, 0)
}

// Ports that are found in INIT before there is a View lose what they had registered when
// there is one, if this manager still becomes master then.
func TestResetBeforeView(t *testing.T) {
	for _, c := range []struct {
		name    string
		events  []Event
		members int
	}{
		{"as master", []Event{PortsReset{Ports: []mad.GUID{h2}}, PortsReset{Ports: []mad.GUID{h2}}}, 1},
		{"deposed again", []Event{PortsReset{Ports: []mad.GUID{h2}}, ViewWithdrawn{}}, 2},
	} {
		d := newHarness(t)
		d.joined(h2, broadcast)
		d.joined(h3, broadcast)
		d.step(ViewWithdrawn{})
		for _, ev := range c.events {
			d.step(ev)
		}
		d.step(ViewPublished{d.view})
		if n := d.State().Counts().Members; n != c.members {
			t.Errorf("%s: %d members, want %d", c.name, n, c.members)
		}
	}
}

// A service goes with its port, whichever of the subnet's prefixes its GID has.
func TestResetOfServices(t *testing.T) {
	for _, prefix := range []mad.Prefix{mad.DefaultPrefix, sitePrefix} {
		d := newSiteHarness(t)
		rec := service(7, mad.MakeGID(prefix, h2))
		if p := d.ask(d.request(h2, mad.MethodSet, sarec.AttrServiceRecord, serviceComps,
			rec[:])); p.Status() != mad.StatusOK {
			t.Fatal(p.Status())
		}
		d.step(PortsReset{Ports: []mad.GUID{h2}})
		if n := d.State().Counts().Services; n != 0 {
			t.Errorf("prefix 0x%x: %d services are left", uint64(prefix), n)
		}
	}
}

// A filter that names an issuer by the prefix that ports power up with is about it also
// where the subnet has another. Beside a GID, LIDs do not count.
func TestReportsByGID(t *testing.T) {
	d := newSiteHarness(t)
	info := everything(1)
	info.SetGID(mad.MakeGID(mad.DefaultPrefix, h2))
	if p := d.inform(h3, info, false); p.Status() != mad.StatusOK {
		t.Fatal(p.Status())
	}
	trap := smp.Notice{}
	trap.SetIsGeneric(true)
	trap.SetTrapNumber(smp.TrapLinkIntegrity)
	for lid := range mad.LID(6) {
		trap.SetIssuerLID(lid + 1)
		d.step(TrapReceived{trap})
	}
	d.expect("129 of all", "h3 129")
	info.SetSubscribe(0)
	info.SetQPN(1)
	info.SetLIDRangeBegin(1)
	info.SetGID(mad.MakeGID(sitePrefix, h2))
	if p := d.inform(h3, info, false); p.Status() != mad.StatusOK {
		t.Errorf("end: %v", p.Status())
	}
}

// A subscriber to all traps gets no traps about keys: that takes trust.
func TestSecurityTraps(t *testing.T) {
	d := newHarness(t)
	d.subscribe(h3)
	info := everything(1)
	info.SetTrapNumber(257)
	if p := d.inform(h1, info, true); p.Status() != mad.StatusOK {
		t.Fatal(p.Status())
	}
	trap := smp.Notice{}
	trap.SetIsGeneric(true)
	trap.SetTrapNumber(smp.TrapBadPKey)
	trap.SetIssuerLID(4)
	d.step(TrapReceived{trap})
	d.expect("257 of H2", "h1 257")
}
