package mad

import "fmt"

// NodeType is what NodeInfo says a node is (IBA 14.2.5.3).
type NodeType uint8

// Node types.
const (
	CA     NodeType = 1
	Switch NodeType = 2
	Router NodeType = 3
)

var nodeTypeNames = map[NodeType]string{
	CA:     "CA",
	Switch: "switch",
	Router: "router",
}

func (t NodeType) String() string { return NameOf(nodeTypeNames, t, "node type %d") }

// LinkWidth is one bit of PortInfo's width masks (IBA 14.2.5.6). The bits are
// not in order of width.
type LinkWidth uint8

// Link widths.
const (
	Width1x  LinkWidth = 1
	Width4x  LinkWidth = 2
	Width8x  LinkWidth = 4
	Width12x LinkWidth = 8
	Width2x  LinkWidth = 16
)

// Lanes is the number of lanes, 0 for a value that is no single width.
func (w LinkWidth) Lanes() int {
	switch w {
	case Width1x:
		return 1
	case Width2x:
		return 2
	case Width4x:
		return 4
	case Width8x:
		return 8
	case Width12x:
		return 12
	}
	return 0
}

// Widest is the width with the most lanes of a mask, 0 of an empty one.
func (w LinkWidth) Widest() LinkWidth {
	for _, one := range [...]LinkWidth{Width12x, Width8x, Width4x, Width2x, Width1x} {
		if w&one != 0 {
			return one
		}
	}
	return 0
}

// String prints "4x", as ibnetdiscover does.
func (w LinkWidth) String() string {
	if n := w.Lanes(); n > 0 {
		return fmt.Sprintf("%dx", n)
	}
	return "?x"
}

// LinkSpeed is the speed of a lane, in ascending order. PortInfo spreads it over
// three fields and a vendor attribute; this is the one value they amount to.
type LinkSpeed uint8

// Lane speeds. The zero value is an unknown speed.
const (
	SDR   LinkSpeed = 1 // 2.5 Gb/s
	DDR   LinkSpeed = 2 // 5
	QDR   LinkSpeed = 3 // 10
	FDR10 LinkSpeed = 4 // 10.3125, NVIDIA's ExtendedPortInfo
	FDR   LinkSpeed = 5 // 14.0625
	EDR   LinkSpeed = 6 // 25.78125
	HDR   LinkSpeed = 7 // 53.125
	NDR   LinkSpeed = 8 // 106.25
	XDR   LinkSpeed = 9 // 212.5
)

var speedNames = [...]string{"?", "SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"}

// String prints the name that ibnetdiscover uses.
func (s LinkSpeed) String() string {
	if int(s) < len(speedNames) {
		return speedNames[s]
	}
	return "?"
}

// ParseLinkSpeed reads a name of LinkSpeed.
func ParseLinkSpeed(name string) (LinkSpeed, bool) {
	for i, n := range speedNames {
		if i > 0 && n == name {
			return LinkSpeed(i), true
		}
	}
	return 0, false
}

// Rate is the rate code of path and group records (IBA 15.2.5.16). Codes are not
// in order of speed: compare with Gbps.
type Rate uint8

// rates[lanes][speed]
var rates = [13][10]Rate{
	1:  {0, 2, 5, 3, 3, 11, 15, 20, 16, 17},
	2:  {0, 5, 3, 6, 6, 19, 20, 16, 17, 21},
	4:  {0, 3, 6, 7, 7, 12, 16, 17, 21, 23},
	8:  {0, 6, 7, 9, 9, 13, 17, 21, 23, 25},
	12: {0, 4, 8, 10, 10, 14, 18, 22, 24, 26},
}

// LinkRate is the code of a link of that width and speed; 0 when either is
// unknown.
func LinkRate(w LinkWidth, s LinkSpeed) Rate {
	row := &rates[w.Lanes()]
	if int(s) >= len(row) {
		return 0
	}
	return row[s]
}

// rateGbps[code] is ten times the nominal Gb/s.
var rateGbps = [...]uint16{2: 25, 3: 100, 4: 300, 5: 50, 6: 200, 7: 400, 8: 600, 9: 800, 10: 1200, 11: 140, 12: 560,
	13: 1120, 14: 1680, 15: 250, 16: 1000, 17: 2000, 18: 3000, 19: 280, 20: 500, 21: 4000, 22: 6000, 23: 8000,
	24: 12000, 25: 16000, 26: 24000}

// Gbps is the nominal rate in Gb/s, 0 for a code that is not defined.
func (r Rate) Gbps() float64 {
	if int(r) < len(rateGbps) {
		return float64(rateGbps[r]) / 10
	}
	return 0
}

// rateRank[code] orders codes by what gets through: 8b/10b speeds lose a fifth.
var rateRank = [...]uint8{2: 1, 5: 2, 3: 3, 11: 4, 6: 5, 4: 6, 15: 7, 19: 8, 7: 9, 8: 10, 20: 11, 12: 12, 9: 13, 10: 14,
	16: 15, 13: 16, 14: 17, 17: 18, 18: 19, 21: 20, 22: 21, 23: 22, 24: 23, 25: 24, 26: 25}

// Rank orders codes by real throughput; 0 for a code that is not defined.
func (r Rate) Rank() int {
	if int(r) < len(rateRank) {
		return int(rateRank[r])
	}
	return 0
}

// MaxRank is the highest Rank.
const MaxRank = 25

// RateOfRank is the code with a Rank, 0 if there is none.
func RateOfRank(rank int) Rate {
	for r, n := range rateRank {
		if n != 0 && int(n) == rank {
			return Rate(r)
		}
	}
	return 0
}

// MTU is the MTU code of PortInfo and of path records: 1..5 for 256..4096 bytes.
type MTU uint8

// MTU codes.
const (
	MTU256  MTU = 1
	MTU512  MTU = 2
	MTU1024 MTU = 3
	MTU2048 MTU = 4
	MTU4096 MTU = 5
)

// Bytes is the size that the code stands for, 0 for a code that is not defined.
func (m MTU) Bytes() int {
	if m < MTU256 || m > MTU4096 {
		return 0
	}
	return 128 << m
}
