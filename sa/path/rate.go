package path

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// rateCaps are the capabilities of an end port on which the rate codes depend
// that its driver understands.
type rateCaps uint8

const (
	capExtended rateCaps = 1 << iota // FDR, EDR
	cap2x
	capHDR
	capNDR
	capXDR

	rateCapsEnd = 1 << iota
)

func makeRateCaps(mask smp.CapMask, mask2 smp.CapMask2) (c rateCaps) {
	if mask.Has(smp.IsExtendedSpeedsSupported) {
		c |= capExtended
	}
	if mask2.Has(smp.IsLinkWidth2xSupported) {
		c |= cap2x
	}
	if mask2.Has(smp.IsLinkSpeedHDRSupported) {
		c |= capHDR
	}
	if mask2.Has(smp.IsLinkSpeedNDRSupported) {
		c |= capNDR
	}
	if mask2.Has(smp.IsLinkSpeedXDRSupported) {
		c |= capXDR
	}
	return c
}

// Bounds of the rate codes.
const (
	minRate mad.Rate = 2
	maxRate mad.Rate = 26
)

// knows reports whether a driver with the capabilities understands the code. A
// code is as old as the speed that brought it: 50 Gb/s came with 2x EDR, 400 with
// 8x HDR.
func (c rateCaps) knows(r mad.Rate) bool {
	switch {
	case r <= 10:
		return true
	case r <= 18:
		return c&capExtended != 0
	case r == 19:
		return c&cap2x != 0
	case r == 20:
		return c&(cap2x|capHDR) != 0
	case r <= 22:
		return c&(capHDR|capNDR) != 0
	case r <= 24:
		return c&capNDR != 0
	}
	return c&capXDR != 0
}

// known[caps] has bit r set when knows(r). rateOfRank is the inverse of Rank.
var known, rateOfRank = func() (known [rateCapsEnd]uint32, byRank [maxRate]mad.Rate) {
	for r := minRate; r <= maxRate; r++ {
		byRank[r.Rank()] = r
		for c := range known {
			if rateCaps(c).knows(r) {
				known[c] |= 1 << r
			}
		}
	}
	return known, byRank
}()

// upTo has the bits of the codes up to one, of all for 0.
func upTo(most mad.Rate) uint32 {
	if most == 0 {
		return ^uint32(0)
	}
	return 1<<(most+1) - 1
}

// LimitRate is what the SA answers instead of a rate whose code is above the most that it
// may answer, 0 for any: the fastest of a lower code that promises no more, and no more
// than the most does. Hosts with old drivers refuse codes by number, so that a faster rate
// of a lower code stays.
func LimitRate(r, most mad.Rate) mad.Rate {
	switch {
	case most == 0 || r <= most:
		return r
	case r.Gbps() > most.Gbps():
		return most
	}
	return highest(upTo(most), r, true)
}

// highest is the fastest of the known codes that promises no more than r, in name
// and in real throughput: 60 Gb/s of 12x DDR carries less than 50 of 2x EDR, but a
// driver that reads 60 would not know. With below it is slower than r. 0 when
// there is none.
func highest(known uint32, r mad.Rate, below bool) mad.Rate {
	if !below && known>>r&1 != 0 {
		return r
	}
	for rank := r.Rank() - 1; rank > 0; rank-- {
		if c := rateOfRank[rank]; known>>c&1 != 0 && c.Gbps() <= r.Gbps() {
			return c
		}
	}
	return 0
}
