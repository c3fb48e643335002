package plan

import (
	"cmp"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// TestEnabled compares the wanted enabled settings of the two ends of a link with what OpenSM's
// settings mean.
func TestEnabled(t *testing.T) {
	const w1, w2, w4, w8 = mad.Width1x, mad.Width2x, mad.Width4x, mad.Width8x
	type e = enabled
	up := e{w1 | w4, 7, 7}
	for _, c := range []struct {
		name         string
		width        mad.LinkWidth
		speed, ext   uint8
		a, b         e             // what the ends support
		isA, isB     e             // and have enabled
		plain, twoX  bool          // the far end has no extended speeds; both can 2x
		lanes        mad.LinkWidth // that the link has, 4x where none are said
		wantA, wantB e
		unforced     int
	}{
		{name: "nothing is said", a: up, b: up, isA: e{w4, 1, 1}, isB: up, wantA: e{w4, 1, 1}, wantB: up},
		{name: "a lower speed", speed: 1, a: up, b: up, isA: up, isB: up, wantA: e{w1 | w4, 1, 7},
			wantB: e{w1 | w4, 1, 7}},
		{name: "all speeds", speed: 15, ext: 31, width: 255, a: up, b: e{w1, 1, 3}, isA: e{w4, 1, 1}, isB: e{w1, 1, 30},
			wantA: up, wantB: e{w1, 1, 3}},
		{name: "no extended speed", ext: 30, a: up, b: up, isA: up, isB: up, wantA: e{w1 | w4, 7, 30},
			wantB: e{w1 | w4, 7, 30}},
		{name: "a lower extended speed", ext: 3, a: up, b: e{w1 | w4, 7, 1}, isA: up, isB: e{w1 | w4, 7, 1},
			wantA: e{w1 | w4, 7, 3}, wantB: e{w1 | w4, 7, 1}},
		{name: "an extended speed that an end has not", ext: 8, a: e{w4, 7, 15}, b: up, isA: e{w4, 7, 15}, isB: up,
			wantA: e{w4, 7, 8}, wantB: up},
		{name: "an end without extended speeds", ext: 1, plain: true, a: up, b: e{w4, 7, 0}, isA: up, isB: e{w4, 7, 0},
			wantA: up, wantB: e{w4, 7, 0}},
		{name: "one lane", width: w1, a: up, b: up, isA: up, isB: up, wantA: e{w1, 7, 7}, wantB: e{w1, 7, 7}},
		{name: "four lanes that an end has not", width: w4, a: up, b: e{w1, 7, 7}, isA: up, isB: e{w1, 7, 7}, wantA: up,
			wantB: e{w1, 7, 7}, unforced: 1},
		{name: "four lanes, of which one is left", width: w4, lanes: w1, a: up, b: up, isA: up, isB: up, wantA: up,
			wantB: up, unforced: 1},
		{name: "one lane, which is what is left", width: w1, lanes: w1, a: up, b: up, isA: up, isB: up,
			wantA: e{w1, 7, 7}, wantB: e{w1, 7, 7}},
		{name: "lanes that nobody has", width: w8, a: up, b: up, isA: up, isB: up, wantA: up, wantB: up},
		{name: "two lanes, without IsLinkWidth2xSupported", width: w2 | w1, a: up, b: up, isA: up, isB: up, wantA: up,
			wantB: up},
		{name: "two lanes", width: w2 | w1, twoX: true, a: e{w1 | w2 | w4, 7, 7}, b: e{w1 | w2 | w4, 7, 7}, isA: up,
			isB: up, wantA: e{w1 | w2, 7, 7}, wantB: e{w1 | w2, 7, 7}},
		{name: "no speed in common", ext: 30, a: up, b: e{w1 | w4, 0, 7}, isA: up, isB: e{w1 | w4, 0, 7}, wantA: up,
			wantB: e{w1 | w4, 0, 7}, unforced: 1},
	} {
		s := newSubnet(t)
		s.in.Values.LinkWidth, s.in.Values.LinkSpeed, s.in.Values.LinkSpeedExt = c.width, c.speed, c.ext
		for i := range s.Ports {
			s.Ports[i].Info.SetCapabilityMask(0)
			s.Ports[i].Info.SetCapabilityMask2(0)
		}
		set := func(i, agent *smp.PortInfo, supported, is enabled) {
			i.SetLinkWidthSupported(supported.width)
			i.SetLinkSpeedSupported(supported.speed)
			i.SetLinkSpeedExtSupported(supported.ext)
			is.put(i)
			i.SetLinkWidthActive(cmp.Or(c.lanes, w4))
			if c.twoX {
				agent.SetCapabilityMask2(smp.IsLinkWidth2xSupported)
			}
		}
		a, b := s.info(sw2GUID, 2), s.info(hostGUID, 1)
		set(a, s.info(sw2GUID, 0), c.a, c.isA)
		set(b, b, c.b, c.isB)
		s.info(sw2GUID, 0).SetCapabilityMask(smp.IsExtendedSpeedsSupported)
		if !c.plain {
			b.SetCapabilityMask(smp.IsExtendedSpeedsSupported)
		}
		p := New(s.in)
		for _, end := range []struct {
			at   topo.PortIdx
			want enabled
		}{{s.at(sw2GUID, 2), c.wantA}, {s.at(hostGUID, 1), c.wantB}} {
			if w := p.Wanted(end.at); enabledOf(&w) != end.want {
				t.Errorf("%s: port %d enables %+v, want %+v", c.name, end.at, enabledOf(&w), end.want)
			}
		}
		at := s.at(sw2GUID, 2)
		if links := p.Unforced(); len(links) != c.unforced {
			t.Errorf("%s: links that are spared: %v", c.name, links)
		}
		set1, _ := p.Set(Step{Op: SetPort, Port: at})
		if sent, w := smp.PortInfo(set1.Data),
			p.Wanted(at); (w.LinkSpeedEnabled() == a.LinkSpeedEnabled()) != (sent.LinkSpeedEnabled() == 0) ||
			(w.LinkWidthEnabled() == a.LinkWidthEnabled()) != (sent.LinkWidthEnabled() == 0) ||
			(w.LinkSpeedExtEnabled() == a.LinkSpeedExtEnabled()) != (sent.LinkSpeedExtEnabled() == 0) {
			t.Errorf("%s: %+v is sent to a port that has %+v and wants %+v", c.name, enabledOf(&sent), enabledOf(a),
				enabledOf(&w))
		}
	}
}
