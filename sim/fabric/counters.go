package fabric

import (
	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/topo/net"
)

// madWords is the data of a packet with a MAD as ports count them (IBA 16.1.3.5): all octets
// from the local route header to the ICRC, 8+12+8+256+4, divided by 4. Probes are as long.
const madWords = 72

// madCount is how many MADs a port has sent and received over its cable since power-up. There
// is one for each port, apart from what is counted rarely: a large fabric is carried by what
// the cache holds of it.
type madCount struct{ sent, received uint32 }

// counts is what a port has counted since power-up besides MADs; nil as long as it is nothing.
type counts struct {
	n      [pma.NumCounters]uint64
	arrays [numArrays]*[16]uint64 // of the attributes of pma.Arrays, by index; nil for zeros
	resets *resets                // nil before the first
}

// numArrays is the number of pma.Arrays.
const numArrays = 16

// resets are the values that counters had when they were reset last. What an attribute shows
// began there: PortCounters and PortCountersExtended are reset apart from each other.
type resets struct {
	short, extended [pma.NumCounters]uint64
	arrays          [numArrays][16]uint64
}

// countsOf are the counts of a port, to be added to.
func (f *Fabric) countsOf(i int32) *counts {
	if f.counts[i] == nil {
		f.counts[i] = &counts{}
	}
	return f.counts[i]
}

// count adds to a counter of a port. Nothing here can overflow: counters of 64 bits take
// longer than any run.
func (f *Fabric) count(i int32, c pma.Counter, n uint64) { f.countsOf(i).n[c] += n }

// countDetail adds to counter x of an attribute that is one of pma.Arrays.
func (f *Fabric) countDetail(i int32, attr mad.AttrID, x int, n uint64) {
	c := f.countsOf(i)
	at := arrayIndex(attr)
	if c.arrays[at] == nil {
		c.arrays[at] = &[16]uint64{}
	}
	c.arrays[at][x] += n
}

func arrayIndex(attr mad.AttrID) int {
	list := pma.Arrays()
	for i := range list {
		if list[i].Attr == attr {
			return i
		}
	}
	return -1
}

// crossed counts a packet, or the packets of a Load, that left by port out and came in by
// port in at the other end of its cable.
func (f *Fabric) crossed(out, in int32, t *flight) {
	if t.load.Packets == 0 {
		f.mads[out].sent++
		f.mads[in].received++
		return
	}
	packets, words := t.load.Packets, t.load.Words
	a, b := f.countsOf(out), f.countsOf(in)
	a.n[pma.PortXmitPkts] += packets
	a.n[pma.PortXmitData] += words
	b.n[pma.PortRcvPkts] += packets
	b.n[pma.PortRcvData] += words
	if t.multicast {
		a.n[pma.PortMulticastXmitPkts] += packets
		b.n[pma.PortMulticastRcvPkts] += packets
	} else {
		a.n[pma.PortUnicastXmitPkts] += packets
		b.n[pma.PortUnicastRcvPkts] += packets
	}
	f.countDetail(out, pma.AttrPortXmitDataSL, int(t.sl), words)
	f.countDetail(in, pma.AttrPortRcvDataSL, int(t.sl), words)
}

// discard counts packets that port out of a switch did not send, with the reason: a counter of
// PortXmitDiscardDetails.
func (f *Fabric) discard(out int32, why int, t *flight) {
	if f.nodeOf(out).sw == nil {
		return
	}
	f.count(out, pma.PortXmitDiscards, t.packets())
	f.countDetail(out, pma.AttrPortXmitDiscardDetails, why, t.packets())
}

// notRelayed counts packets that came in by port in of a switch and had no way on, with the
// reason: a counter of PortRcvErrorDetails.
func (f *Fabric) notRelayed(in int32, why int, t *flight) {
	if f.nodeOf(in).sw == nil {
		return
	}
	f.count(in, pma.PortRcvSwitchRelayErrors, t.packets())
	f.countDetail(in, pma.AttrPortRcvErrorDetails, why, t.packets())
}

// packets is how many packets take the way.
func (t *flight) packets() uint64 { return max(1, t.load.Packets) }

// counted is what a port has counted since power-up.
func (f *Fabric) counted(i int32, c pma.Counter) (n uint64) {
	if f.counts[i] != nil {
		n = f.counts[i].n[c]
	}
	m := &f.mads[i]
	switch c {
	case pma.PortXmitPkts, pma.PortUnicastXmitPkts:
		n += uint64(m.sent)
	case pma.PortRcvPkts, pma.PortUnicastRcvPkts:
		n += uint64(m.received)
	case pma.PortXmitData:
		n += uint64(m.sent) * madWords
	case pma.PortRcvData:
		n += uint64(m.received) * madWords
	}
	return n
}

// countedDetail is counter x of one of pma.Arrays since power-up.
func (f *Fabric) countedDetail(i int32, array, x int) uint64 {
	if c := f.counts[i]; c != nil && c.arrays[array] != nil {
		return c.arrays[array][x]
	}
	return 0
}

// clearCounts is a port's power-up.
func (f *Fabric) clearCounts(i int32) { f.counts[i], f.mads[i] = nil, madCount{} }

// resetsOf are the values at which a port's counters were reset, to be changed.
func (f *Fabric) resetsOf(i int32) *resets {
	c := f.countsOf(i)
	if c.resets == nil {
		c.resets = &resets{}
	}
	return c.resets
}

// Counter is what a port has really counted since power-up, whatever was reset and however
// wide the counter is that shows it.
func (f *Fabric) Counter(at net.End, c pma.Counter) uint64 {
	i := f.must(at)
	f.accrue(i)
	return f.counted(i, c)
}

// Count adds to a counter of a port, as if n of what it counts had happened. Those of packets
// of 64 bits are apart from the sums of both kinds.
func (f *Fabric) Count(at net.End, c pma.Counter, n uint64) { f.count(f.must(at), c, n) }

// CountDetail adds to counter x of one of pma.Arrays.
func (f *Fabric) CountDetail(at net.End, attr mad.AttrID, x int, n uint64) {
	f.countDetail(f.must(at), attr, x, n)
}
