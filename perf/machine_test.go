package perf

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

const (
	info     = pma.AttrClassPortInfo
	extended = pma.AttrPortCountersExtended
	counters = pma.AttrPortCounters
)

// TestAttributes: which attributes are read follows from ClassPortInfo, which is read once, and
// after a reboot.
func TestAttributes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		mask   uint16
		mask2  uint32
		noInfo bool // QueryInfo is off
		first  []mad.AttrID
		then   []mad.AttrID
		has    pma.Counters
	}{
		{"64 bits for all: one request a port", 0x5300, 2, false, []mad.AttrID{info, extended, extended},
			[]mad.AttrID{extended, extended}, pma.AllCounters},
		{"64 bits for data alone", 0x5a00, 0, false, []mad.AttrID{info, extended, counters, extended, counters},
			[]mad.AttrID{extended, counters, extended, counters},
			pma.AllCounters &^ pma.Of(pma.QP1Dropped)},
		{"without unicast packets", 0x1400, 0, false, []mad.AttrID{info, extended, counters, extended, counters},
			[]mad.AttrID{extended, counters, extended, counters},
			pma.ShortCounters | pma.Of(pma.PortXmitWait)},
		{"32 bits", 0x0000, 0, false, []mad.AttrID{info, counters, counters}, []mad.AttrID{counters, counters},
			pma.ShortCounters},
		{"ClassPortInfo is not asked for", 0x5300, 2, true, []mad.AttrID{counters, counters},
			[]mad.AttrID{counters, counters}, pma.ShortCounters},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := minutely
			s.QueryInfo = !tt.noInfo
			b := newBench(t, s)
			b.devices[1] = &device{mask: tt.mask, mask2: tt.mask2, counts: map[uint8]*[pma.NumCounters]uint64{
				1: {}, 2: {},
			}}
			b.step(&Ports{testPorts(1, 2)})
			im := b.sweep()
			if got := b.devices[1].takeAsked(); !slices.Equal(got, tt.first) {
				t.Errorf("asked for %v first", got)
			}
			if d := b.port(im, 1, 2); d.Note&First == 0 {
				t.Errorf("first: %v", d.Note)
			}
			for range 2 {
				im = b.sweep()
				if got := b.devices[1].takeAsked(); !slices.Equal(got, tt.then) {
					t.Errorf("asked for %v then", got)
				}
			}
			if d := b.port(im, 1, 2); d.Has != tt.has {
				t.Errorf("known %#x, want %#x", d.Has, tt.has)
			}
			b.step(&Rebooted{map[mad.GUID]bool{7: true}}) // another node
			b.sweep()
			if got := b.devices[1].takeAsked(); !slices.Equal(got, tt.then) {
				t.Errorf("asked for %v after another node rebooted", got)
			}
			b.step(&Rebooted{map[mad.GUID]bool{1: true}})
			b.sweep()
			if got := b.devices[1].takeAsked(); !slices.Equal(got, tt.first) {
				t.Errorf("asked for %v after the reboot", got)
			}
		})
	}
}

// TestWindow: no more requests are on the way than allowed, one to an agent, and all ports are
// read.
func TestWindow(t *testing.T) {
	for _, window := range []int{0, 1, 7, 1000} {
		s := minutely
		s.Window = window
		b := newBench(t, s, testPorts(20, 5)...)
		im := b.sweep()
		b.sweep()
		if len(b.m.slots) > min(max(window, 1), 20) {
			t.Errorf("window %d: %d slots", window, len(b.m.slots))
		}
		if want := min(max(window, 1), 20); b.most != want {
			t.Errorf("window %d: %d on the way, want %d", window, b.most, want)
		}
		if im.Answered != 100 || im.Len() != 100 || len(b.waiting) != 0 {
			t.Errorf("window %d: %d of %d ports, %d requests left", window, im.Answered, im.Len(), len(b.waiting))
		}
	}
}

