package dump

import (
	"cmp"
	"context"
	"io"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/topo"
	"ibsm/view"
)

// makers are OpenSM's names for the maker of a port, by the first 24 bits of its GUID, as far
// as they were seen.
var makers = map[uint32]string{
	0x0002c9: "Mellanox", 0x248a07: "Mellanox", 0x506b4b: "Mellanox", 0x7cfe90: "Mellanox", 0x98039b: "Mellanox",
	0xe41d2d: "Mellanox",
	0xec0d9a: "Mellanox", 0xf45214: "Mellanox", 0x000255: "IBM", 0x0003ba: "Sun", 0x0005ad: "Topspin",
	0x00066a: "SilverStorm",
	0x0008f1: "Voltaire", 0x001175: "PathScale", 0x001397: "Xsigo", 0x001405: "OpenIB", 0x001708: "HP",
	0x00a0b8: "LSILogic", 0x00d0b7: "Intel",
}

var (
	portsHead = "\n" + strings.Repeat("=", 103) + "\n" +
		"Vendor      : Ty : #  : Sta : LID  : LMC : MTU  : LWA : LSA  : Port GUID        : Neighbor Port (Port #)\n"
	portsRule = strings.Repeat("-", 102) + "\n"
)

// Ports writes the table of ports that OpenSM prints with VERBOSE: the ports of each
// switch, and of other nodes those with a cable. The GUID of the manager's own port is set
// between asterisks.
func Ports(ctx context.Context, w io.Writer, v *view.View, _ names.Map) error {
	t := v.Topo
	b := []byte(portsHead)
	for n := range t.Nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		node := &t.Nodes[n]
		first := 1
		if node.Type == mad.Switch {
			first = 0
		}
		for num := first; num <= int(node.NumPorts); num++ {
			p := t.Port(topo.NodeIdx(n), uint8(num))
			if first == 1 && t.Ports[p].Peer == topo.None {
				continue
			}
			b = appendPort(b, v, p)
		}
		if _, err := w.Write(append(b, portsRule...)); err != nil {
			return err
		}
		b = b[:0]
	}
	return nil
}

// appendPort appends the line of a port.
func appendPort(b []byte, v *view.View, p topo.PortIdx) []byte {
	t := v.Topo
	port, owner := &t.Ports[p], endPort(t, p)
	guid := t.Ports[owner].GUID
	maker, known := makers[uint32(guid>>40)]
	if !known {
		maker = "Unknown"
	}
	b = appendPadded(b, maker, 11)
	b = append(b, " : "...)
	b = append(b, map[mad.NodeType]string{mad.Switch: "SW", mad.CA: "CA", mad.Router: "RT"}[t.Nodes[port.Node].Type]...)
	b = appendHex(append(b, " : "...), uint64(port.Num), 2, upperDigits)
	base := t.IsBasePort0(p)
	if b = append(b, " : "...); base {
		b = append(b, "   "...)
	} else {
		b = append(b, stateName(port.Info.PortState())...)
	}
	if b = append(b, " : "...); p == owner {
		b = appendHex(b, uint64(v.LIDs.Base[p]), 4, upperDigits)
		b = append(appendDecimal(append(b, " :  "...), int(v.LIDs.LMC[p]), 1), ' ')
	} else {
		b = append(b, "     :    "...)
	}
	b = append(b, " : "...)
	switch {
	case base:
		b = append(b, "     :     :     "...)
	case port.Info.PortState() <= smp.PortDown:
		b = append(b, "???  : ??? : ????"...)
	default:
		b = appendPadded(b, string(appendDecimal(nil, port.Info.NeighborMTU().Bytes(), 1)), 4)
		b = appendPadded(append(b, " : "...), width(port.Info.LinkWidthActive()), 3)
		b = appendPadded(append(b, " : "...), speed(t, p), 4)
	}
	mark := byte(':')
	if owner == t.Self {
		mark = '*'
	}
	b = append(appendHex(append(b, ' ', mark, ' '), uint64(guid), 16, lowerDigits), ' ', mark)
	if port.Peer != topo.None {
		b = appendHex(append(b, ' '), uint64(t.Ports[endPort(t, port.Peer)].GUID), 16, lowerDigits)
		b = append(appendHex(append(b, " ("...), uint64(t.Ports[port.Peer].Num), 2, upperDigits), ')')
	}
	return append(b, '\n')
}

var stateNames = map[smp.PortState]string{
	smp.PortActive: "ACT",
	smp.PortArmed:  "ARM",
	smp.PortInit:   "INI",
}

// stateName is OpenSM's word for the state of a port.
func stateName(s smp.PortState) string { return cmp.Or(stateNames[s], "DWN") }

// width is the width of a link, such as 4x.
func width(w mad.LinkWidth) string {
	if lanes := w.Lanes(); lanes > 0 {
		return string(append(appendDecimal(nil, lanes, 1), 'x'))
	}
	return "??"
}

// appendPadded appends text, and blanks up to a width.
func appendPadded(b []byte, text string, width int) []byte {
	b = append(b, text...)
	for n := len(text); n < width; n++ {
		b = append(b, ' ')
	}
	return b
}
