package sa

import (
	"bytes"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/routing/mcast"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// asCaptured is newView as it was when the tables of OpenSM were captured: H2 and H3 in
// one multicast group, everybody in the default partition only.
func asCaptured(t testing.TB) *Responder {
	t.Helper()
	v := newView(t)
	keys := topo.NewPKeyTable([]mad.PKey{0xffff})
	for i := range v.Topo.Ports {
		v.Topo.Ports[i].PKeys = keys
	}
	want := sarec.SwitchInfoRecord(madtest.Bytes(t, "switch-info-record-get-table-resp")[56:80])
	for i := range v.Topo.Nodes {
		if n := &v.Topo.Nodes[i]; n.Type == mad.Switch {
			n.SwitchInfo = want.SwitchInfo()
			n.Info.SetPartitionCap(8)
		} else {
			n.Info.SetPartitionCap(64)
		}
	}
	var first, second mcast.PortMask // of SW1 to H2 and SW2, of SW2 to H3 and SW1
	first.Add(2)
	first.Add(7)
	second.Add(1)
	second.Add(7)
	var none *mcast.MFTs
	v.MFTs = none.With(
		&mcast.Tree{MLID: 0xc000, Branches: []mcast.Branch{{Switch: 0, Ports: first}, {Switch: 1, Ports: second}}})
	return New(v, nil)
}

// Tables are those of OpenSM, byte for byte.
func TestTablesGolden(t *testing.T) {
	a := asCaptured(t)
	lid4 := sarec.PKeyTableRecord{1: 4}
	for _, c := range []struct {
		file string
		in   *mad.Datagram
	}{
		{"switch-info-record-get-table-resp", getTable(sarec.AttrSwitchInfoRecord, 0, nil)},
		{"linear-forwarding-table-record-get-table-resp", getTable(sarec.AttrLinearForwardingTableRecord, 0, nil)},
		{"multicast-forwarding-table-record-get-table-resp",
			getTable(sarec.AttrMulticastForwardingTableRecord, 0, nil)},
		{"pkey-table-record-get-table-resp", trust(getTable(sarec.AttrPKeyTableRecord, sarec.PKeyTableLID, lid4[:]))},
	} {
		head, records := askTable(t, a, c.in)
		want := madtest.Bytes(t, c.file)
		if c.in.Packet.AttrID() == sarec.AttrPKeyTableRecord {
			want[130], want[131] = want[131], want[130] // OpenSM's BlockNum is in its host's order
		}
		if got := bytes.Join(records, nil); !bytes.Equal(got, want[56:]) ||
			head.AttributeOffset() != uint16(want[44])<<8|uint16(want[45]) {
			t.Errorf("%s: got\n%x, want\n%x", c.file, got, want[56:])
		}
	}
}

// How many records there are of what, and the status of a Get.
func TestTableRecords(t *testing.T) {
	a := asCaptured(t)
	for _, c := range []struct {
		name  string
		attr  mad.AttrID
		comps mad.ComponentMask
		rec   []byte // its beginning
		n     int
	}{
		{"switches", sarec.AttrSwitchInfoRecord, 0, nil, 2},
		{"switch", sarec.AttrSwitchInfoRecord, sarec.SwitchInfoLID, []byte{0, 3}, 1},
		{"adapter as switch", sarec.AttrSwitchInfoRecord, sarec.SwitchInfoLID, []byte{0, 4}, 0},
		{"switch of LID 0", sarec.AttrSwitchInfoRecord, sarec.SwitchInfoLID, nil, 0},
		{"LFT block 0", sarec.AttrLinearForwardingTableRecord, sarec.LFTBlockNum, nil, 2},
		{"LFT block 1", sarec.AttrLinearForwardingTableRecord, sarec.LFTBlockNum, []byte{0, 0, 0, 1}, 0},
		{"LFT of a switch", sarec.AttrLinearForwardingTableRecord, sarec.LFTLID, []byte{0, 2}, 1},
		{"MFT position 0", sarec.AttrMulticastForwardingTableRecord, sarec.MFTPosition, nil, 2},
		{"MFT position 1", sarec.AttrMulticastForwardingTableRecord, sarec.MFTPosition, []byte{0, 0, 0x10}, 0},
		{"MFT block 1", sarec.AttrMulticastForwardingTableRecord, sarec.MFTBlockNum, []byte{0, 0, 0, 1}, 0},
		// As OpenSM: all pairs of the ports 0..8 of each switch, and one of each adapter.
		{"SLtoVL", sarec.AttrSLtoVLMappingTableRecord, 0, nil, 2*81 + 4},
		{"SLtoVL of a switch", sarec.AttrSLtoVLMappingTableRecord, sarec.SLtoVLLID, []byte{0, 2}, 81},
		{"SLtoVL from a port", sarec.AttrSLtoVLMappingTableRecord, sarec.SLtoVLLID | sarec.SLtoVLInputPortNum,
			[]byte{0, 2, 7}, 9},
		{"SLtoVL to a port", sarec.AttrSLtoVLMappingTableRecord, sarec.SLtoVLLID | sarec.SLtoVLOutputPortNum,
			[]byte{0, 2, 0, 7}, 9},
		{"SLtoVL of an adapter", sarec.AttrSLtoVLMappingTableRecord, sarec.SLtoVLLID, []byte{0, 4}, 1},
		{"SLtoVL of an adapter from port 1 to port 2", sarec.AttrSLtoVLMappingTableRecord,
			sarec.SLtoVLLID | sarec.SLtoVLInputPortNum | sarec.SLtoVLOutputPortNum, []byte{0, 4, 1, 2}, 1},
		{"SLtoVL to port 7 of any switch, and of all adapters", sarec.AttrSLtoVLMappingTableRecord,
			sarec.SLtoVLOutputPortNum, []byte{0, 0, 0, 7}, 2*9 + 4},
		// As OpenSM: four blocks of the ports 0..8 of each switch and of each adapter port.
		{"arbitration", sarec.AttrVLArbitrationTableRecord, 0, nil, 88},
		{"arbitration of a port", sarec.AttrVLArbitrationTableRecord, sarec.VLArbLID | sarec.VLArbOutputPortNum,
			[]byte{0, 4, 1}, 4},
		{"arbitration of a switch's port", sarec.AttrVLArbitrationTableRecord,
			sarec.VLArbLID | sarec.VLArbOutputPortNum, []byte{0, 2, 3}, 4},
		{"arbitration of an adapter's port, called 0", sarec.AttrVLArbitrationTableRecord,
			sarec.VLArbLID | sarec.VLArbOutputPortNum, []byte{0, 4, 0}, 4},
		{"block of arbitration", sarec.AttrVLArbitrationTableRecord, sarec.VLArbLID | sarec.VLArbBlockNum,
			[]byte{0, 2, 0, smp.VLArbHigh1}, 9},
		{"block 0 of arbitration", sarec.AttrVLArbitrationTableRecord, sarec.VLArbBlockNum, nil, 0},
	} {
		_, records := askTable(t, a, getTable(c.attr, c.comps, c.rec))
		if len(records) != c.n {
			t.Errorf("%s: %d records, want %d", c.name, len(records), c.n)
		}
		want := mad.StatusTooManyRecords
		switch c.n {
		case 0:
			want = mad.StatusNoRecords
		case 1:
			want = mad.StatusOK
		}
		if p := ask(t, a, get(c.attr, c.comps, c.rec)); p.Status() != want {
			t.Errorf("%s: Get is answered %v, want %v", c.name, p.Status(), want)
		}
	}
}

// An SLtoVLMappingTable is that of the pair of ports, as it was read, and zeroes where it was
// not.
func TestSLtoVLRecords(t *testing.T) {
	a := asCaptured(t)
	table := func(fill uint8) []byte { return slices.Repeat([]byte{fill}, 64) }
	var ports device.Ports
	ports.Read(
		device.Place{Attr: smp.AttrSLtoVLMappingTable,
			Node: a.view.Topo.Nodes[a.view.Topo.Ports[a.view.LIDs.PortOf(2)].Node].GUID, Port: 3},
		slices.Concat(table(1), table(2), table(3), table(4)), []int{2})
	host := a.view.Topo.Ports[a.view.LIDs.PortOf(4)]
	ports.Read(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: a.view.Topo.Nodes[host.Node].GUID, Port: host.Num},
		table(9), nil)
	v := *a.view
	v.Ports = &ports
	a = New(&v, nil)
	for _, c := range []struct {
		lid, in, out uint8
		want         uint8
	}{{2, 0, 3, 1}, {2, 1, 3, 2}, {2, 2, 3, 0}, {2, 3, 3, 4}, {2, 4, 3, 0}, {2, 1, 4, 0}, {2, 3, 1, 0}, {3, 1, 3, 0},
		{4, 0, 0, 9}, {1, 0, 0, 0}} {
		p := ask(t, a, get(sarec.AttrSLtoVLMappingTableRecord, sarec.SLtoVLLID|sarec.SLtoVLInputPortNum|
			sarec.SLtoVLOutputPortNum, []byte{0, c.lid, c.in, c.out}))
		want := append([]byte{0, c.lid, c.in, c.out, 0, 0, 0, 0}, table(c.want)[:8]...)
		if got := p.SAData()[:16]; p.Status() != mad.StatusOK || !bytes.Equal(got, want) {
			t.Errorf("LID %d, %d to %d: %v, %x, want %x", c.lid, c.in, c.out, p.Status(), got, want)
		}
	}
}

