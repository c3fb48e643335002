package sick

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/perf"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/view/viewtest"
)

// TestStates: what is found in readings and counted by no port: a link below what both ends can, a node that reboots,
// an agent that does not answer.
func TestStates(t *testing.T) {
	b := newBench(t, Defaults, 4)
	b.slow = map[int]bool{5: true, 6: true}
	for range 6 {
		b.read(map[int]counts{2: {note: perf.AfterReboot}, 3: {note: perf.NoAnswer}})
	}
	b.is("2 reboots", "3 no-replies", "5 slow-link")
	// Where most are unresponsive, nothing is heard.
	b = newBench(t, Defaults, 4)
	unresponsive := map[int]counts{}
	for p := 1; p <= 6; p++ {
		unresponsive[p] = counts{note: perf.NoAnswer}
	}
	b.readings(30, unresponsive)
	b.is()
}

// TestOneOfNode: what is about a node is found at one of its ports.
func TestOneOfNode(t *testing.T) {
	rules, _ := Parse("t", "r reboots 0 1h\n")
	w := New(rules)
	for now := range 3 {
		w.Take(time.Duration(now+1)*time.Minute, func(yield func(perf.Key, *perf.Delta) bool) {
			for num := range uint8(4) {
				if !yield(perf.Key{Node: 1, Port: num + 1}, &perf.Delta{Note: perf.AfterReboot}) {
					return
				}
			}
		}, func(perf.Key) Link { return Link{} })
	}
	if f := w.Findings(); len(f) != 1 || f[0].Port != (perf.Key{Node: 1, Port: 1}) {
		t.Errorf("%+v", f)
	}
}

// TestKeep: a later Watch goes on with what was found and how often ports relapsed; what is damaged is refused.
func TestKeep(t *testing.T) {
	b := newBench(t, Defaults, 2)
	bad := map[int]counts{1: one(pma.SymbolErrorCounter, 100), 4: one(pma.LinkErrorRecoveryCounter, 100)}
	b.readings(3, bad)
	b.readings(200, nil)
	b.is()
	b.readings(4, map[int]counts{1: bad[1]}) // the last confirms three
	b.is("1 bit-errors")
	out := []Excluded{{Port: key(1), Peer: key(2), Action: Avoid, Since: 77}}
	epoch := int64(1000)
	kept := b.w.Save(out, func(at time.Duration) int64 { return epoch + int64(at/time.Second) })
	got, err := Decode(kept.Encode())
	if err != nil || !reflect.DeepEqual(got, kept) || len(got.Found) != 1 || len(got.Relapses) != 2 ||
		!slices.Equal(got.Excluded, out) {
		t.Fatalf("%+v, %v, want %+v", got, err, kept)
	}
	next := newBench(t, strings.ReplaceAll(Defaults, "recoveries", "others"), 2)
	next.w.Restore(got, func(at int64) time.Duration { return time.Duration(at-5000) * time.Second })
	next.is("1 bit-errors")
	f := next.w.Findings()[0]
	if was := b.w.Findings()[0]; f.Since != was.Since-4000*time.Second || f.Relapses != 1 || f.Peer != was.Peer ||
		f.Counted != was.Counted || f.Left() != 2*clean {
		t.Errorf("%+v, left %v, was %+v", f, f.Left(), was)
	}
	next.readings(2*126, nil)
	next.is("1 bit-errors")
	next.read(nil)
	next.is()
	next = newBench(t, Defaults, 2)
	next.w.Restore(&Saved{Relapses: []Relapse{{key(1), "bit-errors", 3}}}, func(int64) time.Duration { return 0 })
	next.readings(4, map[int]counts{1: bad[1]})
	if f := next.w.Findings(); len(f) != 1 || f[0].Relapses != 3 {
		t.Errorf("%+v", f)
	}
	if empty := (&Saved{}); empty.Encode() != nil {
		t.Errorf("nothing is kept as %q", empty.Encode())
	}
	for _, text := range []string{"{", `{"excluded":[{"action":9}]}`, `{"excluded":[{}]}`,
		`{"excluded":[{"action":1,"state":7}]}`} {
		if k, err := Decode([]byte(text)); err == nil || len(k.Excluded) > 0 {
			t.Errorf("%s is taken: %+v", text, k)
		}
	}
	if k, err := Decode(nil); err != nil || k == nil {
		t.Errorf("nothing: %v", err)
	}
}

