package sa

import (
	"ibsm/mad/sarec"
	"ibsm/topo"
)

// linkRecords are two for each link, one from either end. The LIDs asked for may
// be any of the ports'; the record has the base LIDs.
func (a *Responder) linkRecords(r *request, res *result) {
	want := (*sarec.LinkRecord)(r.data[:])
	from := a.devicePorts(r.comps.Has(sarec.LinkFromLID), want.FromLID())
	to := a.devicePorts(r.comps.Has(sarec.LinkToLID), want.ToLID())
	mask := sarec.LinkMask(r.comps &^ (sarec.LinkFromLID | sarec.LinkToLID))
	near := from
	if to.len() < from.len() {
		near = to
	}
	for p := near.from; p < near.to; p++ {
		src, dst := p, a.view.Topo.Ports[p].Peer // None is in neither range
		if near == to {
			src, dst = dst, src
		}
		if !from.has(src) || !to.has(dst) || !a.maySee(r, src) || !a.maySee(r, dst) || !a.view.Topo.MayTalk(src, dst) {
			continue
		}
		rec := a.linkRecord(src, dst)
		if rec.FromLID() == 0 || rec.ToLID() == 0 || !sarec.Match(rec[:], want[:], mask[:]) {
			continue
		}
		if !res.add(rec[:]) {
			return
		}
	}
}

func (a *Responder) linkRecord(src, dst topo.PortIdx) (rec sarec.LinkRecord) {
	rec.SetFromLID(a.deviceLID(src))
	rec.SetFromPort(a.view.Topo.Ports[src].Num)
	rec.SetToPort(a.view.Topo.Ports[dst].Num)
	rec.SetToLID(a.deviceLID(dst))
	return rec
}
