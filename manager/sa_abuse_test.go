package manager

import (
	"encoding/binary"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
	"ibsm/sa"
)

// nothingWaits checks that no client is remembered for anything under way.
func (c *clients) nothingWaits() {
	c.t.Helper()
	s, r, p := c.shell.SATransfers(), c.shell.SARegistrations(), c.port
	if s.UnderWay != 0 || s.Bytes != 0 || len(p.tables.asked) != 0 || len(p.tables.clients) != 0 ||
		len(p.tables.waiting) != 0 {
		c.t.Errorf("of tables are left: %d asked for by %d clients, %+v", len(p.tables.asked), len(p.tables.clients), s)
	}
	if r.Pending != 0 || r.Waiting != 0 || r.Refused != 0 || p.inbox.waiting != 0 || len(p.inbox.clients) != 0 {
		c.t.Errorf("of registrations are left: %d in the inbox, %+v", p.inbox.waiting, r)
	}
}

// segment is one of a request by RMPP.
func segment(lid mad.LID, tid mad.TID, flags rmpp.Flags, number, length uint32) mad.Datagram {
	d := request(sarec.AttrMultiPathRecord, tid)
	d.LID = lid
	p := &d.Packet
	p.SetMethod(mad.MethodGetMulti)
	p[24], p[25], p[26] = rmpp.Version, byte(rmpp.TypeData), byte(flags|rmpp.FlagActive)
	binary.BigEndian.PutUint32(p[28:], number)
	binary.BigEndian.PutUint32(p[32:], length)
	return d
}

// Transfers that clients begin and never go on with: one client has its share, by however
// many queue pairs, all together have no more than there is room for, each that is refused
// is counted, plain questions are answered all the while, and what was held is given back.
func TestHalfOpenFlood(t *testing.T) {
	serve(t, func(c *clients) {
		for tid := range mad.TID(1000) {
			d := segment(1, tid, rmpp.FlagFirst, 1, 660)
			d.QPN = uint32(1 + tid%50)
			c.ask(d)
		}
		if s := c.shell.SATransfers(); s.UnderWay != maxClientSends || s.OverPeer != 1000-maxClientSends {
			t.Errorf("one client: %d under way, %d refused", s.UnderWay, s.OverPeer)
		}
		other := request(sarec.AttrNodeRecord, 1)
		other.LID = 2
		if e := c.table(other); e.Status != rmpp.StatusNormal {
			t.Errorf("another client: %q", e.Status)
		}
		const lids, each = 2 * maxTransfers / maxClientSends, maxClientSends
		for lid := range mad.LID(lids) {
			for tid := range mad.TID(each) {
				c.ask(segment(100+lid, tid, rmpp.FlagFirst, 1, 660))
			}
		}
		s := c.shell.SATransfers()
		if refused := uint64(lids*each + maxClientSends - maxTransfers); s.UnderWay != maxTransfers ||
			s.OverCount != refused || s.Bytes > maxTransfers*maxRequest {
			t.Errorf("all: %d transfers of %d bytes, %d refused, want %d", s.UnderWay, s.Bytes, s.OverCount, refused)
		}
		question := request(sarec.AttrClassPortInfo, 1)
		question.Packet.SetMethod(mad.MethodGet)
		if got := c.ask(question); len(got) != 1 {
			t.Errorf("a plain question has %d answers", len(got))
		}
		if got := c.ask(other); len(got) != 0 || c.drops(sa.DropNoRoom) == 0 {
			t.Errorf("a table that there is no room for: %d packets", len(got))
		}
		time.Sleep(time.Minute)
		c.ask()
		c.nothingWaits()
		if e := c.table(other); e.Status != rmpp.StatusNormal {
			t.Errorf("afterwards: %q", e.Status)
		}
	})
}