// TestInterval: sweeps begin at their times; one that takes longer has the next begin at its
// end, and is counted.
func TestInterval(t *testing.T) {
	b := newBench(t, minutely, testPorts(2, 1)...)
	first := b.sweep().Begin
	for i := range 3 {
		if im := b.sweep(); im.Begin != first+time.Duration(i+1)*time.Minute {
			t.Errorf("sweep %d began %v after the first", i+1, im.Begin-first)
		}
	}
	at, _ := b.m.Next()
	b.now = at
	b.step(&Tick{})
	b.now += 90 * time.Second
	im := b.sweep()
	if at, ok := b.m.Next(); !ok || at != im.Begin+time.Minute || b.now < at {
		t.Errorf("after a long sweep the next is due at %v", at)
	}
	if late := b.sweep(); late.Begin < im.End || late.Begin > im.End+time.Second || b.m.Stats.Late != 1 {
		t.Errorf("the next sweep began %v after the end, %d late", late.Begin-im.End, b.m.Stats.Late)
	}
	if images := b.m.History().Images(); len(images) != len(b.images) || images[2] != b.images[2] {
		t.Errorf("%d images are kept of %d", len(images), len(b.images))
	}
	b.step(&Changed{Settings{Window: 1}})
	if _, ok := b.m.Next(); ok {
		t.Error("a sweep is due without an interval")
	}
	b.step(&SweepNow{})
	b.step(&SweepNow{}) // another one, when this one is done
	b.sweep()
	b.sweep()
	if len(b.waiting) != 0 {
		t.Error("a third sweep")
	}
	b.step(&Changed{minutely})
	b.sweep()
}

// TestUnresponsive: an agent that does not answer costs one request a sweep, whatever it has of
// ports, and is found; when it answers again, the time without it is one interval.
func TestUnresponsive(t *testing.T) {
	b := newBench(t, minutely, testPorts(2, 40)...)
	b.sweep()
	b.devices[2].unresponsive = -1
	asked := b.m.Stats.Asked
	im := b.sweep()
	if got := b.m.Stats.Asked - asked; got != 41 {
		t.Errorf("%d requests, want 41", got)
	}
	for num := uint8(1); num <= 40; num++ {
		if a, z := b.port(im, 1, num), b.port(im, 2, num); a.Note != 0 || z.Note != NoAnswer || z.Has != 0 {
			t.Errorf("port %d: %v, %v", num, a.Note, z.Note)
		}
	}
	if len(b.findings) != 40 || b.findings[0].Key.Node != 2 || b.findings[0].Note != NoAnswer || im.Answered != 40 {
		t.Errorf("%d findings, %d answered", len(b.findings), im.Answered)
	}
	b.devices[2].unresponsive = 0
	b.devices[2].counts[7][pma.PortXmitData] = 1234
	if d := b.port(b.sweep(), 2, 7); d.N[pma.PortXmitData] != 1234 || d.Span < 119*time.Second || d.Note != 0 {
		t.Errorf("when it answers again: %+v", d)
	}
	// Unresponsive from the beginning, for ClassPortInfo.
	b = newBench(t, minutely, testPorts(1, 3)...)
	b.devices[1].unresponsive = 1
	if im := b.sweep(); im.Answered != 0 || b.port(im, 1, 3).Note != NoAnswer {
		t.Error("ports of an unresponsive agent were read")
	}
	if im := b.sweep(); im.Answered != 3 {
		t.Error("it is not asked again")
	}
}

