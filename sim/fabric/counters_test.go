package fabric

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// rise is how much a counter of a port rises while something happens.
func rise(f *Fabric, at net.End, c pma.Counter, do func()) uint64 {
	before := f.Counter(at, c)
	do()
	return f.Counter(at, c) - before
}

// TestCarried: each MAD counts at both ends of each cable on its way, 288 octets long (as ibsim
// has it, too: 72 words); a probe likewise; a Load with its size.
func TestCarried(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	ways := map[string]struct {
		do             func()
		packets, words uint64 // from h1 to h4
		back           bool   // there is a reply
	}{
		"by directed route": {func() {
			c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, 1, 7, 2)
		}, 1, 72, true},
		"by LID":   {func() { c.lidRouted(lids[h4], smp.AttrNodeInfo, 0) }, 1, 72, true},
		"counters": {func() { c.short(lids[h4], 1) }, 1, 72, true},
		"a probe":  {func() { f.Probe(end(h1, 1), lids[h4], mad.DefaultPKey, 0, nil) }, 1, 72, false},
		"a load": {func() {
			f.Send(end(h1, 1), lids[h4], mad.DefaultPKey, 0, Load{1000, 512500})
		}, 1000, 512500, false},
	}
	out := []net.End{end(h1, 1), end(sw1, 7), end(sw2, 2)}
	in := []net.End{end(sw1, 1), end(sw2, 7), end(h4, 1)}
	for name, w := range ways {
		for i := range out {
			for _, x := range []struct {
				at        net.End
				counter   pma.Counter
				want      uint64
				whenBack  uint64
				multicast bool
			}{
				{out[i], pma.PortXmitPkts, w.packets, 0, false}, {out[i], pma.PortXmitData, w.words, 0, false},
				{out[i], pma.PortUnicastXmitPkts, w.packets, 0, false},
				{out[i], pma.PortMulticastXmitPkts, 0, 0, false},
				{in[i], pma.PortRcvPkts, w.packets, 0, false}, {in[i], pma.PortRcvData, w.words, 0, false},
				{in[i], pma.PortUnicastRcvPkts, w.packets, 0, false}, {in[i], pma.PortMulticastRcvPkts, 0, 0, false},
				{out[i], pma.PortRcvPkts, 0, 1, false}, {in[i], pma.PortXmitPkts, 0, 1, false},
			} {
				want := x.want
				if w.back {
					want += x.whenBack
				}
				if got := rise(f, x.at, x.counter, w.do); got != want {
					t.Errorf("%s: %v of %v is %d more, want %d", name, x.counter, x.at, got, want)
				}
			}
		}
	}
	if arrived, why := f.Send(end(h1, 1), lids[h4], mad.DefaultPKey, 0, Load{}); arrived != 0 || why != Delivered {
		t.Errorf("nothing sent: %d %v", arrived, why)
	}
	if got := c.detail(lids[sw1], pma.AttrPortXmitDataSL, 7, 0); got == 0 {
		t.Error("nothing by service level")
	}
}

