package fabric

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/topo/net"
)

// congestion is a request of congestion control by LID, and its answer, nil for none.
func (c *client) congestion(to mad.LID, m mad.Method, attr mad.AttrID, mod uint32, key cc.Key,
	fill func(d []byte)) *mad.Packet {
	c.t.Helper()
	return c.perf(to, func(p *mad.Packet) {
		cc.SetRequest(p, m, attr, mod, key)
		if fill != nil {
			fill(p.PerfData()[:])
		}
	})
}

// TestCongestionRefusals: which requests the agent refuses, and why.
func TestCongestionRefusals(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	const get, set = mad.MethodGet, mad.MethodSet
	sw, ca := lids[sw1], lids[h4]
	for _, tt := range []struct {
		to     mad.LID
		method mad.Method
		attr   mad.AttrID
		mod    uint32
		want   mad.Status
	}{
		{sw, get, cc.AttrClassPortInfo, 0, mad.StatusOK},
		{ca, get, cc.AttrCongestionInfo, 0, mad.StatusOK},
		{ca, set, cc.AttrCongestionInfo, 0, mad.StatusBadMethodAttr},
		{ca, get, cc.AttrCongestionKeyInfo, 1, mad.StatusBadField},
		{ca, get, cc.AttrCongestionLog, 0, mad.StatusBadMethodAttr},
		{sw, get, cc.AttrSwitchCongestionSetting, 0, mad.StatusOK},
		{ca, get, cc.AttrSwitchCongestionSetting, 0, mad.StatusBadMethodAttr},
		{sw, set, cc.AttrSwitchPortCongestionSetting, 0, mad.StatusOK},
		{sw, set, cc.AttrSwitchPortCongestionSetting, 1, mad.StatusBadField},
		{ca, set, cc.AttrSwitchPortCongestionSetting, 0, mad.StatusBadMethodAttr},
		{sw, set, cc.AttrCACongestionSetting, 0, mad.StatusBadMethodAttr},
		{sw, set, cc.AttrCongestionControlTable, 0, mad.StatusBadMethodAttr},
		{ca, set, cc.AttrCongestionControlTable, 7, mad.StatusOK},
		{ca, set, cc.AttrCongestionControlTable, 8, mad.StatusBadField},
		{ca, mad.MethodReport, cc.AttrCongestionInfo, 0, mad.StatusBadMethod},
		{ca, get, 0x0099, 0, mad.StatusBadMethodAttr},
	} {
		p := c.congestion(tt.to, tt.method, tt.attr, tt.mod, 0, nil)
		if p == nil || p.Status() != tt.want || p.Method() != mad.MethodGetResp {
			t.Errorf("%v %s %d at %v: %s, want %v", tt.method, cc.AttrName(tt.attr), tt.mod, tt.to, describe(p),
				tt.want)
		}
	}
	if p := c.congestion(ca, set, cc.AttrCongestionControlTable, 0, 0, func(d []byte) {
		(*cc.CongestionControlTable)(d).SetCCTILimit(8 * 64)
	}); p == nil || p.Status() != mad.StatusBadField {
		t.Errorf("CCTI_Limit beyond the table: %s", describe(p))
	}
	p := c.perf(ca, func(p *mad.Packet) {
		cc.SetRequest(p, get, cc.AttrCongestionInfo, 0, 0)
		p[2] = 1
	})
	if p == nil || p.Status() != mad.StatusBadVersion {
		t.Errorf("class version 1: %s", describe(p))
	}
}

