package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/tree"
	"ibsm/sa"
	"ibsm/topo"
	"ibsm/topo/net"
)

// TestDiagnosePhysical: each physical state of a port that is down has its own reason.
func TestDiagnosePhysical(t *testing.T) {
	v := newView(t, "fattree:k=4")
	s := newSubnet(v, nil)
	p := v.Topo.Port(v.Topo.Switches[0], 1)
	kinds := map[string]bool{}
	for phys := smp.PhysSleep; phys <= smp.PhysTest; phys++ {
		info := &v.Topo.Ports[p].Info
		info.SetPortState(smp.PortDown)
		info.SetPortPhysicalState(phys)
		d := ctltest.Diagnose(t, s, v.Topo.Nodes[v.Topo.Switches[0]].Desc.String()+":1", "")
		if len(d.Reasons) != 1 || kinds[d.Reasons[0].Kind] || d.Physical != phys.String() {
			t.Errorf("%v: %+v", phys, d.Reasons)
		}
		kinds[d.Reasons[0].Kind] = true
	}
}

// TestDiagnoseAggregation: the last port of NVIDIA's switches has no connector; a cable
// is asked for at the others only.
func TestDiagnoseAggregation(t *testing.T) {
	for ports, special := range map[uint8]bool{36: false, 37: true, 40: false, 41: true, 65: true, 81: true,
		129: true} {
		n, err := net.Parse("f",
			fmt.Appendf(
				nil, "vendid=0x2c9\nSwitch %d \"s\" # \"sw\" base port 0 lid 0 lmc 0\n[1] \"h\"\n\nCa 1 \"h\"\n[1] \"s\"[1]\n", ports))
		if err != nil {
			t.Fatal(err)
		}
		s := newSubnet(viewOf(t, n, 1), nil)
		for num, want := range map[uint8]string{
			2: "no signal", ports: map[bool]string{true: "no aggregation node", false: "no signal"}[special],
		} {
			d := ctltest.Diagnose(t, s, fmt.Sprintf("sw:%d", num), "")
			if len(d.Reasons) != 1 || d.Reasons[0].Kind != want ||
				strings.Contains(d.Reasons[0].Do, "cable") != (want == "no signal") {
				t.Errorf("port %d of %d: %+v, want %q", num, ports, d.Reasons, want)
			}
		}
	}
}

// TestDiagnoseRefused: that a host could not join a group is a remark about its port, and among the
// refusals of the group.
func TestDiagnoseRefused(t *testing.T) {
	v := newView(t, "fattree:k=4")
	p := v.Topo.EndPorts[len(v.Topo.EndPorts)-1]
	v.Topo.Ports[p].Info.SetPortState(smp.PortActive)
	port, mgid := v.Topo.Ports[p].GUID, registry.BroadcastMGID(mad.DefaultPKey, 2)
	reg := registry.New()
	if err := reg.Apply(
		registry.PutGroup{Group: registry.Group{MGID: mgid, MLID: 0xc000, PKey: mad.DefaultPKey, Rate: 7, MTU: 4,
			WellKnown: true}}); err != nil {
		t.Fatal(err)
	}
	s := newSubnet(v, reg.Freeze())
	at := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	s.refusals = func() []sa.Refusal {
		return []sa.Refusal{{Port: port, MGID: mgid, Cause: "its rate 10 Gb/s is lower than the group's, 40 Gb/s",
			Count: 3, Last: at}}
	}
	d := ctltest.Diagnose(t, s, port.String(), "")
	if !d.Works || !ctltest.HasReason(d, "join refused",
		"the request to join multicast group ff12:401b:ffff::ffff:ffff was rejected 3 times, last at 2026-11-22 20:00:00: its rate 10 Gb/s is lower") {
		t.Errorf("%+v", d)
	}
	if d := ctltest.Diagnose(t, s, v.Topo.Ports[v.Topo.EndPorts[len(v.Topo.EndPorts)-2]].GUID.String(),
		""); ctltest.HasReason(d, "join refused", "") {
		t.Errorf("another port: %+v", d)
	}
	for group, want := range map[string]int{"": 1, "ff12:401b:ffff::ffff:ffff": 1, "ff12::1": 0} {
		if all := rows[ctl.Refusal](t, s, ctl.Refusals, ctl.Filter{Group: group}); len(all) != want || want > 0 &&
			(all[0].Port != port.String() || all[0].Count != 3 || all[0].Desc == "") {
			t.Errorf("%q: %+v", group, all)
		}
	}
}

