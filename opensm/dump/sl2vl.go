package dump

import (
	"context"
	"io"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/view"
)

const (
	sl2vlHead = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n"
	sl2vlLine = "#--------------------------------------------------------"
)

// SLtoVL writes opensm-sl2vl.dump: the SLtoVLMappingTable of each end port, and of each pair of ports
// of a switch of which the second has a cable. A table that is not known has zeroes.
func SLtoVL(ctx context.Context, w io.Writer, v *view.View, given names.Map) error {
	t := v.Topo
	var b []byte
	for _, p := range t.EndPorts {
		if err := ctx.Err(); err != nil {
			return err
		}
		node := &t.Nodes[t.Ports[p].Node]
		b = append(b[:0], names.Type(node.Type)...)
		b = appendGUID(append(b, ' '), t.Ports[p].GUID)
		b = appendDecimal(append(b, ", base LID "...), int(v.LIDs.Base[p]), 1)
		b = append(appendName(append(b, ", \""...), given, node), "\"\n"+sl2vlHead+sl2vlLine+"\n"...)
		if node.Type != mad.Switch {
			b = appendMapping(b, v, p, 0, 0)
		}
		for num := 1; node.Type == mad.Switch && num <= int(node.NumPorts); num++ {
			out := t.Port(t.Ports[p].Node, uint8(num))
			for in := 0; in <= int(node.NumPorts) && t.Ports[out].Peer != topo.None; in++ {
				b = appendMapping(b, v, out, in, num)
			}
		}
		if _, err := w.Write(append(b, sl2vlLine+"\n\n"...)); err != nil {
			return err
		}
	}
	return nil
}

// appendMapping appends the line of a table: of a port, for what comes in by another. in and out are
// the numbers that it shows.
func appendMapping(b []byte, v *view.View, p topo.PortIdx, in, out int) []byte {
	port := &v.Topo.Ports[p]
	held := v.Ports.Blocks(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: v.Topo.Nodes[port.Node].GUID,
		Port: port.Num})
	table := smp.SLtoVLMappingTable(held.Known(in))
	b = appendLeft(b, in, 3)
	b = append(appendLeft(append(b, ' '), out, 3), " :"...)
	for sl := range uint8(lanes.SLs) {
		b = appendLeft(append(b, ' '), int(table.VL(sl)), 2)
	}
	return append(b, '\n')
}

// appendLeft appends a number, with blanks behind it up to a width.
func appendLeft(b []byte, n, width int) []byte {
	from := len(b)
	for b = appendDecimal(b, n, 1); len(b)-from < width; {
		b = append(b, ' ')
	}
	return b
}
