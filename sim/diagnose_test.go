package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// managed is a simulated fabric and a manager at its first host.
type managed struct {
	*harness
	m *watched
}

// bringUp lets a manager bring a fabric up, of which some nodes are not as usual.
func bringUp(t *testing.T, n *net.Net, caps func(int32, *net.Node, *fabric.Caps), unresponsive ...int32) *managed {
	t.Helper()
	b := newHarness(t, n, fabric.Config{Caps: caps})
	for _, node := range unresponsive {
		b.Fabric.SetUnresponsive(node, true)
	}
	f := &managed{b, b.add(firstHost(n), minhopConfig())}
	f.pass(settling)
	if f.m.View == nil {
		t.Fatal("no view was published")
	}
	return f
}

// adapters are the nodes of a fabric that are adapters.
func adapters(n *net.Net) (all []int32) {
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			all = append(all, int32(i))
		}
	}
	return all
}

// desc is the name of a node.
func (w *managed) desc(node int32) string { return w.net.Nodes[node].Desc }

// leaf is the switch port before a host, as NODE:PORT.
func (w *managed) leaf(host int32) string {
	at := w.net.Nodes[host].Ports[1].Peer
	return w.desc(at.Node) + ":" + string('0'+rune(at.Port))
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
	for name, c := range ordered(map[string]struct {
		defect       fabric.Defect
		change       func(n *net.Net, host int32)
		unresponsive bool
		kind         string
		text         string
		state        string
	}{
		"cut": {change: func(n *net.Net, h int32) {
			uncable(n, h)
		}, kind: "no signal", text: "no cable", state: "Down"},
		"unresponsive": {unresponsive: true, kind: "nothing answers", text: "no answer behind the port",
			state: "Initialize"},
		"refuses": {defect: portInfo(nil, mad.StatusBadMethodAttr, true), kind: "refused",
			text: "stays Initialize", state: "Armed"},
		"no answer": {defect: portInfo(nil, 0, false), kind: "no answer", text: "no answer to Set(PortInfo)",
			state: "Armed"},
		"locked": {defect: portInfo(lock, 0, false), kind: "M_Key", text: "protected by an M_Key",
			state: "Armed"},
		"duplicate": {change: func(n *net.Net, h int32) {
			n.Nodes[h].Ports[1].GUID = n.Nodes[adapters(n)[1]].Ports[1].GUID
		}, kind: "duplicate GUID", text: "Found duplicated port GUID", state: "Initialize"},
	}) {
		t.Run(name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			host := adapters(n)[victim]
			f := &managed{harness: &harness{net: n}}
			leaf := f.leaf(host)
			if c.change != nil {
				c.change(n, host)
			}
			unresponsive := []int32{host}[:0]
			if c.unresponsive {
				unresponsive = append(unresponsive, host)
			}
			f = bringUp(t, n, func(node int32, _ *net.Node, caps *fabric.Caps) {
				if node == host {
					caps.Defect = c.defect
				}
			}, unresponsive...)
			s := server.Show(f.m.View)
			d := ctltest.Diagnose(t, s, leaf, "")
			if d.Works || d.State != c.state || !ctltest.HasReason(d, c.kind, c.text) {
				t.Errorf("%s is %s: %+v", leaf, d.State, d.Reasons)
			}
			rows, _ := s.Diagnose("", "")
			found := 0
			for d := range rows {
				if name := d.Port.Desc; name != f.desc(host) && name != strings.Split(leaf, ":")[0] ||
					len(d.Reasons) == 0 {
					t.Errorf("%s port %d is listed too: %+v", name, d.Port.Port, d.Reasons)
				}
				found++
			}
			if found == 0 {
				t.Error("no port is listed")
			}
			others := adapters(n)
			if d := ctltest.Diagnose(t, s, f.desc(others[1]), f.desc(others[2])); !d.Works {
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
	n := nettest.Generate(t, "fattree:k=4")
	f := bringUp(t, n, nil)
	all := adapters(n)
	s := server.Show(f.m.View)
	if d := ctltest.Diagnose(t, s, f.desc(all[3]), f.desc(all[9])); !d.Works || d.To == nil || len(d.Reasons) != 0 {
		t.Errorf("in good health: %+v", d.Reasons)
	}
	rows, err := s.Diagnose("", "")
	if err != nil {
		t.Fatal(err)
	}
	for d := range rows {
		t.Errorf("in good health %s port %d is %s", d.Port.Desc, d.Port.Port, d.State)
	}
	v := f.m.View
	lid := v.LIDs.Base[v.Topo.FindPort(f.net.Nodes[all[3]].Ports[1].GUID)]
	f.Fabric.SetUnresponsive(all[3], true)
	f.Ask(f.m.Manager, manager.Heavy)
	f.pass(5 * time.Second)
	s = server.Show(f.m.View)
	if d := ctltest.Diagnose(t, s, f.desc(all[3]), ""); d.Works ||
		!ctltest.HasReason(d, "no answer", "has not answered") {
		t.Errorf("unresponsive: %+v", d)
	}
	if d := ctltest.Diagnose(t, s, f.desc(all[9]), f.desc(all[3])); d.Works ||
		!ctltest.HasReason(d, "no answer", f.desc(all[3])) {
		t.Errorf("to the unresponsive one: %+v", d)
	}
	f.Fabric.Unplug(net.End{Node: all[3], Port: 1})
	f.pass(time.Minute)
	s = server.Show(f.m.View)
	for _, name := range []string{lid.String(), f.net.Nodes[all[3]].Ports[1].GUID.String()} {
		if d := ctltest.Diagnose(t, s, name, ""); d.State != "absent" ||
			!ctltest.HasReason(d, "absent", "LID "+lid.String()+" is reserved") {
			t.Errorf("gone, by %s: %+v", name, d)
		}
		if d := ctltest.Diagnose(t, s, f.desc(all[1]), name); d.State != "absent" {
			t.Errorf("to the one that is gone: %+v", d)
		}
	}
}

// TestDiagnoseAdaptiveRouting: a switch that has lost it carries data, and says so.
func TestDiagnoseAdaptiveRouting(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	f := bringUp(t, n, func(_ int32, node *net.Node, c *fabric.Caps) {
		if c.NVIDIA = true; node.Type == mad.Switch {
			c.AR = fabric.AROn
		}
	})
	if d := ctltest.Diagnose(t, server.Show(f.m.View), f.leaf(adapters(n)[4]), ""); !d.Works ||
		!ctltest.HasReason(d, "no longer adaptive", "adaptive routing is now off") {
		t.Errorf("%+v", d)
	}
}

// TestDiagnoseAll: every port of a node that was read and does not work is listed: external
// ports of switches and ports of adapters that are not Active, and those of a node that no
// longer answers. Port 0 has no link, and nothing is known of a port that was not read.
func TestDiagnoseAll(t *testing.T) {
	f := bringUp(t, nettest.Generate(t, "fattree:k=4"), nil)
	tp := f.m.View.Topo
	list := func() (ports []string) {
		rows, err := server.Show(f.m.View).Diagnose("", "")
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
	sw, other, host := tp.Switches[0], tp.Switches[1], tp.Port(tp.FindNode(f.net.Nodes[adapters(f.net)[2]].GUID), 1)
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