// TestDiagnosePartitions reads why hosts of different partitions do not meet, with the
// lines that say so.
func TestDiagnosePartitions(t *testing.T) {
	v := newView(t, "fattree:k=4")
	var cas []topo.PortIdx
	for _, p := range v.Topo.EndPorts {
		if v.Topo.IsSwitchPort(p) || v.Topo.Ports[p].Num == 0 {
			continue
		}
		cas = append(cas, p)
		v.Topo.Ports[p].Info.SetPortState(smp.PortActive)
	}
	guid := func(i int) string { return v.Topo.Ports[cas[i]].GUID.String() }
	text := "Default=0x7fff: SELF=full;\n" +
		"red=0x1: " + guid(1) + "=limited, " + guid(2) + "=limited, " + guid(3) + "=full;\n" +
		"blue=0x2: " + guid(4) + "=full;\n"
	chosen := partitions.Select(partitions.Input{Name: "p.conf", Text: []byte(text)}, nil, partitions.NoStart)
	if len(chosen.Errors) > 0 {
		t.Fatal(chosen.Errors)
	}
	v.Partitions = partitions.Compile(chosen.ForTables(), partitions.Settings{}, v.Topo, partitions.Indexes{})
	for _, p := range cas {
		v.Topo.Ports[p].PKeys = v.Partitions.Want[p]
	}
	for _, c := range []struct {
		a, b  int
		kind  string // "" they meet
		texts []string
	}{
		{1, 3, "", nil},
		{1, 2, "both limited", []string{`"red", P_Key 0x0001`, "p.conf:2:10", "p.conf:2:38"}},
		{3, 4, "no common P_Key", []string{`a full member of "red"`, `a full member of "blue", P_Key 0x0002`,
			"p.conf:3:11", "p.conf:2:"}},
	} {
		d := ctltest.Diagnose(t, newSubnet(v, nil), guid(c.a), guid(c.b))
		if d.Works != (c.kind == "") {
			t.Errorf("%d to %d: %+v", c.a, c.b, d.Reasons)
		}
		for _, text := range c.texts {
			if !ctltest.HasReason(d, c.kind, text) {
				t.Errorf("%d to %d: nothing about %q in %+v", c.a, c.b, text, d.Reasons)
			}
		}
	}
	for _, r := range append(ctltest.Diagnose(t, newSubnet(v, nil), guid(3), guid(4)).Reasons,
		ctltest.Diagnose(t, newSubnet(v, nil), guid(1), guid(2)).Reasons...) {
		if r.Kind != "both limited" {
			continue
		}
		want := "another partition"
		if strings.Contains(r.Text, "red") {
			want = `partitions add "red" ` + guid(1) + "=full"
		}
		if !strings.Contains(r.Do, want) {
			t.Errorf("%s: reported to %s, want %q", r.Text, r.Do, want)
		}
	}
	none := topo.NewPKeyTable([]mad.PKey{0x8009})
	v.Topo.Ports[cas[3]].PKeys = none
	if d := ctltest.Diagnose(t, newSubnet(v, nil), guid(3), guid(1)); !ctltest.HasReason(d, "P_Keys not written",
		"does not have") {
		t.Errorf("before the tables are written: %+v", d.Reasons)
	}
}

// TestDiagnoseRoutes: what the tables do not carry, one of two LIDs, a slow link between.
func TestDiagnoseRoutes(t *testing.T) {
	v := newView(t, "fattree:k=4") // LMC 1
	s := newSubnet(v, nil)
	var cas []topo.PortIdx
	for _, p := range v.Topo.EndPorts {
		if v.Topo.Ports[p].Num != 0 {
			cas = append(cas, p)
			v.Topo.Ports[p].Info.SetPortState(smp.PortActive)
		}
	}
	from, to := cas[0], cas[len(cas)-1]
	a, b := v.Topo.Ports[from].GUID.String(), v.Topo.Ports[to].GUID.String()
	if d := ctltest.Diagnose(t, s, a, b); !d.Works || len(d.Reasons) > 0 {
		t.Fatalf("%+v", d.Reasons)
	}
	w := s.walk(from, to, v.LIDs.Base[to])
	mid := v.Topo.FindNode(mustGUID(t, w.path.Hops[3].Node))
	out := v.Topo.Port(mid, w.path.Hops[3].Out)
	v.Topo.Ports[out].Info.SetNeighborMTU(mad.MTU1024)
	v.Topo.Ports[out].Info.SetLinkWidthActive(mad.Width1x)
	if d := ctltest.Diagnose(t, s, a, b); !d.Works || !ctltest.HasReason(d, "lower MTU", "MTU of 1024") ||
		!ctltest.HasReason(d, "lower rate", "Gb/s") {
		t.Errorf("a slow link: %+v", d.Reasons)
	}
	row := slices.Clone(v.Tables.LFT[v.Topo.Nodes[mid].Switch])
	v.Tables.LFT[v.Topo.Nodes[mid].Switch] = row
	row[v.LIDs.Base[to]] = routing.NoPath
	if d := ctltest.Diagnose(t, s, a, b); d.Works || !ctltest.HasReason(d, "no route", "1 of its 2 LIDs") {
		t.Errorf("a lost entry: %+v", d.Reasons)
	}
}

