package server

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/topo"
	"ibsm/view"
)

// GUIDs of vPorts: vA and vC share LIDs, vD has LID 200. Those of host-03 are left as they were found.
const (
	vA    mad.GUID = 0x0200000000000001
	vC    mad.GUID = 0x0200000000000003
	vD    mad.GUID = 0x0200000000000004
	vE    mad.GUID = 0x0200000000000005
	vLID  mad.LID  = 200
	vMore mad.GUID = 0x02000000000000aa // a further one of vA
)

// hostPort is the port of a host.
func hostPort(t testing.TB, v *view.View, name string) topo.PortIdx {
	t.Helper()
	for _, p := range v.Topo.EndPorts {
		if ctl.HostName(v.Topo.Nodes[v.Topo.Ports[p].Node].Desc.String()) == name {
			return p
		}
	}
	t.Fatalf("no host %s", name)
	return topo.None
}

func viewWithVPorts(t testing.TB) *view.View {
	t.Helper()
	v := newView(t, "fattree:k=4")
	p1, p2, p3 := hostPort(t, v, "host-01"), hostPort(t, v, "host-02"), hostPort(t, v, "host-03")
	for _, p := range v.Topo.EndPorts {
		v.Topo.Ports[p].Info.SetPortState(smp.PortActive)
		if peer := v.Topo.Ports[p].Peer; peer != topo.None {
			v.Topo.Ports[peer].Info.SetPortState(smp.PortActive)
		}
	}
	keys := func(k ...mad.PKey) *topo.PKeyTable { return topo.NewPKeyTable(k) }
	list := []topo.VPort{
		{GUID: v.Topo.Ports[p1].GUID, Port: p1, State: smp.PortActive},
		{GUID: vA, Node: 0x77, Port: p1, Index: 1, State: smp.PortActive, PKeys: keys(0xffff, 0x8001),
			PartitionCap: 16},
		{Port: p1, Index: 2, State: smp.PortDown, Waits: topo.WaitsForGUID},
		{GUID: vC, Port: p1, Index: 3, State: smp.PortDown, Waits: topo.WaitsForDriver},
		{GUID: vD, Port: p2, Index: 1, State: smp.PortActive, LID: vLID, LIDRequired: true, PKeys: keys(0x8002),
			PartitionCap: 16},
		{GUID: vA, Port: p2, Index: 2, State: smp.PortInit, Elsewhere: true, Waits: topo.WaitsForOwner},
		{GUID: vE, Port: p3, Index: 1, State: smp.PortInit, Waits: topo.LeftAsFound},
	}
	hosts := []topo.VHost{{Port: p1, Cap: 128, Top: 3, Enabled: true}, {Port: p2, Cap: 128, Top: 2, Enabled: true},
		{Port: p3, Cap: 128, Top: 1, Left: "its VirtualizationInfo has revision 7"},
		{Port: hostPort(t, v, "host-04"), Cap: 128}}
	byPort := func(a, b topo.VPort) int { return int(a.Port) - int(b.Port) }
	order := slices.SortedStableFunc(slices.Values(list), byPort)
	slices.SortFunc(hosts, func(a, b topo.VHost) int { return int(a.Port) - int(b.Port) })
	at := slices.IndexFunc(order, func(p topo.VPort) bool { return p.GUID == vA && p.Index == 1 })
	v.Topo.VPorts = topo.NewVPorts(order, map[topo.VPortIdx][]mad.GUID{topo.VPortIdx(at): {vMore}}).WithHosts(hosts)
	for i, row := range v.Tables.LFT {
		for len(row) <= int(vLID) {
			row = append(row, 0xff)
		}
		row[vLID] = row[v.LIDs.Base[p2]]
		v.Tables.LFT[i] = row
	}
	v.VPorts = view.VPorts{HopLimit: 2}
	return v
}

