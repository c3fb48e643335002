package sick

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/perf"
)

// liars are ports whose agents answer what answer makes of the truth, read by a Machine and judged by a Watch.
type liars struct {
	t      *testing.T
	m      *perf.Machine
	w      [2]*Watch
	now    time.Duration
	ports  []perf.Port
	truth  map[perf.Key]*[pma.NumCounters]uint64
	answer func(p *mad.Packet) bool // false for silence
	found  []Finding
	images int
}

const liarWords = ndr / 32

// newLiars are nodes with 40 ports each; port n of node 2i is linked to port n of node 2i+1.
func newLiars(t *testing.T, nodes int) *liars {
	l := &liars{t: t, m: perf.New(perf.Settings{Interval: time.Minute, Window: 500, QueryInfo: true, Keep: time.Hour}),
		now:   time.Hour,
		truth: map[perf.Key]*[pma.NumCounters]uint64{}, answer: func(*mad.Packet) bool { return true }}
	for i, table := range []string{Defaults, UFM} {
		rules, errs := Parse("t", table)
		if errs != nil {
			t.Fatal(errs)
		}
		l.w[i] = New(rules)
	}
	for n := range nodes {
		for p := range 40 {
			k := perf.Key{Node: mad.GUID(n + 2), Port: uint8(p + 1)}
			l.ports = append(l.ports, perf.Port{Key: k, To: mad.Addr{LID: mad.LID(n + 2), QPN: 1}, Words: liarWords})
			l.truth[k] = &[pma.NumCounters]uint64{pma.PortXmitData: 1 << 50, pma.PortRcvData: 1 << 50,
				pma.SymbolErrorCounter: 7, pma.LinkDownedCounter: 1}
		}
	}
	l.step(&perf.Ports{List: l.ports})
	return l
}

func (l *liars) link(k perf.Key) Link {
	return Link{Peer: perf.Key{Node: k.Node ^ 1, Port: k.Port}, Bits: ndr}
}

// step gives the machine an event, and answers what it asks for, a microsecond after the other.
func (l *liars) step(e perf.Event) {
	for queue := []perf.Event{e}; len(queue) > 0; queue = queue[1:] {
		out := l.m.Step(l.now, queue[0])
		for i := range out.Asks {
			l.now += time.Microsecond
			p := out.Asks[i].Packet
			if l.serve(out.Asks[i].To.LID, &p) && l.answer(&p) {
				queue = append(queue, &perf.Answered{Tag: out.Asks[i].Tag, Packet: &p})
			} else {
				queue = append(queue, &perf.Unanswered{Tag: out.Asks[i].Tag})
			}
		}
		if out.Image != nil {
			l.judge(out.Image)
		}
	}
}

func (l *liars) judge(im *perf.Image) {
	l.images++
	for k, d := range im.All {
		// an image has Span in milliseconds
		most := uint64(float64(liarWords)*(d.Span+time.Second+time.Millisecond).Seconds()*1.1) + 16
		if d.N[pma.PortXmitData] > most || d.N[pma.PortRcvData] > most || d.N[pma.PortXmitPkts] > most/5 {
			l.t.Fatalf("%v: %v: a spike: %d words, the link carries %d in %v", l.now, k, d.N[pma.PortXmitData], most,
				d.Span)
		}
	}
	for _, w := range l.w {
		found, _ := w.Take(im.End, im.All, l.link)
		l.found = append(l.found, found...)
	}
}

func (l *liars) serve(lid mad.LID, p *mad.Packet) bool {
	p.SetMethod(mad.MethodGetResp)
	if p.AttrID() == pma.AttrClassPortInfo {
		c := (*pma.ClassPortInfo)(p.PerfData()[:])
		c.SetCapabilityMask(0x5300)
		if lid%2 == 0 {
			c.SetCapabilityMask2(2)
		}
		return true
	}
	n := l.truth[perf.Key{Node: mad.GUID(lid), Port: pma.SelectOf(p.PerfData()).PortSelect()}]
	if n == nil {
		return false
	}
	for c := range pma.AllCounters.All {
		if p.AttrID() == pma.AttrPortCounters {
			(*pma.PortCounters)(p.PerfData()[:]).SetCounter(c, n[c])
		} else {
			(*pma.PortCountersExtended)(p.PerfData()[:]).SetCounter(c, n[c])
		}
	}
	return true
}

