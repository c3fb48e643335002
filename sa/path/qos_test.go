package path

import (
	"context"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/routing/lanes"
	"ibsm/routing/qos"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// underPolicy gives the subnet a policy of levels DEFAULT (SL 1), A, B and LIMITED, and some rules.
func (s *subnet) underPolicy(rules string) *Finder {
	s.Helper()
	file := `qos-levels
qos-level
 name: DEFAULT
 sl: 1
end-qos-level
qos-level
 name: A
 sl: 2
 mtu-limit: 3
 rate-limit: 2
 packet-life: 9
end-qos-level
qos-level
 name: B
 sl: 3
 pkey: 0x2-0x9
end-qos-level
qos-level
 name: C
 sl: 4
 path-bits: 1,3
end-qos-level
end-qos-levels
port-groups
port-group
 name: H1
 port-guid: ` + h1.String() + `
end-port-group
end-port-groups
` + rules
	policy, errors, _ := qos.Parse(nil, "p", []byte(file))
	if policy == nil {
		s.Fatal(errors)
	}
	s.QoS = policy
	return New(&s.View)
}

// TestPolicy: a path is what the level of the request says, and a request for something else has no
// answer. So does OpenSM.
func TestPolicy(t *testing.T) {
	s := newSubnet(t, 0)
	for _, g := range []mad.GUID{h1, h3} {
		s.Topo.Ports[s.port(g)].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, 0x8001, 0x8002, 0x8005})
	}
	s.SLs = map[mad.PKey]uint8{0x0001: 7, 0x0002: 7}
	f := s.underPolicy(`qos-match-rules
qos-match-rule
 service-id: 0x10-0x1f
 qos-level-name: A
end-qos-match-rule
qos-match-rule
 qos-class: 5
 qos-level-name: B
end-qos-match-rule
end-qos-match-rules
qos-ulps
any, pkey 5: 6
end-qos-ulps
`)
	const service, class = bothServiceID, sarec.PathQoSClass
	type answer struct {
		sl   uint8
		mtu  mad.MTU
		rate mad.Rate
		life uint8
		key  mad.PKey
	}
	none := answer{}
	byDefault := answer{1, mad.MTU2048, 3, 18, 0x8001}
	for name, c := range map[string]struct {
		comps mad.ComponentMask
		edit  func(*sarec.PathRecord)
		want  answer
	}{
		"no rule":         {0, func(*sarec.PathRecord) {}, byDefault},
		"not given":       {0, func(r *sarec.PathRecord) { r.SetServiceID(0x10); r.SetQoSClass(5) }, byDefault},
		"another service": {service, func(r *sarec.PathRecord) { r.SetServiceID(0x20) }, byDefault},
		"service": {service, func(r *sarec.PathRecord) {
			r.SetServiceID(0x1f)
		}, answer{2, mad.MTU1024, 2, 9, 0x8001}},
		"service, key": {service | sarec.PathPKey, func(r *sarec.PathRecord) {
			r.SetServiceID(0x1f)
			r.SetPKey(0x8005)
		}, answer{2, mad.MTU1024, 2, 9, 0x8005}},
		"service, its SL": {service | sarec.PathSL, func(r *sarec.PathRecord) {
			r.SetServiceID(0x10)
			r.SetSL(2)
		}, answer{2, mad.MTU1024, 2, 9, 0x8001}},
		"service, another SL": {service | sarec.PathSL, func(r *sarec.PathRecord) {
			r.SetServiceID(0x10)
			r.SetSL(3)
		}, none},
		"service, a larger MTU": {service | bothMTU, func(r *sarec.PathRecord) {
			r.SetServiceID(0x10)
			r.SetMTU(sarec.Exactly, mad.MTU2048)
		}, none},
		"service, its rate": {service | bothRate, func(r *sarec.PathRecord) {
			r.SetServiceID(0x10)
			r.SetRate(sarec.Exactly, 2)
		}, answer{2, mad.MTU1024, 2, 9, 0x8001}},
		"service, more rate": {service | bothRate, func(r *sarec.PathRecord) {
			r.SetServiceID(0x10)
			r.SetRate(sarec.GreaterThan, 2)
		}, none},
		"service, longer life": {service | bothLifeTime, func(r *sarec.PathRecord) {
			r.SetServiceID(0x10)
			r.SetPacketLifeTime(sarec.GreaterThan, 9)
		}, none},
		"class: first key": {class, func(r *sarec.PathRecord) {
			r.SetQoSClass(5)
		}, answer{3, mad.MTU2048, 3, 18, 0x0002}},
		"class and its key": {class | sarec.PathPKey, func(r *sarec.PathRecord) {
			r.SetQoSClass(5)
			r.SetPKey(0x8005)
		}, answer{3, mad.MTU2048, 3, 18, 0x8005}},
		"class, another key": {class | sarec.PathPKey, func(r *sarec.PathRecord) {
			r.SetQoSClass(5)
			r.SetPKey(0x8001)
		}, none},
		"key": {sarec.PathPKey, func(r *sarec.PathRecord) {
			r.SetPKey(0x8005)
		}, answer{6, mad.MTU2048, 3, 18, 0x8005}},
	} {
		var want, out sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
		want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h3))
		c.edit(&want)
		st := f.Find(asker, &want, bySGID|c.comps, &out)
		_, mtu := out.MTU()
		_, rate := out.Rate()
		_, life := out.PacketLifeTime()
		if got := (answer{out.SL(), mtu, rate, life, out.PKey()}); got != c.want ||
			(st == mad.StatusOK) != (c.want != none) {
			t.Errorf("%s: %v, %+v, want %+v", name, st, got, c.want)
		}
		if n := testing.AllocsPerRun(20, func() { f.Find(asker, &want, bySGID|c.comps, &out) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	var multi sarec.MultiPathRecord
	multi.SetSGIDCount(1)
	multi.SetDGIDCount(1)
	multi.SetGID(0, mad.MakeGID(mad.DefaultPrefix, h1))
	multi.SetGID(1, mad.MakeGID(mad.DefaultPrefix, h3))
	multi[8] = 0 // QoSClass 5
	multi[9] = 5 << 4
	comps := sarec.MultiPathSGIDCount | sarec.MultiPathDGIDCount | sarec.MultiPathQoSClass
	if table, st := f.Multi(context.Background(), asker, &multi, comps); st != mad.StatusOK ||
		len(table) != recordSize || (*sarec.PathRecord)(table).SL() != 3 {
		t.Errorf("MultiPathRecord: %v, %x", st, table)
	}
	loop, st := s.find(h1, h1)
	if _, life := loop.PacketLifeTime(); st != mad.StatusOK || life != 0 {
		t.Errorf("to itself: %v, lifetime %d", st, life)
	}
}

// TestPolicyReverse: a path is reversible where the way back has an answer by its own level.
func TestPolicyReverse(t *testing.T) {
	for rule, reversible := range map[string]bool{
		"": true, "qos-match-rules\nqos-match-rule\nsource: H1\nqos-level-name: B\nend-qos-match-rule\nend-qos-match-rules\n": false,
	} {
		s := newSubnet(t, 0)
		f := s.underPolicy(rule) // B has P_Keys that nobody has
		var want, out sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h3))
		want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h1))
		want.SetReversible(true)
		if st := f.Find(asker, &want, bySGID, &out); st != mad.StatusOK || out.Reversible() != reversible {
			t.Errorf("%q: %v, reversible %t", rule, st, out.Reversible())
		}
		if st := f.Find(asker, &want, bySGID|sarec.PathReversible, &out); (st == mad.StatusOK) != reversible {
			t.Errorf("%q: a reversible path: %v", rule, st)
		}
	}
}

