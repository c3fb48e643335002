package manager

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"ibsm/mad"
	"ibsm/sa"
	"ibsm/topo"
	"ibsm/view"
)

// clientRates limit how many requests are taken from each LID: a token bucket each, kept as the time at
// which it is full again (the generic cell rate algorithm). There is one for each unicast LID that a
// packet can show, 384 KiB in all. Any number of goroutines may use it.
type clientRates [mad.MinMulticastLID]atomic.Int64

// take reports whether a request of a LID at a time is taken, where there may be so many in a second, and
// as many at once.
func (c *clientRates) take(lid mad.LID, now time.Duration, perSecond uint32) bool {
	return takeFrom(&c[min(int(lid), len(c)-1)], now, int64(perSecond))
}

// takeFrom is take for one bucket.
func takeFrom(bucket *atomic.Int64, now time.Duration, perSecond int64) bool {
	each := int64(time.Second) / perSecond
	for {
		full := bucket.Load()
		next := max(full, int64(now)) + each
		if next-int64(now) > int64(time.Second) {
			return false
		}
		if bucket.CompareAndSwap(full, next) {
			return true
		}
	}
}

// vPortRates are the buckets of vPorts, by their GUIDs: functions of an adapter share its LID, and one that asks too
// often must not stop the others or their host. Each has the rate of a port, and all behind a port together
// vPortsOfPort times that, however many GUIDs they show. A few vPorts have a bucket together, which ones nobody knows
// outside. Only GUIDs of vPorts that are known behind the port count; what comes by a port with other GUIDs has one
// bucket.
type vPortRates struct {
	seed  maphash.Seed
	own   [1 << 16]atomic.Int64
	ports clientRates // of all behind a port, by its LID
}

// vPortsOfPort is how many times the rate of a port all vPorts behind one have.
const vPortsOfPort = 32

// maxRate is the highest rate that a bucket can have: a request in each nanosecond.
const maxRate = int64(time.Second)

// take reports whether a request by a port, given by its LID, is taken, that shows a GUID of a vPort behind it; 0 for
// one that is not known.
func (r *vPortRates) take(guid mad.GUID, port mad.LID, now time.Duration, perSecond uint32) bool {
	key := uint64(guid)
	if key == 0 {
		key = uint64(port) // no vPort has it as GUID
	}
	return takeFrom(r.bucket(key), now, int64(perSecond)) &&
		takeFrom(&r.ports[min(int(port), len(r.ports)-1)], now, min(vPortsOfPort*int64(perSecond), maxRate))
}

// bucket is that of a key.
func (r *vPortRates) bucket(key uint64) *atomic.Int64 {
	return &r.own[maphash.Comparable(r.seed, key)%uint64(len(r.own))]
}

// ofVPorts are the buckets of vPorts, which take memory only where there are vPorts.
func (s *saServer) ofVPorts() *vPortRates {
	if r := s.vPortRates.Load(); r != nil {
		return r
	}
	s.vPortRates.CompareAndSwap(nil, &vPortRates{seed: maphash.MakeSeed()})
	return s.vPortRates.Load()
}

// taken reports whether a request is taken, of which there may be so many in a second from one client.
func (s *saServer) taken(v *view.View, in *mad.Datagram, now time.Duration, perSecond uint32) bool {
	t := v.Topo
	from := v.EndOfLID(in.LID)
	if from == topo.None {
		return s.rates.take(in.LID, now, perSecond)
	}
	port := t.Physical(from)
	lid := v.LIDs.Base[port] // a port with several LIDs has one bucket
	switch first, end := t.VPorts.Of(port); {
	case from != port: // a vPort with a LID of its own
		return s.ofVPorts().take(t.EndGUID(from), lid, now, perSecond)
	case first == end || !in.GRH.Present || in.GRH.GID.GUID() == t.Ports[port].GUID:
		return port == t.EndPort(t.Self) || s.rates.take(lid, now, perSecond)
	}
	guid := in.GRH.GID.GUID()
	e := t.FindEnd(guid)
	if e == topo.None || t.VPortOf(e) == topo.None || t.Physical(e) != port {
		guid = 0
	} else {
		guid = t.EndGUID(e) // one with several GUIDs has one bucket
	}
	return s.ofVPorts().take(guid, lid, now, perSecond)
}

// admit moves the accepted requests to the front, and returns them: all that show the SA_Key or come from the manager's
// own port, and as many others as view.Trust.Rate allows.
func (s *saServer) admit(ds []mad.Datagram, now time.Duration, responder *sa.Responder) []mad.Datagram {
	if responder == nil {
		return ds
	}
	v := responder.View()
	perSecond := v.Subnet.Trust.Rate
	if perSecond == 0 {
		return ds
	}
	n := 0
	for i := range ds {
		if !v.Subnet.Trusts(ds[i].Packet.SMKey()) && !s.taken(v, &ds[i], now, perSecond) {
			responder.TooMany(&ds[i], &s.stats)
			continue
		}
		if n != i {
			ds[n] = ds[i]
		}
		n++
	}
	return ds[:n]
}

// clientCounts counts the packets that came to the SA, by the LID that they came from. Any
// number of goroutines may count and read.
type clientCounts [mad.MinMulticastLID]atomic.Uint32

func (c *clientCounts) add(ds []mad.Datagram) {
	for i := range ds {
		if lid := ds[i].LID; int(lid) < len(c) {
			c[lid].Add(1)
		}
	}
}

// SAClients appends to into, by LID, how many packets came to the SA from it. Counts begin
// again after 1<<32.
func (s *Shell) SAClients(into []uint32) []uint32 {
	for i := range s.sa.clients {
		into = append(into, s.sa.clients[i].Load())
	}
	return into
}
