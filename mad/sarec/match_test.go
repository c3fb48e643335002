package sarec

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"ibsm/mad"
)

// Fields lie in their record one behind the other, without a gap but where a component is reserved.
func TestFieldsInOrder(t *testing.T) {
	for _, r := range records {
		at, reserved := uint16(0), false
		for i, f := range r.fields {
			if f.width == 0 {
				reserved = true
				continue
			}
			if f.bit < at || f.bit > at != reserved || int(f.bit+f.width) > r.rec.Len()*8 {
				t.Errorf("%s: component %d at bit %d, the one before ends at %d", r.rec.Name(), i, f.bit, at)
			}
			at, reserved = f.bit+f.width, false
		}
	}
}

// The mask of a field has its bits and no others, wherever it begins and ends in its bytes.
func TestFillMask(t *testing.T) {
	for bit := range uint16(16) {
		for width := uint16(1); width <= 40; width++ {
			mask := make([]byte, 8)
			fillMask(mask, []field{{}, {bit, width}}, 1<<1)
			if got, want := binary.BigEndian.Uint64(mask), ^uint64(0)<<(64-width)>>bit; got != want {
				t.Errorf("%d bits from bit %d: %x, want %x", width, bit, got, want)
			}
		}
	}
}

// Match under a mask says what a comparison bit by bit says.
func TestMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, r := range records {
		if r.mask == nil {
			continue
		}
		size, matched := r.rec.Len(), 0
		for range 2000 {
			rec, want := make([]byte, size), make([]byte, size)
			for i := range rec {
				rec[i] = byte(rng.Uint32())
			}
			copy(want, rec)
			for range rng.IntN(3) {
				want[rng.IntN(size)] ^= 1 << rng.IntN(8)
			}
			comps := mad.ComponentMask(rng.Uint64() & rng.Uint64())
			same := true
			for i, f := range r.fields {
				for b := f.bit; comps>>i&1 != 0 && b < f.bit+f.width; b++ {
					same = same && (rec[b/8]^want[b/8])<<(b%8)&0x80 == 0
				}
			}
			if got := Match(rec, want, r.mask(comps)); got != same {
				t.Fatalf("%s: Match %v, want %v\nrecord %x\nwanted %x\ncomponents %#x", r.rec.Name(), got, same, rec,
					want, comps)
			}
			if same {
				matched++
			}
		}
		if matched == 0 || matched == 2000 {
			t.Errorf("%s: %d of 2000 matched, which proves nothing", r.rec.Name(), matched)
		}
	}
}

// The mask of a component is the field that its name stands for.
func TestComponents(t *testing.T) {
	for _, r := range records {
		if r.mask == nil {
			continue
		}
		for _, c := range r.components {
			want := make([]byte, r.rec.Len())
			fillMask(want, []field{{uint16(c.Bit), uint16(c.Width)}}, 1)
			if got := r.mask(c.comp); c.comp != none && !bytes.Equal(got, want) {
				t.Errorf("%s, component %#x:\n got %x\nwant %x", r.rec.Name(), c.comp, got, want)
			}
		}
	}
}

// The components of a PortInfoRecord are in the order of its fields, reserved ones included
// (IBA 15.2.5.3; the IB_PIR_COMPMASK constants of OpenSM's ib_types.h).
func TestPortInfoComponentOrder(t *testing.T) {
	for bit, comp := range []mad.ComponentMask{
		PortInfoEndportLID, PortInfoPortNum, PortInfoOptions, PortInfoMKey, PortInfoGidPrefix, PortInfoLID,
		PortInfoMasterSMLID,
		PortInfoCapabilityMask, PortInfoDiagCode, PortInfoMKeyLeasePeriod, PortInfoLocalPortNum,
		PortInfoLinkWidthEnabled,
		PortInfoLinkWidthSupported, PortInfoLinkWidthActive, PortInfoLinkSpeedSupported, PortInfoPortState,
		PortInfoPortPhysicalState,
		PortInfoLinkDownDefaultState, PortInfoMKeyProtectBits, none, PortInfoLMC, PortInfoLinkSpeedActive,
		PortInfoLinkSpeedEnabled,
		PortInfoNeighborMTU, PortInfoMasterSMSL, PortInfoVLCap, PortInfoInitType, PortInfoVLHighLimit,
		PortInfoVLArbitrationHighCap,
		PortInfoVLArbitrationLowCap, PortInfoInitTypeReply, PortInfoMTUCap, PortInfoVLStallCount, PortInfoHOQLife,
		PortInfoOperationalVLs, PortInfoPartEnforcementIn, PortInfoPartEnforcementOut, PortInfoFilterRawIn,
		PortInfoFilterRawOut,
		PortInfoMKeyViolations, PortInfoPKeyViolations, PortInfoQKeyViolations, PortInfoGUIDCap,
		PortInfoClientReregister,
		PortInfoMcastPKeySuppression, PortInfoSubnetTimeOut, none, PortInfoRespTimeValue, PortInfoLocalPhyErrors,
		PortInfoOverrunErrors, PortInfoMaxCreditHint, none, PortInfoLinkRoundTripLatency, PortInfoCapabilityMask2,
		PortInfoLinkSpeedExtActive, PortInfoLinkSpeedExtSupported, none, PortInfoLinkSpeedExtEnabled,
	} {
		if comp != none && comp != 1<<bit {
			t.Errorf("component %d is %#x", bit, comp)
		}
	}
}

// Components of PortInfo are the fields that the accessors of package smp read.
func TestPortInfoComponents(t *testing.T) {
	var port PortInfoRecord
	info := port.PortInfo()
	port.SetEndportLID(0xffff)
	port.SetPortNum(0xff)
	port.SetOptions(0xff)
	info.SetMKey(^mad.MKey(0))
	info.SetLID(0xffff)
	info.SetCapabilityMask(^info.CapabilityMask())
	info.SetPortState(0xf)
	info.SetLMC(7)
	info.SetLinkSpeedActive(0xf)
	info.SetMTUCap(0xf)
	info.SetGUIDCap(0xff)
	info.SetSubnetTimeOut(0x1f)
	info.SetOverrunErrors(0xf)
	info.SetCapabilityMask2(^info.CapabilityMask2())
	info.SetLinkSpeedExtActive(0xf)
	info.SetLinkSpeedExtEnabled(0x1f)
	comps := PortInfoEndportLID | PortInfoPortNum | PortInfoOptions | PortInfoMKey | PortInfoLID |
		PortInfoCapabilityMask |
		PortInfoPortState | PortInfoLMC | PortInfoLinkSpeedActive | PortInfoMTUCap | PortInfoGUIDCap |
		PortInfoSubnetTimeOut |
		PortInfoOverrunErrors | PortInfoCapabilityMask2 | PortInfoLinkSpeedExtActive | PortInfoLinkSpeedExtEnabled
	if got := PortInfoMask(comps); got != port {
		t.Errorf("PortInfoRecord: mask\n%x, fields\n%x", got, port)
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	var rec, want NodeRecord
	if n := testing.AllocsPerRun(100, func() {
		mask := NodeMask(^mad.ComponentMask(0))
		if !Match(rec[:], want[:], mask[:]) {
			t.Error("equal records do not match")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
