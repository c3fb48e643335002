package manager

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// newTraps has counted nothing.
func newTraps() *traps { return &traps{series: map[trapKey]*trapSeries{}} }

// notice is a generic trap of LID 7.
func notice(number smp.TrapNumber, fill func(*smp.Notice)) *mad.Datagram {
	d := &mad.Datagram{Addr: mad.Addr{LID: 7}}
	d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodTrap, smp.AttrNotice, 0)
	n := (*smp.Notice)(d.Packet.Data())
	n.SetIsGeneric(true)
	n.SetTrapNumber(number)
	n.SetIssuerLID(7)
	if fill != nil {
		fill(n)
	}
	return d
}

func linkChange() *mad.Datagram {
	return notice(smp.TrapLinkState, func(n *smp.Notice) { n.LinkState().SetLID(7) })
}

// errorsAt is trap 129 of a port of LID 7.
func errorsAt(port uint8) *mad.Datagram {
	return notice(smp.TrapLinkIntegrity, func(n *smp.Notice) {
		n.PortError().SetLID(7)
		n.PortError().SetPortNum(port)
	})
}

// TestTrapHoldOff: the first trap has a sweep begin at once; in a storm the time to the next
// one grows to a second, and shrinks again when it is over.
func TestTrapHoldOff(t *testing.T) {
	m, now := newTraps(), time.Minute
	trap := func(wait time.Duration) {
		t.Helper()
		m.receive(newEffects(now), linkChange(), nil, false, false)
		if m.state != trapsHeldOff || m.due != now+wait {
			t.Fatalf("%v until %v, want %v", m.state, m.due-now, wait)
		}
		if at, ok := m.deadline(); !ok || at != m.due {
			t.Fatalf("deadline %v %t", at, ok)
		}
		if _, due := m.tick(m.due - 1); due {
			t.Fatal("due too early")
		}
		now = m.due
		if want, due := m.tick(now); !due || want.of != linkSweep || want.why == "" || m.state != trapsQuiet {
			t.Fatalf("%+v %t, then %v", want, due, m.state)
		}
	}
	trap(0)
	for range calmSweeps - 1 {
		trap(minHoldOff)
	}
	for _, wait := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		trap(wait * time.Millisecond)
	}
	now += trapWindow + 1
	trap(0)
	if _, ok := m.deadline(); ok {
		t.Error("something is due though all is quiet")
	}
}

// TestTrapWants: what is wanted when a trap is held off; the widest of several.
func TestTrapWants(t *testing.T) {
	local := func(flags uint16) *mad.Datagram {
		return notice(smp.TrapLocalChange, func(n *smp.Notice) {
			d := n.LocalChange()
			d.SetLID(9)
			d.SetOtherLocalChanges(flags != 0)
			d.SetChangeFlags(smp.ChangeFlags(flags))
		})
	}
	vendor := notice(smp.TrapLinkState, func(n *smp.Notice) { n.SetIsGeneric(false) })
	described := uint16(smp.ChangedNodeDescription)
	for _, c := range []struct {
		name    string
		in      []*mad.Datagram
		ignore  bool
		state   trapState
		want    wishes
		renamed mad.LID
	}{
		{"link", []*mad.Datagram{linkChange()}, false, trapsHeldOff, linkSweep, 0},
		{"link, ignored", []*mad.Datagram{linkChange()}, true, trapsQuiet, 0, 0},
		{"vendor's", []*mad.Datagram{vendor}, false, trapsQuiet, 0, 0},
		{"capabilities", []*mad.Datagram{local(0)}, false, trapsHeldOff, wishFull, 0},
		{"capabilities, ignored", []*mad.Datagram{local(0)}, true, trapsQuiet, 0, 0},
		{"link, then capabilities", []*mad.Datagram{linkChange(), local(0)}, false, trapsHeldOff, linkSweep | wishFull, 0},
		{"capabilities, then link", []*mad.Datagram{local(0), linkChange()}, false, trapsHeldOff, linkSweep | wishFull, 0},
		{"description", []*mad.Datagram{local(described)}, false, trapsQuiet, 0, 9},
		{"description and more", []*mad.Datagram{local(described | uint16(smp.ChangedSMPriority))}, false, trapsHeldOff,
			wishFull, 9},
		{"errors", []*mad.Datagram{errorsAt(1)}, false, trapsQuiet, 0, 0},
	} {
		m, fx := newTraps(), newEffects(time.Minute)
		var renamed mad.LID
		for _, d := range c.in {
			renamed, _ = m.receive(fx, d, nil, c.ignore, false)
		}
		if m.state != c.state || m.want.of != c.want || renamed != c.renamed {
			t.Errorf("%s: %v, sweeps %b, renamed %v", c.name, m.state, m.want.of, renamed)
		}
	}
}

