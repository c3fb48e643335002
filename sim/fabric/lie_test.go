package fabric

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// TestLie: a node that lies answers for itself and for nodes behind it that are not there, obeys every Set to them, and
// leaves the packets alone that do not come its way.
func TestLie(t *testing.T) {
	n := twoSwitches()
	f := New(n, Config{})
	c := &client{t: t, s: attach(t, f, h1, 1)}
	heard := map[string]int{}
	f.SetLie(h2, &Lie{Self: SwitchClaim(0x77, 3), Behind: map[uint8]Claim{2: f.ClaimOf(sw2, 7)},
		Heard: func(p *mad.Packet, beyond []uint8) { heard[string(beyond)]++ }})
	toLiar := []uint8{1, 2}
	info := func(path ...uint8) *smp.NodeInfo {
		t.Helper()
		p := c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, path...)
		if p == nil {
			return nil
		}
		return (*smp.NodeInfo)(p.Data())
	}
	got := info(toLiar...)
	if got == nil || got.NodeGUID() != 0x77 || got.NodeType() != mad.Switch || got.LocalPortNum() != 1 {
		t.Fatalf("the liar says %v", got)
	}
	behind := f.NodeInfo(end(sw2, 7))
	if got := info(1, 2, 2); got == nil || got.NodeGUID() != behind.NodeGUID() || got.LocalPortNum() != 7 {
		t.Errorf("behind its port 2 is %v, want the switch %v", got, behind.NodeGUID())
	}
	if got := info(1, 2, 3); got != nil {
		t.Errorf("behind its port 3 is %v", got)
	}
	if got := info(1, 7); got == nil || got.NodeGUID() != behind.NodeGUID() {
		t.Errorf("another node does not answer: %v", got)
	}
	var lft [64]byte
	lft[5] = 2
	c.request(mad.MethodSet, smp.AttrLinearForwardingTable, 0, lft, 1, 2, 2)
	p := c.request(mad.MethodGet, smp.AttrLinearForwardingTable, 0, [64]byte{}, 1, 2, 2)
	if p == nil || p.Data()[5] != 2 {
		t.Error("it does not keep a table")
	}
	if heard[""] != 1 || heard["\x02"] != 3 || heard["\x03"] != 1 {
		t.Errorf("it was asked %v", heard)
	}
	f.SetLie(h2, &Lie{Self: SwitchClaim(0x77, 254), Endless: true})
	seen := map[mad.GUID]bool{}
	for _, path := range [][]uint8{{1, 2}, {1, 2, 9}, {1, 2, 9, 254}, {1, 2, 254, 9}, {1, 2, 9, 9, 9, 9, 9, 9, 9}} {
		got := info(path...)
		if got == nil || got.NumPorts() != 254 || seen[got.NodeGUID()] {
			t.Fatalf("at %v is %v", path, got)
		}
		seen[got.NodeGUID()] = true
	}
	at := attach(t, f, h2, 1)
	at.SetIsSM(true)
	f.SetLie(h2, &Lie{Self: f.ClaimOf(sw2, 1)})
	if p := c.request(mad.MethodGet, smp.AttrSMInfo, 0, [64]byte{}, toLiar...); p != nil || at.Pending() != 1 {
		t.Errorf("SMInfo is answered, and the station has %d packets", at.Pending())
	}
	f.SetLie(h2, nil)
	if got := info(toLiar...); got == nil || got.NodeType() != mad.CA {
		t.Errorf("an honest node says %v", got)
	}
}
