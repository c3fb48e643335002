package partitions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// lab is the fabric of the examples: two switches, four hosts, the manager on H1.
type lab struct {
	*testing.T
	*topo.Topo
	seen Indexes
}

const labNet = `
switchguid=0x200000
Switch 8 "SW1"
[1] "H1"[1]
[2] "H2"[1]
[7] "SW2"[7]

switchguid=0x200010
Switch 8 "SW2"
[1] "H3"[1]
[2] "H4"[1]
[7] "SW1"[7]

caguid=0x100000
Ca 1 "H1"
[1] "SW1"[1]

caguid=0x100002
Ca 1 "H2"
[1] "SW1"[2]

caguid=0x100004
Ca 1 "H3"
[1] "SW2"[1]

caguid=0x100006
Ca 1 "H4"
[1] "SW2"[2]
`

const (
	h1 mad.GUID = 0x100001 + 2*iota
	h2
	h3
	h4
)

func newLab(t *testing.T) *lab {
	t.Helper()
	n, err := net.Parse("lab", []byte(labNet))
	if err != nil {
		t.Fatal(err)
	}
	tp, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t, tp, Indexes{}}
}

func (l *lab) port(g mad.GUID) *topo.Port {
	l.Helper()
	p := l.FindPort(g)
	if p == topo.None {
		l.Fatalf("no port %v", g)
	}
	return &l.Ports[p]
}

func (l *lab) parse(text string) *Policy {
	l.Helper()
	p, errors, _ := Parse("partitions.conf", []byte(text)).Policy()
	if p == nil {
		l.Fatalf("%q: %v", text, errors)
	}
	return p
}

// apply compiles and lets the ports take their tables.
func (l *lab) apply(p *Policy, s Settings) *Tables {
	out := Compile(p, s, l.Topo, l.seen)
	if out.Remember != nil {
		l.seen = out.Remember
	}
	for i, want := range out.Want {
		if want != nil {
			l.Ports[i].PKeys = want
		}
	}
	return out
}

func (l *lab) mustHold(name string, g mad.GUID, want ...mad.PKey) {
	l.Helper()
	if got := l.port(g).PKeys.Keys(); !slices.Equal(got, want) {
		l.Errorf("%s: %v holds %v, want %v", name, g, got, want)
	}
}

// TestExamples holds tables against those that OpenSM wrote for the same files.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		text string
		both bool // allow_both_pkeys
		want map[mad.GUID][]mad.PKey
	}{
		{"Default=0x7fff : ALL=limited, SELF=full ;", false,
			map[mad.GUID][]mad.PKey{h1: {0xffff}, h2: {0x7fff}, h4: {0x7fff}}},
		{"Default=0x7fff,ipoib : ALL=full ;", false, map[mad.GUID][]mad.PKey{h1: {0xffff}, h4: {0xffff}}},
		{"Default=0x7fff : ALL=full ;\nStorage=0x8010, ipoib, defmember=full : 0x100001, 0x100003=limited, 0x100005=both ;", false,
			map[mad.GUID][]mad.PKey{h1: {0xffff, 0x8010}, h2: {0xffff, 0x0010}, h3: {0xffff, 0x8010}, h4: {0xffff}}},
		{"5 : 0x100001=full ;\n0x6, ipoib : ALL_CAS=full ;\n =0x7 : ALL=full;\n", false,
			map[mad.GUID][]mad.PKey{h1: {0xffff, 0x8005, 0x8006, 0x8007}, h2: {0x7fff, 0x8006, 0x8007}}},
		{"X=0x10,indx0 : ALL=full ;", false, map[mad.GUID][]mad.PKey{h1: {0x8010, 0xffff}, h2: {0x8010, 0x7fff}}},
		{"X=0x10 : ALL=full ;\nX=0x11 : SELF=full ;\nQ=0x10 : 0x100003=limited ;\nX : 0x100005=full;\n", false,
			map[mad.GUID][]mad.PKey{h1: {0xffff, 0x8010, 0x8011}, h2: {0x7fff, 0x0010}, h3: {0x7fff, 0x8010},
				h4: {0x7fff, 0x8010}}},
		{"Default=0x7fff : ALL=both, SELF=full ;\nX=0x10: ALL=both;\n", false,
			map[mad.GUID][]mad.PKey{h1: {0xffff, 0x8010}, h2: {0xffff, 0x8010}}},
		{"Default=0x7fff : ALL=both, SELF=full ;\nX=0x10: ALL=both;\n", true,
			map[mad.GUID][]mad.PKey{h1: {0xffff, 0x0010, 0x8010}, h2: {0xffff, 0x0010, 0x8010, 0x7fff}}},
		{"Default=0x7fff : 0x100003=full ;", false, map[mad.GUID][]mad.PKey{h1: {0xffff}, h2: {0xffff}, h3: {0x7fff}}},
	} {
		l := newLab(t)
		out := l.apply(l.parse(c.text), Settings{AllowBoth: c.both})
		for g, keys := range c.want {
			l.mustHold(c.text, g, keys...)
		}
		if len(out.Overflows) > 0 || len(out.Unknown) > 0 {
			t.Errorf("%q: %v, %v", c.text, out.Overflows, out.Unknown)
		}
	}
}

