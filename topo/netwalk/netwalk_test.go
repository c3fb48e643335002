package netwalk

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/topo/net"
)

// summary is what a Topo says, by GUID, so that it can be compared whatever the
// order its Net was in.
func summary(t *topo.Topo) string {
	var b bytes.Buffer
	for i := range t.Nodes {
		n := &t.Nodes[i]
		fmt.Fprintf(&b, "%v %v switch %d route %v\n", n.Type, n.GUID, n.Switch, n.Route)
		for num := range int(n.NumPorts) + 1 {
			if p := &t.Ports[t.Port(topo.NodeIdx(i), uint8(num))]; p.Seen {
				fmt.Fprintf(&b, "  %d guid %v peer %d state %v\n", num, p.GUID, p.Peer, p.Info.PortState())
			}
		}
	}
	fmt.Fprint(&b, t.Switches, t.EndPorts, t.Self)
	return b.String()
}

func twoSwitches(swap bool) *net.Net {
	guids := []mad.GUID{0x20, 0x10}
	if swap {
		slices.Reverse(guids)
	}
	n := &net.Net{}
	for _, g := range guids {
		ports := []net.Port{{GUID: g, Peer: net.NoEnd}, {Peer: net.NoEnd}, {Peer: net.NoEnd}, {Peer: net.NoEnd}}
		n.Nodes = append(n.Nodes, net.Node{Type: mad.Switch, GUID: g, Ports: ports})
	}
	for _, g := range []mad.GUID{0x30, 0x05, 0x40} { // the last one has no cable
		ports := []net.Port{{Peer: net.NoEnd}, {GUID: g + 1, Peer: net.NoEnd}, {GUID: g + 2, Peer: net.NoEnd}}
		n.Nodes = append(n.Nodes, net.Node{Type: mad.CA, GUID: g, Ports: ports})
	}
	at := func(g mad.GUID) int32 {
		return int32(slices.IndexFunc(n.Nodes, func(n net.Node) bool { return n.GUID == g }))
	}
	for _, c := range [][2]net.End{
		{{Node: at(0x10), Port: 1}, {Node: at(0x20), Port: 2}},
		{{Node: at(0x10), Port: 2}, {Node: at(0x05), Port: 1}},
		{{Node: at(0x20), Port: 3}, {Node: at(0x05), Port: 2}},
		{{Node: at(0x20), Port: 1}, {Node: at(0x30), Port: 2}},
	} {
		n.Nodes[c[0].Node].Ports[c[0].Port].Peer, n.Nodes[c[1].Node].Ports[c[1].Port].Peer = c[1], c[0]
	}
	return n
}