// TestCleanWhileDisabled: the time in which a link is disabled counts as clean also for the end that is not read then,
// as a host is not.
func TestCleanWhileDisabled(t *testing.T) {
	b := newBench(t, Defaults, 2)
	b.readings(3, map[int]counts{1: one(pma.SymbolErrorCounter, 100), 3: one(pma.SymbolErrorCounter, 100)})
	b.off, b.down = map[int]bool{1: true, 2: true}, map[int]bool{3: true, 4: true}
	b.readings(130, map[int]counts{1: {gone: true}, 3: {gone: true}})
	b.is("3 bit-errors")
}

// TestHeal: a port that was repaired has no past.
func TestHeal(t *testing.T) {
	b := newBench(t, Defaults, 2)
	b.readings(3, map[int]counts{1: one(pma.SymbolErrorCounter, 100), 2: one(pma.LinkDownedCounter, 9),
		3: one(pma.SymbolErrorCounter, 100)})
	b.w.Heal(key(1), key(2))
	b.read(nil)
	b.is("3 bit-errors")
}

// TestRestore: what a Watch found by itself is forgotten where the master has healed it, and stays where the master has
// it, too.
func TestRestore(t *testing.T) {
	b := newBench(t, Defaults, 2)
	b.readings(3, map[int]counts{1: one(pma.SymbolErrorCounter, 100), 3: one(pma.SymbolErrorCounter, 100)})
	// both relapse
	b.readings(200, nil)
	// the last confirms three
	b.readings(4, map[int]counts{1: one(pma.SymbolErrorCounter, 100), 3: one(pma.SymbolErrorCounter, 100)})
	b.is("1 bit-errors", "3 bit-errors")
	epoch := func(at time.Duration) int64 { return int64(at / time.Second) }
	b.w.Restore(b.w.Save(nil, epoch).Without(key(1), key(2)), func(at int64) time.Duration {
		return time.Duration(at) * time.Second
	})
	b.is("3 bit-errors")
	b.read(nil)
	b.is("3 bit-errors")
	if k := b.w.Save(nil, epoch); len(k.Relapses) != 1 || k.Relapses[0].Port != key(3) || k.Found[0].Relapses != 1 {
		t.Errorf("%+v", k)
	}
}

// FuzzDecode: whatever is kept, what is taken of it is encoded to the same again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"found":[{"port":{"Node":1,"Port":2},"rule":"x","relapses":-4}],"excluded":[{"action":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := Decode(text)
		if err != nil {
			return
		}
		New(nil).Restore(k, func(int64) time.Duration { return 0 })
		again, err := Decode(k.Encode())
		if err != nil || !reflect.DeepEqual(again.Excluded, k.Excluded) {
			t.Errorf("%+v, %v, was %+v", again, err, k)
		}
	})
}

// world is a subnet with findings.
type world struct {
	t        *testing.T
	topo     *topo.Topo
	rules    []Rule
	findings []Finding
	excluded []Excluded
	limits   Limits
	now      int64
}

func newWorld(t *testing.T, spec string) *world {
	rules, errs := Parse("t",
		"mild PortRcvErrors 1 1h report\nbad SymbolErrorCounter 1 1h avoid\nworse LinkDownedCounter 1 1h disable\n")
	if errs != nil {
		t.Fatal(errs)
	}
	return &world{t: t, topo: viewtest.New(t, spec, 0).Topo, rules: rules,
		limits: Limits{Most: Disable, Links: 10, Permille: 5}, now: 1000}
}

// port is a port of a node by its description.
func (w *world) port(desc string, num uint8) perf.Key {
	for i := range w.topo.Nodes {
		if w.topo.Nodes[i].Desc.String() == desc {
			return perf.Key{Node: w.topo.Nodes[i].GUID, Port: num}
		}
	}
	w.t.Fatalf("no node %q", desc)
	return perf.Key{}
}

func (w *world) find(k perf.Key, rule int) {
	w.findings = append(w.findings, Finding{Port: k, Rule: &w.rules[rule]})
}

func (w *world) decide() []Decision {
	excluded, decisions := Decide(In{Topo: w.topo, Now: w.now, Findings: w.findings, Excluded: w.excluded,
		Limits: w.limits})
	w.excluded = excluded
	return decisions
}

