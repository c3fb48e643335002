package playback

import (
	"fmt"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// place is where a route leads: a device, and the port of it that the route comes in by.
type place struct {
	device int32
	in     uint8
}

// device is what the recording shows of a node.
type device struct {
	tapes map[key]*tape
	known bool // it has answered NodeInfo
	info  smp.NodeInfo
	ports map[uint8]*smp.PortInfo // as they were read first
	sw    *smp.SwitchInfo         // likewise; nil if it was not read
}

// builder makes devices of exchanges.
type builder struct {
	net     *net.Net
	devices []device
	byGUID  map[mad.GUID]int32
	places  map[mad.Route]place
	lids    map[mad.LID]int32
	ports   int // of all nodes
	lost    int // exchanges whose device is not known
}

// routeOf is where a request goes; ok is false where that is by LID, in part or altogether.
func routeOf(p *mad.Packet) (r mad.Route, ok bool) {
	hops := int(p.HopCount())
	if p.MgmtClass() != mad.ClassDirected || hops > mad.MaxHops || p.DrSLID() != mad.PermissiveLID ||
		p.DrDLID() != mad.PermissiveLID {
		return r, false
	}
	return mad.MakeRoute(p.InitialPath()[1 : 1+hops]...), true
}

// find adds the device that has answered NodeInfo.
func (b *builder) find(e *exchange) error {
	route, ok := routeOf(&e.request.Packet)
	if !ok || !e.succeeded() || e.request.Packet.AttrID() != smp.AttrNodeInfo || e.isSet() {
		return nil
	}
	info := *(*smp.NodeInfo)(e.response.Data())
	isSwitch := info.NodeType() == mad.Switch
	in := info.LocalPortNum()
	switch {
	case info.NodeGUID() == 0 || info.NumPorts() == 0 || info.NumPorts() > 254 || in > info.NumPorts() || in == 0 &&
		(!isSwitch || route.Hops() > 0),
		info.NodeType() < mad.CA || info.NodeType() > mad.Router:
		return nil // what it says cannot be played back in a fabric; its responses are
	}
	if _, is := b.places[route]; is {
		return nil
	}
	i, is := b.byGUID[info.NodeGUID()]
	if !is {
		n := net.Node{
			ID: fmt.Sprintf("%c-%016x", info.NodeType().String()[0], uint64(info.NodeGUID())), Type: info.NodeType(),
			GUID:            info.NodeGUID(),
			SystemImageGUID: info.SystemImageGUID(), VendorID: info.VendorID(), DeviceID: info.DeviceID(),
		}
		var err error
		if i, err = b.add(n, int(info.NumPorts())); err != nil {
			return err
		}
		b.byGUID[info.NodeGUID()] = i
		b.devices[i].known, b.devices[i].info = true, info
	} else if have := &b.devices[i].info; have.NumPorts() != info.NumPorts() || have.NodeType() != info.NodeType() {
		return nil // two devices with one GUID
	}
	b.places[route] = place{i, in}
	if isSwitch {
		in = 0
	}
	b.net.Nodes[i].Ports[in].GUID = info.PortGUID()
	return nil
}

// add adds a node without cables.
func (b *builder) add(n net.Node, ports int) (int32, error) {
	if b.ports += ports + 1; len(b.devices) >= net.MaxNodes || b.ports > net.MaxPorts {
		return 0, fmt.Errorf("more than %d devices or %d ports", net.MaxNodes, net.MaxPorts)
	}
	n.Ports = slices.Repeat([]net.Port{{Peer: net.NoEnd}}, ports+1)
	b.net.Nodes = append(b.net.Nodes, n)
	b.devices = append(b.devices, device{tapes: map[key]*tape{}, ports: map[uint8]*smp.PortInfo{}})
	return int32(len(b.devices) - 1), nil
}

// before is the port that a route leaves its last switch by; ok is false where none such is known.
func (b *builder) before(r *mad.Route) (at net.End, ok bool) {
	ports := r.Ports()
	if len(ports) == 0 {
		return net.NoEnd, false
	}
	last := ports[len(ports)-1]
	from, ok := b.places[mad.MakeRoute(ports[:len(ports)-1]...)]
	if !ok || last == 0 || int(last) > b.net.Nodes[from.device].NumPorts() {
		return net.NoEnd, false
	}
	return net.End{Node: from.device, Port: last}, true
}

// ownGUID is a locally administered one.
const ownGUID mad.GUID = 0x0200000000000001

// own is the port that the manager is at. What it asks its own node is on no wire, and not in a capture of ibdump: then
// the node becomes an adapter.
func (b *builder) own(all []exchange) (place, error) {
	if at, ok := b.places[mad.Route{}]; ok {
		return at, nil
	}
	port := uint8(1)
	for i := range all {
		if route, ok := routeOf(&all[i].request.Packet); ok && route.Hops() > 0 {
			port = min(max(route.Ports()[0], 1), 254)
			break
		}
	}
	i, err := b.add(net.Node{ID: "manager", Desc: "manager", Type: mad.CA, GUID: ownGUID, SystemImageGUID: ownGUID},
		int(port))
	if err != nil {
		return place{}, err
	}
	b.net.Nodes[i].Ports[port].GUID = ownGUID + 1
	d := &b.devices[i]
	d.known = true
	d.info.SetNodeType(mad.CA)
	at := place{i, port}
	b.places[mad.Route{}] = at
	return at, nil
}

func (b *builder) port(at net.End) *net.Port { return &b.net.Nodes[at.Node].Ports[at.Port] }

// cable connects the end of a route with the switch before it, unless one of the ports has a cable.
func (b *builder) cable(e *exchange) {
	route, ok := routeOf(&e.request.Packet)
	if !ok {
		return
	}
	to, known := b.places[route]
	from, ok := b.before(&route)
	if end := (net.End{Node: to.device, Port: to.in}); known && ok {
		b.connect(from, end)
	}
}

func (b *builder) connect(from, to net.End) {
	if from != to && to.Port != 0 && b.port(from).Peer.Node < 0 && b.port(to).Peer.Node < 0 {
		b.port(from).Peer, b.port(to).Peer = to, from
	}
}

// placeOf is where a request went. A device at the end of a route that has not said what it is becomes an adapter.
func (b *builder) placeOf(p *mad.Packet, lid mad.LID) (at place, ok bool, err error) {
	route, directed := routeOf(p)
	if !directed {
		i, ok := b.lids[lid]
		return place{device: i}, ok && p.MgmtClass() != mad.ClassDirected, nil
	}
	if at, ok = b.places[route]; ok {
		return at, true, nil
	}
	from, ok := b.before(&route)
	if !ok {
		return at, false, nil
	}
	if peer := b.port(from).Peer; peer.Node >= 0 {
		at = place{peer.Node, peer.Port}
	} else {
		i, err := b.add(net.Node{ID: fmt.Sprintf("unknown-%d", len(b.devices)), Type: mad.CA}, 1)
		if err != nil {
			return at, false, err
		}
		at = place{i, 1}
		b.connect(from, net.End{Node: i, Port: 1})
	}
	b.places[route] = at
	return at, true, nil
}

// tape puts an exchange on its tape.
func (b *builder) tape(e *exchange) error {
	p := &e.request.Packet
	at, ok, err := b.placeOf(p, e.request.LID)
	if err != nil {
		return err
	}
	if !ok {
		b.lost++
		return nil
	}
	d := &b.devices[at.device]
	k := keyOf(p, b.net.Nodes[at.device].Type == mad.Switch, at.in)
	t := d.tapes[k]
	if t == nil {
		t = &tape{}
		d.tapes[k] = t
	}
	if len(t.exchanges) == maxTape {
		b.lost++
		return nil
	}
	t.exchanges = append(t.exchanges, *e)
	return nil
}

// learn takes from a response what a plain device needs to know, and LIDs.
func (b *builder) learn(e *exchange) {
	p := &e.request.Packet
	route, ok := routeOf(p)
	at, known := b.places[route]
	if !ok || !known || !e.succeeded() {
		return
	}
	d, n := &b.devices[at.device], &b.net.Nodes[at.device]
	isSwitch := n.Type == mad.Switch
	switch p.AttrID() {
	case smp.AttrNodeDescription:
		n.Desc = (*smp.NodeDescription)(e.response.Data()).String()
	case smp.AttrSwitchInfo:
		if d.sw == nil && !e.isSet() {
			d.sw = (*smp.SwitchInfo)(e.response.Data())
			n.EnhancedPort0 = d.sw.EnhancedPort0()
		}
	case smp.AttrPortInfo:
		info, num := (*smp.PortInfo)(e.response.Data()), uint8(p.AttrMod())
		if num == 0 && !isSwitch {
			num = at.in
		}
		if int(num) > n.NumPorts() {
			return
		}
		if d.ports[num] == nil && !e.isSet() {
			d.ports[num] = info
		}
		if num == 0 || !isSwitch {
			for l := info.LID(); l.IsUnicast() && int(l) < int(info.LID())+1<<info.LMC(); l++ {
				b.lids[l] = at.device
			}
		}
	}
}

// dress gives the ports of a node the width and speed of their links.
func (b *builder) dress(i int) {
	d, n := &b.devices[i], &b.net.Nodes[i]
	for num := range n.Ports {
		info, own := d.ports[uint8(num)], d.ports[uint8(num)]
		if n.Type == mad.Switch {
			own = d.ports[0]
		}
		if info == nil || own == nil || info.PortState() <= smp.PortDown {
			continue
		}
		n.Ports[num].Speed = info.LinkSpeed(own.CapabilityMask(), own.CapabilityMask2())
		if w := info.LinkWidthActive(); w.Lanes() > 0 {
			n.Ports[num].Width = w
		}
	}
}