// TestVPortRows: a row for each vPort, but for those of physical functions, with what keeps it down.
func TestVPortRows(t *testing.T) {
	v := viewWithVPorts(t)
	s := newSubnet(v, nil)
	for _, c := range []struct {
		filter ctl.Filter
		want   []string // host, index, GUID, state, reason
	}{
		{ctl.Filter{}, []string{
			"host-01 1 0x0200000000000001 Active ",
			"host-01 2 0x0000000000000000 Down its GUID is zero",
			"host-01 3 0x0200000000000003 Down its link policy keeps it down, or its host has no driver for it",
			"host-02 1 0x0200000000000004 Active ",
			"host-02 2 0x0200000000000001 Initialize its GUID is in use elsewhere",
			"host-03 1 0x0200000000000005 Initialize it is left as it was found: its VirtualizationInfo has revision 7",
		}},
		{ctl.Filter{Name: "host-01", State: "Active"}, []string{"host-01 1 0x0200000000000001 Active "}},
		{ctl.Filter{Name: "host-0[1-2]", State: "Initialize"}, []string{
			"host-02 2 0x0200000000000001 Initialize its GUID is in use elsewhere"}},
		{ctl.Filter{Name: vMore.String()}, []string{"host-01 1 0x0200000000000001 Active "}},
		{ctl.Filter{Name: "fe80::200:0:0:1"}, []string{"host-01 1 0x0200000000000001 Active ",
			"host-02 2 0x0200000000000001 Initialize its GUID is in use elsewhere"}},
		{ctl.Filter{Name: v.Topo.Ports[hostPort(t, v, "host-03")].GUID.String()}, []string{
			"host-03 1 0x0200000000000005 Initialize it is left as it was found: its VirtualizationInfo has revision 7"}},
	} {
		var got []string
		for _, r := range rows[ctl.VPort](t, s, ctl.VPorts, c.filter) {
			got = append(got, fmt.Sprint(r.Host, " ", r.Index, " ", r.GUID, " ", r.State, " ", r.Reason))
			if (r.Reason != "") != (r.Do != "") {
				t.Errorf("%s: reason %q, but what to do is %q", r.GUID, r.Reason, r.Do)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v:\n%s\nwant\n%s", c.filter, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	one := rows[ctl.VPort](t, s, ctl.VPorts, ctl.Filter{Name: vA.String()})[0]
	base := v.LIDs.Base[hostPort(t, v, "host-01")]
	if one.LID != base || !one.Shared || !slices.Equal(one.PKeys, []string{"0xffff", "0x8001"}) ||
		!slices.Equal(one.Further, []string{vMore.String()}) || one.Port.Port != 1 || one.Node == "" {
		t.Errorf("%+v", one)
	}
	if own := rows[ctl.VPort](t, s, ctl.VPorts, ctl.Filter{Name: vD.String()})[0]; own.LID != vLID || own.Shared {
		t.Errorf("with a LID of its own: %+v", own)
	}
	if st := s.status.VPorts; st["Active"] != 2 || st["Initialize"] != 2 || st["Down"] != 2 {
		t.Errorf("by state: %v", st)
	}
}

// TestVPortsMissing: what has no vPorts says why.
func TestVPortsMissing(t *testing.T) {
	for _, c := range []struct {
		name, want string
		edit       func(v *view.View)
	}{
		{"host-04", "sriov_numvfs is 0", nil},
		{"host-05", "no virtualization firmware", nil},
		{"host-05", "has not been asked", func(v *view.View) { v.VPorts.Unread = true }},
		{"host-05", "the manager ignores virtualization: virt_enabled",
			func(v *view.View) { v.VPorts.Ignored, v.Topo.VPorts = true, nil }},
		{"host-99", "no host is named", nil},
		{"0x0200000000000099", "no vPort, port or node has GUID", nil},
		{"0x0200000000000001", "the manager ignores virtualization: virt_enabled",
			func(v *view.View) { v.VPorts.Ignored, v.Topo.VPorts = true, nil }},
	} {
		v := viewWithVPorts(t)
		if c.edit != nil {
			c.edit(v)
		}
		_, err := newSubnet(v, nil).Rows(ctl.VPorts, ctl.Filter{Name: c.name})
		if !errors.Is(err, ctl.ErrNotFound) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	v := viewWithVPorts(t)
	v.VPorts.Ignored, v.Topo.VPorts = true, nil
	if _, err := newSubnet(v, nil).Diagnose(vA.String(), ""); err == nil ||
		!strings.Contains(err.Error(), "the manager ignores virtualization: virt_enabled") {
		t.Errorf("why: %v", err)
	}
}

// TestVPortDiagnoses: why a vPort is not Active, by its GUID; two with one GUID are two.
func TestVPortDiagnoses(t *testing.T) {
	v := viewWithVPorts(t)
	p1 := hostPort(t, v, "host-01")
	v.Findings = append(v.Findings, finding.Finding{Kind: finding.VPortLeft, Port: 1,
		Node: v.Topo.Nodes[v.Topo.Ports[p1].Node].GUID, Detail: "vPort 3, " + vC.String() + ": no LID is left for it"})
	s := newSubnet(v, nil)
	for guid, want := range map[mad.GUID][]string{
		vA: {"Active true ", "Initialize false its GUID is in use elsewhere"},
		vC: {"Down false its link policy keeps it down, or its host has no driver for it"},
		vE: {"Initialize false it is left as it was found: its VirtualizationInfo has revision 7"},
	} {
		all, err := s.Diagnose(guid.String(), "")
		if err != nil {
			t.Errorf("%v: %v", guid, err)
			continue
		}
		var got []string
		for d := range all {
			text := ""
			if len(d.Reasons) > 0 {
				text = d.Reasons[0].Text
			}
			got = append(got, fmt.Sprint(d.State, " ", d.Works, " ", text))
			if d.Port.VPort != guid.String() {
				t.Errorf("%v: the port is %+v", guid, d.Port)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %q, want %q", guid, got, want)
		}
	}
	all, _ := s.Diagnose(vC.String(), "")
	for d := range all {
		if len(d.Reasons) != 2 || !strings.Contains(d.Reasons[1].Text, "no LID is left for it") {
			t.Errorf("with a finding about it: %+v", d.Reasons)
		}
	}
	listed := false
	all, _ = s.Diagnose("", "")
	for d := range all {
		listed = listed || strings.HasPrefix(d.Port.Desc, "host-01")
	}
	if !listed {
		t.Error("a port with a finding about a vPort is not listed")
	}
}

// TestVPortPaths: paths from and to vPorts go by their LIDs, and say where a GRH is needed; P_Keys are those of the
// vPorts.
func TestVPortPaths(t *testing.T) {
	v := viewWithVPorts(t)
	s := newSubnet(v, nil)
	base := v.LIDs.Base[hostPort(t, v, "host-01")]
	for _, c := range []struct {
		from, to string
		dlid     mad.LID
		grh      bool
	}{
		{"host-05", vA.String(), base, true}, {"host-05", vMore.String(), base, true},
		{vA.String(), vD.String(), vLID, false}, {vA.String(), "200", vLID, false}, {"host-05", vC.String(), base, true},
	} {
		p, err := s.Path(c.from, c.to)
		if err != nil || !p.Arrived || p.DLID != c.dlid || p.GRH != c.grh || p.To.VPort == "" ||
			(p.From.VPort != "") != (c.from == vA.String()) {
			t.Errorf("%s to %s: %+v, %v", c.from, c.to, p, err)
		}
	}
	for _, p := range v.Topo.EndPorts {
		v.Topo.Ports[p].PKeys = topo.NewPKeyTable([]mad.PKey{0x8001})
	}
	s = newSubnet(v, nil)
	ask := &ctl.PathRequest{}
	a, err := s.PathRecord("host-05", vA.String(), ask)
	if err != nil || !a.Found || a.PKey != "0x8001" || a.HopLimit != 2 {
		t.Errorf("path record to a vPort: %+v, %v", a, err)
	}
	if a, err := s.PathRecord("host-05", vD.String(), ask); err != nil || a.Found ||
		a.Reason != "the ports share no P_Key" {
		t.Errorf("path record to a vPort of another tenant: %+v, %v", a, err)
	}
	d := ctltest.Diagnose(t, s, vA.String(), vD.String())
	if d.Works || len(d.Reasons) == 0 || d.Reasons[0].Kind != "no common P_Key" ||
		!strings.Contains(d.Reasons[0].Text, `"host-01 mlx5_0" port 1 vPort 1`) {
		t.Errorf("between tenants: %+v", d)
	}
	if d := ctltest.Diagnose(t, s, "host-05", vA.String()); !d.Works {
		t.Errorf("host-05 to a vPort of its tenant: %+v", d)
	}
	d = ctltest.Diagnose(t, s, "host-05", vC.String())
	if d.Works || len(d.Reasons) == 0 || !strings.Contains(d.Reasons[0].Text, "its link policy keeps it down") {
		t.Errorf("host-05 to a vPort that is down: %+v", d)
	}
}

// TestVPortsAsMembers: a vPort is a member of partitions by its GUID, with its own P_Keys.
func TestVPortsAsMembers(t *testing.T) {
	v := viewWithVPorts(t)
	policy := &partitions.Policy{Partitions: []partitions.Partition{
		{Name: "Default", Key: partitions.DefaultKey, Members: []partitions.Member{
			{Who: partitions.All, Membership: partitions.Full}}},
		{Name: "one", Key: 1, Members: []partitions.Member{
			{Who: partitions.OnePort, Port: vA, Membership: partitions.Full},
			{Who: partitions.InRange, Port: vD, Last: vE, Membership: partitions.Limited}}},
		{Name: "functions", Key: 3, Members: []partitions.Member{{Who: partitions.AllVCAs, Membership: partitions.Full}}}}}
	v.Partitions = partitions.Compile(policy, partitions.Settings{}, v.Topo, nil)
	s := newSubnet(v, nil)
	for _, c := range []struct {
		port, partition, member, current string
	}{
		{vA.String(), "one", "full", "0x8001"}, {vA.String(), "functions", "full", ""},
		{vD.String(), "one", "limited", ""}, {vC.String(), "one", "", ""}, {vC.String(), "functions", "full", ""},
		{"host-01", "functions", "", ""}, {"host-01", "one", "", ""},
	} {
		w, err := s.Why(c.port, c.partition)
		if err != nil || w.Member != c.member || w.Current != c.current {
			t.Errorf("%s in %s: %+v, %v; want %q, held %q", c.port, c.partition, w, err, c.member, c.current)
		}
	}
	var keys []string
	for _, k := range rows[ctl.PKey](t, s, ctl.PKeys, ctl.Filter{Node: vA.String()}) {
		if k.VPort != nil {
			keys = append(keys, fmt.Sprint(k.Port, " ", *k.VPort, " ", k.PKey, " ", k.Partition))
		}
	}
	if want := []string{"0x0200000000000001 1 0xffff Default", "0x0200000000000001 1 0x8001 one"}; !slices.Equal(keys,
		want) {
		t.Errorf("P_Keys %q, want %q", keys, want)
	}
	l := newPartitionLister(s, nil, policy, true)
	states := map[string]string{}
	for _, m := range l.ofFile(&policy.Partitions[1]).Members {
		states[m.GUID] = m.State
		if len(m.Ports) != 1 || m.Ports[0].VPort == nil || m.Ports[0].Host == "" {
			t.Errorf("member %+v", m)
		}
	}
	if len(states) != 2 || states[vA.String()] != "applied" || states[vD.String()] != "pending" {
		t.Errorf("members of partition one: %v", states)
	}
	unseen, ready := policy.Partitions[1], l.ofFile(&policy.Partitions[1]).Ready
	nobody := partitions.Member{Who: partitions.OnePort, Port: 0x99, Membership: partitions.Limited}
	absent := partitions.Member{Who: partitions.Hosts, Name: "not-there", Membership: partitions.Full}
	unseen.Members = append(slices.Clone(unseen.Members), nobody, nobody, absent, absent)
	if p := l.ofFile(&unseen); len(p.Members) != 4 || p.Members[3].Host != "not-there" ||
		p.Members[3].State != "pending" || p.Members[2].GUID != nobody.Port.String() ||
		p.Members[2].State != "pending" || p.Members[2].Membership != "limited" || p.States["pending"] != 3 ||
		p.Ready != ready {
		t.Errorf("with a GUID that nothing has: %+v", p)
	}
	var changes []string
	for i := range v.Topo.VPorts.All() {
		for _, r := range appendChanges(nil, v.Topo, v.Topo.EndOf(i), v.Partitions.VPorts[i]) {
			changes = append(changes, fmt.Sprint(r.Change.GUID, " ", *r.Change.VPort, " ", r.Change.Index, " ",
				r.Change.From, ">", r.Change.To))
		}
	}
	if want := []string{"0x0200000000000001 1 2 >0x8003", "0x0200000000000004 1 0 0x8002>0xffff",
		"0x0200000000000004 1 1 >0x0001", "0x0200000000000004 1 2 >0x8003"}; !slices.Equal(changes, want) {
		t.Errorf("a preview changes %q, want %q", changes, want)
	}
	if h := rows[ctl.Host](t, s, ctl.Hosts, ctl.Filter{Name: vD.String()}); len(h) != 1 || h[0].Name != "host-02" {
		t.Errorf("the host of a vPort: %+v", h)
	}
	if _, err := s.Rows(ctl.Hosts, ctl.Filter{Name: "0x0200000000000099"}); !errors.Is(err, ctl.ErrNotFound) {
		t.Errorf("the host of no vPort: %v", err)
	}
}

// TestVPortsDocumented: docs/virtual.md has what keeps a vPort down, in the words of ibsmctl.
func TestVPortsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/virtual.md")
	if err != nil {
		t.Fatal(err)
	}
	for w := topo.WaitsForGUID; w.String() != topo.LeftAsFound.String(); w++ {
		if !strings.Contains(string(page), "| "+w.String()+" |") {
			t.Errorf("docs/virtual.md does not have %q", w)
		}
		if r := vPortWaits[w]; r.Kind == "" || r.Do == "" {
			t.Errorf("%q: %+v", w, r)
		}
	}
}
