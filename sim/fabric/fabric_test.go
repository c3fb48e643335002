package fabric

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// Nodes of twoSwitches.
const (
	sw1 int32 = iota
	sw2
	h1
	h2
	h3
	h4
)

// twoSwitches is the fabric that the captured packets come from: H1 and H2 at ports
// 1 and 2 of SW1, H3 and H4 at those of SW2, the switches joined at ports 7.
func twoSwitches() *net.Net {
	n := &net.Net{Profile: net.Ideal}
	n.Nodes = append(n.Nodes, newNode("SW1", mad.Switch, 0x200000, 8), newNode("SW2", mad.Switch, 0x200010, 8))
	for i, id := range []string{"H1", "H2", "H3", "H4"} {
		n.Nodes = append(n.Nodes, newNode(id, mad.CA, 0x100000+mad.GUID(i)<<4, 1))
		join(n, h1+int32(i), 1, int32(i/2), uint8(i%2+1))
	}
	join(n, sw1, 7, sw2, 7)
	return n
}

func newNode(id string, typ mad.NodeType, guid mad.GUID, ports int) net.Node {
	d := net.Node{ID: id, Desc: id, Type: typ, GUID: guid, SystemImageGUID: guid, VendorID: 0x2c9, DeviceID: 0xd2f0,
		Ports: make([]net.Port, ports+1)}
	for i := range d.Ports {
		d.Ports[i] = net.Port{Peer: net.NoEnd, Speed: mad.HDR}
		if typ != mad.Switch && i > 0 {
			d.Ports[i].GUID = guid + mad.GUID(i)
		}
	}
	return d
}

func join(n *net.Net, a int32, pa uint8, b int32, pb uint8) {
	n.Nodes[a].Ports[pa].Peer = net.End{Node: b, Port: pb}
	n.Nodes[b].Ports[pb].Peer = net.End{Node: a, Port: pa}
}

func end(node int32, port uint8) net.End { return net.End{Node: node, Port: port} }

func attach(t testing.TB, f *Fabric, node int32, port uint8) *Station {
	t.Helper()
	s, err := f.Attach(end(node, port))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// client asks questions by directed route from a station.
type client struct {
	t    testing.TB
	s    *Station
	mkey mad.MKey
}

func newClient(t testing.TB, f *Fabric, node int32) *client {
	return &client{t: t, s: attach(t, f, node, 1)}
}

// request sends one SMP along a path and returns what comes back, nil for nothing.
func (c *client) request(m mad.Method, a mad.AttrID, mod uint32, data [64]byte, path ...uint8) *mad.Packet {
	c.t.Helper()
	var d [2]mad.Datagram
	r := mad.MakeRoute(path...)
	d[0].LID = mad.PermissiveLID
	d[0].Packet.SetDirected(&r, m, a, mod)
	d[0].Packet.SetTID(77)
	d[0].Packet.SetMKey(c.mkey)
	*d[0].Packet.Data() = data
	c.s.Send(d[:1])
	switch n := c.s.Recv(d[:]); {
	case n == 0:
		return nil
	case n > 1 || d[0].Packet.TID() != 77 || d[0].Packet.Method() != mad.MethodGetResp:
		c.t.Fatalf("%d packets came back, the first % x", n, d[0].Packet[:24])
	}
	return &d[0].Packet
}

func (c *client) get(a mad.AttrID, mod uint32, path ...uint8) [64]byte {
	c.t.Helper()
	p := c.request(mad.MethodGet, a, mod, [64]byte{}, path...)
	if p == nil || p.Status() != mad.StatusOK {
		c.t.Fatalf("Get %s %#x along %v: %v", smp.AttrName(a), mod, path, describe(p))
	}
	return *p.Data()
}

func (c *client) set(a mad.AttrID, mod uint32, data [64]byte, path ...uint8) mad.Status {
	c.t.Helper()
	p := c.request(mad.MethodSet, a, mod, data, path...)
	if p == nil {
		c.t.Fatalf("Set %s %#x along %v: no answer", smp.AttrName(a), mod, path)
	}
	return p.Status()
}

func describe(p *mad.Packet) string {
	if p == nil {
		return "no answer"
	}
	return p.Status().String()
}

// change sets PortInfo as a manager does: what was read, states kept, and edit.
func (c *client) change(port uint8, edit func(*smp.PortInfo), path ...uint8) mad.Status {
	c.t.Helper()
	pi := smp.PortInfo(c.get(smp.AttrPortInfo, smp.PortInfoMod(port, true), path...))
	pi.KeepStates()
	edit(&pi)
	return c.set(smp.AttrPortInfo, smp.PortInfoMod(port, true), pi, path...)
}

func (c *client) mustChange(port uint8, edit func(*smp.PortInfo), path ...uint8) {
	c.t.Helper()
	if st := c.change(port, edit, path...); st != mad.StatusOK {
		c.t.Fatalf("Set PortInfo %d along %v: %v", port, path, st)
	}
}

// lids are those that OpenSM gave the nodes of twoSwitches in the captures.
var lids = [...]mad.LID{sw1: 2, sw2: 3, h1: 1, h2: 4, h3: 5, h4: 6}

// paths lead from H1 to the nodes of twoSwitches.
var paths = [...][]uint8{sw1: {1}, sw2: {1, 7}, h1: {}, h2: {1, 2}, h3: {1, 7, 1}, h4: {1, 7, 2}}

// bringUp does what a manager at H1 does: LIDs, tables, and all links Active.
func bringUp(t testing.TB, f *Fabric) *client {
	t.Helper()
	c := newClient(t, f, h1)
	for node, path := range paths {
		c.mustChange(0, func(pi *smp.PortInfo) {
			pi.SetLID(lids[node])
			pi.SetMasterSMLID(lids[h1])
		}, path...)
	}
	tables := map[int32][7]uint8{sw1: {255, 1, 0, 7, 2, 7, 7}, sw2: {255, 7, 7, 0, 7, 1, 2}}
	for node := range sw2 + 1 {
		si := smp.SwitchInfo(c.get(smp.AttrSwitchInfo, 0, paths[node]...))
		si.SetLinearFDBTop(6)
		si.SetPortStateChange(true)
		lft := [64]byte{}
		for i := range lft {
			lft[i] = noPort
		}
		row := tables[node]
		copy(lft[:], row[:])
		if a, b := c.set(smp.AttrSwitchInfo, 0, si, paths[node]...),
			c.set(smp.AttrLinearForwardingTable, 0, lft, paths[node]...); a|b != 0 {
			t.Fatal(a, b)
		}
	}
	for _, state := range []smp.PortState{smp.PortArmed, smp.PortActive} {
		for node, path := range paths {
			ports := []uint8{0}
			if int32(node) <= sw2 {
				ports = []uint8{1, 2, 7}
			}
			for _, port := range ports {
				c.mustChange(port, func(pi *smp.PortInfo) { pi.SetPortState(state) }, path...)
			}
		}
	}
	if at, ok := f.FirstNotActive(); ok {
		t.Fatalf("not active: %v", at)
	}
	return c
}
