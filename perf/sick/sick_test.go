package sick

import (
	"cmp"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/perf"
)

// bench is a fabric of links that are read every minute: link i has the ports 2i+1 and 2i+2.
type bench struct {
	t     *testing.T
	w     *Watch
	now   time.Duration
	ports int
	found []Finding
	ended []Finding
	span  time.Duration // of a reading
	down  map[int]bool  // ports without a link
	slow  map[int]bool  // ports whose link is below its best
	off   map[int]bool  // ports whose link the manager has disabled
}

const ndr = 400_000_000_000 // bits a second

func newBench(t *testing.T, table string, links int) *bench {
	rules, errs := Parse("t", table)
	if errs != nil {
		t.Fatal(errs)
	}
	b := &bench{t: t, w: New(rules), now: time.Hour, ports: 2 * links, span: time.Minute}
	b.read(nil)
	return b
}

func key(port int) perf.Key { return perf.Key{Node: mad.GUID(port), Port: 1} }

func (b *bench) link(k perf.Key) Link {
	if b.down[int(k.Node)] || b.off[int(k.Node)] {
		return Link{Disabled: b.off[int(k.Node)]}
	}
	peer := int(k.Node) + 1
	if peer%2 == 1 {
		peer -= 2
	}
	return Link{Peer: key(peer), Bits: ndr, Slow: b.slow[int(k.Node)]}
}

// counts is what one port counted in a reading, or what is special about it; a port that is gone is not
// read.
type counts struct {
	note perf.Note
	gone bool
	n    map[pma.Counter]uint64
}

// read reads all ports once, a span later.
func (b *bench) read(special map[int]counts) {
	b.now += b.span
	found, ended := b.w.Take(b.now, func(yield func(perf.Key, *perf.Delta) bool) {
		for p := 1; p <= b.ports; p++ {
			c := special[p]
			d := perf.Delta{Note: c.note, Has: pma.AllCounters, At: b.now, Span: b.span}
			for counter, n := range c.n {
				d.N[counter] = n
			}
			if !c.gone && !yield(key(p), &d) {
				return
			}
		}
	}, b.link)
	b.found, b.ended = append(b.found, found...), append(b.ended, ended...)
}

// readings reads as often, with the same special ports each time.
func (b *bench) readings(times int, special map[int]counts) {
	for range times {
		b.read(special)
	}
}

func one(c pma.Counter, n uint64) counts { return counts{n: map[pma.Counter]uint64{c: n}} }

