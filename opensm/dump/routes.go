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

// Routes writes opensm.fdbs: the forwarding tables with the links to each
// destination by the port that is taken, and whether another port is nearer. It is
// what ibdmchk reads.
func Routes(ctx context.Context, w io.Writer, v *view.View, _ names.Map) error {
	t := v.Topo
	h, err := newHops(ctx, v)
	if err != nil {
		return err
	}
	var b []byte
	for s, n := range t.Switches {
		if err := ctx.Err(); err != nil {
			return err
		}
		h.from(topo.SwitchIdx(s))
		b = append(appendGUID(append(b[:0], "dump_ucast_routes: Switch "...), t.Nodes[n].GUID), '\n')
		b = append(b, "LID    : Port : Hops : Optimal\n"...)
		row := v.Tables.LFT[s]
		for lid := 1; lid <= int(v.LIDs.Top); lid++ {
			b = appendHex(append(b, "0x"...), uint64(lid), 4, upperDigits)
			b = append(b, " : "...)
			p := v.LIDs.PortOf(mad.LID(lid))
			if p == topo.None || lid >= len(row) || row[lid] == routing.NoPath {
				b = append(b, "UNREACHABLE\n"...)
				continue
			}
			b = appendRoute(b, h, topo.SwitchIdx(s), row[lid], t, p)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// appendRoute appends what there is to say of a port that leads to p.
func appendRoute(b []byte, h *hops, s topo.SwitchIdx, port uint8, t *topo.Topo, p topo.PortIdx) []byte {
	b = appendDecimal(b, int(port), 3)
	last, isSwitch := t.SwitchOf(p), t.Nodes[t.Ports[p].Node].Switch != topo.None
	hops, best := uint8(routing.Unreachable), uint8(routing.Unreachable)
	if last != topo.None {
		hops, best = h.by(port, last), h.least[last]
	}
	if last == s && !isSwitch {
		hops = 0 // the switch it hangs on; that the port is the right one is not looked at
	}
	if hops == routing.Unreachable {
		return append(b, "  : HOPS UNKNOWN\n"...)
	}
	links := 0 // from the last switch on
	if !isSwitch {
		links = 1
	}
	b = appendDecimal(append(b, "  : "...), int(hops)+links, 2)
	if hops == best {
		return append(b, "   : yes\n"...)
	}
	b = appendDecimal(append(b, "   : No "...), int(best)+links, 1)
	b = appendDecimal(append(b, " hop path possible via port "...), int(h.nearest(last)), 1)
	return append(b, "!\n"...)
}
