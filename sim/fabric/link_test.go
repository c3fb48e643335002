package fabric

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

func states(f *Fabric, ends ...net.End) (s []smp.PortState) {
	for _, e := range ends {
		pi := f.PortInfo(e)
		s = append(s, pi.PortState())
	}
	return s
}

func TestFreshFabric(t *testing.T) {
	f := New(twoSwitches(), Config{})
	for at := range f.Ports() {
		pi := f.PortInfo(at)
		want, phys := smp.PortDown, smp.PhysPolling
		switch {
		case at.Port == 0:
			want, phys = smp.PortActive, smp.PhysLinkUp
		case f.Peer(at) != net.NoEnd:
			want, phys = smp.PortInit, smp.PhysLinkUp
		}
		if pi.PortState() != want || pi.PortPhysicalState() != phys || pi.LID() != 0 || pi.LocalPortNum() != at.Port {
			t.Errorf("%v: %v %v LID %v", at, pi.PortState(), pi.PortPhysicalState(), pi.LID())
		}
	}
	if at, ok := f.Find(0x100021); !ok || at != end(h3, 1) || f.PortGUID(at) != 0x100021 {
		t.Errorf("Find: %v %v", at, ok)
	}
}

func TestKeepLIDs(t *testing.T) {
	n := twoSwitches()
	n.Nodes[h2].Ports[1].LID, n.Nodes[h2].Ports[1].LMC = 8, 2
	n.Nodes[sw1].Ports[0].LID = 9
	f := New(n, Config{KeepLIDs: true})
	if pi := f.PortInfo(end(h2, 1)); pi.LID() != 8 || pi.LMC() != 2 {
		t.Errorf("LID %v LMC %d", pi.LID(), pi.LMC())
	}
	if lid, shared := f.FirstSharedLID(); !shared || lid != 9 {
		t.Errorf("shared LID %v %v", lid, shared)
	}
}

func TestLinkDownAndUp(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	if lid, shared := f.FirstSharedLID(); shared {
		t.Errorf("LID %v is shared", lid)
	}
	a, b := end(sw1, 7), end(sw2, 7)
	f.LinkDown(b)
	if got := states(f, a, b); !slices.Equal(got, []smp.PortState{smp.PortDown, smp.PortDown}) {
		t.Errorf("down: %v", got)
	}
	if p := c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, 1, 7); p != nil {
		t.Error("an SMP passed a dead link")
	}
	f.LinkUp(a)
	if got := states(f, a, b); !slices.Equal(got, []smp.PortState{smp.PortInit, smp.PortInit}) {
		t.Errorf("up: %v", got)
	}
	if at, ok := f.FirstNotActive(); !ok || at != a {
		t.Errorf("first not active: %v %v", at, ok)
	}
	if pi := f.PortInfo(end(sw2, 0)); pi.LID() != lids[sw2] {
		t.Error("a lost link cost the switch its LID")
	}
}

func TestReboot(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	c.set(smp.AttrPKeyTable, smp.PKeyTableMod(1, 0), [64]byte{0x80, 0x05}, 1)
	c.mustChange(0, func(p *smp.PortInfo) { p.SetMKey(5) }, 1)
	f.Reboot(sw1)
	pi, si := f.PortInfo(end(sw1, 0)), f.SwitchInfo(sw1)
	if pi.LID() != 0 || pi.MKey() != 0 || si.LinearFDBTop() != 0 || len(f.LFT(sw1)) != 0 ||
		f.PKeys(end(sw1, 1))[0] != mad.DefaultPKey {
		t.Error("the switch remembers")
	}
	want := []smp.PortState{smp.PortInit, smp.PortInit, smp.PortInit, smp.PortActive}
	if got := states(f, end(sw1, 1), end(sw1, 7), end(sw2, 7), end(sw2, 1)); !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
	if si := f.SwitchInfo(sw2); !si.PortStateChange() {
		t.Error("the neighbour saw nothing")
	}
}

func TestNodeDownAndUp(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	f.NodeDown(sw2)
	if f.Powered(sw2) || states(f, end(sw1, 7), end(h3, 1))[0] != smp.PortDown {
		t.Error("the neighbours see a node without power")
	}
	f.LinkUp(end(sw1, 7))
	if p := c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, 1, 7); p != nil {
		t.Error("a node without power answered")
	}
	f.NodeUp(sw2)
	c.get(smp.AttrNodeInfo, 0, 1, 7)
	if pi := f.PortInfo(end(sw2, 0)); pi.LID() != 0 {
		t.Error("the LID survived")
	}
}

