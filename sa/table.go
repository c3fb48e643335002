package sa

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// IsTable reports whether a request is one for Table rather than for Answer: a
// GetTable of an attribute that comes in tables, or a GetMulti that came by RMPP.
func IsTable(p *mad.Packet) bool {
	switch {
	case !isSpoken(p):
		return false
	case p.Method() == mad.MethodGetTable:
		return slices.Contains(tableAttrs, p.AttrID())
	}
	return p.Method() == mad.MethodGetMulti && p.AttrID() == sarec.AttrMultiPathRecord && p.IsRMPP()
}

// Table answers a GetTable or GetMulti: it writes the header of the reply to out, with the address
// to send it to, and returns the records of the table, which must follow by RMPP even
// if there are none. A reply whose status is not StatusOK is no table but a packet to
// be sent as it is. ok is false when there must be no answer, and out is void. in and
// out must not be the same datagram, and IsTable(in) must be true. What happened is
// counted in stats.
//
// Table takes time in proportion to the records, and to the pairs of ports for paths:
// seconds at most, less when ctx ends.
func (a *Responder) Table(ctx context.Context, in, out *mad.Datagram, stats *Stats) (records []byte, ok bool) {
	if !a.open(in, out, stats) {
		return nil, false
	}
	a = a.hearing(in)
	p, reply := &in.Packet, &out.Packet
	r := a.request(in)
	records, size, st := a.table(ctx, p.AttrID(), &r)
	if st == mad.StatusOK {
		if p.AttrID() == sarec.AttrMultiPathRecord {
			reply.SetAttrID(sarec.AttrPathRecord)
		}
		clear(reply.SAData()[:])
		if len(records) > 0 {
			reply.SetAttributeOffset(uint16(size / 8))
		}
	}
	reply.SetStatus(st)
	stats.reply(p.AttrID(), st)
	return records, true
}

// table gathers the records, of size bytes each.
func (a *Responder) table(ctx context.Context, attr mad.AttrID, r *request) (records []byte, size int, st mad.Status) {
	switch attr {
	case sarec.AttrMultiPathRecord:
		records, st = a.paths.Multi(ctx, r.from, (*sarec.MultiPathRecord)(r.data), r.comps)
		return records, len(sarec.PathRecord{}), st
	case sarec.AttrPathRecord:
		want := (*sarec.PathRecord)(r.data[:])
		records, st = a.paths.Table(ctx, r.from, want, r.comps, MaxTable)
		if st == mad.StatusNoRecords {
			st = mad.StatusOK
		}
		return records, len(want), st
	}
	res := result{table: true}
	a.records(attr, r, &res)
	return res.data, res.size, res.status()
}
