package playback

import (
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/capture"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// script is a capture that is written by hand.
type script struct {
	file capture.File
	now  time.Duration
	tid  mad.TID
}

// ask adds a request, and a response with a status and data after a time; without one if status is none.
func (s *script) ask(d mad.Datagram, status mad.Status, data []byte, after time.Duration) {
	s.tid++
	d.Packet.SetTID(s.tid)
	s.file.Records = append(s.file.Records, capture.Record{At: s.now, Sent: true, Datagram: d})
	s.now += time.Millisecond
	if status == none {
		return
	}
	r := d
	r.Packet.SetMethod(mad.MethodGetResp)
	r.Packet.SetStatus(status)
	clear(r.Packet[64:128])
	copy(r.Packet[64:], data)
	s.now += after - time.Millisecond
	s.file.Records = append(s.file.Records, capture.Record{At: s.now, Datagram: r})
}

// none is no status at all.
const none mad.Status = 0xffff

// directed is a request on a directed route.
func directed(m mad.Method, attr mad.AttrID, mod uint32, data []byte, ports ...uint8) (d mad.Datagram) {
	route := mad.MakeRoute(ports...)
	d.Packet.SetDirected(&route, m, attr, mod)
	copy(d.Packet.Data()[:], data)
	d.LID = mad.PermissiveLID
	return d
}

func nodeInfo(t mad.NodeType, guid mad.GUID, ports, local uint8) []byte {
	var i smp.NodeInfo
	i.SetNodeType(t)
	i.SetNodeGUID(guid)
	i.SetPortGUID(guid + mad.GUID(local))
	i.SetNumPorts(ports)
	i.SetLocalPortNum(local)
	return i[:]
}

func portInfo(lid mad.LID, state smp.PortState) []byte {
	var i smp.PortInfo
	i.SetLID(lid)
	i.SetMasterSMLID(1)
	i.SetPortState(state)
	i.SetPortPhysicalState(smp.PhysLinkUp)
	i.SetMTUCap(mad.MTU4096)
	i.SetNeighborMTU(mad.MTU4096)
	i.SetVLCap(1)
	i.SetOperationalVLs(1)
	i.SetVLArbitrationHighCap(8)
	i.SetVLArbitrationLowCap(8)
	i.SetLinkWidthSupported(mad.Width4x)
	i.SetLinkWidthEnabled(mad.Width4x)
	i.SetLinkWidthActive(mad.Width4x)
	i.SetLinkSpeedSupported(7)
	i.SetLinkSpeedEnabled(7)
	i.SetLinkSpeedActive(4)
	i.SetLinkDownDefaultState(smp.PhysPolling)
	return i[:]
}

// small is a manager at host 1 on port 1 of switch 0x100, whose port 2 leads to host 0x20.
func small() *script {
	s := &script{}
	get := func(attr mad.AttrID, mod uint32, data []byte, ports ...uint8) {
		s.ask(directed(mad.MethodGet, attr, mod, nil, ports...), 0, data, time.Millisecond)
	}
	get(smp.AttrNodeInfo, 0, nodeInfo(mad.CA, 0x10, 1, 1))
	get(smp.AttrNodeInfo, 0, nodeInfo(mad.Switch, 0x100, 4, 1), 1)
	get(smp.AttrNodeInfo, 0, nodeInfo(mad.CA, 0x20, 1, 1), 1, 2)
	get(smp.AttrPortInfo, 0, portInfo(1, smp.PortActive))
	get(smp.AttrPortInfo, 0, portInfo(3, smp.PortActive), 1)
	get(smp.AttrPortInfo, 1, portInfo(0, smp.PortActive), 1)
	get(smp.AttrPortInfo, 2, portInfo(0, smp.PortActive), 1)
	get(smp.AttrPortInfo, 0, portInfo(2, smp.PortActive), 1, 2)
	var info smp.SwitchInfo
	info.SetLinearFDBCap(64)
	info.SetLinearFDBTop(3)
	get(smp.AttrSwitchInfo, 0, info[:], 1)
	get(smp.AttrLinearForwardingTable, 0, []byte{255, 1, 2, 0}, 1)
	return s
}

// bench is a played fabric with a station at the manager's port.
type bench struct {
	*testing.T
	devices *Devices
	fabric  *fabric.Fabric
	station *fabric.Station
}

func play(t *testing.T, s *script) *bench {
	t.Helper()
	s.file.Ended = s.now + time.Minute
	d, err := Make(&s.file)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, devices: d, fabric: d.Fabric(fabric.Config{})}
	if b.station, err = b.fabric.Attach(d.At); err != nil {
		t.Fatal(err)
	}
	return b
}

