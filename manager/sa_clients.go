package manager

import (
	"sync/atomic"

	"ibsm/mad"
)

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
