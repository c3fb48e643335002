package sa

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// getTable is a GetTable of H3.
func getTable(attr mad.AttrID, comps mad.ComponentMask, rec []byte) *mad.Datagram {
	d := get(attr, comps, rec)
	d.Packet.SetMethod(mad.MethodGetTable)
	return d
}

// askTable is the answer to a GetTable, cut into records.
func askTable(t *testing.T, a *Responder, in *mad.Datagram) (head *mad.Packet, records [][]byte) {
	t.Helper()
	if !IsTable(&in.Packet) {
		t.Fatalf("GetTable(%s) is not served", sarec.AttrName(in.Packet.AttrID()))
	}
	var out mad.Datagram
	table, ok := a.Table(t.Context(), in, &out, new(Stats))
	if !ok || out.Addr != in.Addr || out.TimedOut {
		t.Fatalf("%s: answered %v, to %+v", sarec.AttrName(in.Packet.AttrID()), ok, out.Addr)
	}
	size := int(out.Packet.AttributeOffset()) * 8
	if size == 0 && len(table) > 0 || size > 0 && len(table)%size != 0 {
		t.Fatalf("%s: %d bytes of records of %d", sarec.AttrName(in.Packet.AttrID()), len(table), size)
	}
	if size > 0 {
		records = slices.Collect(slices.Chunk(table, size))
	}
	return &out.Packet, records
}

// OpenSM's answer to a table of one path is ours, byte for byte but for the RMPP header,
// which OpenSM leaves to the kernel.
func TestTableGolden(t *testing.T) {
	v := newView(t)
	for i := range v.Topo.Ports { // 4x HDR
		info := &v.Topo.Ports[i].Info
		info.SetCapabilityMask(smp.IsExtendedSpeedsSupported)
		info.SetLinkSpeedExtActive(4)
	}
	in := &mad.Datagram{Addr: mad.Addr{LID: 5, QPN: 1}, Packet: madtest.Packet(t, "umad-path-record-get-table")}
	head, records := askTable(t, New(v, nil), in)
	want := madtest.Packet(t, "umad-path-record-get-table-resp")
	want.ClearRMPP()
	want.SetTID(in.Packet.TID()) // the kernel has put the number of the asker's agent there
	if got := *head; len(records) != 1 || !bytes.Equal(records[0], want.SAData()[:64]) ||
		[56]byte(got[:56]) != [56]byte(want[:56]) {
		t.Errorf("%d records\n%x\n%x, want\n%x", len(records), got[:56], records, want[:120])
	}
}

// Records come in the order of node GUIDs and ports, those of managers with our own in
// front.
func TestTableOrder(t *testing.T) {
	a := New(newView(t), nil)
	_, nodes := askTable(t, a, getTable(sarec.AttrNodeRecord, 0, nil))
	var lids []mad.LID
	for _, r := range nodes {
		lids = append(lids, (*sarec.NodeRecord)(r).LID())
	}
	if want := []mad.LID{1, 4, 5, 6, 2, 3}; !slices.Equal(lids, want) {
		t.Errorf("NodeRecords of LIDs %v, want %v", lids, want)
	}

	type at struct {
		lid mad.LID
		num uint8
	}
	var ports, want []at
	_, infos := askTable(t, a, getTable(sarec.AttrPortInfoRecord, 0, nil))
	for _, r := range infos {
		ports = append(ports, at{(*sarec.PortInfoRecord)(r).EndportLID(), (*sarec.PortInfoRecord)(r).PortNum()})
	}
	for _, host := range []mad.LID{1, 4, 5, 6} {
		want = append(want, at{host, 1})
	}
	for _, sw := range []mad.LID{2, 3} {
		for num := range uint8(9) {
			want = append(want, at{sw, num})
		}
	}
	if !slices.Equal(ports, want) {
		t.Errorf("PortInfoRecords of\n%v, want\n%v", ports, want)
	}

	_, sms := askTable(t, a, getTable(sarec.AttrSMInfoRecord, 0, nil))
	if len(sms) != 2 || (*sarec.SMInfoRecord)(sms[0]).GUID() != h1 || (*sarec.SMInfoRecord)(sms[1]).GUID() != h4 {
		t.Errorf("SMInfoRecords %x", sms)
	}
	if _, links := askTable(t, a, getTable(sarec.AttrLinkRecord, 0, nil)); len(links) != 10 {
		t.Errorf("%d LinkRecords of 5 links", len(links))
	}

	var ends [][2]mad.LID
	_, paths := askTable(t, a, getTable(sarec.AttrPathRecord, 0, nil))
	for _, r := range paths {
		ends = append(ends, [2]mad.LID{(*sarec.PathRecord)(r).SLID(), (*sarec.PathRecord)(r).DLID()})
	}
	var wantEnds [][2]mad.LID
	byGUID := []mad.LID{1, 4, 5, 6, 2, 3}
	for _, dst := range byGUID {
		for _, src := range byGUID {
			wantEnds = append(wantEnds, [2]mad.LID{src, dst})
		}
	}
	if !slices.Equal(ends, wantEnds) {
		t.Errorf("PathRecords of\n%v, want\n%v", ends, wantEnds)
	}
}

