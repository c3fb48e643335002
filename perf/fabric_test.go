package perf

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// star is a switch with five hosts, of which each is a device of another kind, and a machine at
// host 1 that reads them in virtual time. The switch is node 0 with LID 10, host i has LID i.
type star struct {
	t       *testing.T
	f       *fabric.Fabric
	st      *fabric.Station
	m       *Machine
	asked   map[mad.TID]pending
	tid     mad.TID
	images  []*Image
	timeout time.Duration
}

type pending struct {
	tag   uint64
	until time.Duration
}

const starHosts = 5

func newStar(t *testing.T, s Settings) *star {
	n := &net.Net{Profile: net.Ideal}
	add := func(id string, typ mad.NodeType, guid mad.GUID, ports int, lid mad.LID) {
		d := net.Node{ID: id, Desc: id, Type: typ, GUID: guid, Ports: make([]net.Port, ports+1)}
		for i := range d.Ports {
			d.Ports[i] = net.Port{Peer: net.NoEnd, Speed: mad.SDR, Width: mad.Width4x, GUID: guid + mad.GUID(i)}
		}
		d.Ports[min(1, ports)*(2-int(typ))].LID = lid // port 1 of a host, port 0 of a switch
		n.Nodes = append(n.Nodes, d)
	}
	add("switch", mad.Switch, 0x1000, starHosts, 10)
	for i := 1; i <= starHosts; i++ {
		add("host", mad.CA, mad.GUID(i)<<4, 1, mad.LID(i))
		n.Nodes[0].Ports[i].Peer, n.Nodes[i].Ports[1].Peer = net.End{Node: int32(i), Port: 1},
			net.End{Node: 0, Port: uint8(i)}
	}
	b := &star{t: t, asked: map[mad.TID]pending{}, timeout: time.Second, m: New(s)}
	b.f = fabric.New(n, fabric.Config{Seed: 1, Latency: 5 * time.Microsecond, KeepLIDs: true,
		Caps: func(i int32, _ *net.Node, c *fabric.Caps) {
			switch i {
			case 2: // data with 64 bits, errors with fewer
				c.Perf.CapabilityMask, c.Perf.CapabilityMask2 = 0x5a00, 0
			case 3: // no 64 bits
				c.Perf.CapabilityMask, c.Perf.CapabilityMask2 = 0, 0
			case 4: // promises 64 bits, and does not have them
				c.Perf.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					if p.AttrID() == pma.AttrPortCountersExtended {
						return mad.StatusBadMethodAttr, true
					}
					return obey(), true
				}
			}
		}})
	var err error
	if b.st, err = b.f.Attach(net.End{Node: 1, Port: 1}); err != nil {
		t.Fatal(err)
	}
	b.bringUp()
	b.step(&Ports{b.ports()})
	return b
}

// smp sends an SMP by a directed route, and returns the attribute.
func (b *star) smp(method mad.Method, attr mad.AttrID, mod uint32, data [64]byte, path ...uint8) [64]byte {
	b.t.Helper()
	d := make([]mad.Datagram, 1)
	r := mad.MakeRoute(path...)
	d[0].Packet.SetDirected(&r, method, attr, mod)
	*d[0].Packet.Data() = data
	b.st.Send(d)
	b.f.Advance(b.f.Now() + time.Millisecond)
	if b.st.Recv(d) != 1 || d[0].Packet.Status() != 0 {
		b.t.Fatalf("%s along %v: %v", smp.AttrName(attr), path, d[0].Packet.Status())
	}
	return *d[0].Packet.Data()
}

// bringUp does what a manager does to carry data.
func (b *star) bringUp() {
	b.t.Helper()
	si := smp.SwitchInfo(b.smp(mad.MethodGet, smp.AttrSwitchInfo, 0, [64]byte{}, 1))
	si.SetLinearFDBTop(10)
	b.smp(mad.MethodSet, smp.AttrSwitchInfo, 0, si, 1)
	b.smp(mad.MethodSet, smp.AttrLinearForwardingTable, 0,
		[64]byte{0: 255, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 255, 7: 255, 8: 255, 9: 255}, 1)
	for _, state := range []smp.PortState{smp.PortArmed, smp.PortActive} {
		for i := uint8(1); i <= starHosts; i++ {
			b.raise(state, i, 1)
			if i == 1 {
				b.raise(state, 0)
			} else {
				b.raise(state, 0, 1, i)
			}
		}
	}
}

func (b *star) raise(state smp.PortState, port uint8, path ...uint8) {
	b.t.Helper()
	pi := smp.PortInfo(b.smp(mad.MethodGet, smp.AttrPortInfo, uint32(port), [64]byte{}, path...))
	if pi.PortState() != state-1 {
		return
	}
	pi.KeepStates()
	pi.SetMasterSMLID(1)
	pi.SetPortState(state)
	b.smp(mad.MethodSet, smp.AttrPortInfo, uint32(port), pi, path...)
}

