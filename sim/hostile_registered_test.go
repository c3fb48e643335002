package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/topo/net"
)

// serviceKey protects the services of honest hosts.
var serviceKey = [16]byte{1, 2, 3}

// own has the honest hosts register a service, which a ServiceKey protects, and an alias GUID.
func (a *attack) own() {
	for i := 1; i <= 3; i++ {
		at := host(a.net, i)
		a.writeInName(at, mad.MethodSet, sarec.AttrServiceRecord, func(p *mad.Packet) { a.service(p, at, serviceKey) })
		a.writeInName(at, mad.MethodSet, sarec.AttrGUIDInfoRecord, func(p *mad.Packet) {
			a.aliases(p, at, mad.GUID(0xa11a5<<8+i))
		})
	}
	a.pass(settling)
}

// writeInName brings the master's SA a request as from another port's LID.
func (a *attack) writeInName(at net.End, method mad.Method, attr mad.AttrID, fill func(p *mad.Packet)) {
	pi := a.Fabric.PortInfo(at)
	d := mad.Datagram{Addr: mad.Addr{LID: pi.LID(), QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, method, attr, 0)
	a.tid++
	d.Packet.SetTID(mad.TID(a.tid))
	fill(&d.Packet)
	a.Deliver(a.master.Manager, d)
}

// service fills in the service of a port.
func (a *attack) service(p *mad.Packet, at net.End, key [16]byte) {
	p.SetComponentMask(sarec.ServiceServiceID | sarec.ServiceServiceGID | sarec.ServiceServicePKey |
		sarec.ServiceServiceKey | sarec.ServiceServiceName)
	rec := (*sarec.ServiceRecord)(p.SAData()[:])
	rec.SetServiceID(77)
	rec.SetServiceGID(mad.MakeGID(mad.DefaultPrefix, a.Fabric.PortGUID(at)))
	rec.SetServicePKey(mad.DefaultPKey)
	rec.SetServiceLease(0xffffffff)
	rec.SetServiceKey(key)
	rec.SetServiceName([64]byte{byte(a.rng.IntN(256)), 'x'})
}

// aliases fills in the second alias GUID of a port.
func (a *attack) aliases(p *mad.Packet, at net.End, guid mad.GUID) {
	p.SetComponentMask(sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum | sarec.GUIDInfoGUID0<<2)
	rec := (*sarec.GUIDInfoRecord)(p.SAData()[:])
	pi := a.Fabric.PortInfo(at)
	rec.SetLID(pi.LID())
	rec.GUIDInfo().SetGUID(2, guid)
}

// registered is what other ports than the intruder's have registered, and which of their paths have a
// GRH.
func (a *attack) registered() string {
	var all []string
	own, s := a.guid(), a.master.Registrar().State()
	for v := range s.Services() {
		if v.GID.GUID() != own {
			all = append(all, fmt.Sprintf("service %+v", *v))
		}
	}
	for v := range s.Aliases() {
		if v.Port != own {
			all = append(all, fmt.Sprintf("alias %+v", v))
		}
	}
	slices.Sort(all)
	for i := 1; i <= 3; i++ {
		all = append(all, fmt.Sprintf("host %d: HopLimit %d", i, a.hopLimit(host(a.net, i))))
	}
	return strings.Join(all, "\n")
}

// hopLimit is that of the path from the witness to a port. It is above 0 where the port demands a GRH.
func (a *attack) hopLimit(to net.End) uint8 {
	pi := a.Fabric.PortInfo(a.witness.At())
	d := mad.Datagram{Addr: mad.Addr{LID: pi.MasterSMLID(), QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
	d.Packet.SetComponentMask(sarec.PathSGID | sarec.PathDGID)
	rec := (*sarec.PathRecord)(d.Packet.SAData()[:])
	rec.SetSGID(mad.MakeGID(mad.DefaultPrefix, a.Fabric.PortGUID(a.witness.At())))
	rec.SetDGID(mad.MakeGID(mad.DefaultPrefix, a.Fabric.PortGUID(to)))
	a.tid++
	d.Packet.SetTID(mad.TID(a.tid))
	var got *mad.Packet
	a.witness.OnReceive(func(in mad.Datagram) {
		if in.Packet.TID() == mad.TID(a.tid) {
			got = &in.Packet
		}
	})
	a.witness.Send([]mad.Datagram{d})
	if !a.Run(a.Fabric.Now()+time.Second, func() bool { return got != nil }) || got.Status() != mad.StatusOK {
		a.Fatalf("no path between honest hosts")
	}
	return (*sarec.PathRecord)(got.SAData()[:]).HopLimit()
}

// takeOver asks the SA to change, or to take away, what another port has registered. With a GRH, that
// has the other port's GID as its SGID.
func (a *attack) takeOver(grh bool, saKey uint64) {
	at, own := host(a.net, 1+a.rng.IntN(3)), a.Fabric.PortInfo(a.station.At())
	d := a.change(at, saKey)
	if grh {
		d.GRH = mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, a.Fabric.PortGUID(at)), HopLimit: 64}
	}
	d.LID = own.LID()
	a.Deliver(a.master.Manager, d)
}

// takeOverFrom does so from a LID that no port has.
func (a *attack) takeOverFrom(lid mad.LID) {
	at := host(a.net, 1+a.rng.IntN(3))
	d := a.change(at, 0)
	if d.LID = lid; a.rng.IntN(2) == 0 {
		d.GRH = mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, a.Fabric.PortGUID(at)), HopLimit: 64}
	}
	a.Deliver(a.master.Manager, d)
}

// change is a request to change, or to take away, the service or the alias GUID of a port.
func (a *attack) change(at net.End, saKey uint64) mad.Datagram {
	d := mad.Datagram{Addr: mad.Addr{QPN: 1}}
	p, method := &d.Packet, pick(a.rng, mad.MethodSet, mad.MethodDelete)
	if a.rng.IntN(2) == 0 {
		p.SetHeader(mad.ClassSA, method, sarec.AttrServiceRecord, 0)
		a.service(p, at, [16]byte{byte(a.rng.IntN(256)), 9})
	} else {
		p.SetHeader(mad.ClassSA, method, sarec.AttrGUIDInfoRecord, 0)
		a.aliases(p, at, mad.GUID(a.rng.Uint64()))
	}
	p.SetSMKey(saKey)
	p.SetTID(mad.TID(a.tid))
	return d
}
