package perf

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// TestRefusals: what a device refuses, promises and does not have, or answers for another port.
func TestRefusals(t *testing.T) {
	b := newBench(t, minutely, testPorts(1, 2)...)
	d := b.devices[1]
	d.attrs[extended] = mad.StatusBadMethodAttr
	b.sweep()
	if got := d.takeAsked(); !slices.Equal(got, []mad.AttrID{info, extended, counters, counters}) {
		t.Errorf("an attribute that was promised: %v", got)
	}
	b.sweep()
	if got := d.takeAsked(); !slices.Equal(got, []mad.AttrID{counters, counters}) {
		t.Errorf("then: %v", got)
	}
	d.attrs[counters] = mad.StatusBusy
	if im := b.sweep(); b.port(im, 1, 1).Note != Refused || b.port(im, 1, 2).Note != Refused || im.Answered != 0 {
		t.Errorf("busy: %v", b.port(im, 1, 1).Note)
	}
	d.attrs[counters] = mad.StatusOK
	d.answer = func(p *mad.Packet) { pma.SelectOf(p.PerfData()).SetPortSelect(2) }
	if im := b.sweep(); b.port(im, 1, 1).Note != Refused || b.port(im, 1, 2).Note&Refused != 0 {
		t.Errorf("another port's counters: %v, %v", b.port(im, 1, 1).Note, b.port(im, 1, 2).Note)
	}
	d.answer = func(p *mad.Packet) { pma.SelectOf(p.PerfData()).SetPortSelect(0) }
	if im := b.sweep(); b.port(im, 1, 1).Note&Refused != 0 || im.Answered == 0 {
		t.Errorf("PortSelect 0: %v", b.port(im, 1, 1).Note)
	}
	for name, change := range map[string]func(p *mad.Packet){
		"another attribute": func(p *mad.Packet) { p.SetAttrID(pma.AttrPortRcvErrorDetails) },
		"another class":     func(p *mad.Packet) { p[1] = byte(mad.ClassCongestion) },
		"a request":         func(p *mad.Packet) { p.SetMethod(mad.MethodGet) },
	} {
		d.answer = change
		if im := b.sweep(); b.port(im, 1, 1).Note != Refused {
			t.Errorf("%s: %v", name, b.port(im, 1, 1).Note)
		}
	}
	// A device without ClassPortInfo has PortCounters.
	b = newBench(t, minutely, testPorts(1, 1)...)
	b.devices[1].attrs[info] = mad.StatusBadMethodAttr
	b.sweep()
	if got := b.devices[1].takeAsked(); !slices.Equal(got, []mad.AttrID{info, counters}) {
		t.Errorf("without ClassPortInfo: %v", got)
	}
	// One of two attributes.
	for _, attr := range []mad.AttrID{extended, counters} {
		for _, status := range []mad.Status{mad.StatusBusy, mad.StatusOK} { // OK: no answer
			b = newBench(t, minutely, testPorts(1, 2)...)
			b.devices[1].mask, b.devices[1].mask2 = 0x5a00, 0
			b.sweep()
			b.devices[1].attrs[attr] = status
			if status == mad.StatusOK {
				b.devices[1].answer = func(p *mad.Packet) { p.SetMethod(mad.MethodSend) }
			}
			im := b.sweep()
			got := b.port(im, 1, 1)
			if status == mad.StatusBusy &&
				(got.Note&^MayOverflow != Partial || got.Has.Has(pma.PortXmitData) == (attr == extended) ||
					got.Has == 0) {
				t.Errorf("%#x is busy: %v, known %#x", uint16(attr), got.Note, got.Has)
			}
			if status == mad.StatusOK && got.Note != Refused {
				t.Errorf("nothing of use: %v", got.Note)
			}
		}
	}
	b = newBench(t, minutely, testPorts(1, 2)...)
	b.devices[1].mask, b.devices[1].mask2 = 0x5a00, 0
	b.sweep()
	// after the first attribute
	b.devices[1].answer = func(p *mad.Packet) { b.devices[1].unresponsive = 1; b.devices[1].answer = nil }
	im := b.sweep()
	if got := b.port(im, 1, 1); got.Note != Partial || !got.Has.Has(pma.PortXmitData) ||
		got.Has.Has(pma.SymbolErrorCounter) {
		t.Errorf("unresponsive after the first attribute: %v, known %#x", got.Note, got.Has)
	}
	if got := b.port(im, 1, 2); got.Note&Partial != 0 || !got.Has.Has(pma.SymbolErrorCounter) {
		t.Errorf("the next port: %v, known %#x", got.Note, got.Has)
	}
}