// A table has what single Gets of its records give.
func TestTableEqualsGets(t *testing.T) {
	a := New(newView(t), nil)
	for attr, key := range map[mad.AttrID]mad.ComponentMask{
		sarec.AttrNodeRecord:     sarec.NodeLID,
		sarec.AttrPortInfoRecord: sarec.PortInfoEndportLID | sarec.PortInfoPortNum,
		sarec.AttrSMInfoRecord:   sarec.SMInfoLID,
		sarec.AttrLinkRecord:     sarec.LinkFromLID | sarec.LinkFromPort,
		sarec.AttrPathRecord:     sarec.PathSLID | sarec.PathDLID,
	} {
		_, records := askTable(t, a, getTable(attr, 0, nil))
		if len(records) == 0 {
			t.Errorf("%s: none", sarec.AttrName(attr))
		}
		for _, r := range records {
			p := ask(t, a, get(attr, key, r))
			if p.Status() != mad.StatusOK || !bytes.Equal(p.SAData()[:len(r)], r) ||
				int(p.AttributeOffset())*8 != len(r) {
				t.Errorf("%s: %v\n%x, in the table\n%x", sarec.AttrName(attr), p.Status(), p.SAData()[:len(r)], r)
			}
		}
	}
}

// What matches nothing is a table without records; what is refused is no table.
func TestTableStatuses(t *testing.T) {
	a := New(newView(t), nil)
	var node sarec.NodeRecord
	node.SetLID(99)
	var path, halfID, twoEnds sarec.PathRecord
	path.SetDGID(mad.MakeGID(mad.DefaultPrefix, 0x42))
	twoEnds.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
	twoEnds.SetSLID(5)
	for _, c := range []struct {
		name   string
		in     *mad.Datagram
		status mad.Status
	}{
		{"NodeRecord", getTable(sarec.AttrNodeRecord, sarec.NodeLID, node[:]), 0},
		{"path to nobody", getTable(sarec.AttrPathRecord, sarec.PathDGID, path[:]), 0},
		{"no paths asked for", getTable(sarec.AttrPathRecord, sarec.PathNumbPath, nil), 0},
		{"half a ServiceID", getTable(sarec.AttrPathRecord, sarec.PathServiceIDLow, halfID[:]),
			mad.StatusReqInsufficient},
		{"SGID and SLID of two ports", getTable(sarec.AttrPathRecord, sarec.PathSGID|sarec.PathSLID, twoEnds[:]),
			mad.StatusReqInvalid},
	} {
		c.in.Packet.SetAttributeOffset(14)
		want := c.in.Packet
		want.SetMethod(mad.MethodGetTableResp)
		want.SetStatus(c.status)
		want.SetAttributeOffset(0)
		if c.status == mad.StatusOK {
			clear(want.SAData()[:])
		}
		if head, records := askTable(t, a, c.in); *head != want || records != nil {
			t.Errorf("%s: %v, %d records\n%x, want\n%x", c.name, head.Status(), len(records), *head, want)
		}
	}
}

