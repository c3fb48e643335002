package dump

import (
	"context"
	"io"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// LIDMatrix writes opensm-lid-matrix.dump: for each switch the links to every other
// by each of its ports, in the form that OpenSM's lid_matrix_dump_file has. Hops are
// those of a min-hop engine.
func LIDMatrix(ctx context.Context, w io.Writer, v *view.View, _ names.Map) error {
	t := v.Topo
	h, err := newHops(ctx, v)
	if err != nil {
		return err
	}
	type target struct {
		lid mad.LID
		to  topo.SwitchIdx
	}
	var targets []target // in order of LID
	for lid, p := range v.LIDs.Owner {
		if p != topo.None && mad.LID(lid) == v.LIDs.Base[p] && t.Nodes[t.Ports[p].Node].Type == mad.Switch {
			targets = append(targets, target{mad.LID(lid), t.Nodes[t.Ports[p].Node].Switch})
		}
	}
	var b []byte
	for s, n := range t.Switches {
		if err := ctx.Err(); err != nil {
			return err
		}
		h.from(topo.SwitchIdx(s))
		b = append(appendGUID(append(b[:0], "Switch: guid "...), t.Nodes[n].GUID), '\n')
		for _, target := range targets {
			if h.least[target.to] == routing.Unreachable {
				continue
			}
			b = appendHex(append(b, "0x"...), uint64(target.lid), 4, lowerDigits)
			b = append(b, ':')
			for num := range int(t.Nodes[n].NumPorts) + 1 {
				b = appendHex(append(b, ' '), uint64(h.by(uint8(num), target.to)), 2, lowerDigits)
			}
			owner := t.Port(t.Switches[target.to], 0)
			b = append(appendGUID(append(b, " # portguid "...), t.Ports[owner].GUID), '\n')
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
