package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// field is where a component lies in its record: bits counted from the most
// significant one of byte 0. Width 0 is a reserved component, which matches
// anything.
type field struct{ bit, width uint16 }

// fillMask sets the bits of the fields whose components are given.
func fillMask(mask []byte, fields []field, comps mad.ComponentMask) {
	for i, f := range fields {
		if comps>>i&1 == 0 {
			continue
		}
		for b := f.bit; b < f.bit+f.width; {
			if b%8 == 0 && b+8 <= f.bit+f.width {
				mask[b/8] = 0xff
				b += 8
				continue
			}
			mask[b/8] |= 0x80 >> (b % 8)
			b++
		}
	}
}

// Match reports whether rec has the bits of want wherever mask has ones. The
// three are records of one type, so of one length, a multiple of 8.
func Match(rec, want, mask []byte) bool {
	for len(rec) >= 8 && len(want) >= 8 && len(mask) >= 8 {
		if (binary.BigEndian.Uint64(rec)^binary.BigEndian.Uint64(want))&binary.BigEndian.Uint64(mask) != 0 {
			return false
		}
		rec, want, mask = rec[8:], want[8:], mask[8:]
	}
	return true
}
