package path

import (
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/view"
)

// slToVL is the SLtoVLMappingTables that a port is known to hold, by the port that packets come in by.
func slToVL(v *view.View, p topo.PortIdx) *device.Blocks {
	port := &v.Topo.Ports[p]
	return v.Ports.Blocks(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: v.Topo.Nodes[port.Node].GUID, Port: port.Num})
}

// drops are the SLs that a port drops of what comes in by another, by bit. A table that is not known
// drops nothing.
func drops(tables *device.Blocks, in int) (sls uint16) {
	table := smp.SLtoVLMappingTable(tables.Known(in))
	for sl := range uint8(16) {
		if table.VL(sl) == smp.VLDrop {
			sls |= 1 << sl
		}
	}
	return sls
}

// dropsOf are the SLs that a switch drops, by the port in and the port out; nil for none at all.
func dropsOf(v *view.View, n topo.NodeIdx) (sls []uint16) {
	ports := int(v.Topo.Nodes[n].NumPorts) + 1
	for out := range ports {
		tables := slToVL(v, v.Topo.Port(n, uint8(out)))
		if tables == nil {
			continue
		}
		for in := range ports {
			d := drops(tables, in)
			if d != 0 && sls == nil {
				sls = make([]uint16, ports*ports)
			}
			if d != 0 {
				sls[in*ports+out] = d
			}
		}
	}
	return sls
}
