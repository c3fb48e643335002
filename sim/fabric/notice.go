package fabric

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// trap is a notice that is sent again and again until the master represses it.
type trap struct {
	port   int32
	tid    mad.TID
	serial uint64 // of the chain of events that sends it
	sent   bool
	notice smp.Notice
}

// Bounds of the time between two traps of a node, whatever its SubnetTimeOut.
const (
	minTrapInterval = time.Millisecond
	maxTrapInterval = 10 * time.Second
)

// trapInterval is the port's SubnetTimeOut: no node sends traps faster
// (IBA 14.2.5.6).
func (p *port) trapInterval() time.Duration {
	d := time.Duration(4096) << p.info.SubnetTimeOut() // 4.096 us is 4096 ns
	return min(max(d, minTrapInterval), maxTrapInterval)
}

// notice begins a notice of end port m.
func (f *Fabric) notice(m int32, typ smp.NoticeType, number smp.TrapNumber) (t smp.Notice) {
	t.SetIsGeneric(true)
	t.SetType(typ)
	t.SetProducerType(smp.ProducerType(f.nodeOf(m).typ))
	t.SetTrapNumber(number)
	t.SetIssuerLID(f.ports[m].info.LID())
	return t
}

// raise sends a notice to the master as soon as the node may, and then until it is
// repressed. A notice that waits under the same number gives way to the new one, unless they are of two vPorts. A
// port that has no LID or knows no master says nothing.
func (f *Fabric) raise(m int32, notice *smp.Notice) {
	n, p := f.nodeOf(m), &f.ports[m]
	if n.gone || n.unresponsive || !p.info.LID().IsUnicast() || p.info.MasterSMLID() == 0 ||
		!p.info.CapabilityMask().Has(smp.IsTrapSupported) {
		return
	}
	f.serial++
	for i := range n.traps {
		if t := &n.traps[i]; t.port == m && sameTrap(&t.notice, notice) {
			t.tid, t.sent, t.notice = mad.TID(f.serial), false, *notice
			return
		}
	}
	n.traps = append(n.traps, trap{port: m, tid: mad.TID(f.serial), serial: f.serial, notice: *notice})
	f.scheduleTrap(m, f.serial, max(f.now, n.nextTrap))
	n.nextTrap = max(f.now, n.nextTrap) + p.trapInterval()
}

func (f *Fabric) scheduleTrap(m int32, serial uint64, at time.Duration) {
	e := f.queue.push(at)
	e.kind, e.port, e.serial = evTrap, m, serial
}

// sendTrap is the time for a trap to be sent, if it still waits.
func (f *Fabric) sendTrap(m int32, serial uint64) {
	n, p := f.nodeOf(m), &f.ports[m]
	i := slices.IndexFunc(n.traps, func(t trap) bool { return t.serial == serial })
	if i < 0 {
		return
	}
	t := &n.traps[i]
	if p.info.MasterSMLID() == 0 {
		n.traps = slices.Delete(n.traps, i, i+1)
		return
	}
	f.scheduleTrap(m, serial, f.now+p.trapInterval())
	if n.unresponsive {
		return
	}
	t.sent = true
	d := mad.Datagram{Addr: mad.Addr{LID: p.info.MasterSMLID(), SL: p.info.MasterSMSL()}}
	d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodTrap, smp.AttrNotice, 0)
	d.Packet.SetTID(t.tid)
	*d.Packet.Data() = t.notice // and M_Key 0 (o14-1), as drivers send it
	f.onWire(evArrive, m, &d)
}

// repress ends the trap that a TrapRepress answers; ok is false when the agent sent
// none such.
func (f *Fabric) repress(m int32, d *mad.Datagram) (ok bool) {
	n, p := f.nodeOf(m), &d.Packet
	number := (*smp.Notice)(p.Data()).TrapNumber()
	i := slices.IndexFunc(n.traps, func(t trap) bool {
		return t.port == m && t.sent && t.tid == p.TID() && t.notice.TrapNumber() == number
	})
	if i < 0 {
		return false
	}
	if f.checkMKey(m, p) {
		n.traps = slices.Delete(n.traps, i, i+1)
	} else {
		f.drop(DropMKey, d)
	}
	return true
}

// loggedNotice answers Get(Notice) with the oldest notice that waits, and takes it
// for known on a Set.
func (f *Fabric) loggedNotice(n *node, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	if mod != 0 {
		return mad.StatusBadField
	}
	var empty smp.Notice
	empty.SetIsGeneric(true)
	empty.SetType(smp.NoticeEmpty)
	if set && len(n.traps) > 0 {
		n.traps = slices.Delete(n.traps, 0, 1)
	}
	if len(n.traps) > 0 {
		*d = n.traps[0].notice
	} else {
		*d = empty
	}
	return mad.StatusOK
}

// raiseLocalChange reports by trap 144 that the capabilities of end port m changed,
// or what flags says.
func (f *Fabric) raiseLocalChange(m int32, flags smp.ChangeFlags) {
	pi := &f.ports[m].info
	need := smp.IsCapabilityMaskNoticeSupported
	if flags != 0 {
		need = smp.IsOtherLocalChangesNoticeSupported
	}
	if !pi.CapabilityMask().Has(need) {
		return
	}
	t := f.notice(m, smp.NoticeInformational, smp.TrapLocalChange)
	c := t.LocalChange()
	c.SetLID(pi.LID())
	c.SetCapabilityMask(pi.CapabilityMask())
	c.SetCapabilityMask2(pi.CapabilityMask2())
	c.SetOtherLocalChanges(flags != 0)
	c.SetChangeFlags(flags)
	f.raise(m, &t)
}

// badPKey counts and reports a data packet that end port m has no P_Key for.
func (f *Fabric) badPKey(m int32, v *flight) {
	f.countBadPKey(m)
	t := f.notice(m, smp.NoticeSecurity, smp.TrapBadPKey)
	b := t.BadKey()
	b.SetLID1(v.slid)
	b.SetLID2(v.dlid)
	b.SetKey(uint32(v.pkey))
	b.SetSL(v.sl)
	b.SetQP1(1)
	b.SetQP2(1)
	f.raise(m, &t)
}

// badSwitchPKey does so for external port i of a switch.
func (f *Fabric) badSwitchPKey(i int32, v *flight) {
	f.countBadPKey(i)
	m := f.mgmt(i)
	if !f.ports[m].info.CapabilityMask().Has(smp.IsPKeySwitchExternalPortTrapSupported) {
		return
	}
	t := f.notice(m, smp.NoticeSecurity, smp.TrapSwitchBadPKey)
	b := t.SwitchBadPKey()
	b.SetLID1(v.slid)
	b.SetLID2(v.dlid)
	b.SetPKey(v.pkey)
	b.SetSL(v.sl)
	b.SetQP1(1)
	b.SetQP2(1)
	b.SetSwitchLID(f.ports[m].info.LID())
	b.SetPortNum(f.ports[i].num)
	f.raise(m, &t)
}

func (f *Fabric) countBadPKey(i int32) {
	pi := &f.ports[i].info
	if v := pi.PKeyViolations(); v < 0xffff {
		pi.SetPKeyViolations(v + 1)
	}
}
