package sa

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/topo"
)

// GUIDs of vPorts behind h2: vA of tenant 1 and vB of tenant 2 share its LID, vC of tenant 1 has LID 9.
const (
	vA mad.GUID = 0xf1
	vB mad.GUID = 0xf2
	vC mad.GUID = 0xf3
)

// vPorts are those of the subnet of newHarness, each behind a port; those of 0 are down.
func (d *harness) vPorts(behind map[mad.GUID]mad.GUID) {
	d.Helper()
	keys := map[mad.GUID]mad.PKey{vA: 0x8001, vB: 0x8002, vC: 0x8001}
	v, tp := *d.view, *d.view.Topo
	var list []topo.VPort
	for i, guid := range []mad.GUID{vA, vB, vC} {
		p := topo.VPort{GUID: guid, Index: uint16(i + 1), State: smp.PortActive,
			PKeys: topo.NewPKeyTable([]mad.PKey{keys[guid]}), Port: tp.FindPort(h2)}
		if guid == vC {
			p.LID, p.LIDRequired = 9, true
		}
		if at := behind[guid]; at == 0 {
			p.State = smp.PortDown
		} else {
			p.Port = tp.FindPort(at)
		}
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b topo.VPort) int { return int(a.Port) - int(b.Port) })
	tp.VPorts = topo.NewVPorts(list, nil)
	v.Topo = &tp
	d.view = &v
	d.step(ViewPublished{&v})
}

func withVPorts(t testing.TB) *harness {
	d := newHarness(t)
	d.vPorts(map[mad.GUID]mad.GUID{vA: h2, vB: h2, vC: h2})
	return d
}

// sentAs gives a request the address of a vPort: the LID of its port and a GRH, or its own LID.
func sentAs(in mad.Datagram, lid mad.LID, sgid mad.GUID) mad.Datagram {
	in.Addr.LID = lid
	if sgid != 0 {
		in.Addr.GRH = mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, sgid)}
	}
	return in
}

// joinAs is a join of the broadcast group of partition 1 by a port or vPort.
func (d *harness) joinAs(as mad.GUID, lid mad.LID, sgid mad.GUID) mad.Status {
	var rec sarec.MCMemberRecord
	rec.SetMGID(registry.BroadcastMGID(1, 2))
	rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, as))
	rec.SetJoinState(1)
	in := d.request(h2, mad.MethodSet, sarec.AttrMCMemberRecord, memberComps, rec[:])
	return d.ask(sentAs(in, lid, sgid)).Status()
}

// members are those of that group.
func (d *harness) members() (guids []mad.GUID) {
	for m := range d.reg.Members(registry.BroadcastMGID(1, 2)) {
		guids = append(guids, m.Port.GUID())
	}
	return guids
}

func TestVPortJoins(t *testing.T) {
	for _, c := range []struct {
		name string
		as   mad.GUID
		lid  mad.LID
		sgid mad.GUID
		want mad.Status
	}{
		{"a vPort by the SGID of its GRH", vA, 4, vA, mad.StatusOK},
		{"a vPort by its own LID", vC, 9, 0, mad.StatusOK},
		{"its port speaks for it", vA, 4, 0, mad.StatusOK},
		{"one that is not in the partition", vB, 4, vB, mad.StatusReqInvalid},
		{"for one of another tenant", vA, 4, vB, mad.StatusReqInvalid},
		{"one of another tenant for its port", h2, 4, vB, mad.StatusReqInvalid},
	} {
		d := withVPorts(t)
		if st := d.joinAs(c.as, c.lid, c.sgid); st != c.want {
			t.Errorf("%s: status %v, want %v", c.name, st, c.want)
		}
		want := []mad.GUID(nil)
		if c.want == mad.StatusOK {
			want = []mad.GUID{c.as}
		}
		if got := d.members(); !slices.Equal(got, want) {
			t.Errorf("%s: members %v, want %v", c.name, got, want)
		}
		for m := range d.reg.Members(registry.BroadcastMGID(1, 2)) {
			if m.Proxy {
				t.Errorf("%s: it has joined by proxy", c.name)
			}
		}
	}
}

