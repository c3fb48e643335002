package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sa/path"
	"ibsm/topo"
)

// term is one of the three values that a request may bound by a selector: as a number that
// grows with the value.
type term struct {
	given    bool
	selector sarec.Selector
	value    int
}

// Bounds of the terms.
const (
	lowestMTU      = int(mad.MTU256)
	lowestRank     = 1
	lowestLifeTime = 0
)

func mtuTerm(comps mad.ComponentMask, rec *sarec.MCMemberRecord) term {
	sel, v := rec.MTU()
	return term{comps.Has(sarec.MCMemberMTUSelector | sarec.MCMemberMTU), sel, int(v)}
}

func rateTerm(comps mad.ComponentMask, rec *sarec.MCMemberRecord) term {
	sel, v := rec.Rate()
	return term{comps.Has(sarec.MCMemberRateSelector | sarec.MCMemberRate), sel, v.Rank()}
}

func lifeTimeTerm(comps mad.ComponentMask, rec *sarec.MCMemberRecord) term {
	sel, v := rec.PacketLifeTime()
	return term{comps.Has(sarec.MCMemberPacketLifeTimeSelector | sarec.MCMemberPacketLifeTime), sel, int(v)}
}

// counts reports whether the value of the term does.
func (t term) counts() bool { return t.given && t.selector != sarec.Best }

// fits reports whether a value is as asked for.
func (t term) fits(v int) bool {
	if !t.given {
		return true
	}
	switch t.selector {
	case sarec.GreaterThan:
		return v > t.value
	case sarec.LessThan:
		return v < t.value
	case sarec.Exactly:
		return v == t.value
	}
	return true
}

// choose is the value of a new group of a port that can do so much: the largest that
// is as asked for. What is asked for exactly may be more than the port can do.
func (t term) choose(can, lowest int) (v int, ok bool) {
	if !t.given {
		return can, true
	}
	switch t.selector {
	case sarec.LessThan:
		can = min(can, t.value-1)
	case sarec.Exactly:
		return t.value, true
	}
	return can, can >= lowest && t.fits(can)
}

// chooseLifeTime is the lifetime of a new group: the default where that is as asked
// for, else the closest.
func (t term) chooseLifeTime(usual int) (v int, ok bool) {
	switch {
	case !t.given || t.fits(usual):
		return usual, true
	case t.selector == sarec.GreaterThan:
		return t.value + 1, t.value < 63
	case t.selector == sarec.LessThan:
		return t.value - 1, t.value > lowestLifeTime
	}
	return t.value, true
}

// validTerms reports whether the MTU and the rate of a request are ones that there are.
func validTerms(comps mad.ComponentMask, rec *sarec.MCMemberRecord) bool {
	_, code := rec.MTU()
	mtu, rate := mtuTerm(comps, rec), rateTerm(comps, rec)
	return (!mtu.counts() || code.Bytes() != 0) && (!rate.counts() || rate.value != 0)
}

// termsFit compares the MTU and rate of a request with a group. The lifetime is the group's,
// whatever a joiner says: OpenSM lets it in, too.
func termsFit(comps mad.ComponentMask, rec *sarec.MCMemberRecord, g *registry.Group) bool {
	return mtuTerm(comps, rec).fits(int(g.MTU)) && rateTerm(comps, rec).fits(g.Rate.Rank())
}

// chooseTerms gives a new group the values of a request, as far as it has them.
func (r *Registrar) chooseTerms(q *writeRequest, rec *sarec.MCMemberRecord, port topo.EndIdx, g *registry.Group) bool {
	can := r.portLimits(port)
	can.mtu = min(can.mtu, int(mad.MTU4096))
	size, wanted := mtuTerm(q.comps, rec), rateTerm(q.comps, rec)
	if !size.given && r.cfg.NewMTU != 0 {
		can.mtu = min(can.mtu, int(r.cfg.NewMTU))
	}
	mtu, ok1 := size.choose(can.mtu, lowestMTU)
	if can.rank == noLimit { // a port 0 without a link that says: whoever joins can send so fast
		can.rank = lowestRank
	}
	if !wanted.given && r.cfg.NewRate != 0 {
		can.rank = min(can.rank, r.cfg.NewRate.Rank())
	}
	rank, ok2 := wanted.choose(can.rank, lowestRank)
	life, ok3 := lifeTimeTerm(q.comps, rec).chooseLifeTime(int(r.view.Subnet.SubnetTimeOut))
	g.MTU, g.Rate, g.PacketLifeTime = mad.MTU(mtu), path.LimitRate(mad.RateOfRank(rank), r.view.Subnet.MaxRate),
		uint8(life)
	return ok1 && ok2 && ok3 && wanted.fits(g.Rate.Rank())
}

// portCan is what a port can carry, beyond all values where that is not known.
type portCan struct{ mtu, rank int }

const noLimit = 1 << 8

// portLimits is what a port and the one at the other end of its link can carry.
func (r *Registrar) portLimits(e topo.EndIdx) portCan {
	t, p := r.view.Topo, r.view.Topo.Physical(e)
	can := portCan{noLimit, noLimit}
	for _, end := range []topo.PortIdx{p, t.Ports[p].Peer} {
		if end == topo.None || !t.Ports[end].Seen {
			continue
		}
		if mtu := t.Ports[end].Info.MTUCap(); mtu.Bytes() != 0 {
			can.mtu = min(can.mtu, int(mtu))
		}
	}
	if info := &t.Ports[p].Info; t.Ports[p].Seen {
		if rank := info.Rate(capMasks(info)).Rank(); rank != 0 {
			can.rank = rank
		}
	}
	return can
}

// capMasks are the capabilities of an end port.
func capMasks(info *smp.PortInfo) (mask smp.CapMask, mask2 smp.CapMask2) {
	if mask = info.CapabilityMask(); mask.Has(smp.IsCapabilityMask2Supported) {
		mask2 = info.CapabilityMask2()
	}
	return mask, mask2
}