// TestNotCarried: what is lost counts where it was lost, with the reason.
func TestNotCarried(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	probe := func() { f.Probe(end(h1, 1), lids[h4], mad.DefaultPKey, 0, nil) }
	// No route.
	if got := rise(f, end(sw1, 1), pma.PortRcvSwitchRelayErrors, func() {
		f.Probe(end(h1, 1), 77, mad.DefaultPKey, 0, nil)
	}); got != 1 {
		t.Errorf("no route: %d relay errors", got)
	}
	if got := c.detail(lids[sw1], pma.AttrPortRcvErrorDetails, 1, pma.PortDLIDMappingErrors); got != 1 {
		t.Errorf("no route: %d mapping errors", got)
	}
	// A port that is not Active.
	c.mustChange(7, func(p *smp.PortInfo) { p.SetPortState(smp.PortDown) }, 1)
	if got := rise(f, end(sw1, 7), pma.PortXmitDiscards, probe); got != 1 {
		t.Errorf("not Active: %d discards", got)
	}
	// A cable that is cut: also at its other end, and what is sent to it.
	for i, at := range []net.End{end(sw1, 7), end(sw2, 7)} {
		if got := f.Counter(at, pma.LinkDownedCounter); got != uint64(i)+1 {
			t.Errorf("%v: LinkDownedCounter %d after PortState Down and %d cuts", at, got, i)
		}
		if got := rise(f, at, pma.LinkDownedCounter, func() {
			f.LinkDown(end(sw1, 7))
			f.LinkDown(end(sw1, 7))
			f.LinkUp(end(sw1, 7))
		}); got != 1 {
			t.Errorf("%v: LinkDownedCounter %d more when the cable was cut", at, got)
		}
	}
	f.LinkDown(end(sw1, 7))
	if got := rise(f, end(sw1, 7), pma.PortXmitDiscards, func() {
		c.lidRouted(lids[h4], smp.AttrNodeInfo, 0)
		probe()
	}); got != 2 {
		t.Errorf("link down: %d discards", got)
	}
	if got := c.detail(lids[sw1], pma.AttrPortXmitDiscardDetails, 7, pma.PortInactiveDiscards); got != 3 {
		t.Errorf("%d inactive discards", got)
	}
	// A lane that is not there.
	f.LinkUp(end(sw1, 7))
	f.ports[f.must(end(sw1, 2))].setSLtoVL(1, 9, &[64]byte{0xff})
	if got := rise(f, end(sw1, 1), pma.PortRcvSwitchRelayErrors, func() {
		f.Probe(end(h1, 1), lids[h2], mad.DefaultPKey, 0, nil)
	}); got != 1 {
		t.Errorf("no lane: %d relay errors", got)
	}
	if got := c.detail(lids[sw1], pma.AttrPortRcvErrorDetails, 1, pma.PortVLMappingErrors); got != 1 {
		t.Errorf("no lane: %d mapping errors", got)
	}
	f.ports[f.must(end(sw1, 2))].setSLtoVL(1, 9, &[64]byte{0x01})
	// Partitions.
	f.ports[f.must(end(sw1, 1))].info.SetPartitionEnforcementInbound(true)
	f.ports[f.must(end(sw1, 1))].setPKeys(0, []mad.PKey{0x8001})
	if got := rise(f, end(sw1, 1), pma.PortRcvConstraintErrors, probe); got != 1 {
		t.Errorf("inbound: %d", got)
	}
	f.ports[f.must(end(sw1, 1))].info.SetPartitionEnforcementInbound(false)
	f.ports[f.must(end(sw1, 2))].info.SetPartitionEnforcementOutbound(true)
	f.ports[f.must(end(sw1, 2))].setPKeys(0, []mad.PKey{0x8001})
	if got := rise(f, end(sw1, 2), pma.PortXmitConstraintErrors, func() {
		f.Probe(end(h1, 1), lids[h2], mad.DefaultPKey, 0, nil)
	}); got != 1 {
		t.Errorf("outbound: %d", got)
	}
}

