package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// grhHost is a host that demands a GRH of every packet of general services.
type grhHost struct {
	*fabric.Station
	sa     mad.Addr
	tables *rmpp.Machine
	came   []mad.Datagram
	table  rmpp.Ended
	now    func() time.Duration
}

func (h *grhHost) receive(d mad.Datagram) {
	h.came = append(h.came, d)
	if !d.Packet.IsRMPP() {
		return
	}
	if e, ended := h.tables.Receive(h.now(), &d); ended {
		h.table = e
	}
	h.Send(h.tables.Drain(h.now(), nil))
}

// TestGRH: a host that drops packets without a GRH is answered with one, in one packet and
// in a table, and a request without one is answered without.
func TestGRH(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.add(host(n, 0), registrarConfig())
	b.pass(settling)
	st, err := b.Fabric.Attach(host(n, 5))
	if err != nil {
		t.Fatal(err)
	}
	b.Fabric.RequireGRH(st.At(), true)
	gid := mad.MakeGID(mad.DefaultPrefix, 0x0200000000000002) // any port's way to the SA
	lid := b.Fabric.PortInfo(st.At())
	h := &grhHost{Station: st, now: b.Fabric.Now, tables: rmpp.New(rmpp.Config{}), sa: mad.Addr{
		LID: lid.MasterSMLID(), QPN: 1, GRH: mad.GRH{Present: true, GID: gid, FlowLabel: 0x54321, TrafficClass: 7,
			HopLimit: 1},
	}}
	st.OnReceive(h.receive)
	request := func(m mad.Method, attr mad.AttrID, tid mad.TID) mad.Datagram {
		d := mad.Datagram{Addr: h.sa}
		d.Packet.SetHeader(mad.ClassSA, m, attr, 0)
		d.Packet.SetTID(tid)
		return d
	}

	without := request(mad.MethodGet, sarec.AttrClassPortInfo, 1)
	without.GRH = mad.GRH{}
	st.Send([]mad.Datagram{without})
	b.pass(time.Second)
	if drops := b.Fabric.Stats().Drops[fabric.DropGRH]; len(h.came) != 0 || drops != 1 {
		t.Errorf("without a GRH: %d packets, %d dropped", len(h.came), drops)
	}
	st.Send([]mad.Datagram{request(mad.MethodGet, sarec.AttrClassPortInfo, 2),
		request(mad.MethodGetTable, sarec.AttrNodeRecord, 3)})
	b.pass(time.Second)
	if len(h.came) < 3 || h.table.Status != rmpp.StatusNormal || len(h.table.Data) != 36*112 {
		t.Errorf("%d packets, a table of %d bytes: %v", len(h.came), len(h.table.Data), h.table.Status)
	}
	want := mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(host(n, 0))),
		FlowLabel: 0x54321, TrafficClass: 7, HopLimit: 255}
	for i := range h.came {
		if h.came[i].GRH != want {
			t.Errorf("packet %d: %+v, want %+v", i, h.came[i].GRH, want)
		}
	}
	subscribe := request(mad.MethodSet, sarec.AttrInformInfo, 5)
	info := (*sarec.InformInfo)(subscribe.Packet.SAData()[:])
	info.SetLIDRangeBegin(registry.AnyLID)
	info.SetIsGeneric(1)
	info.SetSubscribe(1)
	info.SetType(registry.AnyType)
	info.SetTrapNumber(66)
	info.SetProducerType(registry.AnyProducer)
	info.SetQPN(1)
	join := request(mad.MethodSet, sarec.AttrMCMemberRecord, 6)
	join.Packet.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState)
	rec := (*sarec.MCMemberRecord)(join.Packet.SAData()[:])
	rec.SetMGID(clientGroup(0))
	rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(st.At())))
	rec.SetJoinState(uint8(registry.FullMember))
	h.came = nil
	st.Send([]mad.Datagram{subscribe})
	b.pass(time.Second)
	st.Send([]mad.Datagram{join})
	b.pass(time.Second)
	methods := map[mad.Method]int{}
	for i := range h.came {
		methods[h.came[i].Packet.Method()]++
		if h.came[i].GRH != want {
			t.Errorf("%v: %+v, want %+v", h.came[i].Packet.Method(), h.came[i].GRH, want)
		}
	}
	if methods[mad.MethodGetResp] != 2 || methods[mad.MethodReport] == 0 {
		t.Errorf("to a subscription and a join: %v", methods)
	}
	unserved := request(mad.MethodGet, 1, 4)
	unserved.Packet.SetHeader(mad.ClassVendor, mad.MethodGet, 1, 0)
	h.came = nil
	st.Send([]mad.Datagram{unserved})
	b.pass(time.Second)
	if len(h.came) != 1 || h.came[0].GRH != want || h.came[0].Packet.Status() != mad.StatusBadVersion {
		t.Errorf("a class without a server: %+v", h.came)
	}
}

