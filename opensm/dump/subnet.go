package dump

import (
	"context"
	"io"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/topo"
	"ibsm/view"
)

// Subnet writes opensm-subnet.lst: a line for each end of each cable, with what is
// at both ends. It is what ibdmchk and ibtopodiff read.
func Subnet(ctx context.Context, w io.Writer, v *view.View, given names.Map) error {
	t := v.Topo
	var b []byte
	for n := range t.Nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		b = b[:0]
		for num := 1; num <= int(t.Nodes[n].NumPorts); num++ {
			p := t.Port(topo.NodeIdx(n), uint8(num))
			peer := t.Ports[p].Peer
			if peer == topo.None {
				continue
			}
			b = appendEnd(b, v, given, p, 6, uint64(t.Nodes[n].Info.DeviceID()))
			// OpenSM prints the DeviceID of the far end as a number of 32 bits whose
			// upper half it is.
			b = appendEnd(b, v, given, peer, 8, uint64(t.Nodes[t.Ports[peer].Node].Info.DeviceID())<<16)
			b = appendLink(b, t, p)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// appendEnd appends one end of a cable. Vendor is the number of digits of VenID.
func appendEnd(b []byte, v *view.View, given names.Map, p topo.PortIdx, vendor int, device uint64) []byte {
	t := v.Topo
	node, owner := &t.Nodes[t.Ports[p].Node], endPort(t, p)
	b = append(b, "{ "...)
	switch node.Type {
	case mad.Switch:
		b = append(b, "SW"...)
	case mad.CA:
		b = append(b, "CA"...)
	case mad.Router:
		b = append(b, "Rt"...)
	default:
		b = append(b, "**"...)
	}
	if owner == t.Self { // only a master has views
		b = append(b, "-SM"...)
	}
	b = appendHex(append(b, " Ports:"...), uint64(node.NumPorts), 2, upperDigits)
	b = appendHex(append(b, " SystemGUID:"...), uint64(node.Info.SystemImageGUID()), 16, lowerDigits)
	b = appendHex(append(b, " NodeGUID:"...), uint64(node.GUID), 16, lowerDigits)
	b = appendHex(append(b, " PortGUID:"...), uint64(t.Ports[p].GUID), 16, lowerDigits)
	b = appendHex(append(b, " VenID:"...), uint64(node.Info.VendorID()), vendor, upperDigits)
	b = appendHex(append(b, " DevID:"...), device, 4, upperDigits)
	b = appendHex(append(b, " Rev:"...), uint64(node.Info.Revision()), 8, upperDigits)
	b = appendName(append(b, " {"...), given, node)
	b = appendHex(append(b, "} LID:"...), uint64(v.LIDs.Base[owner]), 4, upperDigits)
	b = appendHex(append(b, " PN:"...), uint64(t.Ports[p].Num), 2, upperDigits)
	return append(b, " } "...)
}

// appendLink appends how the cable at a port runs.
func appendLink(b []byte, t *topo.Topo, p topo.PortIdx) []byte {
	info := &t.Ports[p].Info
	b = append(append(b, "PHY="...), width(info.LinkWidthActive())...)
	b = append(append(b, " LOG="...), stateName(info.PortState())...)
	b = append(b, " SPD="...)
	return append(append(b, speed(t, p)...), '\n')
}

// speed is the speed of a lane in Gb/s. As OpenSM does, it looks for faster ones than
// QDR where the port at the far end has them, if there is one.
func speed(t *topo.Topo, p topo.PortIdx) string {
	far := &t.Ports[endPort(t, p)].Info
	if peer := t.Ports[p].Peer; peer != topo.None {
		far = &t.Ports[endPort(t, peer)].Info
	}
	switch t.Ports[p].Info.LinkSpeed(far.CapabilityMask(), 0) {
	case mad.SDR:
		return "2.5"
	case mad.DDR:
		return "5"
	case mad.QDR:
		return "10"
	case mad.FDR:
		return "14"
	case mad.EDR:
		return "25"
	case mad.HDR:
		return "50"
	}
	return "??"
}