// TestIndexes: a key keeps its index as long as it lives, and finds it again.
func TestIndexes(t *testing.T) {
	l := newLab(t)
	three := l.parse("A=1: 0x100003=full;\nB=2: 0x100003=full;\nC=3: 0x100003=full;")
	two := l.parse("A=1: 0x100003=full;\nC=3: 0x100003=limited;")
	four := l.parse("A=1: 0x100003=full;\nC=3: 0x100003=full;\nD=4: 0x100003=full;")
	l.apply(three, Settings{})
	l.mustHold("three", h2, 0x7fff, 0x8001, 0x8002, 0x8003)
	l.apply(two, Settings{})
	l.mustHold("one is gone, one is limited", h2, 0x7fff, 0x8001, 0, 0x0003)
	l.apply(four, Settings{})
	l.mustHold("a new one comes behind", h2, 0x7fff, 0x8001, 0, 0x8003, 0x8004)
	l.apply(three, Settings{})
	l.mustHold("the old one comes back", h2, 0x7fff, 0x8001, 0x8002, 0x8003)
	l.apply(two, Settings{ForgetIndexes: true})
	l.apply(four, Settings{ForgetIndexes: true})
	l.mustHold("where indexes are forgotten, a new one takes the hole", h2, 0x7fff, 0x8001, 0x8004, 0x8003)
	l.apply(l.parse("D=4,indx0: 0x100003=full;"), Settings{})
	l.mustHold("index 0 is asked for, and each index but the fifth was another's", h2, 0x8004, 0, 0, 0, 0, 0x7fff)
}

// TestCapacity: what finds no room is left out and named, and what was there first stays.
func TestCapacity(t *testing.T) {
	l := newLab(t)
	node := &l.Nodes[l.port(h2).Node]
	node.Info.SetPartitionCap(3)
	node.Desc.Set("host two")
	l.Nodes[l.Switches[0]].SwitchInfo.SetPartitionEnforcementCap(3)
	l.apply(l.parse("C=3: 0x100003=full;\nD=4: 0x100003=full;"), Settings{})
	l.mustHold("full", h2, 0x7fff, 0x8003, 0x8004)
	p := l.parse("Alpha=1: 0x100003=full;\nC=3: 0x100003=full;\nD=4: 0x100003=full;")
	out := l.apply(p, Settings{})
	l.mustHold("too many", h2, 0x7fff, 0x8003, 0x8004)
	if len(out.Overflows) != 2 {
		t.Fatalf("%+v", out.Overflows)
	}
	text := out.Explain(out.Overflows[0], l.Topo) + "\n" + out.Explain(out.Overflows[1], l.Topo)
	for _, word := range []string{"host two", h2.String(), "0x8001 (Alpha)", "port 2 of switch",
		"has room for 3 of 4 P_Keys"} {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in %q", word, text)
		}
	}
	sw := l.port(h2).Peer
	if out.Checking[sw] != Unchecked || out.Want[sw] != nil {
		t.Errorf("the switch's port checks: %v, %v", out.Checking[sw], out.Want[sw])
	}
	// A full table takes a new key in the place of an old one.
	l.apply(l.parse("Alpha=1: 0x100003=full;\nD=4: 0x100003=full;"), Settings{})
	l.mustHold("exchange", h2, 0x7fff, 0x8001, 0x8004)
}

// TestSmallerTable: a key moves when its index is beyond the end of a table that has become
// smaller, as after another firmware was loaded.
func TestSmallerTable(t *testing.T) {
	l := newLab(t)
	l.apply(l.parse("A=1: 0x100003=full;\nB=2: 0x100003=full;\nC=3: 0x100003=full;\nD=4: 0x100003=full;"), Settings{})
	l.mustHold("as it was", h2, 0x7fff, 0x8001, 0x8002, 0x8003, 0x8004)
	l.Nodes[l.port(h2).Node].Info.SetPartitionCap(3)
	l.apply(l.parse("A=1: 0x100003=full;\nC=3: 0x100003=full;"), Settings{})
	l.mustHold("the index behind the last", h2, 0x7fff, 0x8001, 0x8003)

	l = newLab(t)
	l.apply(l.parse("A=1: 0x100003=full;\nB=2: 0x100003=full;\nC=3: 0x100003=full;\nD=4: 0x100003=full;"), Settings{})
	l.Nodes[l.port(h2).Node].Info.SetPartitionCap(3)
	l.apply(l.parse("A=1: 0x100003=full;\nD=4: 0x100003=limited;"), Settings{})
	l.mustHold("one farther behind, of which the membership changes", h2, 0x7fff, 0x8001, 0x0004)
}

