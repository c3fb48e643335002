package dump

import (
	"math/bits"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/topo"
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

// appendName appends what OpenSM prints for a node.
func appendName(b []byte, given names.Map, node *topo.Node) []byte {
	return given.AppendPrinted(b, node.GUID, &node.Desc)
}

// endPort is the port that has the LID of a port: of a switch it is port 0.
func endPort(t *topo.Topo, p topo.PortIdx) topo.PortIdx {
	if t.IsSwitchPort(p) {
		return t.Port(t.Ports[p].Node, 0)
	}
	return p
}
