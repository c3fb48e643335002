package main_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/fabric"
)

// TestSubscriptionsOfAbsentPorts: of a port that has gone both managers keep subscriptions, and
// with drop_event_subscriptions neither does. OpenSM shows those that it keeps when the port
// has come back; to ibsm a port that comes back is a new one.
func TestSubscriptionsOfAbsentPorts(t *testing.T) {
	for _, c := range []struct {
		line string
		want mad.Status
	}{{"", mad.StatusOK}, {"drop_event_subscriptions TRUE", mad.StatusNoRecords}} {
		t.Run(c.line, func(t *testing.T) {
			theirs, ours := equalSubnets(t, "fattree:k=4", c.line)
			for _, w := range []*testSubnet{theirs, ours} {
				w.subscribe(3)
				w.server.Do(func(f *fabric.Fabric) { f.LinkDown(w.ends[3]) })
				w.awaitPort(3, false)
				w.subscribe(0) // who keeps the registrations has learned of that before it grants this
				if w == theirs {
					w.server.Do(func(f *fabric.Fabric) { f.LinkUp(w.ends[3]) })
					w.awaitPort(3, true)
				}
				p := request(mad.MethodGet, sarec.AttrInformInfoRecord, sarec.InformSubscriberGID)
				(*sarec.InformInfoRecord)(p.SAData()[:64]).SetSubscriberGID(w.clientGIDs()[3])
				p.SetSMKey(1)
				if st := w.register(question{0, p}).Status(); st != c.want {
					t.Errorf("%s answers a query for the subscription with %v, want %v", w.manager.name, st, c.want)
				}
			}
		})
	}
}

// subscribe has a client subscribe to the news of groups.
func (w *testSubnet) subscribe(client int) {
	w.t.Helper()
	p := request(mad.MethodSet, sarec.AttrInformInfo, 0)
	info := (*sarec.InformInfo)(p.SAData()[:36])
	info.SetLIDRangeBegin(0xffff)
	info.SetIsGeneric(1)
	info.SetSubscribe(1)
	info.SetType(0xffff)
	info.SetTrapNumber(66)
	info.SetProducerType(4)
	if st := w.register(question{client, p}).Status(); st != mad.StatusOK {
		w.t.Fatalf("%s: %v", w.manager.name, st)
	}
}

// awaitPort waits until the manager knows that a client's port is there, or not.
func (w *testSubnet) awaitPort(i int, there bool) {
	w.t.Helper()
	p := request(mad.MethodGet, sarec.AttrNodeRecord, sarec.NodePortGUID)
	(*sarec.NodeRecord)(p.SAData()[:112]).SetPortGUID(w.clientGIDs()[i].GUID())
	for end := time.Now().Add(patience()); (w.register(question{0, p}).Status() == mad.StatusOK) != there; {
		if time.Now().After(end) {
			w.t.Fatalf("%s does not see that the port of client %d has come or gone", w.manager.name, i)
		}
	}
}

// TestMulticastDisabled: with disable_multicast neither manager claims to have groups, and
// neither carries what is sent to one; a join is granted by OpenSM all the same, and refused
// here.
func TestMulticastDisabled(t *testing.T) {
	theirs, ours := equalSubnets(t, "fattree:k=4", "disable_multicast TRUE")
	for _, w := range []*testSubnet{theirs, ours} {
		info := (*sarec.ClassPortInfo)(w.register(question{0, request(mad.MethodGet, sarec.AttrClassPortInfo, 0)}).SAData()[:72])
		if info.CapabilityMask()&sarec.IsUDMulticastSupported != 0 {
			t.Errorf("%s claims multicast", w.manager.name)
		}
		want := mad.StatusOK
		if w == ours {
			want = mad.StatusBadMethodAttr
		}
		for i, gid := range w.clientGIDs()[:4] {
			if st := w.register(question{i, newGroup(gid, 1)}).Status(); st != want {
				t.Errorf("%s answers a join with %v, want %v", w.manager.name, st, want)
			}
		}
		var spread fabric.Spread
		w.server.Do(func(f *fabric.Fabric) { spread = f.ProbeMulticast(w.ends[0], 0xc001, mad.DefaultPKey, 0) })
		if len(spread.Delivered) > 0 {
			t.Errorf("%s: what is sent to a group gets to %v", w.manager.name, spread.Delivered)
		}
	}
}
