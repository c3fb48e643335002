package plan

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
)

// MulticastFDBTop is written where it counts and no higher than the table reaches; default
// multicast ports are closed, but only by a manager that manages multicast.
func TestWantedSwitchMulticast(t *testing.T) {
	for _, c := range []struct {
		name              string
		counts            bool
		cap               uint16
		top, is, want     mad.LID
		primary, primary2 uint8 // as it is and is wanted
	}{
		{"not managed", true, 1024, 0, 0xc123, 0xc123, 3, 3},
		{"managed", true, 1024, 0xc03f, 0xc123, 0xc03f, 3, 255},
		{"without the capability", false, 1024, 0xc03f, 0, 0, 255, 255},
		{"a short table", true, 16, 0xc03f, 0, 0xc00f, 0, 0},
		{"no table", true, 0, 0xc03f, 0, 0xbfff, 200, 200}, // there is no such port
	} {
		s := newSubnet(t)
		node := &s.Nodes[s.FindNode(sw1GUID)]
		node.SwitchInfo.SetMulticastFDBCap(c.cap)
		node.SwitchInfo.SetMulticastFDBTop(c.is)
		node.SwitchInfo.SetDefaultMulticastPrimaryPort(c.primary)
		node.SwitchInfo.SetDefaultMulticastNotPrimaryPort(c.primary)
		if c.counts {
			s.info(sw1GUID, 0).SetCapabilityMask(smp.IsMulticastFDBTopSupported)
		}
		s.in.MulticastTop = c.top
		w := New(s.in).SwitchSent(s.FindNode(sw1GUID))
		if w.MulticastFDBTop() != c.want || w.DefaultMulticastPrimaryPort() != c.primary2 ||
			w.DefaultMulticastNotPrimaryPort() != c.primary2 {
			t.Errorf("%s: MulticastFDBTop %v, default ports %d and %d; want %v and %d", c.name, w.MulticastFDBTop(),
				w.DefaultMulticastPrimaryPort(), w.DefaultMulticastNotPrimaryPort(), c.want, c.primary2)
		}
	}
}

// A value that a switch does not accept is not sent again, until another value is wanted.
func TestIgnoredFields(t *testing.T) {
	s := newSubnet(t)
	n := s.FindNode(sw1GUID)
	is := &s.Nodes[n].SwitchInfo
	is.SetMulticastFDBCap(1024)
	s.info(sw1GUID, 0).SetCapabilityMask(smp.IsMulticastFDBTopSupported)
	var ignored []string
	send := func(top mad.LID, life uint8, takesLife bool) (sent smp.SwitchInfo) {
		s.in.MulticastTop, s.in.Values.LifeTimeValue = top, life
		p := New(s.in)
		sent = p.SwitchSent(n)
		wanted, held := p.WantedSwitch(n), sent
		held.SetMulticastFDBTop(0)
		if !takesLife {
			held.SetLifeTimeValue(1)
		}
		bits, _ := s.in.Unsupported.Learn(&device.SwitchInfo, p.Place(smp.AttrSwitchInfo, s.Nodes[n].First),
			(*device.Data)(&wanted), (*device.Data)(&held))
		ignored = SwitchFields((*smp.SwitchInfo)(&bits))
		*is = held
		return sent
	}
	is.SetLifeTimeValue(1)
	if sent := send(0xc01f, 7, false); sent.MulticastFDBTop() != 0xc01f || sent.LifeTimeValue() != 7 {
		t.Errorf("first it is sent %v and %d", sent.MulticastFDBTop(), sent.LifeTimeValue())
	}
	if !slices.Equal(ignored, []string{"LifeTimeValue", "MulticastFDBTop"}) {
		t.Errorf("ignored: %q", ignored)
	}
	if sent := send(0xc01f, 7, false); sent.MulticastFDBTop() != 0 || sent.LifeTimeValue() != 1 {
		t.Errorf("it is sent again: %v and %d", sent.MulticastFDBTop(), sent.LifeTimeValue())
	}
	if sent := send(0xc03f, 7, false); sent.MulticastFDBTop() != 0xc03f || sent.LifeTimeValue() != 1 {
		t.Errorf("another top: %v and %d", sent.MulticastFDBTop(), sent.LifeTimeValue())
	}
	if sent := send(0xc03f, 7, false); sent.MulticastFDBTop() != 0 || sent.LifeTimeValue() != 1 {
		t.Errorf("what it did not take before is forgotten: %v and %d", sent.MulticastFDBTop(), sent.LifeTimeValue())
	}
	if sent := send(0xc03f, 8, true); sent.LifeTimeValue() != 8 {
		t.Errorf("another life time: %d", sent.LifeTimeValue())
	}
}
