package fabric

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/fabric/net"
	"ibsm/mad/smp"
)

// twoSwitches is the fabric of four adapters at two 8-port switches: H1 and H2 at
// ports 1 and 2 of SW1, H3 and H4 at those of SW2, the switches joined at ports 7.
func twoSwitches() *net.Net {
	n := &net.Net{}
	add := func(id string, typ mad.NodeType, guid mad.GUID, ports int) int32 {
		d := net.Node{ID: id, Desc: id, Type: typ, GUID: guid, SystemImageGUID: guid, VendorID: 0x2c9, DeviceID: 0xd2f0,
			Ports: make([]net.Port, ports+1)}
		for i := range d.Ports {
			d.Ports[i] = net.Port{Peer: net.NoEnd, Speed: mad.HDR}
			if typ != mad.Switch && i > 0 {
				d.Ports[i].GUID = guid + mad.GUID(i)
			}
		}
		n.Nodes = append(n.Nodes, d)
		return int32(len(n.Nodes) - 1)
	}
	join := func(a int32, pa uint8, b int32, pb uint8) {
		n.Nodes[a].Ports[pa].Peer = net.End{Node: b, Port: pb}
		n.Nodes[b].Ports[pb].Peer = net.End{Node: a, Port: pa}
	}
	sw1, sw2 := add("SW1", mad.Switch, 0x200000, 8), add("SW2", mad.Switch, 0x200010, 8)
	for i, sw := range []int32{sw1, sw1, sw2, sw2} {
		h := add([]string{"H1", "H2", "H3", "H4"}[i], mad.CA, 0x100000+mad.GUID(i)<<4, 1)
		join(h, 1, sw, uint8(i%2+1))
	}
	join(sw1, 7, sw2, 7)
	return n
}

// Node indexes of twoSwitches.
const (
	sw1 int32 = iota
	sw2
	h1
	h2
	h3
	h4
)

func attach(t testing.TB, f *Fabric, node int32, port uint8) *Station {
	t.Helper()
	s, err := f.Attach(net.End{Node: node, Port: port})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends one directed-route request and returns the answer; ok is false when
// none came.
func ask(s *Station, m mad.Method, a mad.AttrID, mod uint32, data *[64]byte, path ...uint8) (mad.Packet, bool) {
	var d [1]mad.Datagram
	r := mad.MakeRoute(path...)
	d[0].LID = mad.PermissiveLID
	d[0].Packet.SetDirected(&r, m, a, mod)
	d[0].Packet.SetTID(77)
	if data != nil {
		*d[0].Packet.Data() = *data
	}
	s.Send(d[:])
	n := s.Recv(d[:])
	return d[0].Packet, n == 1 && d[0].Packet.TID() == 77
}

func TestNodeInfoAlongPath(t *testing.T) {
	f := New(twoSwitches(), Config{})
	s := attach(t, f, h2, 1)
	p, ok := ask(s, mad.MethodGet, smp.AttrNodeInfo, 0, nil, 1)
	if !ok || p.Status() != 0 {
		t.Fatal(ok, p.Status(), f.Stats())
	}
	ni := smp.NodeInfo(*p.Data())
	if ni.LocalPortNum() != 2 || ni.NodeGUID() != 0x200000 {
		t.Errorf("got %v", ni)
	}
}
