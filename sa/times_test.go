package sa

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// Each time is counted below the next bound, and in its own way's histogram.
func TestTook(t *testing.T) {
	if !slices.IsSorted(TimeBounds[:]) || TimeBounds[0] != time.Microsecond || TimeBounds[6] != 10*time.Microsecond ||
		TimeBounds[len(TimeBounds)-1] != 10*time.Second {
		t.Fatalf("bounds %v", TimeBounds)
	}
	var s Stats
	for _, took := range []time.Duration{0, time.Microsecond, 1001, 15 * time.Microsecond, 10 * time.Second,
		11 * time.Second} {
		s.Took(AsTable, took, 2)
	}
	for w := range s.Times() {
		if w == AsTable {
			break
		}
	}
	ways := 0
	for w, times := range s.Times() {
		ways++
		var sum uint64
		for i, n := range times.Counts {
			want := map[int]uint64{0: 4, 1: 2, 7: 2, len(TimeBounds) - 1: 2, len(TimeBounds): 2}[i]
			if w != AsTable {
				want = 0
			}
			if n != want {
				t.Errorf("%v: %d in slot %d, want %d", w, n, i, want)
			}
			sum += n
		}
		if w == AsTable && times.Sum != 2*(21*time.Second+17001) {
			t.Errorf("sum %v", times.Sum)
		}
	}
	if ways != len(s.times) {
		t.Errorf("%d ways of %d", ways, len(s.times))
	}
	if n := testing.AllocsPerRun(100, func() { s.Took(AtOnce, time.Millisecond, 3) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The time of a registration runs from when the request came to when the reply
// leaves, whether it waits for nothing, for disk and tables, or for a port.
func TestRecordingTimes(t *testing.T) {
	d := newHarness(t)
	d.slow, d.at = true, time.Second
	sum := time.Duration(0)
	took := func(what string, more time.Duration, n uint64) {
		t.Helper()
		sum += more
		for w, times := range d.stats.Times() {
			total := uint64(0)
			for _, c := range times.Counts {
				total += c
			}
			if w == Recording && (total != n || times.Sum != sum) {
				t.Errorf("%s: %d answers in %v, want %d in %v", what, total, times.Sum, n, sum)
			}
		}
	}
	ask := func(waited time.Duration, in mad.Datagram) {
		d.step(Received{Datagrams: []mad.Datagram{in}, Came: []time.Duration{d.at - waited}})
		d.at += 10 * time.Millisecond
	}
	ask(3*time.Millisecond, d.request(h1, mad.MethodSet, sarec.AttrMCMemberRecord, 0, nil)) // nothing is named
	took("refused", 3*time.Millisecond, 1)

	j := newJoining(h3, broadcast, 1)
	ask(0, d.request(h3, mad.MethodSet, sarec.AttrMCMemberRecord, j.comps, j.rec[:]))
	d.step(Durable{d.reg.Seq()})
	took("joined, on disk", 0, 1)
	d.at += 5 * time.Millisecond
	d.step(Forwarded{d.reg.Seq()})
	took("joined", 15*time.Millisecond, 2)

	var rec sarec.GUIDInfoRecord
	rec.SetLID(lidsOfOpenSM[h3])
	rec.GUIDInfo().SetGUID(1, 0x1234)
	ask(0, d.request(h3, mad.MethodSet, sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum|
		sarec.GUIDInfoGUID0<<1, rec[:]))
	d.step(GUIDsWritten{GUIDBlock: d.guids[0], Outcome: HoldsBlock})
	took("alias, not on disk", 0, 2)
	d.step(Durable{d.reg.Seq()})
	took("alias", 10*time.Millisecond, 3)
}

// TestWayOf: what decides which server answers is in the request's header.
func TestWayOf(t *testing.T) {
	for _, c := range []struct {
		method mad.Method
		attr   mad.AttrID
		rmpp   bool
		want   Way
	}{
		{mad.MethodGet, sarec.AttrPathRecord, false, AtOnce},
		{mad.MethodGet, sarec.AttrMCMemberRecord, false, AtOnce},
		{mad.MethodGetTable, sarec.AttrPathRecord, false, AsTable},
		{mad.MethodGetTable, sarec.AttrClassPortInfo, false, AtOnce},
		{mad.MethodGetMulti, sarec.AttrMultiPathRecord, false, AtOnce},
		{mad.MethodGetMulti, sarec.AttrMultiPathRecord, true, AsTable},
		{mad.MethodSet, sarec.AttrMCMemberRecord, true, AsTable}, // a packet of a transfer
		{mad.MethodSet, sarec.AttrMCMemberRecord, false, Recording},
		{mad.MethodSet, sarec.AttrInformInfo, false, Recording},
		{mad.MethodDelete, sarec.AttrServiceRecord, false, Recording},
		{mad.MethodDelete, sarec.AttrPathRecord, false, AtOnce},
	} {
		var p mad.Packet
		p.SetHeader(mad.ClassSA, c.method, c.attr, 0)
		if c.rmpp {
			p[26] |= 1
		}
		if got := WayOf(&p); got != c.want {
			t.Errorf("%v of %s, RMPP %t: %v, want %v", c.method, sarec.AttrName(c.attr), c.rmpp, got, c.want)
		}
	}
}

// TestDropNames: each reason has its own name in the metrics.
func TestDropNames(t *testing.T) {
	for d, want := range map[Drop]string{
		answered: "answered", DropNoRequest: "no request", DropNotMaster: "not master", DropBadKey: "bad SM_Key",
		DropUnknownRequester: "unknown requester", DropNoRoom: "no room", DropClientFull: "client full",
		DropDuplicate: "duplicate", DropTooLate: "too late", DropHandingOver: "handing over",
	} {
		if d.String() != want {
			t.Errorf("reason %d is %q, want %q", d, d, want)
		}
	}
}
