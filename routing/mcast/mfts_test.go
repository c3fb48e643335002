package mcast_test

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

func maskOf(ports ...uint8) (m mcast.PortMask) {
	for _, p := range ports {
		m.Add(p)
	}
	return m
}

func TestPortMask(t *testing.T) {
	for _, ports := range [][]uint8{nil, {0}, {255}, {0, 1, 15, 16, 63, 64, 127, 128, 254, 255}} {
		m := maskOf(ports...)
		if got := slices.Collect(m.Ports()); !slices.Equal(got, ports) || m.Len() != len(ports) ||
			m.Empty() != (len(ports) == 0) {
			t.Errorf("%v became %v, %d ports", ports, got, m.Len())
		}
		var copied mcast.PortMask
		for position := range uint8(16) {
			copied.SetPosition(position, 0xa5a5)
			copied.SetPosition(position, m.Position(position))
		}
		if copied != m {
			t.Errorf("%v by positions is %v", ports, slices.Collect(copied.Ports()))
		}
		for _, p := range ports {
			if !m.Has(p) {
				t.Errorf("%v lacks %d", ports, p)
			}
			m.Remove(p)
		}
		if !m.Empty() {
			t.Errorf("%v is not empty without them", ports)
		}
	}
}

// TestPortMasks: a port of either set is in Or, one of both in And, in each part of a mask.
func TestPortMasks(t *testing.T) {
	for port := range 255 {
		a, b := maskOf(uint8(port), 255), maskOf(uint8(port)+1, 255)
		if got := slices.Collect(a.Or(b).Ports()); port < 254 &&
			!slices.Equal(got, []uint8{uint8(port), uint8(port) + 1, 255}) {
			t.Errorf("%d: either has %v", port, got)
		}
		if got := slices.Collect(a.And(b).Ports()); port < 254 && !slices.Equal(got, []uint8{255}) {
			t.Errorf("%d: both have %v", port, got)
		}
		if got := a.And(maskOf(uint8(port))); got != maskOf(uint8(port)) {
			t.Errorf("%d: both have %v", port, slices.Collect(got.Ports()))
		}
	}
}

// TestBlock holds blocks against the attribute's own accessors.
func TestBlock(t *testing.T) {
	var none *mcast.MFTs
	tree := func(mlid mad.LID, branches ...mcast.Branch) *mcast.Tree {
		return &mcast.Tree{MLID: mlid, Branches: branches}
	}
	first := none.With(
		tree(0xc000, mcast.Branch{Switch: 1, Ports: maskOf(0, 7)}, mcast.Branch{Switch: 4, Ports: maskOf(17, 40)}),
		tree(0xc021, mcast.Branch{Switch: 4, Ports: maskOf(16, 36)}))
	second := first.With(tree(0xc000), tree(0xc03f, mcast.Branch{Switch: 2, Ports: maskOf(3)}))
	for _, c := range []struct {
		mfts     *mcast.MFTs
		s        topo.SwitchIdx
		position uint8
		block    uint16
		mlid     mad.LID
		want     uint16
	}{
		{first, 1, 0, 0, 0xc000, 1 | 1<<7},
		{first, 1, 1, 0, 0xc000, 0},
		{first, 4, 1, 0, 0xc000, 1 << 1},
		{first, 4, 2, 0, 0xc000, 1 << 8},
		{first, 4, 1, 1, 0xc021, 1},
		{first, 4, 2, 1, 0xc021, 1 << 4},
		{first, 2, 0, 1, 0xc03f, 0},
		{first, 0, 0, 0, 0xc000, 0},
		{first, 4, 0, 511, 0xfffe, 0},
		{second, 1, 0, 0, 0xc000, 0},
		{second, 4, 1, 1, 0xc021, 1},
		{second, 2, 0, 1, 0xc03f, 1 << 3},
		{none, 1, 0, 0, 0xc000, 0},
	} {
		data := smp.MulticastForwardingTable(c.mfts.Block(c.s, c.position, c.block))
		if got := data.PortMask(c.mlid); got != c.want {
			t.Errorf("switch %d, position %d, block %d, MLID %v: %#x, want %#x", c.s, c.position, c.block, c.mlid, got,
				c.want)
		}
	}
	for _, c := range []struct {
		mfts  *mcast.MFTs
		top   mad.LID
		trees int
	}{{none, 0xbfff, 0}, {first, 0xc021, 2}, {second, 0xc03f, 2},
		{second.With(tree(0xc03f), tree(0xc021)), 0xbfff, 0}} {
		if got := len(slices.Collect(c.mfts.Trees())); got != c.trees || c.mfts.Top() != c.top {
			t.Errorf("%d trees up to %v, want %d up to %v", got, c.mfts.Top(), c.trees, c.top)
		}
	}
	if first.Tree(0xc021) != second.Tree(0xc021) || first.Tree(0xc000) == nil {
		t.Error("a tree that was not touched is another one, or the old tables have changed")
	}
	if smp.MFTBlockSize != mcast.BlockSize || smp.MFTPositionSize != mcast.PositionSize {
		t.Error("blocks are not those of the attribute")
	}
}
