package discover

import (
	"fmt"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/topo/net"
)

// edr is a subnet of two switches of one model with two EDR cables between them, our host on the first, and another on
// the second.
func edr() (p *plant, self net.End, a, b int32) {
	p, self, a, b = two()
	p.cable(a, 3, b, 3)
	for i := range p.Nodes {
		p.Nodes[i].DeviceID = 7
		if p.Nodes[i].Type != mad.Switch {
			p.Nodes[i].DeviceID = 9
		}
		for num := range p.Nodes[i].Ports {
			p.Nodes[i].Ports[num].Speed = mad.EDR
		}
	}
	return p, self, a, b
}

func findNode(t *topo.Topo, guid mad.GUID) *topo.Node { return &t.Nodes[t.FindNode(guid)] }

// speedsWalker walks and counts the requests with bit 31, by node GUID.
type speedsWalker struct {
	*walker
	speeds *device.Features
	with   map[mad.GUID]int
	prev   *topo.Topo
}

// newSpeedsWalker is for devices that treat bit 31 in some way, and refuse it where answer says so: by a status, or for
// 0xffff by silence.
func newSpeedsWalker(t *testing.T, p *plant, self net.End, extended fabric.Extended,
	answer func(node int32) mad.Status) *speedsWalker {
	w := &speedsWalker{speeds: device.NewFeatures(), with: map[mad.GUID]int{}}
	w.walker = newWalker(t, &p.Net, self, fabric.Config{Caps: func(i int32, n *net.Node, c *fabric.Caps) {
		c.Extended = extended
		c.Defect = func(packet *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			if packet.AttrID() != smp.AttrPortInfo || packet.AttrMod()&smp.ExtendedSpeedsMod == 0 {
				return obey(), true
			}
			w.with[n.GUID]++
			switch status := answer(i); status {
			case 0:
				return obey(), true
			case 0xffff:
				return 0, false
			default:
				return status, true
			}
		}
	}})
	return w
}

func (w *speedsWalker) again() *Result {
	clear(w.with)
	r := w.walk(New(Config{Prev: w.prev, Features: w.speeds}))
	w.prev = r.Builder.Freeze()
	return r
}

func accepts(int32) mad.Status { return 0 }

// TestShownSpeeds: a device that shows extended speeds is sent no bit 31 in a Get, as by OpenSM 3.3.23, nor is one that
// has none.
func TestShownSpeeds(t *testing.T) {
	for name, plant := range map[string]func() (*plant, net.End, int32, int32){"QDR": two, "EDR": edr} {
		p, self, _, _ := plant()
		extended := fabric.ExtendedAlways
		if name == "QDR" {
			extended = fabric.ExtendedWhenAsked
		}
		w := newSpeedsWalker(t, p, self, extended, accepts)
		for range 2 {
			if w.again(); len(w.with) > 0 {
				t.Errorf("%s: requests with bit 31: %v", name, w.with)
			}
		}
	}
}

// TestHiddenSpeeds: ports that hide extended speeds are asked again with bit 31, and later at once with it.
func TestHiddenSpeeds(t *testing.T) {
	p, self, a, _ := edr()
	w := newSpeedsWalker(t, p, self, fabric.ExtendedWhenAsked, accepts)
	w.again()
	sw := findNode(w.prev, p.Nodes[a].GUID)
	if got := w.with[sw.GUID]; got != 3 { // its ports with a link
		t.Errorf("%d ports of a switch are asked with bit 31", got)
	}
	if port := &w.prev.Ports[sw.First+2]; port.Info.LinkSpeedExtActive() == 0 || !sw.GetsExtended || !sw.SetsExtended {
		t.Errorf("its extended speeds are not seen: %v, Gets %v, Sets %v", port.Info.LinkSpeedExtActive(),
			sw.GetsExtended, sw.SetsExtended)
	}
	w.again()
	if got := w.with[sw.GUID]; got != 7 || w.count[smp.AttrPortInfo] != 2+7+7 { // all, each once
		t.Errorf("%d ports of a switch are asked with bit 31, %d PortInfos", got, w.count[smp.AttrPortInfo])
	}
}

// TestBit31Refused: a device that does not accept bit 31, by any error or by silence, is asked once with it, and no
// other one of its model, unless one of them accepts it; what it said without the bit stands.
func TestBit31Refused(t *testing.T) {
	for _, status := range []mad.Status{0x04, mad.StatusBadMethodAttr, 0x08, mad.StatusBadField, 0xffff} {
		t.Run(fmt.Sprintf("%#x", uint16(status)), func(t *testing.T) {
			p, self, a, b := edr()
			w := newSpeedsWalker(t, p, self, fabric.ExtendedWhenAsked, func(node int32) mad.Status {
				if p.Nodes[node].Type == mad.Switch {
					return status
				}
				return 0
			})
			r := w.again()
			if w.with[p.Nodes[a].GUID]+w.with[p.Nodes[b].GUID] != 1 || len(r.Findings) > 0 {
				t.Errorf("requests with bit 31: %v, findings %v", w.with, r.Findings)
			}
			if r.TimedOut > 0 {
				t.Errorf("%d time-outs: the walk would be inconclusive", r.TimedOut)
			}
			for _, n := range []int32{a, b} {
				node := findNode(w.prev, p.Nodes[n].GUID)
				if port := &w.prev.Ports[node.First+2]; node.GetsExtended || port.Info.PortState() <= smp.PortDown ||
					port.Peer == topo.None {
					t.Errorf("node %v: Gets with bit 31 %v, port 2 %v", node.GUID, node.GetsExtended,
						port.Info.PortState())
				}
			}
			if w.again(); w.with[p.Nodes[a].GUID]+w.with[p.Nodes[b].GUID] > 0 {
				t.Errorf("requests with bit 31 in the second walk: %v", w.with)
			}
		})
	}
}

// TestBit31RefusedByOne: that one device does not accept the bit says nothing about its model where another one accepts
// it.
func TestBit31RefusedByOne(t *testing.T) {
	p, self, a, b := edr()
	w := newSpeedsWalker(t, p, self, fabric.ExtendedWhenAsked, func(node int32) mad.Status {
		if node == b {
			return mad.StatusBadField
		}
		return 0
	})
	w.again()
	if !findNode(w.prev, p.Nodes[a].GUID).GetsExtended || findNode(w.prev, p.Nodes[b].GUID).GetsExtended ||
		w.with[p.Nodes[b].GUID] != 1 {
		t.Errorf("requests with bit 31: %v", w.with)
	}
}

// TestBit31RefusedLater: a device that has accepted the bit and does not any more, as after an update of its firmware,
// is asked without it.
func TestBit31RefusedLater(t *testing.T) {
	p, self, _, b := edr()
	refuses := mad.Status(0)
	w := newSpeedsWalker(t, p, self, fabric.ExtendedWhenAsked, func(node int32) mad.Status {
		if node == b {
			return refuses
		}
		return 0
	})
	w.again()
	for _, refuses = range []mad.Status{mad.StatusBadField, mad.StatusBadField} {
		r := w.again()
		if node := findNode(w.prev, p.Nodes[b].GUID); node.GetsExtended || len(r.Findings) > 0 ||
			w.prev.Ports[node.First+2].Peer == topo.None {
			t.Errorf("Gets with bit 31 %v, findings %v", node.GetsExtended, r.Findings)
		}
	}
	if w.with[p.Nodes[b].GUID] > 0 {
		t.Errorf("requests with bit 31 in the last walk: %v", w.with)
	}
}
