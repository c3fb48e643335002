package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/topo/net"
)

// managed is a simulated fabric and a manager at its first host.
type managed struct {
	*sim.World
	net *net.Net
	m   *sim.Manager
}

// hosts are the nodes of a fabric that are adapters.
func hosts(n *net.Net) (all []int32) {
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			all = append(all, int32(i))
		}
	}
	return all
}

// bringUp lets a manager bring a fabric up, of which some nodes are not as usual.
func bringUp(t *testing.T, n *net.Net, caps func(int32, *net.Node, *fabric.Caps), mute ...int32) *managed {
	t.Helper()
	w := &sim.World{Fabric: fabric.New(n, fabric.Config{Latency: 5 * time.Microsecond, Caps: caps})}
	for _, node := range mute {
		w.Fabric.Mute(node, true)
	}
	cfg := manager.Config{Sweep: sweep.Config{Engine: minhop.Route, EngineName: "minhop"}, SweepInterval: 10 * time.Second}
	m, err := w.Add(net.End{Node: hosts(n)[0], Port: 1}, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &managed{w, n, m}
	f.pass(time.Minute)
	if m.View == nil {
		t.Fatal("no view was published")
	}
	return f
}

func (f *managed) pass(d time.Duration) { f.Run(f.Fabric.Now()+d, func() bool { return false }) }

// desc is the name of a node.
func (f *managed) desc(node int32) string { return f.net.Nodes[node].Desc }

// leaf is the switch port before a host, as NODE:PORT.
func (f *managed) leaf(host int32) string {
	at := f.net.Nodes[host].Ports[1].Peer
	return f.desc(at.Node) + ":" + string('0'+rune(at.Port))
}

func generate(t *testing.T, spec string) *net.Net {
	t.Helper()
	n, err := net.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// diagnose is the one diagnosis there is.
func diagnose(t *testing.T, s *subnet, port, other string) *ctl.Diagnosis {
	t.Helper()
	rows, err := s.Diagnose(port, other)
	if err != nil {
		t.Fatal(err)
	}
	var all []*ctl.Diagnosis
	for d := range rows {
		all = append(all, d)
	}
	if len(all) != 1 {
		t.Fatalf("%s: %d diagnoses", port, len(all))
	}
	return all[0]
}

// has reports whether some reason is of a kind, with a text in it, and says what to do.
func has(d *ctl.Diagnosis, kind, text string) bool {
	return slices.ContainsFunc(d.Reasons, func(r ctl.Reason) bool {
		return r.Kind == kind && strings.Contains(r.Text, text) && r.Do != ""
	})
}

// portInfo makes a Defect of an agent: of a Set of PortInfo it does what set says, and a
// Get shows it what get changes.
func portInfo(get func(*smp.PortInfo), status mad.Status, answers bool) fabric.Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if p.AttrID() == smp.AttrPortInfo && p.Method() == mad.MethodSet {
			return status, answers
		}
		st := obey()
		if p.AttrID() == smp.AttrPortInfo && get != nil {
			get((*smp.PortInfo)(p.Data()))
		}
		return st, true
	}
}

// TestDiagnoseFaults injects a fault into a fabric that knows nothing of diagnoses, and
// reads what is said about the port before the host that has it.
func TestDiagnoseFaults(t *testing.T) {
	const victim = 5 // of the hosts
	lock := func(info *smp.PortInfo) { info.SetMKeyProtectBits(1); info.SetMKey(0) }
	for name, c := range map[string]struct {
		defect fabric.Defect
		change func(n *net.Net, host int32)
		mute   bool
		kind   string
		text   string
		state  string
	}{
		"cut":     {change: func(n *net.Net, h int32) { uncable(n, h) }, kind: "no signal", text: "no cable", state: "Down"},
		"mute":    {mute: true, kind: "nothing answers", text: "no answer behind port", state: "Initialize"},
		"refuses": {defect: portInfo(nil, mad.StatusBadMethodAttr, true), kind: "refused", text: "stays Initialize", state: "Armed"},
		"silent":  {defect: portInfo(nil, 0, false), kind: "no answer", text: "no answer to Set(PortInfo)", state: "Armed"},
		"locked":  {defect: portInfo(lock, 0, false), kind: "M_Key", text: "protected by an M_Key", state: "Armed"},
		"duplicate": {change: func(n *net.Net, h int32) {
			n.Nodes[h].Ports[1].GUID = n.Nodes[hosts(n)[1]].Ports[1].GUID
		}, kind: "duplicate GUID", text: "Found duplicated port GUID", state: "Initialize"},
	} {
		t.Run(name, func(t *testing.T) {
			n := generate(t, "fattree:k=4")
			host := hosts(n)[victim]
			f := &managed{net: n}
			leaf := f.leaf(host)
			if c.change != nil {
				c.change(n, host)
			}
			mute := []int32{host}[:0]
			if c.mute {
				mute = append(mute, host)
			}
			f = bringUp(t, n, func(node int32, _ *net.Node, caps *fabric.Caps) {
				if node == host {
					caps.Defect = c.defect
				}
			}, mute...)
			s := newSubnet(f.m.View, nil)
			d := diagnose(t, s, leaf, "")
			if d.Works || d.State != c.state || !has(d, c.kind, c.text) {
				t.Errorf("%s is %s: %+v", leaf, d.State, d.Reasons)
			}
			rows, _ := s.Diagnose("", "")
			found := 0
			for d := range rows {
				if name := d.Port.Desc; name != f.desc(host) && name != strings.Split(leaf, ":")[0] || len(d.Reasons) == 0 {
					t.Errorf("%s port %d is listed too: %+v", name, d.Port.Port, d.Reasons)
				}
				found++
			}
			if found == 0 {
				t.Error("no port is listed")
			}
			others := hosts(n)
			if d := diagnose(t, s, f.desc(others[1]), f.desc(others[2])); !d.Works {
				t.Errorf("others do not reach each other: %+v", d.Reasons)
			}
		})
	}
}

