package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestFirstAnswers: at a cold start a host whose port is ACTIVE is answered by the SA within a tick, also while hosts
// that answer no Set of PortInfo, or all but the one that activates the port, keep the program waiting. What is
// answered is a path with the LIDs that both ports hold. The hosts that became ACTIVE meanwhile are not asked for their
// descriptions once more.
func TestFirstAnswers(t *testing.T) {
	all := func(*smp.PortInfo) bool { return true }
	activation := func(info *smp.PortInfo) bool { return info.PortState() == smp.PortActive }
	for _, c := range []struct {
		name         string
		cfg          manager.Config
		unresponsive int
		to           func(*smp.PortInfo) bool
	}{
		{"all answer", minhopConfig(), 0, all},
		{"three do not answer", minhopConfig(), 3, all},
		{"three do not answer activations", minhopConfig(), 3, activation},
		{"M_Keys of ports", portMKeys(1), 0, all},
		{"M_Keys of ports, one does not answer", portMKeys(1), 1, all},
		{"M_Keys of ports, three do not answer", portMKeys(1), 3, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=8,levels=2")
			unresponsive := map[int32]bool{}
			for i := range c.unresponsive {
				unresponsive[host(n, 10+5*i).Node] = true
			}
			descriptions := 0
			b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, caps *fabric.Caps) {
				caps.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					if p.AttrID() == smp.AttrNodeDescription {
						descriptions++
					}
					if unresponsive[i] && p.AttrID() == smp.AttrPortInfo && p.Method() == mad.MethodSet &&
						c.to((*smp.PortInfo)(p.Data())) {
						return 0, false
					}
					return obey(), true
				}
			}})
			b.mustAnswerFirst(host(n, 5), c.cfg)
			b.pass(settling / 10)
			if ends := len(n.Nodes); descriptions > 2*ends {
				t.Errorf("%d requests for the descriptions of %d nodes", descriptions, ends)
			}
		})
	}
}

// mustAnswerFirst starts a manager at the first host. Another host asks for the path to it every millisecond from when
// its port is ACTIVE, and must have it by the second time.
func (b *harness) mustAnswerFirst(at net.End, cfg manager.Config) {
	b.Helper()
	self := firstHost(b.net)
	st, err := b.Fabric.Attach(at)
	if err != nil {
		b.Fatal(err)
	}
	var got *sarec.PathRecord
	st.OnReceive(func(d mad.Datagram) {
		if d.Packet.MgmtClass() == mad.ClassSA && d.Packet.Status() == mad.StatusOK && got == nil {
			rec := *(*sarec.PathRecord)(d.Packet.SAData()[:])
			got = &rec
		}
	})
	cfg.Registrar = registrarConfig().Registrar
	b.add(self, cfg)
	if !b.Run(settling, func() bool { pi := b.Fabric.PortInfo(at); return pi.PortState() == smp.PortActive }) {
		b.Fatal("never: the port is ACTIVE")
	}
	active := b.Fabric.Now()
	for i := 1; got == nil && b.Fabric.Now() < active+settling; i++ {
		st.Send([]mad.Datagram{b.pathQuery(at, self, mad.TID(i))})
		b.pass(time.Millisecond)
	}
	if got == nil {
		b.Fatal("never: an answer")
	}
	if after := b.Fabric.Now() - active; after > 2*time.Millisecond {
		b.Errorf("answered %v after the port became ACTIVE", after)
	}
	from, to := b.Fabric.PortInfo(at), b.Fabric.PortInfo(self)
	if got.SLID() != from.LID() || got.DLID() != to.LID() || from.LID() == 0 {
		b.Errorf("path from LID %v to %v; the ports hold %v and %v", got.SLID(), got.DLID(), from.LID(), to.LID())
	}
}

// pathQuery asks the master, whose port is to, for the path to it.
func (b *harness) pathQuery(from, to net.End, tid mad.TID) (d mad.Datagram) {
	sm := b.Fabric.PortInfo(to)
	d.Addr = mad.Addr{LID: sm.LID(), QPN: 1}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
	d.Packet.SetComponentMask(sarec.PathSGID | sarec.PathDGID)
	d.Packet.SetTID(tid)
	rec := (*sarec.PathRecord)(d.Packet.SAData()[:])
	rec.SetSGID(mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(from)))
	rec.SetDGID(mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(to)))
	return d
}
