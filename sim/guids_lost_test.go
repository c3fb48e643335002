package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestLostGUIDs: whichever answer to a Set of GUIDInfo is lost or wrong, the SA says in the end that a port has an
// alias GUID exactly if it has; and what was asked for happens, unless the port refuses it.
func TestLostGUIDs(t *testing.T) {
	for _, c := range []struct {
		name             string
		executed, answer bool
		status           mad.Status
		lasts            bool // the defect
		refused          bool // what was asked for never happens
	}{
		{"executed, no answer", true, false, 0, false, false},
		{"not executed, no answer", false, false, 0, false, false},
		{"executed, error status", true, true, mad.StatusBusy, false, false},
		{"refused", false, true, mad.StatusBadField, true, true},
		{"other GUIDs", false, true, 0, true, true},
	} {
		for _, m := range []mad.Method{mad.MethodSet, mad.MethodDelete} {
			t.Run(c.name+" "+m.String(), func(t *testing.T) {
				n := nettest.Generate(t, "torus:dims=3,hosts=1")
				at := host(n, 2)
				defect := false
				var held func() []mad.GUID // by the port, of the block
				b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, caps *fabric.Caps) {
					if caps.GUIDCap = 8; i != at.Node {
						return
					}
					caps.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
						if !defect || p.Method() != mad.MethodSet || p.AttrID() != smp.AttrGUIDInfo {
							return obey(), true
						}
						if !c.executed {
							shown := (*smp.GUIDInfo)(p.Data())
							for i, guid := range held() {
								shown.SetGUID(i, guid)
							}
							return c.status, c.answer
						}
						if st := obey(); st != mad.StatusOK {
							t.Error(st)
						}
						return c.status, c.answer
					}
				}})
				held = func() []mad.GUID { return b.Fabric.GUIDs(at)[:smp.GUIDsPerBlock] }
				w := b.comeUp(registrarConfig())
				st, err := b.Fabric.Attach(at)
				if err != nil {
					t.Fatal(err)
				}
				var replies []mad.Status
				st.OnReceive(func(d mad.Datagram) {
					if d.Packet.AttrID() == sarec.AttrGUIDInfoRecord {
						replies = append(replies, d.Packet.Status())
					}
				})
				ask := func(m mad.Method) {
					b.askSA(st, sarec.AttrGUIDInfoRecord, func(p *mad.Packet) {
						p.SetMethod(m)
						p.SetComponentMask(sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum | sarec.GUIDInfoGUID0<<aliasIndex)
						rec, pi := (*sarec.GUIDInfoRecord)(p.SAData()[:]), b.Fabric.PortInfo(at)
						rec.SetLID(pi.LID())
						rec.GUIDInfo().SetGUID(aliasIndex, aliasGUID)
					})
					b.pass(5 * time.Second)
				}
				has := func() (sa, port bool) {
					slot := registry.Slot{Port: b.Fabric.PortGUID(at), Index: aliasIndex}
					return w.Registrar().State().AliasAt(slot) == aliasGUID, b.Fabric.GUIDs(at)[aliasIndex] == aliasGUID
				}
				if m == mad.MethodDelete {
					if ask(mad.MethodSet); len(replies) != 1 || replies[0] != mad.StatusOK {
						t.Fatalf("replies %v", replies)
					}
				}
				replies, defect = nil, true
				ask(m)
				if took := len(replies) > 0 && replies[0] == mad.StatusOK; took != (c.executed && c.answer) {
					t.Errorf("replies %v", replies)
				}
				defect = c.lasts
				b.pass(20 * time.Second)
				if !c.refused || m == mad.MethodSet {
					if sa, port := has(); sa != port || port != (m == mad.MethodSet && !c.refused) {
						t.Errorf("by the SA the port has the GUID: %v, by the port: %v", sa, port)
					}
				}
				defect = false
				b.pass(20 * time.Second)
				if sa, port := has(); sa != port {
					t.Errorf("by the SA the port has the GUID: %v, by the port in the end: %v", sa, port)
				}
			})
		}
	}
}

// TestGUIDsAcrossPortDown: a Set of GUIDs that is under way when the manager's own port loses its link does not
// overwrite what is set when that is back.
func TestGUIDsAcrossPortDown(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n,
		fabric.Config{Seed: 1, TrainTime: 100 * time.Millisecond, Caps: func(_ int32, _ *net.Node, c *fabric.Caps) {
			c.GUIDCap = 8
		}})
	cfg := minhopConfig()
	cfg.Txn.Timeout = 2 * time.Second
	m := b.comeUp(cfg)
	at, own := host(n, 5), firstHost(n)
	write := func(guid mad.GUID) {
		block := sa.GUIDBlock{Port: b.Fabric.PortGUID(at)}
		block.GUIDs.SetGUID(1, guid)
		b.WriteGUIDs(m.Manager, block)
	}
	b.Fabric.SetUnresponsive(at.Node, true)
	write(0xaaaa)
	b.pass(100 * time.Millisecond)
	b.Fabric.LinkDown(own)
	b.Ask(m.Manager, manager.Heavy)
	if b.pass(200 * time.Millisecond); m.View != nil {
		t.Fatal("the view is not withdrawn")
	}
	b.Fabric.LinkUp(own)
	b.Fabric.SetUnresponsive(at.Node, false)
	if !b.Run(b.Fabric.Now()+2*time.Second, func() bool { return m.View != nil }) {
		t.Fatal("no view is published within 2 s")
	}
	write(0xbbbb)
	b.pass(15 * time.Second)
	if held := b.Fabric.GUIDs(at)[1]; held != 0xbbbb {
		t.Errorf("the port holds %v", held)
	}
}