// sweeps lets traffic pass and reads all ports, once a minute.
func (l *liars) sweeps(times int) {
	for range times {
		for _, n := range l.truth {
			n[pma.PortXmitData] += 50 * liarWords
			n[pma.PortRcvData] += 30 * liarWords
		}
		at, _ := l.m.Next()
		l.now = max(l.now, at)
		l.step(&perf.Tick{})
	}
}

// TestBadInput: whatever agents answer, or do not, no link is found sick by it, and no count is more than the link
// carries.
func TestBadInput(t *testing.T) {
	for _, tt := range []struct {
		name string
		live func(l *liars, rng *rand.Rand)
	}{
		{"random counters", func(l *liars, rng *rand.Rand) {
			l.answer = func(p *mad.Packet) bool {
				if p.AttrID() != pma.AttrClassPortInfo && rng.IntN(3) > 0 {
					data := p.PerfData()
					for i := 4; i < len(data); i++ {
						data[i] = byte(rng.Uint32())
					}
				}
				return true
			}
			l.sweeps(300)
		}},
		{"every reply has one other bit", func(l *liars, rng *rand.Rand) {
			l.answer = func(p *mad.Packet) bool {
				data := p.PerfData()
				data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
				return true
			}
			l.sweeps(300)
		}},
		{"some replies have one other bit", func(l *liars, rng *rand.Rand) {
			l.answer = func(p *mad.Packet) bool {
				if rng.IntN(50) == 0 {
					p[rng.IntN(len(p))] ^= 1 << rng.IntN(8)
				}
				return true
			}
			l.sweeps(300)
		}},
		{"all are unresponsive at once", func(l *liars, rng *rand.Rand) {
			for range 3 {
				l.sweeps(20)
				l.answer = func(*mad.Packet) bool { return false }
				l.sweeps(3)
				l.answer = func(*mad.Packet) bool { return true }
			}
			l.sweeps(20)
		}},
		{"the clock jumps", func(l *liars, rng *rand.Rand) {
			for range 100 {
				l.sweeps(2)
				l.now += time.Duration(rng.Int64N(int64(24 * time.Hour)))
				if rng.IntN(4) == 0 { // in the midst of a sweep
					l.answer = func(*mad.Packet) bool {
						if rng.IntN(500) == 0 {
							l.now += time.Duration(rng.Int64N(int64(time.Hour)))
						}
						return true
					}
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nodes := 10
			if tt.name == "all are unresponsive at once" {
				nodes = 250 // 10,000 ports
			}
			l := newLiars(t, nodes)
			tt.live(l, rand.New(rand.NewPCG(1, 1)))
			if len(l.found) > 0 || l.images < 60 {
				f := append(l.found, Finding{Rule: &Rule{}})[0]
				t.Errorf("%d images; %d findings, the first %v by %s: %d of %d after %v", l.images, len(l.found),
					f.Port, f.Rule.Name, f.Counted, f.Most, l.now)
			}
		})
	}
}

// TestManyFindings: findings of ports that are not read any more end, the oldest first, where there are too many; those
// of ports that are read, or disabled, stay, and new ones are found.
func TestManyFindings(t *testing.T) {
	b := newBench(t, Defaults, 4)
	b.readings(3, map[int]counts{6: one(pma.SymbolErrorCounter, 40)})
	b.off = map[int]bool{4: true}
	rule := b.w.Findings()[0].Rule
	const first = 1 << 20 // of the ports that have gone
	b.w.found[spot{key(4), 0}] = &Finding{Port: key(4), Rule: rule}
	for port := first; len(b.w.found) < MaxSaved; port++ {
		b.w.found[spot{key(port), 0}] = &Finding{Port: key(port), Last: time.Duration(port), Rule: rule}
	}
	b.found, b.ended = nil, nil
	b.readings(3, map[int]counts{3: one(pma.SymbolErrorCounter, 4000), 6: one(pma.SymbolErrorCounter, 40)})
	if len(b.found) != 1 || b.found[0].Port != key(3) || len(b.ended) != 1 || b.ended[0].Port != key(first) ||
		len(b.w.found) != MaxSaved {
		t.Errorf("%d are left, found %v, ended %v", len(b.w.found), b.found, b.ended)
	}
	left := b.w.Findings()
	for _, port := range []int{3, 4, 6} {
		if !slices.ContainsFunc(left, func(f Finding) bool { return f.Port == key(port) }) {
			t.Errorf("the finding of port %d has ended", port)
		}
	}
}
