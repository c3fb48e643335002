package manager

import (
	"context"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/elect"
	"ibsm/sweep/engines"
	"ibsm/sweep/multicast"
	"ibsm/sweep/plan"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// schedule is a scheduler at a port of a fabric.
type schedule struct {
	*testing.T
	scheduler
	fx     *effects
	fabric *fabric.Fabric
	at     *fabric.Station
}

// newSchedule begins where the first sweep is wanted, or after it.
func newSchedule(t *testing.T, swept bool) *schedule {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	f := fabric.New(n, fabric.Config{})
	var at net.End
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			at = net.End{Node: int32(i), Port: 1}
		}
	}
	station, err := f.Attach(at)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sweep.Config{Engines: engines.Chain{engines.MinHop}}
	s := &schedule{T: t, scheduler: scheduler{sweeper: sweep.New(cfg)}, fx: newEffects(time.Second), fabric: f,
		at: station}
	if swept {
		s.want(wishFull, "start")
		s.begin(s.fx, true, false)
		s.finish()
	}
	return s
}

// answer has the phase under way asked and answered until it is over, which is asked when it
// has no request.
func (s *schedule) answer(over func() bool) {
	buf := make([]mad.Datagram, 64)
	for {
		for s.fx.table.Room() > 0 {
			req, ok := s.nextRequest(true)
			if !ok {
				break
			}
			req.Owner = ownerSweep
			s.fx.request(&req)
		}
		if out := s.fx.sent(); len(out) > 0 {
			s.at.Send(out)
		} else if s.fx.table.Outstanding() == 0 && over() {
			return
		}
		if at, ok := s.fabric.Next(); ok {
			s.fabric.Advance(at)
		}
		for _, d := range buf[:s.at.Recv(buf)] {
			if o, ok := s.fx.table.Match(s.fx.now, &d); ok {
				s.take(&o)
			}
		}
	}
}

// walk takes a heavy sweep to the end of its walk.
func (s *schedule) walk() (found *sweep.Found) {
	w := s.phase.(*sweep.Walk)
	s.answer(func() bool { found = w.Found(); return found != nil })
	s.walked(found)
	return found
}

// finish takes a heavy sweep to its end.
func (s *schedule) finish() (out *sweep.Outcome) {
	p := s.sweeper.Program(s.compute(s.walk().Task(1)).Run(context.Background()))
	s.phase = p
	s.answer(func() bool { out, _ = p.Outcome(); return out != nil })
	s.finished(s.fx.now, out, trouble{})
	s.wanted = 0
	return out
}

// is reports whether a phase is under way.
func (s *schedule) is(want Phase) bool {
	phase, _, _ := s.progress()
	return phase == want
}

