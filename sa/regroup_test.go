package sa

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
)

// reconfigure gives the broadcast group other values, and returns the ports that are asked
// to register again when the sweep that follows has published its View.
func (d *harness) reconfigure(change func(g *registry.Group)) []mad.GUID {
	d.Helper()
	cfg := d.cfg
	cfg.Groups = slices.Clone(cfg.Groups)
	change(&cfg.Groups[0])
	if e := d.Step(d.at, ConfigChanged{cfg}); e.Reregister != nil {
		d.Errorf("before the sweep %v are asked to register again", e.Reregister)
	}
	v := *d.view
	d.view = &v
	asked := slices.Clone(d.Step(d.at, ViewPublished{&v}).Reregister)
	if again := d.Step(d.at, ViewPublished{&v}).Reregister; again != nil {
		d.Errorf("%v are asked twice", again)
	}
	d.step(Durable{d.reg.Seq()})
	d.step(Forwarded{d.reg.Seq()})
	return asked
}

// ipoib joins as IPoIB does: the broadcast group as it is, and another with its values.
func (d *harness) ipoib(from mad.GUID, mgid mad.GID) mad.Status {
	d.Helper()
	j := newJoining(from, broadcast, 1)
	j.comps = minimalJoin
	rec, st := d.member(mad.MethodSet, j)
	if st != mad.StatusOK || mgid == broadcast {
		return st
	}
	j = &joining{from: from, comps: fullJoin | sarec.MCMemberHopLimit, rec: rec}
	j.rec.SetMGID(mgid)
	_, st = d.member(mad.MethodSet, j)
	return st
}

// Linux takes a group's MLID and values from the answer to its join, and the values of the
// broadcast group for all its other groups; it joins anew when it is asked to register again,
// and never leaves (sa-behaviour.md 6.3). So must everybody who is in a group that changes,
// and then be let in.
func TestMembersOfChangedGroups(t *testing.T) {
	for name, c := range map[string]struct {
		change func(g *registry.Group)
		asked  []mad.GUID // of h1, h2 in both groups, and h3 in a group of its own
	}{
		"MLID":     {func(g *registry.Group) { g.MLID = 0xc123 }, []mad.GUID{h1, h2}},
		"Q_Key":    {func(g *registry.Group) { g.QKey = 0x77 }, []mad.GUID{h1, h2}},
		"MTU":      {func(g *registry.Group) { g.MTU = mad.MTU1024 }, []mad.GUID{h1, h2}},
		"rate":     {func(g *registry.Group) { g.Rate = 2 }, []mad.GUID{h1, h2}},
		"SL":       {func(g *registry.Group) { g.SL = 3 }, []mad.GUID{h1, h2}},
		"nothing":  {func(g *registry.Group) {}, nil},
		"lifetime": {func(g *registry.Group) { g.PacketLifeTime = 17 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(t)
			for _, guid := range []mad.GUID{h1, h2} {
				if st := d.ipoib(guid, ipv4Group); st != mad.StatusOK {
					t.Fatalf("%v: %v", guid, st)
				}
			}
			d.joined(h3, ownGroup)
			before, _ := d.State().Group(broadcast)
			if asked := d.reconfigure(c.change); !slices.Equal(asked, c.asked) {
				t.Errorf("%v are asked to register again, want %v", asked, c.asked)
			}
			want := before
			c.change(&want)
			if now, _ := d.State().Group(broadcast); now != want {
				t.Errorf("the group is %+v, want %+v", now, want)
			}
			for _, guid := range c.asked {
				if st := d.ipoib(guid, ipv4Group); st != mad.StatusOK {
					t.Errorf("%v cannot join again: %v", guid, st)
				}
			}
			for _, mgid := range []mad.GID{broadcast, ipv4Group} {
				if n := d.State().CountMembers(mgid); n != 2 {
					t.Errorf("group %v has %d members, want 2", mgid, n)
				}
			}
			if n := d.State().CountMembers(ownGroup); n != 1 {
				t.Errorf("a group of its own has %d members, want 1", n)
			}
		})
	}
}

// Groups of configuration may share an MLID that is given to both where one tree serves
// both; otherwise the second gets another one.
func TestGivenMLIDOfTwoGroups(t *testing.T) {
	for _, c := range []struct {
		sl     uint8
		shared bool
	}{{0, true}, {1, false}} {
		d := newHarness(t)
		cfg := d.cfg
		first := DefaultGroups()[0]
		first.MLID = 0xc123
		second := first
		second.MGID, second.SL = ipv4Group, c.sl
		cfg.Groups = []registry.Group{first, second}
		d.step(ConfigChanged{cfg})
		v := *d.view
		d.step(ViewPublished{&v})
		one, _ := d.State().Group(first.MGID)
		two, there := d.State().Group(second.MGID)
		if !there || one.MLID != 0xc123 || (two.MLID == one.MLID) != c.shared {
			t.Errorf("SL 0 and %d: MLIDs 0x%x and 0x%x", c.sl, uint16(one.MLID), uint16(two.MLID))
		}
	}
}

