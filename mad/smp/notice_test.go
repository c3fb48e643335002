package smp

import (
	"bytes"
	"testing"

	"ibsm/mad"
)

// Details begin at byte 10 of a notice, and a view writes through.
func TestDetailsAreViews(t *testing.T) {
	gid := mad.MakeGID(mad.DefaultPrefix, 0x100001)
	for _, tt := range []struct {
		name string
		set  func(n *Notice)
		at   int
		want []byte
	}{
		{"traps 64..69", func(n *Notice) { n.Address().SetGID(gid) }, 16, gid[:]},
		{"trap 128", func(n *Notice) { n.LinkState().SetLID(0x1234) }, 10, []byte{0x12, 0x34}},
		{"trap 129", func(n *Notice) { n.PortError().SetPortNum(36) }, 14, []byte{36}},
		{"trap 144", func(n *Notice) { n.LocalChange().SetChangeFlags(ChangedCapabilityMask2) }, 20, []byte{0, 0x20}},
		{"trap 145", func(n *Notice) {
			n.SystemImage().SetSystemImageGUID(0x0102030405060708)
		}, 16, []byte{1, 2, 3, 4, 5, 6, 7, 8}},
		{"trap 256", func(n *Notice) { n.BadMKey().SetAttributeID(AttrPortInfo) }, 18, []byte{0, 0x15}},
		{"trap 257", func(n *Notice) { n.BadKey().SetGID2(gid) }, 44, gid[:]},
		{"trap 259", func(n *Notice) { n.SwitchBadPKey().SetPortNum(36) }, 60, []byte{36}},
		{"trap 1144", func(n *Notice) { n.VPortLocalChange().SetVPortIndex(0x0102) }, 22, []byte{1, 2}},
		{"trap 1146", func(n *Notice) { n.VPortStateChange().SetLID(0x0304) }, 12, []byte{3, 4}},
		{"trap 1257", func(n *Notice) { n.VPortBadKey().SetVPortIndex(0x0506) }, 60, []byte{5, 6}},
	} {
		var n, want Notice
		copy(want[tt.at:], tt.want)
		if tt.set(&n); n != want {
			t.Errorf("%s:\n got %x\nwant %x", tt.name, n, want)
		}
	}
}

func TestDRReturnPath(t *testing.T) {
	ports := make([]uint8, 63)
	for i := range ports {
		ports[i] = uint8(i + 1)
	}
	for hops := range len(ports) + 1 {
		n := Notice{}
		for i := range n {
			n[i] = 0xff // what was there before must not shine through
		}
		d := n.BadMKey()
		d.SetDRReturnPath(ports[:hops])
		want := ports[:min(hops, 30)]
		if !bytes.Equal(d.DRReturnPath(), want) || d.DRPathTruncated() != (hops > 30) ||
			int(d.DRHopCount()) != len(want) {
			t.Errorf("%d hops: %v, truncated %v", hops, d.DRReturnPath(), d.DRPathTruncated())
		}
		if i := bytes.IndexByte(n[34+len(want):], 0xff); i >= 0 {
			t.Errorf("%d hops: old bytes behind the path", hops)
		}
	}
	var d BadMKeyDetails
	d.SetDRHopCount(63) // what a sender may claim
	if n := len(d.DRReturnPath()); n != 30 {
		t.Errorf("a claim of 63 hops gives a path of %d", n)
	}
}