func TestExternalPorts(t *testing.T) {
	p := newLab(t).parse("S=0x10: 0x100003=limited, 0x100005=both;")
	for _, c := range []struct {
		enforce Enforcement
		check   Checking
		keys    []mad.PKey
	}{{EnforceBoth, Checked, []mad.PKey{0xffff, 0x8010}}, {EnforceIn, Checked, []mad.PKey{0xffff, 0x8010}},
		{EnforceOff, Unchecked, nil}} {
		l := newLab(t)
		out := Compile(p, Settings{Enforce: c.enforce, AllowBoth: true}, l.Topo, l.seen)
		for _, g := range []mad.GUID{h2, h3} {
			sw := l.port(g).Peer
			if out.Checking[sw] != c.check || !slices.Equal(out.Want[sw].Keys(), c.keys) {
				t.Errorf("%v: towards %v: %v, %v", c.enforce, g, out.Checking[sw], out.Want[sw].Keys())
			}
		}
		if between := l.Port(l.Switches[0], 7); out.Checking[between] != Unchecked || out.Want[between] != nil {
			t.Errorf("%v: between switches: %v, %v", c.enforce, out.Checking[between], out.Want[between])
		}
	}
}

// TestStandingKeys: what OpenSM wrote towards a limited member stays, until the member
// becomes a full one.
func TestStandingKeys(t *testing.T) {
	for member, want := range map[string][]mad.PKey{"limited": {0x7fff, 0x0010}, "full": {0x7fff, 0x8010}} {
		l := newLab(t)
		sw := l.port(h2).Peer
		l.Ports[sw].PKeys = topo.NewPKeyTable([]mad.PKey{0x7fff, 0x0010})
		out := l.apply(l.parse("S=0x10: SELF=full, 0x100003="+member+";"), Settings{})
		if got := out.Want[sw].Keys(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", member, got, want)
		}
		l.Ports[sw].PKeys = topo.NewPKeyTable([]mad.PKey{0x7fff, 0x0010})
		out = l.apply(l.parse("S=0x10: SELF=full, 0x100003="+member+";"), Settings{Tenants: true})
		if got := out.Want[sw].Keys(); !out.Want[sw].Has(0xffff) || !out.Want[sw].Has(0x8010) ||
			out.Want[sw].Has(0x7fff) || out.Want[sw].Has(0x0010) {
			t.Errorf("%s: %v, want the keys of full members", member, got)
		}
	}
}

// TestUnseenPeer: a port keeps its table while it is not known what is behind it.
func TestUnseenPeer(t *testing.T) {
	l := newLab(t)
	peer := l.port(h2)
	peer.Seen = false
	l.EndPorts = slices.DeleteFunc(l.EndPorts, func(p topo.PortIdx) bool { return l.Ports[p].GUID == h2 })
	out := Compile(Default(), Settings{}, l.Topo, l.seen)
	if out.Checking[peer.Peer] != LeaveAsIs || out.Want[peer.Peer] != nil {
		t.Errorf("%v, %v", out.Checking[peer.Peer], out.Want[peer.Peer])
	}
}

// TestNoPolicy: what stands stays.
func TestNoPolicy(t *testing.T) {
	l := newLab(t)
	l.port(h2).PKeys = topo.NewPKeyTable([]mad.PKey{0x8005})
	l.port(h3).PKeys = topo.NewPKeyTable(nil)
	l.port(h4).PKeys = nil
	out := l.apply(nil, Settings{})
	l.mustHold("of another manager", h2, 0x8005)
	l.mustHold("nothing there", h3, 0xffff)
	for p := range out.Want {
		if out.Want[p] != nil && l.Ports[p].GUID != h3 || out.Checking[p] != LeaveAsIs {
			t.Errorf("port %d should change", p)
		}
	}
	if l.port(h4).PKeys != nil {
		t.Error("a table that is not known is written")
	}
	if out = l.apply(Default(), Settings{}); len(out.Unknown) != 1 || l.Ports[out.Unknown[0]].GUID != h4 {
		t.Errorf("unknown: %v", out.Unknown)
	}
}

