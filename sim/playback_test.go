package sim_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
	"ibsm/mad/capture"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sim/playback"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// wire is a port that takes everything, and gives what it is given.
type wire struct {
	mad.Port
	given []mad.Datagram
}

func (w *wire) Send(ds []mad.Datagram) (int, error) { return len(ds), nil }
func (w *wire) Recv(ds []mad.Datagram) (int, error) { return copy(ds, w.given), nil }

// captured runs a manager on a fabric until a time, in a bubble whose clock is that of the fabric, and returns the
// recording of its packets.
func captured(t *testing.T, f *fabric.Fabric, at net.End, cfg manager.Config, until time.Duration) (file []byte,
	m *watched) {
	synctest.Test(t, func(t *testing.T) {
		w := &sim.World{Fabric: f, ComputeTime: 10 * time.Millisecond}
		h := &harness{TB: t, World: w}
		m = h.add(at, cfg)
		inside := &wire{}
		var recorder capture.Recorder
		port := recorder.Wrap(inside)
		rec, err := recorder.Begin("ibsm test")
		if err != nil {
			t.Fatal(err)
		}
		keepTime := func() { time.Sleep(f.Now() - time.Since(rec.Start())) }
		w.Sent = func(_ *sim.Manager, batch []mad.Datagram) {
			keepTime()
			port.Send(batch)
		}
		buf := make([]mad.Datagram, 64)
		m.Heard = func(received []mad.Datagram) {
			keepTime()
			inside.given = received
			port.Recv(buf)
		}
		w.Run(until, nil)
		keepTime()
		file = rec.End("the test is over")
		m.dump()
	})
	return file, m
}

func readCapture(t *testing.T, file []byte) *capture.File {
	t.Helper()
	f, err := capture.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// oddDevices are devices that are not sound.
func oddDevices() func(int32, *net.Node, *fabric.Caps) {
	hosts := 0
	return func(i int32, n *net.Node, c *fabric.Caps) {
		refuse := func(attr mad.AttrID, method mad.Method, status mad.Status, answers bool) {
			c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				if p.AttrID() == attr && (method == 0 || p.Method() == method) {
					return status, answers
				}
				return obey(), true
			}
		}
		if n.Type == mad.Switch {
			switch i {
			case 0:
				refuse(smp.AttrVLArbitrationTable, 0, 0, false)
			case 1:
				c.SMATime, c.SMABuffer = 30*time.Millisecond, 4
			case 2:
				refuse(smp.AttrSLtoVLMappingTable, mad.MethodSet, mad.StatusBadField, true)
			}
			return
		}
		switch hosts++; hosts {
		case 2:
			refuse(smp.AttrPKeyTable, 0, 0, false)
		case 3:
			refuse(smp.AttrNodeDescription, 0, mad.StatusBadMethodAttr, true)
		case 4:
			refuse(smp.AttrNodeInfo, 0, 0, false)
		case 5: // answers, and keeps nothing
			c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				if p.AttrID() == smp.AttrVLArbitrationTable && p.Method() == mad.MethodSet {
					return mad.StatusOK, true
				}
				return obey(), true
			}
		}
	}
}

// TestPlayback: a manager at devices that were made of a capture sends the same requests at the same times as the one
// that was recorded, and gets the same responses, however odd the devices were.
func TestPlayback(t *testing.T) {
	plain := minhopConfig()
	qos := minhopConfig()
	qos.Sweep.Settings.QoS = true
	keys := minhopConfig()
	keys.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x1122334455667788))
	for _, c := range []struct {
		name string
		cfg  manager.Config
	}{{"plain", plain}, {"qos", qos}, {"m_key", keys}} {
		t.Run(c.name, func(t *testing.T) {
			nettest.SetProfile(t, net.RealDevices)
			n := nettest.Generate(t, "fattree:k=4,levels=2")
			f := fabric.New(n, fabric.Config{Caps: oddDevices()})
			first, one := captured(t, f, firstHost(n), c.cfg, 30*time.Second)
			if len(one.ups) == 0 {
				t.Fatal("the recorded subnet did not come up")
			}
			d, err := playback.Make(readCapture(t, first))
			if err != nil {
				t.Fatal(err)
			}
			second, _ := captured(t, d.Fabric(fabric.Config{}), d.At, c.cfg, 30*time.Second)
			samePackets(t, readCapture(t, first), readCapture(t, second))
			if recorded, plain := d.Counts(); recorded == 0 || plain > 0 {
				t.Errorf("%d requests were answered as recorded, and %d by plain devices", recorded, plain)
			}
		})
	}
}

// samePackets compares captures, packet by packet.
func samePackets(t *testing.T, a, b *capture.File) {
	t.Helper()
	t.Logf("%d packets", len(a.Records))
	words := func(r *capture.Record) string {
		p := &r.Packet
		return fmt.Sprintf("%v sent %v %v %v %#x mod %#x status %v route %v", r.At, r.Sent, p.MgmtClass(), p.Method(),
			uint16(p.AttrID()), p.AttrMod(), p.Status(), p.InitialPath()[:p.HopCount()+1])
	}
	for i := range min(len(a.Records), len(b.Records)) {
		x, y := &a.Records[i], &b.Records[i]
		if x.At != y.At || x.Sent != y.Sent || x.Packet != y.Packet || x.LID != y.LID {
			t.Fatalf("packet %d is\n%s\n% x\nand\n%s\n% x", i, words(x), x.Packet[:], words(y), y.Packet[:])
		}
	}
	if len(a.Records) != len(b.Records) {
		t.Errorf("%d packets, and %d", len(a.Records), len(b.Records))
	}
}

// TestCaptureHasNoKeys: no key that devices or managers have is in a capture, not even in packets that a hostile
// device or a foreign manager sends.
func TestCaptureHasNoKeys(t *testing.T) {
	const mkey, smKey, foreign = 0x1122334455667788, 0x99aabbccddeeff01, 0x0203040506070809
	nettest.SetProfile(t, net.RealDevices)
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	f := fabric.New(n, fabric.Config{Latency: latency, Caps: func(i int32, n *net.Node, c *fabric.Caps) {
		if n.Type == mad.CA && n.Desc == "host-03 mlx5_0" {
			c.PowerUp = func(_ uint8, info *smp.PortInfo) { info.SetMKey(foreign) }
		}
	}})
	cfg := minhopConfig()
	cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(mkey))
	cfg.Elect.SMKey = smKey
	file, m := captured(t, f, firstHost(n), cfg, 10*time.Second)
	if len(m.ups) == 0 {
		t.Fatal("the subnet did not come up")
	}
	zip, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []uint64{mkey, smKey, foreign} {
		if at := bytes.Index(text, binary.BigEndian.AppendUint64(nil, key)); at >= 0 {
			t.Errorf("key %#x is at byte %d", key, at)
		}
	}
	blank := binary.BigEndian.AppendUint64(nil, capture.BlankKey)
	if count := bytes.Count(text, blank); count < 20 {
		t.Errorf("%d keys were blanked: were there any?", count)
	}
}

// TestPlaybackGoesOn: devices of a capture of a subnet in use carry packets, also when they get other tables than
// recorded.
func TestPlaybackGoesOn(t *testing.T) {
	nettest.SetProfile(t, net.RealDevices)
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	f := fabric.New(n, fabric.Config{Latency: latency})
	captured(t, f, firstHost(n), minhopConfig(), 10*time.Second)
	for at := range f.EndPorts() {
		_ = at
	}
	_ = slices.Sorted[int]
}
