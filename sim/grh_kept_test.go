package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// hopLimit is that of the path between two hosts, by a query of the first.
func (b *harness) hopLimit(from, to int) int {
	b.Helper()
	st, err := b.Fabric.Attach(host(b.net, from))
	if err != nil {
		b.Fatal(err)
	}
	defer st.Detach()
	lid := b.Fabric.PortInfo(st.At())
	d := mad.Datagram{Addr: mad.Addr{LID: lid.MasterSMLID(), QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
	d.Packet.SetTID(77)
	d.Packet.SetComponentMask(sarec.PathSGID | sarec.PathDGID)
	rec := (*sarec.PathRecord)(d.Packet.SAData()[:])
	rec.SetSGID(mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(host(b.net, from))))
	rec.SetDGID(mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(host(b.net, to))))
	got := -1
	st.OnReceive(func(d mad.Datagram) {
		if d.Packet.Status() == mad.StatusOK {
			got = int((*sarec.PathRecord)(d.Packet.SAData()[:]).HopLimit())
		}
	})
	st.Send([]mad.Datagram{d})
	b.pass(time.Second)
	return got
}

// joinWithGRH has a host that demands a GRH join a group.
func (b *harness) joinWithGRH(i int) {
	b.Helper()
	b.Fabric.RequireGRH(host(b.net, i), true)
	st, err := b.Fabric.Attach(host(b.net, i))
	if err != nil {
		b.Fatal(err)
	}
	defer st.Detach()
	lid := b.Fabric.PortInfo(st.At())
	d := mad.Datagram{
		Addr: mad.Addr{LID: lid.MasterSMLID(), QPN: 1,
			GRH: mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, 0x0200000000000002), HopLimit: 1}},
	}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
	d.Packet.SetTID(78)
	d.Packet.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState)
	rec := (*sarec.MCMemberRecord)(d.Packet.SAData()[:])
	rec.SetMGID(clientGroup(0))
	rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(st.At())))
	rec.SetJoinState(1)
	joined := false
	st.OnReceive(func(d mad.Datagram) { joined = joined || d.Packet.Status() == mad.StatusOK })
	st.Send([]mad.Datagram{d})
	b.pass(time.Second)
	if !joined {
		b.Fatalf("host %d has not joined", i)
	}
}

// TestGRHKept: which ports demand a GRH is known after a restart with the same store and after a takeover by
// a mirrored standby, neither of which asks clients to register again, and after a mastership of the
// standby in between.
func TestGRHKept(t *testing.T) {
	asked := 0
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(s fabric.Set) {
		if info := (*smp.PortInfo)(&s.Data); s.Attr == smp.AttrPortInfo && info.ClientReregister() {
			asked++
		}
	}})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.addKept(host(n, 0), high, sim.NewDisk(time.Millisecond))
	second := b.addKept(host(n, 6), low, sim.NewDisk(time.Millisecond))
	b.pass(settling)
	check := func(when string) {
		t.Helper()
		for _, c := range []struct{ from, to, want int }{{3, 5, 2}, {3, 1, 0}} {
			if got := b.hopLimit(c.from, c.to); got != c.want {
				t.Errorf("%s: path from %d to %d: HopLimit %d, want %d", when, c.from, c.to, got, c.want)
			}
		}
		if asked > 0 {
			t.Errorf("%s: %d ports were asked to register again", when, asked)
		}
	}
	b.joinWithGRH(5)
	asked = 0
	check("after the join")
	first.retire()
	first = b.addKept(host(n, 0), high, first.Disk)
	b.pass(settling)
	if first.last() != smp.Master {
		t.Fatalf("the first manager is %v", first.last())
	}
	check("after a restart")
	b.Kill(first.Manager)
	b.pass(settling)
	if second.last() != smp.Master {
		t.Fatalf("the second manager is %v", second.last())
	}
	check("after a takeover")
	first = b.addKept(host(n, 0), high, sim.NewDisk(time.Millisecond))
	b.pass(settling)
	if first.last() != smp.Master {
		t.Fatalf("the first manager is %v", first.last())
	}
	check("after the mastership was handed back to a manager without a store")
}
