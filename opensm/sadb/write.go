package sadb

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/registry"
)

// Fixed parts of what is written.
const (
	exactly   = 0x80 // the selector of MTU, rate and lifetime
	wellKnown = " (well known)"
	gsiQKey   = 0x80010000 // of QP1 everywhere
	pkeyIndex = 0          // where the default partition is, by which Reports go
)

// Write writes what is registered, for OpenSM to load, in the order in which OpenSM does:
// alias GUIDs, groups with members, subscriptions, services. lidOf is the LID of a port, 0
// where it has none; now is in seconds since 1970.
//
// The format has no room for everything: bytes of a name that would end it or its line
// become question marks, and how long a subscriber takes to answer, which is not kept,
// becomes 0.
func Write(w io.Writer, s *registry.State, lidOf func(mad.GUID) mad.LID, now int64) error {
	out := bufio.NewWriterSize(w, 1<<16)
	writeAliases(out, s, lidOf)
	for g := range s.Groups() {
		writeGroup(out, s, &g)
	}
	for v := range s.Subscriptions() {
		writeSubscription(out, &v)
	}
	for v := range s.Services() {
		writeService(out, v, now)
	}
	return out.Flush()
}

// block is one of a port's GUIDs.
type block struct {
	port mad.GUID
	num  uint8
}

// writeAliases writes the blocks that have an alias.
func writeAliases(w io.Writer, s *registry.State, lidOf func(mad.GUID) mad.LID) {
	var at block
	var guids [blockSize]mad.GUID
	flush := func() {
		if at.port == 0 {
			return
		}
		if at.num == 0 {
			guids[ownGUID] = at.port
		}
		fmt.Fprintf(w, guidInfo+" base_guid=0x%016x lid=0x%04x block_num=0x%x", uint64(at.port), uint16(lidOf(at.port)),
			at.num)
		for i, g := range guids {
			fmt.Fprintf(w, " guid%d=0x%016x", i, uint64(g))
		}
		fmt.Fprint(w, "\n\n")
		clear(guids[:])
	}
	for a := range s.Aliases() {
		if b := (block{a.Port, a.Index / blockSize}); b != at {
			flush()
			at = b
		}
		guids[a.Index%blockSize] = a.GUID
	}
	flush()
}

func writeGroup(w io.Writer, s *registry.State, g *registry.Group) {
	known, creator := "", mad.GID{}
	if g.WellKnown {
		known = wellKnown
	} else {
		for m := range s.Members(g.MGID) {
			creator = m.Port
			break
		}
	}
	high, low := halves(g.MGID)
	prefix, id := halves(creator)
	fmt.Fprintf(
		w, group+" 0x%04x %s: mgid=0x%016x:0x%016x port_gid=0x%016x:0x%016x qkey=0x%08x mlid=0x%04x mtu=0x%02x tclass=0x%02x"+
			" pkey=0x%04x rate=0x%02x pkt_life=0x%02x sl_flow_hop=0x%08x scope_state=0x%02x proxy_join=0x0\n\n",
		uint16(g.MLID), known, high, low, prefix, id, g.QKey, uint16(g.MLID), exactly|uint8(g.MTU), g.TClass,
		uint16(g.PKey), exactly|uint8(g.Rate), exactly|g.PacketLifeTime, uint32(g.SL)<<28|g.FlowLabel<<8|
			uint32(g.HopLimit), g.Scope<<4|1)
	for m := range s.Members(g.MGID) {
		prefix, id := halves(m.Port)
		proxy := 0
		if m.Proxy {
			proxy = 1
		}
		fmt.Fprintf(w, member+": port_gid=0x%016x:0x%016x scope_state=0x%02x proxy_join=0x%x\n\n", prefix, id,
			g.Scope<<4|uint8(m.JoinState), proxy)
	}
}

func writeSubscription(w io.Writer, s *registry.Subscription) {
	prefix, id := halves(s.Subscriber)
	high, low := halves(s.GID)
	generic := 0
	if s.Generic {
		generic = 1
	}
	fmt.Fprintf(w, informInfo+" subscriber_gid=0x%016x:0x%016x subscriber_enum=0x0 InformInfo: gid=0x%016x:0x%016x"+
		" lid_range_begin=0x%x lid_range_end=0x%x is_generic=0x%x subscribe=0x1 trap_type=0x%x trap_num=0x%x qpn_resp_time_val=0x%x node_type=0x%06x"+
		" rep_addr: lid=0x%04x path_bits=0x%02x static_rate=0x00 remote_qp=0x%08x remote_qkey=0x%08x pkey_ix=0x%04x sl=0x%02x\n\n",
		prefix, id, high, low, uint16(s.LIDBegin), uint16(s.LIDEnd), generic, s.Type, s.Trap, s.QPN<<8, s.Producer,
		uint16(s.Addr.LID), s.Addr.PathBits, s.QPN, uint32(gsiQKey), pkeyIndex, s.Addr.SL)
}

func writeService(w io.Writer, v *registry.Service, now int64) {
	left := int64(math.MaxUint32)
	if v.Lease != registry.InfiniteLease {
		left = min(max(v.Expires-now, 0), math.MaxUint32-1)
	}
	prefix, id := halves(v.GID)
	fmt.Fprintf(w, service+" id=0x%016x gid=0x%016x:0x%016x pkey=0x%x lease=0x%x", v.ID, prefix, id, uint16(v.PKey),
		v.Lease)
	pair := func(label string, b []byte) {
		high, low := halves([16]byte(b))
		fmt.Fprintf(w, label+"0x%016x:0x%016x", high, low)
	}
	pair(" key=", v.Key[:])
	fmt.Fprintf(w, " name='%s'", writable(v.Name[:]))
	for i, label := range []string{" data8=", " data16=", " data32=", " data64="} {
		pair(label, v.Data[16*i:][:16])
	}
	fmt.Fprintf(w, " modified_time=0x%x lease_period=0x%x\n\n", uint32(now), uint32(left))
}

// writable is a name up to its first 0, without bytes that OpenSM would stumble over.
func writable(name []byte) string {
	text, _, _ := strings.Cut(string(name), "\x00")
	b := []byte(text)
	for i, c := range b {
		if slices.Contains([]byte("'\n\r"), c) {
			b[i] = '?'
		}
	}
	return string(b)
}
