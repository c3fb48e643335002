package dump

import (
	"context"
	"io"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/topo"
	"ibsm/view"
)

// PathSLs writes opensm-path-sl.dump: the SL of the path from each end port to each LID, in the
// form that ibdmchk reads with -c.
func PathSLs(ctx context.Context, w io.Writer, v *view.View, given names.Map) error {
	var b []byte
	for i := range v.Topo.Ports {
		port := &v.Topo.Ports[i]
		node := &v.Topo.Nodes[port.Node]
		from := v.LIDs.Base[i]
		if from == 0 {
			continue
		}
		kind, guid := "Channel Adapter ", port.GUID // a router's port as well: ibdmchk knows no other word
		if node.Type == mad.Switch {
			kind, guid = "Switch ", node.GUID
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		b = appendGUID(append(b[:0], kind...), guid)
		b = appendDecimal(append(b, ", base LID "...), int(from), 1)
		b = append(appendName(append(b, ", \""...), given, node), "\"\n"...)
		for lid, to := range v.LIDs.Owner {
			if to == topo.None {
				continue
			}
			b = appendHex(append(b, "0x"...), uint64(lid), 4, lowerDigits)
			b = append(appendDecimal(append(b, " : "...), int(v.Tables.SLs.Of(from, mad.LID(lid))), 1), '\n')
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return nil
}
