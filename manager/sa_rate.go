package manager

import (
	"sync/atomic"
	"time"

	"ibsm/mad"
	"ibsm/sa"
	"ibsm/topo"
)

// clientRates limit how many requests are taken from each LID: a token bucket each, kept as the time at
// which it is full again (the generic cell rate algorithm). There is one for each unicast LID that a
// packet can show, 384 KiB in all. Any number of goroutines may use it.
type clientRates [mad.MinMulticastLID]atomic.Int64

// take reports whether a request of a LID at a time is taken, where there may be so many in a second, and
// as many at once.
func (c *clientRates) take(lid mad.LID, now time.Duration, perSecond uint32) bool {
	bucket := &c[min(int(lid), len(c)-1)]
	each := int64(time.Second) / int64(perSecond)
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
	own := v.Topo.EndPort(v.Topo.Self)
	n := 0
	for i := range ds {
		if !v.Subnet.Trusts(ds[i].Packet.SMKey()) {
			lid, from := ds[i].LID, v.LIDs.PortOf(ds[i].LID)
			if from != topo.None {
				lid = v.LIDs.Base[from] // a port with several LIDs has one bucket
			}
			if from != own && !s.rates.take(lid, now, perSecond) {
				responder.TooMany(&ds[i], &s.stats)
				continue
			}
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
