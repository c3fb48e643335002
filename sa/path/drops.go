package path

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/view"
)

// Stop is why packets of an SL are not known to leave a port.
type Stop uint8

// Stops.
const (
	NotStopped Stop = iota
	ToVL15          // the SLtoVLMappingTable has VL 15 for the SL
	NoLane          // it has a lane for it that the link does not have
	NoTurn          // the lane gets no turn by the arbitration tables
	// The port did not show its tables, or refused the wanted ones. SL 0, and what is on VL
	// 0, counts as passing: there is no port without that lane.
	NotKnown
)

// output is a port by which packets leave, as far as it is known how it uses its lanes.
type output struct {
	tables  *device.Blocks // SLtoVLMappingTables by the port that packets come in by; nil if none is wanted
	lanes   uint8          // of the link; 0 if that is not known
	turns   uint16         // VLs that get turns, by bit
	noTurns bool           // it is not known which VLs do
}

// outputOf is what is known of a port.
func outputOf(v *view.View, p topo.PortIdx) (o output) {
	port := &v.Topo.Ports[p]
	blocks := func(attr mad.AttrID) *device.Blocks {
		return v.Ports.Blocks(device.Place{Attr: attr, Node: v.Topo.Nodes[port.Node].GUID, Port: port.Num})
	}
	if o.tables = blocks(smp.AttrSLtoVLMappingTable); o.tables == nil {
		return o
	}
	if code := port.Info.OperationalVLs(); code > 0 && port.Num > 0 {
		o.lanes = uint8(min(1<<(code-1), smp.VLDrop))
	}
	held, can := blocks(smp.AttrVLArbitrationTable), lanes.Of(&port.Info, port.Info.OperationalVLs())
	for b := range lanes.Blocks {
		n := can.Turns(b)
		o.noTurns = o.noTurns || n > 0 && held != nil && held.State(b) != device.Known
		table := smp.VLArbitrationTable(held.Known(b))
		for i := range n {
			if vl, weight := table.Entry(i); weight > 0 {
				o.turns |= 1 << vl
			}
		}
	}
	if o.turns == 0 { // as after power-up: such a port works all the same
		o.turns = 1<<smp.VLDrop - 1
	}
	return o
}

// stop is why packets of an SL that come in by a port do not leave, as far as it is known.
func (o *output) stop(in int, sl uint8) Stop {
	if o.tables == nil {
		return NotStopped
	}
	if o.tables.State(in) != device.Known {
		if sl == 0 {
			return NotStopped
		}
		return NotKnown
	}
	table := smp.SLtoVLMappingTable(o.tables.Known(in))
	switch vl := table.VL(sl); {
	case vl == smp.VLDrop:
		return ToVL15
	case o.lanes > 0 && vl >= o.lanes:
		return NoLane
	case o.noTurns && vl > 0:
		return NotKnown
	case !o.noTurns && o.turns>>vl&1 == 0:
		return NoTurn
	}
	return NotStopped
}

// drops are the SLs of which packets that come in by a port are not known to leave, by bit.
func (o *output) drops(in int) (sls uint16) {
	for sl := range uint8(16) {
		if o.stop(in, sl) != NotStopped {
			sls |= 1 << sl
		}
	}
	return sls
}

// dropsOf are those SLs at a switch, by the port in and the port out; nil for none at all.
func dropsOf(v *view.View, n topo.NodeIdx) (sls []uint16) {
	ports := int(v.Topo.Nodes[n].NumPorts) + 1
	for out := range ports {
		o := outputOf(v, v.Topo.Port(n, uint8(out)))
		if o.tables == nil {
			continue
		}
		for in := range ports {
			d := o.drops(in)
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
