package sa

import (
	"encoding/binary"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// A port that registers services at another's GID fills its own share and not the other's,
// however its services end; a port that is known by two GIDs has one share.
func TestSharesOfServices(t *testing.T) {
	d := newHarness(t)
	set := func(from mad.GUID, id uint64, at mad.GUID, lease uint32) mad.Status {
		t.Helper()
		rec := service(id, mad.MakeGID(mad.DefaultPrefix, at))
		rec.SetServiceLease(lease)
		rec.SetServiceKey([16]byte{})
		return d.ask(d.request(from, mad.MethodSet, sarec.AttrServiceRecord, serviceComps|sarec.ServiceServiceLease,
			rec[:])).Status()
	}
	const never = 0xffffffff
	for i := range uint64(maxPortServices) {
		lease := uint32(never)
		if i%2 == 1 {
			lease = 60
		}
		if st := set(h3, i, []mad.GUID{h2, h3, 0x999}[i%3], lease); st != mad.StatusOK {
			t.Fatalf("service %d: %v", i, st)
		}
	}
	for _, c := range []struct {
		what   string
		from   mad.GUID
		id     uint64
		at     mad.GUID
		status mad.Status
	}{
		{"one more of the same client, at the other", h3, 1 << 20, h2, mad.StatusNoResources},
		{"one more of the same client, at itself", h3, 1 << 20, h3, mad.StatusNoResources},
		{"renewed", h3, 0, h2, mad.StatusOK},
		{"the other's own", h2, 1 << 21, h2, mad.StatusOK},
		{"the other takes over what is at it", h2, 0, h2, mad.StatusOK},
		{"which makes room", h3, 1 << 20, h2, mad.StatusOK},
		{"for one", h3, 1 << 22, h2, mad.StatusNoResources},
		{"and what is the other's is not taken back", h3, 0, h2, mad.StatusNoResources},
	} {
		if st := set(c.from, c.id, c.at, never); st != c.status {
			t.Errorf("%s: %v, want %v", c.what, st, c.status)
		}
	}
	d.wait(2 * time.Minute) // half of them end
	for i := range uint64(maxPortServices / 2) {
		if st := set(h3, 1<<23+i, h2, never); st != mad.StatusOK {
			t.Fatalf("service %d in place of one that has ended: %v", i, st)
		}
	}
	if st := set(h3, 1<<24, h2, never); st != mad.StatusNoResources {
		t.Errorf("one more than that: %v", st)
	}
	rec := service(1<<23, mad.MakeGID(mad.DefaultPrefix, h2))
	rec.SetServiceKey([16]byte{})
	if st := d.ask(d.request(h2, mad.MethodDelete, sarec.AttrServiceRecord, 0, rec[:])).Status(); st != mad.StatusOK {
		t.Fatal(st)
	}
	if st := set(h3, 1<<24, h2, never); st != mad.StatusOK {
		t.Errorf("in place of one that the other deleted: %v", st)
	}
}

// A port that joins another to groups fills its own share and not the other's.
func TestSharesOfMembers(t *testing.T) {
	d := newHarness(t)
	join := func(from, port mad.GUID, n uint32) mad.Status {
		t.Helper()
		j := newJoining(from, mad.GID{0xff, 0x12, 0x40, 0x01}, 1)
		binary.BigEndian.PutUint32(j.rec[12:], n)
		j.rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, port))
		_, st := d.member(mad.MethodSet, j)
		return st
	}
	for _, n := range d.view.Topo.Switches {
		d.view.Topo.Nodes[n].SwitchInfo.SetMulticastFDBCap(0x3fff)
	}
	v := *d.view
	topo := *v.Topo
	v.Topo = &topo
	d.view = &v
	d.step(ViewPublished{&v})
	for n := range uint32(maxPortMembers) {
		if st := join(h3, h2, n); st != mad.StatusOK {
			t.Fatalf("group %d: %v", n, st)
		}
	}
	for _, c := range []struct {
		what       string
		from, port mad.GUID
		n          uint32
		status     mad.Status
	}{
		{"one more by proxy", h3, h2, 1 << 20, mad.StatusNoResources},
		{"again what it is in", h3, h2, 0, mad.StatusOK},
		{"the other by itself", h2, h2, 1 << 20, mad.StatusOK},
		{"the one that joined the other, by itself", h3, h3, 1 << 21, mad.StatusOK},
	} {
		if st := join(c.from, c.port, c.n); st != c.status {
			t.Errorf("%s: %v, want %v", c.what, st, c.status)
		}
	}
	j := newJoining(h3, mad.GID{0xff, 0x12, 0x40, 0x01}, 1)
	j.rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, h2))
	if _, st := d.member(mad.MethodDelete, j); st != mad.StatusOK {
		t.Fatal(st)
	}
	if st := join(h3, h2, 1<<22); st != mad.StatusOK {
		t.Errorf("by proxy in place of one that was left: %v", st)
	}
}
