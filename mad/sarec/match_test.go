package sarec

import (
	"math/rand/v2"
	"testing"

	"ibsm/mad"
)

// records are those that requests match by component.
var records = []struct {
	name   string
	size   int
	fields []field
	mask   func(mad.ComponentMask) []byte
}{
	{"NodeRecord", 112, nodeFields[:], func(c mad.ComponentMask) []byte { m := NodeMask(c); return m[:] }},
	{"PortInfoRecord", 72, portInfoFields[:], func(c mad.ComponentMask) []byte { m := PortInfoMask(c); return m[:] }},
	{"SMInfoRecord", 32, smInfoFields[:], func(c mad.ComponentMask) []byte { m := SMInfoMask(c); return m[:] }},
	{"LinkRecord", 8, linkFields[:], func(c mad.ComponentMask) []byte { m := LinkMask(c); return m[:] }},
}

// Fields lie in their record one behind the other.
func TestFieldsInOrder(t *testing.T) {
	for _, r := range records {
		at := uint16(0)
		for i, f := range r.fields {
			if f.width == 0 {
				continue
			}
			if f.bit < at || int(f.bit+f.width) > r.size*8 {
				t.Errorf("%s: component %d at bit %d, the one before ends at %d", r.name, i, f.bit, at)
			}
			at = f.bit + f.width
		}
	}
}

// Match under a mask says what a comparison bit by bit says.
func TestMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, r := range records {
		matched := 0
		for range 2000 {
			rec, want := make([]byte, r.size), make([]byte, r.size)
			for i := range rec {
				rec[i] = byte(rng.Uint32())
			}
			copy(want, rec)
			for range rng.IntN(3) {
				want[rng.IntN(r.size)] ^= 1 << rng.IntN(8)
			}
			comps := mad.ComponentMask(rng.Uint64() & rng.Uint64())
			same := true
			for i, f := range r.fields {
				for b := f.bit; comps>>i&1 != 0 && b < f.bit+f.width; b++ {
					same = same && (rec[b/8]^want[b/8])<<(b%8)&0x80 == 0
				}
			}
			if got := Match(rec, want, r.mask(comps)); got != same {
				t.Fatalf("%s: Match %v, want %v\nrecord %x\nwanted %x\ncomponents %#x", r.name, got, same, rec, want, comps)
			}
			if same {
				matched++
			}
		}
		if matched == 0 || matched == 2000 {
			t.Errorf("%s: %d of 2000 matched, which proves nothing", r.name, matched)
		}
	}
}

// Names of components stand for the field that their accessor reads.
func TestComponentNames(t *testing.T) {
	var node NodeRecord
	node.SetLID(0xffff)
	node.SetPortGUID(^mad.GUID(0))
	node.SetLocalPortNum(0xff)
	if got := NodeMask(NodeLID | NodePortGUID | NodeLocalPortNum); got != node {
		t.Errorf("NodeRecord: mask\n%x, fields\n%x", got, node)
	}
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
	comps := PortInfoEndportLID | PortInfoPortNum | PortInfoOptions | PortInfoMKey | PortInfoLID | PortInfoCapabilityMask |
		PortInfoPortState | PortInfoLMC | PortInfoLinkSpeedActive | PortInfoMTUCap | PortInfoGUIDCap | PortInfoSubnetTimeOut |
		PortInfoOverrunErrors | PortInfoCapabilityMask2 | PortInfoLinkSpeedExtActive | PortInfoLinkSpeedExtEnabled
	if got := PortInfoMask(comps); got != port {
		t.Errorf("PortInfoRecord: mask\n%x, fields\n%x", got, port)
	}
	var sm SMInfoRecord
	sm.SetLID(0xffff)
	sm.SetGUID(^mad.GUID(0))
	sm.SetSMKey(^uint64(0))
	sm.SetActCount(^uint32(0))
	sm.SetPriority(0xf)
	sm.SetSMState(0xf)
	if got := SMInfoMask(^mad.ComponentMask(0)); got != sm {
		t.Errorf("SMInfoRecord: mask\n%x, fields\n%x", got, sm)
	}
	var link LinkRecord
	link.SetFromLID(0xffff)
	link.SetFromPort(0xff)
	link.SetToPort(0xff)
	link.SetToLID(0xffff)
	if got := LinkMask(LinkFromLID | LinkFromPort | LinkToPort | LinkToLID); got != link {
		t.Errorf("LinkRecord: mask\n%x, fields\n%x", got, link)
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