// ports are those of the switch and of the hosts.
func (b *star) ports() (list []Port) {
	for i := 1; i <= starHosts; i++ {
		list = append(list, Port{Key{0x1000, uint8(i)}, mad.Addr{LID: 10, QPN: 1}, slow},
			Port{Key{mad.GUID(i) << 4, 1}, mad.Addr{LID: mad.LID(i), QPN: 1}, slow})
	}
	return list
}

func (b *star) step(e Event) {
	out := b.m.Step(b.f.Now(), e)
	if out.Image != nil {
		b.images = append(b.images, out.Image)
	}
	batch := make([]mad.Datagram, 0, len(out.Asks))
	for i := range out.Asks {
		b.tid++
		d := mad.Datagram{Addr: out.Asks[i].To, Packet: out.Asks[i].Packet}
		d.Packet.SetTID(b.tid)
		b.asked[b.tid] = pending{out.Asks[i].Tag, b.f.Now() + b.timeout}
		batch = append(batch, d)
	}
	b.st.Send(batch)
}

// until lets time pass, in steps of 100 ms.
func (b *star) until(end time.Duration) {
	for b.f.Now() < end {
		b.f.Advance(b.f.Now() + 100*time.Millisecond)
		for d := make([]mad.Datagram, 1); b.st.Recv(d) == 1; b.f.Advance(b.f.Now() + 20*time.Microsecond) {
			if p, ok := b.asked[d[0].Packet.TID()]; ok && d[0].Packet.IsResponse() {
				delete(b.asked, d[0].Packet.TID())
				b.step(&Answered{p.tag, &d[0].Packet})
			}
		}
		for tid, p := range b.asked {
			if p.until <= b.f.Now() {
				delete(b.asked, tid)
				b.step(&Unanswered{p.tag})
			}
		}
		if at, ok := b.m.Next(); ok && at <= b.f.Now() {
			b.step(&Tick{})
		}
	}
}

// sums adds up what images say of a port. exact says that no count of it can be too low.
func (b *star) sums(k Key, c pma.Counter) (sum uint64, exact bool) {
	exact = true
	for _, im := range b.images {
		d, _ := im.Port(k)
		sum += d.N[c]
		exact = exact && !d.AtLeast.Has(c)
	}
	return sum, exact
}

// reads reports whether the port's device has that counter in what is read from it.
func (b *star) reads(at net.End, c pma.Counter) bool {
	switch at.Node {
	case 2:
		return c != pma.QP1Dropped
	case 3, 4:
		return pma.ShortCounters.Has(c) || at.Node == 4 && pma.PortCountersOnly.Has(c)
	}
	return true
}

func (b *star) host(i int) net.End { return net.End{Node: int32(i), Port: 1} }

// TestFabric: a quarter of an hour on a fabric that counts by itself. Where counts are exact
// they are what the ports have counted, and nowhere do they exceed that.
func TestFabric(t *testing.T) {
	s := Settings{Interval: 10 * time.Second, Window: 4, QueryInfo: true, Keep: time.Hour}
	b := newStar(t, s)
	b.until(5 * time.Second) // the first sweep
	begun := map[net.End][pma.NumCounters]uint64{}
	for at := range b.f.Ports() {
		var n [pma.NumCounters]uint64
		for c := range pma.AllCounters.All {
			n[c] = b.f.Counter(at, c)
		}
		begun[at] = n
	}
	b.f.SetBitErrorRate(net.End{Node: 0, Port: 5}, 1e-8) // host 5's cable
	for i := range 90 {
		for from := 1; from <= starHosts; from++ {
			// up to half of what 10 s carry
			load := fabric.Load{Packets: uint64(from * 10000), Words: uint64(from) * slow}
			b.f.Send(b.host(from), mad.LID(from%starHosts+1), mad.DefaultPKey, 0, load)
		}
		if i == 40 {
			b.f.Count(b.host(3), pma.VL15Dropped, 50000)
		}
		b.until(time.Duration(i+1)*10*time.Second + 5*time.Second)
	}
	b.f.SetBitErrorRate(net.End{Node: 0, Port: 5}, 0)
	b.until(b.f.Now() + 15*time.Second)
	if len(b.images) < 90 || b.m.Stats.Unanswered > 0 {
		t.Fatalf("%d images, %+v", len(b.images), b.m.Stats)
	}
	for at := range b.f.Ports() {
		if at.Port == 0 {
			continue
		}
		k := Key{0x1000, at.Port}
		if at.Node > 0 {
			k = Key{mad.GUID(at.Node) << 4, 1}
		}
		for c := range pma.AllCounters.All {
			sum, exact := b.sums(k, c)
			truth := b.f.Counter(at, c) - begun[at][c]
			spare := uint64(0)
			if c >= pma.PortXmitData && c != pma.PortXmitWait && c != pma.QP1Dropped {
				spare = 1000 // MADs between the first reading and begun
			}
			if sum > truth+spare || exact && b.reads(at, c) && sum+spare < truth {
				t.Errorf("%v: %v is %d (exact %t), in truth %d", at, c, sum, exact, truth)
			}
		}
	}
	if sum, exact := b.sums(Key{0x1000, 5}, pma.SymbolErrorCounter); sum < 70000 || !exact {
		t.Errorf("a bad cable has %d symbol errors, exact %t", sum, exact)
	}
	// Counters of 32 bits can overflow in 10 s at 1 GB/s.
	for _, tt := range []struct {
		host  int
		exact bool
	}{{1, true}, {2, true}, {3, false}, {4, false}} {
		if _, exact := b.sums(Key{mad.GUID(tt.host) << 4, 1}, pma.PortXmitData); exact != tt.exact {
			t.Errorf("PortXmitData of host %d is exact: %t", tt.host, exact)
		}
	}
	if b.m.Stats.Resets == 0 {
		t.Error("nothing was reset")
	}
}

