package partitions

import (
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// GUIDs of the vPorts of addVPorts.
const (
	f1 mad.GUID = 0x300001 + iota // behind H2
	f2                            // likewise
	f3                            // behind H3
)

// addVPorts gives H2 and H3 vPorts that hold the default key, as after their reset. vPort 0 is the port itself.
func (l *lab) addVPorts(more ...topo.VPort) {
	l.Helper()
	fresh := topo.NewPKeyTable([]mad.PKey{0xffff})
	list := []topo.VPort{
		{GUID: h2, Port: l.FindPort(h2), State: smp.PortActive},
		{GUID: f1, Port: l.FindPort(h2), Index: 1, State: smp.PortInit},
		{GUID: f2, Port: l.FindPort(h2), Index: 2, State: smp.PortInit},
		{GUID: f3, Port: l.FindPort(h3), Index: 1, State: smp.PortInit},
	}
	list = append(list, more...)
	for i := range list {
		if list[i].PartitionCap == 0 {
			list[i].PartitionCap = 8
		}
		if list[i].PKeys == nil {
			list[i].PKeys = fresh
		}
	}
	slices.SortStableFunc(list, func(a, b topo.VPort) int { return int(a.Port) - int(b.Port) })
	l.VPorts = topo.NewVPorts(list, nil)
}

// wants is the target table of a vPort.
func (l *lab) wants(out *Tables, guid mad.GUID) []mad.PKey {
	l.Helper()
	v := l.FindVPort(guid)
	if v == topo.None {
		l.Fatalf("no vPort %v", guid)
	}
	if out.VPorts[v] == nil {
		return nil
	}
	return out.VPorts[v].Keys()
}

// A vPort is a member by its own GUID, not by that of its port, and the port of the switch lets pass what any of them
// may send.
func TestVPortMembers(t *testing.T) {
	l := newLab(t)
	l.addVPorts()
	for p := range l.Ports {
		if l.IsSwitchPort(topo.PortIdx(p)) {
			l.Nodes[l.Ports[p].Node].SwitchInfo.SetPartitionEnforcementCap(8)
			l.Ports[p].PKeys = topo.NewPKeyTable(nil)
		}
	}
	out := l.apply(l.parse(`Default=0x7fff : ALL=limited, SELF=full ;
one=1 : 0x300001=full, 0x100004=full ;
two=2 : 0x300002-0x300003=full ;
three=3 : ALL_VCAS=full, 0x300002=limited ;
four=4 : ALL_CAS=full ;
`), Settings{})
	for guid, want := range map[mad.GUID][]mad.PKey{
		f1: {0x7fff, 0x8001, 0x8003}, f2: {0x7fff, 0x8002, 0x0003}, f3: {0x7fff, 0x8002, 0x8003},
	} {
		if got := l.wants(out, guid); !slices.Equal(got, want) {
			t.Errorf("vPort %v gets %v, want %v", guid, got, want)
		}
	}
	l.mustHold("port", h2, 0x7fff, 0x8004)
	edge := l.Ports[l.FindPort(h2)].Peer
	for _, k := range []mad.PKey{0xffff, 0x8001, 0x8002, 0x8003, 0x8004} {
		if !out.Want[edge].LetsIn(k) {
			t.Errorf("the switch port in front of H2, with %v, stops %v of a vPort", out.Want[edge].Keys(), k)
		}
	}
	if lone := l.Ports[l.FindPort(h4)].Peer; len(out.Want[lone].Keys()) != 2 {
		t.Errorf("the switch port in front of H4, which has no vPorts, gets %v", out.Want[lone].Keys())
	}
	if v := l.VPorts.FindAt(l.FindPort(h2), 0); out.VPorts[v] != nil {
		t.Errorf("vPort 0, which has its port's GUID, gets a table of its own: %v", out.VPorts[v].Keys())
	}
}

// A vPort whose GUID has come up elsewhere is not a member any more, but its switch port still lets pass what it holds.
func TestVPortElsewhere(t *testing.T) {
	l := newLab(t)
	l.addVPorts(topo.VPort{GUID: f1, Port: l.FindPort(h3), Index: 2, Elsewhere: true,
		PKeys: topo.NewPKeyTable([]mad.PKey{0xffff, 0x8007})})
	edge := l.Ports[l.FindPort(h3)].Peer
	l.Nodes[l.Ports[edge].Node].SwitchInfo.SetPartitionEnforcementCap(8)
	l.Ports[edge].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff})
	out := Compile(l.parse("Default=0x7fff : ALL=full ;\none=1 : 0x300001=full ;"), Settings{}, l.Topo, nil)
	if got := l.wants(out, f1); !slices.Equal(got, []mad.PKey{0xffff, 0x8001}) {
		t.Errorf("the vPort that has the GUID now gets %v", got)
	}
	if v := l.VPorts.FindAt(l.FindPort(h3), 2); out.VPorts[v] != nil {
		t.Errorf("the one that had it gets %v", out.VPorts[v].Keys())
	}
	if !out.Want[edge].LetsIn(0x8007) {
		t.Errorf("its switch port gets %v: it stops what the vPort still holds", out.Want[edge].Keys())
	}
}