// TestLinks: speeds and widths as a file states them, unknown ones too; and an adapter
// without a cable is a subnet.
func TestLinks(t *testing.T) {
	for text, want := range map[string]string{"4xQDR": "4x QDR", "4xNDR": "4x NDR", "2xXDR": "2x XDR", "4x???": "4x ?",
		"??HDR": "?x HDR"} {
		n, err := net.Parse("f", fmt.Appendf(nil, "Ca 1 \"a\"\n[1] \"b\"[1] # lid 1 lmc 0 \"b\" lid 2 %[1]s\n\n"+
			"Ca 1 \"b\"\n[1] \"a\"[1] # lid 2 lmc 0 \"a\" lid 1 %[1]s\n", text))
		if err != nil {
			t.Fatal(err)
		}
		top, err := Topo(n, net.NoEnd)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(top.Ports[top.Self].Info.LinkWidthActive(), " ", top.LinkSpeed(top.Self)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	n, err := net.Parse("f", []byte("Ca 2 \"a\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if top, err := Topo(n, net.NoEnd); err != nil || len(top.Nodes) != 1 || top.Ports[top.Self].Num != 1 {
		t.Errorf("adapter without a cable: %v, %+v", err, top)
	}
}

func TestTopo(t *testing.T) {
	n := twoSwitches(false)
	got, err := Topo(n, net.End{Node: 3, Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Nodes) != 4 || len(got.Switches) != 2 || len(got.EndPorts) != 5 {
		t.Fatalf("%d nodes, %d switches, %d end ports of what is cabled", len(got.Nodes), len(got.Switches),
			len(got.EndPorts))
	}
	var guids []mad.GUID
	for _, p := range got.EndPorts {
		guids = append(guids, got.Ports[p].GUID)
	}
	if !slices.Equal(guids, []mad.GUID{0x06, 0x07, 0x10, 0x20, 0x32}) {
		t.Errorf("end ports %v", guids)
	}
	if self := got.Ports[got.Self]; self.GUID != 0x06 {
		t.Errorf("self is %v", self.GUID)
	}
	for p, port := range got.Ports {
		if port.Peer != topo.None && got.Ports[port.Peer].Peer != topo.PortIdx(p) {
			t.Errorf("port %d: its peer has another", p)
		}
		if up := port.Info.PortState() == smp.PortInit; port.Seen && port.Num > 0 && up != (port.Peer != topo.None) {
			t.Errorf("port %d: up is %v, peer %d", p, up, port.Peer)
		}
	}
	last := &got.Nodes[got.FindNode(0x30)]
	if last.Route.String() != "0,1,1,1" || last.Info.LocalPortNum() != 2 || last.Info.PortGUID() != 0x32 {
		t.Errorf("node 0x30: route %v local port %d GUID %v", last.Route, last.Info.LocalPortNum(),
			last.Info.PortGUID())
	}
	if sw := &got.Nodes[got.Switches[0]].SwitchInfo; sw.LinearFDBCap() != 49152 {
		t.Errorf("LinearFDBCap %d", sw.LinearFDBCap())
	}
}

func TestFromNetOrder(t *testing.T) {
	var got [2]string
	for i := range got {
		n := twoSwitches(i == 1)
		fabric, err := Topo(n, net.End{Node: 3, Port: 1})
		if err != nil {
			t.Fatal(err)
		}
		got[i] = summary(fabric)
	}
	if got[0] != got[1] {
		t.Errorf("the order of the Net matters:\n%s\n%s", got[0], got[1])
	}
}

func TestFromNetRefuses(t *testing.T) {
	if _, err := Topo(&net.Net{}, net.NoEnd); err == nil {
		t.Error("no nodes, no error")
	}
	n := twoSwitches(false)
	n.Nodes[1].GUID = n.Nodes[0].GUID
	if _, err := Topo(n, net.NoEnd); err == nil {
		t.Error("two nodes of one GUID, no error")
	}
}

// Ports for which there is no unicast LID get none: those end at 0xBFFF (IBA 4.1.3).
func TestLIDsRunOut(t *testing.T) {
	const hosts = 0xc000
	fabric := &topo.Topo{Nodes: []topo.Node{{Type: mad.CA}}, Ports: make([]topo.Port, hosts)}
	for p := range topo.PortIdx(hosts) {
		fabric.EndPorts = append(fabric.EndPorts, p)
	}
	for _, c := range []struct {
		lmc  uint8
		last topo.PortIdx // with LIDs
		top  mad.LID
	}{{0, 0xbffe, 0xbfff}, {1, 0x5ffe, 0xbfff}, {7, 0x17e, 0xbfff}} {
		l := topo.SequentialLIDs(fabric, c.lmc)
		if l.Top != c.top || l.PortOf(c.top) != c.last || l.Count(c.last+1) != 0 {
			t.Errorf("LMC %d: LIDs up to 0x%x, the last of port %d; the next port has %d", c.lmc, uint16(l.Top),
				l.PortOf(l.Top), l.Count(c.last+1))
		}
	}
}

func TestSequentialLIDs(t *testing.T) {
	n := twoSwitches(false)
	n.Nodes[1].EnhancedPort0 = true // 0x10
	fabric, err := Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	l := topo.SequentialLIDs(fabric, 2)
	for _, want := range []struct {
		guid  mad.GUID
		base  mad.LID
		count int
	}{{0x06, 4, 4}, {0x07, 8, 4}, {0x10, 12, 4}, {0x20, 16, 1}, {0x32, 20, 4}} {
		p := fabric.FindPort(want.guid)
		if l.Base[p] != want.base || l.Count(p) != want.count {
			t.Errorf("port %v: %d topo.LIDs from %d on, want %d from %d", want.guid, l.Count(p), l.Base[p], want.count,
				want.base)
		}
		for i := range l.Count(p) {
			if lid := l.Base[p] + mad.LID(i); l.PortOf(lid) != p {
				t.Errorf("LID %d: owner %d, want %d", lid, l.PortOf(lid), p)
			}
		}
	}
	if l.Top != 23 || l.PortOf(17) != topo.None || l.PortOf(24) != topo.None {
		t.Errorf("top %d, owners of 17 and 24: %d %d", l.Top, l.PortOf(17), l.PortOf(24))
	}
}
