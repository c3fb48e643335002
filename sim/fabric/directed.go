package fabric

import "ibsm/mad"

// walkOut carries an outbound directed-route SMP from the station at from to the
// end of its path, filling ReturnPath on the way (IBA 14.2.2), and returns the
// port by which it arrived. Only switches pass it on.
func (f *Fabric) walkOut(from int32, p *mad.Packet) (at int32, why Drop) {
	hops := int(p.HopCount())
	if hops > mad.MaxHops || p.HopPointer() != 0 || p.DrSLID() != mad.PermissiveLID || p.DrDLID() != mad.PermissiveLID {
		return 0, DropMalformed
	}
	at = from
	for h := 1; h <= hops; h++ {
		if at, why = f.hop(from, at, p.InitialPath()[h]); why != Delivered {
			return 0, why
		}
		if !f.receivedSMP(at) {
			return 0, DropErrors
		}
		p.ReturnPath()[h] = f.ports[at].num
	}
	p.SetHopPointer(uint8(hops) + 1)
	return at, Delivered
}

// walkBack carries a returning directed-route SMP from the node at whose port from
// it was answered to the one that asked.
func (f *Fabric) walkBack(from int32, p *mad.Packet) (at int32, why Drop) {
	hops := int(p.HopCount())
	if hops > mad.MaxHops || int(p.HopPointer()) != hops+1 || p.DrSLID() != mad.PermissiveLID ||
		p.DrDLID() != mad.PermissiveLID {
		return 0, DropMalformed
	}
	at = from
	for h := hops; h >= 1; h-- {
		if at, why = f.hop(from, at, p.ReturnPath()[h]); why != Delivered {
			return 0, why
		}
		if !f.receivedSMP(at) {
			return 0, DropErrors
		}
	}
	p.SetHopPointer(0)
	return at, Delivered
}

// hop leaves the node of port at by port out, for a path that began at port from:
// an end node sends by the port where the sender sits and passes nothing on.
func (f *Fabric) hop(from, at int32, out uint8) (int32, Drop) {
	n := f.nodeOf(at)
	switch {
	case n.sw == nil && at != from:
		return 0, DropNotSwitch
	case out == 0 || out > n.numPorts || n.sw == nil && out != f.ports[from].num:
		return 0, DropNoPort
	}
	next := f.across(n.first + int32(out))
	if next < 0 {
		return 0, DropLinkDown
	}
	return next, Delivered
}
