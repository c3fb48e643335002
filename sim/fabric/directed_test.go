package fabric

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/smp"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// The answer to a captured request is the captured answer, but for what ibsim makes
// up: the TID's upper half, ReturnPath[0], the revision, and what it cuts off.
func TestNodeInfoAsCaptured(t *testing.T) {
	f := New(twoSwitches(), Config{Caps: func(_ int32, _ *net.Node, c *Caps) { c.PartitionCap = 8 }})
	s := attach(t, f, h2, 1)
	d := []mad.Datagram{{Addr: mad.Addr{LID: mad.PermissiveLID}, Packet: madtest.Packet(t, "umad-node-info-get")}}
	s.Send(d)
	if n := s.Recv(d); n != 1 {
		t.Fatalf("%d answers", n)
	}
	got, want := d[0].Packet, madtest.Packet(t, "umad-node-info-resp")
	want.SetTID(got.TID())
	want.ReturnPath()[0] = 0
	ni := (*smp.NodeInfo)(want.Data())
	ni.SetRevision(0)
	if [224]byte(got[:]) != [224]byte(want[:]) {
		t.Errorf("got\n% x, want\n% x", got[:224], want[:224])
	}
	if d[0].LID != mad.PermissiveLID || d[0].QPN != 0 {
		t.Errorf("from %+v", d[0].Addr)
	}
}

func TestDirectedRoutes(t *testing.T) {
	n := twoSwitches()
	n.Nodes = append(n.Nodes, newNode("SW3", mad.Switch, 0x200020, 4))
	sw3 := int32(len(n.Nodes) - 1)
	join(n, sw3, 1, sw3, 1) // a loopback plug
	join(n, sw3, 2, sw1, 8)
	long := make([]uint8, mad.MaxHops)
	for i := range long {
		long[i] = 7
	}
	long[0] = 1
	tests := []struct {
		name  string
		from  net.End
		path  []uint8
		want  mad.GUID // of the node reached, 0 for none
		local uint8
		drop  Drop
	}{
		{name: "own node", from: end(h1, 1), want: 0x100000, local: 1},
		{name: "one hop", from: end(h1, 1), path: []uint8{1}, want: 0x200000, local: 1},
		{name: "three hops", from: end(h1, 1), path: []uint8{1, 7, 2}, want: 0x100030, local: 1},
		{name: "back to itself", from: end(h1, 1), path: []uint8{1, 1}, want: 0x100000, local: 1},
		{name: "longest", from: end(h1, 1), path: long, want: 0x200000, local: 7},
		{name: "through a loopback plug", from: end(h1, 1), path: []uint8{1, 8, 1}, want: 0x200020, local: 1},
		{name: "from a switch", from: end(sw2, 0), path: []uint8{7, 1}, want: 0x100000, local: 1},
		{name: "from a switch to itself", from: end(sw2, 0), want: 0x200010},
		{name: "through an adapter", from: end(h1, 1), path: []uint8{1, 2, 1}, drop: DropNotSwitch},
		{name: "wrong own port", from: end(h1, 1), path: []uint8{2}, drop: DropNoPort},
		{name: "port 0", from: end(h1, 1), path: []uint8{1, 0}, drop: DropNoPort},
		{name: "no such port", from: end(h1, 1), path: []uint8{1, 9}, drop: DropNoPort},
		{name: "no cable", from: end(h1, 1), path: []uint8{1, 5}, drop: DropLinkDown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := New(n, Config{})
			c := &client{t: t, s: attach(t, f, tt.from.Node, tt.from.Port)}
			p := c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, tt.path...)
			if tt.want == 0 {
				if p != nil || f.Stats().Drops[tt.drop] != 1 {
					t.Fatalf("%s, drops %v, want %v", describe(p), f.Stats().Drops, tt.drop)
				}
				return
			}
			if p == nil {
				t.Fatalf("no answer: %v", f.Stats().Drops)
			}
			ni := (*smp.NodeInfo)(p.Data())
			if ni.NodeGUID() != tt.want || ni.LocalPortNum() != tt.local {
				t.Errorf("node %v by port %d, want %v by %d", ni.NodeGUID(), ni.LocalPortNum(), tt.want, tt.local)
			}
			if p.HopPointer() != 0 || !p.Returning() {
				t.Errorf("hop pointer %d, D %v", p.HopPointer(), p.Returning())
			}
		})
	}
}

