package sa

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/topo"
)

func TestNodeRecord(t *testing.T) {
	v := newView(t)
	v.LIDs.LMC[v.Topo.FindPort(h4)] = 1 // LIDs 6 and 7
	v.LIDs = topo.NewLIDs(v.LIDs.Base, v.LIDs.LMC)
	a := New(v, nil)
	type rec = sarec.NodeRecord
	for _, c := range []struct {
		name   string
		comps  mad.ComponentMask
		want   func(r *rec)
		lid    mad.LID // of the answer; 0 for none
		status mad.Status
	}{
		{"all", 0, nil, 0, mad.StatusTooManyRecords},
		{"LID", sarec.NodeLID, func(r *rec) { r.SetLID(5) }, 5, 0},
		{"second LID of a port", sarec.NodeLID, func(r *rec) { r.SetLID(7) }, 6, 0},
		{"LID of nobody", sarec.NodeLID, func(r *rec) { r.SetLID(99) }, 0, mad.StatusNoRecords},
		{"LID 0", sarec.NodeLID, nil, 0, mad.StatusNoRecords},
		{"LID 0xFFFF", sarec.NodeLID, func(r *rec) { r.SetLID(0xffff) }, 0, mad.StatusNoRecords},
		{"port GUID", sarec.NodePortGUID, func(r *rec) { r.SetPortGUID(h2) }, 4, 0},
		{"port GUID of nobody", sarec.NodePortGUID, func(r *rec) { r.SetPortGUID(h2 + 1) }, 0, mad.StatusNoRecords},
		{"port GUID and LID of another", sarec.NodePortGUID | sarec.NodeLID, func(r *rec) {
			r.SetPortGUID(h2)
			r.SetLID(5)
		}, 0, mad.StatusNoRecords},
		{"node GUID", sarec.NodeNodeGUID, nodeInfo(func(n *smp.NodeInfo) { n.SetNodeGUID(0x100020) }), 5, 0},
		{"node GUID of a switch", sarec.NodeNodeGUID, nodeInfo(func(n *smp.NodeInfo) {
			n.SetNodeGUID(0x200010)
		}), 3, 0},
		{"node GUID of nobody", sarec.NodeNodeGUID, nodeInfo(func(n *smp.NodeInfo) {
			n.SetNodeGUID(0x100021)
		}), 0, mad.StatusNoRecords},
		{"node type", sarec.NodeNodeType, nodeInfo(func(n *smp.NodeInfo) {
			n.SetNodeType(mad.Switch)
		}), 0, mad.StatusTooManyRecords},
		{"node type and LID", sarec.NodeNodeType | sarec.NodeLID, nodeInfo(func(n *smp.NodeInfo) {
			n.SetNodeType(mad.Switch)
		}), 0, mad.StatusNoRecords},
		{"description", sarec.NodeNodeDescription, func(r *rec) { r.NodeDescription().Set("H3") }, 5, 0},
		{"description and what follows its end", sarec.NodeNodeDescription,
			func(r *rec) { copy(r.NodeDescription()[:], "SW2\x00garbage") }, 3, 0},
		{"part of a description", sarec.NodeNodeDescription, func(r *rec) {
			r.NodeDescription().Set("H")
		}, 0, mad.StatusNoRecords},
		{"port number of a switch", sarec.NodeLocalPortNum | sarec.NodeNodeDescription,
			func(r *rec) { r.SetLocalPortNum(0); r.NodeDescription().Set("SW1") }, 2, 0},
	} {
		var want rec
		if c.want != nil {
			c.want(&want)
		}
		p := ask(t, a, get(sarec.AttrNodeRecord, c.comps, want[:]))
		got := (*rec)(p.SAData()[:112])
		if p.Status() != c.status || c.status == mad.StatusOK && got.LID() != c.lid {
			t.Errorf("%s: %v, LID %d; want %v, %d", c.name, p.Status(), got.LID(), c.status, c.lid)
		}
	}
}

func nodeInfo(set func(n *smp.NodeInfo)) func(r *sarec.NodeRecord) {
	return func(r *sarec.NodeRecord) {
		info := r.NodeInfo()
		set(&info)
		r.SetNodeInfo(&info)
	}
}

