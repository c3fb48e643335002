package smp

import (
	"encoding/binary"
	"math/bits"
)

// A field narrower than a byte is the byte's offset and a mask; wider ones start
// at a byte. All are big-endian.

func get(b, mask byte) uint8 { return b & mask >> bits.TrailingZeros8(mask) }

func put(b *byte, mask, v byte) { *b = *b&^mask | v<<bits.TrailingZeros8(mask)&mask }

func putBool(b *byte, mask byte, v bool) {
	*b &^= mask
	if v {
		*b |= mask
	}
}

func get16(b []byte) uint16    { return binary.BigEndian.Uint16(b) }
func get32(b []byte) uint32    { return binary.BigEndian.Uint32(b) }
func get64(b []byte) uint64    { return binary.BigEndian.Uint64(b) }
func put16(b []byte, v uint16) { binary.BigEndian.PutUint16(b, v) }
func put32(b []byte, v uint32) { binary.BigEndian.PutUint32(b, v) }
func put64(b []byte, v uint64) { binary.BigEndian.PutUint64(b, v) }

func get24(b *[3]byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

func put24(b *[3]byte, v uint32) { b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v) }