// uncable takes the cable of a host away.
func uncable(n *net.Net, host int32) {
	peer := n.Nodes[host].Ports[1].Peer
	n.Nodes[peer.Node].Ports[peer.Port].Peer = net.NoEnd
	n.Nodes[host].Ports[1].Peer = net.NoEnd
}

// TestDiagnoseLater: a host that answers no more keeps its routes for a while; one that is
// gone is remembered by its LID.
func TestDiagnoseLater(t *testing.T) {
	n := generate(t, "fattree:k=4")
	f := bringUp(t, n, nil)
	all := hosts(n)
	s := newSubnet(f.m.View, nil)
	if d := diagnose(t, s, f.desc(all[3]), f.desc(all[9])); !d.Works || d.To == nil || len(d.Reasons) != 0 {
		t.Errorf("in good health: %+v", d.Reasons)
	}
	for d := range s.doctor().all {
		t.Errorf("in good health %s port %d is %s", d.Port.Desc, d.Port.Port, d.State)
	}
	_, lid, err := s.findPort(f.desc(all[3]))
	if err != nil {
		t.Fatal(err)
	}
	f.Fabric.Mute(all[3], true)
	f.Ask(f.m, manager.Heavy)
	f.pass(5 * time.Second)
	s = newSubnet(f.m.View, nil)
	if d := diagnose(t, s, f.desc(all[3]), ""); d.Works || !has(d, "no answer", "has not answered") {
		t.Errorf("mute: %+v", d)
	}
	if d := diagnose(t, s, f.desc(all[9]), f.desc(all[3])); d.Works || !has(d, "no answer", f.desc(all[3])) {
		t.Errorf("to the mute one: %+v", d)
	}
	f.Fabric.Unplug(net.End{Node: all[3], Port: 1})
	f.pass(time.Minute)
	s = newSubnet(f.m.View, nil)
	for _, name := range []string{lid.String(), f.net.Nodes[all[3]].Ports[1].GUID.String()} {
		if d := diagnose(t, s, name, ""); d.State != "absent" || !has(d, "absent", "LID "+lid.String()+" is reserved") {
			t.Errorf("gone, by %s: %+v", name, d)
		}
		if d := diagnose(t, s, f.desc(all[1]), name); d.State != "absent" {
			t.Errorf("to the one that is gone: %+v", d)
		}
	}
}

// TestDiagnoseAdaptiveRouting: while it is on somewhere no links are brought up.
func TestDiagnoseAdaptiveRouting(t *testing.T) {
	n := generate(t, "fattree:k=4")
	f := bringUp(t, n, func(_ int32, node *net.Node, c *fabric.Caps) {
		if c.NVIDIA = true; node.Type == mad.Switch {
			c.AR = fabric.AROn
		}
	})
	if d := diagnose(t, newSubnet(f.m.View, nil), f.leaf(hosts(n)[4]), ""); d.Works || !has(d, "no routes", "adaptive routing is on") {
		t.Errorf("%+v", d)
	}
}

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
		d := diagnose(t, s, v.Topo.Nodes[v.Topo.Switches[0]].Desc.String()+":1", "")
		if len(d.Reasons) != 1 || kinds[d.Reasons[0].Kind] || d.Physical != phys.String() {
			t.Errorf("%v: %+v", phys, d.Reasons)
		}
		kinds[d.Reasons[0].Kind] = true
	}
}

