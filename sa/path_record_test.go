package sa

import (
	"math/rand/v2"
	"os"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// On the fabric of the capture, our answer is OpenSM's byte for byte.
func TestPathRecordGolden(t *testing.T) {
	v := newView(t)
	for i := range v.Topo.Ports { // 4x HDR
		info := &v.Topo.Ports[i].Info
		info.SetCapabilityMask(smp.IsExtendedSpeedsSupported)
		info.SetLinkSpeedExtActive(4)
	}
	query := madtest.Packet(t, "umad-path-record-get-table")
	answer := madtest.Packet(t, "umad-path-record-get-table-resp")
	p := ask(t, New(v, nil), get(sarec.AttrPathRecord, query.ComponentMask(), query.SAData()[:64]))
	if got, want := [64]byte(p.SAData()[:64]), [64]byte(answer.SAData()[:64]); got != want {
		t.Errorf("%v\n%x, want\n%x", p.Status(), got, want)
	}
}

// What OpenSM was seen to answer to requests of H3 for a path to H1, where nothing
// but the default partition plays a part. Rates are 10 Gb/s, MTUs 2048.
func TestPathRecord(t *testing.T) {
	const (
		rate     = sarec.PathRateSelector | sarec.PathRate
		mtu      = sarec.PathMTUSelector | sarec.PathMTU
		lifeTime = sarec.PathPacketLifeTimeSelector | sarec.PathPacketLifeTime
	)
	type rec = sarec.PathRecord
	gid := func(g mad.GUID) mad.GID { return mad.MakeGID(mad.DefaultPrefix, g) }
	for _, c := range []struct {
		name   string
		comps  mad.ComponentMask // besides SGID and DGID
		want   func(r *rec)
		status mad.Status
		answer func(r *rec) // what differs from the plain answer
	}{
		{"plain", 0, nil, 0, nil},
		{"IPoIB", sarec.PathNumbPath | sarec.PathTClass | sarec.PathPKey,
			func(r *rec) { r.SetNumbPath(1); r.SetTClass(7); r.SetPKey(0xffff) }, 0, nil},
		{"P_Key as asked", sarec.PathPKey, func(r *rec) { r.SetPKey(0x7fff) }, 0, func(r *rec) { r.SetPKey(0x7fff) }},
		{"P_Key not shared", sarec.PathPKey, func(r *rec) { r.SetPKey(0x8001) }, mad.StatusNoRecords, nil},
		{"P_Key without its component", 0, func(r *rec) { r.SetPKey(0x8001) }, 0, nil},
		{"rdma_cm", sarec.PathServiceIDHigh | sarec.PathServiceIDLow | sarec.PathQoSClass | sarec.PathReversible |
			sarec.PathNumbPath | sarec.PathPKey,
			func(r *rec) {
				r.SetServiceID(0x1061234)
				r.SetQoSClass(5)
				r.SetReversible(true)
				r.SetNumbPath(1)
				r.SetPKey(0xffff)
			}, 0, nil},
		{"half a ServiceID", sarec.PathServiceIDHigh, nil, mad.StatusReqInsufficient, nil},
		{"the other half", sarec.PathServiceIDLow, nil, mad.StatusReqInsufficient, nil},
		{"FlowLabel, HopLimit", sarec.PathFlowLabel | sarec.PathHopLimit, func(r *rec) {
			r.SetFlowLabel(9)
			r.SetHopLimit(9)
		}, 0, nil},
		{"SL", sarec.PathSL, func(r *rec) { r.SetSL(3) }, 0, func(r *rec) { r.SetSL(3) }},
		{"raw", sarec.PathRawTraffic, func(r *rec) { r.SetRawTraffic(true) }, 0, func(r *rec) {
			r.SetRawTraffic(true)
			r.SetPKey(0)
		}},
		{"not raw", sarec.PathRawTraffic, nil, 0, nil},

		{"unknown DGID", 0, func(r *rec) { r.SetDGID(gid(0x42)) }, mad.StatusNoRecords, nil},
		{"DGID off the subnet", 0, func(r *rec) { r.SetDGID(mad.MakeGID(0xfec0<<48, h1)) }, mad.StatusNoRecords, nil},
		{"multicast DGID", 0, func(r *rec) { r.SetDGID(mad.GID{0: 0xff, 1: 0x12, 15: 1}) }, mad.StatusNoRecords, nil},
		{"SGID with a foreign prefix", 0, func(r *rec) {
			r.SetSGID(mad.MakeGID(0xfec0<<48, h3))
		}, mad.StatusNoRecords, nil},
		{"unknown DLID", sarec.PathDLID, func(r *rec) { r.SetDLID(99) }, mad.StatusNoRecords, nil},
		{"multicast DLID", sarec.PathDLID, func(r *rec) { r.SetDLID(0xc000) }, mad.StatusNoRecords, nil},
		{"LIDs of the same ports", sarec.PathSLID | sarec.PathDLID, func(r *rec) {
			r.SetSLID(5)
			r.SetDLID(1)
		}, 0, nil},
		{"SLID of another port", sarec.PathSLID, func(r *rec) { r.SetSLID(1) }, mad.StatusReqInvalid, nil},
		{"DLID of another port", sarec.PathDLID, func(r *rec) { r.SetDLID(4) }, mad.StatusReqInvalid, nil},
		{"loopback", 0, func(r *rec) { r.SetDGID(gid(h3)) }, 0,
			func(r *rec) { r.SetDGID(gid(h3)); r.SetDLID(5); r.SetPacketLifeTime(sarec.Exactly, 0) }},

		{"rate 1", rate, func(r *rec) { r.SetRate(sarec.Exactly, 1) }, mad.StatusReqInvalid, nil},
		{"rate 40", rate, func(r *rec) { r.SetRate(sarec.Exactly, 40) }, mad.StatusReqInvalid, nil},
		{"rate 63", rate, func(r *rec) { r.SetRate(sarec.Best, 63) }, mad.StatusReqInvalid, nil},
		{"rate without selector", sarec.PathRate, func(r *rec) { r.SetRate(sarec.Exactly, 40) }, 0, nil},
		{"rate = 10", rate, func(r *rec) { r.SetRate(sarec.Exactly, 3) }, 0, nil},
		{"rate = 2.5", rate, func(r *rec) { r.SetRate(sarec.Exactly, 2) }, mad.StatusNoRecords, nil},
		{"rate = 20", rate, func(r *rec) { r.SetRate(sarec.Exactly, 6) }, mad.StatusNoRecords, nil},
		{"rate < 10", rate, func(r *rec) {
			r.SetRate(sarec.LessThan, 3)
		}, 0, func(r *rec) { r.SetRate(sarec.Exactly, 5) }},
		{"rate < 5", rate, func(r *rec) {
			r.SetRate(sarec.LessThan, 5)
		}, 0, func(r *rec) { r.SetRate(sarec.Exactly, 2) }},
		{"rate < 2.5", rate, func(r *rec) { r.SetRate(sarec.LessThan, 2) }, mad.StatusNoRecords, nil},
		{"rate < 100", rate, func(r *rec) { r.SetRate(sarec.LessThan, 16) }, 0, nil},
		{"rate > 2.5", rate, func(r *rec) { r.SetRate(sarec.GreaterThan, 2) }, 0, nil},
		{"rate > 5, whose code is higher", rate, func(r *rec) { r.SetRate(sarec.GreaterThan, 5) }, 0, nil},
		{"rate > 10", rate, func(r *rec) { r.SetRate(sarec.GreaterThan, 3) }, mad.StatusNoRecords, nil},
		{"best rate", rate, func(r *rec) { r.SetRate(sarec.Best, 2) }, 0, nil},

		{"MTU 6", mtu, func(r *rec) { r.SetMTU(sarec.Exactly, 6) }, mad.StatusReqInvalid, nil},
		{"MTU 0", mtu, func(r *rec) { r.SetMTU(sarec.Best, 0) }, mad.StatusReqInvalid, nil},
		{"MTU selector alone", sarec.PathMTUSelector, func(r *rec) { r.SetMTU(sarec.GreaterThan, 5) }, 0, nil},
		{"MTU = 1024", mtu, func(r *rec) {
			r.SetMTU(sarec.Exactly, 3)
		}, 0, func(r *rec) { r.SetMTU(sarec.Exactly, 3) }},
		{"MTU = 4096", mtu, func(r *rec) { r.SetMTU(sarec.Exactly, 5) }, mad.StatusNoRecords, nil},
		{"MTU > 1024", mtu, func(r *rec) { r.SetMTU(sarec.GreaterThan, 3) }, 0, nil},
		{"MTU > 2048", mtu, func(r *rec) { r.SetMTU(sarec.GreaterThan, 4) }, mad.StatusNoRecords, nil},
		{"MTU < 2048", mtu, func(r *rec) {
			r.SetMTU(sarec.LessThan, 4)
		}, 0, func(r *rec) { r.SetMTU(sarec.Exactly, 3) }},
		{"MTU < 4096", mtu, func(r *rec) { r.SetMTU(sarec.LessThan, 5) }, 0, nil},
		{"MTU < 256", mtu, func(r *rec) { r.SetMTU(sarec.LessThan, 1) }, mad.StatusNoRecords, nil},
		{"best MTU", mtu, func(r *rec) { r.SetMTU(sarec.Best, 1) }, 0, nil},

		{"life = 10", lifeTime, func(r *rec) { r.SetPacketLifeTime(sarec.Exactly, 10) }, 0,
			func(r *rec) { r.SetPacketLifeTime(sarec.Exactly, 10) }},
		{"life = 19", lifeTime, func(r *rec) { r.SetPacketLifeTime(sarec.Exactly, 19) }, mad.StatusNoRecords, nil},
		{"life < 18", lifeTime, func(r *rec) { r.SetPacketLifeTime(sarec.LessThan, 18) }, 0,
			func(r *rec) { r.SetPacketLifeTime(sarec.Exactly, 17) }},
		{"life < 0", lifeTime, func(r *rec) { r.SetPacketLifeTime(sarec.LessThan, 0) }, mad.StatusNoRecords, nil},
		{"life > 18", lifeTime, func(r *rec) { r.SetPacketLifeTime(sarec.GreaterThan, 18) }, mad.StatusNoRecords, nil},
		{"best life", lifeTime, func(r *rec) { r.SetPacketLifeTime(sarec.Best, 0) }, 0, nil},
	} {
		var want, answer rec
		want.SetSGID(gid(h3))
		want.SetDGID(gid(h1))
		if c.want != nil {
			c.want(&want)
		}
		answer.SetSGID(gid(h3))
		answer.SetDGID(gid(h1))
		answer.SetSLID(5)
		answer.SetDLID(1)
		answer.SetReversible(true)
		answer.SetPKey(0xffff)
		answer.SetMTU(sarec.Exactly, 4)
		answer.SetRate(sarec.Exactly, 3)
		answer.SetPacketLifeTime(sarec.Exactly, 18)
		if c.answer != nil {
			c.answer(&answer)
		}
		p := ask(t, New(newView(t), nil), get(sarec.AttrPathRecord, c.comps|sarec.PathSGID|sarec.PathDGID, want[:]))
		if p.Status() != c.status {
			t.Errorf("%s: %v, want %v", c.name, p.Status(), c.status)
			continue
		}
		if got := rec(p.SAData()[:64]); c.status == mad.StatusOK && got != answer {
			t.Errorf("%s:\n%x, want\n%x", c.name, got, answer)
		}
	}
}

// With one end or none given there is one answer, the first by GUID.
func TestPathRecordOfAny(t *testing.T) {
	a := New(newView(t), nil)
	for _, c := range []struct {
		name       string
		comps      mad.ComponentMask
		slid, dlid mad.LID
	}{
		{"nothing", 0, 1, 1},
		{"SGID", sarec.PathSGID, 5, 1},
		{"SLID", sarec.PathSLID, 5, 1},
		{"DLID", sarec.PathDLID, 1, 6},
	} {
		var want sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h3))
		want.SetSLID(5)
		want.SetDLID(6)
		p := ask(t, a, get(sarec.AttrPathRecord, c.comps, want[:]))
		got := (*sarec.PathRecord)(p.SAData()[:64])
		if p.Status() != mad.StatusOK || got.SLID() != c.slid || got.DLID() != c.dlid {
			t.Errorf("%s: %v, LIDs %d to %d, want %d to %d", c.name, p.Status(), got.SLID(), got.DLID(), c.slid, c.dlid)
		}
	}
}

