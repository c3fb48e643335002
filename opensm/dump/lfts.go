package dump

import (
	"context"
	"io"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/topo"
	"ibsm/view"
)

// LFTs writes opensm-lfts.dump: the forwarding tables, in the form that OpenSM's
// routing engine "file" reads.
func LFTs(ctx context.Context, w io.Writer, v *view.View, given names.Map) error {
	t := v.Topo
	top := max(v.Tables.Top, v.LIDs.Top)
	tails := lftTails(v, given, top)
	var b []byte
	for s, n := range t.Switches {
		if err := ctx.Err(); err != nil {
			return err
		}
		node := &t.Nodes[n]
		b = append(b[:0], "Unicast lids [0-"...)
		b = appendDecimal(b, int(top), 1)
		b = append(b, "] of switch Lid "...)
		b = appendDecimal(b, int(v.LIDs.Base[t.Port(n, 0)]), 1)
		b = appendGUID(append(b, " guid "...), node.GUID)
		b = appendName(append(b, " ('"...), given, node)
		b = append(b, "'):\n"...)
		for lid, port := range v.Tables.LFT[s][:min(len(v.Tables.LFT[s]), int(top)+1)] {
			if lid == 0 || port > node.NumPorts {
				continue
			}
			b = appendHex(append(b, "0x"...), uint64(lid), 4, lowerDigits)
			b = appendDecimal(append(b, ' '), int(port), 3)
			b = append(b, tails[lid]...)
		}
		b = appendDecimal(b, int(top), 1)
		b = append(b, " lids dumped\n"...)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// lftTails are the ends of the lines of each LID, which are the same for all switches.
func lftTails(v *view.View, given names.Map, top mad.LID) [][]byte {
	tails := make([][]byte, int(top)+1)
	for lid := range tails {
		p := v.LIDs.PortOf(mad.LID(lid))
		if p == topo.None {
			tails[lid] = []byte(" # unknown node and type\n")
			continue
		}
		port := &v.Topo.Ports[p]
		node := &v.Topo.Nodes[port.Node]
		b := append([]byte(" # "), names.Type(node.Type)...)
		b = appendGUID(append(b, " portguid "...), port.GUID)
		b = appendName(append(b, ": '"...), given, node)
		tails[lid] = append(b, "'\n"...)
	}
	return tails
}
