package sadb

import (
	"encoding/binary"
	"math"
	"strings"

	"ibsm/mad"
	"ibsm/registry"
)

// Beginnings of records.
const (
	guidInfo   = "GUIDInfo Record:"
	group      = "MC Group"
	member     = "mcm_port"
	informInfo = "InformInfo Record:"
	service    = "Service Record:"
)

// kinds are the records there are, and the changes that they stand for.
var kinds = []struct {
	begins string
	read   func(*reader, *fields) []registry.Change
}{
	{guidInfo, (*reader).guidInfo},
	{group, (*reader).mcGroup},
	{member, (*reader).mcmPort},
	{informInfo, (*reader).informInfo},
	{service, (*reader).service},
}

// Parts of fields.
const (
	valueBits = 0x3f // of MTU, rate and lifetime; above them is a selector
	ownGUID   = 0    // index of a port's own among its GUIDs
	blockSize = 8    // GUIDs in a block
)

// guidInfo reads a block of a port's GUIDs.
func (r *reader) guidInfo(f *fields) (changes []registry.Change) {
	port := mad.GUID(f.hex(" base_guid=0x", 64))
	f.u16(" lid=0x") // which is that of the day
	block := f.u8(" block_num=0x")
	if f.wrong == "" && block >= 256/blockSize {
		f.wrong = "a port has 32 blocks of GUIDs at most"
	}
	for i := range uint8(blockSize) {
		guid := mad.GUID(f.hex(" guid"+string('0'+rune(i))+"=0x", 64))
		if at := block*blockSize + i; guid != 0 && at != ownGUID {
			changes = append(changes,
				registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: port, Index: at}, GUID: guid}})
		}
	}
	return changes
}

// mcGroup reads a group, whose members follow in lines of their own.
func (r *reader) mcGroup(f *fields) []registry.Change {
	f.u16(" 0x") // the MLID, which comes again
	wellKnown := strings.HasPrefix(strings.TrimLeft(f.text[f.at:], " "), "(well known)")
	g := registry.Group{MGID: f.gid(" mgid=0x"), WellKnown: wellKnown}
	f.gid(" port_gid=0x") // of the creator
	g.QKey = f.u32(" qkey=0x")
	g.MLID = mad.LID(f.u16(" mlid=0x"))
	g.MTU = mad.MTU(f.u8(" mtu=0x") & valueBits)
	g.TClass = f.u8(" tclass=0x")
	g.PKey = mad.PKey(f.u16(" pkey=0x"))
	g.Rate = mad.Rate(f.u8(" rate=0x") & valueBits)
	g.PacketLifeTime = f.u8(" pkt_life=0x") & valueBits
	flow := f.u32(" sl_flow_hop=0x")
	g.SL, g.FlowLabel, g.HopLimit = uint8(flow>>28), flow>>8&0xfffff, uint8(flow)
	g.Scope = f.u8(" scope_state=0x") >> 4
	return []registry.Change{registry.PutGroup{Group: g}}
}

// mcmPort reads a member of the group before it. Those of a group that was passed over
// are passed over with it.
func (r *reader) mcmPort(f *fields) []registry.Change {
	if r.group == nil {
		return nil
	}
	m := registry.Member{MGID: *r.group, Port: f.gid(" port_gid=0x")}
	m.JoinState = registry.JoinState(f.u8(" scope_state=0x") & 15)
	m.Proxy = f.flag(" proxy_join=0x")
	return []registry.Change{registry.PutMember{Member: m}}
}

// informInfo reads a subscription.
func (r *reader) informInfo(f *fields) []registry.Change {
	var s registry.Subscription
	s.Subscriber = f.gid(" subscriber_gid=0x")
	s.GID = f.gid(" gid=0x")
	s.LIDBegin, s.LIDEnd = mad.LID(f.u16(" lid_range_begin=0x")), mad.LID(f.u16(" lid_range_end=0x"))
	s.Generic = f.flag(" is_generic=0x")
	s.Type, s.Trap = f.u16(" trap_type=0x"), f.u16(" trap_num=0x")
	f.u32(" qpn_resp_time_val=0x") // the QPN is that of the address
	s.Producer = f.u32(" node_type=0x")
	s.Addr.LID = mad.LID(f.u16(" rep_addr: lid=0x"))
	s.Addr.PathBits = f.u8(" path_bits=0x")
	f.u8(" static_rate=0x")
	s.QPN = f.u32(" remote_qp=0x")
	s.Addr.QPN = s.QPN
	f.u32(" remote_qkey=0x") // always that of QP1
	f.u16(" pkey_ix=0x")     // of a table that is not known
	s.Addr.SL = f.u8(" sl=0x")
	return []registry.Change{registry.PutSubscription{Subscription: s}}
}

// service reads a service. Its lease is what was left of it at the time that the record
// names.
func (r *reader) service(f *fields) []registry.Change {
	var v registry.Service
	v.ID = f.hex(" id=0x", 64)
	v.GID = f.gid(" gid=0x")
	v.PKey = mad.PKey(f.u16(" pkey=0x"))
	v.Lease = f.u32(" lease=0x")
	v.Key = f.u128(" key=0x")
	const behindName = "' data8=0x"
	if name := f.quoted(" name='", behindName); len(name) > len(v.Name) {
		f.wrong = "the name is longer than 64 bytes"
	} else {
		copy(v.Name[:], name)
	}
	for i, label := range []string{behindName, " data16=0x", " data32=0x", " data64=0x"} {
		data := f.u128(label)
		copy(v.Data[16*i:], data[:])
	}
	since, left := f.u32(" modified_time=0x"), f.u32(" lease_period=0x")
	if v.Lease != registry.InfiniteLease {
		if left == math.MaxUint32 {
			left = v.Lease
		}
		v.Expires = max(int64(since)+int64(left), 1)
	}
	return []registry.Change{registry.PutService{Service: v}}
}

// halves are the two numbers of 64 bits that a GID is written as.
func halves(b [16]byte) (high, low uint64) {
	return binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])
}
