package sa

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// rateOf is the rate of a group of its own that a port makes.
func (d *harness) rateOf(from, port mad.GUID, comps mad.ComponentMask, s sarec.Selector, rate mad.Rate) (mad.Rate,
	mad.Status) {
	d.Helper()
	j := newJoining(from, mad.GID{}, 1)
	j.comps = memberComps | createComps | comps
	j.rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, port))
	j.rec.SetRate(s, rate)
	rec, st := d.member(mad.MethodSet, j)
	_, rate = rec.Rate()
	return rate, st
}

// Port 0 of a switch has no link: what it says of its speed counts all the same, as with
// OpenSM, and where it says nothing the rate is one at which everybody can send.
func TestRateOfSwitchesGroup(t *testing.T) {
	for _, c := range []struct {
		name         string
		width        mad.LinkWidth
		speed        uint8
		want         mad.Rate
		fast, faster mad.Rate // a group that it may join, and one that it may not; 0 for none
	}{
		{"4x QDR", mad.Width4x, 4, 7, 7, 12},
		{"1x SDR", mad.Width1x, 1, 2, 2, 3},
		{"nothing", 0, 0, 2, 12, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newHarness(t)
			info := &d.view.Topo.Ports[d.view.Topo.FindPort(sw1)].Info
			info.SetLinkWidthActive(c.width)
			info.SetLinkSpeedActive(c.speed)
			if rate, st := d.rateOf(h1, sw1, 0, 0, 0); st != mad.StatusOK || rate != c.want {
				t.Errorf("the group has rate %d, %v; want %d", rate, st, c.want)
			}
			if _, st := d.rateOf(h1, sw1, sarec.MCMemberRateSelector|sarec.MCMemberRate, sarec.Exactly,
				c.fast); st != mad.StatusOK {
				t.Errorf("a group of rate %d: %v", c.fast, st)
			}
			if _, st := d.rateOf(h1, sw1, sarec.MCMemberRateSelector|sarec.MCMemberRate, sarec.Exactly,
				c.faster); c.faster != 0 && st != mad.StatusReqInvalid {
				t.Errorf("a group of rate %d: %v", c.faster, st)
			}
		})
	}
}

// New groups have no rate above max_rate_enum, neither those of clients nor those of the
// configuration; a request for one is refused, as by OpenSM 3.3.24, which compares the
// request with the group that it has made.
func TestRatesOfGroupsAreLimited(t *testing.T) {
	d := newHarness(t) // of 10 Gb/s, code 3
	if g, _ := d.State().Group(broadcast); g.Rate != 3 {
		t.Fatalf("the broadcast group has rate %d", g.Rate)
	}
	v := *d.view
	v.Subnet.MaxRate = 2
	d.step(ViewPublished{&v})
	if g, _ := d.State().Group(broadcast); g.Rate != 2 {
		t.Errorf("the broadcast group has rate %d, want 2", g.Rate)
	}
	given := sarec.MCMemberRateSelector | sarec.MCMemberRate
	for _, c := range []struct {
		name   string
		comps  mad.ComponentMask
		sel    sarec.Selector
		rate   mad.Rate
		status mad.Status
	}{
		{"any", 0, 0, 0, mad.StatusOK},
		{"best", given, sarec.Best, 3, mad.StatusOK},
		{"exactly that", given, sarec.Exactly, 2, mad.StatusOK},
		{"exactly more", given, sarec.Exactly, 3, mad.StatusReqInvalid},
		{"more than that", given, sarec.GreaterThan, 2, mad.StatusReqInvalid},
		{"less than more", given, sarec.LessThan, 3, mad.StatusOK},
	} {
		if rate, st := d.rateOf(h3, h3, c.comps, c.sel, c.rate); st != c.status || st == mad.StatusOK && rate != 2 {
			t.Errorf("%s: rate %d, %v; want %v", c.name, rate, st, c.status)
		}
	}
	d.step(ViewPublished{d.view})
	if g, _ := d.State().Group(broadcast); g.Rate != 3 {
		t.Errorf("without a limit the broadcast group has rate %d, want 3", g.Rate)
	}
}
