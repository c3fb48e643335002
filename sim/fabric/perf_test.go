package fabric

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/topo/net"
)

// perf sends a request of performance management by LID and returns the answer, nil for none.
func (c *client) perf(to mad.LID, prepare func(p *mad.Packet)) *mad.Packet {
	c.t.Helper()
	d := make([]mad.Datagram, 1)
	d[0].LID, d[0].QPN = to, 1
	prepare(&d[0].Packet)
	c.s.Send(d)
	if c.s.Recv(d) == 0 {
		return nil
	}
	return &d[0].Packet
}

func (c *client) mustPerf(to mad.LID, prepare func(p *mad.Packet)) *mad.Packet {
	c.t.Helper()
	p := c.perf(to, prepare)
	if p == nil || p.Status() != mad.StatusOK {
		c.t.Fatalf("LID %v: %s", to, describe(p))
	}
	return p
}

// short and extended read a port's counters.
func (c *client) short(to mad.LID, port uint8) pma.PortCounters {
	c.t.Helper()
	return pma.PortCounters(c.mustPerf(to, func(p *mad.Packet) {
		pma.SetGet(p, pma.AttrPortCounters, port)
	}).PerfData()[:44])
}

func (c *client) extended(to mad.LID, port uint8) pma.PortCountersExtended {
	c.t.Helper()
	return pma.PortCountersExtended(c.mustPerf(to, func(p *mad.Packet) {
		pma.SetGet(p, pma.AttrPortCountersExtended, port)
	}).PerfData()[:184])
}

func (c *client) detail(to mad.LID, attr mad.AttrID, port uint8, i int) uint64 {
	c.t.Helper()
	a, _ := pma.ArrayOf(attr)
	return a.Counter(c.mustPerf(to, func(p *mad.Packet) { pma.SetGet(p, attr, port) }).PerfData(), i)
}

// TestPerf: which requests the agent refuses, and why.
func TestPerf(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	const get, set = mad.MethodGet, mad.MethodSet
	sw, ca := lids[sw1], lids[h4]
	for _, tt := range []struct {
		name   string
		to     mad.LID
		method mad.Method
		attr   mad.AttrID
		port   uint8
		want   mad.Status
	}{
		{"what it can", sw, get, pma.AttrClassPortInfo, 0, mad.StatusOK},
		{"what it can cannot be set", sw, set, pma.AttrClassPortInfo, 0, mad.StatusBadMethodAttr},
		{"a port", ca, get, pma.AttrPortCounters, 1, mad.StatusOK},
		{"reset", ca, set, pma.AttrPortCounters, 1, mad.StatusOK},
		{"64 bits", ca, get, pma.AttrPortCountersExtended, 1, mad.StatusOK},
		{"no such port", ca, get, pma.AttrPortCounters, 3, mad.StatusBadField},
		{"port 0 of an adapter", ca, get, pma.AttrPortCounters, 0, mad.StatusBadField},
		{"port 0 of a switch", sw, get, pma.AttrPortCounters, 0, mad.StatusOK},
		{"all of a switch", sw, get, pma.AttrPortCounters, pma.AllPorts, mad.StatusOK},
		{"all of an adapter", ca, get, pma.AttrPortCounters, pma.AllPorts, mad.StatusBadField},
		{"details", sw, get, pma.AttrPortRcvErrorDetails, 8, mad.StatusOK},
		{"details of no port", sw, get, pma.AttrPortRcvErrorDetails, 9, mad.StatusBadField},
		{"an optional attribute that it lacks", sw, get, pma.AttrSwPortVLCongestion, 1, mad.StatusBadMethodAttr},
		{"samples", sw, get, pma.AttrPortSamplesControl, 1, mad.StatusOK},
		{"samples of all ports", sw, get, pma.AttrPortSamplesControl, pma.AllPorts, mad.StatusBadField},
		{"sampling", sw, set, pma.AttrPortSamplesControl, 1, mad.StatusBadMethodAttr},
		{"sampled", sw, get, pma.AttrPortSamplesResult, 1, mad.StatusBadMethodAttr},
		{"another verb", sw, mad.MethodGetTable, pma.AttrPortCounters, 1, mad.StatusBadMethod},
		{"speeds", sw, get, pma.AttrPortExtendedSpeedsCounters, 1, mad.StatusOK},
	} {
		p := c.perf(tt.to, func(p *mad.Packet) {
			p.SetHeader(mad.ClassPerf, tt.method, tt.attr, 0)
			pma.SelectOf(p.PerfData()).SetPortSelect(tt.port)
		})
		if p == nil || p.Status() != tt.want || p.Method() != mad.MethodGetResp {
			t.Errorf("%s: %s, want %v", tt.name, describe(p), tt.want)
		}
		if p != nil && tt.attr != pma.AttrClassPortInfo && pma.SelectOf(p.PerfData()).PortSelect() != tt.port {
			t.Errorf("%s: another PortSelect", tt.name)
		}
	}
	for name, change := range map[string]func(p *mad.Packet){
		"modifier": func(p *mad.Packet) { p.SetAttrMod(1) },
		"version":  func(p *mad.Packet) { p[2] = 2 },
	} {
		p := c.perf(sw, func(p *mad.Packet) { pma.SetGet(p, pma.AttrPortCounters, 1); change(p) })
		if p == nil || p.Status() == mad.StatusOK {
			t.Errorf("%s: %s", name, describe(p))
		}
	}
}

