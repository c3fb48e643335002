package perf

import (
	"encoding/binary"
	"slices"
	"time"

	"ibsm/mad/pma"
)

// table is the ports of images, in the order of their agents; it does not change.
type table struct {
	keys  []Key
	index map[Key]int32
}

// Image is what one sweep has found, port by port. It does not change. Counts are kept as
// differences of variable length, since most are small.
type Image struct {
	Begin, End time.Duration // of the sweep
	Answered   int           // ports that were read
	table      *table
	interval   time.Duration  // that most ports' Span is near to
	sets       []pma.Counters // that Has of ports is one of
	blocks     []uint32       // where every 64th port begins in data
	data       []byte
}

// blockPorts is how many ports are read one after the other to find one.
const blockPorts = 64

// A port in data:
//
//	header   index into sets, or 63; bit 6: AtLeast follows, bit 7: Note follows
//	Note     as a number
//	Has      as a number, after the index 63
//	AtLeast  as a number
//	At       since Begin, in 16 ms
//	Span     more than interval, in ms
//	mask     of counts that are not zero, in the order of packed
//	counts   of those
//
// The numbers are varints. With the notes First, NoAnswer and Refused nothing follows the Note.
const (
	headerSets    = 63
	headerAtLeast = 1 << 6
	headerNote    = 1 << 7
	atUnit        = 16 * time.Millisecond
	notesAlone    = First | NoAnswer | Refused
)

// packed is the order of counters in a mask: what is often not zero has the lowest bits, which
// take one byte.
var packed = [pma.NumCounters]pma.Counter{
	pma.PortXmitData, pma.PortRcvData, pma.PortXmitPkts, pma.PortRcvPkts, pma.PortXmitWait, pma.PortUnicastXmitPkts,
	pma.PortUnicastRcvPkts,
	pma.PortMulticastXmitPkts, pma.PortMulticastRcvPkts, pma.SymbolErrorCounter, pma.PortRcvErrors,
	pma.PortXmitDiscards,
	pma.LinkErrorRecoveryCounter, pma.LinkDownedCounter, pma.PortRcvRemotePhysicalErrors, pma.PortRcvSwitchRelayErrors,
	pma.PortXmitConstraintErrors, pma.PortRcvConstraintErrors, pma.LocalLinkIntegrityErrors,
	pma.ExcessiveBufferOverrunErrors,
	pma.VL15Dropped, pma.QP1Dropped,
}

// folded turns unicast counts into what all packets and multicast ones do not explain, which is
// nothing on most ports, and back.
func folded(n *[pma.NumCounters]uint64) {
	n[pma.PortUnicastXmitPkts] = n[pma.PortXmitPkts] - n[pma.PortMulticastXmitPkts] - n[pma.PortUnicastXmitPkts]
	n[pma.PortUnicastRcvPkts] = n[pma.PortRcvPkts] - n[pma.PortMulticastRcvPkts] - n[pma.PortUnicastRcvPkts]
}

// appendDelta appends a port to data.
func (im *Image) appendDelta(b []byte, d *Delta) []byte {
	set := slices.Index(im.sets, d.Has)
	if set < 0 && len(im.sets) < headerSets {
		set = len(im.sets)
		im.sets = append(im.sets, d.Has)
	} else if set < 0 {
		set = headerSets
	}
	header := byte(set)
	if d.AtLeast != 0 {
		header |= headerAtLeast
	}
	if d.Note != 0 {
		header |= headerNote
	}
	b = append(b, header)
	if d.Note != 0 {
		b = binary.AppendUvarint(b, uint64(d.Note))
		if d.Note&notesAlone != 0 {
			return b
		}
	}
	if set == headerSets {
		b = binary.AppendUvarint(b, uint64(d.Has))
	}
	if d.AtLeast != 0 {
		b = binary.AppendUvarint(b, uint64(d.AtLeast))
	}
	b = binary.AppendUvarint(b, uint64(max(0, d.At-im.Begin)/atUnit))
	b = binary.AppendVarint(b, int64((d.Span-im.interval)/time.Millisecond))
	n := d.N
	folded(&n)
	mask := uint64(0)
	for i, c := range packed {
		if n[c] != 0 {
			mask |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, mask)
	for i, c := range packed {
		if mask>>i&1 != 0 {
			b = binary.AppendUvarint(b, n[c])
		}
	}
	return b
}

// decode reads the port at the beginning of b, and returns what follows it.
func (im *Image) decode(b []byte, d *Delta) []byte {
	*d = Delta{At: im.Begin}
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	header := b[0]
	b = b[1:]
	if header&headerNote != 0 {
		if d.Note = Note(next()); d.Note&notesAlone != 0 {
			return b
		}
	}
	if set := header & headerSets; set == headerSets {
		d.Has = pma.Counters(next())
	} else {
		d.Has = im.sets[set]
	}
	if header&headerAtLeast != 0 {
		d.AtLeast = pma.Counters(next())
	}
	d.At = im.Begin + time.Duration(next())*atUnit
	span, n := binary.Varint(b)
	b = b[n:]
	d.Span = im.interval + time.Duration(span)*time.Millisecond
	for i, mask := 0, next(); mask != 0; i, mask = i+1, mask>>1 {
		if mask&1 != 0 {
			d.N[packed[i]] = next()
		}
	}
	folded(&d.N)
	return b
}

// Len is the number of ports.
func (im *Image) Len() int { return len(im.table.keys) }

// All visits all ports. The Delta is valid during the call; its At is exact to 16 ms, its Span
// to 1 ms. A port without a reading has only a Note.
func (im *Image) All(yield func(Key, *Delta) bool) {
	var d Delta
	b := im.data
	for i := range im.table.keys {
		if b = im.decode(b, &d); !yield(im.table.keys[i], &d) {
			return
		}
	}
}

// Port finds a port; ok is false if the sweep did not have it.
func (im *Image) Port(k Key) (d Delta, ok bool) {
	i, ok := im.table.index[k]
	if !ok {
		return Delta{}, false
	}
	b := im.data[im.blocks[i/blockPorts]:]
	for range i%blockPorts + 1 {
		b = im.decode(b, &d)
	}
	return d, true
}

// size is how much memory the image takes, without the table that it shares with others.
func (im *Image) size() int { return len(im.data) + 4*len(im.blocks) + 4*len(im.sets) + 128 }

// History is the images of the last time, the oldest first.
type History struct {
	keep   time.Duration
	memory int
	images []*Image
	bytes  int
}

// add appends an image, and drops those that are too old or too much. The newest stays.
func (h *History) add(im *Image) {
	h.images = append(h.images, im)
	h.bytes += im.size()
	drop := 0
	for drop < len(h.images)-1 && (h.images[drop].End <= im.End-h.keep || h.memory > 0 && h.bytes > h.memory) {
		h.bytes -= h.images[drop].size()
		h.images[drop] = nil
		drop++
	}
	h.images = slices.Delete(h.images, 0, drop)
}

// Images are those that are kept, the oldest first. The slice is the caller's.
func (h *History) Images() []*Image { return slices.Clone(h.images) }

// Bytes is the memory that the images take.
func (h *History) Bytes() int { return h.bytes }
