package sa

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	osmlog "ibsm/opensm/log"
	"ibsm/topo"
)

// IsWrite reports whether a packet is for the Registrar rather than for a Responder: a
// request to change what is registered, or the answer to a Report.
func IsWrite(p *mad.Packet) bool {
	switch p.Method() {
	case mad.MethodSet:
		return p.AttrID() == sarec.AttrInformInfo || isRegistered(p.AttrID())
	case mad.MethodDelete:
		return isRegistered(p.AttrID())
	case mad.MethodReportResp, mad.MethodReport: // which comes back when nobody answers it
		return true
	}
	return false
}

// isRegistered reports whether clients set and delete records of an attribute.
func isRegistered(a mad.AttrID) bool {
	switch a {
	case sarec.AttrMCMemberRecord, sarec.AttrServiceRecord, sarec.AttrGUIDInfoRecord:
		return true
	}
	return false
}

// writeRequest is a request to change something. Its record becomes that of the reply.
type writeRequest struct {
	comps   mad.ComponentMask
	trusted bool
	addr    mad.Addr
	from    topo.EndIdx // the requester
	came    time.Duration
	data    *[mad.SADataSize]byte

	refused refused // if it is

	size int      // of the reply's record
	wait waitsFor // of the reply
	key  blockKey // with waitsForPort
}

// waitsFor is what must have happened before a reply may leave.
type waitsFor uint8

const (
	waitsForNothing waitsFor = iota
	waitsForDisk
	waitsForTables // and the disk
	waitsForPort   // and the disk
)

// receive takes a datagram that came at a time.
func (r *Registrar) receive(in *mad.Datagram, came time.Duration) {
	if in.Packet.MgmtClass() == mad.ClassMirror {
		r.exchange(in)
		return
	}
	switch m := in.Packet.Method(); {
	case r.view == nil && (in.TimedOut || in.Packet.IsResponse() || m == mad.MethodReport):
		r.asClient(in)
		return
	case in.TimedOut || m == mad.MethodReportResp:
		r.reported(in)
		return
	case in.Packet.IsResponse(): // to what we asked before we became master
		r.stats.Drop(DropNoRequest)
		return
	}
	var out mad.Datagram
	if r.handover.drops() {
		r.stats.Drop(DropHandingOver)
		return
	}
	if !r.responder.open(in, &out, r.stats) {
		return
	}
	if reason := r.pending.admit(in); reason != answered {
		r.stats.Drop(reason)
		return
	}
	p := &in.Packet
	q := writeRequest{
		comps: p.ComponentMask(), trusted: p.SMKey() != 0, addr: in.Addr, from: r.responder.requester(in), came: came,
		data: out.Packet.SAData(),
	}
	st := mad.StatusBadVersion
	if isSpoken(p) {
		r.asks = r.view.Topo.EndGUID(q.from)
		st = r.serve(p, &q)
		r.asks = 0
	}
	if st == mad.StatusOK {
		clear(q.data[q.size:])
		out.Packet.SetAttributeOffset(uint16(q.size / 8))
	}
	if q.refused.cause != "" && (st != mad.StatusOK || p.AttrID() == sarec.AttrGUIDInfoRecord) {
		r.refuse(p, &q)
	}
	out.Packet.SetStatus(st)
	r.stats.reply(p.AttrID(), st)
	r.reply(&out, &q)
}

// refuse logs a request that was refused, or GUIDs that another port has. Where OpenSM logs nothing,
// or does not name the port, a line of our own does.
func (r *Registrar) refuse(p *mad.Packet, q *writeRequest) {
	guid, desc := named(r.view.Topo, q.from)
	if len(q.refused.lines) == 0 || p.AttrID() != sarec.AttrMCMemberRecord {
		q.refused.lines = append(q.refused.lines, osmlog.Refused(p.Method(), sarec.AttrName(p.AttrID()), guid, desc,
			q.refused.cause))
	}
	r.stats.Refusals.add(mad.GUID(guid), &q.refused)
}

func (r *Registrar) serve(p *mad.Packet, q *writeRequest) mad.Status {
	set := p.Method() == mad.MethodSet
	switch attr := p.AttrID(); {
	case !IsWrite(p), attr == sarec.AttrMCMemberRecord && r.view.Subnet.NoMulticast:
		return mad.StatusBadMethodAttr
	case attr == sarec.AttrMCMemberRecord && set:
		return r.setMember(q)
	case attr == sarec.AttrMCMemberRecord:
		return r.deleteMember(q)
	case attr == sarec.AttrServiceRecord && set:
		return r.setService(q)
	case attr == sarec.AttrServiceRecord:
		return r.deleteService(q)
	case attr == sarec.AttrInformInfo:
		return r.setInform(q)
	default:
		return r.changeGUIDs(q, set)
	}
}

// reply sends a reply now or has it wait.
func (r *Registrar) reply(out *mad.Datagram, q *writeRequest) {
	switch q.wait {
	case waitsForNothing:
		r.stats.Took(Recording, r.now-q.came, 1)
		r.effects.Send = append(r.effects.Send, *out)
	case waitsForPort:
		r.pending.hold(out, q.came)
		r.writing[q.key] = append(r.writing[q.key], *out)
	default:
		r.pending.add(out, r.reg.Seq(), q.wait == waitsForTables, q.came, r.now+ReplyTimeout)
	}
}

// settle sends the replies that need not wait any longer.
func (r *Registrar) settle() {
	r.effects.Send = r.pending.settle(r.now, r.effects.Send, &r.count, r.stats)
	r.settleOrders()
}