// TestShown: what a port shows of the truth, by attribute: saturation, resets of what is
// selected and of nothing else, each attribute apart from the other.
func TestShown(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	at, lid := end(h2, 1), lids[h2]
	for counter := range pma.AllCounters.All {
		f.Count(at, counter, 1<<33)
	}
	pc, x := c.short(lid, 1), c.extended(lid, 1)
	for counter := range pma.AllCounters.All {
		if got := pc.Counter(counter); got != pma.MaxShort(counter) {
			t.Errorf("%v of 2^33 shows %#x", counter, got)
		}
		if got := x.Counter(counter); got>>33 != 1 {
			t.Errorf("%v of 2^33 shows %#x with 64 bits", counter, got)
		}
	}
	// A reset of some of the short ones.
	some := pma.Of(pma.PortXmitWait, pma.LocalLinkIntegrityErrors, pma.PortRcvErrors)
	p := c.mustPerf(lid, func(p *mad.Packet) { pma.SetReset(p, 1, some) })
	answer := (*pma.PortCounters)(p.PerfData()[:])
	if answer.CounterSelect() != some || answer.PortSelect() != 1 {
		t.Errorf("the reply repeats %#x", answer.CounterSelect())
	}
	f.Count(at, pma.PortRcvErrors, 3)
	pc, y := c.short(lid, 1), c.extended(lid, 1)
	for counter := range pma.PortCountersOnly.All {
		want := pma.MaxShort(counter)
		if some.Has(counter) {
			want = map[pma.Counter]uint64{pma.PortRcvErrors: 3}[counter]
		}
		if got := pc.Counter(counter); got != want {
			t.Errorf("after the reset %v shows %d, want %d", counter, got, want)
		}
		if y.Counter(counter) < x.Counter(counter) {
			t.Errorf("the reset of PortCounters reset %v of 64 bits", counter)
		}
	}
	// A reset of the 64-bit ones.
	c.mustPerf(lid, func(p *mad.Packet) {
		pma.SetResetExtended(p, 1, pma.Of(pma.PortXmitData, pma.SymbolErrorCounter))
	})
	f.Count(at, pma.SymbolErrorCounter, 1<<32)
	y = c.extended(lid, 1)
	if y.Counter(pma.SymbolErrorCounter) != 1<<32 || y.Counter(pma.PortXmitData) > 1000 ||
		y.Counter(pma.PortRcvData) < 1<<33 {
		t.Errorf("after the reset: %d %d %d", y.Counter(pma.SymbolErrorCounter), y.Counter(pma.PortXmitData),
			y.Counter(pma.PortRcvData))
	}
	if pc = c.short(lid, 1); pc.Counter(pma.PortXmitData) != pma.MaxShort(pma.PortXmitData) {
		t.Error("the reset of PortCountersExtended reset PortCounters")
	}
	// Of details, two of six.
	for i := range 6 {
		f.CountDetail(at, pma.AttrPortRcvErrorDetails, i, 70000)
	}
	c.mustPerf(lid, func(p *mad.Packet) {
		pma.SetGet(p, pma.AttrPortRcvErrorDetails, 1)
		p.SetMethod(mad.MethodSet)
		pma.SelectOf(p.PerfData()).SetCounterSelect(1<<0 | 1<<5)
	})
	for i := range 6 {
		want := uint64(0xffff)
		if i == 0 || i == 5 {
			want = 0
		}
		if got := c.detail(lid, pma.AttrPortRcvErrorDetails, 1, i); got != want {
			t.Errorf("detail %d shows %d, want %d", i, got, want)
		}
	}
	f.Reboot(h2)
	for counter := range pma.AllCounters.All {
		if got := f.Counter(at, counter); got != 0 {
			t.Errorf("%v is %d after a reboot", counter, got)
		}
	}
}

// TestAllPorts: a switch sums and resets all its external ports.
func TestAllPorts(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	for port := uint8(0); port <= 8; port++ {
		f.Count(end(sw2, port), pma.PortXmitDiscards, 10)
		f.Count(end(sw2, port), pma.LinkDownedCounter, 100)
		f.CountDetail(end(sw2, port), pma.AttrPortXmitDiscardDetails, pma.PortNeighborMTUDiscards, 10)
	}
	lid := lids[sw2]
	pc, x := c.short(lid, pma.AllPorts), c.extended(lid, pma.AllPorts)
	if pc.Counter(pma.PortXmitDiscards) != 80 || pc.Counter(pma.LinkDownedCounter) != 255 ||
		pc.PortSelect() != pma.AllPorts {
		t.Errorf("sum: % x", pc)
	}
	if x.Counter(pma.PortXmitDiscards) != 80 || x.Counter(pma.LinkDownedCounter) != 800 {
		t.Errorf("sum of 64 bits: % x", x)
	}
	if got := c.detail(lid, pma.AttrPortXmitDiscardDetails, pma.AllPorts, pma.PortNeighborMTUDiscards); got != 80 {
		t.Errorf("sum of details: %d", got)
	}
	c.mustPerf(lid, func(p *mad.Packet) { pma.SetReset(p, pma.AllPorts, pma.Of(pma.PortXmitDiscards)) })
	for port := uint8(0); port <= 8; port++ {
		want := uint64(0)
		if port == 0 {
			want = 10
		}
		if pc := c.short(lid, port); pc.Counter(pma.PortXmitDiscards) != want ||
			pc.Counter(pma.LinkDownedCounter) != 100 {
			t.Errorf("port %d after the reset of all: % x", port, pc)
		}
	}
}