func TestRecable(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	f.Plug(end(sw1, 2), end(h3, 1), mad.Width2x, mad.EDR)
	if f.Peer(end(h2, 1)) != net.NoEnd || f.Peer(end(sw2, 1)) != net.NoEnd || f.Peer(end(h3, 1)) != end(sw1, 2) {
		t.Error("peers")
	}
	if got := states(f, end(h2, 1), end(sw2, 1), end(h3, 1)); !slices.Equal(got,
		[]smp.PortState{smp.PortDown, smp.PortDown, smp.PortInit}) {
		t.Errorf("states %v", got)
	}
	if ni := smp.NodeInfo(c.get(smp.AttrNodeInfo, 0, 1, 2)); ni.NodeGUID() != 0x100020 {
		t.Errorf("behind port 2: %v", ni.NodeGUID())
	}
	pi := f.PortInfo(end(h3, 1))
	if pi.LinkWidthActive() != mad.Width2x || pi.LinkSpeedExtActive() != 2 {
		t.Errorf("width %v, speed %d", pi.LinkWidthActive(), pi.LinkSpeedExtActive())
	}
}

// A link takes TrainTime to come up, and one that falls meanwhile starts anew.
func TestTraining(t *testing.T) {
	f := New(twoSwitches(), Config{TrainTime: time.Second})
	bringUp(t, f)
	a, b := end(sw1, 7), end(sw2, 7)
	up := func() bool { s := states(f, a, b); return s[0] == smp.PortInit && s[1] == smp.PortInit }
	f.LinkDown(a)
	f.LinkUp(a)
	f.Advance(900 * time.Millisecond)
	f.LinkDown(b)
	f.LinkUp(b)
	f.Advance(1899 * time.Millisecond)
	if up() {
		t.Error("up too early")
	}
	f.Advance(1900 * time.Millisecond)
	if !up() {
		t.Error("not up in time")
	}
}

func TestNegotiation(t *testing.T) {
	tests := []struct {
		width               mad.LinkWidth
		speed               mad.LinkSpeed
		base, ext, ext2     uint8
		activeWidth         mad.LinkWidth
		baseSup, extSup, x2 uint8
	}{
		{0, 0, 4, 0, 0, mad.Width4x, 7, 0, 0},
		{mad.Width1x, mad.SDR, 1, 0, 0, mad.Width1x, 1, 0, 0},
		{mad.Width12x, mad.DDR, 2, 0, 0, mad.Width12x, 3, 0, 0},
		{mad.Width4x, mad.FDR10, 4, 0, 0, mad.Width4x, 7, 0, 0},
		{mad.Width4x, mad.FDR, 0, 1, 0, mad.Width4x, 7, 1, 0},
		{mad.Width4x, mad.EDR, 0, 2, 0, mad.Width4x, 7, 3, 0},
		{mad.Width2x, mad.HDR, 0, 4, 0, mad.Width2x, 7, 7, 0},
		{mad.Width8x, mad.NDR, 0, 8, 0, mad.Width8x, 7, 15, 0},
		{mad.Width4x, mad.XDR, 0, 0, 1, mad.Width4x, 7, 15, 1},
	}
	for _, tt := range tests {
		n := &net.Net{Profile: net.Ideal, Nodes: []net.Node{newNode("A", mad.CA, 16, 1), newNode("B", mad.CA, 32, 1)}}
		join(n, 0, 1, 1, 1)
		for i := range n.Nodes {
			n.Nodes[i].Ports[0].Speed = tt.speed
			n.Nodes[i].Ports[1].Width, n.Nodes[i].Ports[1].Speed = tt.width, tt.speed
		}
		f := New(n, Config{})
		p := f.PortInfo(end(1, 1))
		if p.LinkSpeedActive() != tt.base || p.LinkSpeedExtActive() != tt.ext || p.LinkSpeedExtActive2() != tt.ext2 ||
			p.LinkWidthActive() != tt.activeWidth {
			t.Errorf("%v %v: active %d %d %d %v", tt.width, tt.speed, p.LinkSpeedActive(), p.LinkSpeedExtActive(),
				p.LinkSpeedExtActive2(), p.LinkWidthActive())
		}
		if p.LinkSpeedSupported() != tt.baseSup || p.LinkSpeedExtSupported() != tt.extSup ||
			p.LinkSpeedExtSupported2() != tt.x2 {
			t.Errorf("%v %v: supported %d %d %d", tt.width, tt.speed, p.LinkSpeedSupported(), p.LinkSpeedExtSupported(),
				p.LinkSpeedExtSupported2())
		}
		if want := max(tt.speed, mad.QDR); tt.speed != mad.SDR && tt.speed != mad.DDR &&
			p.LinkSpeed(p.CapabilityMask(), p.CapabilityMask2()) != want && tt.speed != mad.FDR10 {
			t.Errorf("%v %v: reads as %v", tt.width, tt.speed, p.LinkSpeed(p.CapabilityMask(), p.CapabilityMask2()))
		}
	}
}

func TestAttach(t *testing.T) {
	f := New(twoSwitches(), Config{})
	attach(t, f, h1, 1)
	for _, at := range []net.End{end(h1, 1), end(h1, 0), end(sw1, 1), end(h1, 2), end(99, 1), end(-1, 1)} {
		if _, err := f.Attach(at); err == nil {
			t.Errorf("attached to %v", at)
		}
	}
}