// TestSchedule: which sweep begins when some are wanted, and what is still wanted behind it.
func TestSchedule(t *testing.T) {
	const reset = wishHeavy | wishLight
	for _, c := range []struct {
		name               string
		swept              bool
		wanted             wishes
		prepare            func(s *schedule)
		notMaster, resting bool
		state              scheduleState
		left               wishes
	}{
		{name: "nothing", swept: true, state: noSweep},
		{name: "light", swept: true, wanted: wishLight, state: lightSweep},
		{name: "check", swept: true, wanted: wishCheck, state: checkSweep},
		{name: "check and light", swept: true, wanted: wishCheck | wishLight, state: lightSweep, left: wishCheck},
		{name: "check and quick", swept: true, wanted: wishCheck | wishQuick, state: quickSweep},
		{name: "check of an unknown subnet", wanted: wishCheck, state: fullSweep},
		{name: "light of an unknown subnet", wanted: wishLight, state: fullSweep},
		{name: "quick", swept: true, wanted: wishQuick, state: quickSweep},
		{name: "quick of an unknown subnet", wanted: wishQuick, state: fullSweep},
		{name: "quick, others must be asked first", swept: true, wanted: wishQuick, notMaster: true, state: fullSweep},
		{name: "quick after what needs a full one", swept: true, wanted: wishQuick, prepare: func(s *schedule) {
			s.needFull = true
		}, state: fullSweep},
		{name: "quick and light", swept: true, wanted: wishQuick | wishLight, state: quickSweep, left: wishLight},
		{name: "full and light", swept: true, wanted: wishFull | wishLight, state: fullSweep},
		{name: "a link, then full", swept: true, wanted: wishLink | wishFull, state: quickSweep, left: wishFull},
		{name: "a link and all others", swept: true, wanted: reset, state: quickSweep, left: wishSecond | wishFull |
			wishRetry | wishLight},
		{name: "retry, quick and light", swept: true, wanted: wishRetry | wishQuick | wishLight, state: retrySweep},
		{name: "retry and light, where trouble lasts", swept: true, wanted: wishRetry | wishLight,
			prepare: func(s *schedule) {
				s.backoff = maxBackoff
			}, state: retrySweep, left: wishLight},
		{name: "a link, then retry", swept: true, wanted: wishLink | wishRetry, state: quickSweep, left: wishRetry},
		{name: "retry, and full", swept: true, wanted: wishRetry | wishFull, state: fullSweep},
		{name: "retry after what needs a full one", swept: true, wanted: wishRetry, prepare: func(s *schedule) {
			s.needFull = true
		}, state: fullSweep},
		{name: "a link, and retry is deferred too long", swept: true, wanted: wishLink | wishRetry,
			prepare: func(s *schedule) {
				s.slow = s.fx.now
				s.fx.now += maxDeferred + 1
			}, state: retrySweep},
		{name: "the second one", swept: true, wanted: wishSecond | wishLight, prepare: func(s *schedule) {
			s.needFull = true
		}, state: secondSweep, left: 0},
		{name: "the second one, and a full one", swept: true, wanted: wishSecond | wishFull,
			prepare: func(s *schedule) {
				s.needFull = true
			}, state: fullSweep},
		{name: "the second one, and a link", swept: true, wanted: wishSecond | wishLink, prepare: func(s *schedule) {
			s.needFull = true
		}, state: fullSweep},
		{name: "a link, and full is deferred too long", swept: true, wanted: wishLink | wishFull,
			prepare: func(s *schedule) {
				s.slow = s.fx.now
				s.fx.now += maxDeferred + 1
			}, state: fullSweep},
		{name: "a link, and full is deferred nearly too long", swept: true, wanted: wishLink | wishFull,
			prepare: func(s *schedule) {
				s.slow = s.fx.now
				s.fx.now += maxDeferred
			}, state: quickSweep, left: wishFull},
		{name: "resting", swept: true, wanted: reset, resting: true, state: noSweep, left: reset},
		{name: "a plan", swept: true, prepare: func(s *schedule) {
			s.plan.ask(planRequest{number: 1})
		}, state: previewSweep},
		{name: "a plan while resting", swept: true, wanted: reset, resting: true, prepare: func(s *schedule) {
			s.plan.ask(planRequest{number: 1})
		}, state: previewSweep, left: reset},
		{name: "a plan and heavy", swept: true, wanted: wishFull, prepare: func(s *schedule) {
			s.plan.ask(planRequest{number: 1})
		}, state: fullSweep},
		{name: "a plan and light", swept: true, wanted: wishLight, prepare: func(s *schedule) {
			s.plan.ask(planRequest{number: 1})
		}, state: previewSweep, left: wishLight},
	} {
		s := newSchedule(t, c.swept)
		s.want(c.wanted, c.name)
		if c.prepare != nil {
			c.prepare(s)
		}
		if s.begin(s.fx, !c.notMaster, c.resting); s.state != c.state || s.wanted != c.left {
			t.Errorf("%s: %v begins and %v is left, want %v and %v", c.name, s.state, s.wanted, c.state, c.left)
		}
	}
}

