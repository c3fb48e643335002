package fabric

import (
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/topo/net"
)

// Probe sends one data packet from an end port to a LID, now and at once, as a
// queue pair with that partition and service level would: through the forwarding
// tables, port states, partition enforcement and lanes as they are. The P_Key goes
// out with the membership that the sender's table has, the one asked for if it has both. It appends the hops that the
// packet took to hops, and says how it ended; the last hop is the one that was left
// when the packet was lost.
//
// Like any data packet it makes Armed ports Active and raises traps.
func (f *Fabric) Probe(from net.End, dlid mad.LID, pkey mad.PKey, sl uint8, hops []Hop) ([]Hop, Drop) {
	t := flight{dlid: dlid, sl: sl & 15, trace: true, hops: hops, load: Load{1, madWords}}
	why := f.probe(from, pkey, &t)
	return t.hops, why
}

// Load is an amount of data packets: Words of 4 octets in so many Packets.
type Load struct{ Packets, Words uint64 }

// Send sends a Load from an end port to a LID, now and at once, as Probe sends one packet, and
// says how many of the packets arrived.
func (f *Fabric) Send(from net.End, dlid mad.LID, pkey mad.PKey, sl uint8, load Load) (arrived uint64, why Drop) {
	if load.Packets == 0 {
		return 0, Delivered
	}
	t := flight{dlid: dlid, sl: sl & 15, load: load}
	if why = f.probe(from, pkey, &t); why != Delivered {
		return 0, why
	}
	return load.Packets - t.bad, Delivered
}

// probe sends a flight from an end port.
func (f *Fabric) probe(from net.End, pkey mad.PKey, t *flight) Drop {
	src := f.mgmt(f.must(from))
	key, ok := f.portOr(src, t.from).held(pkey)
	switch {
	case f.nodeOf(src).gone:
		return DropNodeGone
	case !t.dlid.IsUnicast():
		return DropNoRoute
	case !ok:
		return DropPKey
	}
	t.slid, t.pkey = f.ports[src].info.LID(), key
	if why := f.sendVirtual(f.virtual[src], t); why != Delivered {
		return why
	}
	_, why := f.route(src, t)
	return why
}

// held is the entry k of the port's partition table, or else the first with k's base.
func (p *port) held(k mad.PKey) (mad.PKey, bool) {
	if p.tables != nil && slices.Contains(p.tables.pkeys, k) && k.Valid() {
		return k, true
	}
	for i := 0; p.tables == nil && i == 0 || p.tables != nil && i < max(1, len(p.tables.pkeys)); i++ {
		if e := p.pkeyAt(i); e.Valid() && e.Base() == k.Base() {
			return e, true
		}
	}
	return 0, false
}

// Spread is what became of a multicast packet.
type Spread struct {
	Delivered  []net.End // end ports and switch ports 0, in the order reached
	VPorts     []VPort   // functions that hear what their ports received
	Duplicates int       // copies that reached a port which had one already
	Drops      [numDrops]int
}

// multicast is a multicast packet on its ways.
type multicast struct {
	flight
	copies  []int32        // ports by which copies have come in, not yet looked at
	entered map[int32]bool // ports of switches by which a copy came in, and reached end ports
	Spread
}

// ProbeMulticast sends one multicast packet from an end port, as Probe does. A copy
// that enters a switch by a port where one came in before is counted as a loop and
// goes no further.
func (f *Fabric) ProbeMulticast(from net.End, mlid mad.LID, pkey mad.PKey, sl uint8) Spread {
	return f.probeMulticast(from, nil, mlid, pkey, sl)
}

func (f *Fabric) probeMulticast(from net.End, by *vport, mlid mad.LID, pkey mad.PKey, sl uint8) (s Spread) {
	src := f.mgmt(f.must(from))
	key, ok := f.portOr(src, by).held(pkey)
	switch {
	case f.nodeOf(src).gone:
		s.Drops[DropNodeGone]++
		return s
	case !ok:
		s.Drops[DropPKey]++
		return s
	}
	m := multicast{
		flight: flight{dlid: mlid, slid: f.ports[src].info.LID(), pkey: key, sl: sl & 15, load: Load{1, madWords},
			multicast: true, from: by, global: true},
		entered: make(map[int32]bool),
	}
	if why := f.sendVirtual(f.virtual[src], &m.flight); why != Delivered {
		s.Drops[why]++
		return s
	}
	if f.nodeOf(src).sw == nil {
		if f.sendsData(src) {
			f.hear(src, &m)
		}
		f.leave(src, src, &m)
	} else {
		m.copies = append(m.copies, src)
	}
	for len(m.copies) > 0 {
		at := m.copies[0]
		m.copies = m.copies[1:]
		if f.nodeOf(at).sw == nil {
			f.landMulticast(at, &m)
		} else if m.entered[at] {
			m.Drops[DropLoop]++
		} else {
			m.entered[at] = true
			f.spread(at, &m)
		}
	}
	return m.Spread
}

// spread makes the copies of a packet that came into a switch by port at.
func (f *Fabric) spread(at int32, m *multicast) {
	n := f.nodeOf(at)
	if why := f.mayEnter(at, &m.flight); why != Delivered {
		m.Drops[why]++
		return
	}
	masks := n.sw.multicastPorts(n.numPorts, m.dlid)
	if masks == nil {
		m.Drops[DropNoRoute]++
	}
	for position, mask := range masks {
		for ; mask != 0; mask &= mask - 1 {
			num := int32(position*16 + bits.TrailingZeros16(mask))
			switch out := n.first + num; {
			case num > int32(n.numPorts) || out == at: // never back where it came from
			case num == 0:
				f.landMulticast(out, m)
			default:
				f.leave(at, out, m)
			}
		}
	}
}

// leave sends a copy that came in by port at out of port out.
func (f *Fabric) leave(at, out int32, m *multicast) {
	_, why := f.mayLeave(at, out, &m.flight)
	if why == Delivered {
		next := f.across(out)
		if copied := m.flight; !f.received(next, &copied) {
			m.Drops[DropErrors]++
			return
		}
		if f.takesData(next) {
			m.copies = append(m.copies, next)
			return
		}
		why = DropNotActive
	}
	m.Drops[why]++
}

func (f *Fabric) landMulticast(to int32, m *multicast) {
	heard := !m.entered[to] && f.hear(to, m)
	switch _, ok := f.ports[to].pkey(m.pkey); {
	case !ok && heard:
	case !ok:
		f.countBadPKey(to)
		m.Drops[DropPKey]++
	case m.entered[to]:
		m.Duplicates++
	default:
		m.entered[to] = true
		m.Delivered = append(m.Delivered, f.end(to))
	}
}