// TestPorts: ports that come, go, and get another LID. What is known of those that stay stays.
func TestPorts(t *testing.T) {
	b := newBench(t, minutely, testPorts(3, 2)...)
	b.sweep()
	for i := range 3 {
		b.devices[mad.LID(i+1)].takeAsked()
		b.devices[mad.LID(i+1)].counts[1][pma.PortXmitData] = 500
	}
	list := testPorts(4, 2)[2:] // node 1 went, 4 came
	b.devices[4] = &device{mask: 0x5300, mask2: 2, counts: map[uint8]*[pma.NumCounters]uint64{1: {}, 2: {}}}
	for i := range list {
		if list[i].Node == 3 { // got LID 30
			list[i].To.LID = 30
		}
	}
	b.devices[30] = b.devices[3]
	slices.Reverse(list)
	list = append(list, list[0])
	b.step(&Ports{list})
	im := b.sweep()
	if _, ok := im.Port(Key{1, 1}); ok || im.Len() != 6 {
		t.Errorf("%d ports", im.Len())
	}
	for _, tt := range []struct {
		node  mad.GUID
		note  Note
		asked []mad.AttrID
	}{{2, 0, []mad.AttrID{extended, extended}}, {3, 0, []mad.AttrID{info, extended, extended}},
		{4, First, []mad.AttrID{info, extended, extended}}} {
		d := b.port(im, tt.node, 1)
		if d.Note != tt.note || tt.note == 0 && d.N[pma.PortXmitData] != 500 {
			t.Errorf("node %d: %+v", tt.node, d)
		}
		if got := b.devices[mad.LID(tt.node)].takeAsked(); !slices.Equal(got, tt.asked) {
			t.Errorf("node %d: asked for %v", tt.node, got)
		}
	}
	// The old images still have the old ports.
	if _, ok := b.images[0].Port(Key{1, 1}); !ok {
		t.Error("an image changed")
	}
	// The same ports again do not disturb a sweep, others wait for its end, and those with
	// other LIDs begin it anew.
	b.now += time.Minute
	b.step(&Tick{})
	b.answerOne()
	before := slices.Clone(b.waiting)
	b.step(&Ports{list})
	if len(b.waiting) != len(before) {
		t.Error("the same ports began another sweep")
	}
	b.step(&Ports{list[:2]})
	if im := b.sweep(); im.Len() != 6 {
		t.Errorf("a sweep of %d ports", im.Len())
	}
	if im := b.sweep(); im.Len() != 2 || im.Answered != 2 {
		t.Errorf("the next sweep of %d ports", im.Len())
	}
	b.step(&Ports{list})
	b.now += time.Minute
	b.step(&Tick{})
	b.answerOne()
	before = slices.Clone(b.waiting)
	moved := slices.Clone(list[:2])
	b.devices[77] = b.devices[moved[0].To.LID]
	moved[0].To.LID, moved[1].To.LID = 77, 77
	stale := len(before)
	b.given = stale
	b.step(&Ports{moved})
	if b.given, b.waiting = 0, b.waiting[stale:]; len(b.waiting) != 1 {
		t.Errorf("%d requests of the new sweep", len(b.waiting))
	}
	for i := range before {
		p := before[i].Packet
		b.step(&Answered{before[i].Tag, &p})
	}
	if b.m.Stats.Unwanted != uint64(stale) {
		t.Errorf("%d responses were not wanted, want %d", b.m.Stats.Unwanted, stale)
	}
	if im := b.sweep(); im.Len() != 2 || im.Answered != 2 {
		t.Errorf("%d of %d ports", im.Answered, im.Len())
	}
	b.step(&Unanswered{before[0].Tag}) // it has ended already
	if b.m.given != 0 {
		t.Errorf("%d requests are on the way that were given up", b.m.given)
	}
	// The first agent stays, and is not asked again what it can do. One port of a node is read by
	// each of two agents.
	k := newBench(t, minutely, testPorts(3, 2)...)
	k.sweep()
	k.devices[1].takeAsked()
	two := testPorts(2, 2)
	two[3].To.LID = 22
	k.devices[22] = k.devices[2]
	k.step(&Ports{two})
	if im := k.sweep(); im.Answered != 4 || len(k.m.agents) != 3 {
		t.Errorf("%d ports, %d agents", im.Answered, len(k.m.agents))
	}
	if got := k.devices[1].takeAsked(); !slices.Equal(got, []mad.AttrID{extended, extended}) {
		t.Errorf("the first agent: asked for %v", got)
	}
	// What was given up is still in the window.
	s := minutely
	s.Window = 2
	w := newBench(t, s, testPorts(5, 1)...)
	w.given = 2
	fewer := testPorts(4, 1)
	fewer[3].To.LID = 44
	w.step(&Ports{fewer})
	if len(w.waiting) != 2 {
		t.Errorf("%d requests on the way, the window is 2", len(w.waiting))
	}
	w.step(&Unanswered{w.waiting[0].Tag})
	if len(w.waiting) != 3 {
		t.Errorf("%d requests were sent, want a third", len(w.waiting))
	}
	b.step(&Ports{})
	if _, ok := b.m.Next(); ok {
		t.Error("a sweep over nothing is due")
	}
	if im := b.m.Step(b.now+time.Minute, &SweepNow{}).Image; im == nil || im.Len() != 0 {
		t.Error("a sweep over nothing has no image")
	}
}

