package sweep

import (
	"bytes"
	"context"
	"testing"
	"time"

	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// portMKeys are settings with an M_Key for each port, by a number, and the M_Keys.
func portMKeys(t *testing.T, number uint32) (cfg Config, own keys.Ports) {
	t.Helper()
	secret, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	own = secret.Ports(number)
	s := &cfg.Settings
	s.MKey, s.MKeyProtect, s.MKeyLease = Given(mad.MKey(secret.MKey())), Given(uint8(2)), Given(uint16(60))
	s.PortMKeys, s.MKeyPerPort = own, true
	return cfg, own
}

// otherHost is a host that is not the manager's.
func otherHost(t *testing.T, tp *topo.Topo) topo.PortIdx {
	t.Helper()
	for _, p := range tp.EndPorts {
		if tp.IsHost(p) && p != tp.EndPort(tp.Self) {
			return p
		}
	}
	t.Fatal("no other host")
	return topo.None
}

// TestKnockWhileWriting: a Set that lets another manager in has what the last sweep has left, so that it is not sent
// while a plan is written.
func TestKnockWhileWriting(t *testing.T) {
	cfg, _ := portMKeys(t, 1)
	b := newHarness(t, small, cfg)
	tp := b.heavy().Topo
	port := tp.Ports[tp.Nodes[tp.Switches[0]].First].GUID
	cfg, _ = portMKeys(t, 2)
	b.Configure(cfg)
	c := b.walk().Task(1).Run(context.Background())
	asked := 0
	b.meddle = func(*txn.Request, *txn.Outcome) {
		if asked++; asked == 1 {
			if _, ok := b.Knock(time.Second, port); ok {
				t.Error("it is sent while a plan is written")
			}
		}
	}
	b.write(c)
	if set, ok := b.Knock(time.Second, port); asked == 0 || !ok ||
		set.MKey != b.state.prev.MKey(b.state.prev.FindPort(port)) {
		t.Errorf("after %d requests of the plan it is sent: %v, with M_Key %v", asked, ok, set.MKey)
	}
}

// TestLeaseNotHeld: a port that takes its M_Key, but not the lease, is left alone after a few sweeps.
func TestLeaseNotHeld(t *testing.T) {
	cfg, own := portMKeys(t, 1)
	b := newHarness(t, small, cfg)
	at := mad.MKey(0)
	b.meddle = func(req *txn.Request, o *txn.Outcome) {
		if info := (*smp.PortInfo)(&o.Data); req.Attr == smp.AttrPortInfo && at != 0 && info.MKey() == at {
			info.SetMKeyLeasePeriod(7)
		}
	}
	tp := b.heavy().Topo
	at = mad.MKey(own.Of(uint64(tp.Ports[otherHost(t, tp)].GUID)))
	b.heavy()
	if len(b.sets) == 0 {
		t.Error("it is not set again")
	}
	for range 5 {
		b.heavy()
	}
	if len(b.sets) > 0 {
		t.Errorf("%d Sets after six sweeps", len(b.sets))
	}
}

// TestWrittenBetween: where another manager writes a port between the Set of its M_Key and the Get that reads it back,
// the next sweep sets it again: the port has not refused anything.
func TestWrittenBetween(t *testing.T) {
	cfg, _ := portMKeys(t, 1)
	b := newHarness(t, small, cfg)
	tp := b.heavy().Topo
	guid := tp.Ports[otherHost(t, tp)].GUID
	cfg, own := portMKeys(t, 2)
	cfg.Engines = b.cfg.Engines
	b.Configure(cfg)
	key := mad.MKey(own.Of(uint64(guid)))
	other := true
	b.meddle = func(req *txn.Request, o *txn.Outcome) {
		if other && req.Method == mad.MethodSet && (*smp.PortInfo)(&req.Data).MKey() == key {
			info := o.Data
			(*smp.PortInfo)(&info).SetMKeyProtectBits(1)
			(*smp.PortInfo)(&info).SetPortState(smp.PortNoChange)
			(*smp.PortInfo)(&info).SetPortPhysicalState(smp.PhysNoChange)
			if o := b.ask(&txn.Request{Route: req.Route, Method: mad.MethodSet, Attr: req.Attr, Mod: req.Mod, MKey: key,
				Data: info}); o.Result != txn.Replied {
				t.Fatalf("%v", o.Result)
			}
		}
	}
	if out := b.heavy(); len(out.Failures) != 1 {
		t.Errorf("failures: %v", out.Failures)
	}
	other = false
	tp = b.heavy().Topo
	if info := tp.Ports[tp.FindPort(guid)].Info; info.MKey() != key || info.MKeyProtectBits() != 2 {
		t.Errorf("M_Key %v, protection %d", info.MKey(), info.MKeyProtectBits())
	}
}

// TestKeepsMKey: a port at protection level 1 that answers to an M_Key that it does not have, and hides its own, is
// asked with the one that it had.
func TestKeepsMKey(t *testing.T) {
	cfg, own := portMKeys(t, 1)
	cfg.Settings.MKeyProtect = Given(uint8(1))
	b := newHarness(t, small, cfg)
	tp := b.heavy().Topo
	guid := tp.Ports[otherHost(t, tp)].GUID
	next, _ := portMKeys(t, 2)
	next.Settings.MKeyProtect, next.Engines = cfg.Settings.MKeyProtect, b.cfg.Engines
	b.Configure(next)
	was, key := mad.MKey(own.Of(uint64(guid))), mad.MKey(own.With(2, uint64(guid)))
	b.meddle = func(req *txn.Request, o *txn.Outcome) { // as if the Set had been lost
		if req.Method == mad.MethodSet && (*smp.PortInfo)(&req.Data).MKey() == key {
			info := o.Data
			(*smp.PortInfo)(&info).SetMKey(was)
			(*smp.PortInfo)(&info).SetPortState(smp.PortNoChange)
			(*smp.PortInfo)(&info).SetPortPhysicalState(smp.PhysNoChange)
			b.ask(&txn.Request{Route: req.Route, Method: mad.MethodSet, Attr: req.Attr, Mod: req.Mod, MKey: key,
				Data: info})
		}
	}
	out := b.heavy()
	if got := out.Topo.MKey(out.Topo.FindPort(guid)); len(out.Failures) != 1 || got != was {
		t.Errorf("M_Key %v, want %v; failures %v", got, was, out.Failures)
	}
}

// TestUnprovedNotHeard: a port of which a Set of an M_Key was not proved has not said what it holds: the second walk
// reads it.
func TestUnprovedNotHeard(t *testing.T) {
	cfg, _ := portMKeys(t, 1)
	b := newHarness(t, small, cfg)
	var found *Found
	b.asked = map[mad.AttrID]int{}
	w := b.Walk(false, Full)
	b.until(w, func() bool { found = w.Found(); return found != nil })
	c := found.Task(1).Run(context.Background())
	host := otherHost(t, c.Topo)
	keyed := false
	b.meddle = func(req *txn.Request, o *txn.Outcome) {
		route, _ := c.Topo.RouteTo(host)
		if req.Attr != smp.AttrPortInfo || req.Route.String() != route.String() {
			return
		}
		sent := req.Data
		if keyed = keyed || (*smp.PortInfo)(&sent).MKey() != 0; keyed && req.Method == mad.MethodGet {
			o.Result = txn.TimedOut
		}
	}
	b.write(c)
	if !keyed || b.walks.answered == nil || b.walks.answered[host] || !b.walks.answered[c.Topo.Ports[host].Peer] {
		t.Errorf("M_Key sent: %v; whether ports have answered: %v", keyed, b.walks.answered)
	}
}

// TestSecondWalkOtherMKey: a second walk reads a port whose agent has refused the M_Key that the port was read with.
func TestSecondWalkOtherMKey(t *testing.T) {
	cfg, own := portMKeys(t, 1)
	b := newHarness(t, small, cfg)
	var found *Found
	b.asked = map[mad.AttrID]int{}
	first := b.Walk(false, Full)
	b.until(first, func() bool { found = first.Found(); return found != nil })
	tp := b.write(found.Task(1).Run(context.Background())).Topo
	b.heavyAgain(tp)
	host := otherHost(t, tp)
	guid := tp.Ports[host].GUID
	other := mad.MKey(own.With(2, uint64(guid)))
	info := tp.Ports[host].Info
	info.SetMKey(other)
	info.SetPortState(smp.PortNoChange)
	info.SetPortPhysicalState(smp.PhysNoChange)
	route, _ := tp.RouteTo(host)
	if o := b.ask(&txn.Request{Route: route, Method: mad.MethodSet, Attr: smp.AttrPortInfo,
		Mod: uint32(tp.Ports[host].Num), MKey: tp.MKey(host), Data: info}); o.Result != txn.Replied {
		t.Fatalf("%v", o.Result)
	}
	second := b.Walk(true, Second)
	b.until(second, func() bool { found = second.Found(); return found != nil })
	seen := found.Builder.Freeze()
	if got := seen.MKey(seen.FindPort(guid)); got != other {
		t.Errorf("the walk says M_Key %v; it has %v", got, other)
	}
}

// heavyAgain has all ports be taken to have answered, and switches report no change.
func (b *harness) heavyAgain(tp *topo.Topo) {
	b.heavy()
	b.walks.answered = make([]bool, len(tp.Ports))
	for i := range b.walks.answered {
		b.walks.answered[i] = true
	}
}

// TestExpectedPruned: what a manager has said of where it is, is forgotten where a sweep finds somebody there.
func TestExpectedPruned(t *testing.T) {
	cfg, _ := portMKeys(t, 1)
	b := newHarness(t, small, cfg)
	tp := b.heavy().Topo
	sw := &tp.Nodes[tp.Switches[0]]
	for num := uint8(1); num <= sw.NumPorts; num++ {
		if b.walks.expected == nil {
			b.walks.expected = map[plan.Key]mad.GUID{}
		}
		b.walks.expected[plan.Key{Node: sw.GUID, Port: num}] = 0x99
	}
	b.heavy()
	if len(b.walks.expected) > 0 {
		t.Errorf("%d are left", len(b.walks.expected))
	}
}

// TestSecret: where ports have their own M_Keys none that was refused is shown, and the one of a manager that does not
// know the subnet is found; no M_Key is derived for it.
func TestSecret(t *testing.T) {
	cfg, own := portMKeys(t, 1)
	b, open := New(cfg), New(Config{})
	for key, want := range map[mad.MKey]bool{mad.MKey(own.Knock()): true, mad.MKey(own.Of(9)): false, 5: false} {
		secret, knocks := b.Secret(key)
		if !secret || knocks != want {
			t.Errorf("M_Key %v: secret %v, of a manager %v", key, secret, knocks)
		}
		if secret, knocks := open.Secret(key); secret || knocks {
			t.Errorf("without them, M_Key %v: secret %v, of a manager %v", key, secret, knocks)
		}
	}
	key := mad.MKey(own.Of(9))
	if n := testing.AllocsPerRun(100, func() { b.Secret(key) }); n > 0 { // an HMAC takes memory
		t.Errorf("%v allocations for a refused M_Key", n)
	}
}

// TestShownKeys: of the M_Keys that a port shows the last one is stored, and the one before until two sweeps in a row
// have shown another; none is stored of a port that hides it, or twice has none. What a walk has not read is not shown
// once more.
func TestShownKeys(t *testing.T) {
	b := newHarness(t, small, Config{})
	tp := b.heavy().Topo
	p := otherHost(t, tp)
	w := newWalkState(&Restored{})
	const missed = Extent(100)
	for i, step := range []struct {
		by      Extent // of the walk, or missed by it
		shown   mad.MKey
		protect uint8
		want    shownKeys
	}{
		{Full, 0, 0, shownKeys{}}, {Full, 5, 1, shownKeys{5, 0}}, {Quick, 5, 1, shownKeys{5, 0}},
		{missed, 5, 1, shownKeys{5, 0}}, {Full, 6, 1, shownKeys{6, 5}},
		{Second, 6, 1, shownKeys{6, 5}}, {missed, 6, 1, shownKeys{6, 5}}, {Full, 7, 1, shownKeys{7, 5}},
		{Quick, 5, 1, shownKeys{5, 5}}, {Full, 8, 1, shownKeys{8, 5}},
		{Full, 8, 1, shownKeys{8, 8}}, {Full, 0, 2, shownKeys{8, 8}}, {Full, 0, 0, shownKeys{0, 8}},
		{missed, 0, 0, shownKeys{0, 8}}, {Full, 8, 1, shownKeys{8, 8}},
		{Full, 0, 0, shownKeys{0, 8}}, {Full, 0, 0, shownKeys{}},
	} {
		tp.Ports[p].Info.SetMKey(step.shown)
		tp.Ports[p].Info.SetMKeyProtectBits(step.protect)
		tp.Nodes[tp.Ports[p].Node].Missed = 0
		if step.by == missed {
			tp.Nodes[tp.Ports[p].Node].Missed = 1
		}
		of := step.by
		if of == missed {
			of = Full
		}
		if w.rememberKeys(tp, of); w.mkeys[tp.Ports[p].GUID] != step.want {
			t.Errorf("step %d: %v, want %v", i, w.mkeys[tp.Ports[p].GUID], step.want)
		}
	}
}

// TestManyShownKeys: M_Keys of ports that have left are kept until they are too many; those of ports that are there
// stay.
func TestManyShownKeys(t *testing.T) {
	b := newHarness(t, small, Config{})
	tp := b.heavy().Topo
	here := tp.Ports[otherHost(t, tp)].GUID
	w := newWalkState(&Restored{})
	w.mkeys[here] = shownKeys{5, 5}
	for port := mad.GUID(1); len(w.mkeys) < maxShown; port++ {
		w.mkeys[port] = shownKeys{6, 6}
	}
	if w.prune(tp); len(w.mkeys) != maxShown {
		t.Errorf("%d of %d are left", len(w.mkeys), maxShown)
	}
	w.mkeys[0] = shownKeys{6, 6}
	if w.prune(tp); len(w.mkeys) != 1 || w.mkeys[here] != (shownKeys{5, 5}) {
		t.Errorf("%d are left, of the port that is there %v", len(w.mkeys), w.mkeys[here])
	}
}

// TestOtherKeys: requests show keys one by one only where a port may have another than the configured one; one that has
// shown that once, and left, has not.
func TestOtherKeys(t *testing.T) {
	for shown, want := range map[shownKeys]bool{{5, 0}: false, {5, 5}: false, {5, 6}: true, {6, 5}: true, {6, 0}: true,
		{0, 5}: true} {
		s := New(Config{Settings: Settings{MKey: Given(mad.MKey(5))}})
		s.walks.mkeys[7] = shown
		if got := s.otherKeys(); got != want {
			t.Errorf("a port has shown %v: other keys %v", shown, got)
		}
	}
}

// TestBehindNothing: behind a port that a node does not have, and one of an unknown node, there is nobody.
func TestBehindNothing(t *testing.T) {
	tp := newHarness(t, small, Config{}).heavy().Topo
	node := tp.Nodes[tp.Switches[0]]
	for _, port := range []struct {
		node mad.GUID
		num  uint8
	}{{node.GUID, node.NumPorts + 1}, {node.GUID, 255}, {1 << 60, 1}} {
		if agent := behind(tp, port.node, port.num); agent != 0 {
			t.Errorf("behind port %d of %v is %v", port.num, port.node, agent)
		}
	}
}