// TestDecide: what is done for a finding is what its rule asks for, no more than is permitted, and nothing that would
// cut anybody off.
func TestDecide(t *testing.T) {
	w := newWorld(t, "fattree:k=4,levels=2") // leaves with two spines
	leaf := "leaf-01"
	w.find(w.port(leaf, 3), 0)
	w.find(w.port(leaf, 3), 1)
	w.find(w.port(leaf, 1), 1)                      // of a host
	w.find(w.port(leaf, 4), 2)                      // of the only other spine
	w.find(perf.Key{Node: 0x99, Port: 1}, 1)        // gone
	w.find(perf.Key{Node: w.port(leaf, 1).Node}, 1) // port 0
	want := []Decision{{}, {Avoid, Avoid, 0}, {0, 0, HostLink}, {0, 0, OnlyWay}, {0, 0, NoLink}, {0, 0, NoLink}}
	if got := w.decide(); !slices.Equal(got, want) || len(w.excluded) != 1 || w.excluded[0].Port != w.port(leaf, 3) ||
		w.excluded[0].Since != 1000 {
		t.Errorf("%+v\nwant %+v\n%+v", got, want, w.excluded)
	}
	// The same again changes nothing, also from the other end.
	was := slices.Clone(w.excluded)
	w.now = 2000
	w.findings[1].Port = was[0].Peer
	if got := w.decide(); got[1] != want[1] || !slices.Equal(w.excluded, was) {
		t.Errorf("again: %+v %+v", got, w.excluded)
	}
	w.findings = w.findings[:1]
	if w.decide(); len(w.excluded) != 0 {
		t.Errorf("without a finding: %+v", w.excluded)
	}
}

// TestDryRun: a dry run says what would be done, and that is what is done without it.
func TestDryRun(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for _, most := range []Action{Report, Avoid} {
		w := newWorld(t, "fattree:k=4")
		var switchPorts []topo.PortIdx
		for i := range w.topo.Ports {
			if w.topo.BetweenSwitches(topo.PortIdx(i)) {
				switchPorts = append(switchPorts, topo.PortIdx(i))
			}
		}
		for range 20 {
			w.find(perf.KeyOf(w.topo, switchPorts[rnd.IntN(len(switchPorts))]), 1+rnd.IntN(2))
		}
		w.limits.Links = 7
		dry := *w
		dry.limits.Most = most
		would, does := dry.decide(), w.decide()
		obstacles := 0
		for i := range does {
			if does[i].Obstacle != NoObstacle {
				obstacles++
			}
			if would[i].Obstacle != does[i].Obstacle || (would[i].Would > Report) != (does[i].Does > Report) ||
				would[i].Does > most {
				t.Errorf("most %v, finding %d: would %+v, does %+v", most, i, would[i], does[i])
			}
		}
		if len(w.excluded) > 7 || len(w.excluded) == 0 || obstacles == 0 || most == Report && len(dry.excluded) > 0 {
			t.Errorf("%d excluded, %d obstacles, %d in a dry run", len(w.excluded), obstacles, len(dry.excluded))
		}
	}
}