// The subnet's prefix and the one of power-up both name a port. The answer has the
// source as asked and the destination by its real prefix.
func TestPathRecordPrefix(t *testing.T) {
	const prefix mad.Prefix = 0xfec0000000000001
	v := newView(t)
	v.Subnet.Prefix = prefix
	a := New(v, nil)
	for _, sp := range []mad.Prefix{prefix, mad.DefaultPrefix} {
		for _, dp := range []mad.Prefix{prefix, mad.DefaultPrefix} {
			var want sarec.PathRecord
			want.SetSGID(mad.MakeGID(sp, h3))
			want.SetDGID(mad.MakeGID(dp, h1))
			p := ask(t, a, get(sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID, want[:]))
			got := (*sarec.PathRecord)(p.SAData()[:64])
			if p.Status() != mad.StatusOK || got.SGID() != want.SGID() || got.DGID() != mad.MakeGID(prefix, h1) {
				t.Errorf("%v to %v: %v, %v to %v", want.SGID(), want.DGID(), p.Status(), got.SGID(), got.DGID())
			}
		}
	}
	var want sarec.PathRecord
	want.SetSLID(5)
	want.SetDLID(1)
	p := ask(t, a, get(sarec.AttrPathRecord, sarec.PathSLID|sarec.PathDLID, want[:]))
	if got := (*sarec.PathRecord)(p.SAData()[:64]); got.SGID() != mad.MakeGID(prefix, h3) {
		t.Errorf("by LID: SGID %v", got.SGID())
	}
}