// TestCongestionSettings: a Set changes what its maps name, and power-up forgets it.
func TestCongestionSettings(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	sw, ca := lids[sw1], lids[h4]
	full := func(m uint32) func(d []byte) {
		return func(d []byte) {
			for i := range len(cc.SwitchCongestionSetting{}) {
				d[i] = 0xff
			}
			(*cc.SwitchCongestionSetting)(d).SetControlMap(m)
		}
	}
	c.congestion(sw, mad.MethodSet, cc.AttrSwitchCongestionSetting, 0, 0, full(cc.MapThreshold|cc.MapVictimMask))
	s := f.SwitchCongestion(sw1)
	if s.Threshold() != 15 || s.PacketSize() != 255 || s.VictimMask() == (cc.PortMask{}) ||
		s.CreditMask() != (cc.PortMask{}) || s.MarkingRate() != 0 || s.CSThreshold() != 0 {
		t.Errorf("the switch holds % x", s)
	}
	c.congestion(sw, mad.MethodSet, cc.AttrSwitchCongestionSetting, 0, 0,
		full(cc.MapMarkingRate|cc.MapCreditMask|cc.MapCreditStarvation))
	if s = f.SwitchCongestion(sw1); s.MarkingRate() != 0xffff || s.CSThreshold() != 15 || s.CSReturnDelay() != 0xffff ||
		s.CreditMask() == (cc.PortMask{}) || s.Threshold() != 15 {
		t.Errorf("then the switch holds % x", s)
	}
	answer := c.congestion(ca, mad.MethodSet, cc.AttrCACongestionSetting, 0, 0, func(d []byte) {
		x := (*cc.CACongestionSetting)(d)
		x.SetControlMap(1 << 3)
		x.SL(3).SetCCTITimer(7)
		x.SL(4).SetCCTITimer(8)
	})
	c.congestion(ca, mad.MethodSet, cc.AttrCongestionControlTable, 1, 0, func(d []byte) {
		x := (*cc.CongestionControlTable)(d)
		x.SetCCTILimit(64)
		x.SetEntry(0, 5)
	})
	held, table := f.CACongestion(end(h4, 1))
	if held.SL(3).CCTITimer() != 7 || held.SL(4).CCTITimer() != 0 ||
		*(*cc.CACongestionSetting)(answer.PerfData()[:]) != held {
		t.Errorf("the adapter holds % x", held)
	}
	if len(table) != 8 || table[1].Entry(0) != 5 || table[0].CCTILimit() != 64 {
		t.Errorf("the adapter's table is % x", table)
	}
	f.Reboot(h4)
	if held, table = f.CACongestion(end(h4, 1)); held != (cc.CACongestionSetting{}) || table[1].Entry(0) != 0 {
		t.Error("power-up did not forget it")
	}
}

// TestCCKey: a Set without the key is not answered, and counted; Gets are answered, and hide the key
// while it is protected, which the lease ends.
func TestCCKey(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	const key, wrong cc.Key = 0x1234, 0x4321
	to := lids[h4]
	c.congestion(to, mad.MethodSet, cc.AttrCongestionKeyInfo, 0, 0, func(d []byte) {
		x := (*cc.CongestionKeyInfo)(d)
		x.SetCCKey(key)
		x.SetCCKeyProtectBit(true)
		x.SetCCKeyLeasePeriod(2)
	})
	shows := func(k cc.Key) (info cc.CongestionKeyInfo) {
		t.Helper()
		p := c.congestion(to, mad.MethodGet, cc.AttrCongestionKeyInfo, 0, k, nil)
		if p == nil || p.Status() != mad.StatusOK {
			t.Fatal(describe(p))
		}
		return cc.CongestionKeyInfo(p.PerfData()[:len(info)])
	}
	if info := shows(key); info.CCKey() != key || info.CCKeyViolations() != 0 {
		t.Errorf("with the key % x", info)
	}
	for range 2 {
		if p := c.congestion(to, mad.MethodSet, cc.AttrCACongestionSetting, 0, wrong, nil); p != nil {
			t.Errorf("a Set with a wrong key: %s", describe(p))
		}
	}
	if info := shows(wrong); info.CCKey() != 0 || info.CCKeyViolations() != 2 {
		t.Errorf("with a wrong key % x", info)
	}
	f.Advance(f.Now() + 3*time.Second) // longer than the lease
	if info := shows(wrong); info.CCKey() != key || info.CCKeyProtectBit() {
		t.Errorf("after the lease % x", info)
	}
	if p := c.congestion(to, mad.MethodSet, cc.AttrCACongestionSetting, 0, key, nil); p == nil ||
		p.Status() != mad.StatusOK {
		t.Errorf("a Set with the key: %s", describe(p))
	}
}

// TestNoCongestionAgent: without one, or with one that does not answer, nothing comes.
func TestNoCongestionAgent(t *testing.T) {
	f := New(twoSwitches(), Config{Caps: func(node int32, _ *net.Node, c *Caps) {
		switch node {
		case h4:
			c.Congestion.Absent = true
		case sw1:
			c.Congestion.Defect = func(*mad.Packet, func() mad.Status) (mad.Status, bool) { return 0, false }
		case sw2:
			c.Congestion.Defect = func(*mad.Packet, func() mad.Status) (mad.Status, bool) {
				return mad.StatusBadVersion, true
			}
		}
	}})
	c := bringUp(t, f)
	for _, node := range []int32{h4, sw1} {
		if p := c.congestion(lids[node], mad.MethodGet, cc.AttrClassPortInfo, 0, 0, nil); p != nil {
			t.Errorf("node %d: %s", node, describe(p))
		}
	}
	if p := c.congestion(lids[sw2], mad.MethodGet, cc.AttrClassPortInfo, 0, 0, nil); p == nil ||
		p.Status() != mad.StatusBadVersion {
		t.Errorf("one that refuses: %s", describe(p))
	}
}