// TestSL: another SL of the path to an agent applies from the next sweep on, and the one under way goes on.
func TestSL(t *testing.T) {
	b := newBench(t, minutely, testPorts(2, 2)...)
	b.answerOne()
	list := testPorts(2, 2)
	for i := range list {
		list[i].To.SL = 3
	}
	was := slices.Clone(b.waiting)
	if b.step(&Ports{list}); len(b.waiting) != len(was) {
		t.Error("the sweep began anew")
	}
	if im := b.sweep(); im.Answered != 4 {
		t.Errorf("%d ports", im.Answered)
	}
	b.now += time.Minute
	b.step(&Tick{})
	if len(b.waiting) != 2 || b.waiting[0].To.SL != 3 || b.waiting[1].To.SL != 3 {
		t.Errorf("%+v", b.waiting)
	}
	if im := b.sweep(); im.Answered != 4 {
		t.Errorf("%d ports", im.Answered)
	}
	if b.m.Stats.Unwanted != 0 {
		t.Errorf("%+v", b.m.Stats)
	}
}

// TestTags: responses to nothing, twice, and late are dropped.
func TestTags(t *testing.T) {
	b := newBench(t, minutely, testPorts(1, 1)...)
	a := b.waiting[0]
	p := a.Packet
	for _, tag := range []uint64{a.Tag + 1, a.Tag + 1<<32, 1<<63 + 5, 0} {
		b.step(&Answered{tag, &p})
		b.step(&Unanswered{tag})
	}
	if b.m.Stats.Unwanted != 8 || len(b.waiting) != 1 {
		t.Errorf("%d unwanted", b.m.Stats.Unwanted)
	}
	b.answerOne()
	b.step(&Unanswered{a.Tag})
	if b.m.Stats.Unwanted != 9 || len(b.waiting) != 1 {
		t.Errorf("%d unwanted after a second end", b.m.Stats.Unwanted)
	}
	b.sweep()
}

// TestFindingsAreBounded: ten thousand ports stop answering at once.
func TestFindingsAreBounded(t *testing.T) {
	s := minutely
	s.Window = 500
	b := newBench(t, s, testPorts(10000, 1)...)
	b.sweep()
	for _, d := range b.devices {
		d.unresponsive = -1
	}
	if im := b.sweep(); im.Answered != 0 || len(b.findings) != maxFindings || b.m.Stats.Findings != 10000 ||
		b.m.Stats.Unanswered != 10000 {
		t.Errorf("%d findings of %d, %d unanswered", len(b.findings), b.m.Stats.Findings, b.m.Stats.Unanswered)
	}
}

// TestTotals: what the first reading shows and images say, added up; from a Clear on, what images say.
func TestTotals(t *testing.T) {
	b := newBench(t, minutely, testPorts(1, 2)...)
	k := Key{1, 1}
	if _, ok := b.m.Total(k); ok {
		t.Error("a total before the first reading")
	}
	if _, _, _, ok := b.m.Values(k); ok {
		t.Error("values before the first reading")
	}
	n := b.devices[1].counts[1]
	n[pma.PortXmitData], n[pma.SymbolErrorCounter] = 1<<40, 7
	first := b.sweep()
	total, ok := b.m.Total(k)
	if !ok || total.N != *n || total.Has != pma.AllCounters || total.Since < first.Begin || total.Until != total.Since {
		t.Errorf("after the first reading: %+v", total)
	}
	n[pma.PortXmitData] += 500
	b.sweep()
	n[pma.PortXmitData] += 30
	n[pma.SymbolErrorCounter]++
	b.sweep()
	if total, _ := b.m.Total(k); total.N[pma.PortXmitData] != 1<<40+530 || total.N[pma.SymbolErrorCounter] != 8 ||
		total.Has != pma.AllCounters ||
		total.AtLeast != 0 || total.Until-total.Since < 2*time.Minute-time.Second {
		t.Errorf("after three: %+v", total)
	}
	n[pma.PortXmitData]-- // backwards: nothing counts, and perhaps never will
	b.sweep()
	if values, _, _, _ := b.m.Values(k); values[pma.PortXmitData] != n[pma.PortXmitData] {
		t.Errorf("the value that was read is %d, want %d", values[pma.PortXmitData], n[pma.PortXmitData])
	}
	n[pma.PortXmitData] += 10
	b.sweep()
	if total, _ := b.m.Total(k); total.N[pma.PortXmitData] != 1<<40+539 || total.AtLeast != pma.Of(pma.PortXmitData) {
		t.Errorf("after it went backwards: %d, at least %#x", total.N[pma.PortXmitData], total.AtLeast)
	}
	b.step(&Clear{})
	if total, ok := b.m.Total(k); !ok || total.N != [pma.NumCounters]uint64{} || total.Since != b.now {
		t.Errorf("after a Clear: %+v", total)
	}
	if total, _ := b.m.Total(Key{1, 2}); total.Since != b.now {
		t.Error("the other port was not cleared")
	}
	n[pma.PortXmitData] += 4
	b.sweep()
	if total, _ := b.m.Total(k); total.N[pma.PortXmitData] != 4 || total.AtLeast != 0 {
		t.Errorf("after a Clear, counted on: %+v", total)
	}
	n[pma.PortXmitData] += 5
	b.sweep()
	b.step(&Clear{Of: func(k Key) bool { return k.Port == 2 }})
	if total, _ := b.m.Total(k); total.N[pma.PortXmitData] != 9 {
		t.Errorf("after a Clear of the other port: %+v", total)
	}
	if _, ok := b.m.Total(Key{5, 5}); ok {
		t.Error("a total of no port")
	}
}