func TestIsTable(t *testing.T) {
	other := getTable(sarec.AttrNodeRecord, 0, nil)
	other.Packet[2]++ // class version
	for _, c := range []struct {
		in   *mad.Datagram
		want bool
	}{
		{getTable(sarec.AttrNodeRecord, 0, nil), true},
		{getTable(sarec.AttrLinkRecord, 0, nil), true},
		{getTable(sarec.AttrClassPortInfo, 0, nil), false},
		{getTable(sarec.AttrInformInfo, 0, nil), false},
		{get(sarec.AttrNodeRecord, 0, nil), false},
		{other, false},
	} {
		if got := IsTable(&c.in.Packet); got != c.want {
			t.Errorf("%v of %s: %v", c.in.Packet.Method(), sarec.AttrName(c.in.Packet.AttrID()), got)
		}
	}
}

// Silence has the same reasons as for a Get, and is counted.
func TestTableSilence(t *testing.T) {
	var out mad.Datagram
	var stats Stats
	in := getTable(sarec.AttrNodeRecord, 0, nil)
	if _, ok := (*Responder)(nil).Table(t.Context(), in, &out, &stats); ok {
		t.Error("answered by nobody")
	}
	in.LID = 99
	if _, ok := New(newView(t), nil).Table(t.Context(), in, &out, &stats); ok {
		t.Error("answered to nobody")
	}
	for d, n := range stats.Drops() {
		if want := d == DropNotMaster || d == DropUnknownRequester; want != (n == 1) {
			t.Errorf("%d counted as %q", n, d)
		}
	}
}

func TestTableIsBounded(t *testing.T) {
	res := result{table: true, data: make([]byte, MaxTable-64)}
	if !res.add(make([]byte, 64)) || res.status() != mad.StatusOK {
		t.Error("refused what there is room for")
	}
	if res.add(make([]byte, 8)) || res.status() != mad.StatusNoResources || res.data != nil {
		t.Errorf("%v beyond the limit, %d bytes kept", res.status(), len(res.data))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out mad.Datagram
	if records, _ := New(newView(t), nil).Table(ctx, getTable(sarec.AttrPathRecord, 0, nil), &out,
		new(Stats)); records != nil {
		t.Error("a table that nobody waits for any more")
	}
}

// Whatever 256 bytes ask for a table, there is no panic, and records are whole.
func FuzzTable(f *testing.F) {
	a := New(newView(f), nil)
	for _, attr := range attrs {
		f.Add(getTable(attr, 0, nil).Packet[:])
		f.Add(getTable(attr, ^mad.ComponentMask(0), nil).Packet[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := mad.Datagram{Addr: mad.Addr{LID: 5, QPN: 1}}
		copy(in.Packet[:], b)
		if !IsTable(&in.Packet) {
			return
		}
		var out mad.Datagram
		records, ok := a.Table(t.Context(), &in, &out, new(Stats))
		if !ok {
			return
		}
		size := int(out.Packet.AttributeOffset()) * 8
		if out.Packet.Method() != in.Packet.Method()|0x80 || (len(records) == 0) != (size == 0) || size > 0 &&
			len(records)%size != 0 {
			t.Errorf("%v, %d bytes of records of %d", out.Packet.Method(), len(records), size)
		}
		if out.Packet.Status() != mad.StatusOK && records != nil {
			t.Errorf("%v with records", out.Packet.Status())
		}
	})
}

// BenchmarkTableOfPaths asks for every path of 1,024 hosts.
func BenchmarkTableOfPaths(b *testing.B) {
	fabric, err := net.Generate("fattree:k=16")
	if err != nil {
		b.Fatal(err)
	}
	tp, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		b.Fatal(err)
	}
	a := New(withTables(b, tp, topo.SequentialLIDs(tp, 0)), nil)
	in := getTable(sarec.AttrPathRecord, 0, nil)
	var out mad.Datagram
	var records []byte
	b.ReportAllocs()
	for b.Loop() {
		records, _ = a.Table(b.Context(), in, &out, new(Stats))
	}
	b.SetBytes(int64(len(records)))
	b.ReportMetric(float64(len(records)/64), "records")
}