// TestPathBits: a level's offsets are those of the source's LIDs, unless the request names one, or the
// port has none of them.
func TestPathBits(t *testing.T) {
	const rule = "qos-match-rules\nqos-match-rule\nsource: H1\nqos-level-name: C\nend-qos-match-rule\nend-qos-match-rules\n"
	for lmc, want := range []mad.LID{0, 1, 1} {
		s := newSubnet(t, uint8(lmc))
		f := s.underPolicy(rule)
		var ask, out sarec.PathRecord
		ask.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
		ask.SetDGID(mad.MakeGID(mad.DefaultPrefix, h3))
		if st := f.Find(asker, &ask, bySGID, &out); st != mad.StatusOK || out.SLID() != s.lid(h1)+want ||
			out.SL() != 4 {
			t.Errorf("LMC %d: %v, LID %d of %d, SL %d", lmc, st, out.SLID(), s.lid(h1), out.SL())
		}
		ask.SetSLID(s.lid(h1))
		if st := f.Find(asker, &ask, bySGID|sarec.PathSLID, &out); st != mad.StatusOK || out.SLID() != s.lid(h1) {
			t.Errorf("LMC %d, with a LID: %v, %d", lmc, st, out.SLID())
		}
		table, _ := f.Table(context.Background(), asker, &ask, bySGID, 1<<20)
		if paths := len(table) / recordSize; paths != []int{1, 2, 8}[lmc] {
			t.Errorf("LMC %d: %d paths", lmc, paths)
		}
	}
}

