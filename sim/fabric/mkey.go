package fabric

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// checkMKey reports whether the port that the SMP came in by lets it pass
// (IBA 14.2.4). A refusal counts as a violation, starts the lease and is reported
// by trap 256.
func (f *Fabric) checkMKey(at int32, p *mad.Packet) bool {
	m := f.mgmt(at)
	pi := &f.ports[m].info
	f.expireLease(m)
	if pi.MKey() == 0 || pi.MKey() == p.MKey() {
		f.ports[m].leaseEnd = 0
		return true
	}
	if p.Method() == mad.MethodGet && pi.MKeyProtectBits() < 2 {
		return true
	}
	if v := pi.MKeyViolations(); v < 0xffff {
		pi.SetMKeyViolations(v + 1)
	}
	if lease := pi.MKeyLeasePeriod(); lease > 0 && f.ports[m].leaseEnd == 0 {
		f.ports[m].leaseEnd = f.now + time.Duration(lease)*time.Second
	}
	f.badMKey(m, p)
	return false
}

// expireLease takes protection away when nobody has shown the right M_Key for the
// lease period after a violation.
func (f *Fabric) expireLease(m int32) {
	p := &f.ports[m]
	if p.leaseEnd > 0 && f.now >= p.leaseEnd {
		p.leaseEnd = 0
		p.info.SetMKeyProtectBits(0)
	}
}

// hideMKey takes the M_Key out of an answer to a requester that has not shown it, at
// protection level 1.
func (f *Fabric) hideMKey(at int32, p *mad.Packet) {
	pi := &f.ports[f.mgmt(at)].info
	if p.Method() == mad.MethodGet && pi.MKeyProtectBits() == 1 && pi.MKey() != p.MKey() {
		(*smp.PortInfo)(p.Data()).SetMKey(0)
	}
}

func (f *Fabric) badMKey(m int32, p *mad.Packet) {
	t := f.notice(m, smp.NoticeSecurity, smp.TrapBadMKey)
	b := t.BadMKey()
	b.SetLID(f.ports[m].info.LID())
	b.SetMethod(p.Method())
	b.SetAttributeID(p.AttrID())
	b.SetAttributeModifier(p.AttrMod())
	b.SetMKey(p.MKey())
	if p.MgmtClass() == mad.ClassDirected {
		b.SetDRSLID(p.DrSLID())
		b.SetDRNotice(true)
		hops := int(min(p.HopCount(), mad.MaxHops))
		b.SetDRHopCount(uint8(hops))
		b.SetDRPathTruncated(hops > len(b.DRReturnPath()))
		copy(b.DRReturnPath()[:], p.ReturnPath()[1:hops+1])
	}
	f.raise(m, &t)
}