// TestAnyOrder: whatever way policies came and went, a port holds the keys of the last,
// and compiling again changes nothing.
func TestAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	l := newLab(t)
	for range 500 {
		var b strings.Builder
		for key := 1; key < 40; key++ {
			if rng.IntN(3) == 0 {
				fmt.Fprintf(&b, "P%d=%d%s: 0x100003=%s;\n", key, key, []string{"", "", ",indx0"}[rng.IntN(3)],
					[]string{"full", "limited", "both"}[rng.IntN(3)])
			}
		}
		p, s := l.parse("Default=0x7fff: ALL;\n"+b.String()),
			Settings{AllowBoth: rng.IntN(2) == 0, ForgetIndexes: rng.IntN(4) == 0}
		l.apply(p, s)
		var want []mad.PKey
		for i := range p.Partitions {
			for _, m := range p.Partitions[i].Members {
				if m.Port != h2 && p.Partitions[i].Key != DefaultKey {
					continue
				}
				if k := p.Partitions[i].Key; k == DefaultKey {
					want = append(want, k)
					break
				}
				if m.Membership != Limited {
					want = append(want, p.Partitions[i].Key|mad.FullMember)
				}
				if m.Membership == Limited || m.Membership == Both && s.AllowBoth {
					want = append(want, p.Partitions[i].Key)
				}
			}
		}
		held := l.port(h2).PKeys
		got := slices.DeleteFunc(slices.Clone(held.Keys()), func(k mad.PKey) bool { return k == 0 })
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("holds %v, want %v", got, want)
		}
		if l.apply(p, s); l.port(h2).PKeys != held {
			t.Fatal("the same policy gives another table")
		}
	}
}

// BenchmarkCompile is the largest subnet with many partitions of 32 hosts each.
func BenchmarkCompile(b *testing.B) {
	n, err := net.Generate("fattree:k=54")
	if err != nil {
		b.Fatal(err)
	}
	t, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{1, 5000} {
		b.Run(fmt.Sprintf("%d ports, %d partitions", len(t.EndPorts), count), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			p := Default()
			for key := range count - 1 {
				part := Partition{Key: mad.PKey(key + 1)}
				for range 32 {
					part.Members = append(part.Members,
						Member{Who: OnePort, Port: t.Ports[t.EndPorts[rng.IntN(len(t.EndPorts))]].GUID,
							Membership: Full})
				}
				p.Partitions = append(p.Partitions, part)
			}
			for b.Loop() {
				if out := Compile(p, Settings{}, t, Indexes{}); len(out.Overflows) > 0 {
					b.Fatal(out.Overflows[0])
				}
			}
		})
	}
}

// TestNoPartition: ports that are in no partition and hold no key get the default one, and
// share one table, since there may be very many of them.
func TestNoPartition(t *testing.T) {
	l := newLab(t)
	for _, g := range []mad.GUID{h2, h3} {
		l.port(g).PKeys = topo.NewPKeyTable(nil)
	}
	out := Compile(nil, Settings{}, l.Topo, l.seen)
	a, b := out.Want[l.FindPort(h2)], out.Want[l.FindPort(h3)]
	if !slices.Equal(a.Keys(), []mad.PKey{mad.DefaultPKey}) || a != b {
		t.Errorf("%v and %v are wanted, one table %t", a.Keys(), b.Keys(), a == b)
	}
}

// TestManyIndexes: indexes of ports that have left are remembered until they are too many; those of ports that are
// there stay.
func TestManyIndexes(t *testing.T) {
	top := witnessTopo(t)
	here := Port{GUID: top.Ports[top.EndPorts[len(top.EndPorts)-1]].GUID}
	x := Indexes{here: nil}
	for port := mad.GUID(1) << 60; len(x) < maxIndexes; port++ {
		x[Port{GUID: port}] = nil
	}
	if x.prune(top); len(x) != maxIndexes {
		t.Errorf("%d of %d are left", len(x), maxIndexes)
	}
	x[Port{GUID: 1 << 59}] = nil
	_, stays := x[here]
	if x.prune(top); len(x) != 1 || !stays {
		t.Errorf("%d are left", len(x))
	}
}

// TestKeysOfPort: a file with all 32,767 partitions, of which each port is a member, gives each port a bounded number
// of keys to choose from.
func TestKeysOfPort(t *testing.T) {
	n, err := net.Generate("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	subnet, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for key := 1; key < 0x7fff; key++ {
		fmt.Fprintf(&text, "p%d=%d:ALL=full;\n", key, key)
	}
	policy, errors, _ := Parse("p", []byte(text.String())).Policy()
	if policy == nil {
		t.Fatal(errors)
	}
	tables := Compile(policy, Settings{}, subnet, Indexes{})
	if len(tables.Overflows) == 0 {
		t.Error("all ports hold all keys")
	}
	for _, o := range tables.Overflows {
		if len(o.Left) == 0 || len(o.Left) > MaxKeys {
			t.Fatalf("%d keys of port %d found no room", len(o.Left), o.Port)
		}
	}
}
