package manager

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sa"
	"ibsm/view"
)

// sourcesMemory is how much memory requests of any number of senders leave behind, beside the 384 KiB of clientRates,
// which are there from the start: the rows of sa.Offenders, and what the parts of QP1 keep of ports.
const sourcesMemory = 1 << 20

// TestSpoofedSources: a million requests, of all ways in which the SA answers, that show random LIDs and random GIDs in
// their GRH, come to what counts by source, and leave no more memory behind than sourcesMemory, after the tables that
// ports have asked for were given up.
func TestSpoofedSources(t *testing.T) {
	senders := 100_000
	if os.Getenv("IBSM_PROOF") != "" {
		senders = 1_000_000
	}
	for name, trust := range map[string]view.Trust{
		"open": {}, "tenants": {Enhanced: true, CheckSGID: true, Rate: 1000}, "rate": {Rate: 1},
		"gids": {CheckSGID: true},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, func(c *clients) {
				v := *c.v
				v.Subnet.Trust = trust
				c.publish(&v)
				rng := rand.New(rand.NewPCG(1, 20))
				kinds := []mad.Datagram{
					request(sarec.AttrClassPortInfo, 0), request(sarec.AttrPathRecord, 0),
					request(sarec.AttrNodeRecord, 0), request(sarec.AttrMCMemberRecord, 0),
					request(sarec.AttrInformInfo, 0),
				}
				for i, m := range []mad.Method{mad.MethodGet, mad.MethodGet, mad.MethodGetTable, mad.MethodSet,
					mad.MethodSet} {
					kinds[i].Packet.SetMethod(m)
				}
				batch := make([]mad.Datagram, 50)
				send := func(n int) {
					for sent := 0; sent < n; sent += len(batch) {
						batch = batch[:cap(batch)]
						for i := range batch {
							d := &batch[i]
							*d = kinds[i%len(kinds)]
							d.LID, d.GRH.Present = mad.LID(rng.Uint32()), true
							if rng.IntN(10) == 0 {
								d.LID = 1 + mad.LID(rng.IntN(36)) // one that a port has
							}
							binary.BigEndian.PutUint64(d.GRH.GID[:], uint64(mad.DefaultPrefix))
							binary.BigEndian.PutUint64(d.GRH.GID[8:], rng.Uint64())
							d.Packet.SetTID(mad.TID(rng.Uint64()))
						}
						c.port.takeRequests(batch)
						time.Sleep(time.Millisecond) // of the bubble: 50,000 requests a second
						for len(c.fromSA) > 0 {
							<-c.fromSA
						}
					}
				}
				heap := func() int64 {
					time.Sleep(10 * time.Minute)
					c.nothingWaits()
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					return int64(m.HeapAlloc)
				}
				before := heap()
				send(senders)
				left := heap() - before
				_, more := c.shell.sa.stats.Offenders.All()
				t.Logf("%d requests: %d KiB are left, dropped: %d from no port, %d with another's GID, %d too many; %d rows given up", senders, left>>10,
					c.drops(sa.DropUnknownRequester), c.drops(sa.DropSpoofed), c.drops(sa.DropTooMany), more)
				if left > sourcesMemory {
					t.Errorf("%d bytes are left", left)
				}
				if c.drops(sa.DropUnknownRequester) == 0 || (c.drops(sa.DropSpoofed) > 0) != trust.CheckSGID ||
					(c.drops(sa.DropTooMany) > 0) != (trust.Rate > 0) {
					t.Error("not all of them come to what they are for")
				}
			})
		})
	}
}