// TestPreempt: a link that changes has slower sweeps begun again after a quick one while they
// ask, and only then.
func TestPreempt(t *testing.T) {
	for _, c := range []struct {
		name     string
		under    func(s *schedule)
		state    scheduleState
		wanted   wishes
		plan     int // that are asked for
		deferred bool
	}{
		{name: "nothing", under: func(s *schedule) {}, state: noSweep, wanted: wishLink},
		{name: "light", under: func(s *schedule) {
			s.want(wishLight, "")
		}, state: noSweep, wanted: wishLink | wishLight},
		{name: "quick", under: func(s *schedule) { s.want(wishQuick, "") }, state: quickSweep, wanted: wishLink},
		{name: "check", under: func(s *schedule) { s.want(wishCheck, "") }, state: noSweep, wanted: wishLink},
		{name: "full", under: func(s *schedule) { s.want(wishFull, "") }, state: noSweep, wanted: wishLink | wishFull},
		{name: "retry", under: func(s *schedule) { s.want(wishRetry, "") }, state: noSweep, wanted: wishLink | wishRetry},
		{name: "a plan", under: func(s *schedule) {
			s.plan.ask(planRequest{number: 1})
		}, state: noSweep, wanted: wishLink, plan: 1},
		{name: "full, deferred too long", under: func(s *schedule) {
			s.want(wishFull, "")
		}, state: fullSweep, wanted: wishLink, deferred: true},
	} {
		s := newSchedule(t, true)
		c.under(s)
		s.begin(s.fx, true, false)
		if c.deferred {
			s.fx.now += maxDeferred + 1
		}
		req, asks := s.nextRequest(true)
		if asks {
			req.Owner = ownerSweep
			s.fx.request(&req)
		}
		s.preempt(s.fx, true)
		if s.state != c.state || s.wanted != c.wanted || len(s.plan.asked) != c.plan || s.plan.state == planWalking &&
			s.state == noSweep {
			t.Errorf("%s: %v, %v wanted, plans %v", c.name, s.state, s.wanted, s.plan.asked)
		}
		if left := s.fx.table.Outstanding(); (left == 0) != (s.state == noSweep) {
			t.Errorf("%s: %d requests are outstanding", c.name, left)
		}
	}
	s := newSchedule(t, true)
	s.want(wishFull, "")
	s.begin(s.fx, true, false)
	s.compute(s.walk().Task(1))
	if s.preempt(s.fx, true); s.state != fullSweep || !s.is(Computing) {
		t.Errorf("a computation was given up: %v", s.state)
	}
}

// TestHalt: what is under way is given up at once, but for a task, whose result is awaited.
func TestHalt(t *testing.T) {
	s := newSchedule(t, true)
	s.plan.ask(planRequest{number: 1})
	s.begin(s.fx, true, false)
	if s.halt(s.fx, abandoned); s.state != noSweep || !s.plan.wanted() {
		t.Errorf("a walk: %v, plan %v", s.state, s.plan.state)
	}
	equal(t, "a walk", s.fx.did(), nil)
	s.want(wishFull, "")
	s.begin(s.fx, true, false)
	s.compute(s.walk().Task(1))
	s.halt(s.fx, abandoned)
	equal(t, "a task", s.fx.did(), []string{"cancel sweep"})
	if s.state != abandoned || !s.is(Computing) {
		t.Errorf("a task: %v", s.state)
	}
	if s.giveUp(s.state); s.state != noSweep || !s.is(Idle) {
		t.Errorf("its result: %v", s.state)
	}
	s.want(wishFull, "")
	if s.reset(); s.wanted != 0 || s.next != 0 {
		t.Errorf("%v is wanted after a reset", s.wanted)
	}
}

// TestBesidePlan: the computation of a plan holds up no sweep. What halts the sweep gives it up as
// well, and it is made again when its result has come.
func TestBesidePlan(t *testing.T) {
	s := newSchedule(t, true)
	s.plan.ask(planRequest{number: 2, reroute: true})
	s.begin(s.fx, true, false)
	s.preview(s.fx, s.walk(), multicast.New(plan.MKeys{}))
	equal(t, "a plan", s.fx.did(), []string{"compute plan"})
	if s.state != noSweep || !s.is(Idle) || !s.plan.computes() {
		t.Errorf("%v, plan %v", s.state, s.plan.state)
	}
	s.plan.ask(planRequest{number: 1})
	if s.begin(s.fx, true, false); s.state != noSweep {
		t.Errorf("%v begins beside a plan", s.state)
	}
	s.want(wishQuick, "")
	s.fx.now += time.Millisecond
	if s.begin(s.fx, true, false); s.state != quickSweep {
		t.Errorf("%v begins beside a plan, not a quick sweep", s.state)
	}
	s.compute(s.walk().Task(1))
	s.halt(s.fx, abandoned)
	equal(t, "both are halted", s.fx.did(), []string{"cancel plan", "cancel sweep"})
	s.giveUp(s.state)
	if s.plan.wanted() {
		t.Error("a plan begins before the last one is over")
	}
	if s.previewed(s.fx, nil); !s.plan.wanted() || len(s.plan.asked) != 2 || s.plan.asked[0].number != 2 {
		t.Errorf("plan %v, %v are asked for, not the one that was given up and the next", s.plan.state, s.plan.asked)
	}
	equal(t, "a plan that was given up", s.fx.did(), nil)
}