// TestTrapSeries: of a series only the first ten are reported, and then only round numbers are
// logged; another series, or one after a pause, begins again.
func TestTrapSeries(t *testing.T) {
	m, fx := newTraps(), newEffects(time.Minute)
	count := func(n int, port uint8) (reports, lines int) {
		for range n {
			m.receive(fx, errorsAt(port), nil, false, false)
		}
		for _, a := range fx.actions {
			switch a.(type) {
			case ForRegistrar:
				reports++
			case Log:
				lines++
			}
		}
		fx.actions = fx.actions[:0]
		return reports, lines
	}
	for _, c := range []struct {
		n              int
		port           uint8
		after          time.Duration
		reports, lines int
	}{{10, 1, 0, 10, 10}, {190, 1, 0, 0, 4}, {1, 2, 0, 1, 1}, {1, 1, trapWindow, 0, 0}, {1, 1, trapWindow + 1, 1, 1}} {
		fx.now += c.after
		if r, l := count(c.n, c.port); r != c.reports || l != c.lines {
			t.Errorf("%+v: %d reports and %d lines", c, r, l)
		}
	}
	for lid := range mad.LID(2 * 4096) {
		link := notice(smp.TrapLinkState, func(n *smp.Notice) { n.SetIssuerLID(lid) })
		m.receive(newEffects(fx.now), link, nil, true, false)
	}
	if len(m.series) != 4096 || m.overflow == 0 {
		t.Errorf("%d series, %d traps without", len(m.series), m.overflow)
	}
	for _, s := range m.series {
		s.last -= trapWindow + 1
	}
	if m.receive(newEffects(fx.now+forgetInterval-1), linkChange(), nil, true, false); len(m.series) != 4096 {
		t.Errorf("%d series: they are looked through more often than once in %v", len(m.series), forgetInterval)
	}
	m.receive(newEffects(fx.now+forgetInterval), linkChange(), nil, true, false)
	if len(m.series) != 1 {
		t.Errorf("%d series when all have ended", len(m.series))
	}
}

// TestOffenders: traps 257 to 259 count for the sender of the packet with the wrong key, the port at LID1 or, where
// there is none, the one that GID1 names (IBA 14.2.5.1, table 131). A GUID that no port has gets no row.
func TestOffenders(t *testing.T) {
	v := servedView()
	port := v.LIDs.PortOf(3)
	stats := new(Stats)
	for _, n := range []*mad.Datagram{
		notice(smp.TrapBadPKey, func(n *smp.Notice) { n.BadKey().SetLID1(3) }),
		notice(smp.TrapBadQKey, func(n *smp.Notice) { n.BadKey().SetLID1(3) }),
		notice(smp.TrapSwitchBadPKey, func(n *smp.Notice) { n.SwitchBadPKey().SetLID1(3) }),
		notice(smp.TrapSwitchBadPKey, func(n *smp.Notice) { copy(n.SwitchBadPKey()[16:], []byte{15: 0x77}) }),
	} {
		if text := stats.traps.badKey((*smp.Notice)(n.Packet.Data()), v); text == "" {
			t.Errorf("no sender is named for %v", n)
		}
	}
	got := map[Offender]bool{}
	for o := range stats.Offenders() {
		got[o] = true
	}
	guid := v.Topo.Ports[port].GUID
	want := map[Offender]bool{{guid, smp.TrapBadPKey, 1}: true, {guid, smp.TrapBadQKey, 1}: true,
		{guid, smp.TrapSwitchBadPKey, 1}: true, {0, smp.TrapSwitchBadPKey, 1}: true}
	for o := range want {
		if !got[o] {
			t.Errorf("%+v is missing from %+v", o, got)
		}
	}
	if text := stats.traps.badKey((*smp.Notice)(linkChange().Packet.Data()), v); text != "" {
		t.Errorf("a trap of another kind: %s", text)
	}
}