// TestDiagnoseAggregation: the last port of NVIDIA's switches has no connector; a cable
// is asked for at the others only.
func TestDiagnoseAggregation(t *testing.T) {
	for ports, special := range map[uint8]bool{36: false, 37: true, 40: false, 41: true, 65: true, 81: true, 129: true} {
		n, err := net.Parse("f", fmt.Appendf(nil, "vendid=0x2c9\nSwitch %d \"s\" # \"sw\" base port 0 lid 0 lmc 0\n[1] \"h\"\n\nCa 1 \"h\"\n[1] \"s\"[1]\n", ports))
		if err != nil {
			t.Fatal(err)
		}
		s := newSubnet(bringUp(t, n, nil).m.View, nil)
		for num, want := range map[uint8]string{2: "no signal", ports: map[bool]string{true: "no aggregation node", false: "no signal"}[special]} {
			d := diagnose(t, s, fmt.Sprintf("sw:%d", num), "")
			if len(d.Reasons) != 1 || d.Reasons[0].Kind != want || strings.Contains(d.Reasons[0].Do, "cable") != (want == "no signal") {
				t.Errorf("port %d of %d: %+v, want %q", num, ports, d.Reasons, want)
			}
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
	chosen := partitions.Begin(partitions.Reading{Name: "p.conf", Text: []byte(text)}, nil, true)
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
		{3, 4, "no common P_Key", []string{`a full member of "red"`, `a full member of "blue", P_Key 0x0002`, "p.conf:3:11", "p.conf:2:"}},
	} {
		d := diagnose(t, newSubnet(v, nil), guid(c.a), guid(c.b))
		if d.Works != (c.kind == "") {
			t.Errorf("%d to %d: %+v", c.a, c.b, d.Reasons)
		}
		for _, text := range c.texts {
			if !has(d, c.kind, text) {
				t.Errorf("%d to %d: nothing about %q in %+v", c.a, c.b, text, d.Reasons)
			}
		}
	}
	for _, r := range append(diagnose(t, newSubnet(v, nil), guid(3), guid(4)).Reasons, diagnose(t, newSubnet(v, nil), guid(1), guid(2)).Reasons...) {
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
	if d := diagnose(t, newSubnet(v, nil), guid(3), guid(1)); !has(d, "P_Keys not written", "does not have") {
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
	if d := diagnose(t, s, a, b); !d.Works || len(d.Reasons) > 0 {
		t.Fatalf("%+v", d.Reasons)
	}
	w := s.walk(from, to, v.LIDs.Base[to])
	mid := v.Topo.FindNode(mustGUID(t, w.path.Hops[3].Node))
	out := v.Topo.Port(mid, w.path.Hops[3].Out)
	v.Topo.Ports[out].Info.SetNeighborMTU(mad.MTU1024)
	v.Topo.Ports[out].Info.SetLinkWidthActive(mad.Width1x)
	if d := diagnose(t, s, a, b); !d.Works || !has(d, "lower MTU", "MTU of 1024") || !has(d, "lower rate", "Gb/s") {
		t.Errorf("a slow link: %+v", d.Reasons)
	}
	row := slices.Clone(v.Tables.LFT[v.Topo.Nodes[mid].Switch])
	v.Tables.LFT[v.Topo.Nodes[mid].Switch] = row
	row[v.LIDs.Base[to]] = routing.NoPath
	if d := diagnose(t, s, a, b); d.Works || !has(d, "no route", "1 of its 2 LIDs") {
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

// TestDiagnoseAll: every port of a node that was read and does not work is listed: external
// ports of switches and ports of adapters that are not Active, and those of a node that no
// longer answers. Port 0 has no link, and nothing is known of a port that was not read.
func TestDiagnoseAll(t *testing.T) {
	f := bringUp(t, generate(t, "fattree:k=4"), nil)
	tp := f.m.View.Topo
	list := func() (ports []string) {
		rows, err := newSubnet(f.m.View, nil).Diagnose("", "")
		if err != nil {
			t.Fatal(err)
		}
		for d := range rows {
			ports = append(ports, fmt.Sprintf("%s:%d", d.Port.Node, d.Port.Port))
		}
		return ports
	}
	if ports := list(); len(ports) > 0 {
		t.Fatalf("a fabric without faults has %v", ports)
	}
	sw, other, host := tp.Switches[0], tp.Switches[1], tp.Port(tp.FindNode(f.net.Nodes[hosts(f.net)[2]].GUID), 1)
	tp.Ports[tp.Port(sw, 0)].Info.SetPortState(smp.PortDown) // of a base port 0 the state means nothing (IBA 14.2.5.6)
	tp.Ports[tp.Port(sw, 1)].Info.SetPortState(smp.PortInit)
	tp.Ports[tp.Port(sw, 2)].Info.SetPortState(smp.PortDown)
	tp.Ports[tp.Port(sw, 2)].Seen = false
	tp.Nodes[other].Missed = 1
	tp.Ports[host].Info.SetPortState(smp.PortArmed)
	want := []string{fmt.Sprintf("%v:1", tp.Nodes[sw].GUID), fmt.Sprintf("%v:1", tp.Nodes[tp.Ports[host].Node].GUID)}
	for num := uint8(1); num <= tp.Nodes[other].NumPorts; num++ {
		want = append(want, fmt.Sprintf("%v:%d", tp.Nodes[other].GUID, num))
	}
	got := list()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("listed are %v, want %v", got, want)
	}
}
