package topo

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// EndIdx is what has a GID: a port, by its PortIdx, or a vPort. The vPorts follow the ports, in the order of
// VPorts.List.
type EndIdx = PortIdx

// Up reports whether a vPort is there for others: it has a GUID that is nobody else's, and is not down.
func (p *VPort) Up() bool { return p.State > smp.PortDown && p.GUID != 0 && !p.Elsewhere }

// EndOf is a vPort as an end.
func (t *Topo) EndOf(v VPortIdx) EndIdx { return EndIdx(len(t.Ports)) + EndIdx(v) }

// VPortOf is the vPort that an end is; None where it is a port.
func (t *Topo) VPortOf(e EndIdx) VPortIdx {
	if int(e) < len(t.Ports) {
		return None
	}
	return VPortIdx(int(e) - len(t.Ports))
}

// Physical is the port that an end is, or behind which the vPort is.
func (t *Topo) Physical(e EndIdx) PortIdx {
	if v := t.VPortOf(e); v != None {
		return t.VPorts.List[v].Port
	}
	return e
}

// FindEnd is the port with a GUID, or the vPort that has it, as its own or a further one, and is up; or None.
func (t *Topo) FindEnd(guid mad.GUID) EndIdx {
	if t.VPorts == nil {
		return t.FindPort(guid)
	}
	if p := t.FindPort(guid); p != None {
		return p
	}
	if v := t.VPorts.find(guid); v != None && t.VPorts.List[v].Up() {
		return t.EndOf(v)
	}
	return None
}

// EndGUID is the GUID of an end.
func (t *Topo) EndGUID(e EndIdx) mad.GUID {
	if v := t.VPortOf(e); v != None {
		return t.VPorts.List[v].GUID
	}
	return t.Ports[e].GUID
}

// EndPKeys is the P_Key table of an end; nil where it is not known.
func (t *Topo) EndPKeys(e EndIdx) *PKeyTable {
	if v := t.VPortOf(e); v != None {
		return t.VPorts.List[v].PKeys
	}
	return t.Ports[e].PKeys
}

// EndLID is the first LID of an end; shared says that it is not a vPort's own, so that packets for it need a GRH.
func (t *Topo) EndLID(l *LIDs, e EndIdx) (lid mad.LID, shared bool) {
	if v := t.VPortOf(e); v != None {
		lid, own := t.LIDOf(l, v)
		return lid, !own
	}
	return l.Base[e], false
}

// SpeaksFor reports whether an end is another, or the port in front of that.
func (t *Topo) SpeaksFor(e, of EndIdx) bool { return of != None && (e == of || e == t.Physical(of)) }

// Ends are EndPorts, and the vPorts that are up and not found as ports, in the order of VPorts.List.
func (t *Topo) Ends() []EndIdx {
	if t.VPorts == nil {
		return t.EndPorts
	}
	ends := t.EndPorts[:len(t.EndPorts):len(t.EndPorts)]
	for i := range t.VPorts.List {
		if e := t.EndOf(VPortIdx(i)); t.FindEnd(t.VPorts.List[i].GUID) == e {
			ends = append(ends, e)
		}
	}
	return ends
}