// TestPlansYield: whatever else is wanted comes before the next plan, a light sweep too.
func TestPlansYield(t *testing.T) {
	for w, state := range map[wishes]scheduleState{wishLight: lightSweep, wishQuick: quickSweep, wishFull: fullSweep} {
		s := newSchedule(t, true)
		for number := range uint64(3) {
			s.plan.ask(planRequest{number: number})
		}
		s.begin(s.fx, true, false)
		s.want(w, "")
		s.preview(s.fx, s.walk(), multicast.New(plan.MKeys{}))
		if s.begin(s.fx, true, false); s.state != state {
			t.Errorf("%v begins, not a %v, while a plan is computed and two wait", s.state, state)
		}
	}
}

// TestPlanEnds: the walk of a plan whose asker has left is broken off, and no other sweep is.
func TestPlanEnds(t *testing.T) {
	for _, c := range []struct {
		name     string
		wanted   wishes
		plans    []uint64
		left     uint64
		state    scheduleState
		requests bool
	}{
		{"its walk", 0, []uint64{7}, 7, noSweep, false},
		{"the walk of another", 0, []uint64{6, 7}, 7, previewSweep, true},
		{"one that is not known", 0, []uint64{7}, 8, previewSweep, true},
		{"a full sweep", wishFull, []uint64{7}, 7, fullSweep, true},
		{"a light one", wishLight, nil, 7, lightSweep, true},
	} {
		s := newSchedule(t, true)
		for _, number := range c.plans {
			s.plan.ask(planRequest{number: number})
		}
		s.want(c.wanted, "")
		s.begin(s.fx, true, false)
		req, _ := s.nextRequest(true)
		req.Owner = ownerSweep
		s.fx.request(&req)
		if s.endPlan(s.fx, c.left); s.state != c.state || (s.fx.table.Outstanding() > 0) != c.requests {
			t.Errorf("%s: %v, %d requests are outstanding", c.name, s.state, s.fx.table.Outstanding())
		}
	}
}

