package server

import (
	"fmt"
	"strings"
	"testing"

	"ibsm/ctl/ctltest"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// A path shows its SL, and the lane that it has at each hop as far as that is known. Where its SL has
// no lane it ends, and why says so.
func TestPathLanes(t *testing.T) {
	v := newView(t, "fattree:k=4")
	var hosts []topo.PortIdx
	for _, p := range v.Topo.EndPorts {
		if v.Topo.Ports[p].Num != 0 {
			hosts = append(hosts, p)
			v.Topo.Ports[p].Info.SetPortState(smp.PortActive)
		}
	}
	from, to := hosts[0], hosts[len(hosts)-1]
	one := make([]int32, len(v.LIDs.Owner))
	tables := *v.Tables
	tables.SLs = routing.NewSLs(one, one, [][]uint8{{2}})
	v.Tables = &tables
	a, b := v.Topo.Ports[from].GUID.String(), v.Topo.Ports[to].GUID.String()
	hops := newSubnet(v, nil).walk(from, to, v.LIDs.Base[to]).path.Hops
	// hold has the port out of a hop hold tables: vl for SL 2 of what comes in by the path's port, VL
	// 15 for all else.
	hold := func(hop int, vl uint8) {
		var row []byte
		node := &v.Topo.Nodes[v.Topo.FindNode(mustGUID(t, hops[hop].Node))]
		for in := range node.NumPorts + 1 {
			var table smp.SLtoVLMappingTable
			for sl := range uint8(16) {
				table.SetVL(sl, smp.VLDrop)
			}
			if in == hops[hop].In || node.Type != mad.Switch {
				table.SetVL(2, vl)
			}
			row = append(row, table[:]...)
		}
		v.Ports.Read(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: node.GUID, Port: hops[hop].Out}, row, nil)
	}
	lanes := func(want, result string) {
		t.Helper()
		p, err := newSubnet(v, nil).Path(a, b)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range p.Hops {
			vl := "-"
			if h.VL != nil {
				vl = fmt.Sprint(*h.VL)
			}
			got = append(got, vl)
		}
		if strings.Join(got, " ") != want || p.Result != result || p.SL != 2 {
			t.Errorf("SL %d, VLs %q, %s; want %q, %s", p.SL, got, p.Result, want, result)
		}
	}
	v.Ports = &device.Ports{}
	lanes("- - - - - - -", "arrived")
	hold(0, 1)
	hold(2, 3)
	lanes("1 - 3 - - - -", "arrived")
	hold(3, 15)
	lanes("1 - 3 15", "has SL 2, which maps to VL 15, and is dropped")
	if d := ctltest.Diagnose(t, newSubnet(v, nil), a, b); d.Works ||
		!ctltest.HasReason(d, "SL is dropped", fmt.Sprintf("dropped at %q port %d", hops[3].Desc, hops[3].Out)) {
		t.Errorf("%+v", d.Reasons)
	}
	// A table that was not read: the SL is on no lane that is known, and the path is not offered.
	v.Ports = &device.Ports{}
	second := &v.Topo.Nodes[v.Topo.FindNode(mustGUID(t, hops[1].Node))]
	v.Ports.Read(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: second.GUID, Port: hops[1].Out},
		make([]byte, (int(second.NumPorts)+1)*device.BlockSize), []int{int(hops[1].In)})
	lanes("- - - - - - -", "arrived")
	if d := ctltest.Diagnose(t, newSubnet(v, nil), a, b); d.Works ||
		!ctltest.HasReason(d, "SL is not offered",
			fmt.Sprintf(
				"not known to be forwarded %q port %d, for packets received on port %d: its SL and VL tables could not be read", hops[1].Desc, hops[1].Out, hops[1].In)) {
		t.Errorf("%+v", d.Reasons)
	}
	v.Ports = &device.Ports{}
	hold(1, 7)
	out := v.Topo.Port(v.Topo.FindNode(mustGUID(t, hops[1].Node)), hops[1].Out)
	v.Topo.Ports[out].Info.SetOperationalVLs(4)
	lanes("- 7 - - - - -", "arrived")
	v.Topo.Ports[out].Info.SetOperationalVLs(3)
	lanes("- 7", "has SL 2, which maps to VL 7, and is dropped")
}
