package fabric

import "ibsm/mad"

// walkOut carries an outbound directed-route SMP from the station at from to the
// end of its path, or to a node that lies, filling ReturnPath on the way (IBA 14.2.2). It returns the
// port by which the SMP arrived, and after how many hops. Only switches pass it on.
func (f *Fabric) walkOut(from int32, p *mad.Packet) (at int32, passed int, why Drop) {
	hops := int(p.HopCount())
	if hops > mad.MaxHops || p.HopPointer() != 0 || p.DrSLID() != mad.PermissiveLID || p.DrDLID() != mad.PermissiveLID {
		return 0, 0, DropMalformed
	}
	at = from
	for h := 1; h <= hops; h++ {
		if at, why = f.hop(from, at, p.InitialPath()[h]); why != Delivered {
			return 0, 0, why
		}
		if !f.receivedSMP(at) {
			return 0, 0, DropErrors
		}
		p.ReturnPath()[h] = f.ports[at].num
		if f.nodeOf(at).liar != nil && !f.nodeOf(at).gone {
			return at, h, Delivered
		}
	}
	p.SetHopPointer(uint8(hops) + 1)
	return at, hops, Delivered
}

// walkBack carries a returning directed-route SMP from the node at whose port from
// it was answered to the one that asked.
func (f *Fabric) walkBack(from int32, p *mad.Packet) (at int32, why Drop) {
	hops := int(p.HopCount())
	if hops > mad.MaxHops || int(p.HopPointer()) != hops+1 || p.DrSLID() != mad.PermissiveLID ||
		p.DrDLID() != mad.PermissiveLID {
		return 0, DropMalformed
	}
	if at, why = f.back(from, hops, p); why == Delivered {
		p.SetHopPointer(0)
	}
	return at, why
}

// back carries a returning SMP over its last hops.
func (f *Fabric) back(from int32, hops int, p *mad.Packet) (at int32, why Drop) {
	at = from
	for h := hops; h >= 1; h-- {
		if at, why = f.hop(from, at, p.ReturnPath()[h]); why != Delivered {
			return 0, why
		}
		if !f.receivedSMP(at) {
			return 0, DropErrors
		}
	}
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