// A record is NodeInfo as the port of the record would return it, whichever port the
// node was found through.
func TestNodeRecordContent(t *testing.T) {
	v := newView(t)
	node := &v.Topo.Nodes[v.Topo.FindNode(0x100020)]
	node.Info.SetPortGUID(0xdead)
	node.Info.SetLocalPortNum(9)
	var want sarec.NodeRecord
	want.SetLID(5)
	p := ask(t, New(v, nil), get(sarec.AttrNodeRecord, sarec.NodeLID, want[:]))

	info := node.Info
	info.SetPortGUID(h3)
	info.SetLocalPortNum(1)
	want.SetNodeInfo(&info)
	want.NodeDescription().Set("H3")
	if got := sarec.NodeRecord(p.SAData()[:112]); got != want || p.AttributeOffset() != 14 {
		t.Errorf("offset %d\n%x, want\n%x", p.AttributeOffset(), got, want)
	}
}

func TestPortInfoRecord(t *testing.T) {
	v := newView(t)
	v.Topo.Ports[v.Topo.FindPort(sw1)].Info.SetCapabilityMask(smp.IsTrapSupported | smp.IsNoticeSupported)
	a := New(v, nil)
	type rec = sarec.PortInfoRecord
	lid := func(l mad.LID) func(r *rec) { return func(r *rec) { r.SetEndportLID(l) } }
	const lidAndPort = sarec.PortInfoEndportLID | sarec.PortInfoPortNum
	for _, c := range []struct {
		name    string
		comps   mad.ComponentMask
		mod     uint32
		want    func(r *rec)
		trusted bool
		lid     mad.LID // of the answer
		port    uint8
		status  mad.Status
	}{
		{name: "host by LID", comps: sarec.PortInfoEndportLID, want: lid(5), lid: 5, port: 1},
		{name: "switch by LID", comps: sarec.PortInfoEndportLID, want: lid(2), status: mad.StatusTooManyRecords},
		{name: "port of a switch", comps: lidAndPort, want: func(r *rec) {
			r.SetEndportLID(2)
			r.SetPortNum(7)
		}, lid: 2, port: 7},
		{name: "port 0", comps: lidAndPort, want: lid(3), lid: 3, port: 0},
		{name: "port beyond the last", comps: lidAndPort, want: func(r *rec) {
			r.SetEndportLID(2)
			r.SetPortNum(9)
		}, status: mad.StatusNoRecords},
		{name: "LID 0", comps: sarec.PortInfoEndportLID, status: mad.StatusNoRecords},
		{name: "LID of nobody", comps: sarec.PortInfoEndportLID, want: lid(99), status: mad.StatusNoRecords},
		{name: "all", status: mad.StatusTooManyRecords},
		{name: "M_Key, untrusted", comps: sarec.PortInfoEndportLID | sarec.PortInfoMKey,
			want: func(r *rec) { r.SetEndportLID(5); r.PortInfo().SetMKey(0xabcd) }, status: mad.StatusNoRecords},
		{name: "M_Key, trusted", comps: sarec.PortInfoEndportLID | sarec.PortInfoMKey, trusted: true,
			want: func(r *rec) { r.SetEndportLID(5); r.PortInfo().SetMKey(0xabcd) }, lid: 5, port: 1},
		{name: "capabilities, all of them", comps: sarec.PortInfoCapabilityMask,
			want: func(r *rec) { r.PortInfo().SetCapabilityMask(smp.IsTrapSupported | smp.IsNoticeSupported) }, lid: 2},
		{name: "capabilities, not all of them", comps: sarec.PortInfoCapabilityMask,
			want: func(r *rec) { r.PortInfo().SetCapabilityMask(smp.IsNoticeSupported) }, status: mad.StatusNoRecords},
		{name: "capabilities among others", comps: sarec.PortInfoCapabilityMask, mod: 1 << 31,
			want: func(r *rec) { r.PortInfo().SetCapabilityMask(smp.IsNoticeSupported) }, lid: 2},
		{name: "a second capability mask that none has", comps: sarec.PortInfoCapabilityMask2, mod: 1 << 31,
			want: func(r *rec) {
				r.PortInfo().SetCapabilityMask2(smp.IsLinkSpeedNDRSupported)
			}, status: mad.StatusNoRecords},
		{name: "bit 31 without capabilities", comps: lidAndPort, mod: 1 << 31, want: lid(3), lid: 3},
	} {
		var want rec
		if c.want != nil {
			c.want(&want)
		}
		in := get(sarec.AttrPortInfoRecord, c.comps, want[:])
		in.Packet.SetAttrMod(c.mod)
		if c.trusted {
			in.Packet.SetSMKey(saKey)
		}
		p := ask(t, a, in)
		got := (*rec)(p.SAData()[:72])
		if p.Status() != c.status || c.status == mad.StatusOK &&
			(got.EndportLID() != c.lid || got.PortNum() != c.port) {
			t.Errorf("%s: %v, LID %d port %d; want %v, %d port %d", c.name, p.Status(), got.EndportLID(), got.PortNum(),
				c.status, c.lid, c.port)
		}
	}
}

