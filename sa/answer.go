package sa

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/sa/path"
	"ibsm/topo"
	"ibsm/view"
)

// Responder answers from one View and from what is registered. It is immutable, and safe for
// concurrent use. The nil Responder is that of a manager that is not master, or not yet: it drops all.
type Responder struct {
	view  *view.View
	reg   *registry.State
	paths *path.Finder
}

// New makes the Responder of a View and of what is registered, nil for nothing, in time
// linear in the ports of the View.
func New(v *view.View, reg *registry.State) *Responder {
	a := Responder{view: v, paths: path.New(v)}
	return a.WithRegistry(reg)
}

// nothing is what is registered where there is no registry.
var nothing = registry.New().Freeze()

// WithRegistry is the Responder of the same View when something else is registered, nil
// for nothing. It takes a short time, whatever the size of either.
func (a *Responder) WithRegistry(reg *registry.State) *Responder {
	if reg == nil {
		reg = nothing
	}
	return &Responder{view: a.view, reg: reg, paths: a.paths.WithRegistry(reg)}
}

// WithView is the Responder of another View, when the same is registered. It takes a short
// time where the Views differ only in their multicast tables. The nil Responder becomes
// that of a View where nothing is registered.
func (a *Responder) WithView(v *view.View) *Responder {
	switch {
	case a == nil:
		return New(v, nil)
	case a.view.Topo != v.Topo || a.view.LIDs != v.LIDs || a.view.Tables != v.Tables || a.view.Subnet != v.Subnet,
		a.view.Ports != v.Ports || a.view.QoS != v.QoS || a.view.VPorts.HopLimit != v.VPorts.HopLimit,
		!slices.Equal(a.view.PrefixRoutes, v.PrefixRoutes):
		return New(v, a.reg)
	}
	return &Responder{view: v, reg: a.reg, paths: a.paths}
}

// View is where the answers come from, but for those from Registry.
func (a *Responder) View() *view.View { return a.view }

// Registry is what is registered.
func (a *Responder) Registry() *registry.State { return a.reg }

// request is what a handler needs to know of a request that may be answered.
type request struct {
	from    topo.EndIdx // the requester
	comps   mad.ComponentMask
	mod     uint32 // AttributeModifier
	trusted bool   // shows the SA's key
	data    *[mad.SADataSize]byte
}

// Answer writes the reply to in, with the address to send it to, and returns true;
// or returns false when there must be none, and out is void. in and out must not
// be the same datagram, and IsTable(in) must be false. What happened is counted in
// stats. It does not allocate.
func (a *Responder) Answer(in, out *mad.Datagram, stats *Stats) bool {
	if !a.open(in, out, stats) {
		return false
	}
	a = a.hearing(in)
	p, reply := &in.Packet, &out.Packet
	r := a.request(in)
	res := result{data: reply.SAData()[:]}
	st := a.serve(p, &r, &res)
	if st == mad.StatusOK {
		clear(reply.SAData()[res.size:])
		reply.SetAttributeOffset(uint16(res.size / 8))
	}
	if st == mad.StatusNoRecords && p.AttrID() == sarec.AttrPathRecord {
		a.pathRefused(&r, stats)
	}
	reply.SetStatus(st)
	stats.reply(p.AttrID(), st)
	return true
}

// open decides whether a request is answered, and if so gives the reply the request's
// header.
func (a *Responder) open(in, out *mad.Datagram, stats *Stats) bool {
	if reason := a.gate(in); reason != answered {
		a.dropped(in, reason, stats)
		return false
	}
	p, reply := &in.Packet, &out.Packet
	out.Addr = in.Addr
	out.TimedOut = false
	*reply = *p
	reply.SetMethod(responseTo(p.Method()))
	reply.ClearRMPP()
	reply.SetSMKey(0)
	reply.SetAttributeOffset(0)
	return true
}

// request is a datagram that passed the gate.
func (a *Responder) request(in *mad.Datagram) request {
	p := &in.Packet
	return request{a.requester(in), p.ComponentMask(), p.AttrMod(), p.SMKey() != 0, p.SAData()}
}

// maySee reports whether the requester may know of an end: it shares a P_Key with it.
func (a *Responder) maySee(r *request, p topo.EndIdx) bool { return a.view.Topo.MayTalk(r.from, p) }