// A request with a GRH that is of no vPort behind the port of its LID gets no answer.
func TestVPortRequester(t *testing.T) {
	d := withVPorts(t)
	trusting := *d.view
	trusting.Subnet.Trust.CheckSGID = true
	for _, c := range []struct {
		name string
		lid  mad.LID
		sgid mad.GUID
		want Drop // where the SGID is checked
	}{
		{"a vPort of the port", 4, vA, answered},
		{"the port itself", 4, h2, answered},
		{"a vPort by its own LID", 9, vC, answered},
		{"nobody", 4, 0x999, DropUnknownRequester},
		{"another port", 4, h3, DropSpoofed},
		{"a vPort of another port", 5, vA, DropSpoofed},
		{"a vPort that does not have the LID", 9, vA, DropSpoofed},
	} {
		in := sentAs(d.request(h2, mad.MethodGet, sarec.AttrClassPortInfo, 0, nil), c.lid, c.sgid)
		if got := dropOf(New(&trusting, nil), &in); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if got := dropOf(New(d.view, nil), &in); c.lid != 5 && (got == answered) != (c.want == answered) {
			t.Errorf("%s, the SGID is not checked: %v, want %v", c.name, got, c.want)
		}
	}
	stats, in := new(Stats), sentAs(d.request(h2, mad.MethodGet, sarec.AttrNodeRecord, 0, nil), 4, vA)
	New(d.view, nil).TooMany(&in, stats)
	if all, _ := stats.Offenders.All(); len(all) != 1 || all[0].Port != vA {
		t.Errorf("a vPort that asks too often is %+v", all)
	}
	if d.Registrar.responder.Heard([]mad.Datagram{sentAs(d.request(h2, mad.MethodGet, sarec.AttrClassPortInfo, 0, nil),
		4, vA)}) != nil {
		t.Error("a request of a vPort says that its port demands a GRH")
	}
}

// What a vPort registered goes when it has been down for the grace period, and nothing else does.
func TestVPortDown(t *testing.T) {
	d := withVPorts(t)
	d.joinAs(vA, 4, vA)
	d.joinAs(vC, 9, 0)
	d.joinAs(h2, 4, 0)
	d.vPorts(map[mad.GUID]mad.GUID{vB: h2, vC: h2})
	d.wait(4 * time.Minute)
	if got, want := d.members(), []mad.GUID{vA, vC, h2}; !slices.Equal(got, want) {
		t.Errorf("before the grace period has ended: members %v, want %v", got, want)
	}
	d.wait(2 * time.Minute)
	if got, want := d.members(), []mad.GUID{vC, h2}; !slices.Equal(got, want) {
		t.Errorf("after the grace period: members %v, want %v", got, want)
	}
}

// A function that comes up behind another port keeps what it registered; where it was, it has forgotten it.
func TestVPortMoves(t *testing.T) {
	d := withVPorts(t)
	d.joinAs(vA, 4, vA)
	d.vPorts(map[mad.GUID]mad.GUID{vB: h2, vC: h2})
	d.wait(time.Minute)
	d.step(PortsReset{VPorts: []VPortAt{{vA, h3}}})
	d.vPorts(map[mad.GUID]mad.GUID{vA: h3, vB: h2, vC: h2})
	d.wait(time.Hour)
	if got := d.members(); !slices.Equal(got, []mad.GUID{vA}) {
		t.Fatalf("after it has moved: members %v, want %v", got, vA)
	}
	d.step(PortsReset{VPorts: []VPortAt{{vA, h3}}})
	if got := d.members(); len(got) != 0 {
		t.Errorf("after a reset: members %v, want none", got)
	}
}