// TestDroppedSL: no path has an SL that a port on the way drops, and one to itself none that the port drops.
func TestDroppedSL(t *testing.T) {
	s := newSubnet(t, 0)
	f := s.underPolicy("")
	policy := s.QoS
	if _, st := s.find(h1, h3); st != mad.StatusOK {
		t.Fatal(st)
	}
	w := f.start(s.port(h1), s.port(h3), s.lid(h3))
	for _, c := range []struct {
		name string
		drop func() (at device.Place, in int)
	}{
		{"the host", func() (device.Place, int) { return device.Place{Node: s.node(h1), Port: 1}, 0 }},
		{"its switch", func() (device.Place, int) {
			sw := s.Topo.Switches[w.at.to]
			out := s.Tables.LFT[w.at.to][s.lid(h3)]
			return device.Place{Node: s.Topo.Nodes[sw].GUID, Port: out}, int(w.at.in)
		}},
	} {
		at, in := c.drop()
		at.Attr = smp.AttrSLtoVLMappingTable
		row := make([]byte, 64*device.BlockSize)
		var table smp.SLtoVLMappingTable
		table.SetVL(1, smp.VLDrop) // of DEFAULT
		copy(row[in*device.BlockSize:], table[:])
		s.Ports = &device.Ports{}
		s.Ports.Read(at, row, nil)
		s.QoS = policy
		if _, st := s.find(h1, h3); st != mad.StatusNoRecords {
			t.Errorf("%s drops SL 1: %v", c.name, st)
		}
		if back, st := s.find(h3, h1); st != mad.StatusOK || back.Reversible() {
			t.Errorf("%s drops SL 1, from the other end: %v, reversible %t", c.name, st, back.Reversible())
		}
		s.QoS = nil // SL 0, which nobody drops
		if _, st := s.find(h1, h3); st != mad.StatusOK {
			t.Errorf("%s drops SL 1, SL 0: %v", c.name, st)
		}
		var want, out sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
		want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h3))
		want.SetSL(1)
		if st := New(&s.View).Find(asker, &want, bySGID|sarec.PathSL, &out); st != mad.StatusNoRecords {
			t.Errorf("%s drops SL 1, asked for: %v", c.name, st)
		}
	}
}

