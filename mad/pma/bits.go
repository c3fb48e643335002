package pma

import (
	"encoding/binary"
	"math/bits"
)

// Fields narrower than a byte are the byte's offset and a mask; wider ones start at a byte.
// All are big-endian.

func put(b *byte, mask, v byte) { *b = *b&^mask | v<<bits.TrailingZeros8(mask)&mask }

func get16(b []byte) uint16    { return binary.BigEndian.Uint16(b) }
func get32(b []byte) uint32    { return binary.BigEndian.Uint32(b) }
func get64(b []byte) uint64    { return binary.BigEndian.Uint64(b) }
func put16(b []byte, v uint16) { binary.BigEndian.PutUint16(b, v) }
func put32(b []byte, v uint32) { binary.BigEndian.PutUint32(b, v) }
func put64(b []byte, v uint64) { binary.BigEndian.PutUint64(b, v) }

// field is a counter's place: its first bit, where bit 0 is the most significant one of byte
// 0, and its width, a power of two; it lies within a byte or begins at one.
type field struct {
	bit   uint16
	width uint8
}

// top is the largest value, at which a counter stays.
func (f field) top() uint64 { return 1<<f.width - 1 }

// read is the value of a field of an attribute that is long enough.
func (f field) read(d []byte) uint64 {
	b := d[f.bit/8:]
	switch f.width {
	case 8:
		return uint64(b[0])
	case 16:
		return uint64(get16(b))
	case 32:
		return uint64(get32(b))
	case 64:
		return get64(b)
	}
	return uint64(b[0]) >> (8 - f.bit%8 - uint16(f.width)) & f.top()
}

// write stores a value, or the largest if it is beyond.
func (f field) write(d []byte, v uint64) {
	b := d[f.bit/8:]
	v = min(v, f.top())
	switch f.width {
	case 8:
		b[0] = byte(v)
	case 16:
		put16(b, uint16(v))
	case 32:
		put32(b, uint32(v))
	case 64:
		put64(b, v)
	default:
		shift := 8 - f.bit%8 - uint16(f.width)
		b[0] = b[0]&^(byte(f.top())<<shift) | byte(v)<<shift
	}
}