// TestAbsent: a node that has gone is named, and keeps its totals only if that is wanted; it goes
// on from them when it comes back.
func TestAbsent(t *testing.T) {
	for _, keep := range []bool{false, true} {
		s := minutely
		s.KeepAbsent = keep
		ports := testPorts(2, 2)
		b := newBench(t, s, ports...)
		b.devices[2].counts[1][pma.PortXmitData] = 100
		b.sweep()
		b.step(&Ports{List: ports[:2]})
		if gone := b.m.out.Gone; len(gone) != 1 || gone[0] != 2 {
			t.Errorf("keep %t: %v is gone", keep, gone)
		}
		if n := b.m.State().Absent; n != map[bool]int{true: 2}[keep] {
			t.Errorf("keep %t: %d ports are absent", keep, n)
		}
		b.devices[2].counts[1][pma.PortXmitData] += 50
		b.sweep()
		for _, p := range b.m.AbsentTotals() {
			if p.Node != 2 || p.Port == 1 && p.N[pma.PortXmitData] != 100 {
				t.Errorf("absent %+v", p)
			}
		}
		b.step(&Clear{Of: func(Key) bool { return true }})
		b.step(&Ports{List: ports})
		b.sweep()
		want := uint64(50)
		if !keep {
			want = 150 // it is new
		}
		if total, _ := b.m.Total(Key{2, 1}); total.N[pma.PortXmitData] != want {
			t.Errorf("keep %t: %d after it came back, want %d", keep, total.N[pma.PortXmitData], want)
		}
		b.step(&Ports{List: ports[:2]})
		b.step(&ForgetAbsent{})
		if n := b.m.State().Absent; n != 0 {
			t.Errorf("keep %t: %d ports after ForgetAbsent", keep, n)
		}
	}
}

// TestTotalsOfAll: of the ports of the last image, those of nodes that are wanted.
func TestTotalsOfAll(t *testing.T) {
	b := newBench(t, minutely, testPorts(3, 2)...)
	if got := b.m.Totals(nil); len(got.Ports) != 0 || got.End != 0 {
		t.Errorf("before the first sweep: %+v", got)
	}
	b.devices[2].counts[1][pma.PortXmitWait] = 9
	b.devices[3].unresponsive = -1
	b.sweep()
	all := b.m.Totals(nil)
	if len(all.Ports) != 6 || all.End == 0 || all.Ports[5].Note != NoAnswer || all.Ports[5].Has != 0 ||
		all.Ports[2].Note != First {
		t.Fatalf("%+v", all)
	}
	two := b.m.Totals(func(node mad.GUID) bool { return node == 2 })
	if len(two.Ports) != 2 || two.Ports[0].Key != (Key{2, 1}) || two.Ports[0].N[pma.PortXmitWait] != 9 ||
		two.Ports[0].Has != pma.AllCounters {
		t.Errorf("%+v", two)
	}
	// A node that comes or goes takes no other from the totals.
	ports := testPorts(4, 2)
	for _, now := range []struct {
		ports []Port
		want  int
	}{{ports, 6}, {ports[2:], 4}, {nil, 0}, {ports[:4], 4}} {
		b.step(&Ports{now.ports})
		if got := b.m.Totals(nil); len(got.Ports) != now.want || got.End != all.End {
			t.Errorf("%d ports are read: %d have totals, want %d", len(now.ports), len(got.Ports), now.want)
		}
	}
}