// The M_Key is for the trusted, and a client that does not know extended speeds sees QDR.
func TestPortInfoRecordContent(t *testing.T) {
	v := newView(t)
	for _, g := range []mad.GUID{h3, sw2} { // H3's link runs at 4x EDR; port 1 of SW2 has no masks of its own
		n := v.Topo.Ports[v.Topo.FindPort(g)].Node
		info := &v.Topo.Ports[v.Topo.Port(n, 1)].Info
		info.SetLinkSpeedSupported(1)
		info.SetLinkSpeedEnabled(1)
		info.SetLinkSpeedActive(0)
		info.SetLinkSpeedExtActive(2)
		info.SetCapabilityMask(0)
		v.Topo.Ports[v.Topo.FindPort(g)].Info.SetCapabilityMask(smp.IsExtendedSpeedsSupported)
	}
	a := New(v, nil)
	const comps = sarec.PortInfoEndportLID | sarec.PortInfoPortNum
	for _, c := range []struct {
		name    string
		lid     mad.LID
		comps   mad.ComponentMask
		options uint8
		trusted bool
		full    bool
	}{
		{name: "plain", lid: 5},
		{name: "port of a switch", lid: 3},
		{name: "trusted", lid: 5, trusted: true},
		{name: "full", lid: 5, comps: sarec.PortInfoOptions, options: 0x80, full: true},
		{name: "full, without the component", lid: 5, options: 0x80},
		{name: "options, but not full", lid: 5, comps: sarec.PortInfoOptions, options: 0x01},
	} {
		var want sarec.PortInfoRecord
		want.SetEndportLID(c.lid)
		want.SetPortNum(1)
		want.SetOptions(c.options)
		in := get(sarec.AttrPortInfoRecord, comps|c.comps, want[:])
		if c.trusted {
			in.Packet.SetSMKey(saKey)
		}
		p := ask(t, a, in)
		if c.comps == 0 {
			want.SetOptions(0)
		}
		n := v.Topo.Ports[v.LIDs.PortOf(c.lid)].Node
		*want.PortInfo() = v.Topo.Ports[v.Topo.Port(n, 1)].Info
		if !c.trusted {
			want.PortInfo().SetMKey(0)
		}
		if !c.full {
			want.PortInfo().SetLinkSpeedSupported(5)
			want.PortInfo().SetLinkSpeedEnabled(5)
			want.PortInfo().SetLinkSpeedActive(4)
		}
		if got := sarec.PortInfoRecord(p.SAData()[:72]); got != want || p.AttributeOffset() != 9 {
			t.Errorf("%s: %v, offset %d\n%x, want\n%x", c.name, p.Status(), p.AttributeOffset(), got, want)
		}
	}
}

