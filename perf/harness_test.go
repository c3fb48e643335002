package perf

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// device is an agent of the tests: what it answers for its ports.
type device struct {
	mask         uint16
	mask2        uint32
	unresponsive int                 // requests that it does not answer; -1 for all
	drops        map[mad.AttrID]bool // those that it does not answer
	attrs        map[mad.AttrID]mad.Status
	counts       map[uint8]*[pma.NumCounters]uint64
	resets       []pma.Counters // that it was asked for
	asked        []mad.AttrID
	answer       func(p *mad.Packet) // changes a response; nil for nothing
	ignores      bool                // resets
}

// bench drives a machine with devices, in virtual time.
type bench struct {
	t        *testing.T
	m        *Machine
	now      time.Duration
	devices  map[mad.LID]*device
	waiting  []Ask
	images   []*Image
	findings []Finding
	most     int // requests on the way at a time
	given    int // the first of waiting that were given up
}

func newBench(t *testing.T, s Settings, ports ...Port) *bench {
	b := &bench{t: t, m: New(s), now: time.Hour, devices: map[mad.LID]*device{}}
	for _, p := range ports {
		d := b.devices[p.To.LID]
		if d == nil {
			d = &device{mask: 0x5300, mask2: 2, attrs: map[mad.AttrID]mad.Status{},
				counts: map[uint8]*[pma.NumCounters]uint64{}}
			b.devices[p.To.LID] = d
		}
		d.counts[p.Port] = &[pma.NumCounters]uint64{}
	}
	b.step(&Ports{List: ports})
	return b
}

// testPorts are ports of nodes 1 to n, as many as given each, the agent of node i at LID i.
func testPorts(nodes, each int) (list []Port) {
	for n := range nodes {
		for p := range each {
			list = append(list, Port{Key{mad.GUID(n + 1), uint8(p + 1)}, mad.Addr{LID: mad.LID(n + 1), QPN: 1}, fast})
		}
	}
	return list
}

// minutely are settings of the tests.
var minutely = Settings{Interval: time.Minute, Window: 10, QueryInfo: true, Redirect: true, Keep: time.Hour}

func (b *bench) step(e Event) {
	out := b.m.Step(b.now, e)
	b.waiting = append(b.waiting, out.Asks...)
	b.findings = append(b.findings, out.Findings...)
	if out.Image != nil {
		b.images = append(b.images, out.Image)
	}
	b.most = max(b.most, len(b.waiting))
	if len(b.waiting) > 100 { // takes too long
		return
	}
	perAgent := map[mad.LID]int{}
	for i := b.given; i < len(b.waiting); i++ {
		if perAgent[b.waiting[i].To.LID]++; perAgent[b.waiting[i].To.LID] > 1 {
			b.t.Errorf("two requests to LID %v at a time", b.waiting[i].To.LID)
		}
	}
}

// answerOne answers the request that has waited longest, a millisecond later.
func (b *bench) answerOne() {
	a := b.waiting[0]
	b.waiting = slices.Delete(b.waiting, 0, 1)
	b.now += time.Millisecond
	if p := b.devices[a.To.LID].serve(&a.Packet); p != nil {
		b.step(&Answered{a.Tag, p})
	} else {
		b.step(&Unanswered{a.Tag})
	}
}

// sweep lets the next sweep begin at its time, and answers all of it.
func (b *bench) sweep() *Image {
	b.t.Helper()
	had := len(b.images)
	if len(b.waiting) == 0 {
		at, ok := b.m.Next()
		if !ok {
			b.t.Fatal("no sweep is due")
		}
		b.now = max(b.now, at)
		b.step(&Tick{})
	}
	for len(b.waiting) > 0 && len(b.images) == had {
		b.answerOne()
	}
	if len(b.images) != had+1 {
		b.t.Fatalf("%d images of one sweep", len(b.images)-had)
	}
	return b.images[had]
}

func (d *device) serve(p *mad.Packet) *mad.Packet {
	if d == nil {
		return nil
	}
	if d.unresponsive != 0 {
		d.unresponsive--
		return nil
	}
	q := *p
	d.asked = append(d.asked, p.AttrID())
	if d.drops[p.AttrID()] {
		return nil
	}
	q.SetMethod(mad.MethodGetResp)
	q.SetStatus(d.attrs[p.AttrID()])
	counts := d.counts[pma.SelectOf(q.PerfData()).PortSelect()]
	switch {
	case q.Status() != mad.StatusOK:
	case p.AttrID() == pma.AttrClassPortInfo:
		c := (*pma.ClassPortInfo)(q.PerfData()[:])
		c.SetCapabilityMask(d.mask)
		c.SetCapabilityMask2(d.mask2)
	case counts == nil:
		q.SetStatus(mad.StatusBadField)
	case p.AttrID() == pma.AttrPortCounters:
		pc := (*pma.PortCounters)(q.PerfData()[:])
		if p.Method() == mad.MethodSet {
			d.resets = append(d.resets, pc.CounterSelect())
			for c := range pc.CounterSelect().All {
				if !d.ignores {
					counts[c] = 0
				}
			}
		}
		for c, n := range counts {
			pc.SetCounter(pma.Counter(c), n)
		}
	case p.AttrID() == pma.AttrPortCountersExtended:
		for c, n := range counts {
			(*pma.PortCountersExtended)(q.PerfData()[:]).SetCounter(pma.Counter(c), n)
		}
	}
	if d.answer != nil {
		d.answer(&q)
	}
	return &q
}

// takeAsked are the attributes that a device was asked for since.
func (d *device) takeAsked() []mad.AttrID {
	was := d.asked
	d.asked = nil
	return was
}

func (b *bench) port(im *Image, node mad.GUID, num uint8) Delta {
	b.t.Helper()
	d, ok := im.Port(Key{node, num})
	if !ok {
		b.t.Fatalf("no port %v %d", node, num)
	}
	return d
}

// BenchmarkSweep is one port of a sweep over 10,000 of switches with 40 ports: the request, its
// response, the rules and its place in the image.
func BenchmarkSweep(b *testing.B) {
	b.Run("of switches", func(b *testing.B) { sweepOf(b, testPorts(250, 40)) })
	b.Run("of hosts", func(b *testing.B) { sweepOf(b, testPorts(40000, 1)) })
}

// sweepOf reads one port after the other.
func sweepOf(b *testing.B, ports []Port) {
	m := New(Settings{Interval: time.Minute, Window: 500, QueryInfo: true, Keep: 10 * time.Minute})
	now := time.Duration(0)
	waiting := []Ask(nil)
	var words uint64
	step := func(e Event) {
		waiting = append(waiting, m.Step(now, e).Asks...)
	}
	step(&Ports{ports})
	answer := &Answered{}
	b.ReportAllocs()
	for b.Loop() {
		if len(waiting) == 0 {
			now += time.Minute
			step(&Tick{})
		}
		a := &waiting[len(waiting)-1]
		p := a.Packet
		p.SetMethod(mad.MethodGetResp)
		if p.AttrID() == pma.AttrClassPortInfo {
			c := (*pma.ClassPortInfo)(p.PerfData()[:])
			c.SetCapabilityMask(0x5300)
			c.SetCapabilityMask2(2)
		} else {
			words += 1000
			x := (*pma.PortCountersExtended)(p.PerfData()[:])
			x.SetCounter(pma.PortXmitData, words)
			x.SetCounter(pma.PortRcvData, words)
		}
		answer.Tag, answer.Packet = a.Tag, &p
		waiting = waiting[:len(waiting)-1]
		step(answer)
	}
}