// A table that is too small, one that is not known, and a policy of nobody.
func TestVPortTables(t *testing.T) {
	l := newLab(t)
	l.addVPorts(topo.VPort{GUID: 0x300009, Port: l.FindPort(h3), Index: 2, PartitionCap: 1})
	out := Compile(l.parse("Default=0x7fff : ALL=full ;\none=1 : ALL_VCAS=full ;"), Settings{}, l.Topo, nil)
	if len(out.Overflows) != 1 || !strings.Contains(out.Explain(out.Overflows[0], l.Topo), "vPort 2, 0x0000000000300009,") {
		t.Errorf("a vPort with one entry and two keys: %+v", out.Overflows)
	}
	l.VPorts.At(l.FindVPort(f3)).PartitionCap = 0 // it says so now
	if out = Compile(l.parse("Default=0x7fff : ALL=full ;\none=1 : ALL_VCAS=full ;"), Settings{}, l.Topo, nil); l.wants(out,
		f3) != nil {
		t.Error("a table is wanted of which the size is not known")
	}
	l.VPorts.At(l.FindVPort(f1)).PKeys = nil
	l.VPorts.At(l.FindVPort(f2)).PKeys = topo.NewPKeyTable(nil)
	if out = Compile(l.parse("Default=0x7fff : ALL=full ;"), Settings{}, l.Topo, nil); l.wants(out, f1) != nil {
		t.Error("a table is wanted where none is known")
	}
	out = Compile(nil, Settings{}, l.Topo, nil)
	if got := l.wants(out, f2); !slices.Equal(got, []mad.PKey{0xffff}) {
		t.Errorf("without a policy an empty table gets %v, want the default key", got)
	}
	if got := l.wants(out, f3); got != nil {
		t.Errorf("without a policy a table with a key gets %v", got)
	}
}

// A file that names vPorts has no conflicts by them.
func TestVPortConflicts(t *testing.T) {
	l := newLab(t)
	l.addVPorts()
	for _, w := range l.parse("Default=0x7fff, ipoib : ALL=full ;\none=1 : ALL_VCAS=limited, 0x300001=full, " +
		"0x300003-0x300005=full ;").Conflicts(l.Topo) {
		t.Errorf("%v", w)
	}
	if list := l.parse("Default=0x7fff : ALL=full ;\none=1 : 0x300099=full ;").Conflicts(l.Topo); len(list) != 1 {
		t.Errorf("a GUID that nothing has: %v", list)
	}
}

// What decides about a vPort is the last member that names it: by its GUID, a range, or as one of all vPorts.
func TestWhyVPort(t *testing.T) {
	l := newLab(t)
	l.addVPorts()
	policy := l.parse("Default=0x7fff : ALL=full ;\none=1 : ALL_VCAS=limited, 0x300001=full, 0x300003-0x300005=full ;\n" +
		"two=2 : ALL_CAS=full, H2=full ;")
	for _, c := range []struct {
		guid mad.GUID
		key  mad.PKey
		want string // of the member
	}{
		{f1, 1, "0x0000000000300001=full"}, {f2, 1, "ALL_VCAS=limited"},
		{f3, 1, "0x0000000000300003-0x0000000000300005=full"}, {f1, 2, ""}, {f1, DefaultKey, "ALL=full"},
	} {
		m, got := policy.Why(l.Topo, l.EndOf(l.FindVPort(c.guid)), c.key), ""
		if m != nil {
			got = m.String()
		}
		if got != c.want {
			t.Errorf("%v in %v: %q, want %q", c.guid, c.key, got, c.want)
		}
	}
}
