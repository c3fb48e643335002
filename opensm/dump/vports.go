package dump

import (
	"bufio"
	"context"
	"io"

	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/view"
)

// VPorts writes the vPorts, a line for each after one for its port. NVIDIA's manager has a file for this, whose form is
// not openly known; this one is ibsm's own.
func VPorts(ctx context.Context, w io.Writer, v *view.View, given names.Map) error {
	out := bufio.NewWriter(w)
	t := v.Topo
	var b []byte
	for i := range t.VPorts.All() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b = b[:0]
		p := t.VPorts.At(i)
		if first, _ := t.VPorts.Of(p.Port); first == i {
			port := &t.Ports[p.Port]
			b = appendGUID(append(b, "port "...), port.GUID)
			b = appendDecimal(append(b, " lid "...), int(v.LIDs.Base[p.Port]), 1)
			b = append(appendName(append(b, ' '), given, &t.Nodes[port.Node]), '\n')
		}
		b = appendDecimal(append(b, "  vport "...), int(p.Index), 1)
		b = appendGUID(append(b, " guid "...), p.GUID)
		b = appendGUID(append(b, " node "...), p.Node)
		lid, own := t.LIDOf(v.LIDs, i)
		b = appendDecimal(append(b, " lid "...), int(lid), 1)
		if !own {
			b = append(b, " shared"...)
		}
		b = append(append(b, " state "...), p.State.String()...)
		for _, k := range p.PKeys.Keys() {
			if k.Valid() {
				b = appendHex(append(b, " 0x"...), uint64(k), 4, lowerDigits)
			}
		}
		if p.State != smp.PortActive && p.Waits.String() != "" {
			b = append(append(b, ": "...), p.Waits.String()...)
		}
		if _, err := out.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}
