package sweep

import (
	"context"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/engines"
	"ibsm/sweep/mkeys"
	"ibsm/topo"
	"ibsm/topo/net"
)

// renew asks the ports that are due at each deadline up to a time, and returns how many those were, and the most at
// once.
func (b *harness) renew(l *mkeys.Leases, until time.Duration) (asked, most int, lost string) {
	b.Helper()
	for range 1000 {
		l.Follow(b.fabric.Now())
		at, ok := l.Due(true)
		if at = max(at, b.fabric.Now()); !ok || at > until {
			b.fabric.Advance(until)
			return asked, most, lost
		}
		b.fabric.Advance(at)
		n := 0
		for req, ok := l.Next(at, true); ok; req, ok = l.Next(at, true) {
			n++
			o := b.ask(&req)
			if b.meddle != nil {
				b.meddle(&req, &o)
			}
			if reason := l.Done(&o); reason != "" {
				lost = reason
			}
		}
		asked, most = asked+n, max(most, n)
	}
	b.Fatalf("no port is asked that is due at %v", b.fabric.Now())
	return asked, most, lost
}

// TestLeasesRenewed: the PortInfo of each port is read, with its M_Key, once in a third of the lease, one after the
// other, and only where a lease can run out; a port that was opened meanwhile is reported once, for a full sweep.
func TestLeasesRenewed(t *testing.T) {
	const agents = 36
	for _, c := range []struct {
		name    string
		protect uint8
		lease   uint16
		renews  bool
	}{{"level 1", 1, 60, true}, {"level 2", 2, 60, true}, {"no protection", 0, 60, false}, {"no lease", 2, 0, false}} {
		var cfg Config
		cfg.Settings.MKey, cfg.Settings.MKeyProtect, cfg.Settings.MKeyLease = Given(mad.MKey(0x77)), Given(c.protect),
			Given(c.lease)
		b := newHarness(t, "fattree:k=4", cfg)
		l := b.Leases()
		b.heavy()
		want, first := 0, b.fabric.Now()
		if c.renews {
			want = agents
		}
		for third := range 6 {
			asked, most, lost := b.renew(l, first+time.Duration(third+1)*20*time.Second)
			if asked != want || most > 2 || lost != "" {
				t.Errorf("%s, third %d: %d reads, at most %d at once; want %d, 2; %q", c.name, third, asked, most, want,
					lost)
			}
			b.look()
			if third == 3 {
				b.heavy() // postpones nothing
			}
		}
		if !c.renews {
			continue
		}
		victim := mad.GUID(0)
		b.meddle = func(req *txn.Request, o *txn.Outcome) {
			if req.MKey != 0x77 {
				t.Errorf("%s: M_Key %v", c.name, req.MKey)
			}
			if port := b.agent(req); victim == 0 || port == victim {
				victim = port
				(*smp.PortInfo)(&o.Data).SetMKeyProtectBits(0)
			}
		}
		if _, _, lost := b.renew(l, b.fabric.Now()+20*time.Second); lost == "" {
			t.Errorf("%s: a port was opened: %q", c.name, lost)
		}
		if _, _, lost := b.renew(l, b.fabric.Now()+20*time.Second); lost != "" {
			t.Errorf("%s: reported again: %q", c.name, lost)
		}
		b.meddle = nil
		l.Forget()
		b.Abdicate()
		if asked, _, _ := b.renew(l, b.fabric.Now()+time.Minute); asked > 0 {
			t.Errorf("%s: %d reads by a manager that is not master", c.name, asked)
		}
	}
}

// leased gives all ports an M_Key with a lease of a minute.
func leased() (cfg Config) {
	cfg.Settings.MKey, cfg.Settings.MKeyProtect, cfg.Settings.MKeyLease = Given(mad.MKey(0x77)), Given(uint8(2)),
		Given(uint16(60))
	return cfg
}