// A port that could not join a group as it is now is in it no more.
func TestMembersThatDoNotFitAnyMore(t *testing.T) {
	d := newHarness(t)
	for _, guid := range []mad.GUID{h1, h2} {
		if st := d.ipoib(guid, broadcast); st != mad.StatusOK {
			t.Fatal(st)
		}
	}
	d.view.Topo.Ports[d.view.Topo.FindPort(h2)].Info.SetLinkSpeedActive(4) // 40 Gb/s
	if asked := d.reconfigure(func(g *registry.Group) { g.Rate = 6 }); !slices.Equal(asked, []mad.GUID{h1, h2}) {
		t.Errorf("%v are asked", asked)
	}
	if st := d.ipoib(h1, broadcast); st != mad.StatusReqInvalid {
		t.Errorf("a slow port joins: %v", st)
	}
	var in []mad.GUID
	for m := range d.State().Members(broadcast) {
		in = append(in, m.Port.GUID())
	}
	if !slices.Equal(in, []mad.GUID{h2}) {
		t.Errorf("members are %v, want the fast port alone", in)
	}
}

// What changed while no manager ran is found at its first View.
func TestGroupsChangedInBetween(t *testing.T) {
	d := newHarness(t)
	if st := d.ipoib(h1, broadcast); st != mad.StatusOK {
		t.Fatal(st)
	}
	reg, err := registry.Restore(d.State().Seq(), func(yield func(registry.Change, error) bool) {
		for c := range d.State().Changes() {
			if !yield(c, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		qkey uint32
		want []mad.GUID
	}{{0x0b1b, nil}, {0x77, []mad.GUID{h1}}} {
		cfg := RegistrarConfig{Groups: slices.Clone(d.cfg.Groups), Began: 1_000_000}
		cfg.Groups[0].QKey = c.qkey
		if asked := NewRegistrar(cfg, reg, new(Stats)).Step(0, ViewPublished{d.view}).Reregister; !slices.Equal(asked,
			c.want) {
			t.Errorf("Q_Key %#x: %v are asked to register again, want %v", c.qkey, asked, c.want)
		}
	}
}

// TestDefaultTerms: a group whose MTU and rate are the defaults of the settings keeps those that it has while members
// use it, as at a takeover from a manager without such a setting. A reload that changes the setting changes the group;
// its members are asked to register again. A group without members has the setting at once.
func TestDefaultTerms(t *testing.T) {
	was := DefaultGroups()[0]
	want := was
	want.MTU, want.Rate = mad.MTU4096, 7
	for name, c := range map[string]struct {
		member    bool
		defaulted bool
		kept      bool
	}{
		"in use":                {true, true, true},
		"in use, from the file": {true, false, false},
		"not in use":            {false, true, false},
	} {
		d := newHarness(t)
		if c.member {
			d.ipoib(h1, broadcast)
		}
		cfg := d.cfg
		cfg.Groups, cfg.Defaulted = []registry.Group{want}, map[mad.GID]bool{broadcast: c.defaulted}
		next := NewRegistrar(cfg, d.reg, new(Stats))
		next.Step(d.at, ViewPublished{d.view})
		if g, _ := next.State().Group(broadcast); (g.MTU == was.MTU) != c.kept || (g.Rate == was.Rate) != c.kept {
			t.Errorf("%s: MTU %v, rate %v", name, g.MTU, g.Rate)
		}
		cfg.Groups = []registry.Group{want}
		cfg.Groups[0].MTU = mad.MTU1024
		next.Step(d.at, ConfigChanged{cfg})
		if g, _ := next.State().Group(broadcast); g.MTU != mad.MTU1024 || g.Rate != 7 {
			t.Errorf("%s, after a reload: MTU %v, rate %v", name, g.MTU, g.Rate)
		}
	}
}

// TestDefaultTermsOfNewGroups: a join that creates a group without an MTU and a rate gets those of the settings as far
// as its port has them, and one that names them gets what it names.
func TestDefaultTermsOfNewGroups(t *testing.T) {
	d := newHarness(t)
	cfg := d.cfg
	cfg.NewMTU, cfg.NewRate = mad.MTU512, 2
	d.step(ConfigChanged{cfg})
	j := newJoining(h1, mad.GID{}, 1)
	j.comps = memberComps | createComps
	rec, st := d.member(mad.MethodSet, j)
	_, mtu := rec.MTU()
	if _, rate := rec.Rate(); st != mad.StatusOK || mtu != mad.MTU512 || rate != 2 {
		t.Errorf("%v, MTU %v, rate %v", st, mtu, rate)
	}
	j = newJoining(h1, mad.GID{}, 1)
	j.rec.SetMTU(sarec.Exactly, mad.MTU1024)
	rec, st = d.member(mad.MethodSet, j)
	if _, mtu := rec.MTU(); st != mad.StatusOK || mtu != mad.MTU1024 {
		t.Errorf("with an MTU: %v, MTU %v", st, mtu)
	}
}
