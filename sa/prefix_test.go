package sa

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
)

// withPrefix publishes the view of a subnet whose prefix has changed.
func (d *harness) withPrefix(p mad.Prefix) {
	v := *d.view
	v.Subnet.Prefix = p
	d.view = &v
	d.step(ViewPublished{&v})
}

// registersAll has h1 subscribe, h2 join a group, and h3 register a service.
func (d *harness) registersAll() (group mad.GID) {
	d.Helper()
	d.subscribe(h1)
	group = mad.GID{0: 0xff, 1: 0x12, 15: 9}
	d.joined(h2, group)
	var rec sarec.ServiceRecord
	rec.SetServiceID(7)
	rec.SetServiceGID(mad.MakeGID(d.view.Subnet.Prefix, h3))
	rec.SetServicePKey(0xffff)
	rec.SetServiceLease(registry.InfiniteLease)
	if p := d.ask(d.request(h3, mad.MethodSet, sarec.AttrServiceRecord, serviceComps|sarec.ServiceServiceLease,
		rec[:])); p.Status() != mad.StatusOK {
		d.Fatal(p.Status())
	}
	d.reported()
	return group
}

// expectPrefix fails the test unless everything that registersAll has registered has the prefix, once.
func (d *harness) expectPrefix(when string, group mad.GID, p mad.Prefix) {
	d.Helper()
	n := 0
	for g := range d.reg.Groups() {
		for m := range d.reg.Members(g.MGID) {
			if n++; m.Port != mad.MakeGID(p, h2) || m.MGID != group {
				d.Errorf("%s: member %+v", when, m)
			}
		}
	}
	for sub := range d.reg.Subscriptions() {
		if n++; sub.Subscriber != mad.MakeGID(p, h1) {
			d.Errorf("%s: subscriber %v", when, sub.Subscriber)
		}
	}
	for v := range d.reg.Services() {
		if n++; v.GID != mad.MakeGID(p, h3) {
			d.Errorf("%s: service at %v", when, v.GID)
		}
	}
	if n != 3 {
		d.Errorf("%s: %d registrations", when, n)
	}
	if again := newTally(&d.reg.State); again.members[mad.MakeGID(p, h2)] != d.tally.members[mad.MakeGID(p, h2)] ||
		len(again.members) != len(d.tally.members) {
		d.Errorf("%s: members are counted as %v, want %v", when, d.tally.members, again.members)
	}
	if reports := d.reported(); len(reports) > 0 { // the group has existed all the time, and no port came or went
		d.Errorf("%s: subscribers get %q", when, reports)
	}
}

// TestSubnetPrefixChanges: registrations follow the prefix of the subnet, while the manager runs, after a restart, and
// those of a master that had another one. The changes lead there from the store's, and clients go on under their new
// GIDs.
func TestSubnetPrefixChanges(t *testing.T) {
	const other mad.Prefix = 0xfec0000000000008
	d := newHarness(t)
	group := d.registersAll()
	d.expectPrefix("at first", group, mad.DefaultPrefix)
	d.withPrefix(sitePrefix)
	d.expectPrefix("another prefix", group, sitePrefix)
	d.withPrefix(other)
	d.expectPrefix("one more", group, other)
	stored := registry.New()
	for _, c := range d.saved {
		if err := stored.Apply(c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	v := *d.view
	v.Subnet.Prefix = mad.DefaultPrefix
	d.view = &v
	d.Registrar = NewRegistrar(RegistrarConfig{Groups: d.cfg.Groups, Began: 1_000_000}, stored, new(Stats))
	d.step(ViewPublished{&v})
	d.expectPrefix("after a restart with the first one", group, mad.DefaultPrefix)
	if _, st := d.member(mad.MethodDelete, newJoining(h2, group, 1)); st != mad.StatusOK {
		t.Errorf("the member cannot leave: %v", st)
	}
}

// TestServiceOfDefaultPrefix: a service whose client has given the default prefix keeps it in a subnet that has had
// another prefix since before.
func TestServiceOfDefaultPrefix(t *testing.T) {
	d := newSiteHarness(t)
	d.subscribe(h1)
	key := registry.ServiceKey{ID: 7, GID: mad.MakeGID(mad.DefaultPrefix, h3), PKey: 0xffff}
	d.apply(registry.PutService{Service: registry.Service{ServiceKey: key, Lease: registry.InfiniteLease}})
	d.Registrar = NewRegistrar(RegistrarConfig{Groups: d.cfg.Groups, Began: 1_000_000}, d.reg, new(Stats))
	d.step(ViewPublished{d.view})
	if _, is := d.reg.Service(key); !is {
		t.Error("the service has another GID")
	}
}
