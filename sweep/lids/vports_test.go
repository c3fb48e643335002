package lids

import (
	"maps"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// withVPorts gives the hosts with ports 0x21 and 0x31 vPorts that ask for LIDs of their own: 0xf1 and 0xf3 behind the
// first, 0xf2 behind the second. changes fit them to the case.
func withVPorts(t *topo.Topo, changes func(guid mad.GUID, v *topo.VPort)) {
	list := []topo.VPort{
		{GUID: 0x21, Port: t.FindPort(0x21), Index: 0}, // as its port
		{GUID: 0xf1, Port: t.FindPort(0x21), Index: 1},
		{GUID: 0xf3, Port: t.FindPort(0x21), Index: 2},
		{GUID: 0xf2, Port: t.FindPort(0x31), Index: 1},
	}
	for i := range list {
		list[i].LIDRequired, list[i].State = true, smp.PortActive
		if changes != nil {
			changes(list[i].GUID, &list[i])
		}
	}
	slices.SortStableFunc(list, func(a, b topo.VPort) int { return int(a.Port) - int(b.Port) })
	t.VPorts = topo.NewVPorts(list, nil)
}

func TestVPorts(t *testing.T) {
	type lids = map[mad.GUID]mad.LID
	for _, c := range []struct {
		name       string
		remembered lids
		reported   lids // by ports
		held       lids // by vPorts
		lmc        uint8
		fdbCap     uint16
		stale      bool
		changes    func(guid mad.GUID, v *topo.VPort)
		want       lids // of vPorts
		exhausted  []mad.GUID
	}{
		{name: "cold: after all ports, by GUID", want: lids{0xf1: 5, 0xf2: 6, 0xf3: 7}},
		{name: "one LID each, whatever the LMC", lmc: 2, want: lids{0xf1: 2, 0xf2: 3, 0xf3: 16}},
		{name: "remembered, and their LIDs are kept from ports", remembered: lids{0xf2: 2, 0xf1: 1},
			want: lids{0xf1: 1, 0xf2: 2, 0xf3: 7}},
		{name: "what is held stays", held: lids{0xf1: 9, 0xf2: 1}, want: lids{0xf1: 9, 0xf2: 5, 0xf3: 6},
			reported: lids{0x11: 1}},
		{name: "after another manager what is held goes first", stale: true, remembered: lids{0xf1: 9, 0x31: 8},
			held: lids{0xf1: 8}, want: lids{0xf1: 8, 0xf2: 5, 0xf3: 6}},
		{name: "but not against a port that reports it", stale: true, reported: lids{0x31: 8}, held: lids{0xf1: 8},
			want: lids{0xf1: 4, 0xf2: 5, 0xf3: 6}},
		{name: "the LID of an absent port is kept", remembered: lids{0x99: 5}, want: lids{0xf1: 6, 0xf2: 7, 0xf3: 8}},
		{name: "one without a GUID, one that shares, one that is elsewhere",
			changes: func(guid mad.GUID, v *topo.VPort) {
				switch guid {
				case 0xf1:
					v.GUID = 0
				case 0xf2:
					v.LIDRequired = false
				case 0xf3:
					v.Elsewhere = true
				}
			}},
		{name: "one that is down", changes: func(_ mad.GUID, v *topo.VPort) { v.State = smp.PortDown },
			want: lids{0xf1: 5, 0xf2: 6, 0xf3: 7}},
		{name: "no room: ports go first", fdbCap: 6, want: lids{0xf1: 5}, exhausted: []mad.GUID{0xf2, 0xf3}},
		{name: "no room: the longest absent goes", fdbCap: 7, remembered: lids{0x98: 5, 0x99: 6},
			want: lids{0xf1: 5, 0xf2: 6}, exhausted: []mad.GUID{0xf3}},
		{name: "no valid LID", held: lids{0xf1: 0xc000}, want: lids{0xf1: 5, 0xf2: 6, 0xf3: 7}},
	} {
		subnet := star(t, 3)
		reports(subnet, c.reported)
		if c.fdbCap != 0 {
			subnet.Nodes[subnet.Switches[0]].SwitchInfo.SetLinearFDBCap(c.fdbCap)
		}
		withVPorts(subnet, func(guid mad.GUID, v *topo.VPort) {
			v.LID = c.held[guid]
			if c.changes != nil {
				c.changes(guid, v)
			}
		})
		got := Assign(subnet, In{LMC: c.lmc, Remembered: remember(subnet, 0, c.remembered), Stale: c.stale})
		have := lids{}
		for _, v := range got.LIDs.VPorts {
			have[v.GUID] = v.LID
			if owner := got.LIDs.PortOf(v.LID); owner != topo.None {
				t.Errorf("%s: LID %v of vPort %v is that of port %v too", c.name, v.LID, v.GUID,
					subnet.Ports[owner].GUID)
			}
			if at, ok := got.LIDs.VPort(v.GUID); !ok || at != v {
				t.Errorf("%s: vPort %v is found as %+v, %t", c.name, v.GUID, at, ok)
			}
		}
		if c.want == nil {
			c.want = lids{}
		}
		if !maps.Equal(have, c.want) || !slices.Equal(got.Exhausted, c.exhausted) {
			t.Errorf("%s: vPorts have %v, none is left for %v; want %v, %v", c.name, have, got.Exhausted, c.want,
				c.exhausted)
		}
	}
}

// What vPorts have is stored beside what ports have, and stays theirs while they are absent.
func TestVPortsRetained(t *testing.T) {
	subnet := star(t, 3)
	withVPorts(subnet, nil)
	first := Assign(subnet, In{})
	stored := first.Retained(subnet, nil, 100)
	if k := Find(stored, 0xf2); k != (Assignment{Port: 0xf2, Base: 6}) {
		t.Errorf("of vPort 0xf2 %+v is stored", k)
	}
	subnet.VPorts = nil
	unread := Assign(subnet, In{Remembered: stored, Unread: true})
	if kept := unread.Retained(subnet, stored, 200); !slices.Equal(kept, stored) {
		t.Errorf("while vPorts have not been read, %v is stored in place of %v", kept, stored)
	}
	gone := Assign(subnet, In{Remembered: stored})
	after := gone.Retained(subnet, stored, 200)
	if k := Find(after, 0xf2); k != (Assignment{Port: 0xf2, Base: 6, Absent: 200}) {
		t.Errorf("of vPort 0xf2, which has gone, %+v is stored", k)
	}
	withVPorts(subnet, nil)
	back := Assign(subnet, In{Remembered: after})
	if v, ok := back.LIDs.VPort(0xf2); !ok || v.LID != 6 {
		t.Errorf("vPort 0xf2 comes back with %+v", v)
	}
}