// P_Keys are for the trusted.
func TestPKeyTableRecords(t *testing.T) {
	a := asCaptured(t)
	ext := &a.view.Topo.Ports[a.view.Topo.FindPort(sw1)+1]
	ext.PKeys = nil // as that of a switch's port mostly is
	if p := ask(t, a, get(sarec.AttrPKeyTableRecord, 0, nil)); p.Status() != mad.StatusReqInvalid {
		t.Errorf("untrusted: %v", p.Status())
	}
	if head, records := askTable(t, a,
		getTable(sarec.AttrPKeyTableRecord, 0, nil)); head.Status() != mad.StatusReqInvalid || len(records) != 0 {
		t.Errorf("untrusted: %v, %d records", head.Status(), len(records))
	}
	var want sarec.PKeyTableRecord
	want.SetLID(2)
	if _, records := askTable(t, a, trust(getTable(sarec.AttrPKeyTableRecord, sarec.PKeyTableLID, want[:]))); len(
		records) != 1+7*2 {
		t.Errorf("%d records of a switch: port 0, and two blocks of the ports but one", len(records))
	}
	sum := 0
	for lid := mad.LID(1); lid < 10; lid++ {
		want.SetLID(lid)
		_, records := askTable(t, a, trust(getTable(sarec.AttrPKeyTableRecord, sarec.PKeyTableLID, want[:])))
		sum += len(records)
	}
	if _, records := askTable(t, a, trust(getTable(sarec.AttrPKeyTableRecord, 0, nil))); len(records) != sum {
		t.Errorf("%d records of the subnet, %d of its LIDs together", len(records), sum)
	}
	want.SetLID(4)
	want.SetBlockNum(9)
	if p := ask(t, a,
		trust(get(sarec.AttrPKeyTableRecord, sarec.PKeyTableLID|sarec.PKeyTableBlockNum,
			want[:]))); p.Status() != mad.StatusNoRecords {
		t.Errorf("a block beyond the table: %v", p.Status())
	}
}