// Reports to a vPort that shares a LID have a GRH, also after it has moved.
func TestReportsToVPorts(t *testing.T) {
	for _, c := range []struct {
		name string
		at   mad.GUID
		lid  mad.LID
	}{
		{"where it subscribed", h2, 4}, {"after it has moved", h3, 5},
	} {
		d := withVPorts(t)
		info := everything(1)
		d.ask(sentAs(d.request(h2, mad.MethodSet, sarec.AttrInformInfo, 0, info[:]), 4, vA))
		if c.at != h2 {
			d.vPorts(map[mad.GUID]mad.GUID{vA: c.at, vB: h2, vC: h2})
		}
		d.joinAs(vC, 9, 0)
		i := slices.IndexFunc(d.sent, func(out mad.Datagram) bool { return out.Packet.Method() == mad.MethodReport })
		if i < 0 {
			t.Errorf("%s: no Report", c.name)
			continue
		}
		if to := d.sent[i].Addr; to.LID != c.lid || !to.GRH.Present || to.GRH.GID.GUID() != vA {
			t.Errorf("%s: a Report to %+v, want one to LID %v with a GRH to %v", c.name, to, c.lid, vA)
		}
	}
}

// A vPort may not change the GUIDs of its port.
func TestVPortGUIDs(t *testing.T) {
	d := withVPorts(t)
	var rec sarec.GUIDInfoRecord
	rec.SetLID(4)
	rec.GUIDInfo().SetGUID(1, 0x777)
	comps := sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum | sarec.GUIDInfoGUID0<<1
	for _, c := range []struct {
		name      string
		from, lid mad.LID
		sgid      mad.GUID
		want      mad.Status
	}{
		{"a vPort", 4, 4, vA, mad.StatusReqDenied}, {"a vPort with a LID of its own", 9, 9, 0, mad.StatusReqDenied},
		{"the port", 4, 4, 0, mad.StatusOK},
	} {
		rec.SetLID(c.lid)
		in := d.request(h2, mad.MethodSet, sarec.AttrGUIDInfoRecord, comps, rec[:])
		if st := d.ask(sentAs(in, c.from, c.sgid)).Status(); st != c.want {
			t.Errorf("%s: status %v, want %v", c.name, st, c.want)
		}
	}
}