// TestLeasesExpired: ports that were not asked for long, as by a manager that was paused, are asked at once, and apart
// from one another after that. Requests that have no outcome are made again.
func TestLeasesExpired(t *testing.T) {
	cfg := leased()
	b := newHarness(t, "fattree:k=4", cfg)
	l := b.Leases()
	b.heavy()
	b.renew(l, b.fabric.Now()+time.Minute)
	b.fabric.Advance(b.fabric.Now() + 10*time.Minute)
	for range 2 {
		n := 0
		for _, ok := l.Next(b.fabric.Now(), true); ok; _, ok = l.Next(b.fabric.Now(), true) {
			n++
		}
		if n != 36 || l.Asked() != 36 {
			t.Errorf("%d requests for 36 ports whose deadlines have passed, %d have no outcome", n, l.Asked())
		}
		l.Cancelled()
	}
	b.renew(l, b.fabric.Now())
	if asked, most, _ := b.renew(l, b.fabric.Now()+20*time.Second); asked != 36 || most > 2 {
		t.Errorf("%d reads in the time of one each, at most %d at once", asked, most)
	}
}

// TestLeasesOfWalk: the ports that the first walk of a term has read are renewed before there is a plan: the deadlines
// are those of the walk.
func TestLeasesOfWalk(t *testing.T) {
	cfg := leased()
	b := newHarness(t, "fattree:k=4", cfg)
	b.heavy()
	b.Abdicate()
	l := b.Leases()
	since := b.fabric.Now()
	found := b.walk()
	b.fabric.Advance(since + 5*time.Second)
	l.Found(since, found.Builder)
	if asked, _, lost := b.renew(l, since+20*time.Second); asked != 36 || lost != "" {
		t.Errorf("%d reads, %q", asked, lost)
	}
	b.write(found.Task(1).Run(context.Background()))
	if asked, most, lost := b.renew(l, since+40*time.Second); asked != 36 || most > 2 || lost != "" {
		t.Errorf("after the program %d reads, at most %d at once, %q", asked, most, lost)
	}
}

// TestLeasesWhileMKeysChange: a port that a program is about to give another M_Key is not shown the old one after that,
// but is read in time where it has to wait for the program.
func TestLeasesWhileMKeysChange(t *testing.T) {
	cfg := leased()
	b := newHarness(t, "fattree:k=4", cfg)
	l := b.Leases()
	b.heavy()
	b.renew(l, b.fabric.Now()+time.Minute)
	cfg.Settings.MKey, cfg.Engines = Given(mad.MKey(0x78)), engines.Chain{engines.MinHop}
	b.Configure(cfg)
	p := b.Program(b.walk().Task(1).Run(context.Background()))
	start := b.fabric.Now()
	if asked, _, _ := b.renew(l, start+20*time.Second-time.Millisecond); asked != 0 {
		t.Errorf("%d reads of ports whose M_Keys are about to change", asked)
	}
	if asked, _, _ := b.renew(l, start+40*time.Second); asked != 36 {
		t.Errorf("%d reads of ports that have waited for two thirds of their leases", asked)
	}
	var req txn.Request
	for {
		var ok bool
		if req, ok = p.Next(); !ok {
			p.Outcome()
			continue
		}
		if req.Attr == smp.AttrPortInfo {
			break
		}
		o := b.ask(&req)
		p.Done(&o)
	}
	agent := b.agent(&req)
	b.meddle = func(req *txn.Request, _ *txn.Outcome) {
		if b.agent(req) == agent {
			t.Error("a port is asked while its M_Key is on its way")
		}
	}
	b.renew(l, start+70*time.Second)
	b.meddle = nil
	o := b.ask(&req)
	p.Done(&o)
	b.until(p, func() bool { out, _ := p.Outcome(); return out != nil })
	before := b.fabric.Stats().Drops
	if asked, _, lost := b.renew(l, b.fabric.Now()+40*time.Second); asked < 36 || lost != "" {
		t.Errorf("%d reads after the program, %q", asked, lost)
	}
	if after := b.fabric.Stats().Drops; after != before {
		t.Errorf("SMPs refused: %v, before %v", after, before)
	}
}