// TestFabricEvents: a reset by somebody else, a reboot, and an unresponsive node are distinguished.
func TestFabricEvents(t *testing.T) {
	s := Settings{Interval: 10 * time.Second, Window: 4, QueryInfo: true, Keep: time.Hour}
	b := newStar(t, s)
	load := func() {
		if _, why := b.f.Send(b.host(1), 5, mad.DefaultPKey, 0,
			fabric.Load{Packets: 1000, Words: 1000000}); why != fabric.Delivered {
			t.Errorf("%v: a load was lost: %v", b.f.Now(), why)
		}
	}
	last := func(i int) Delta {
		b.t.Helper()
		d, ok := b.images[len(b.images)-1].Port(Key{mad.GUID(i) << 4, 1})
		if !ok {
			t.Fatalf("no host %d", i)
		}
		return d
	}
	for range 5 {
		load()
	}
	b.until(25 * time.Second)
	if d := last(5); d.Note != 0 || d.Has != pma.AllCounters {
		t.Errorf("in peace: %v, known %#x", d.Note, d.Has)
	}
	// Somebody resets host 5's counters, as perfquery does.
	var d mad.Datagram
	d.LID, d.QPN = 5, 1
	pma.SetResetExtended(&d.Packet, 1, pma.AllCounters)
	b.st.Send([]mad.Datagram{d})
	b.f.Advance(b.f.Now() + time.Millisecond)
	load()
	load()
	b.until(35 * time.Second)
	if d := last(5); d.Note != ResetByOther || d.N[pma.PortRcvData] < 2000000 || d.N[pma.PortRcvData] > 2010000 ||
		d.AtLeast != d.Has {
		t.Errorf("after a reset: %v, %d words", d.Note, d.N[pma.PortRcvData])
	}
	// It hangs.
	b.f.SetUnresponsive(5, true)
	load()
	b.until(45 * time.Second)
	if d := last(5); d.Note != NoAnswer || d.Has != 0 {
		t.Errorf("unresponsive: %v", d.Note)
	}
	// It reboots, and the manager finds that out and brings it up again.
	b.f.SetUnresponsive(5, false)
	b.f.Reboot(5)
	for _, state := range []smp.PortState{smp.PortArmed, smp.PortActive} {
		pi := smp.PortInfo(b.smp(mad.MethodGet, smp.AttrPortInfo, 0, [64]byte{}, 1, 5))
		pi.KeepStates()
		pi.SetLID(5)
		pi.SetMasterSMLID(1)
		pi.SetPortState(state)
		b.smp(mad.MethodSet, smp.AttrPortInfo, 0, pi, 1, 5)
		b.raise(state, 5, 1)
	}
	b.step(&Rebooted{map[mad.GUID]bool{5 << 4: true}})
	load()
	b.until(55 * time.Second)
	if d := last(5); d.Note != AfterReboot || d.N[pma.PortRcvData] > 1010000 || d.N[pma.PortRcvData] < 1000000 {
		t.Errorf("after a reboot: %v, %d words", d.Note, d.N[pma.PortRcvData])
	}
	load()
	b.until(65 * time.Second)
	if d := last(5); d.Note != 0 || d.N[pma.PortRcvData] < 1000000 || d.N[pma.PortRcvData] > 1010000 {
		t.Errorf("in peace again: %v, %d words", d.Note, d.N[pma.PortRcvData])
	}
	if d, ok := b.images[len(b.images)-1].Port(Key{0x1000, 5}); !ok || d.Note != 0 {
		t.Errorf("the switch's end: %v", d.Note)
	}
}