// TestBitErrors: bad bits count as symbol errors with the speed of the link and the time, lead
// to recoveries and to link-downs, in one direction only.
func TestBitErrors(t *testing.T) {
	n := twoSwitches() // links of 200 Gb/s
	f := New(n, Config{Seed: 1, TrainTime: time.Second})
	f.Advance(2 * time.Second)
	f.SetBitErrorRate(end(sw2, 7), 2e-10) // 40 symbol errors a second, a link-down in 2,500 s
	f.Advance(102 * time.Second)
	for _, tt := range []struct {
		counter pma.Counter
		want    uint64
	}{{pma.SymbolErrorCounter, 4000}, {pma.LinkErrorRecoveryCounter, 4}, {pma.LinkDownedCounter, 0}} {
		if got := f.Counter(end(sw2, 7), tt.counter); got != tt.want {
			t.Errorf("%v is %d after 100 s, want %d", tt.counter, got, tt.want)
		}
		if got := f.Counter(end(sw1, 7), tt.counter); got != 0 {
			t.Errorf("%v is %d at the other end", tt.counter, got)
		}
	}
	f.Advance(2502*time.Second + time.Millisecond)
	if down, err := f.Counter(end(sw2, 7), pma.LinkDownedCounter),
		f.Counter(end(sw2, 7), pma.LocalLinkIntegrityErrors); down != 1 || err != 1 {
		t.Errorf("after 2,500 s %d link-downs, %d integrity errors", down, err)
	}
	if pi := f.PortInfo(end(sw1, 7)); pi.PortState() != smp.PortDown {
		t.Errorf("the link is %v", pi.PortState())
	}
	f.Advance(25103 * time.Second) // ten trainings, each of which takes a second
	if down := f.Counter(end(sw2, 7), pma.LinkDownedCounter); down != 10 {
		t.Errorf("%d link-downs after ten times as long", down)
	}
	f.SetBitErrorRate(end(sw2, 7), 0)
	before := f.Counter(end(sw2, 7), pma.SymbolErrorCounter)
	f.Advance(50000 * time.Second)
	if after := f.Counter(end(sw2, 7), pma.SymbolErrorCounter); after != before {
		t.Errorf("%d symbol errors of a good cable", after-before)
	}
	if at, ok := f.Next(); ok {
		t.Errorf("something is left to happen at %v", at)
	}
}

// TestBadPackets: what a bad cable spoils counts where it came in, is passed on as bad, and
// does not arrive.
func TestBadPackets(t *testing.T) {
	f := New(twoSwitches(), Config{Seed: 1})
	c := bringUp(t, f)
	f.SetBitErrorRate(end(sw1, 1), 1e-4) // of 2304 bits, a packet in five has a bad one
	const sent = 2000
	lost := uint64(0)
	for range sent {
		if _, why := f.Probe(end(h1, 1), lids[h4], mad.DefaultPKey, 0, nil); why == DropErrors {
			lost++
		}
	}
	if lost < sent*15/100 || lost > sent*27/100 {
		t.Errorf("%d of %d lost", lost, sent)
	}
	if got := f.Counter(end(sw1, 1), pma.PortRcvErrors); got != lost {
		t.Errorf("PortRcvErrors %d, %d lost", got, lost)
	}
	for _, at := range []net.End{end(sw2, 7), end(h4, 1)} {
		if err, remote := f.Counter(at, pma.PortRcvErrors), f.Counter(at, pma.PortRcvRemotePhysicalErrors); err != 0 ||
			remote != lost {
			t.Errorf("%v: PortRcvErrors %d, PortRcvRemotePhysicalErrors %d, want 0 and %d", at, err, remote, lost)
		}
	}
	arrived, why := f.Send(end(h1, 1), lids[h4], mad.DefaultPKey, 0, Load{1000000, 72000000})
	if spoiled := f.Counter(end(sw1, 1), pma.PortRcvErrors) - lost; why != Delivered || arrived+spoiled != 1000000 ||
		spoiled < 200000 || spoiled > 212000 {
		t.Errorf("%d of a million arrived, %d spoiled, %v", arrived, spoiled, why)
	}
	// SMPs are lost as well, the other way they are not.
	f.SetBitErrorRate(end(sw1, 1), 1)
	if p := c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, 1, 7); p != nil {
		t.Error("an SMP with bad bits is answered")
	}
	if _, why := f.Probe(end(h4, 1), lids[h1], mad.DefaultPKey, 0, nil); why != Delivered {
		t.Errorf("the other way: %v", why)
	}
	if arrived, why := f.Send(end(h1, 1), lids[h4], mad.DefaultPKey, 0, Load{10, 720}); arrived != 0 ||
		why != DropErrors {
		t.Errorf("%d arrived, %v", arrived, why)
	}
}

