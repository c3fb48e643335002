package main_test

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestPartitionSL: paths have the SL of their partition where QoS is on, and SL 0 where it is
// not, whatever the file says; an SL that is asked for is answered.
func TestPartitionSL(t *testing.T) {
	file := filepath.Join(t.TempDir(), "partitions.conf")
	text := "Default=0x7fff, ipoib : ALL=full;\nA=0x8001, sl=3, ipoib : ALL=full;\nB=0x8002, sl=5 : ALL=full;\nC=0x8003, sl=6 : ALL=limited, SELF=full;\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, qos := range []string{"TRUE", "FALSE"} {
		t.Run("qos "+qos, func(t *testing.T) {
			theirs, ours := equalSubnets(t, "fattree:k=4,levels=2", "partition_config_file "+file, "qos "+qos)
			var seen uint
			for _, key := range []mad.PKey{0, 0xffff, 0x8001, 0x0001, 0x8002, 0x8003, 0x0003, 0x8004} {
				for _, sl := range []int{-1, 0, 3, 7} {
					for _, raw := range []bool{false, true} {
						answer := func(w *testSubnet) string {
							comps := sarec.PathSGID | sarec.PathDGID | sarec.PathNumbPath
							var want sarec.PathRecord
							want.SetSGID(w.clientGIDs()[1])
							want.SetDGID(w.clientGIDs()[2])
							want.SetNumbPath(1)
							if key != 0 {
								comps |= sarec.PathPKey
								want.SetPKey(key)
							}
							if sl >= 0 {
								comps |= sarec.PathSL
								want.SetSL(uint8(sl))
							}
							if raw {
								comps |= sarec.PathRawTraffic
								want.SetRawTraffic(true)
							}
							p := request(mad.MethodGet, sarec.AttrPathRecord, comps)
							*(*sarec.PathRecord)(p.SAData()[:64]) = want
							reply := w.register(question{1, p})
							rec := (*sarec.PathRecord)(reply.SAData()[:64])
							if reply.Status() == mad.StatusOK && w == ours {
								seen |= 1 << rec.SL()
							}
							return fmt.Sprintf("%v, P_Key %v, SL %d", reply.Status(), rec.PKey(), rec.SL())
						}
						if a, b := answer(theirs), answer(ours); a != b {
							t.Errorf("P_Key %v, SL %d, raw %v: OpenSM %s; ibsm %s", key, sl, raw, a, b)
						}
					}
				}
			}
			if want := map[string]uint{"TRUE": 1<<0 | 1<<3 | 1<<5 | 1<<7,
				"FALSE": 1<<0 | 1<<3 | 1<<7}[qos]; seen != want {
				t.Errorf("SLs seen %b, want %b", seen, want)
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
		info := (*sarec.ClassPortInfo)(
			w.register(question{0, request(mad.MethodGet, sarec.AttrClassPortInfo, 0)}).SAData()[:72])
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
