package smp

import (
	"math/rand/v2"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

// Every entry of every table attribute: which bits it is, that no others change,
// and that an index into the whole table does for an index into the block.
func TestTableEntries(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n     int // entries in a block
		bit   func(i int) int
		width int
		set   func(b *[mad.DataSize]byte, i int, v uint64)
		get   func(b *[mad.DataSize]byte, i int) uint64
	}{
		{"GUIDInfo", 8, func(i int) int { return 64 * i }, 64,
			func(b *[64]byte, i int, v uint64) { (*GUIDInfo)(b).SetGUID(i, mad.GUID(v)) },
			func(b *[64]byte, i int) uint64 { return uint64((*GUIDInfo)(b).GUID(i)) }},
		{"PKeyTable", 32, func(i int) int { return 16 * i }, 16,
			func(b *[64]byte, i int, v uint64) { (*PKeyTable)(b).SetPKey(i, mad.PKey(v)) },
			func(b *[64]byte, i int) uint64 { return uint64((*PKeyTable)(b).PKey(i)) }},
		{"VPortState", 128, func(i int) int { return 4 * i }, 4,
			func(b *[64]byte, i int, v uint64) { (*VPortState)(b).SetState(uint16(i), PortState(v)) },
			func(b *[64]byte, i int) uint64 { return uint64((*VPortState)(b).State(uint16(i))) }},
		{"SwitchPortStateTable", 128, func(i int) int { return 4 * i }, 4,
			func(b *[64]byte, i int, v uint64) { (*SwitchPortStateTable)(b).SetState(uint8(i), PortState(v)) },
			func(b *[64]byte, i int) uint64 { return uint64((*SwitchPortStateTable)(b).State(uint8(i))) }},
		{"SLtoVLMappingTable", 16, func(i int) int { return 4 * i }, 4,
			func(b *[64]byte, i int, v uint64) { (*SLtoVLMappingTable)(b).SetVL(uint8(i), uint8(v)) },
			func(b *[64]byte, i int) uint64 { return uint64((*SLtoVLMappingTable)(b).VL(uint8(i))) }},
		{"VLArbitrationTable VL", 32, func(i int) int { return 16*i + 4 }, 4,
			func(b *[64]byte, i int, v uint64) {
				_, weight := (*VLArbitrationTable)(b).Entry(i)
				(*VLArbitrationTable)(b).SetEntry(i, uint8(v), weight)
			},
			func(b *[64]byte, i int) uint64 { vl, _ := (*VLArbitrationTable)(b).Entry(i); return uint64(vl) }},
		{"VLArbitrationTable weight", 32, func(i int) int { return 16*i + 8 }, 8,
			func(b *[64]byte, i int, v uint64) {
				vl, _ := (*VLArbitrationTable)(b).Entry(i)
				(*VLArbitrationTable)(b).SetEntry(i, vl, uint8(v))
			},
			func(b *[64]byte, i int) uint64 { _, weight := (*VLArbitrationTable)(b).Entry(i); return uint64(weight) }},
		{"LinearForwardingTable", 64, func(i int) int { return 8 * i }, 8,
			func(b *[64]byte, i int, v uint64) { (*LinearForwardingTable)(b).SetPort(mad.LID(i), uint8(v)) },
			func(b *[64]byte, i int) uint64 { return uint64((*LinearForwardingTable)(b).Port(mad.LID(i))) }},
		{"MulticastForwardingTable", 32, func(i int) int { return 16 * i }, 16,
			func(b *[64]byte, i int, v uint64) {
				(*MulticastForwardingTable)(b).SetPortMask(mad.MinMulticastLID+mad.LID(i), uint16(v))
			},
			func(b *[64]byte, i int) uint64 {
				return uint64((*MulticastForwardingTable)(b).PortMask(mad.MinMulticastLID + mad.LID(i)))
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range tt.n {
				for _, v := range []uint64{0, ^uint64(0), rng.Uint64()} {
					var b [mad.DataSize]byte
					for j := range b {
						b[j] = byte(rng.Uint32())
					}
					want := b
					var digits [8]byte
					for j := range digits {
						digits[j] = byte(v >> (56 - 8*j))
					}
					madtest.PutBits(want[:], tt.bit(i), tt.width, digits[:])
					tt.set(&b, i+tt.n, v) // the same entry of the next block
					if b != want {
						t.Fatalf("entry %d set to %x:\n got %x\nwant %x", i, v, b, want)
					}
					if got, wantV := tt.get(&b, i), v&(1<<tt.width-1); got != wantV {
						t.Fatalf("entry %d: got %x, want %x", i, got, wantV)
					}
				}
			}
		})
	}
}

