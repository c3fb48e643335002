package manager

import (
	"slices"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/view"
)

// The sender of a packet. In a directed-route SMP, switches write the return path, so the part of it before the
// sender's port is true, and an answer or another request along it reaches only the sender. A sender that invents the
// beginning of the path makes it lead through its own port, which no switch has and which forwards nothing. A
// LID-routed packet shows only the SLID, which an adapter fills in.

// returnRoute is the directed route back to the sender of a request; ok is false where a part of
// the way was by LID.
func returnRoute(p *mad.Packet) (route mad.Route, ok bool) {
	hops := p.HopCount()
	if p.MgmtClass() != mad.ClassDirected || p.DrSLID() != mad.PermissiveLID || p.DrDLID() != mad.PermissiveLID ||
		hops > mad.MaxHops {
		return route, false
	}
	back := slices.Clone(p.ReturnPath()[1 : 1+hops])
	slices.Reverse(back)
	return mad.MakeRoute(back...), true
}

// senderOf is the end port that sent a request, None if it is not known. v may be nil.
func senderOf(v *view.View, d *mad.Datagram) topo.PortIdx {
	if v == nil {
		return topo.None
	}
	if d.Packet.MgmtClass() != mad.ClassDirected {
		return v.LIDs.PortOf(d.LID)
	}
	route, ok := returnRoute(&d.Packet)
	if !ok {
		return topo.None
	}
	ports := route.Ports()
	for hops := 1; hops < len(ports); hops++ {
		p := v.Topo.Along(ports[:hops])
		if p == topo.None || v.Topo.Nodes[v.Topo.Ports[p].Node].Type != mad.Switch {
			return p // what the path says beyond an adapter is invented
		}
	}
	p := v.Topo.Along(ports)
	if p == topo.None {
		return topo.None
	}
	return v.Topo.EndPort(p)
}

// alarmAbout is an alarm about the sender of a request.
func alarmAbout(kind AlarmKind, v *view.View, d *mad.Datagram) Alarm {
	a := Alarm{Kind: kind, LID: d.LID, Where: "LID " + d.LID.String()}
	if d.Packet.MgmtClass() == mad.ClassDirected {
		route, _ := returnRoute(&d.Packet)
		a.LID, a.Where = 0, "directed route "+route.String()
	}
	if p := senderOf(v, d); p != topo.None {
		port := &v.Topo.Ports[p]
		a.Port, a.LID, a.Where = port.GUID, port.Info.LID(), whereIs(v, p)
	}
	return a
}