// TestBadMKeySender: trap 256 names the sender by its LID, as the architecture has it, or by the way back from the
// agent, in the form of the architecture and in that of drivers of Linux.
func TestBadMKeySender(t *testing.T) {
	v := servedView()
	found := 0
	for _, from := range v.Topo.EndPorts {
		if v.Topo.Nodes[v.Topo.Ports[from].Node].Type == mad.Switch {
			continue
		}
		for to, back := range waysFrom(v.Topo, from) {
			agent := v.Topo.EndPort(to)
			lid := func(p topo.PortIdx) mad.LID { return v.LIDs.Base[v.Topo.EndPort(p)] }
			report := func(fill func(d *smp.BadMKeyDetails)) topo.PortIdx {
				n := notice(smp.TrapBadMKey, func(n *smp.Notice) { n.SetIssuerLID(lid(agent)); fill(n.BadMKey()) })
				return badMKeySender(v, (*smp.Notice)(n.Packet.Data()))
			}
			path := func(ports ...uint8) func(d *smp.BadMKeyDetails) {
				return func(d *smp.BadMKeyDetails) {
					d.SetLID(lid(agent))
					d.SetDRSLID(mad.PermissiveLID)
					d.SetDRNotice(true)
					d.SetDRHopCount(uint8(len(ports)))
					copy(d.DRReturnPath(), ports)
				}
			}
			if got := report(func(d *smp.BadMKeyDetails) { d.SetLID(lid(from)) }); got != from {
				t.Errorf("by LID: %d, want %d", got, from)
			}
			if got := report(path(back...)); got != from {
				t.Errorf("back by %v from %d: %d, want %d", back, agent, got, from)
			}
			if got := report(path(append([]uint8{7, 9}, back...)...)); got != from {
				t.Errorf("back by %v with an invented beginning: %d, want %d", back, got, from)
			}
			if got := report(path()); got != agent {
				t.Errorf("without hops to %d: %d", agent, got)
			}
			isSwitch := v.Topo.Nodes[v.Topo.Ports[agent].Node].Type == mad.Switch
			if got := report(path(append([]uint8{0}, back[:len(back)-1]...)...)); isSwitch && got != topo.None ||
				!isSwitch && got != from {
				t.Errorf("in the form of qib back by %v: %d, want %d", back, got, from)
			}
			for what, fill := range map[string]func(d *smp.BadMKeyDetails){
				"a LID-routed SMP":  func(d *smp.BadMKeyDetails) { d.SetLID(lid(agent)) },
				"partly by LID":     func(d *smp.BadMKeyDetails) { path(back...)(d); d.SetDRSLID(1) },
				"a path cut off":    func(d *smp.BadMKeyDetails) { path(back...)(d); d.SetDRPathTruncated(true) },
				"a path to nowhere": path(255, 255),
			} {
				if got := report(fill); got != topo.None {
					t.Errorf("%s: %d", what, got)
				}
			}
			found++
		}
	}
	if found < 6 {
		t.Errorf("%d pairs", found)
	}
}

// waysFrom are the ports that SMPs from an adapter come in by, and the ports on which they were received on the way,
// by the shortest ways.
func waysFrom(t *topo.Topo, from topo.PortIdx) map[topo.PortIdx][]uint8 {
	ways := map[topo.PortIdx][]uint8{}
	next := []topo.PortIdx{from}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for num := range t.Nodes[t.Ports[at].Node].NumPorts {
			in := t.Ports[t.Port(t.Ports[at].Node, num+1)].Peer
			if at == from && num+1 != t.Ports[from].Num || in == topo.None || t.Ports[in].Node == t.Ports[from].Node {
				continue
			}
			if end := t.EndPort(in); ways[end] == nil {
				ways[end] = append(slices.Clone(ways[t.EndPort(at)]), t.Ports[in].Num)
				if t.Nodes[t.Ports[in].Node].Type == mad.Switch {
					next = append(next, in)
				}
			}
		}
	}
	return ways
}

// TestUnhealthyPort: a port that does not stop sending errors is avoided until it has been
// quiet for long enough, and its link can be used.
func TestUnhealthyPort(t *testing.T) {
	m, fx := newTraps(), newEffects(time.Minute)
	var e *portErrors
	for i := range noisyCount {
		_, e = m.receive(fx, errorsAt(3), nil, false, false)
		if avoid := m.errors(fx.now, e); avoid != (i == noisyCount-1) || e.babbles() {
			t.Fatalf("error %d: avoided %t", i+1, avoid)
		}
	}
	m.avoided(fx, e, plan.Key{Node: 7, Port: 3}, true)
	fx.now += time.Second
	if m.errors(fx.now, e) {
		t.Error("avoided again")
	}
	m.tick(fx.now)
	until := fx.now + unhealthyFor
	if at, _ := m.deadline(); at != until {
		t.Errorf("healthy at %v, want %v", at, until)
	}
	for _, c := range []struct {
		at     time.Duration
		healed uint8
	}{{until - 1, 0}, {until, 3}, {until + 1, 0}} {
		var healed uint8
		fx.now = c.at
		if m.heal(fx, func(key plan.Key) { healed = key.Port }); healed != c.healed {
			t.Fatalf("at %v port %d is healthy, want %d", c.at, healed, c.healed)
		}
	}
	if m.state != trapsHeldOff || m.want.of.has(wishFull) {
		t.Errorf("%v", m.state)
	}
	if e.count = babbleCount; !e.babbles() {
		t.Error("does not babble")
	}
	m = newTraps()
	if m.disabled(fx, e, plan.Key{Node: 7, Port: 3}); m.state != trapsHeldOff {
		t.Errorf("no sweep disables the port: %v", m.state)
	}
}
