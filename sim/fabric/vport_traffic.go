package fabric

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// indexOf is the index of a vPort, 0 where it is the physical one.
func (p *vport) indexOf() uint16 {
	if p == nil {
		return 0
	}
	return p.index
}

// find is the function with an index; ok is false if it is neither there nor index 0, which is no function.
func (v *virtual) find(index uint16) (p *vport, ok bool) {
	switch {
	case index == 0:
		return nil, true
	case v == nil || int(index) > len(v.functions):
		return nil, false
	}
	return v.functions[index-1], true
}

// byLID is the function that has a LID of its own, nil for none.
func (v *virtual) byLID(l mad.LID) *vport {
	if v == nil || !v.enabled {
		return nil
	}
	for _, p := range v.functions {
		if p.ownLID && p.info.LID() == l && l != 0 {
			return p
		}
	}
	return nil
}

// sendVirtual says whether the vPort that sends a data packet may, and gives the packet its LID. A function without a
// LID of its own is reached with a GRH only, and sends none without.
func (f *Fabric) sendVirtual(v *virtual, t *flight) Drop {
	switch p := t.from; {
	case v == nil:
	case p == nil && f.sendsByVPort0(v):
	case p == nil || !v.enabled || p.info.PortState() != smp.PortActive:
		return DropNotActive
	case !p.ownLID && !t.global:
		return DropGRH
	default:
		t.slid = f.lidOf(v, p)
	}
	return Delivered
}

// sendsByVPort0 reports whether vPort 0 sends and takes data, as far as the port does.
func (f *Fabric) sendsByVPort0(v *virtual) bool {
	return !v.enabled || !f.nodeOf(v.at).caps.VPorts.OwnVPort0 || v.state0 == smp.PortActive
}

// receiver is the function that a data packet is for, nil for the physical port: with a GRH the one that has its GID
// among those that have its LID, otherwise the one to which the LID belongs.
func (f *Fabric) receiver(v *virtual, t *flight) *vport {
	if !v.enabled {
		return nil
	}
	if guid := t.dgid.GUID(); t.global && guid != wellKnownSA {
		for _, p := range v.functions {
			if _, has := p.gidIndex(guid); has && f.lidOf(v, p) == t.dlid && guid != 0 {
				return p
			}
		}
	}
	return v.byLID(t.dlid)
}

// receiveVirtual lets a data packet that has come to a port with vPorts into the one that it is for.
func (f *Fabric) receiveVirtual(v *virtual, t *flight) Drop {
	p := f.receiver(v, t)
	if p == nil {
		if v.state0 == smp.PortArmed {
			v.state0 = smp.PortActive
		}
		if !f.sendsByVPort0(v) {
			return DropNotActive
		}
		if _, ok := f.ports[v.at].pkey(t.pkey); !ok {
			f.badPKey(v.at, t)
			return DropPKey
		}
		return Delivered
	}
	if p.info.PortState() == smp.PortArmed {
		f.moveVPort(v, p, smp.PortActive)
	}
	switch _, has := p.gidIndex(t.dgid.GUID()); {
	case p.info.PortState() != smp.PortActive:
		return DropNotActive
	case t.global && !has:
		return DropGRH
	}
	if _, ok := p.pkey(t.pkey); !ok {
		f.badVPortPKey(v, p, t)
		return DropPKey
	}
	t.to = p
	return Delivered
}

// ProbeVPort is Probe from a vPort, with a GRH to dgid unless that is zero.
func (f *Fabric) ProbeVPort(from VPort, dlid mad.LID, dgid mad.GID, pkey mad.PKey, sl uint8, hops []Hop) ([]Hop, Drop) {
	t := flight{dlid: dlid, sl: sl & 15, trace: true, hops: hops, load: Load{1, madWords}, from: f.indexed(from),
		global: dgid != mad.GID{}, sgid: f.VPortGID(from), dgid: dgid}
	why := f.probe(from.At, pkey, &t)
	return t.hops, why
}

// ProbeVPortMulticast is ProbeMulticast from a vPort. The other vPorts of its port hear the packet, too.
func (f *Fabric) ProbeVPortMulticast(from VPort, mlid mad.LID, pkey mad.PKey, sl uint8) Spread {
	return f.probeMulticast(from.At, f.indexed(from), mlid, pkey, sl)
}

// hear has the functions of an end port but the sender receive a copy of a multicast packet, and reports whether one
// may.
func (f *Fabric) hear(to int32, m *multicast) (heard bool) {
	v := f.virtual[to]
	if v == nil || !v.enabled {
		return false
	}
	for _, p := range v.functions {
		if p == m.from || p.info.PortState() != smp.PortActive {
			continue
		}
		if _, ok := p.pkey(m.pkey); ok {
			m.VPorts, heard = append(m.VPorts, VPort{f.end(to), p.index}), true
		}
	}
	return heard
}