// TestDroppedForBuffers: an agent without room, and a station that does not read.
func TestDroppedForBuffers(t *testing.T) {
	f := New(twoSwitches(), Config{Latency: time.Microsecond, SMA: SMA{Time: time.Second, Buffer: 1}})
	s := attach(t, f, h1, 1)
	d := make([]mad.Datagram, 10)
	r := mad.MakeRoute(1)
	for i := range d {
		d[i].Packet.SetDirected(&r, mad.MethodGet, smp.AttrNodeInfo, 0)
	}
	s.Send(d)
	for at, ok := f.Next(); ok; at, ok = f.Next() {
		f.Advance(at)
	}
	if got, want := f.Counter(end(sw1, 1), pma.VL15Dropped), f.Stats().Drops[DropVL15]; got == 0 || got != want {
		t.Errorf("VL15Dropped %d, want %d", got, want)
	}
	f = New(twoSwitches(), Config{})
	c := bringUp(t, f)
	for range maxInbox + 5 {
		d[0] = mad.Datagram{Addr: mad.Addr{LID: lids[h4], QPN: 1}}
		pma.SetGet(&d[0].Packet, pma.AttrPortCounters, 1)
		c.s.Send(d[:1])
	}
	if got := f.Counter(end(h1, 1), pma.QP1Dropped); got != 5 {
		t.Errorf("QP1Dropped %d, want 5", got)
	}
	d[0] = mad.Datagram{}
	d[0].Packet.SetDirected(&r, mad.MethodGet, smp.AttrNodeInfo, 0)
	c.s.Send(d[:1])
	if got := f.Counter(end(h1, 1), pma.VL15Dropped); got != 1 {
		t.Errorf("VL15Dropped %d, want 1", got)
	}
}

// TestMulticastCounts: copies count as multicast packets.
func TestMulticastCounts(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	var table smp.MulticastForwardingTable
	table.SetPortMask(0, 1<<1|1<<2)
	c.set(smp.AttrMulticastForwardingTable, smp.MFTMod(0, 0), table, 1)
	if got := rise(f, end(sw1, 2), pma.PortMulticastXmitPkts, func() {
		f.ProbeMulticast(end(h1, 1), 0xc000, mad.DefaultPKey, 0)
	}); got != 1 {
		t.Errorf("%d copies sent", got)
	}
	if f.Counter(end(h2, 1), pma.PortMulticastRcvPkts) != 1 || f.Counter(end(sw1, 1), pma.PortMulticastRcvPkts) != 1 ||
		f.Counter(end(h1, 1), pma.PortMulticastXmitPkts) != 1 {
		t.Error("the ends of the cables do not agree")
	}
	f.SetBitErrorRate(end(h2, 1), 1)
	if s := f.ProbeMulticast(end(h1, 1), 0xc000, mad.DefaultPKey, 0); len(s.Delivered) != 0 ||
		s.Drops[DropErrors] != 1 {
		t.Errorf("over a bad cable: %+v", s)
	}
}
