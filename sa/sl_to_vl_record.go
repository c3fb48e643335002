package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
)

// slToVLRecords are one for each adapter port and one for each pair of ports of a
// switch, port 0 included. A table that was not read has zeroes, as with OpenSM. As there,
// too, the port numbers in a query are those of a switch's ports: an adapter has the one
// table, whatever they are.
func (a *Responder) slToVLRecords(r *request, res *result) {
	want := (*sarec.SLtoVLMappingTableRecord)(r.data[:])
	ofSwitch := sarec.SLtoVLMask(r.comps &^ sarec.SLtoVLLID)
	ports := a.devicePorts(r.comps.Has(sarec.SLtoVLLID), want.LID())
	t := a.view.Topo
	for p := ports.from; p < ports.to; p++ {
		if !a.isVisible(r, p) {
			continue
		}
		node := &t.Nodes[t.Ports[p].Node]
		var rec, mask sarec.SLtoVLMappingTableRecord
		rec.SetLID(a.deviceLID(p))
		ins := uint8(0)
		if node.Type == mad.Switch {
			rec.SetOutputPortNum(t.Ports[p].Num)
			ins, mask = node.NumPorts, ofSwitch
		}
		tables := a.view.Ports.Blocks(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: node.GUID,
			Port: t.Ports[p].Num})
		for in := range int(ins) + 1 {
			table := smp.SLtoVLMappingTable(tables.Known(in))
			rec.SetInputPortNum(uint8(in))
			rec.SetSLtoVLMappingTable(&table)
			if sarec.Match(rec[:], want[:], mask[:]) && !res.add(rec[:]) {
				return
			}
		}
	}
}
