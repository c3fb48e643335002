package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/mad"
	"ibsm/topo/cabling"
	"ibsm/topo/net"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// TestCabling: why and status say what is not as planned: of a port, of a device that is missing, and of one that is
// held back.
func TestCabling(t *testing.T) {
	n, err := net.Generate("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	plan := cabling.Of(n)
	at := func(name string) int32 {
		return int32(slices.IndexFunc(n.Nodes, func(n net.Node) bool { return strings.Fields(n.Desc)[0] == name }))
	}
	off, held := at("host-05"), at("host-06")
	far := n.Nodes[off].Ports[1].Peer
	n.Nodes[far.Node].Ports[far.Port].Peer, n.Nodes[off].Ports[1].Peer = net.NoEnd, net.NoEnd
	v := viewtest.Of(t, n, 0)
	present := cabling.Of(n)
	present.Devices[off], present.Adapters = cabling.Device{GUID: 1}, nil // no walk finds it
	v.Cabling = &view.Cabling{Comparison: cabling.Compare(plan, present), Enforced: true}
	s := newSubnet(v, nil)
	if got := s.Cabling(); len(got.Findings) != 1 || got.Findings[0].Kind != "missing device" || !got.Enforced ||
		!got.Applies || got.Planned != 48 || got.Same != 47 {
		t.Errorf("%+v", got)
	}
	const missing = "host-05 mlx5_0 is missing, with 1 cable"
	for _, name := range []string{"host-05", "host-05 mlx5_0", plan.Devices[off].GUID.String()} {
		if d := ctltest.Diagnose(t, s, name, ""); d.State != ctl.Absent ||
			!ctltest.HasReason(d, "not as planned", missing) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := ctltest.Diagnose(t, s, "leaf-03:1", ""); !ctltest.HasReason(d, "not as planned", missing) {
		t.Errorf("%+v", d)
	}
	if d := ctltest.Diagnose(t, s, "leaf-03:2", ""); ctltest.HasReason(d, "not as planned", "") {
		t.Errorf("%+v", d)
	}
	if got := cablingStatus(
		v.Cabling).String(); got != "47 of 48 cables of the plan are there, 1 difference: see ibsmctl topology check" {
		t.Error(got)
	}

	far = n.Nodes[held].Ports[1].Peer
	n.Nodes[far.Node].Ports[far.Port].Peer, n.Nodes[held].Ports[1].Peer = net.NoEnd, net.NoEnd
	v = viewtest.Of(t, n, 0)
	cable := int32(slices.IndexFunc(plan.Cables, func(c cabling.Cable) bool {
		return c.Ends[0].Device == held || c.Ends[1].Device == held
	}))
	v.Cabling = &view.Cabling{Held: []view.HeldCable{{Link: plan.Links([]int32{cable})[0], Switch: true}}}
	s = newSubnet(v, nil)
	if d := ctltest.Diagnose(t, s, "host-06", ""); d.State != "held back" ||
		!ctltest.HasReason(d, "held back", "host-06 mlx5_0 port 1 is held back, because its switch is") {
		t.Errorf("%+v", d)
	}
	if got := s.Cabling(); got.Plan || len(got.HeldBack) != 1 || !got.HeldBack[0].Switch ||
		got.HeldBack[0].From.Type != mad.Switch.String() {
		t.Errorf("%+v", got)
	}
	if got := cablingStatus(v.Cabling).String(); got != "no plan; cables held back: 1: see ibsmctl topology check" {
		t.Error(got)
	}
	if cablingStatus(nil) != nil {
		t.Error("a status of nothing")
	}
}

// TestNotEnforced: status, topology and why say that excluded cables are in use, or why they are not, and what to do.
func TestNotEnforced(t *testing.T) {
	n, err := net.Generate("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	v := viewtest.Of(t, n, 0)
	found := cabling.Of(n)
	leaf := int32(slices.IndexFunc(n.Nodes, func(n net.Node) bool { return n.Desc == "leaf-03" }))
	of := []int32{}
	for i, c := range found.Cables {
		if c.Ends[0].Device == leaf || c.Ends[1].Device == leaf {
			of = append(of, int32(i))
		}
	}
	v.Cabling = &view.Cabling{Found: found, Spared: of[1:],
		Held: []view.HeldCable{{Link: found.Links(of[:1])[0], Switch: true}}, CutOff: 33, Of: 35}
	s := newSubnet(v, nil)
	const says, do = "only excluded cables lead to 33 of 35 devices", "set topo_config_enabled FALSE"
	if got := s.Cabling(); got.CutOff != 33 || got.InUse != len(of)-1 || len(got.HeldBack) != 1 ||
		!strings.Contains(got.Seen, says) || !strings.Contains(got.Seen, do) {
		t.Errorf("%+v", got)
	}
	if got := cablingStatus(v.Cabling).String(); !strings.Contains(got, says) || !strings.Contains(got, do) {
		t.Error(got)
	}
	for _, i := range of {
		for _, p := range found.Links([]int32{i})[0].Ends {
			at := fmt.Sprintf("%v:%d", p.GUID, p.Port)
			if d := ctltest.Diagnose(t, s, at, ""); !ctltest.HasReason(d, "not enforced", says) ||
				ctltest.HasReason(d, "not enforced", "the cable is in use") == (i == of[0]) {
				t.Errorf("%s: %+v", at, d)
			}
		}
	}
	if d := ctltest.Diagnose(t, s, "leaf-01:1", ""); ctltest.HasReason(d, "not enforced", "") {
		t.Errorf("%+v", d)
	}
	if got := rows[ctl.Cable](t, s, ctl.Cables, ctl.Filter{}); len(got) != len(found.Cables) ||
		got[0].From.Node == "" || got[0].To.Port == 0 {
		t.Errorf("%+v", got)
	}
	v.Cabling = nil
	if got := rows[ctl.Cable](t, newSubnet(v, nil), ctl.Cables, ctl.Filter{}); len(got) > 0 {
		t.Errorf("%+v", got)
	}

	plan := cabling.Of(n)
	for i := range plan.Devices {
		plan.Devices[i].GUID += 1 << 40
	}
	plan.Adapters = nil
	many := []view.HeldCable{}
	for range maxHeld + 5 {
		many = append(many, view.HeldCable{Link: found.Links(of[:1])[0]})
	}
	v.Cabling = &view.Cabling{Comparison: cabling.Compare(plan, found), Enforced: true, Found: found, Held: many}
	if got := newSubnet(v, nil).Cabling(); len(got.HeldBack) != maxHeld || got.MoreHeld != 5 ||
		!strings.Contains(got.Seen, "the plan differs too much from the subnet to be enforced: ") ||
		!strings.Contains(got.Seen, do) {
		t.Errorf("%+v", got)
	}
}
