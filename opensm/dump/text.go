package dump

import (
	"math/bits"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/sweep/topo"
)

const (
	lowerDigits = "0123456789abcdef"
	upperDigits = "0123456789ABCDEF"
)

// appendHex appends v in at least width digits.
func appendHex(b []byte, v uint64, width int, digits string) []byte {
	for n := max(width, (bits.Len64(v)+3)/4) - 1; n >= 0; n-- {
		b = append(b, digits[v>>(4*n)&15])
	}
	return b
}

// appendDecimal appends v in at least width digits.
func appendDecimal(b []byte, v, width int) []byte {
	power := 1
	for n := 1; n < width || v/power >= 10; n++ {
		power *= 10
	}
	for ; power > 0; power /= 10 {
		b = append(b, byte('0'+v/power%10))
	}
	return b
}

// appendGUID appends 0x and 16 digits.
func appendGUID(b []byte, g mad.GUID) []byte {
	return appendHex(append(b, "0x"...), uint64(g), 16, lowerDigits)
}

// maxDesc is how much of a description OpenSM keeps: it ends it with a zero byte.
const maxDesc = 63

// appendName appends the name that a node was given, or else its description as OpenSM
// prints it: a blank stands for each byte that is not printable ASCII.
func appendName(b []byte, given names.Map, node *topo.Node) []byte {
	if name, ok := given[node.GUID]; ok {
		return append(b, name...)
	}
	d := &node.Desc
	if d[0] == 0 {
		return append(b, "<unknown>"...)
	}
	for _, c := range d[:maxDesc] {
		if c == 0 {
			break
		}
		if c < ' ' || c > '~' {
			c = ' '
		}
		b = append(b, c)
	}
	return b
}

// typeName is OpenSM's word for a node type.
func typeName(t mad.NodeType) string {
	switch t {
	case mad.CA:
		return "Channel Adapter"
	case mad.Switch:
		return "Switch"
	case mad.Router:
		return "Router"
	}
	return "UNKNOWN"
}

// endPort is the port that has the LID of a port: of a switch it is port 0.
func endPort(t *topo.Topo, p topo.PortIdx) topo.PortIdx {
	if t.IsSwitchPort(p) {
		return t.Port(t.Ports[p].Node, 0)
	}
	return p
}