// TestSLNotKnownToPass: no path has an SL whose packets are not known to be forwarded a port on the way. SL 0 is
// given where nothing is known.
func TestSLNotKnownToPass(t *testing.T) {
	s := newSubnet(t, 0)
	s.underPolicy("")
	policy := s.QoS // SL 1
	w := New(&s.View).start(s.port(h1), s.port(h3), s.lid(h3))
	sw := s.Topo.Switches[w.at.to]
	out, in := s.Tables.LFT[w.at.to][s.lid(h3)], int(w.at.in)
	info := &s.Topo.Ports[s.Topo.Port(sw, out)].Info
	info.SetVLCap(4) // 8 lanes
	info.SetVLArbitrationHighCap(2)
	info.SetVLArbitrationLowCap(2)
	maps := device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: s.Topo.Nodes[sw].GUID, Port: out}
	turns := maps
	turns.Attr = smp.AttrVLArbitrationTable
	for _, c := range []struct {
		name   string
		vl     uint8 // of SL 1
		vls    uint8 // OperationalVLs
		turns  [2]uint8
		change func(maps, turns *device.Blocks)
		stop   Stop
	}{
		{name: "all is known", vl: 1, vls: 4, turns: [2]uint8{0, 1}},
		{name: "there is no such lane", vl: 8, vls: 4, turns: [2]uint8{0, 8}, stop: NoLane},
		{name: "the link has fewer lanes", vl: 2, vls: 2, turns: [2]uint8{0, 2}, stop: NoLane},
		{name: "no turn", vl: 2, vls: 4, turns: [2]uint8{0, 1}, stop: NoTurn},
		{name: "no turns at all", vl: 2, vls: 4},
		{name: "the table was not read", vl: 1, vls: 4, stop: NotKnown, change: func(maps, _ *device.Blocks) {
			maps.Take(in, device.Unread)
		}},
		{name: "that of another port was not", vl: 1, vls: 4, change: func(maps, _ *device.Blocks) {
			maps.Take(in+1, device.Unread)
		}},
		{name: "a Set was refused", vl: 1, vls: 4, stop: NotKnown, change: func(maps, _ *device.Blocks) {
			maps.Take(in, device.Sent)
			maps.Take(in, device.Rejected)
		}},
		{name: "a Set was not answered", vl: 1, vls: 4, stop: NotKnown, change: func(maps, _ *device.Blocks) {
			maps.Take(in, device.TimedOut)
		}},
		{name: "turns are not known", vl: 1, vls: 4, stop: NotKnown, change: func(_, turns *device.Blocks) {
			turns.Take(0, device.Unread)
		}},
		{name: "turns are not known, on VL 0", vl: 0, vls: 4, change: func(_, turns *device.Blocks) {
			turns.Take(0, device.Unread)
		}},
		{name: "the port has no such turns", vl: 1, vls: 4, change: func(_, turns *device.Blocks) {
			turns.Take(1, device.Unread)
		}},
	} {
		info.SetOperationalVLs(c.vls)
		var table smp.SLtoVLMappingTable
		table.SetVL(1, c.vl)
		row := make([]byte, 64*device.BlockSize)
		copy(row[in*device.BlockSize:], table[:])
		var low smp.VLArbitrationTable
		for i, vl := range c.turns {
			low.SetEntry(i, vl, min(vl+c.turns[1], 1))
		}
		mapped, turned := device.Read(row, nil),
			device.Read(append(low[:], make([]byte, (lanes.Blocks-1)*device.BlockSize)...), nil)
		if c.change != nil {
			c.change(mapped, turned)
		}
		s.Ports = &device.Ports{}
		s.Ports.Keep(maps, mapped)
		s.Ports.Keep(turns, turned)
		s.QoS = policy
		want := mad.StatusOK
		if c.stop != NotStopped {
			want = mad.StatusNoRecords
		}
		if _, st := s.find(h1, h3); st != want {
			t.Errorf("%s: %v, want %v", c.name, st, want)
		}
		if d := New(&s.View).Decide(s.port(h1), s.port(h3), &sarec.PathRecord{}, 0); d.Stop != c.stop ||
			(d.Refusal == SLDropped) != (c.stop != NotStopped) || d.SL != 1 {
			t.Errorf("%s: %+v, want %d", c.name, d, c.stop)
		}
		if s.QoS = nil; c.stop != NotStopped && c.turns[1] == 0 {
			if _, st := s.find(h1, h3); st != mad.StatusOK {
				t.Errorf("%s: SL 0: %v", c.name, st)
			}
		}
	}
}

// node is the GUID of a port's node.
func (s *subnet) node(port mad.GUID) mad.GUID {
	return s.Topo.Nodes[s.Topo.Ports[s.port(port)].Node].GUID
}