// agent is the agent that a request goes to, by its port GUID, in the subnet as the last sweep left it.
func (b *harness) agent(req *txn.Request) mad.GUID {
	t := b.state.prev
	return t.Agent(t.Along(req.Route.Ports()))
}

// maxUnheard is how many quiet ports are asked at a time.
const maxUnheard = 16

// askInVain asks all ports that may be asked at a time, of which none answers, and returns how many.
func askInVain(t *testing.T, l *mkeys.Leases, now time.Duration) int {
	t.Helper()
	l.Follow(now)
	tags := []uint64{}
	for req, ok := l.Next(now, true); ok; req, ok = l.Next(now, true) {
		tags = append(tags, req.Tag)
	}
	if _, due := l.Due(true); due {
		t.Error("Next has no request, and is due")
	}
	for _, tag := range tags {
		l.Done(&txn.Outcome{Tag: tag, Result: txn.TimedOut})
	}
	return len(tags)
}

// TestLeasesQuietInProgram: ports that twice have not answered are asked 16 at a time, while a program runs as well,
// until a walk has heard them; a port that has missed one read is asked as others are.
func TestLeasesQuietInProgram(t *testing.T) {
	cfg := leased()
	b := newHarness(t, "fattree:k=4", cfg)
	l := b.Leases()
	b.heavy()
	b.renew(l, b.fabric.Now()+time.Minute)
	cfg.Settings.HOQLife, cfg.Engines = Given(uint8(5)), engines.Chain{engines.MinHop}
	b.Configure(cfg)
	b.Program(b.walk().Task(1).Run(context.Background()))
	now := b.fabric.Now()
	for _, want := range []int{36, 36, maxUnheard} {
		now += 20 * time.Second
		if asked := askInVain(t, l, now); asked != want {
			t.Errorf("%d of 36 ports are asked at a time, want %d", asked, want)
		}
	}
	now += 20 * time.Second
	if _, ok := l.Next(now, false); ok {
		t.Error("a quiet port is asked where there is no room")
	}
	if _, due := l.Due(false); due {
		t.Error("and is due")
	}
}

// TestLeasesQuietAfterQuickWalk: a quick walk asks few ports, so those that are quiet stay so; a full one hears them
// again.
func TestLeasesQuietAfterQuickWalk(t *testing.T) {
	b := newHarness(t, "fattree:k=4", leased())
	l := b.Leases()
	b.heavy()
	b.renew(l, b.fabric.Now()+time.Minute)
	now := b.fabric.Now()
	ask := func() int {
		now += 20 * time.Second
		return askInVain(t, l, now)
	}
	if first, second, quiet := ask(), ask(), ask(); first != 36 || second != 36 || quiet != maxUnheard {
		t.Fatalf("%d, %d and then %d of 36 ports are asked at a time", first, second, quiet)
	}
	last := net.End{Node: b.node(mad.CA, 15), Port: 1}
	b.fabric.LinkDown(last)
	b.fabric.Advance(b.fabric.Now() + time.Second)
	b.extent = Quick
	if out := b.heavy(); !out.Found.Quick || out.Topo.FindPort(b.fabric.PortGUID(last)) != topo.None {
		t.Fatal("it was no quick walk that has found the lost link")
	}
	if quiet := ask(); quiet != maxUnheard {
		t.Errorf("%d ports are asked at a time after a quick walk, want %d", quiet, maxUnheard)
	}
	b.Rename(map[mad.GUID]smp.NodeDescription{b.state.prev.Nodes[0].GUID: {'n', 'e', 'w'}})
	if quiet := ask(); quiet != maxUnheard {
		t.Errorf("%d ports are asked at a time after a node has got a name, want %d", quiet, maxUnheard)
	}
	b.extent = Full
	b.heavy()
	if heard := ask(); heard != 35 {
		t.Errorf("%d ports are asked at a time after a full walk, want 35", heard)
	}
}
