package fabric

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

const rightKey, wrongKey mad.MKey = 0x1234, 0x4321

// protect brings twoSwitches up and gives H2 an M_Key.
func protect(t *testing.T, level uint8, lease uint16) (*Fabric, *client) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	c.mustChange(0, func(p *smp.PortInfo) {
		p.SetMKey(rightKey)
		p.SetMKeyProtectBits(level)
		p.SetMKeyLeasePeriod(lease)
	}, paths[h2]...)
	return f, c
}

func TestMKeyLevels(t *testing.T) {
	tests := []struct {
		level         uint8
		key           mad.MKey
		get, set, see bool // Get and Set pass, the answer shows the M_Key
	}{
		{0, rightKey, true, true, true},
		{0, wrongKey, true, false, true},
		{0, 0, true, false, true},
		{1, rightKey, true, true, true},
		{1, wrongKey, true, false, false},
		{2, rightKey, true, true, true},
		{2, wrongKey, false, false, false},
		{3, rightKey, true, true, true},
		{3, 0, false, false, false},
	}
	for _, tt := range tests {
		f, c := protect(t, tt.level, 0)
		c.mkey = tt.key
		p := c.request(mad.MethodGet, smp.AttrPortInfo, 0, [64]byte{}, paths[h2]...)
		if (p != nil) != tt.get {
			t.Errorf("level %d key %#x: Get: %s", tt.level, tt.key, describe(p))
		}
		if p != nil && ((*smp.PortInfo)(p.Data()).MKey() == rightKey) != tt.see {
			t.Errorf("level %d key %#x: shows %#x", tt.level, tt.key, (*smp.PortInfo)(p.Data()).MKey())
		}
		p = c.request(mad.MethodSet, smp.AttrGUIDInfo, 1, [64]byte{}, paths[h2]...)
		if (p != nil) != tt.set {
			t.Errorf("level %d key %#x: Set: %s", tt.level, tt.key, describe(p))
		}
		refused := uint64(0)
		for _, passed := range []bool{tt.get, tt.set} {
			if !passed {
				refused++
			}
		}
		pi := f.PortInfo(end(h2, 1))
		if uint64(pi.MKeyViolations()) != refused || f.Stats().Drops[DropMKey] != refused {
			t.Errorf("level %d key %#x: %d violations, %d drops", tt.level, tt.key, pi.MKeyViolations(),
				f.Stats().Drops[DropMKey])
		}
	}
}

func TestMKeyOfSwitchIsPort0s(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	c.mustChange(0, func(p *smp.PortInfo) { p.SetMKey(rightKey); p.SetMKeyProtectBits(2) }, 1)
	if p := c.request(mad.MethodGet, smp.AttrPortInfo, smp.PortInfoMod(7, true), [64]byte{}, 1); p != nil {
		t.Error("an external port answered without port 0's M_Key")
	}
	c.get(smp.AttrNodeInfo, 0, 1, 7) // forwarding is not the agent's
}

func TestMKeyLease(t *testing.T) {
	f, c := protect(t, 2, 15)
	ask := func() bool {
		return c.request(mad.MethodGet, smp.AttrPortInfo, 0, [64]byte{}, paths[h2]...) != nil
	}
	c.traps(f, time.Hour)
	if ask() {
		t.Fatal("the lease ran without a violation")
	}
	c.traps(f, 10*time.Second)
	c.mkey = rightKey
	if !ask() { // and so the lease is renewed
		t.Fatal("the right key is refused")
	}
	c.mkey = wrongKey
	c.traps(f, 10*time.Second)
	if ask() {
		t.Fatal("the lease ran on although the right key was shown")
	}
	c.traps(f, 15*time.Second)
	if !ask() {
		t.Error("the lease does not end")
	}
	if pi := f.PortInfo(end(h2, 1)); pi.MKeyProtectBits() != 0 || pi.MKey() != rightKey {
		t.Errorf("protection %d, key %#x", pi.MKeyProtectBits(), pi.MKey())
	}
}

func TestBadMKeyTrap(t *testing.T) {
	f, c := protect(t, 2, 0)
	c.mkey = wrongKey
	c.request(mad.MethodSet, smp.AttrGUIDInfo, 1, [64]byte{}, paths[h2]...)
	f.Advance(f.Now() + time.Second)
	d := make([]mad.Datagram, 2)
	if n := c.s.Recv(d); n != 1 {
		t.Fatalf("%d packets", n)
	}
	n := (*smp.Notice)(d[0].Packet.Data())
	b := n.BadMKey()
	if n.TrapNumber() != smp.TrapBadMKey || n.Type() != smp.NoticeSecurity || n.ProducerType() != smp.ProducerCA ||
		b.LID() != lids[h2] || b.MKey() != wrongKey || b.Method() != mad.MethodSet ||
		b.AttributeID() != smp.AttrGUIDInfo ||
		b.AttributeModifier() != 1 || !b.DRNotice() || b.DRHopCount() != 2 || b.DRReturnPath()[0] != 1 ||
		b.DRReturnPath()[1] != 1 {
		t.Errorf("trap % x", *n)
	}
}
