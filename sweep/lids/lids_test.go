package lids

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
)

// star is a switch (GUID 0x1000) with hosts on it, whose port GUIDs are 0x11, 0x21, ...;
// the first host is our own. All ports are as after power-up.
func star(t testing.TB, hosts int) *topo.Topo {
	t.Helper()
	n := &net.Net{
		Nodes: []net.Node{{Type: mad.Switch, GUID: 0x1000, Ports: []net.Port{{GUID: 0x1000, Peer: net.NoEnd}}}},
	}
	for i := range hosts {
		guid := mad.GUID(i+1) << 4
		n.Nodes[0].Ports = append(n.Nodes[0].Ports, net.Port{Peer: net.End{Node: int32(i + 1), Port: 1}})
		n.Nodes = append(n.Nodes, net.Node{Type: mad.CA, GUID: guid, Ports: []net.Port{
			{Peer: net.NoEnd}, {GUID: guid + 1, Peer: net.End{Node: 0, Port: uint8(i + 1)}},
		}})
	}
	top, err := netwalk.Topo(n, net.End{Node: 1, Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func reports(t *topo.Topo, lids map[mad.GUID]mad.LID) {
	for guid, lid := range lids {
		t.Ports[t.FindPort(guid)].Info.SetLID(lid)
	}
}

// remember are of ports that are there, or have been absent since as many seconds
// as their GUID.
func remember(t *topo.Topo, lmc uint8, lids map[mad.GUID]mad.LID) []Assignment {
	var kept []Assignment
	for guid, lid := range lids {
		k := Assignment{Port: guid, Base: lid, LMC: lmc}
		if p := t.FindPort(guid); p == topo.None {
			k.Absent = int64(guid)
		} else if t.Nodes[t.Ports[p].Node].Type == mad.Switch {
			k.LMC = 0
		}
		kept = append(kept, k)
	}
	slices.SortFunc(kept, ByPort)
	return kept
}

func TestAssign(t *testing.T) {
	type lids = map[mad.GUID]mad.LID
	for _, c := range []struct {
		name       string
		lmc        uint8
		lmc0       uint8 // of an enhanced switch port 0, which the switch has
		fdbCap     uint16
		remembered lids
		reported   lids
		reserved   []mad.LID
		anew       bool
		stale      bool
		used       []mad.GUID // ports that carry traffic
		want       lids       // 0x1000 is the switch
		conflicts  []Conflict
		exhausted  []mad.GUID
	}{
		{name: "cold: ours first, then by GUID", want: lids{0x11: 1, 0x21: 2, 0x31: 3, 0x1000: 4}},
		{name: "what is reported stays", reported: lids{0x11: 7, 0x21: 3, 0x1000: 1},
			want: lids{0x11: 7, 0x21: 3, 0x31: 2, 0x1000: 1}},
		{name: "remembered LIDs take precedence over reported ones", remembered: lids{0x21: 9}, reported: lids{0x21: 5},
			want: lids{0x11: 1, 0x21: 9, 0x31: 2, 0x1000: 3}},
		{name: "even at another port", remembered: lids{0x31: 5}, reported: lids{0x21: 5},
			want: lids{0x11: 1, 0x21: 2, 0x31: 5, 0x1000: 3}, conflicts: []Conflict{{0x21, 5, 0x31}}},
		{name: "of two that report one the first keeps it", reported: lids{0x21: 5, 0x31: 5},
			want:      lids{0x11: 1, 0x21: 5, 0x31: 2, 0x1000: 3},
			conflicts: []Conflict{{0x31, 5, 0x21}}},
		{name: "ours keeps it against a lower GUID", reported: lids{0x11: 5, 0x21: 5},
			want:      lids{0x11: 5, 0x21: 1, 0x31: 2, 0x1000: 3},
			conflicts: []Conflict{{0x21, 5, 0x11}}},
		{name: "an absent port keeps its LID", remembered: lids{0x99: 1}, reported: lids{0x21: 1},
			want:      lids{0x11: 2, 0x21: 3, 0x31: 4, 0x1000: 5},
			conflicts: []Conflict{{0x21, 1, 0}}},
		{name: "but not against traffic", remembered: lids{0x99: 1}, reported: lids{0x21: 1},
			used: []mad.GUID{0x21}, want: lids{0x11: 2, 0x21: 1, 0x31: 3, 0x1000: 4}},
		{name: "traffic is no claim to what a present port is remembered by", remembered: lids{0x31: 5},
			reported: lids{0x21: 5}, used: []mad.GUID{0x21},
			want: lids{0x11: 1, 0x21: 2, 0x31: 5, 0x1000: 3}, conflicts: []Conflict{{0x21, 5, 0x31}}},
		{name: "after another manager what is reported goes first", stale: true,
			remembered: lids{0x21: 9, 0x31: 5, 0x1000: 7, 0x99: 8},
			reported:   lids{0x21: 5, 0x11: 8},
			want:       lids{0x11: 8, 0x21: 5, 0x31: 1, 0x1000: 7}},
		{name: "a reserved LID is left alone", reserved: []mad.LID{1, 3}, reported: lids{0x21: 3},
			want:      lids{0x11: 2, 0x21: 4, 0x31: 5, 0x1000: 6},
			conflicts: []Conflict{{0x21, 3, 0}}},
		{name: "multicast and permissive LIDs are none", reported: lids{0x11: 0xc000, 0x21: 0xffff},
			want: lids{0x11: 1, 0x21: 2, 0x31: 3, 0x1000: 4}},
		{name: "the highest LID", reported: lids{0x21: 0xbfff}, want: lids{0x11: 1, 0x21: 0xbfff, 0x31: 2, 0x1000: 3}},
		{name: "anew", anew: true, remembered: lids{0x21: 9, 0x99: 1}, reported: lids{0x31: 7}, reserved: []mad.LID{2},
			want: lids{0x11: 1, 0x21: 2, 0x31: 3, 0x1000: 4}},
		{name: "LMC: aligned, and one for a switch", lmc: 2, want: lids{0x11: 4, 0x21: 8, 0x31: 12, 0x1000: 1}},
		{name: "LMC: aligned, and for an enhanced port 0 as well", lmc: 2, lmc0: 2, reported: lids{0x1000: 1},
			want:      lids{0x11: 4, 0x21: 8, 0x31: 12, 0x1000: 16},
			conflicts: []Conflict{{0x1000, 1, 0}}},
		{name: "LMC: what is not aligned moves", lmc: 1, reported: lids{0x11: 4, 0x21: 7, 0x1000: 5},
			want:      lids{0x11: 4, 0x21: 2, 0x31: 6, 0x1000: 1},
			conflicts: []Conflict{{0x21, 7, 0}, {0x1000, 5, 0x11}}},
		{name: "LMC: the range of an absent port", lmc: 1, remembered: lids{0x99: 2},
			reported: lids{0x1000: 3}, want: lids{0x11: 4, 0x21: 6, 0x31: 8, 0x1000: 1},
			conflicts: []Conflict{{0x1000, 3, 0}}},
		{name: "LMC: a range beyond the last LID", lmc: 3, fdbCap: 20, reported: lids{0x11: 16},
			want:      lids{0x11: 8, 0x21: 0, 0x31: 0, 0x1000: 1},
			conflicts: []Conflict{{0x11, 16, 0}}, exhausted: []mad.GUID{0x21, 0x31}},
		{name: "a small table", fdbCap: 4, want: lids{0x11: 1, 0x21: 2, 0x31: 3, 0x1000: 0},
			exhausted: []mad.GUID{0x1000}},
		{name: "a LID beyond a small table", fdbCap: 8, reported: lids{0x21: 8, 0x31: 7},
			want:      lids{0x11: 1, 0x21: 2, 0x31: 7, 0x1000: 3},
			conflicts: []Conflict{{0x21, 8, 0}}},
		{name: "the absent give way when there are no others", fdbCap: 5, remembered: lids{0x99: 1, 0x31: 4},
			want: lids{0x11: 2, 0x21: 3, 0x31: 4, 0x1000: 1}},
		{name: "a switch without a LinearFDBCap", fdbCap: 0xffff, want: lids{0x11: 1, 0x21: 2, 0x31: 3, 0x1000: 4}},
	} {
		top := star(t, 3)
		if c.fdbCap != 0 {
			top.Nodes[top.Switches[0]].SwitchInfo.SetLinearFDBCap(c.fdbCap)
		}
		top.Nodes[top.Switches[0]].SwitchInfo.SetEnhancedPort0(c.lmc0 > 0)
		reports(top, c.reported)
		for _, guid := range c.used {
			top.Ports[top.FindPort(guid)].Info.SetPortState(smp.PortActive)
		}
		a := assign(top, In{
			LMC: c.lmc, LMCPort0: c.lmc0, Remembered: remember(top, c.lmc, c.remembered), Stale: c.stale,
			Reserved: c.reserved, Anew: c.anew,
		})
		for guid, want := range c.want {
			if got := a.LIDs.Base[top.FindPort(guid)]; got != want {
				t.Errorf("%s: port %v has LID %v, want %v", c.name, guid, got, want)
			}
		}
		if !slices.Equal(a.Conflicts, c.conflicts) {
			t.Errorf("%s: conflicts %v, want %v", c.name, a.Conflicts, c.conflicts)
		}
		if !slices.Equal(a.Exhausted, c.exhausted) {
			t.Errorf("%s: without a LID %v, want %v", c.name, a.Exhausted, c.exhausted)
		}
		checkLIDs(t, c.name, a)
	}
}

// checkLIDs proves an assignment port by port and LID by LID.
func checkLIDs(t *testing.T, name string, a *assigner) {
	t.Helper()
	owner := map[mad.LID]topo.PortIdx{}
	top := mad.LID(0)
	for i := range a.t.Ports {
		base, lmc := a.LIDs.Base[i], a.LIDs.LMC[i]
		if base == 0 {
			continue
		}
		if !slices.Contains(a.t.EndPorts, topo.PortIdx(i)) {
			t.Errorf("%s: port %d is no end port and has LID %v", name, i, base)
		}
		if want := a.lmcOf(topo.PortIdx(i)); lmc != want || base&(1<<lmc-1) != 0 {
			t.Errorf("%s: LID %v with LMC %d, want %d", name, base, lmc, want)
		}
		for l := base; l < base+1<<lmc; l++ {
			if other, taken := owner[l]; taken {
				t.Errorf("%s: LID %v belongs to ports %d and %d", name, l, other, i)
			}
			if !l.IsUnicast() {
				t.Errorf("%s: LID %v is given out", name, l)
			}
			owner[l] = topo.PortIdx(i)
			top = max(top, l)
		}
	}
	if a.LIDs.Top != top || len(a.LIDs.Owner) != int(top)+1 {
		t.Errorf("%s: top %v of %d owners, want %v", name, a.LIDs.Top, len(a.LIDs.Owner), top)
	}
	for l := range mad.LID(1000) {
		want, owned := owner[l]
		if !owned {
			want = topo.None
		}
		if got := a.LIDs.PortOf(l); got != want {
			t.Errorf("%s: LID %v belongs to port %d, want %d", name, l, got, want)
		}
	}
}

// TestAssignRandom holds assignments of random subnets against the rules: no two
// ports share a LID, no port moves without a reason, and a port without a LID means
// that none is free.
func TestAssignRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		top := star(t, 1+r.IntN(30))
		lmc := uint8(r.IntN(4))
		limit := 8 + r.IntN(200)
		top.Nodes[top.Switches[0]].SwitchInfo.SetLinearFDBCap(uint16(limit + 1))
		lid := func() mad.LID { return mad.LID(r.IntN(limit+20)) &^ (1<<r.IntN(4) - 1) }
		remembered := map[mad.GUID]mad.LID{}
		var reserved []mad.LID
		for _, p := range top.EndPorts {
			if r.IntN(2) == 0 {
				top.Ports[p].Info.SetLID(lid())
			}
		}
		for range r.IntN(4) {
			reserved = append(reserved, lid())
		}
		// What is remembered comes from an earlier assignment, so it never overlaps.
		first := assign(top, In{LMC: lmc, Anew: true})
		for _, p := range top.EndPorts {
			if base := first.LIDs.Base[p]; base != 0 && r.IntN(3) == 0 {
				remembered[top.Ports[p].GUID] = base
			}
		}
		in := In{LMC: lmc, Remembered: remember(top, lmc, remembered), Reserved: reserved}
		a := assign(top, in)
		name := fmt.Sprintf("seed %d", seed)
		checkLIDs(t, name, a)
		for _, p := range top.EndPorts {
			port := &top.Ports[p]
			base := a.LIDs.Base[p]
			if want, ok := remembered[port.GUID]; ok && base != want {
				t.Errorf("%s: port %v is remembered by LID %v and has %v", name, port.GUID, want, base)
			}
			if base != 0 && int(base)+1<<a.LIDs.LMC[p]-1 > limit {
				t.Errorf("%s: LID %v is beyond %d", name, base, limit)
			}
			if base == 0 && hasRoom(a, p, reserved) {
				t.Errorf("%s: port %v has no LID though one is free", name, port.GUID)
			}
			if slices.Contains(reserved, base) && base != 0 && base != remembered[port.GUID] {
				t.Errorf("%s: port %v has the reserved LID %v", name, port.GUID, base)
			}
		}
		if again := assign(top, in); !slices.Equal(again.LIDs.Base, a.LIDs.Base) {
			t.Errorf("%s: the same question has two answers", name)
		}
		again := assign(top, In{LMC: lmc, Remembered: a.Retained(top, nil, 1)})
		if !slices.Equal(again.LIDs.Base, a.LIDs.Base) && len(a.Exhausted) == 0 {
			t.Errorf("%s: what was assigned does not last", name)
		}
	}
}

// hasRoom searches for free LIDs one by one.
func hasRoom(a *assigner, p topo.PortIdx, reserved []mad.LID) bool {
	size := 1 << a.lmcOf(p)
	for base := size; base+size-1 <= a.limit; base += size {
		free := true
		for l := base; l < base+size; l++ {
			free = free && a.LIDs.PortOf(mad.LID(l)) == topo.None && !slices.Contains(reserved, mad.LID(l))
		}
		if free {
			return true
		}
	}
	return false
}

// TestSmallSwitchJoins: a switch with a table too small for a subnet in use does not
// move the LIDs of others.
func TestSmallSwitchJoins(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	top, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	small := &top.Nodes[top.Switches[3]]
	small.SwitchInfo.SetLinearFDBCap(8)
	if got := highest(top); got != int(mad.MaxUnicastLID) {
		t.Errorf("in a subnet that is not in use, and whose other switches have room for all, the limit is %d", got)
	}
	for _, n := range top.Switches {
		top.Nodes[n].SwitchInfo.SetLinearFDBCap(8)
	}
	if got := highest(top); got != 7 {
		t.Errorf("where all switches are small the limit is %d", got)
	}
	for _, n := range top.Switches {
		top.Nodes[n].SwitchInfo.SetLinearFDBCap(49152)
	}
	small.SwitchInfo.SetLinearFDBCap(8)
	for i := range top.Ports {
		if p := &top.Ports[i]; p.Peer != topo.None || p.Num == 0 {
			p.Info.SetPortState(smp.PortActive)
		}
	}
	for num := range small.NumPorts {
		top.Ports[small.First+1+topo.PortIdx(num)].Info.SetPortState(smp.PortInit)
	}
	if got := highest(top); got != int(mad.MaxUnicastLID) {
		t.Errorf("a switch that joins sets the limit to %d", got)
	}
	top.Ports[small.First+1].Info.SetPortState(smp.PortArmed)
	if got := highest(top); got != int(mad.MaxUnicastLID) {
		t.Errorf("a switch that is in use and has no room sets the limit to %d", got)
	}
	small.SwitchInfo.SetLinearFDBCap(64)
	if got := highest(top); got != 63 {
		t.Errorf("a switch that is in use and has room does not count: %d", got)
	}
}

// TestChanges: what is retained is what was assigned and what absent ports had. Changes are what differs from before.
func TestChanges(t *testing.T) {
	stored := []Assignment{{0x21, 2, 0, 0}, {0x96, 0xbfff, 1, 0}, {0x97, 6, 0, 0}, {0x98, 5, 0, 40}, {0x99, 1, 0, 50}}
	known := slices.DeleteFunc(slices.Clone(stored), func(k Assignment) bool { return !k.Valid() })
	sweep := func(hosts int, now int64, want []Assignment, gone ...mad.GUID) {
		t.Helper()
		top := star(t, hosts)
		top.Nodes[top.Switches[0]].SwitchInfo.SetLinearFDBCap(7)
		known = Assign(top, In{Remembered: known}).Retained(top, known, now)
		changed, forgotten := Changes(stored, known)
		if !slices.Equal(changed, want) || !slices.Equal(forgotten, gone) {
			t.Errorf("at %d changed %v, forgotten %v; want %v and %v", now, changed, forgotten, want, gone)
		}
		stored = known
	}
	first := []Assignment{{0x11, 3, 0, 0}, {0x31, 4, 0, 0}, {0x97, 6, 0, 100}, {0x1000, 5, 0, 0}}
	sweep(3, 100, first, 0x96, 0x98)
	sweep(3, 200, nil)
	sweep(2, 300, []Assignment{{0x31, 4, 0, 300}})
	sweep(2, 400, nil)
	sweep(4, 500, []Assignment{{0x31, 4, 0, 0}, {0x41, 1, 0, 0}}, 0x99)
}

func TestMerge(t *testing.T) {
	first := []Assignment{{5, 5, 0, 0}, {4, 8, 2, 0}, {3, 9, 0, 0}, {2, 0xc000, 0, 0}, {5, 6, 0, 0}, {1, 1, 0, 7}}
	second := []Assignment{{1, 2, 0, 0}, {2, 2, 0, 0}, {5, 5, 0, 70}, {6, 12, 3, 80}, {7, 11, 0, 0}, {8, 3, 9, 0}}
	want := []Assignment{{1, 1, 0, 7}, {2, 2, 0, 0}, {4, 8, 2, 0}, {5, 5, 0, 70}, {6, 12, 3, 80}}
	if got := Merge(first, second); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// When the LIDs end, those of absent ports are given away in the order in which they
// were missed, no more than are needed, whatever their LMC.
func TestReclaim(t *testing.T) {
	for _, c := range []struct {
		name   string
		lmc    uint8
		fdbCap uint16
		absent []Assignment
		lost   []mad.GUID // in order
	}{
		{"none is needed", 0, 12, []Assignment{{0x91, 1, 0, 3}, {0x92, 2, 0, 1}}, nil},
		{"one", 0, 6, []Assignment{{0x91, 1, 0, 3}, {0x92, 2, 0, 1}}, []mad.GUID{0x92}},
		{"of one age the lower GUID", 0, 6, []Assignment{{0x92, 1, 0, 3}, {0x91, 2, 0, 3}}, []mad.GUID{0x91}},
		{"a port that is missed only now is the last", 0, 6, []Assignment{{0x91, 1, 0, 0}, {0x92, 2, 0, 9}},
			[]mad.GUID{0x92}},
		{"a range serves several", 0, 6, []Assignment{{0x91, 1, 0, 3}, {0x92, 2, 1, 1}, {0x93, 4, 1, 2}},
			[]mad.GUID{0x92, 0x93}},
		{"a range of single LIDs", 1, 8, []Assignment{{0x91, 2, 0, 1}, {0x92, 3, 0, 3}, {0x93, 1, 0, 2}},
			[]mad.GUID{0x91, 0x93, 0x92}},
	} {
		top := star(t, 3)
		top.Nodes[top.Switches[0]].SwitchInfo.SetLinearFDBCap(c.fdbCap)
		a := assign(top, In{LMC: c.lmc, Remembered: slices.SortedFunc(slices.Values(c.absent), ByPort)})
		checkLIDs(t, c.name, a)
		var lost []mad.GUID
		for _, k := range a.Reclaimed {
			lost = append(lost, k.Port)
		}
		if !slices.Equal(lost, c.lost) || len(a.Exhausted) > 0 {
			t.Errorf("%s: %v lost their LIDs, want %v; %v got none", c.name, lost, c.lost, a.Exhausted)
		}
	}
}

// Assignments are found in any order of ports.
func TestFinder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 11))
		var list []Assignment
		for port := range mad.GUID(40) {
			if rng.IntN(3) > 0 {
				list = append(list, Assignment{Port: port, Base: mad.LID(port) + 1})
			}
		}
		f := finder{list: list}
		for range 200 {
			from := mad.GUID(rng.IntN(45))
			for port := from; port < from+mad.GUID(rng.IntN(9)); port += mad.GUID(rng.IntN(3)) {
				if got, want := f.find(port), Find(list, port); got != want {
					t.Fatalf("seed %d: port %v has %v, want %v", seed, port, got, want)
				}
			}
		}
	}
}
