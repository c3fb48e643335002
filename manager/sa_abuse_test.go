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

// fuzzed is a packet in the fuzzer's bytes: whose it is, and how long it takes to come,
// and the packet.
const fuzzed = 2 + mad.PacketSize

// Whatever packets come, of whichever clients: nobody else is sent anything, no plain
// request has two replies, other clients are served, and in the end nothing is left of
// it that waits.
func FuzzSA(f *testing.F) {
	seed := func(ds ...mad.Datagram) {
		var b []byte
		for i := range ds {
			b = append(b, byte(ds[i].LID), 0)
			b = append(b, ds[i].Packet[:]...)
		}
		f.Add(b)
	}
	for _, attr := range []mad.AttrID{sarec.AttrPathRecord, sarec.AttrMCMemberRecord, sarec.AttrServiceRecord, sarec.AttrInformInfo, sarec.AttrGUIDInfoRecord} {
		var all []mad.Datagram
		for tid, method := range []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodDelete} {
			d := request(attr, mad.TID(tid+1))
			d.Packet.SetMethod(method)
			d.Packet.SetComponentMask(^mad.ComponentMask(0))
			all = append(all, d)
		}
		seed(all...)
	}
	seed(segment(1, 1, rmpp.FlagFirst, 1, 660), segment(1, 1, 0, 2, 0), segment(1, 1, rmpp.FlagLast, 3, 220))
	table := request(sarec.AttrPathRecord, 7)
	ack := table
	copy(ack.Packet[24:36], []byte{1, byte(rmpp.TypeACK), byte(rmpp.FlagActive), 0, 0, 0, 0, 1, 0, 0, 0, 65})
	seed(table, ack)
	f.Fuzz(func(t *testing.T, b []byte) {
		serve(t, func(c *clients) {
			asked := map[mad.Addr]map[mad.TID]int{}
			for n := 0; len(b) > 0 && n < 16; n++ {
				var in [fuzzed]byte
				b = b[copy(in[:], b):]
				d := mad.Datagram{Addr: mad.Addr{LID: 1 + mad.LID(in[0]&3), QPN: 1}, Packet: mad.Packet(in[2:])}
				if asked[d.Addr] == nil {
					asked[d.Addr] = map[mad.TID]int{}
				}
				asked[d.Addr][d.Packet.TID()]++
				time.Sleep(time.Duration(in[1]) << 24)
				for _, out := range c.ask(d) {
					c.expected(&out, asked)
				}
			}
			other := request(sarec.AttrNodeRecord, 1)
			other.LID = 9
			if e := c.table(other); e.Status != rmpp.StatusNormal || len(e.Data) != 36*112 {
				t.Errorf("another client: %q, %d bytes", e.Status, len(e.Data))
			}
			time.Sleep(10 * time.Minute)
			c.ask()
			c.nothingWaits()
		})
	})
}

// expected checks a packet of the SA's: it answers, or is a part of an answer to, what
// was asked by who gets it, or reports an event.
func (c *clients) expected(out *mad.Datagram, asked map[mad.Addr]map[mad.TID]int) {
	p := &out.Packet
	if !p.IsResponse() && p.Method() == mad.MethodReport || p.MgmtClass() == mad.ClassMirror {
		return
	}
	left := asked[out.Addr][p.TID()]
	if left == 0 {
		c.t.Fatalf("to %+v, who has not asked or has had an answer: %v of %s, TID %x", out.Addr, p.Method(), sarec.AttrName(p.AttrID()), uint64(p.TID()))
	}
	if !rmpp.IsActive(p) {
		asked[out.Addr][p.TID()]--
	}
}

// nothingWaits checks that no client is remembered for anything under way.
func (c *clients) nothingWaits() {
	c.t.Helper()
	s, r, p := c.shell.SATransfers(), c.shell.SARegistrations(), c.port
	if s.UnderWay != 0 || s.Bytes != 0 || len(p.tables.asked) != 0 || len(p.tables.clients) != 0 || len(p.tables.waiting) != 0 {
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
		if refused := uint64(lids*each + maxClientSends - maxTransfers); s.UnderWay != maxTransfers || s.OverCount != refused || s.Bytes > maxTransfers*maxRequest {
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
