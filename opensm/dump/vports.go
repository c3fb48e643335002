package dump

import (
	"bufio"
	"context"
	"io"

	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/topo"
	"ibsm/view"
)

// VPorts writes the vPorts, a line for each after one for its port; ports that say that they have vPorts and show none
// have a line, too. NVIDIA's manager has a file for this, whose form is not openly known; this one is ibsm's own.
func VPorts(ctx context.Context, w io.Writer, v *view.View, given names.Map) error {
	out := bufio.NewWriter(w)
	t := v.Topo
	if t.VPorts == nil {
		return out.Flush()
	}
	var b []byte
	for i := range t.VPorts.Hosts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h := &t.VPorts.Hosts[i]
		port := &t.Ports[h.Port]
		b = appendGUID(append(b[:0], "port "...), port.GUID)
		b = appendDecimal(append(b, " lid "...), int(v.LIDs.Base[h.Port]), 1)
		b = appendName(append(b, ' '), given, &t.Nodes[port.Node])
		b = appendDecimal(append(b, " vports "...), int(h.Top), 1)
		b = appendDecimal(append(b, " of "...), int(h.Cap), 1)
		switch {
		case h.Left != "":
			b = append(append(b, ": left as it was found: "...), h.Left...)
		case !h.Enabled:
			b = append(b, " disabled"...)
		}
		b = append(b, '\n')
		for j, end := t.VPorts.Of(h.Port); j < end; j++ {
			b = appendVPort(b, v, j)
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// appendVPort appends the line of a vPort.
func appendVPort(b []byte, v *view.View, i topo.VPortIdx) []byte {
	t := v.Topo
	p := t.VPorts.At(i)
	b = appendDecimal(append(b, "  vport "...), int(p.Index), 1)
	b = appendGUID(append(b, " guid "...), p.GUID)
	b = appendGUID(append(b, " node "...), p.Node)
	lid, own := t.LIDOf(v.LIDs, i)
	b = appendDecimal(append(b, " lid "...), int(lid), 1)
	if !own && p.GUID != t.Ports[p.Port].GUID {
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
	return append(b, '\n')
}