// TestLimits: the larger of a number and a share, without what is not there, and without what the operator has
// isolated.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ links, permille, all, want int }{{10, 5, 100, 10}, {10, 5, 4000, 20}, {0, 5, 4000, 20},
		{3, 0, 4000, 3}} {
		l := Limits{Links: c.links, Permille: c.permille}
		if got := l.links(c.all); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	w := newWorld(t, "fattree:k=4")
	w.limits = Limits{Most: Avoid, Links: 1}
	w.excluded = []Excluded{{Port: perf.Key{Node: 0x99, Port: 1}, Action: Avoid},
		{Port: w.port("agg-01", 3), Action: Avoid, ByHand: true}}
	w.find(perf.Key{Node: 0x99, Port: 1}, 1)
	w.find(w.port("leaf-01", 3), 1)
	w.find(w.port("leaf-02", 3), 1)
	want := []Decision{{Avoid, Avoid, 0}, {Avoid, Avoid, 0}, {0, 0, TooMany}}
	if got := w.decide(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	w.limits.Most = Report
	if w.decide(); len(w.excluded) != 1 || !w.excluded[0].ByHand {
		t.Errorf("as a dry run: %+v", w.excluded)
	}
	// A link that is disabled counts, though it is down.
	w = newWorld(t, "fattree:k=4")
	w.limits.Links = 1
	w.find(w.port("leaf-01", 3), 2)
	w.decide()
	w.disable(w.port("leaf-01", 3))
	w.find(w.port("leaf-02", 3), 2)
	if got := w.decide(); !slices.Equal(got, []Decision{{Disable, Disable, 0}, {0, 0, TooMany}}) {
		t.Errorf("one is disabled: %+v", got)
	}
	// No more than can be kept are excluded, whatever is permitted, and also if they are down.
	w = newWorld(t, "fattree:k=4")
	w.limits.Links = 1 << 16
	for i := range MaxSaved {
		w.excluded = append(w.excluded,
			Excluded{Port: perf.Key{Node: 0x99, Port: uint8(i)}, Peer: perf.Key{Node: mad.GUID(0x100000 + i)},
				Action: Avoid, ByHand: true})
	}
	w.find(w.port("leaf-01", 3), 1)
	if got := w.decide(); got[0].Obstacle != TooMany || len(w.excluded) != MaxSaved ||
		w.limits.links(1<<20) != MaxSaved {
		t.Errorf("%+v, %d excluded, %d permitted", got, len(w.excluded), w.limits.links(1<<20))
	}
}

// TestByHand: what the operator has isolated returns at its time, or not by itself.
func TestByHand(t *testing.T) {
	w := newWorld(t, "fattree:k=4")
	w.excluded = []Excluded{{Port: w.port("leaf-01", 3), Action: Avoid, ByHand: true, Until: 1500},
		{Port: w.port("leaf-02", 3), Action: Avoid, ByHand: true}}
	if w.decide(); len(w.excluded) != 2 {
		t.Errorf("%+v", w.excluded)
	}
	w.now = 1500
	if w.decide(); len(w.excluded) != 1 || w.excluded[0].Until != 0 {
		t.Errorf("at its time: %+v", w.excluded)
	}
}

// disable has the port of a link be disabled, as a sweep does.
func (w *world) disable(k perf.Key) (p topo.PortIdx, train func()) {
	p = k.In(w.topo)
	peer := w.topo.Ports[p].Peer
	w.topo.Ports[p].Info.SetPortPhysicalState(smp.PhysDisabled)
	w.topo.Ports[p].Peer, w.topo.Ports[peer].Peer = topo.None, topo.None
	return p, func() { w.topo.Ports[p].Peer, w.topo.Ports[peer].Peer = peer, p }
}

// TestDisabled: a port that was disabled is enabled, and its link ACTIVE, before its exclusion is forgotten; but a link
// that does not come is not waited for.
func TestDisabled(t *testing.T) {
	w := newWorld(t, "fattree:k=4")
	k := w.port("leaf-01", 3)
	w.find(k, 2)
	if got := w.decide(); got[0].Does != Disable || len(w.excluded) != 1 {
		t.Fatalf("%+v", got)
	}
	p, train := w.disable(k)
	if l := LinkOf(w.topo, k, w.excluded); !l.Disabled || l.Peer.Node != 0 {
		t.Errorf("%+v", l)
	}
	returning := func(what string, is bool) {
		t.Helper()
		if w.decide(); len(w.excluded) != 0 != is || is && (len(w.excluded) != 1 || w.excluded[0].State != Returning) {
			t.Errorf("%s: %+v", what, w.excluded)
		}
	}
	w.findings = nil
	for range 3 {
		returning("it is disabled", true)
		w.now += 10 * training
	}
	w.topo.Ports[p].Info.SetPortPhysicalState(smp.PhysPolling)
	returning("it is enabled", true)
	was := slices.Clone(w.excluded)
	w.now += training - 1
	if returning("it trains", true); !slices.Equal(was, w.excluded) {
		t.Errorf("%+v, was %+v", w.excluded, was)
	}
	w.now++
	returning("it does not come", false)
	w.excluded, w.now = was, w.now-1
	train()
	w.topo.Ports[p].Info.SetPortState(smp.PortInit)
	w.now += training
	returning("it is in INIT", true)
	w.topo.Ports[p].Info.SetPortState(smp.PortActive)
	returning("it is ACTIVE", false)
	w.excluded, w.now = was, was[0].Enabled-1
	w.disable(k)
	w.topo.Ports[p].Info.SetPortPhysicalState(smp.PhysPolling)
	returning("the clock went back", false)
}

// TestNotDisabledAnyMore: a port is enabled before routes only avoid its link, be it that the finding that asked for
// more has ended or that no more is permitted; until then a finding adds no second exclusion.
func TestNotDisabledAnyMore(t *testing.T) {
	for _, less := range []func(w *world){
		func(w *world) { w.findings = w.findings[:1] },
		func(w *world) { w.limits.Most = Avoid },
	} {
		w := newWorld(t, "fattree:k=4")
		k := w.port("leaf-01", 3)
		w.find(k, 1)
		w.find(k, 2)
		w.decide()
		w.decide() // what the later finding asks for
		if len(w.excluded) != 1 || w.excluded[0].Action != Disable {
			t.Fatalf("%+v", w.excluded)
		}
		p, train := w.disable(k)
		less(w)
		w.find(w.excluded[0].Peer, 1)
		for range 2 {
			if d := w.decide(); len(w.excluded) != 1 || w.excluded[0].State != Returning ||
				Avoided(w.excluded)[0].Ports != sweep.PortEnabled || d[0].Does != Avoid || d[0].Obstacle != NoObstacle {
				t.Errorf("it is disabled: %+v, %+v", w.excluded, d)
			}
		}
		w.topo.Ports[p].Info.SetPortPhysicalState(smp.PhysLinkUp)
		w.topo.Ports[p].Info.SetPortState(smp.PortActive)
		train()
		if d := w.decide(); len(w.excluded) != 1 || w.excluded[0].State != InForce || w.excluded[0].Action != Avoid ||
			d[0].Does != Avoid {
			t.Errorf("it is up again: %+v, %+v", w.excluded, d)
		}
	}
}

// TestHostLinks: the port in front of a host is disabled only where that is permitted and the rule asks for it, never
// that in front of the manager; it is enabled again where it is permitted no more, or the finding has ended, also while
// the host is not there.
func TestHostLinks(t *testing.T) {
	w := newWorld(t, "fattree:k=4")
	leaf := w.port("leaf-02", 1)
	p := leaf.In(w.topo)
	host := perf.KeyOf(w.topo, w.topo.Ports[p].Peer)
	w.find(host, 1)
	w.find(host, 2)
	self := Finding{Port: perf.KeyOf(w.topo, w.topo.Self), Rule: &w.rules[2]}
	far := Finding{Port: perf.KeyOf(w.topo, w.topo.Ports[w.topo.Self].Peer), Rule: &w.rules[2]}
	w.findings = append(w.findings, self, far)
	no := Decision{Obstacle: HostLink}
	if got := w.decide(); !slices.Equal(got, []Decision{no, no, no, no}) || len(w.excluded) != 0 {
		t.Errorf("not permitted: %+v, %+v", got, w.excluded)
	}
	w.limits.Hosts = true
	for _, most := range []Action{Report, Avoid} {
		w.limits.Most = most
		if got := w.decide(); !slices.Equal(got, []Decision{no, {Would: Disable}, no, no}) || len(w.excluded) != 0 {
			t.Errorf("at most %v: %+v, %+v", most, got, w.excluded)
		}
	}
	other := *w // what is not disabled uses up no limit, but in a dry run
	other.limits, other.findings = Limits{Most: Avoid, Links: 1, Hosts: true}, nil
	other.find(host, 2)
	other.find(w.port("leaf-03", 3), 1)
	if got := other.decide(); !slices.Equal(got, []Decision{{Would: Disable}, {Avoid, Avoid, 0}}) {
		t.Errorf("the host's link does not count: %+v", got)
	}
	node := &w.topo.Nodes[w.topo.Ports[w.topo.Ports[p].Peer].Node]
	node.Aggregation = true
	if got := w.decide(); got[1] != no {
		t.Errorf("an aggregation node: %+v", got)
	}
	node.Aggregation = false
	w.limits.Most = Disable
	if got := w.decide(); got[1] != (Decision{Disable, Disable, 0}) || got[2] != no || got[3] != no ||
		!slices.Equal(w.excluded, []Excluded{{Port: leaf, Peer: host, Host: true, Action: Disable, Since: w.now}}) {
		t.Fatalf("%+v, %+v", got, w.excluded)
	}
	if a := Avoided(w.excluded); len(a) != 1 || a[0].Switch != leaf.Node || a[0].Ports != sweep.PortDisabled {
		t.Errorf("%+v", a)
	}
	for what, change := range map[string]func(e *Excluded){
		"it is at another port":          func(e *Excluded) { e.Port = w.port("leaf-03", 1) },
		"another host is at the port":    func(e *Excluded) { e.Peer = perf.KeyOf(w.topo, w.topo.Self) },
		"a host is where a switch was":   func(e *Excluded) { e.Host = false },
		"it is that of this manager now": func(e *Excluded) { e.Peer, e.Port = self.Port, far.Port },
	} {
		next := *w
		next.excluded = slices.Clone(w.excluded)
		change(&next.excluded[0])
		next.findings = []Finding{{Port: next.excluded[0].Port, Rule: &w.rules[2]}}
		if next.decide(); len(next.excluded) != 1 || next.excluded[0].State != Returning {
			t.Errorf("%s: %+v", what, next.excluded)
		}
	}
	w.disable(leaf)
	if w.decide(); len(w.excluded) != 1 || w.excluded[0].State != InForce || w.topo.Ports[p].Peer != topo.None ||
		!LinkOf(w.topo, leaf, w.excluded).Disabled {
		t.Errorf("it is disabled: %+v", w.excluded)
	}
	was := slices.Clone(w.excluded)
	was[0].Peer = perf.Key{Node: 0x77, Port: 1} // a host that the subnet does not have
	for what, less := range map[string]func(){
		"not permitted any more": func() { w.limits.Hosts = false },
		"no more than avoid":     func() { w.limits.Hosts, w.limits.Most = true, Avoid },
		"clean":                  func() { w.limits.Most, w.findings = Disable, nil },
	} {
		w.excluded, w.findings = slices.Clone(was), []Finding{{Port: was[0].Peer, Rule: &w.rules[2]}}
		if l := LinkOf(w.topo, was[0].Peer, w.excluded); l != (Link{Disabled: true}) {
			t.Errorf("a host that is not there: %+v", l)
		}
		less()
		if w.decide(); len(w.excluded) != 1 || w.excluded[0].State != Returning {
			t.Errorf("%s: %+v", what, w.excluded)
		}
	}
}

// TestLinkOf: a link that runs below what both ends have enabled is slow.
func TestLinkOf(t *testing.T) {
	w := newWorld(t, "fattree:k=4")
	k := w.port("leaf-01", 3)
	p := k.In(w.topo)
	l := LinkOf(w.topo, k, nil)
	if l.Slow || l.Bits == 0 || l.Peer != perf.KeyOf(w.topo, w.topo.Ports[p].Peer) {
		t.Errorf("%+v", l)
	}
	w.topo.Ports[p].Info.SetLinkWidthActive(1)
	if l := LinkOf(w.topo, k, nil); !l.Slow {
		t.Errorf("one lane: %+v", l)
	}
	w.topo.Ports[p].Info.SetLinkWidthEnabled(1)
	if l := LinkOf(w.topo, k, nil); l.Slow {
		t.Errorf("one lane, as is wanted: %+v", l)
	}
	if l := LinkOf(w.topo, perf.Key{Node: 0x99, Port: 1}, nil); l != (Link{}) {
		t.Errorf("%+v", l)
	}
}

// TestNeverCuts: however many links are found, the switches stay connected.
func TestNeverCuts(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		w := newWorld(t, []string{"fattree:k=4", "mesh:dims=3x3,hosts=1", "fattree:k=4,levels=2"}[seed%3])
		w.limits.Links = 1000
		for range 3 {
			for i := range w.topo.Ports {
				if w.topo.BetweenSwitches(topo.PortIdx(i)) && rnd.IntN(3) == 0 {
					w.find(perf.KeyOf(w.topo, topo.PortIdx(i)), 1)
				}
			}
			w.decide()
			d := decider{In: In{Topo: w.topo}, out: map[topo.PortIdx]bool{}}
			before := d.pieces()
			for i := range w.excluded {
				d.mark(w.excluded[i].Port)
			}
			if len(w.excluded) == 0 || d.pieces() != before {
				t.Errorf("seed %d: %d parts without %d links, %d before", seed, d.pieces(), len(w.excluded), before)
			}
		}
	}
}