// TestInfoFails: an agent that answers a Get of ClassPortInfo with an error has PortCounters alone, until it restarts.
// Of one that does not answer no port is read in this sweep, and the next one asks again.
func TestInfoFails(t *testing.T) {
	for _, status := range []mad.Status{mad.StatusBadVersion, mad.StatusBadMethod, mad.StatusBadMethodAttr,
		mad.StatusBadField, mad.StatusBusy, 0x7f00} {
		b := newBench(t, minutely, testPorts(1, 2)...)
		d := b.devices[1]
		d.attrs[info] = status
		for _, want := range [][]mad.AttrID{{info, counters, counters}, {counters, counters}} {
			if im := b.sweep(); im.Answered != 2 {
				t.Errorf("%v: %d ports were read", status, im.Answered)
			}
			if got := d.takeAsked(); !slices.Equal(got, want) {
				t.Errorf("%v: %v, want %v", status, got, want)
			}
		}
		d.attrs[info] = mad.StatusOK
		b.step(&Rebooted{map[mad.GUID]bool{1: true}})
		b.sweep()
		if got := d.takeAsked(); !slices.Equal(got, []mad.AttrID{info, extended, extended}) {
			t.Errorf("%v: %v after a restart", status, got)
		}
	}
	b := newBench(t, minutely, testPorts(1, 2)...)
	d := b.devices[1]
	d.drops = map[mad.AttrID]bool{info: true}
	for range 3 {
		if im := b.sweep(); b.port(im, 1, 1).Note != NoAnswer || b.port(im, 1, 2).Note != NoAnswer {
			t.Errorf("no answer: %v, %v", b.port(im, 1, 1).Note, b.port(im, 1, 2).Note)
		}
		if got := d.takeAsked(); !slices.Equal(got, []mad.AttrID{info}) {
			t.Errorf("no answer: %v", got)
		}
	}
	d.drops = nil
	b.sweep()
	if got := d.takeAsked(); !slices.Equal(got, []mad.AttrID{info, extended, extended}) {
		t.Errorf("it answers: %v", got)
	}
}

// TestExtendedFails: an agent that does not answer for the PortCountersExtended which it promises, or answers with an
// error that may be for the moment, is read with PortCounters, and after two failures with these alone, until it
// restarts.
func TestExtendedFails(t *testing.T) {
	for name, fail := range map[string]func(d *device){
		"no answer":     func(d *device) { d.drops = map[mad.AttrID]bool{extended: true} },
		"busy":          func(d *device) { d.attrs[extended] = mad.StatusBusy },
		"a field":       func(d *device) { d.attrs[extended] = mad.StatusBadField },
		"no such thing": func(d *device) { d.attrs[extended] = mad.StatusBadMethodAttr },
		"no method":     func(d *device) { d.attrs[extended] = mad.StatusBadMethod },
		"another method": func(d *device) {
			d.answer = func(p *mad.Packet) {
				if p.AttrID() == extended {
					p.SetMethod(mad.MethodSend)
				}
			}
		},
	} {
		b := newBench(t, minutely, testPorts(1, 1)...)
		d := b.devices[1]
		fail(d)
		sweep := func(want ...mad.AttrID) {
			t.Helper()
			im := b.sweep()
			if got := b.port(im, 1, 1); im.Answered != 1 || got.Note&(Refused|NoAnswer|Partial) != 0 {
				t.Errorf("%s: %v", name, got.Note)
			}
			if got := d.takeAsked(); !slices.Equal(got, want) {
				t.Errorf("%s: %v", name, got)
			}
		}
		lacks := name == "no such thing" || name == "no method" // it says so
		sweep(info, extended, counters)
		if !lacks {
			sweep(extended, counters)
		}
		sweep(counters)
		b.step(&Rebooted{map[mad.GUID]bool{1: true}})
		d.drops, d.attrs[extended], d.answer = nil, mad.StatusOK, nil
		sweep(info, extended)
		fail(d) // it has worked
		b.sweep()
		if got := d.takeAsked(); !lacks && !slices.Equal(got, []mad.AttrID{extended}) {
			t.Errorf("%s, after it has worked: %v", name, got)
		}
	}
	// An agent that answers nothing has shown nothing.
	b := newBench(t, minutely, testPorts(1, 1)...)
	d := b.devices[1]
	d.drops = map[mad.AttrID]bool{extended: true, counters: true}
	for range 3 {
		if im := b.sweep(); b.port(im, 1, 1).Note != NoAnswer {
			t.Errorf("no answer at all: %v", b.port(im, 1, 1).Note)
		}
	}
	d.drops, d.asked = nil, nil
	b.sweep()
	if got := d.takeAsked(); !slices.Equal(got, []mad.AttrID{extended}) {
		t.Errorf("then: %v", got)
	}
}