// ask sends a request, and returns its response and the time that it took; nil if there is none within a second.
func (b *bench) ask(d mad.Datagram) (response *mad.Packet, took time.Duration) {
	from := b.fabric.Now()
	b.station.OnReceive(func(r mad.Datagram) {
		if r.Packet.Method() == mad.MethodGetResp {
			response, took = &r.Packet, b.fabric.Now()-from
		}
	})
	b.station.Send([]mad.Datagram{d})
	b.fabric.Advance(from + time.Second)
	return response, took
}

// TestTape: what comes after what was recorded, and instead of it, follows from it.
func TestTape(t *testing.T) {
	const attr, refused = smp.AttrVLArbitrationTable, mad.StatusBadField
	type step struct {
		set    byte // 0: a Get
		status mad.Status
		value  byte
	}
	for _, c := range []struct {
		name           string
		recorded, play []step
	}{
		{"a Get is repeated", []step{{0, 0, 7}}, []step{{0, 0, 7}, {0, 0, 7}}},
		{"Gets come in order", []step{{0, 0, 7}, {0, 0, 8}}, []step{{0, 0, 7}, {0, 0, 8}, {0, 0, 8}}},
		{"a lost one is lost once", []step{{0, none, 0}, {0, 0, 8}}, []step{{0, none, 0}, {0, 0, 8}, {0, 0, 8}}},
		{"a Get waits for its Set", []step{{0, 0, 7}, {9, 0, 9}, {0, 0, 10}},
			[]step{{0, 0, 7}, {0, 0, 7}, {9, 0, 9}, {0, 0, 10}, {0, 0, 10}}},
		{"the value is that of the Set", []step{{0, 0, 7}, {9, 0, 9}}, []step{{0, 0, 7}, {9, 0, 9}, {0, 0, 9}}},
		{"a refused Set changes nothing", []step{{0, 0, 7}, {9, refused, 9}},
			[]step{{0, 0, 7}, {9, refused, 9}, {0, 0, 7}, {9, refused, 9}}},
		{"acknowledged and not kept", []step{{9, 0, 9}, {0, 0, 7}}, []step{{9, 0, 9}, {0, 0, 7}, {9, 0, 9}, {0, 0, 7}}},
		{"a Set is repeated", []step{{9, 0, 9}, {8, 0, 8}}, []step{{9, 0, 9}, {8, 0, 8}, {9, 0, 9}, {0, 0, 9}}},
		{"all Sets are refused", []step{{9, refused, 0}}, []step{{8, refused, 0}, {8, refused, 0}}},
		{"all Sets are lost", []step{{9, none, 0}}, []step{{8, none, 0}, {8, none, 0}}},
		{"Gets are refused, so Sets are", []step{{0, refused, 0}}, []step{{8, refused, 0}, {0, refused, 0}}},
		{"other data is obeyed", []step{{0, 0, 7}, {9, 0, 9}, {0, 0, 10}},
			[]step{{8, 0, 8}, {0, 0, 8}, {9, 0, 9}, {0, 0, 9}}},
		{"nothing was recorded", nil, []step{{0, 0, 0}, {8, 0, 8}, {0, 0, 8}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := small()
			request := func(x step) mad.Datagram {
				if x.set == 0 {
					return directed(mad.MethodGet, attr, 1<<16, nil, 1, 2)
				}
				return directed(mad.MethodSet, attr, 1<<16, []byte{x.set}, 1, 2)
			}
			for _, x := range c.recorded {
				s.ask(request(x), x.status, []byte{x.value}, time.Millisecond)
			}
			b := play(t, s)
			for i, x := range c.play {
				status, value := none, byte(0)
				if r, _ := b.ask(request(x)); r != nil {
					status, value = r.Status(), r[64]
				}
				if status != x.status || status == 0 && value != x.value {
					t.Errorf("request %d: status %#x, value %d; want %#x, %d", i, status, value, x.status, x.value)
				}
			}
		})
	}
}

// TestDelay: a response takes as long as it took.
func TestDelay(t *testing.T) {
	s := small()
	s.ask(directed(mad.MethodGet, smp.AttrGUIDInfo, 0, nil, 1, 2), 0, nil, 123*time.Millisecond)
	if r, took := play(t, s).ask(directed(mad.MethodGet, smp.AttrGUIDInfo, 0, nil, 1, 2)); r == nil ||
		took != 123*time.Millisecond {
		t.Errorf("%v after %v", r, took)
	}
}

// counters is a request for the counters of a port of the node that has a LID.
func counters(lid mad.LID, port uint8) (d mad.Datagram) {
	d.Packet.SetHeader(mad.ClassPerf, mad.MethodGet, pma.AttrPortCounters, 0)
	pma.SelectOf(d.Packet.PerfData()).SetPortSelect(port)
	d.LID, d.QPN = lid, 1
	return d
}