// TestGRHPaths: paths from and to a host that demands a GRH have a HopLimit with which Linux sends one,
// as soon as the host has asked or joined anything, and no other paths do. This outlives our own link.
func TestGRHPaths(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, by := range []struct {
		name   string
		method mad.Method
		attr   mad.AttrID
	}{
		{"a query", mad.MethodGet, sarec.AttrClassPortInfo},
		{"a table", mad.MethodGetTable, sarec.AttrNodeRecord},
		{"a registration", mad.MethodSet, sarec.AttrInformInfo},
	} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		b.add(host(n, 0), registrarConfig())
		b.pass(settling)
		gid := func(i int) mad.GID { return mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(host(n, i))) }
		var stations [8]*fabric.Station
		for _, i := range []int{3, 5} {
			st, err := b.Fabric.Attach(host(n, i))
			if err != nil {
				t.Fatal(err)
			}
			stations[i] = st
		}
		b.Fabric.RequireGRH(host(n, 5), true)
		lid := b.Fabric.PortInfo(host(n, 3))
		ask := func(from int, m mad.Method, attr mad.AttrID, fill func(*mad.Packet)) (reply *mad.Packet) {
			d := mad.Datagram{Addr: mad.Addr{LID: lid.MasterSMLID(), QPN: 1}}
			if from == 5 {
				d.GRH = mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, 0x0200000000000002), HopLimit: 1}
			}
			d.Packet.SetHeader(mad.ClassSA, m, attr, 0)
			d.Packet.SetTID(mad.TID(from + 1))
			fill(&d.Packet)
			stations[from].OnReceive(func(d mad.Datagram) {
				if d.Packet.AttrID() == attr { // else a segment of the table, which nobody acknowledges
					reply = &d.Packet
				}
			})
			stations[from].Send([]mad.Datagram{d})
			b.pass(time.Second)
			return reply
		}
		hopLimit := func(asks, src, dst int) int {
			p := ask(asks, mad.MethodGet, sarec.AttrPathRecord, func(p *mad.Packet) {
				p.SetComponentMask(sarec.PathSGID | sarec.PathDGID)
				rec := (*sarec.PathRecord)(p.SAData()[:])
				rec.SetSGID(gid(src))
				rec.SetDGID(gid(dst))
			})
			if p == nil || p.Status() != mad.StatusOK {
				t.Fatalf("no path from %d to %d", src, dst)
			}
			return int((*sarec.PathRecord)(p.SAData()[:]).HopLimit())
		}
		if got := hopLimit(3, 3, 5); got != 0 {
			t.Errorf("%s: HopLimit %d before host 5 has asked anything", by.name, got)
		}
		ask(5, by.method, by.attr, func(*mad.Packet) {})
		for _, renewed := range []bool{false, true} {
			if renewed {
				b.Fabric.LinkDown(host(n, 0))
				b.pass(settling)
				b.Fabric.LinkUp(host(n, 0))
				b.pass(settling)
			}
			for _, c := range []struct{ asks, src, dst, want int }{
				{3, 3, 5, 2}, {3, 5, 3, 2}, {5, 5, 0, 2}, {3, 5, 5, 2}, {3, 3, 0, 0}, {3, 1, 2, 0}, {3, 3, 3, 0},
			} {
				if got := hopLimit(c.asks, c.src, c.dst); got != c.want {
					t.Errorf("%s, link renewed %v: path %d to %d: HopLimit %d, want %d", by.name, renewed, c.src, c.dst,
						got, c.want)
				}
			}
		}
	}
}
