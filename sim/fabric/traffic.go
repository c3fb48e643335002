package fabric

import (
	"time"

	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// Traffic is data that a port sends all the time, as its counters see it.
type Traffic struct {
	Words, Packets float64 // a second
	// Waited is the part of the time, 0 to 1, in which it has data and cannot send them. PortXmitWait
	// counts it in the time that the link takes for a word.
	Waited float64
}

// flowing is the Traffic of a port in both directions.
type flowing struct {
	sent, received Traffic
	since          time.Duration
	rest           [pma.NumCounters]float64 // parts of one
}

// SetTraffic has a port count Traffic from now on, and the port at the other end of its cable count what
// comes in, as long as the link is up. No packet is simulated.
func (f *Fabric) SetTraffic(at net.End, t Traffic) {
	i := f.must(at)
	f.flow(i).sent = t
	if peer := f.ports[i].peer; peer >= 0 {
		f.flow(peer).received = t
	}
}

// NoTraffic ends all Traffic.
func (f *Fabric) NoTraffic() {
	for i := range f.traffic {
		f.accrue(i)
	}
	clear(f.traffic)
}

// flow is the traffic of a port, counted up to now.
func (f *Fabric) flow(i int32) *flowing {
	f.accrue(i)
	if f.traffic == nil {
		f.traffic = map[int32]*flowing{}
	}
	if f.traffic[i] == nil {
		f.traffic[i] = &flowing{since: f.now}
	}
	return f.traffic[i]
}

// accrueTraffic counts the traffic of a port up to now.
func (f *Fabric) accrueTraffic(i int32, w *flowing) {
	seconds := (f.now - w.since).Seconds()
	if w.since = f.now; !f.linkUp(i) {
		return
	}
	for _, x := range [...]struct {
		c      pma.Counter
		second float64
	}{
		{pma.PortXmitData, w.sent.Words}, {pma.PortXmitPkts, w.sent.Packets}, {pma.PortUnicastXmitPkts, w.sent.Packets},
		{pma.PortXmitWait, w.sent.Waited * f.bitRate(i) / 32},
		{pma.PortRcvData, w.received.Words}, {pma.PortRcvPkts, w.received.Packets},
		{pma.PortUnicastRcvPkts, w.received.Packets},
	} {
		w.rest[x.c] += x.second * seconds
		whole := uint64(w.rest[x.c])
		if w.rest[x.c] -= float64(whole); whole > 0 {
			f.count(i, x.c, whole)
		}
	}
}

// BitRate is the nominal rate of the link at a port in bits a second, 0 while it is down.
func (f *Fabric) BitRate(at net.End) float64 { return f.bitRate(f.must(at)) }

// bitRate is the nominal rate by the port's index.
func (f *Fabric) bitRate(i int32) float64 {
	if !f.linkUp(i) {
		return 0
	}
	return 1e9 * f.ports[i].info.Rate(smp.IsExtendedSpeedsSupported|smp.IsCapabilityMask2Supported,
		smp.IsExtendedSpeeds2Supported).Gbps()
}
