package sa

import (
	"ibsm/mad"
	"ibsm/registry"
	"ibsm/sa/path"
	"ibsm/topo"
)

// GRHDemanded are ports of which Heard says that they demand a GRH.
type GRHDemanded struct{ Ports []mad.GUID }

func (GRHDemanded) event() {}

// Heard returns the ports that demand a GRH, by requests of any kind, and are not registered as such: those
// whose requests have one. Each port says so for itself alone.
func (a *Responder) Heard(ds []mad.Datagram) (ports []mad.GUID) {
	if a == nil {
		return nil
	}
	for i := range ds {
		if p := a.newGRHPort(&ds[i]); p != topo.None {
			ports = append(ports, a.view.Topo.Ports[p].GUID)
		}
	}
	return ports
}

// newGRHPort is the port that a request came from, if it shows for the first time that the port demands a
// GRH; else topo.None. Those of vPorts mostly have one, and say nothing of the port.
func (a *Responder) newGRHPort(in *mad.Datagram) topo.PortIdx {
	if !in.GRH.Present {
		return topo.None
	}
	p := a.requester(in)
	if p == topo.None || a.view.Topo.VPortOf(p) != topo.None || a.view.Topo.Ports[p].GUID == 0 ||
		a.paths.DemandsGRH(p) {
		return topo.None
	}
	return p
}

// hearing is the Responder that answers a request: one that knows what the request shows, as the Registrar
// has not registered it yet.
func (a *Responder) hearing(in *mad.Datagram) *Responder {
	p := a.newGRHPort(in)
	if p == topo.None {
		return a
	}
	return &Responder{view: a.view, reg: a.reg, paths: a.paths.WithGRHPort(p)}
}

// AddGRH gives packets to ports that demand a GRH one. It is for requests of our own; replies take
// it from the request.
func (a *Responder) AddGRH(ds []mad.Datagram) {
	if a == nil {
		return
	}
	for i := range ds {
		p := a.view.LIDs.PortOf(ds[i].LID)
		if p != topo.None && a.paths.DemandsGRH(p) && !ds[i].GRH.Present {
			ds[i].GRH = mad.GRH{Present: true, GID: mad.MakeGID(a.view.Subnet.Prefix, a.view.Topo.Ports[p].GUID),
				HopLimit: path.GRHHopLimit}
		}
	}
}

// demandGRH registers ports that demand a GRH. There are no more than ports of the subnet, and those that
// are absent for no longer than the grace period.
func (r *Registrar) demandGRH(ports []mad.GUID) {
	if r.view == nil || r.handover.drops() {
		return // their next requests show it again
	}
	for _, port := range ports {
		if r.view.Topo.FindPort(port) != topo.None && !r.reg.DemandsGRH(port) {
			r.apply(registry.PutGRHPort{Port: port})
		}
	}
}

// keepUnlisted registers what OpenSM's file does not have in another registry.
func keepUnlisted(reg *registry.Registry, was *registry.State) {
	for c := range was.Unlisted() {
		_ = reg.Apply(c) // always possible
	}
}