// TestTrouble: what goes wrong for the first time is tried again at once, what has changed after
// a second, and what stays after twice the time, up to ten seconds. When it has stayed for so long, the sweep by the
// clock asks about everything, once.
func TestTrouble(t *testing.T) {
	s := newSchedule(t, true)
	s.want(wishQuick, "")
	s.begin(s.fx, true, false)
	out := s.finish()
	out.Found.Changed, out.Healed = false, false
	for i, c := range []struct {
		trouble trouble
		state   scheduleState
		wanted  wishes
		backoff time.Duration
		clock   wishes // by the clock, beside a light one
	}{
		{trouble{}, fullSweep, 0, 0, 0},
		{trouble{"a", true, false}, quickSweep, wishRetry, 0, wishRetry},
		{trouble{"a", true, false}, retrySweep, 0, time.Second, wishRetry},
		{trouble{"a", true, false}, retrySweep, 0, 2 * time.Second, wishRetry},
		{trouble{"a", false, false}, quickSweep, 0, 2 * time.Second, 0},
		{trouble{"b", false, false}, retrySweep, 0, time.Second, 0},
		{trouble{"b", true, true}, fullSweep, 0, 2 * time.Second, wishFull},
		{trouble{"b", true, false}, fullSweep, 0, 4 * time.Second, wishRetry},
		{trouble{"b", true, false}, retrySweep, 0, 8 * time.Second, wishRetry},
		{trouble{"b", true, false}, retrySweep, 0, maxBackoff, wishFull},
		{trouble{"b", true, false}, fullSweep, 0, maxBackoff, wishRetry},
		{trouble{"b", true, false}, retrySweep, 0, maxBackoff, wishRetry},
		{trouble{"", false, true}, fullSweep, wishSecond, maxBackoff, wishFull},
	} {
		s.state, s.wanted = c.state, 0
		s.finished(s.fx.now, out, c.trouble)
		if s.wanted != c.wanted || s.backoff != c.backoff || s.incomplete() != c.clock || s.state != noSweep {
			t.Errorf("sweep %d: %v is wanted, again after %v, %v by the clock", i, s.wanted, s.backoff, s.incomplete())
		}
	}
	const now, second = time.Minute, time.Second
	for _, c := range []struct {
		state scheduleState
		text  string
		next  time.Duration
		after time.Duration // 0: it is set anew
	}{
		{quickSweep, "a", now + second/2, now + second/2}, {quickSweep, "b", now + second/2, now + second/2},
		{quickSweep, "b", now + 5*second, now + second}, {quickSweep, "b", 0, 0}, {quickSweep, "", now + second, 0},
		{retrySweep, "a", 0, 0}, {fullSweep, "b", 0, 0},
	} {
		s.state, s.trouble, s.next = c.state, "a", c.next
		goesOn := s.finished(now, out, trouble{text: c.text})
		if goesOn != (c.after > 0) || goesOn && s.next != c.after {
			t.Errorf("%+v: the clock goes on %t, next at %v", c, goesOn, s.next)
		}
	}
	s.next, s.trouble = 0, ""
	for healed, want := range map[bool]wishes{false: 0, true: wishRetry} {
		s.state, s.wanted, out.Healed = fullSweep, 0, healed
		if s.finished(s.fx.now, out, trouble{}); s.wanted != want {
			t.Errorf("routes may use a link again %t: %v is wanted", healed, s.wanted)
		}
	}
	for _, c := range []struct{ interval, backoff, next time.Duration }{
		{0, 0, 0}, {time.Minute, 0, time.Minute}, {time.Minute, time.Second, time.Second},
		{time.Second, time.Minute, time.Second}, {0, time.Second, time.Second},
	} {
		s.next, s.trouble, s.backoff = 0, "x", c.backoff
		if s.scheduleNext(0, c.interval); s.next != c.next {
			t.Errorf("%+v: next at %v", c, s.next)
		}
	}
	if s.next = 5; s.tick(4) || !s.tick(5) || s.tick(6) {
		t.Error("the clock does not ask once")
	}
}

// TestInconclusive: a quick sweep that meets too much is followed by a full one.
func TestInconclusive(t *testing.T) {
	s := newSchedule(t, true)
	s.want(wishQuick, "first")
	s.begin(s.fx, true, false)
	s.inconclusive(s.walk())
	if s.begin(s.fx, true, false); s.state != fullSweep || s.incomplete() != wishFull || strings.Contains(s.reason, "first") {
		t.Errorf("%v because %q", s.state, s.reason)
	}
	s.finish()
	if s.incomplete() != 0 {
		t.Error("incomplete after a full sweep")
	}
	for _, c := range []struct {
		reason string
		of     sweep.Extent
		wanted wishes
	}{{"", 0, 0}, {"x", sweep.Quick, wishQuick}, {"x", sweep.Retry, wishRetry}, {"x", sweep.Full, wishQuick | wishFull}} {
		s.wanted, s.needFull = 0, false
		if s.looked(s.fx, &sweep.Verdict{Reason: c.reason, Extent: c.of}); s.wanted != c.wanted ||
			s.needFull != s.wanted.has(wishFull) {
			t.Errorf("%+v: %v is wanted, needs full %t", c, s.wanted, s.needFull)
		}
	}
}

// TestRequested: each request wants its sweep; that of the watchdog, which only looks whether the core runs, wants
// none.
func TestRequested(t *testing.T) {
	for asked, want := range map[Sweep]wishes{NoSweep: 0, Light: wishLight, Heavy: wishFull, Reroute: wishFull,
		Describe: 0} {
		c := NewCore(Config{Elect: elect.Config{GUID: 5}})
		c.sweeps.wanted = 0
		if c.requested(&SweepRequested{Sweep: asked}); c.sweeps.wanted != want {
			t.Errorf("sweep %d: %v is wanted, not %v", asked, c.sweeps.wanted, want)
		}
	}
}
