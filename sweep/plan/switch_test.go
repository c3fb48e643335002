package plan

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// MulticastFDBTop is written where it counts and no higher than the table reaches; default
// multicast ports are closed, but only by who manages multicast.
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
		w := New(s.in).wantedSwitch(s.FindNode(sw1GUID))
		if w.MulticastFDBTop() != c.want || w.DefaultMulticastPrimaryPort() != c.primary2 || w.DefaultMulticastNotPrimaryPort() != c.primary2 {
			t.Errorf("%s: MulticastFDBTop %v, default ports %d and %d; want %v and %d", c.name, w.MulticastFDBTop(),
				w.DefaultMulticastPrimaryPort(), w.DefaultMulticastNotPrimaryPort(), c.want, c.primary2)
		}
	}
}

// What a switch does not take it is not told again, until it is to have something else.
func TestTold(t *testing.T) {
	s := newSubnet(t)
	n := s.FindNode(sw1GUID)
	is := &s.Nodes[n].SwitchInfo
	is.SetMulticastFDBCap(1024)
	s.info(sw1GUID, 0).SetCapabilityMask(smp.IsMulticastFDBTopSupported)
	s.in.Told = map[mad.GUID]Told{}
	tell := func(top mad.LID, life uint8, takesLife bool) (sent smp.SwitchInfo) {
		s.in.MulticastTop, s.in.Values.LifeTimeValue = top, life
		sent = New(s.in).wantedSwitch(n)
		told := Told{Sent: sent, Held: sent}
		told.Held.SetMulticastFDBTop(0)
		if !takesLife {
			told.Held.SetLifeTimeValue(1)
		}
		if told.NotTaken() != nil {
			told.After(s.in.Told[sw1GUID])
			s.in.Told[sw1GUID] = told
		}
		*is = told.Held
		return sent
	}
	is.SetLifeTimeValue(1)
	if sent := tell(0xc01f, 7, false); sent.MulticastFDBTop() != 0xc01f || sent.LifeTimeValue() != 7 {
		t.Errorf("first it is told %v and %d", sent.MulticastFDBTop(), sent.LifeTimeValue())
	}
	told := s.in.Told[sw1GUID]
	if got := told.NotTaken(); !slices.Equal(got, []string{"LifeTimeValue", "MulticastFDBTop"}) {
		t.Errorf("not taken: %q", got)
	}
	if sent := tell(0xc01f, 7, false); sent.MulticastFDBTop() != 0 || sent.LifeTimeValue() != 1 {
		t.Errorf("it is told again: %v and %d", sent.MulticastFDBTop(), sent.LifeTimeValue())
	}
	if sent := tell(0xc03f, 7, false); sent.MulticastFDBTop() != 0xc03f || sent.LifeTimeValue() != 1 {
		t.Errorf("another top: %v and %d", sent.MulticastFDBTop(), sent.LifeTimeValue())
	}
	if sent := tell(0xc03f, 7, false); sent.MulticastFDBTop() != 0 || sent.LifeTimeValue() != 1 {
		t.Errorf("what it did not take before is forgotten: %v and %d", sent.MulticastFDBTop(), sent.LifeTimeValue())
	}
	if sent := tell(0xc03f, 8, true); sent.LifeTimeValue() != 8 {
		t.Errorf("another life time: %d", sent.LifeTimeValue())
	}
}