// is checks which ports are findings, and by which rule.
func (b *bench) is(want ...string) {
	b.t.Helper()
	var got []string
	for _, f := range b.w.Findings() {
		got = append(got, string(rune('0'+int(f.Port.Node)))+" "+f.Rule.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		b.t.Errorf("at %v: findings %q, want %q", b.now, got, want)
	}
}

// TestBitErrors: a port that receives too many bits wrong is found, at its end of the link, within the
// time of the rule; one within the limit is not.
func TestBitErrors(t *testing.T) {
	b := newBench(t, Defaults, 4)
	// 1e-12 of 400 Gb/s is 24 a minute.
	b.readings(60, map[int]counts{3: one(pma.SymbolErrorCounter, 20), 6: one(pma.SymbolErrorCounter, 40)})
	b.is("6 bit-errors")
	f := b.found[0]
	if len(b.found) != 1 || f.Port != key(6) || f.Peer != key(5) || f.Since > time.Hour+4*time.Minute ||
		f.Counted != 40*2 && f.Counted < f.Most {
		t.Errorf("%d findings, the first %+v", len(b.found), f)
	}
	b.read(nil)
	if again := b.w.Findings()[0]; again.Since != f.Since || again.Last < f.Since {
		t.Errorf("%+v", again)
	}
}

// TestUFM: the preset finds on NDR what its figures say: 1e-14 in 12 minutes is 2.9 errors, 1e-15 in 125
// minutes 3.
func TestUFM(t *testing.T) {
	b := newBench(t, UFM, 4)
	for minute := range 200 {
		special := map[int]counts{}
		if minute == 20 {
			special[1] = one(pma.SymbolErrorCounter, 2) // not a rate
		}
		if minute%5 == 0 {
			special[4] = one(pma.SymbolErrorCounter, 1) // 3 in 12 minutes
		}
		if minute%30 == 0 {
			special[7] = one(pma.SymbolErrorCounter, 1) // 5 in 125 minutes
		}
		b.read(special)
	}
	b.is("4 bit-errors", "4 few-bit-errors", "7 few-bit-errors")
}

// TestFlaps: a link that goes down again and again is found at the ends that count it; hosts that
// reboot are not, however they look afterwards.
func TestFlaps(t *testing.T) {
	for _, after := range []counts{{note: perf.NoAnswer}, {note: perf.First}, {note: perf.ResetByOther},
		{note: perf.AfterReboot}, {gone: true}} {
		var also []string
		switch after.note {
		case perf.NoAnswer:
			also = []string{"1 no-replies"}
		case perf.AfterReboot:
			also = []string{"1 reboots"}
		}
		b := newBench(t, Defaults, 4)
		for range 6 {
			b.read(map[int]counts{2: one(pma.LinkDownedCounter, 1), 5: one(pma.LinkDownedCounter, 1),
				6: one(pma.LinkDownedCounter, 1)})
			b.read(map[int]counts{1: after}) // the host at port 1 rebooted
			b.read(nil)
		}
		b.is(append(also, "5 link-downs", "6 link-downs")...)
		b = newBench(t, Defaults, 4)
		for range 6 {
			b.read(map[int]counts{2: one(pma.LinkDownedCounter, 1)})
			b.read(nil)
			b.read(map[int]counts{1: after}) // it was slow to reboot
			b.readings(2, nil)
		}
		b.is(also...)
		for quiet := 1; quiet < 6; quiet++ {
			b = newBench(t, Defaults, 4)
			for range 6 {
				b.read(map[int]counts{2: one(pma.LinkDownedCounter, 1), 1: after}) // it was read after its reboot
				b.readings(quiet, nil)
			}
			b.is(also...)
			b = newBench(t, Defaults, 4)
			for range 6 {
				b.read(map[int]counts{2: one(pma.LinkDownedCounter, 1), 1: after})
				b.readings(quiet, map[int]counts{2: {note: perf.NoAnswer}}) // until nobody remembers the reboot
				b.readings(3, nil)
			}
			b.is(append(slices.Clone(also), "2 no-replies")...)
		}
	}
}

// TestStillDown: a cable that fails again and again is found when each reading finds it down, where the
// subnet shows no other end of it.
func TestStillDown(t *testing.T) {
	b := newBench(t, Defaults, 4)
	for range 6 {
		b.down = map[int]bool{5: true, 6: true}
		b.read(map[int]counts{5: one(pma.LinkDownedCounter, 1), 6: one(pma.LinkDownedCounter, 1)})
		b.read(nil)
		b.down = nil
		b.read(nil)
	}
	b.is("5 link-downs", "6 link-downs")
	if f := b.found[0]; f.Peer.Node == 0 {
		t.Errorf("%+v", f)
	}
}

// TestLongReading: what was counted in a time that is longer than that of a rule is compared with what may
// be counted in it.
func TestLongReading(t *testing.T) {
	for _, span := range []time.Duration{time.Hour, 10 * time.Hour} {
		b := newBench(t, Defaults, 4)
		b.readings(30, nil)
		b.span = span
		hours := uint64(span / time.Hour)
		b.read(map[int]counts{3: one(pma.SymbolErrorCounter, 1000*hours), 4: one(pma.LinkErrorRecoveryCounter, 3*hours),
			// 1e-12 of 400 Gb/s is 1440 an hour
			6: one(pma.SymbolErrorCounter, 2000*hours), 7: one(pma.LinkErrorRecoveryCounter, 4*hours)})
		b.is()
		b.read(nil) // it confirms them
		b.is("6 bit-errors", "7 recoveries")
	}
}

// TestUnresponsive: a sick link is not healthy because nobody can read it, or because it is unplugged.
func TestUnresponsive(t *testing.T) {
	b := newBench(t, Defaults, 4)
	b.readings(5, map[int]counts{1: one(pma.SymbolErrorCounter, 100), 4: one(pma.SymbolErrorCounter, 100),
		6: one(pma.SymbolErrorCounter, 100)})
	b.down = map[int]bool{3: true, 4: true}
	b.readings(600, map[int]counts{1: {note: perf.NoAnswer}, 6: {gone: true}})
	b.is("1 bit-errors", "1 no-replies", "4 bit-errors", "6 bit-errors")
	b.down = nil
	b.readings(126, nil)
	b.is("1 bit-errors", "1 no-replies", "4 bit-errors", "6 bit-errors")
	b.readings(20, nil)
	b.is("1 no-replies") // it was for longer
	if len(b.ended) != 3 || b.ended[0].Rule.Name != "bit-errors" {
		t.Errorf("ended: %+v", b.ended)
	}
}

// TestCongestion: what congestion and other links cause is no finding.
func TestCongestion(t *testing.T) {
	b := newBench(t, Defaults, 4)
	n := map[pma.Counter]uint64{}
	for _, c := range []pma.Counter{pma.PortXmitWait, pma.PortXmitDiscards, pma.PortRcvRemotePhysicalErrors,
		pma.PortRcvSwitchRelayErrors,
		pma.VL15Dropped, pma.PortXmitConstraintErrors, pma.PortRcvConstraintErrors, pma.QP1Dropped} {
		n[c] = 1 << 30
	}
	b.readings(120, map[int]counts{1: {n: n}, 2: {n: n}, 7: {n: n}})
	b.is()
}

// TestUncounted: what a reading cannot have counted is no finding.
func TestUncounted(t *testing.T) {
	b := newBench(t, Defaults, 4)
	wild := map[pma.Counter]uint64{}
	for c := range pma.ErrorCounters.All {
		wild[c] = 1 << 50
	}
	for _, note := range []perf.Note{perf.First, perf.NoAnswer, perf.Refused, perf.ResetByOther, perf.AfterReboot,
		perf.Backwards, perf.Implausible} {
		b.readings(3, map[int]counts{3: {note: note, n: wild}})
	}
	b.is()
}

// TestRecovery: a link that is repaired is no finding after a clean time, which is longer for one that has
// relapsed.
func TestRecovery(t *testing.T) {
	b := newBench(t, Defaults, 1)
	bad := map[int]counts{1: one(pma.SymbolErrorCounter, 100)}
	for _, minutes := range []int{126, 252, 504} {
		b.readings(5, bad)
		b.is("1 bit-errors")
		b.readings(minutes, nil) // the errors are within the rule's time for 12 minutes of these
		b.is("1 bit-errors")
		b.readings(14, nil)
		b.is()
	}
	if len(b.found) != 3 || b.found[2].Relapses != 2 {
		t.Errorf("%d findings, %+v", len(b.found), b.found)
	}
}

// TestPlanted: in random fabrics with a few sick links of every kind, in the midst of congestion and of
// hosts that reboot, exactly the planted ends are found, within an hour.
func TestPlanted(t *testing.T) {
	cases := 20
	if os.Getenv("IBSM_PROOF") == "1" {
		cases = 300
	}
	for seed := range uint64(cases) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		const links = 40
		b := newBench(t, Defaults, links)
		planted := map[int]pma.Counter{}
		for range 1 + rnd.IntN(5) {
			kind := []pma.Counter{pma.SymbolErrorCounter, pma.LinkErrorRecoveryCounter, pma.LinkDownedCounter,
				pma.LocalLinkIntegrityErrors}[rnd.IntN(4)]
			planted[1+rnd.IntN(2*links)] = kind
		}
		rebooting := map[int]int{} // hosts, and the minutes until they answer
		for range 60 {
			special := map[int]counts{}
			for p := 1; p <= 2*links; p++ {
				n := map[pma.Counter]uint64{pma.PortXmitWait: rnd.Uint64N(1 << 40),
					pma.PortXmitDiscards: rnd.Uint64N(1000), pma.PortRcvRemotePhysicalErrors: rnd.Uint64N(100),
					pma.SymbolErrorCounter: rnd.Uint64N(4)}
				switch kind, sick := planted[p]; {
				case sick && kind == pma.SymbolErrorCounter:
					n[kind] = 50 + rnd.Uint64N(1000)
				case sick && rnd.IntN(5) == 0:
					n[kind] = 1 + rnd.Uint64N(2)
				}
				special[p] = counts{n: n}
			}
			for p := 1; p <= 2*links; p += 2 { // odd ports are hosts
				_, sick := planted[p]
				_, other := planted[p+1]
				switch left := rebooting[p]; {
				case left > 1:
					special[p], rebooting[p] = counts{note: perf.NoAnswer}, left-1
				case left == 1:
					special[p], rebooting[p] = counts{note: perf.ResetByOther}, 0
				case !sick && !other && rnd.IntN(20) == 0:
					special[p+1].n[pma.LinkDownedCounter] = 1
					rebooting[p] = 1 + rnd.IntN(4)
				}
			}
			b.read(special)
		}
		got := map[int]bool{}
		for _, f := range b.w.Findings() {
			if f.Rule.State > BelowBest {
				continue // it is about a node, and hosts do reboot
			}
			got[int(f.Port.Node)] = true
			if _, is := planted[int(f.Port.Node)]; !is {
				t.Errorf("seed %d: port %v is healthy: %+v", seed, f.Port, f)
			}
		}
		for p, kind := range planted {
			if !got[p] {
				t.Errorf("seed %d: port %d with %v is not found", seed, p, kind)
			}
		}
	}
}