func TestAnswerDoesNotAllocate(t *testing.T) {
	a := New(newView(t), nil)
	var out mad.Datagram
	var stats Stats
	var want sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h3))
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h1))
	for _, in := range []*mad.Datagram{
		get(sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID, want[:]),
		get(sarec.AttrClassPortInfo, 0, nil), get(sarec.AttrNodeRecord, 0, nil), get(sarec.AttrPortInfoRecord, 0, nil),
		get(sarec.AttrSMInfoRecord, 0, nil), get(sarec.AttrLinkRecord, 0, nil), get(0x99, 0, nil),
	} {
		if n := testing.AllocsPerRun(100, func() { a.Answer(in, &out, &stats) }); n != 0 {
			t.Errorf("%s: %v allocations", sarec.AttrName(in.Packet.AttrID()), n)
		}
	}
}

// BenchmarkPathRecord asks as IPoIB does, between random hosts of a fat tree.
func BenchmarkPathRecord(b *testing.B) {
	specs := []string{"fattree:k=8"}
	if os.Getenv("IBSM_PROOF") != "" {
		specs = append(specs, "fattree:k=36") // 11,664 hosts
	}
	for _, spec := range specs {
		b.Run(spec, func(b *testing.B) {
			fabric, err := net.Generate(spec)
			if err != nil {
				b.Fatal(err)
			}
			tp, err := netwalk.Topo(fabric, net.NoEnd)
			if err != nil {
				b.Fatal(err)
			}
			lids := topo.SequentialLIDs(tp, 0)
			v := withTables(b, tp, lids)
			for name, trust := range map[string]view.Trust{"open": {}, "trust": {Enhanced: true, CheckSGID: true}} {
				b.Run(name, func(b *testing.B) {
					w := *v
					w.Subnet.Trust = trust
					benchmarkPathRecord(b, New(&w, nil), randomPaths(tp, lids))
				})
			}
		})
	}
}

func randomPaths(tp *topo.Topo, lids *topo.LIDs) []mad.Datagram {
	rng := rand.New(rand.NewPCG(1, 2))
	end := func() topo.PortIdx { return tp.EndPorts[rng.IntN(len(tp.EndPorts))] }
	in := make([]mad.Datagram, 1<<13)
	for i := range in {
		src, dst := end(), end()
		var want sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, tp.Ports[src].GUID))
		want.SetDGID(mad.MakeGID(mad.DefaultPrefix, tp.Ports[dst].GUID))
		want.SetPKey(mad.DefaultPKey)
		want.SetNumbPath(1)
		in[i] = *get(sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID|sarec.PathNumbPath|sarec.PathTClass|
			sarec.PathPKey, want[:])
		in[i].LID = lids.Base[src]
	}
	return in
}

func benchmarkPathRecord(b *testing.B, a *Responder, in []mad.Datagram) {
	var out mad.Datagram
	var stats Stats
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if !a.Answer(&in[i%len(in)], &out, &stats) || out.Packet.Status() != mad.StatusOK {
			b.Fatalf("request %d: %v", i, out.Packet.Status())
		}
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
}
