package sim_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// leaders measures in virtual time how many managers answer GET /leader with 200.
type leaders struct {
	*harness
	rng      *rand.Rand
	managers [2]*watched
	disks    [2]*sim.Disk

	at      time.Duration // up to then it has measured
	answers []leaderAnswer
	none    time.Duration // since when nobody answers with 200
	longest time.Duration // without an answer
	two     time.Duration // since when two do; -1 for no
	both    time.Duration // longest time with two
}

// leaderAnswer is a manager that answers with 200 until a time. A paused one would do so if it were resumed.
type leaderAnswer struct {
	until  time.Duration
	paused bool
}

// newLeaders is a fabric with a master and a standby.
func newLeaders(t *testing.T, seed uint64) *leaders {
	n := nettest.Generate(t, "fattree:k=4")
	l := &leaders{harness: newHarness(t, n, fabric.Config{Seed: seed, TrainTime: 100 * time.Millisecond}),
		rng: rand.New(rand.NewPCG(seed, 0)), two: -1}
	for i := range l.managers {
		l.disks[i] = sim.NewDisk(time.Millisecond)
		l.start(i)
		l.pass(settling)
	}
	if !l.leads(0) || l.leads(1) {
		t.Fatalf("seed %d: the first leads: %t, the second: %t", seed, l.leads(0), l.leads(1))
	}
	l.longest = 0 // before there was one
	return l
}

// leaderConfig is that of one of the two: the first ranks higher, and none takes the mastership back.
func leaderConfig(i int) manager.Config {
	cfg := registrarConfig()
	cfg.Elect.Priority, cfg.Elect.MasterPriority = uint8(9-i), 12
	return cfg
}

// start starts one of the two.
func (l *leaders) start(i int) {
	l.Managers = slices.DeleteFunc(l.Managers, func(m *sim.Manager) bool { return m.Exited })
	l.managers[i] = l.addKept(host(l.net, 5*(1-i)), leaderConfig(i), l.disks[i])
}

func (l *leaders) leads(i int) bool { return l.managers[i].Core.LeadsUntil() > l.Fabric.Now() }

// pass lets time pass, and measures.
func (l *leaders) pass(d time.Duration) {
	l.Run(l.Fabric.Now()+d, func() bool {
		l.measure()
		return false
	})
	l.measure()
}

// between is a random time.
func (l *leaders) between(least, most time.Duration) time.Duration {
	return least + time.Duration(l.rng.Int64N(int64(most-least)))
}

// measure takes the time since the last call, and the answers from now on.
func (l *leaders) measure() {
	now := l.Fabric.Now()
	one, first, second := l.at, l.at, l.at // until then one answers, one might, and two might
	for _, a := range l.answers {
		until := min(a.until, now)
		second = max(second, min(until, first))
		first = max(first, until)
		if !a.paused {
			one = max(one, until)
		}
	}
	if one > l.at {
		l.longest, l.none = max(l.longest, l.at-l.none), one
	}
	if second == l.at {
		l.two = -1
	} else if l.two < 0 {
		l.two = l.at
	}
	if l.two >= 0 {
		l.both = max(l.both, second-l.two)
	}
	l.at, l.answers = now, l.answers[:0]
	for _, m := range l.Managers {
		if !m.Exited {
			l.answers = append(l.answers, leaderAnswer{m.Core.LeadsUntil(), m.Asleep > now})
		}
	}
}

// mustHold fails the test where nobody has answered for longer than a limit, or two for longer than another.
func (l *leaders) mustHold(seed uint64, none, both time.Duration) {
	l.Helper()
	if longest := max(l.longest, l.at-l.none); longest > none || l.both > both {
		l.Errorf("seed %d: no manager leads for %v, want at most %v; two lead for %v, want at most %v", seed, longest, none,
			l.both, both)
	}
}

// TestLeaderKilled: of two managers the master is killed again and again, at any moment, and started again. Two never
// lead at a time. The standby looks at the master's port every quarter of a second. A master that is started again in
// less sets IsSM again, and the standby learns that it is not master any more when it polls its SMInfo, every two
// seconds.
func TestLeaderKilled(t *testing.T) {
	kills := 100
	if os.Getenv("IBSM_PROOF") != "" {
		kills = 10_000
	}
	for _, c := range []struct {
		name               string
		least, most, limit time.Duration // of the time until it is started again; of the time without a leader
	}{
		{"started again after a second", time.Second, 6 * time.Second, 270 * time.Millisecond},
		{"started again at once", 0, time.Second, 2100 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			const seed = 1
			l := newLeaders(t, seed)
			for killed := 0; killed < kills; {
				l.pass(l.between(0, 10*time.Second))
				for i := range l.managers {
					if l.leads(i) {
						l.Kill(l.managers[i].Manager)
						killed++
						l.pass(l.between(c.least, c.most))
						l.start(i)
						break
					}
				}
			}
			l.pass(settling)
			l.mustHold(seed, c.limit, 0)
			t.Logf("%d kills in %v: no manager leads for %v at most, two for %v", kills, l.Fabric.Now(), l.longest, l.both)
		})
	}
}

// TestLeaderGoes: the same for a master that goes in other ways. One without a link learns of it when it next looks at
// its own port, within a second; the standby has looked within a quarter of one.
func TestLeaderGoes(t *testing.T) {
	runs := 5
	if os.Getenv("IBSM_PROOF") != "" {
		runs = 100
	}
	pause := func(d time.Duration) func(l *leaders) {
		return func(l *leaders) { l.managers[0].Asleep = l.Fabric.Now() + d }
	}
	for _, c := range []struct {
		name       string
		none, both time.Duration
		goes       func(l *leaders)
	}{
		{"stopped with SIGTERM", 20 * time.Millisecond, 0, func(l *leaders) { l.Leave(l.managers[0].Manager) }},
		{"hands over to a higher-ranking one", 20 * time.Millisecond, 0, func(l *leaders) {
			cfg := leaderConfig(1)
			cfg.Elect.Priority = 13
			l.Configure(l.managers[1].Manager, cfg)
		}},
		{"paused for 3 seconds", 3100 * time.Millisecond, 0, pause(3 * time.Second)},
		{"paused for 20 seconds", 7 * time.Second, 0, pause(20 * time.Second)},
		{"loses its link", 300 * time.Millisecond, 1010 * time.Millisecond, func(l *leaders) {
			l.Fabric.LinkDown(l.managers[0].Station.At())
			l.pass(20 * time.Second)
			l.Fabric.LinkUp(l.managers[0].Station.At())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var longest, both time.Duration
			for seed := range uint64(runs) {
				l := newLeaders(t, seed)
				l.pass(l.between(0, 10*time.Second))
				c.goes(l)
				l.pass(settling)
				l.mustHold(seed, c.none, c.both)
				longest, both = max(longest, l.longest), max(both, l.both)
			}
			t.Logf("no manager leads for %v at most, two for %v", longest, both)
		})
	}
}