// TestInUse: what was recorded of a subnet in use carries packets, by the tables that were read, and requests
// by LID find their devices; so do those about different ports.
func TestInUse(t *testing.T) {
	s := small()
	one, two := make([]byte, 64), make([]byte, 64)
	one[1], one[5], two[1], two[5] = 1, 77, 2, 88
	s.ask(counters(3, 1), 0, one, time.Millisecond)
	s.ask(counters(3, 2), 0, two, time.Millisecond)
	s.ask(counters(2, 1), none, nil, 0)
	b := play(t, s)
	if hops, why := b.fabric.Probe(b.devices.At, 2, mad.DefaultPKey, 0, nil); why != fabric.Delivered {
		t.Errorf("a packet to LID 2: %v after %v", why, hops)
	}
	for port, want := range map[uint8]byte{1: 77, 2: 88} {
		if r, _ := b.ask(counters(3, port)); r == nil || r[69] != want {
			t.Errorf("port %d: %v", port, r)
		}
	}
	if r, _ := b.ask(counters(2, 1)); r != nil {
		t.Errorf("a host that did not answer does: %v", r)
	}
	if recorded, plain := b.devices.Counts(); recorded != 3 || plain != 0 {
		t.Errorf("%d as recorded, %d plain", recorded, plain)
	}
}

// TestPlain: what was not recorded is answered from what is known of the device, and counted.
func TestPlain(t *testing.T) {
	b := play(t, small())
	r, _ := b.ask(directed(mad.MethodGet, smp.AttrPKeyTable, 0, nil, 1, 2))
	if r == nil || mad.PKey(r[64])<<8|mad.PKey(r[65]) != mad.DefaultPKey {
		t.Errorf("the table of P_Keys: %v", r)
	}
	if r, _ := b.ask(directed(mad.MethodGet, smp.AttrSMInfo, 0, nil, 1, 2)); r != nil {
		t.Errorf("a node without a manager answers SMInfo: %v", r)
	}
	if recorded, plain := b.devices.Counts(); recorded != 0 || plain != 2 {
		t.Errorf("%d as recorded, %d plain", recorded, plain)
	}
}

// TestUnknown: a device that did not answer NodeInfo is there, its link is up, and it does not answer; a refusal is
// played back.
func TestUnknown(t *testing.T) {
	s := small()
	s.ask(directed(mad.MethodGet, smp.AttrNodeInfo, 0, nil, 1, 3), none, nil, 0)
	s.ask(directed(mad.MethodGet, smp.AttrNodeInfo, 0, nil, 1, 4), mad.StatusBadVersion, nil, time.Millisecond)
	b := play(t, s)
	at := net.End{Node: b.devices.At.Node + 1, Port: 3}
	if !b.fabric.CableGood(at) {
		t.Error("the switch has no cable at port 3")
	}
	for port, want := range map[uint8]mad.Status{3: none, 4: mad.StatusBadVersion} {
		for range 2 {
			status := none
			if r, _ := b.ask(directed(mad.MethodGet, smp.AttrNodeInfo, 0, nil, 1, port)); r != nil {
				status = r.Status()
			}
			if status != want {
				t.Errorf("behind port %d: %#x, want %#x", port, status, want)
			}
		}
	}
	if r, _ := b.ask(directed(mad.MethodGet, smp.AttrPortInfo, 0, nil, 1, 4)); r != nil {
		t.Errorf("a device of which nothing is known answers: %v", r)
	}
}

// TestOtherManager: SMInfo of another manager is played back, also where it comes to a station's port later.
func TestOtherManager(t *testing.T) {
	s := small()
	s.ask(directed(mad.MethodGet, smp.AttrSMInfo, 0, nil, 1, 2), 0, []byte{42}, time.Millisecond)
	b := play(t, s)
	if r, _ := b.ask(directed(mad.MethodGet, smp.AttrSMInfo, 0, nil, 1, 2)); r == nil || r[64] != 42 {
		t.Errorf("%v", r)
	}
	at, _ := b.fabric.Find(0x21)
	if _, err := b.fabric.Attach(at); err != nil {
		t.Fatal(err)
	}
	if r, _ := b.ask(directed(mad.MethodGet, smp.AttrSMInfo, 0, nil, 1, 2)); r != nil {
		t.Errorf("the agent has answered for the station: %v", r)
	}
}