func TestMalformedDirectedRoutes(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(p *mad.Packet)
	}{
		{"64 hops", func(p *mad.Packet) { p[7] = 64 }},
		{"255 hops", func(p *mad.Packet) { p[7] = 255 }},
		{"hop pointer", func(p *mad.Packet) { p.SetHopPointer(1) }},
		{"DrSLID", func(p *mad.Packet) { p[32], p[33] = 0, 1 }},
		{"DrDLID", func(p *mad.Packet) { p[34], p[35] = 0, 1 }},
		{"returning to nobody", func(p *mad.Packet) { p.SetReturning() }},
		{"base version", func(p *mad.Packet) { p[0] = 2 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := New(twoSwitches(), Config{})
			s := attach(t, f, h1, 1)
			d := make([]mad.Datagram, 1)
			r := mad.MakeRoute(1)
			d[0].Packet.SetDirected(&r, mad.MethodGet, smp.AttrNodeInfo, 0)
			tt.spoil(&d[0].Packet)
			s.Send(d)
			if s.Pending() != 0 || f.Stats().Drops[DropMalformed] != 1 {
				t.Errorf("%d answers, drops %v", s.Pending(), f.Stats().Drops)
			}
		})
	}
}

// What a manager answers goes to the station at the port, and its answer finds the
// way back.
func TestSMInfoGoesToTheStation(t *testing.T) {
	f := New(twoSwitches(), Config{})
	c := newClient(t, f, h1)
	if p := c.request(mad.MethodGet, smp.AttrSMInfo, 0, [64]byte{}, 1, 7, 2); p != nil {
		t.Fatal("SMInfo answered where no manager is")
	}
	other := attach(t, f, h4, 1)
	if p := c.request(mad.MethodGet, smp.AttrSMInfo, 0, [64]byte{}, 1, 7, 2); p != nil {
		t.Fatal("the agent answered SMInfo")
	}
	d := make([]mad.Datagram, 2)
	if n := other.Recv(d); n != 1 || d[0].LID != mad.PermissiveLID || d[0].Packet.HopPointer() != 4 {
		t.Fatalf("the manager got %d packets, %+v", n, d[0].Addr)
	}
	d[0].Packet.SetMethod(mad.MethodGetResp)
	d[0].Packet.SetReturning()
	d[0].Packet.Data()[0] = 99
	other.Send(d[:1])
	if n := c.s.Recv(d); n != 1 || d[0].Packet.Data()[0] != 99 || d[0].Packet.HopPointer() != 0 {
		t.Errorf("%d answers, drops %v", n, f.Stats().Drops)
	}
}

// On every kind of generated fabric each node is found where its cables say.
func TestWalkGenerated(t *testing.T) {
	for _, spec := range []string{"fattree:k=8", "fattree:k=8,levels=2", "torus", "mesh", "hypercube", "dragonfly",
		"hyperx", "random", "tree"} {
		n := nettest.Generate(t, spec)
		f := New(n, Config{})
		ca := firstCA(n)
		c := newClient(t, f, ca)
		for i, r := range routes(n, ca) {
			ni := smp.NodeInfo(c.get(smp.AttrNodeInfo, 0, r.Ports()...))
			if ni.NodeGUID() != n.Nodes[i].GUID || ni.NodeType() != n.Nodes[i].Type ||
				int(ni.NumPorts()) != n.Nodes[i].NumPorts() {
				t.Fatalf("%s: along %v: %v, want node %s", spec, r, ni.NodeGUID(), n.Nodes[i].ID)
			}
		}
	}
}