func TestSMInfoRecord(t *testing.T) {
	a := New(newView(t), nil)
	type rec = sarec.SMInfoRecord
	var ours, other rec
	ours.SetLID(1)
	ours.SetGUID(h1)
	ours.SetActCount(77)
	ours.SetPriority(14)
	ours.SetSMState(3)
	other.SetLID(6)
	other.SetGUID(h4)
	other.SetActCount(88)
	other.SetPriority(5)
	other.SetSMState(2)
	for _, c := range []struct {
		name   string
		comps  mad.ComponentMask
		want   func(r *rec)
		status mad.Status
		answer rec
	}{
		{"all", 0, nil, mad.StatusTooManyRecords, rec{}},
		{"master", sarec.SMInfoSMState, func(r *rec) { r.SetSMState(3) }, 0, ours},
		{"standby", sarec.SMInfoSMState, func(r *rec) { r.SetSMState(2) }, 0, other},
		{"discovering", sarec.SMInfoSMState, func(r *rec) { r.SetSMState(1) }, mad.StatusNoRecords, rec{}},
		{"LID", sarec.SMInfoLID, func(r *rec) { r.SetLID(6) }, 0, other},
		{"GUID", sarec.SMInfoGUID, func(r *rec) { r.SetGUID(h1) }, 0, ours},
		{"priority", sarec.SMInfoPriority, func(r *rec) { r.SetPriority(5) }, 0, other},
		{"activity", sarec.SMInfoActCount, func(r *rec) { r.SetActCount(77) }, 0, ours},
		{"priority of one, LID of the other", sarec.SMInfoPriority | sarec.SMInfoLID,
			func(r *rec) { r.SetPriority(5); r.SetLID(1) }, mad.StatusNoRecords, rec{}},
		{"key", sarec.SMInfoSMKey, func(r *rec) { r.SetSMKey(saKey) }, mad.StatusNoRecords, rec{}},
	} {
		var want rec
		if c.want != nil {
			c.want(&want)
		}
		p := ask(t, a, get(sarec.AttrSMInfoRecord, c.comps, want[:]))
		if got := rec(p.SAData()[:32]); p.Status() != c.status || c.status == mad.StatusOK &&
			(got != c.answer || p.AttributeOffset() != 4) {
			t.Errorf("%s: %v, offset %d\n%x, want %v\n%x", c.name, p.Status(), p.AttributeOffset(), got, c.status,
				c.answer)
		}
	}
}

func TestLinkRecord(t *testing.T) {
	v := newView(t)
	v.LIDs.LMC[v.Topo.FindPort(h4)] = 1 // LIDs 6 and 7
	v.LIDs = topo.NewLIDs(v.LIDs.Base, v.LIDs.LMC)
	a := New(v, nil)
	type rec = sarec.LinkRecord
	link := func(from mad.LID, fromPort uint8, to mad.LID, toPort uint8) (r rec) {
		r.SetFromLID(from)
		r.SetFromPort(fromPort)
		r.SetToLID(to)
		r.SetToPort(toPort)
		return r
	}
	const (
		fromLID, fromPort = sarec.LinkFromLID, sarec.LinkFromPort
		toLID, toPort     = sarec.LinkToLID, sarec.LinkToPort
	)
	for _, c := range []struct {
		name   string
		comps  mad.ComponentMask
		want   rec
		status mad.Status
		answer rec
	}{
		{"all", 0, rec{}, mad.StatusTooManyRecords, rec{}},
		{"from a host", fromLID, link(1, 0, 0, 0), 0, link(1, 1, 2, 1)},
		{"to a host", toLID, link(0, 0, 1, 0), 0, link(2, 1, 1, 1)},
		{"from a switch", fromLID, link(2, 0, 0, 0), mad.StatusTooManyRecords, rec{}},
		{"from a port of a switch", fromLID | fromPort, link(2, 7, 0, 0), 0, link(2, 7, 3, 7)},
		{"to a port of a switch", toLID | toPort, link(0, 0, 2, 7), 0, link(3, 7, 2, 7)},
		{"between switches", fromLID | toLID, link(3, 0, 2, 0), 0, link(3, 7, 2, 7)},
		{"from switch to host", fromLID | toLID, link(3, 0, 5, 0), 0, link(3, 1, 5, 1)},
		{"from host to switch", fromLID | toLID, link(5, 0, 3, 0), 0, link(5, 1, 3, 1)},
		{"by the second LID of a port", fromLID, link(7, 0, 0, 0), 0, link(6, 1, 3, 2)},
		{"between hosts", fromLID | toLID, link(1, 0, 4, 0), mad.StatusNoRecords, rec{}},
		{"from an unplugged port", fromLID | fromPort, link(2, 5, 0, 0), mad.StatusNoRecords, rec{}},
		{"from nobody", fromLID, link(99, 0, 0, 0), mad.StatusNoRecords, rec{}},
		{"to nobody", toLID, link(0, 0, 99, 0), mad.StatusNoRecords, rec{}},
		{"wrong far port", fromLID | toPort, link(1, 0, 0, 2), mad.StatusNoRecords, rec{}},
	} {
		p := ask(t, a, get(sarec.AttrLinkRecord, c.comps, c.want[:]))
		if got := rec(p.SAData()[:8]); p.Status() != c.status || c.status == mad.StatusOK &&
			(got != c.answer || p.AttributeOffset() != 1) {
			t.Errorf("%s: %v, offset %d\n%x, want %v\n%x", c.name, p.Status(), p.AttributeOffset(), got, c.status,
				c.answer)
		}
	}
}