func TestIndexesNeverPanic(t *testing.T) {
	var g GUIDInfo
	var p PKeyTable
	var a VLArbitrationTable
	for _, i := range []int{-1, -1 << 63, 1<<63 - 1} {
		g.SetGUID(i, g.GUID(i))
		p.SetPKey(i, p.PKey(i))
		vl, weight := a.Entry(i)
		a.SetEntry(i, vl, weight)
	}
	var s SLtoVLMappingTable
	for sl := range 256 {
		s.SetVL(uint8(sl), s.VL(uint8(sl)))
	}
	var l LinearForwardingTable
	var m MulticastForwardingTable
	var v VPortState
	for i := range 1 << 16 {
		v.SetState(uint16(i), v.State(uint16(i)))
	}
	for lid := range 1 << 16 {
		l.SetPort(mad.LID(lid), l.Port(mad.LID(lid)))
		m.SetPortMask(mad.LID(lid), m.PortMask(mad.LID(lid)))
	}
}

func TestModifiers(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want uint32
	}{
		{"PortInfo", PortInfoMod(7, false), 0x00000007},
		{"PortInfo extended", PortInfoMod(254, true), 0x800000fe},
		{"PKeyTable", PKeyTableMod(36, 3), 0x00240003},
		{"PKeyTable of an adapter", PKeyTableMod(0, 2047), 0x000007ff},
		{"SLtoVL", SLtoVLMod(5, 36), 0x00000524},
		{"SLtoVL all inputs", SLtoVLMod(0, 36) | SLtoVLAllIn, 0x00020024},
		{"SLtoVL all outputs", SLtoVLMod(5, 0) | SLtoVLAllOut, 0x00010500},
		{"SLtoVL whole switch", SLtoVLAllIn | SLtoVLAllOut, 0x00030000},
		{"VLArb low", VLArbMod(VLArbLow0, 36), 0x00010024},
		{"VLArb low second half", VLArbMod(VLArbLow1, 0), 0x00020000},
		{"VLArb high", VLArbMod(VLArbHigh0, 1), 0x00030001},
		{"VLArb high second half", VLArbMod(VLArbHigh1, 255), 0x000400ff},
		{"MFT", MFTMod(2, 511), 0x200001ff},
		{"MFT last position", MFTMod(15, 0), 0xf0000000},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: 0x%08x, want 0x%08x", tt.name, tt.got, tt.want)
		}
	}
}

func TestGeneralInfo(t *testing.T) {
	// Bit n is bit n%32 of the big-endian 32-bit word n/32.
	for _, tt := range []struct {
		c    GeneralCap
		byte int
		mask byte
	}{
		{0, 3, 0x01}, {CapAdaptiveRouting, 3, 0x02}, {CapExtendedPortInfo, 2, 0x02}, {CapVirtualization, 2, 0x80},
		{CapAggregationNode, 1, 0x04},
		{31, 0, 0x80},
		{32, 7, 0x01}, {CapCongestionControl, 6, 0x10}, {63, 4, 0x80}, {64, 11, 0x01}, {CapLinkAutoRetrain, 9, 0x02},
		{127, 12, 0x80},
	} {
		var g, want GeneralInfo
		want[tt.byte] = tt.mask
		g.Set(tt.c, true)
		if g != want || !g.Has(tt.c) {
			t.Errorf("capability %d: %x, want %x", tt.c, g, want)
		}
		for c := range GeneralCap(128) {
			if g.Has(c) != (c == tt.c) {
				t.Errorf("capability %d set: Has(%d) is wrong", tt.c, c)
			}
		}
		if g.Set(tt.c, false); g != (GeneralInfo{}) {
			t.Errorf("capability %d does not clear", tt.c)
		}
	}
}

// TestTurnOff: what depends on groups is cleared, and nothing else.
func TestTurnOff(t *testing.T) {
	var a, want ARInfo
	for i := range a {
		a[i], want[i] = 0xff, 0xff
	}
	want[3], want[22] = 0xff&^0x31, 0xff&^0xd0
	if a.TurnOff(); a != want {
		t.Errorf("% x, want % x", a[:32], want[:32])
	}
}