// isIn reports whether the requester is in a partition, as member of either kind. A
// port whose P_Keys are not known is in all.
func (a *Responder) isIn(r *request, k mad.PKey) bool {
	keys := a.view.Topo.EndPKeys(a.view.Topo.EndPort(r.from))
	if keys == nil {
		return true
	}
	_, in := keys.Find(k)
	return in
}

// gate decides whether a request is answered at all. Silence makes clients try
// again; Linux takes any status but success as final.
func (a *Responder) gate(in *mad.Datagram) Drop {
	p := &in.Packet
	switch {
	case in.TimedOut || p.MgmtClass() != mad.ClassSA || responseTo(p.Method()) == 0:
		return DropNoRequest
	case a == nil:
		return DropNotMaster
	case p.SMKey() != 0 && !a.view.Subnet.Trusts(p.SMKey()):
		return DropBadKey
	}
	from := a.requester(in)
	if from == topo.None {
		return a.unknown(in)
	}
	return a.believes(in, from)
}

// responseTo is the method of the answer, 0 when the method asks for none.
func responseTo(m mad.Method) mad.Method {
	switch m {
	case mad.MethodSet:
		return mad.MethodGetResp
	case mad.MethodGet, mad.MethodGetTable, mad.MethodGetTraceTable, mad.MethodGetMulti, mad.MethodDelete:
		return m | 0x80
	}
	return 0
}

func (a *Responder) serve(p *mad.Packet, r *request, res *result) mad.Status {
	switch {
	case !isSpoken(p):
		return mad.StatusBadVersion
	case p.AttrID() == sarec.AttrMultiPathRecord && (p.Method() == mad.MethodGet || p.Method() == mad.MethodGetMulti):
		return mad.StatusReqInvalid // it is for Table, and comes by RMPP
	case p.Method() != mad.MethodGet:
		return mad.StatusBadMethodAttr
	case p.AttrID() == sarec.AttrClassPortInfo:
		a.classPortInfo(res)
	case p.AttrID() == sarec.AttrPathRecord:
		return a.pathRecord(r, res)
	case !a.records(p.AttrID(), r, res):
		return mad.StatusBadMethodAttr
	}
	return res.status()
}

// isSpoken reports whether the versions are those that this package knows.
func isSpoken(p *mad.Packet) bool {
	return p.BaseVersion() == 1 && p.ClassVersion() == mad.ClassSA.Version()
}

// records gathers what matches of the attributes for which Get and GetTable differ in
// nothing but the number of records; false for others.
func (a *Responder) records(attr mad.AttrID, r *request, res *result) bool {
	switch attr {
	case sarec.AttrNodeRecord:
		a.nodeRecords(r, res)
	case sarec.AttrPortInfoRecord:
		a.portInfoRecords(r, res)
	case sarec.AttrSLtoVLMappingTableRecord:
		a.slToVLRecords(r, res)
	case sarec.AttrSwitchInfoRecord:
		a.switchInfoRecords(r, res)
	case sarec.AttrLinearForwardingTableRecord:
		a.lftRecords(r, res)
	case sarec.AttrMulticastForwardingTableRecord:
		a.mftRecords(r, res)
	case sarec.AttrSMInfoRecord:
		a.smInfoRecords(r, res)
	case sarec.AttrLinkRecord:
		a.linkRecords(r, res)
	case sarec.AttrGUIDInfoRecord:
		a.guidInfoRecords(r, res)
	case sarec.AttrServiceRecord:
		a.serviceRecords(r, res)
	case sarec.AttrPKeyTableRecord:
		a.pkeyTableRecords(r, res)
	case sarec.AttrVLArbitrationTableRecord:
		a.vlArbRecords(r, res)
	case sarec.AttrMCMemberRecord:
		if a.view.Subnet.NoMulticast {
			return false
		}
		a.mcMemberRecords(r, res)
	case sarec.AttrInformInfoRecord:
		a.informInfoRecords(r, res)
	default:
		return false
	}
	return true
}

// pathRecord answers with one path, whatever number there is (IBA 15.2.5.16: a Get
// implies NumbPath 1).
func (a *Responder) pathRecord(r *request, res *result) mad.Status {
	var rec sarec.PathRecord
	st := a.paths.Find(r.from, (*sarec.PathRecord)(r.data[:]), r.comps, &rec)
	if st == mad.StatusOK {
		res.add(rec[:])
	}
	return st
}