// TestHealthy: a hundred hours of a healthy fabric have no finding.
func TestHealthy(t *testing.T) {
	b := newBench(t, Defaults, 20)
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 6000 {
		special := map[int]counts{}
		for range 3 {
			special[1+rnd.IntN(40)] = one(pma.SymbolErrorCounter, 1+rnd.Uint64N(3))
		}
		b.read(special)
	}
	if len(b.found) > 0 {
		t.Errorf("%+v", b.found[0])
	}
	if n := len(b.w.events); n > 80 {
		t.Errorf("%d ports are remembered", n)
	}
}

// TestParse: errors of a table have their line and column, and what is not wrong is read.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		table, want string
	}{
		{"# nothing\n\n", ""},
		{"a SymbolErrorCounter,PortRcvErrors 5 1h # both\n", ""},
		{"a SymbolErrorCounter 5\n", "t:1:22: expected a name, counters, a limit, a time and an action, not 3 words"},
		{"a SymbolErrorCount 5 1h\n",
			`t:1:3: "SymbolErrorCount" is no counter of errors that a port sees on its own link; did you mean SymbolErrorCounter?`},
		{"a PortXmitDiscards 5 1h\n", `t:1:3: "PortXmitDiscards" is no counter`},
		{"a PortRcvErrors x 1h\n", `t:1:17: "x": expected a number`},
		{"a PortRcvErrors -1 1h\n", `t:1:17: "-1": expected a number`},
		{"a PortRcvErrors NaN/bit 1h\n", "t:1:17: "},
		{"a PortRcvErrors 2/bit 1h\n", "t:1:17: "},
		{"\n  a PortRcvErrors 1 1d\n", `t:2:21: "1d": expected a time from 1m to 24h`},
		{"a PortRcvErrors 1 1s\n", "t:1:19: "},
		{"a below-best 1 1h disable\nb reboots 3 2h\nc lost-replies 3 2h report\n", ""},
		{"a reboots 1 1h avoid\n", "t:1:16: reboots says nothing of the link: it can only be reported"},
		{"a PortRcvErrors 1 1h drain\n", `t:1:22: "drain": expected report, avoid or disable`},
		{"a below-best 1e-9/bit 1h\n", "t:1:14: "},
		{"a below-best,PortRcvErrors 1 1h\n", `t:1:3: "below-best" is no counter`},
		{"a PortRcvErrors 1 1h\na PortRcvErrors 1 1h\n", `t:2:1: the rule "a" is there twice`},
	} {
		_, errs := Parse("t", c.table)
		switch {
		case c.want == "" && errs != nil, c.want != "" &&
			(len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), c.want)):
			t.Errorf("%q: %v, want %s", c.table, errs, cmp.Or(c.want, "no error"))
		}
	}
	rules, _ := Parse("t", Defaults)
	if len(rules) != 9 || rules[2].Limit() != "1e-12/bit" || rules[0].Limit() != "2" || rules[0].Window != time.Hour {
		t.Errorf("%+v", rules)
	}
	_, errs := Parse("t", strings.Repeat("x\n", 100))
	if len(errs) != maxErrors {
		t.Errorf("%d errors", len(errs))
	}
}

// FuzzParse: whatever is in a file, each rule that is read can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add(Defaults)
	f.Add(UFM)
	f.Add("a PortRcvErrors 1 1h\x00\r\n#")
	f.Fuzz(func(t *testing.T, table string) {
		rules, _ := Parse("t", table)
		for i := range rules {
			r := &rules[i]
			again, errs := Parse("t",
				strings.Join([]string{r.Name, strings.Join(r.Measures(), ","), r.Limit(), r.Window.String(),
					r.Action.String()}, " "))
			if errs != nil || len(again) != 1 || again[0] != *r {
				t.Errorf("%+v is read again as %+v, %v", r, again, errs)
			}
		}
	})
}

// TestPage: docs/health.md has the table that applies without a file.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/health.md")
	if err != nil {
		t.Fatal(err)
	}
	table := "    " + strings.ReplaceAll(strings.TrimSuffix(Defaults, "\n"), "\n", "\n    ") + "\n"
	if !strings.Contains(string(page), table) {
		t.Errorf("the page does not have\n%s", table)
	}
}