// vPorts with a LID of their own have records of nodes and ports where the settings say so, and no others. Who shares
// no P_Key with one does not see its records.
func TestVPortRecords(t *testing.T) {
	const vNode mad.GUID = 0xe3
	d := withVPorts(t)
	port := d.view.Topo.FindPort(h2)
	list := d.view.Topo.VPorts.List
	for i := range list {
		list[i].Node, list[i].PartitionCap = list[i].GUID-vC+vNode, 16
	}
	d.view.Topo.Ports[port].Info.SetMKey(0x77)
	d.view.Topo.Ports[port].Info.SetCapabilityMask(d.view.Topo.Ports[port].Info.CapabilityMask() | smp.IsSM)
	h3At := d.view.Topo.FindPort(h3)
	d.view.Topo.Ports[h3At].PKeys = topo.NewPKeyTable([]mad.PKey{0x8002}) // not vC's
	on := *d.view
	on.VPorts.Records = true
	node := func(set func(r *sarec.NodeRecord)) []byte {
		var rec sarec.NodeRecord
		set(&rec)
		return rec[:]
	}
	byLID := node(func(r *sarec.NodeRecord) { r.SetLID(9) })
	byGUID := node(func(r *sarec.NodeRecord) { r.SetPortGUID(vC) })
	var info sarec.PortInfoRecord
	info.SetEndportLID(9)
	for _, c := range []struct {
		name    string
		from    mad.GUID
		attr    mad.AttrID
		comps   mad.ComponentMask
		data    []byte
		on, off int // records
	}{
		{"NodeRecord by LID", h2, sarec.AttrNodeRecord, sarec.NodeLID, byLID, 1, 0},
		{"NodeRecord by GUID", h2, sarec.AttrNodeRecord, sarec.NodePortGUID, byGUID, 1, 0},
		{"NodeRecord by node", h2, sarec.AttrNodeRecord, sarec.NodeNodeGUID,
			node(nodeInfo(func(n *smp.NodeInfo) { n.SetNodeGUID(vNode) })), 1, 0},
		{"NodeRecord by GUID of one that shares a LID", h2, sarec.AttrNodeRecord, sarec.NodePortGUID,
			node(func(r *sarec.NodeRecord) { r.SetPortGUID(vA) }), 0, 0},
		{"NodeRecord by GUID and another LID", h2, sarec.AttrNodeRecord, sarec.NodePortGUID | sarec.NodeLID,
			node(func(r *sarec.NodeRecord) { r.SetPortGUID(vC); r.SetLID(4) }), 0, 0},
		{"all NodeRecords", h2, sarec.AttrNodeRecord, 0, nil, 3, 2},
		{"NodeRecord, no common P_Key", h3, sarec.AttrNodeRecord, sarec.NodeLID, byLID, 0, 0},
		{"PortInfoRecord by LID", h2, sarec.AttrPortInfoRecord, sarec.PortInfoEndportLID, info[:], 1, 0},
		{"PortInfoRecord, no common P_Key", h3, sarec.AttrPortInfoRecord, sarec.PortInfoEndportLID, info[:], 0, 0},
	} {
		in := d.request(c.from, mad.MethodGetTable, c.attr, c.comps, c.data)
		var out mad.Datagram
		for _, set := range []struct {
			a    *Responder
			want int
		}{{New(&on, nil), c.on}, {New(d.view, nil), c.off}} {
			records, ok := set.a.Table(t.Context(), &in, &out, new(Stats))
			got := 0
			if size := int(out.Packet.AttributeOffset()) * 8; size > 0 {
				got = len(records) / size
			}
			if !ok || got != set.want {
				t.Errorf("%s: %d records, want %d (answered: %t)", c.name, got, set.want, ok)
			}
		}
	}

	in := d.request(h2, mad.MethodGet, sarec.AttrNodeRecord, sarec.NodeLID, byLID)
	p := ask(t, New(&on, nil), &in)
	rec := (*sarec.NodeRecord)(p.SAData()[:112])
	ni := rec.NodeInfo()
	if rec.LID() != 9 || rec.PortGUID() != vC || rec.NodeGUID() != vNode || ni.PartitionCap() != 16 ||
		ni.NodeType() != mad.CA || *rec.NodeDescription() != d.view.Topo.Nodes[d.view.Topo.Ports[port].Node].Desc {
		t.Errorf("a NodeRecord with LID %v, port %v, node %v, %d P_Keys, description %q", rec.LID(), rec.PortGUID(),
			rec.NodeGUID(), ni.PartitionCap(), rec.NodeDescription()[:])
	}
	in = d.request(h2, mad.MethodGet, sarec.AttrPortInfoRecord, sarec.PortInfoEndportLID, info[:])
	in.Packet.SetSMKey(on.Subnet.SAKey)
	p = ask(t, New(&on, nil), &in)
	pi := (*sarec.PortInfoRecord)(p.SAData()[:72]).PortInfo()
	if pi.LID() != 9 || pi.LMC() != 0 || pi.PortState() != smp.PortActive || pi.MKey() != 0 ||
		pi.CapabilityMask().Has(smp.IsSM) || pi.LinkWidthActive() != d.view.Topo.Ports[port].Info.LinkWidthActive() {
		t.Errorf("a PortInfoRecord with LID %v, LMC %d, %v, M_Key %v, capabilities %v, width %v", pi.LID(), pi.LMC(),
			pi.PortState(), pi.MKey(), pi.CapabilityMask(), pi.LinkWidthActive())
	}
}