// TestMKeys: a port that had an M_Key shows the one that it gets here, and until then that it has one.
func TestMKeys(t *testing.T) {
	s := small()
	blank := (*smp.PortInfo)(portInfo(2, smp.PortActive))
	blank.SetMKey(capture.BlankKey)
	s.ask(directed(mad.MethodGet, smp.AttrPortInfo, 1<<31, nil, 1, 2), 0, blank[:], time.Millisecond)
	want := *blank
	want.KeepStates()
	s.ask(directed(mad.MethodSet, smp.AttrPortInfo, 1<<31, want[:], 1, 2), 0, blank[:], time.Millisecond)
	b := play(t, s)
	get := directed(mad.MethodGet, smp.AttrPortInfo, 1<<31, nil, 1, 2)
	for _, key := range []mad.MKey{capture.BlankKey, 0x1234} {
		if key == 0x1234 {
			want.SetMKey(key)
			if r, _ := b.ask(directed(mad.MethodSet, smp.AttrPortInfo, 1<<31, want[:], 1, 2)); r == nil ||
				r.Status() != 0 || (*smp.PortInfo)(r.Data()).MKey() != key {
				t.Errorf("Set: %v", r)
			}
			get.Packet.SetMKey(key)
		}
		if r, _ := b.ask(get); r == nil || (*smp.PortInfo)(r.Data()).MKey() != key {
			t.Errorf("M_Key %#x: %v", uint64(key), r)
		}
	}
	if _, plain := b.devices.Counts(); plain != 0 {
		t.Errorf("%d plain answers", plain)
	}
}

// TestCutShort: what was asked last is not unanswered because the recording ended, and the devices are there without
// the manager's own node, as in a capture of ibdump.
func TestCutShort(t *testing.T) {
	s := small()
	s.ask(directed(mad.MethodGet, smp.AttrPKeyTable, 0, nil, 1, 2), none, nil, 0)
	s.file.Records = s.file.Records[2:]
	s.file.Ended = s.now
	d, err := Make(&s.file)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, devices: d, fabric: d.Fabric(fabric.Config{})}
	if b.station, err = b.fabric.Attach(d.At); err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string]mad.Datagram{
		"own node":   directed(mad.MethodGet, smp.AttrNodeInfo, 0, nil),
		"host":       directed(mad.MethodGet, smp.AttrNodeInfo, 0, nil, 1, 2),
		"asked last": directed(mad.MethodGet, smp.AttrPKeyTable, 0, nil, 1, 2),
	} {
		if r, _ := b.ask(request); r == nil || r.Status() != 0 {
			t.Errorf("%s: %v", name, r)
		}
	}
	if text := d.String(); !strings.Contains(text, "3 devices, 19 packets") ||
		!strings.Contains(text, "the file does not say why it ends") {
		t.Errorf("%q", text)
	}
	if _, err := Make(&capture.File{}); err != errNothing {
		t.Errorf("an empty capture: %v", err)
	}
}

// FuzzMake: no capture makes a fabric that panics.
func FuzzMake(f *testing.F) {
	var s *script
	for _, r := range small().file.Records {
		f.Add(r.Packet[:], true)
	}
	f.Fuzz(func(t *testing.T, packets []byte, sent bool) {
		s = small()
		for i := 0; len(packets) >= mad.PacketSize && i < 64; i++ {
			p := mad.Packet(packets)
			packets = packets[mad.PacketSize:]
			p.SetTID(mad.TID(1000 + i/2))
			s.now += time.Millisecond
			s.file.Records = append(s.file.Records,
				capture.Record{At: s.now, Sent: sent == (i%2 == 0),
					Datagram: mad.Datagram{Packet: p, Addr: mad.Addr{LID: 2}}})
		}
		s.file.Ended = s.now + time.Minute
		d, err := Make(&s.file)
		if err != nil {
			return
		}
		b := d.Fabric(fabric.Config{})
		st, err := b.Attach(d.At)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.file.Records {
			if r.Sent {
				st.Send([]mad.Datagram{r.Datagram})
				for _, attr := range []mad.AttrID{smp.AttrPortInfo, smp.AttrSwitchInfo, smp.AttrLinearForwardingTable,
					smp.AttrMulticastForwardingTable, smp.AttrPKeyTable} {
					again := r.Datagram
					again.Packet.SetAttrID(attr)
					again.Packet.SetMethod(mad.MethodSet)
					st.Send([]mad.Datagram{again})
				}
			}
		}
		b.Advance(b.Now() + time.Second)
	})
}

// TestHostile: many devices with many ports are refused before they take memory.
func TestHostile(t *testing.T) {
	s := &script{}
	s.ask(directed(mad.MethodGet, smp.AttrNodeInfo, 0, nil), 0, nodeInfo(mad.CA, 0x10, 1, 1), time.Millisecond)
	for i := range 5000 {
		s.ask(directed(mad.MethodGet, smp.AttrNodeInfo, 0, nil, 1, uint8(i), uint8(i>>8)), 0,
			nodeInfo(mad.Switch, mad.GUID(1000+i), 254, 1), time.Millisecond)
	}
	if _, err := Make(&s.file); err == nil || !strings.Contains(err.Error(), "1048576 ports") {
		t.Error(err)
	}
}