func mustGUID(t *testing.T, text string) mad.GUID {
	t.Helper()
	g, err := mad.ParseGUID(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestFindPorts: what names ports that need not have LIDs.
func TestFindPorts(t *testing.T) {
	v := newView(t, "fattree:k=4")
	s := newSubnet(v, nil)
	sw := &v.Topo.Nodes[v.Topo.Switches[0]]
	for _, c := range []struct {
		name  string
		ports int
		first topo.PortIdx
		err   error
	}{
		{sw.Desc.String(), 4, sw.First + 1, nil},
		{sw.GUID.String(), 4, sw.First + 1, nil},
		{sw.Desc.String() + ":3", 1, sw.First + 3, nil},
		{sw.GUID.String() + ":3", 1, sw.First + 3, nil},
		{v.LIDs.Base[sw.First].String(), 1, sw.First, nil},
		{sw.Desc.String() + ":5", 0, 0, ctl.ErrNotFound},
		{sw.Desc.String() + ":x", 0, 0, ctl.ErrNotFound},
		{"nobody:1", 0, 0, ctl.ErrNotFound},
		{"fe80::1", 0, 0, ctl.ErrNotFound},
		{"", 0, 0, ctl.ErrNotFound},
	} {
		ports, err := s.findPorts(c.name)
		if !errors.Is(err, c.err) || err == nil && (len(ports) != c.ports || ports[0] != c.first) {
			t.Errorf("%q: %v, %v", c.name, ports, err)
		}
	}
}

func generate(t *testing.T, spec string) *net.Net {
	t.Helper()
	n, err := net.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDiagnoseChoices: a pair has the ports by which the switches on its path could send packets as well, all of which
// lead there; none where no engine ranked the switches.
func TestDiagnoseChoices(t *testing.T) {
	v := newView(t, "fattree:k=4")
	ends := v.Topo.EndPorts
	from, to := v.Topo.Ports[ends[len(ends)-1]].GUID.String(), v.Topo.Ports[ends[0]].GUID.String()
	for i := range v.Topo.EndPorts {
		v.Topo.Ports[v.Topo.EndPorts[i]].Info.SetPortState(smp.PortActive)
	}
	if d := ctltest.Diagnose(t, newSubnet(v, nil), from, to); d.Choices != nil {
		t.Errorf("by min-hop: %+v", d.Choices)
	}
	var err error
	if v.Tables, err = tree.New(tree.Settings{})(t.Context(),
		routing.In{Topo: v.Topo, LIDs: v.LIDs, Keep: routing.KeepNone}); err != nil {
		t.Fatal(err)
	}
	s := newSubnet(v, nil)
	d, path := ctltest.Diagnose(t, s, from, to), (*ctl.Path)(nil)
	if path, err = s.Path(from, to); err != nil || !path.Arrived {
		t.Fatal(err, path)
	}
	if len(d.Choices) != 2 { // the leaf and the switch above it, of three levels
		t.Fatalf("%+v", d.Choices)
	}
	for i, c := range d.Choices {
		h := &path.Hops[i+1]
		if c.Node != h.Node || c.Out != h.Out || len(c.Others) != 1 || c.Others[0] == int(c.Out) {
			t.Errorf("%+v; the path leaves %s by port %d", c, h.Node, h.Out)
		}
	}
	if d := ctltest.Diagnose(t, s, to, to); d.Choices != nil {
		t.Errorf("of one port: %+v", d.Choices)
	}
}
