package fabric

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// atQP0 takes an SMP that came in by port at. What a manager answers goes to the
// station there, the rest to the node's agent. dlid is the LID it was sent to.
func (f *Fabric) atQP0(at int32, dlid mad.LID, d *mad.Datagram) {
	p := &d.Packet
	f.stats.count(p)
	method := p.Method()
	switch {
	case method == mad.MethodTrapRepress && f.repress(f.mgmt(at), d):
	case method.IsResponse() || method == mad.MethodTrap || p.AttrID() == smp.AttrSMInfo:
		f.deliver(at, 0, d)
	case f.nodeOf(at).unresponsive:
		f.drop(DropUnresponsive, d)
	default:
		if why := f.answer(at, p); why != Delivered {
			f.drop(why, d)
			return
		}
		f.reply(at, dlid, d, 0)
	}
}

// answer turns a request into the agent's answer, or says why there is none.
func (f *Fabric) answer(at int32, p *mad.Packet) Drop {
	status := mad.StatusOK
	set := p.Method() == mad.MethodSet
	switch {
	case p.ClassVersion() != 1:
		status = mad.StatusBadVersion
	case !set && p.Method() != mad.MethodGet:
		status = mad.StatusBadMethod
	case !f.checkMKey(at, p):
		return DropMKey
	default:
		watched, answers := set && f.cfg.OnSet != nil, true
		var s Set
		var before [mad.DataSize]byte
		if watched {
			s = Set{At: f.now, Node: f.ports[at].node, In: f.ports[at].num, Attr: p.AttrID(), Mod: p.AttrMod(),
				Data: *p.Data(), TID: p.TID()}
			f.attribute(at, false, s.Attr, s.Mod, &before)
		}
		if status, answers = f.obey(at, set, p); !answers {
			return DropUnresponsive
		}
		if watched {
			after := [mad.DataSize]byte{}
			f.attribute(at, false, s.Attr, s.Mod, &after)
			s.Status, s.Changed = status, before != after
			f.cfg.OnSet(s)
		}
		if p.AttrID() == smp.AttrPortInfo {
			f.hideMKey(at, p)
		}
	}
	p.SetMethod(mad.MethodGetResp)
	p.SetStatus(status)
	return Delivered
}

// obey does what a request asks for, as far as the agent is sound.
func (f *Fabric) obey(at int32, set bool, p *mad.Packet) (status mad.Status, answers bool) {
	defect := f.nodeOf(at).caps.Defect
	if defect == nil {
		return f.attribute(at, set, p.AttrID(), p.AttrMod(), p.Data()), true
	}
	q := *p // lest every packet be allocated for the defect's sake
	status, answers = defect(&q, func() mad.Status {
		return f.attribute(at, q.Method() == mad.MethodSet, q.AttrID(), q.AttrMod(), q.Data())
	})
	*p.Data() = *q.Data()
	return status, answers
}

// reply sends an answer back the way its request came, after a time.
func (f *Fabric) reply(at int32, dlid mad.LID, d *mad.Datagram, after time.Duration) {
	p := &d.Packet
	var to int32
	var why Drop
	if p.MgmtClass() == mad.ClassDirected {
		p.SetReturning()
		to, why = f.walkBack(at, p)
	} else {
		t := flight{dlid: d.LID, vl15: true}
		d.LID = dlid
		to, why = f.route(f.mgmt(at), &t)
	}
	if why != Delivered {
		f.drop(why, d)
		return
	}
	if f.takesTime(d) {
		f.toAgent(to, pass{true, int(p.HopCount()) - 1}, d)
		return
	}
	f.onWireAfter(after, evDeliver, to, 0, d)
}

// attribute is the agent proper: it fills d with the attribute after having stored
// what a Set asks for. at is the port that the request came in by.
func (f *Fabric) attribute(at int32, set bool, attr mad.AttrID, mod uint32, d *[mad.DataSize]byte) mad.Status {
	n := f.nodeOf(at)
	switch attr {
	case smp.AttrNotice:
		return f.loggedNotice(n, set, mod, d)
	case smp.AttrNodeDescription:
		return f.nodeDescription(at, set, mod, d)
	case smp.AttrNodeInfo:
		return f.nodeInfo(at, set, mod, d)
	case smp.AttrGUIDInfo:
		return f.guidInfo(f.mgmt(at), set, mod, d)
	case smp.AttrPortInfo:
		return f.portInfo(at, set, mod, d)
	case smp.AttrPKeyTable:
		return f.pkeyTable(at, set, mod, d)
	case smp.AttrSLtoVLMappingTable:
		return f.slToVLTable(at, set, mod, d)
	case smp.AttrVLArbitrationTable:
		return f.vlArbTable(at, set, mod, d)
	case smp.AttrPortInfoExtended:
		return f.portInfoExtended(at, set, mod, d)
	case smp.AttrExtendedPortInfo:
		return f.extendedPortInfo(n, set, mod, d)
	case smp.AttrVirtualizationInfo, smp.AttrVPortInfo, smp.AttrVNodeInfo, smp.AttrVPortState,
		smp.AttrVNodeDescription, smp.AttrVPortGUIDInfo, smp.AttrVPortPKeyTable:
		return f.virtualization(at, set, attr, mod, d)
	case smp.AttrGeneralInfo:
		return n.generalInfo(set, mod, d)
	}
	if n.sw == nil {
		return mad.StatusBadMethodAttr
	}
	switch attr {
	case smp.AttrSwitchInfo:
		return n.switchInfo(f.ports[n.first].info.CapabilityMask(), set, mod, d)
	case smp.AttrSwitchPortStateTable:
		return f.portStates(n, set, mod, (*smp.SwitchPortStateTable)(d))
	case smp.AttrLinearForwardingTable:
		return n.sw.linearTable(set, mod, d)
	case smp.AttrMulticastForwardingTable:
		return n.sw.multicastTable(n.numPorts, set, mod, d)
	case smp.AttrPrivateLFTInfo:
		return n.privateLFTInfo(set, mod, d)
	case smp.AttrARInfo:
		return n.arInfo(set, mod, d)
	}
	return mad.StatusBadMethodAttr
}

func (f *Fabric) nodeInfo(at int32, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	if set {
		return mad.StatusBadMethodAttr
	}
	if mod != 0 {
		return mad.StatusBadField
	}
	ni := (*smp.NodeInfo)(d)
	*ni = f.nodeOf(at).info
	ni.SetPortGUID(f.ports[f.mgmt(at)].guid)
	ni.SetLocalPortNum(f.ports[at].num)
	return mad.StatusOK
}

func (f *Fabric) nodeDescription(at int32, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	n := f.nodeOf(at)
	if set && !n.caps.CapabilityMask2.Has(smp.IsSetNodeDescriptionSupported) {
		return mad.StatusBadMethodAttr
	}
	if mod != 0 {
		return mad.StatusBadField
	}
	if set {
		n.desc = *d
	}
	*d = n.desc
	return mad.StatusOK
}

func (n *node) switchInfo(mask smp.CapMask, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	if mod != 0 {
		return mad.StatusBadField
	}
	status := mad.StatusOK
	if set {
		status = n.sw.setSwitchInfo((*smp.SwitchInfo)(d), mask.Has(smp.IsMulticastFDBTopSupported))
	}
	*d = n.sw.info
	return status
}