// Ports that share no P_Key with the requester are hidden, and so are their links.
func TestHiddenPorts(t *testing.T) {
	a := asCaptured(t)
	apart := topo.NewPKeyTable([]mad.PKey{0x8005})
	a.view.Topo.Ports[a.view.Topo.FindPort(h4)].PKeys = apart
	counts := func(lid mad.LID) (n []int) {
		for _, attr := range []mad.AttrID{sarec.AttrNodeRecord, sarec.AttrPortInfoRecord, sarec.AttrLinkRecord,
			sarec.AttrSwitchInfoRecord, sarec.AttrVLArbitrationTableRecord} {
			_, records := askTable(t, a, from(getTable(attr, 0, nil), lid))
			n = append(n, len(records))
		}
		return n
	}
	all, one := counts(5), counts(6)
	for i, want := range []struct{ all, one int }{{5, 1}, {21, 1}, {8, 0}, {2, 0}, {84, 4}} {
		if all[i] != want.all || one[i] != want.one {
			t.Errorf("attribute %d: %d and for the one %d records, want %+v", i, all[i], one[i], want)
		}
	}
}

// No attribute allocates for a Get.
func TestGetDoesNotAllocate(t *testing.T) {
	a := asCaptured(t)
	var out mad.Datagram
	var stats Stats
	for _, attr := range tableAttrs {
		in := trust(get(attr, 0, nil))
		if n := testing.AllocsPerRun(10, func() { a.Answer(in, &out, &stats) }); n != 0 {
			t.Errorf("%s: %v allocations", sarec.AttrName(attr), n)
		}
	}
}
