package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// matchSubset in the attribute modifier asks for ports that have all the
// capabilities given, rather than just these.
const matchSubset = 1 << 31

// portInfoRecords are one for each port whose PortInfo was read, switch external
// ports under the LID of their port 0, and one for each vPort of recorded. The M_Key is hidden from the untrusted
// before the record is compared, so that they cannot guess it either.
func (a *Responder) portInfoRecords(r *request, res *result) {
	want := (*sarec.PortInfoRecord)(r.data[:])
	ports := a.devicePorts(r.comps.Has(sarec.PortInfoEndportLID), want.EndportLID())
	apart := sarec.PortInfoEndportLID | sarec.PortInfoOptions
	if r.mod&matchSubset != 0 {
		apart |= sarec.PortInfoCapabilityMask | sarec.PortInfoCapabilityMask2
	}
	mask := sarec.PortInfoMask(r.comps &^ apart)
	for p := ports.from; p < ports.to; p++ {
		port := &a.view.Topo.Ports[p]
		if !port.Seen || !a.maySee(r, p) {
			continue
		}
		var rec sarec.PortInfoRecord
		info := rec.PortInfo()
		*info = port.Info
		if !r.trusted {
			info.SetMKey(0)
		}
		rec.SetEndportLID(a.deviceLID(p))
		rec.SetPortNum(port.Num)
		if !a.addPortInfo(r, res, &rec, &mask, p) {
			return
		}
	}
	t := a.view.Topo
	from, to := a.recorded(r.comps.Has(sarec.PortInfoEndportLID), want.EndportLID(), false, 0)
	for v := from; v < to; v++ {
		if !a.hasRecords(r, v) {
			continue
		}
		p := t.VPorts.At(v)
		var rec sarec.PortInfoRecord
		*rec.PortInfo() = vPortInfo(t, p)
		rec.SetEndportLID(p.LID)
		rec.SetPortNum(t.Ports[p.Port].Num)
		if !a.addPortInfo(r, res, &rec, &mask, p.Port) {
			return
		}
	}
}

// addPortInfo adds a record of a port, or of a vPort behind it, if the request asks for it. It reports whether there is
// room for another one.
func (a *Responder) addPortInfo(r *request, res *result, rec, mask *sarec.PortInfoRecord, p topo.PortIdx) bool {
	want := (*sarec.PortInfoRecord)(r.data[:])
	if !sarec.Match(rec[:], want[:], mask[:]) || r.mod&matchSubset != 0 &&
		!hasCapabilities(rec.PortInfo(), want.PortInfo(), r.comps) {
		return true
	}
	full := false
	if r.comps.Has(sarec.PortInfoOptions) {
		full = want.Options()&sarec.OptionFullPortInfo != 0
		rec.SetOptions(want.Options())
	}
	if !full {
		a.pretendQDR(p, rec.PortInfo())
	}
	return res.add(rec[:])
}

// vPortInfo is the PortInfo of a vPort: what it has of its own, and the rest of its port, whose link it uses. It has no
// M_Key, and no port counts what it does.
func vPortInfo(t *topo.Topo, p *topo.VPort) smp.PortInfo {
	info := t.Ports[p.Port].Info
	info.SetMKey(0)
	info.SetLID(p.LID)
	info.SetLMC(0)
	info.SetPortState(p.State)
	info.SetCapabilityMask(info.CapabilityMask() &^ smp.IsSM)
	return info
}

// hasCapabilities reports whether the port has all the capabilities wanted, of
// those masks that the request gives.
func hasCapabilities(have, want *smp.PortInfo, comps mad.ComponentMask) bool {
	if comps.Has(sarec.PortInfoCapabilityMask) && !have.CapabilityMask().Has(want.CapabilityMask()) {
		return false
	}
	return !comps.Has(sarec.PortInfoCapabilityMask2) || have.CapabilityMask2().Has(want.CapabilityMask2())
}

// qdr is the bit of QDR in the classic speed fields.
const qdr = 4

// pretendQDR makes a port that runs at an extended speed look like QDR to askers
// that know the classic speeds only.
func (a *Responder) pretendQDR(p topo.PortIdx, info *smp.PortInfo) {
	caps := &a.view.Topo.Ports[a.view.Topo.EndPort(p)].Info
	if info.LinkSpeed(caps.CapabilityMask(), caps.CapabilityMask2()) < mad.FDR {
		return
	}
	info.SetLinkSpeedSupported(info.LinkSpeedSupported() | qdr)
	info.SetLinkSpeedActive(info.LinkSpeedActive() | qdr)
	info.SetLinkSpeedEnabled(info.LinkSpeedEnabled() | qdr)
}
