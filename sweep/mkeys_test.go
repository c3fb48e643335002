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
			if _, ok := b.MKeys().Knock(time.Second, port); ok {
				t.Error("it is sent while a plan is written")
			}
		}
	}
	b.write(c)
	if set, ok := b.MKeys().Knock(time.Second, port); asked == 0 || !ok ||
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
