package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
)

// guidInfoRecords are one for each block of the GUIDs of each port that has a LID.
func (a *Responder) guidInfoRecords(r *request, res *result) {
	want := (*sarec.GUIDInfoRecord)(r.data[:])
	mask := sarec.GUIDInfoMask(r.comps &^ sarec.GUIDInfoLID)
	ports := a.allPorts()
	if r.comps.Has(sarec.GUIDInfoLID) {
		ports = onePort(a.view.LIDs.PortOf(want.LID()))
	}
	for p := ports.from; p < ports.to; p++ {
		if a.view.LIDs.Base[p] == 0 || !a.maySee(r, p) {
			continue
		}
		port := &a.view.Topo.Ports[p]
		var rec sarec.GUIDInfoRecord
		rec.SetLID(a.view.LIDs.Base[p])
		blocks := (int(port.Info.GUIDCap()) + smp.GUIDsPerBlock - 1) / smp.GUIDsPerBlock
		for block := range blocks {
			rec.SetBlockNum(uint8(block))
			*rec.GUIDInfo() = guidBlock(a.reg, port.GUID, uint8(block))
			if sarec.Match(rec[:], want[:], mask[:]) && !res.add(rec[:]) {
				return
			}
		}
	}
}

// guidBlock is a block of a port's GUIDs: its own and its aliases.
func guidBlock(reg *registry.State, port mad.GUID, block uint8) (info smp.GUIDInfo) {
	if block == 0 {
		info.SetGUID(0, port)
	}
	for a := range reg.AliasesOf(port) {
		if a.Index/smp.GUIDsPerBlock == block {
			info.SetGUID(int(a.Index), a.GUID)
		}
	}
	return info
}