// TestRedirect: requests go where an agent redirects to, and to the agent again when nobody
// answers there.
func TestRedirect(t *testing.T) {
	redirects := func(to mad.LID) func(p *mad.Packet) {
		return func(p *mad.Packet) {
			clear(p.PerfData()[:])
			c := (*pma.ClassPortInfo)(p.PerfData()[:])
			c.SetRedirectLID(to)
			c.SetRedirectQP(5)
			c.SetRedirectSL(3)
			p.SetStatus(mad.StatusRedirect)
		}
	}
	b := newBench(t, minutely, testPorts(1, 2)...)
	proxy := &device{mask: 0x5300, mask2: 2, counts: b.devices[1].counts, attrs: map[mad.AttrID]mad.Status{}}
	b.devices[9] = proxy
	b.devices[1].answer = redirects(9)
	if len(b.waiting) != 1 || b.waiting[0].To != (mad.Addr{LID: 1, QPN: 1}) {
		t.Fatalf("first %+v", b.waiting)
	}
	b.answerOne()
	if len(b.waiting) != 1 || b.waiting[0].To != (mad.Addr{LID: 9, QPN: 5, SL: 3}) ||
		b.waiting[0].Packet.AttrID() != info {
		t.Fatalf("redirected: %+v", b.waiting)
	}
	if im := b.sweep(); im.Answered != 2 || len(b.devices[1].asked) != 1 {
		t.Errorf("%d ports, %d requests to the agent", im.Answered, len(b.devices[1].asked))
	}
	b.sweep()
	if len(b.devices[1].asked) != 1 {
		t.Error("the agent is asked again")
	}
	proxy.unresponsive = -1
	if im := b.sweep(); im.Answered != 0 {
		t.Error("an unresponsive proxy answers")
	}
	b.devices[1].answer = nil
	if im := b.sweep(); im.Answered != 2 {
		t.Errorf("%d ports when the agent answers itself again", im.Answered)
	}
	// An agent that redirects later.
	proxy.unresponsive, proxy.asked = 0, nil
	b.devices[1].answer = redirects(9)
	if im := b.sweep(); im.Answered != 2 || !slices.Equal(proxy.takeAsked(), []mad.AttrID{info, extended, extended}) {
		t.Errorf("redirected later: %d ports", im.Answered)
	}
	// A redirection by the one redirected to, and to itself, is a refusal.
	proxy.unresponsive = 0
	for _, to := range []mad.LID{9, 1} {
		b = newBench(t, minutely, testPorts(1, 1)...)
		b.devices[9] = proxy
		b.devices[1].answer, proxy.answer = redirects(to), redirects(1)
		if im := b.sweep(); im.Answered != 0 || b.port(im, 1, 1).Note != Refused {
			t.Errorf("redirected in a circle: %v", b.port(im, 1, 1).Note)
		}
	}
	s := minutely
	s.Redirect = false
	b = newBench(t, s, testPorts(1, 1)...)
	b.devices[1].answer = redirects(9)
	if im := b.sweep(); b.port(im, 1, 1).Note != Refused {
		t.Errorf("redirected against the settings: %v", b.port(im, 1, 1).Note)
	}
}

