package sa

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
)

// With disable_multicast there are no groups, and the response to a query says that this SA has
// none; members of one are asked to register again, to learn of it. OpenSM 3.3.23 takes the
// claim out of its ClassPortInfo, but grants joins that no table carries.
func TestMulticastDisabled(t *testing.T) {
	d := newHarness(t)
	if st := d.ipoib(h1, ipv4Group); st != mad.StatusOK {
		t.Fatal(st)
	}
	with := d.view
	without := *d.view
	without.Subnet.NoMulticast = true
	d.view = &without
	if asked := d.Step(d.at, ViewPublished{&without}).Reregister; !slices.Equal(asked, []mad.GUID{h1}) {
		t.Errorf("%v are asked to register again, want h1", asked)
	}
	if n := d.State().Counts(); n.Groups+n.Members > 0 {
		t.Errorf("there are %d groups with %d members", n.Groups, n.Members)
	}
	if st := d.ipoib(h1, broadcast); st != mad.StatusBadMethodAttr {
		t.Errorf("join: %v", st)
	}
	if _, st := d.member(mad.MethodDelete, newJoining(h1, broadcast, 1)); st != mad.StatusBadMethodAttr {
		t.Errorf("leave: %v", st)
	}
	a := New(&without, d.State())
	if st := ask(t, a, get(sarec.AttrMCMemberRecord, 0, nil)).Status(); st != mad.StatusBadMethodAttr {
		t.Errorf("Get: %v", st)
	}
	claims := func(a *Responder) bool {
		info := (*sarec.ClassPortInfo)(ask(t, a, get(sarec.AttrClassPortInfo, 0, nil)).SAData()[:72])
		return info.CapabilityMask()&sarec.IsUDMulticastSupported != 0
	}
	if claims(a) || !claims(New(with, d.State())) {
		t.Error("ClassPortInfo says that there is multicast where there is none, or the other way round")
	}
	d.view = with
	d.step(ViewPublished{with})
	d.step(Durable{d.reg.Seq()})
	d.step(Forwarded{d.reg.Seq()})
	if st := d.ipoib(h1, ipv4Group); st != mad.StatusOK {
		t.Errorf("join when there is multicast again: %v", st)
	}
}

// With drop_event_subscriptions those of a port that goes are forgotten at once, as by OpenSM;
// without they, and all else, stay for the grace.
func TestSubscriptionsOfPortsThatGo(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		d := newHarness(t)
		cfg := d.cfg
		cfg.DropSubscriptions = dropped
		d.step(ConfigChanged{cfg})
		for _, guid := range []mad.GUID{h2, h3} {
			d.subscribe(guid)
			rec := service(1, mad.MakeGID(mad.DefaultPrefix, guid))
			if st := d.ask(d.request(guid, mad.MethodSet, sarec.AttrServiceRecord, serviceComps,
				rec[:])).Status(); st != mad.StatusOK {
				t.Fatal(st)
			}
		}
		subscriptions := func(guid mad.GUID) int {
			return len(slices.Collect(d.State().SubscriptionsOf(mad.MakeGID(mad.DefaultPrefix, guid))))
		}
		held := subscriptions(h2)
		d.step(ViewPublished{without(d.view, h2)})
		if n := subscriptions(h2); n != 0 && dropped || n != held && !dropped {
			t.Errorf("dropped %t: a port that went has %d subscriptions of %d", dropped, n, held)
		}
		if n, services := subscriptions(h3), d.State().Counts().Services; n != held || services != 2 {
			t.Errorf("dropped %t: the other has %d subscriptions of %d, and there are %d services", dropped, n, held,
				services)
		}
		d.wait(time.Hour)
		if n := subscriptions(h2) + d.State().Counts().Services; n != 1 {
			t.Errorf("dropped %t: after the grace %d are left, want the other's service", dropped, n)
		}
	}
}

// A standby configured to forget what was registered with the master does, but for groups; one
// that is master does not.
func TestForget(t *testing.T) {
	d := newHarness(t)
	d.subscribe(h2)
	rec := service(1, mad.MakeGID(mad.DefaultPrefix, h2))
	d.ask(d.request(h2, mad.MethodSet, sarec.AttrServiceRecord, serviceComps, rec[:]))
	d.joined(h3, ownGroup)
	held := d.State().Counts()
	d.step(Forget{})
	if got := d.State().Counts(); got != held {
		t.Errorf("a master that forgets has %+v of %+v", got, held)
	}
	d.step(ViewWithdrawn{})
	d.step(Forget{})
	if got, want := d.State().Counts(), (registry.Counts{Groups: held.Groups, Members: held.Members}); got != want {
		t.Errorf("%+v are left, want %+v", got, want)
	}
}