// TestPerfProfiles: devices of a kind report the masks that perfquery has shown of them, and
// answer what these promise and nothing else.
func TestPerfProfiles(t *testing.T) {
	for _, tt := range []struct {
		typ   mad.NodeType
		speed mad.LinkSpeed
		mask  uint16
		mask2 uint32
	}{
		{mad.Switch, mad.NDR, 0x5300, 2}, {mad.Switch, mad.EDR, 0x5300, 2}, {mad.Switch, mad.QDR, 0x1500, 0},
		{mad.CA, mad.HDR, 0x5a00, 0}, {mad.CA, mad.FDR, 0x1400, 0}, {mad.CA, mad.DDR, 0x1400, 0},
	} {
		if p := realPerf(tt.typ, tt.speed); p.CapabilityMask != tt.mask || p.CapabilityMask2 != tt.mask2 {
			t.Errorf("%v %v: %#x %#x, want %#x %#x", tt.typ, tt.speed, p.CapabilityMask, p.CapabilityMask2, tt.mask,
				tt.mask2)
		}
	}
	n := twoSwitches()
	n.Profile = net.RealDevices
	f := New(n, Config{Caps: func(i int32, _ *net.Node, c *Caps) {
		switch i {
		case h2:
			c.Perf = Perf{} // counters of 32 bits alone, no PortXmitWait
		case h3:
			c.Perf.CapabilityMask |= pma.IsExtendedWidthSupportedNoIETF
			c.Perf.CapabilityMask &^= pma.IsExtendedWidthSupported
		}
	}})
	c := bringUp(t, f)
	for node := range lids {
		f.Count(end(int32(node), 1), pma.PortXmitWait, 5)
		f.Count(end(int32(node), 1), pma.PortUnicastRcvPkts, 1000)
		f.Count(end(int32(node), 1), pma.SymbolErrorCounter, 7)
	}
	if pc := c.short(lids[h2], 1); pc.Counter(pma.PortXmitWait) != 0 || pc.Counter(pma.SymbolErrorCounter) != 7 {
		t.Errorf("without PortXmitWait: % x", pc)
	}
	if p := c.perf(lids[h2], func(p *mad.Packet) {
		pma.SetGet(p, pma.AttrPortCountersExtended, 1)
	}); p.Status() != mad.StatusBadMethodAttr {
		t.Errorf("without PortCountersExtended: %v", p.Status())
	}
	if p := c.perf(lids[h2], func(p *mad.Packet) {
		pma.SetGet(p, pma.AttrPortRcvErrorDetails, 1)
	}); p.Status() != mad.StatusBadMethodAttr {
		t.Errorf("without details: %v", p.Status())
	}
	if x := c.extended(lids[h3], 1); x.Counter(pma.PortUnicastRcvPkts) != 0 || x.Counter(pma.SymbolErrorCounter) != 0 ||
		x.Counter(pma.PortRcvPkts) == 0 {
		t.Errorf("without unicast packets: % x", x)
	}
}

// TestPerfDefect: an agent that answers otherwise, one that does not answer, and one that
// redirects.
func TestPerfDefect(t *testing.T) {
	f := New(twoSwitches(), Config{Caps: func(i int32, _ *net.Node, c *Caps) {
		c.Perf.Defect = map[int32]Defect{
			h2: func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				status := obey()
				(*pma.PortCounters)(p.PerfData()[:]).SetCounter(pma.PortRcvPkts, 1)
				return status, true
			},
			h3: func(*mad.Packet, func() mad.Status) (mad.Status, bool) { return 0, false },
			h4: func(p *mad.Packet, _ func() mad.Status) (mad.Status, bool) {
				(*pma.ClassPortInfo)(p.PerfData()[:]).SetRedirectLID(lids[h2])
				return mad.StatusRedirect, true
			},
		}[i]
	}})
	c := bringUp(t, f)
	if pc := c.short(lids[h2], 1); pc.Counter(pma.PortRcvPkts) != 1 || pc.Counter(pma.PortXmitPkts) == 0 {
		t.Errorf("% x", pc)
	}
	if p := c.perf(lids[h3], func(p *mad.Packet) { pma.SetGet(p, pma.AttrPortCounters, 1) }); p != nil {
		t.Errorf("an answer: %s", describe(p))
	}
	p := c.perf(lids[h4], func(p *mad.Packet) { pma.SetGet(p, pma.AttrPortCounters, 1) })
	if info, ok := pma.Redirect(p); !ok || info.RedirectLID() != lids[h2] {
		t.Errorf("not redirected: %s", describe(p))
	}
	f.SetUnresponsive(h2, true)
	if p := c.perf(lids[h2], func(p *mad.Packet) { pma.SetGet(p, pma.AttrPortCounters, 1) }); p != nil {
		t.Error("an unresponsive node answers")
	}
}