// TestRebootWhileAsked: a node that reboots while its agent is asked, and may still answer as before, is asked for
// ClassPortInfo again in the next sweep, at its own LID.
func TestRebootWhileAsked(t *testing.T) {
	b := newBench(t, minutely, testPorts(1, 1)...)
	reboot := func() { b.step(&Rebooted{map[mad.GUID]bool{1: true}}) }
	again := func(while string) {
		t.Helper()
		b.now += minutely.Interval
		if b.step(&Tick{}); len(b.waiting) != 1 || b.waiting[0].Packet.AttrID() != pma.AttrClassPortInfo ||
			b.waiting[0].To.LID != 1 {
			t.Fatalf("after a reboot while %s was asked for: %+v", while, b.waiting)
		}
	}
	reboot()
	b.sweep()
	again("ClassPortInfo")
	b.answerOne()
	proxy := *b.devices[1]
	b.devices[9] = &proxy
	b.devices[1].answer = func(p *mad.Packet) {
		c := (*pma.ClassPortInfo)(p.PerfData()[:])
		c.SetRedirectLID(9)
		c.SetRedirectQP(5)
		p.SetStatus(mad.StatusRedirect)
	}
	reboot()
	b.sweep()
	again("a counter, from where it redirected,")
}

// TestResets: counters of PortCounters are reset from three quarters on, those and no others;
// what is counted goes on.
func TestResets(t *testing.T) {
	b := newBench(t, minutely, testPorts(1, 2)...)
	d := b.devices[1]
	d.mask, d.mask2 = 0x5a00, 0
	b.sweep()
	d.counts[1][pma.SymbolErrorCounter] = 50000
	d.counts[1][pma.PortRcvErrors] = 100
	d.counts[1][pma.PortXmitData] = 1 << 60
	if got := b.port(b.sweep(), 1, 1); got.N[pma.SymbolErrorCounter] != 50000 ||
		got.AtLeast.Has(pma.SymbolErrorCounter) {
		t.Errorf("before: %+v", got)
	}
	if !slices.Equal(d.resets, []pma.Counters{1 << pma.SymbolErrorCounter}) || d.counts[1][pma.PortRcvErrors] != 100 {
		t.Errorf("resets %#x", d.resets)
	}
	d.counts[1][pma.SymbolErrorCounter] += 7
	got := b.port(b.sweep(), 1, 1)
	if got.N[pma.SymbolErrorCounter] != 7 || !got.AtLeast.Has(pma.SymbolErrorCounter) || got.Note&ResetByUs == 0 ||
		got.AtLeast.Has(pma.PortRcvErrors) {
		t.Errorf("after: %+v", got)
	}
	if n, has, _, ok := b.m.Values(Key{1, 1}); !ok || !has.Has(pma.SymbolErrorCounter) ||
		n[pma.SymbolErrorCounter] != 7 || n[pma.PortXmitData] != 1<<60 {
		t.Errorf("values %d", n)
	}
	if _, _, _, ok := b.m.Values(Key{7, 7}); ok {
		t.Error("values of no port")
	}
	// Refused, or unanswered.
	d.counts[1][pma.SymbolErrorCounter] = 60000
	d.answer = func(p *mad.Packet) {
		if pma.SelectOf(p.PerfData()).CounterSelect() != 0 {
			p.SetStatus(mad.StatusBadField)
		}
	}
	d.ignores = true
	b.sweep()
	d.counts[1][pma.SymbolErrorCounter] += 3
	if got := b.port(b.sweep(), 1, 1); got.N[pma.SymbolErrorCounter] != 3 || got.Note&ResetByUs != 0 {
		t.Errorf("a refused reset: %+v", got)
	}
}

// TestReboots: a node that fell to zero in all is asked anew what it can do, once.
func TestReboots(t *testing.T) {
	b := newBench(t, minutely, testPorts(1, 2)...)
	d := b.devices[1]
	for num := range d.counts {
		d.counts[num][pma.PortXmitData], d.counts[num][pma.SymbolErrorCounter] = 1<<40, 5
	}
	b.sweep()
	d.takeAsked()
	for num := range d.counts {
		*d.counts[num] = [pma.NumCounters]uint64{pma.PortXmitData: 100}
	}
	if got := b.port(b.sweep(), 1, 1); got.Note != ResetByOther || got.N[pma.PortXmitData] != 100 {
		t.Errorf("%+v", got)
	}
	if got := d.takeAsked(); !slices.Equal(got, []mad.AttrID{extended, extended}) {
		t.Errorf("asked for %v", got)
	}
	d.mask, d.mask2 = 0, 0 // it came back with other firmware
	b.sweep()
	if got := d.takeAsked(); !slices.Equal(got, []mad.AttrID{info, counters, counters}) {
		t.Errorf("asked for %v after it fell", got)
	}
	b.sweep()
	if got := d.takeAsked(); !slices.Equal(got, []mad.AttrID{counters, counters}) {
		t.Errorf("asked for %v then", got)
	}
}
