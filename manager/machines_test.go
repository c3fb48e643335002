package manager

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sa"
	"ibsm/store"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/multicast"
)

// newEffects are those of a Step at a time, with an empty table.
func newEffects(now time.Duration) *effects {
	return &effects{now: now, table: txn.New(txn.Config{})}
}

// did are the actions in short, without the log.
func (fx *effects) did() (all []string) {
	for _, action := range fx.actions {
		did := any(action)
		if r, is := action.(ForRegistrar); is {
			did = r.Event
		}
		switch a := did.(type) {
		case Log:
		case sa.GUIDsWritten:
			all = append(all, fmt.Sprintf("written %v", guidOutcomes[a.Outcome]))
		case Persist:
			all = append(all, fmt.Sprintf("term %d %v", a.Term.Number, a.Term.Master))
		case Task:
			all = append(all, "compute "+a.Purpose.String())
		case Cancel:
			all = append(all, "cancel "+a.For.String())
		case Planned:
			did := fmt.Sprint("planned ", a.Number)
			if a.Err != nil {
				did = "not " + did
			} else if a.Outdated {
				did += ", outdated"
			}
			all = append(all, did)
		case Entered:
			all = append(all, "enters "+a.State.String())
		case sa.PrepareHandover:
			all = append(all, fmt.Sprintf("prepares %d", a.To))
		default:
			_, name, _ := strings.Cut(fmt.Sprintf("%T", a), ".")
			all = append(all, name)
		}
	}
	fx.actions = fx.actions[:0]
	return all
}

// logged are the messages of the log.
func (fx *effects) logged() (all []string) {
	for _, a := range fx.actions {
		if line, is := a.(Log); is {
			all = append(all, line.Msg)
		}
	}
	fx.actions = fx.actions[:0]
	return all
}

// sent are the requests that leave now.
func (fx *effects) sent() []mad.Datagram {
	fx.send = fx.send[:0]
	fx.flush()
	return fx.send
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestTerm: a term is raised where this manager becomes master and where it ceases to be it,
// and nowhere else.
func TestTerm(t *testing.T) {
	type step struct {
		do    string
		state termState
		did   []string
	}
	for _, c := range []struct {
		name  string
		last  store.Term
		steps []step
	}{
		{"first master", store.Term{}, []step{
			{"begin", inTerm, []string{"term 1 true"}}, {"begin", inTerm, nil},
			{"end", inTerm, []string{"term 2 false"}}, {"end", inTerm, nil}, {"enters DISCOVERING", noTerm, nil},
			{"begin", inTerm, []string{"term 3 true"}}}},
		{"stood by", store.Term{Number: 7}, []step{
			{"stand by", stoodBy, nil}, {"end", stoodBy, nil}, {"enters DISCOVERING", stoodBy, nil},
			{"begin", inTerm, []string{"term 8 true"}}}},
		{"was master when it ended", store.Term{Number: 4, Master: true}, []step{
			{"stand by", stoodBy, nil}, {"end", stoodBy, []string{"term 5 false"}}}},
	} {
		m, fx := term{last: c.last}, newEffects(0)
		for _, s := range c.steps {
			switch s.do {
			case "begin":
				m.begin(fx)
			case "end":
				m.end(fx)
			case "stand by":
				m.standBy()
			default:
				m.enter(smp.Discovering)
			}
			if m.state != s.state {
				t.Errorf("%s: %s leads to %v, want %v", c.name, s.do, m.state, s.state)
			}
			equal(t, c.name+": "+s.do, fx.did(), s.did)
		}
		if want := c.name == "stood by"; m.fromStandby != want {
			t.Errorf("%s: from STANDBY is %t", c.name, m.fromStandby)
		}
	}
}

// TestPlanning: plans are made one after the other, in the order in which they were asked for, and
// each is answered under its number. A result that came of what was given up answers nothing, and no other plan begins
// before it is there.
func TestPlanning(t *testing.T) {
	const compute, cancel = "compute plan", "cancel plan"
	for _, c := range []struct {
		// 1 to 3 ask, b begin, c compute, p put off, d done, w done, outdated, x to z the asker of 1 to 3 leaves, r
		// refused, o the configuration is another
		steps string
		state planState
		asked []uint64
		did   []string
	}{
		{"1", noPlan, []uint64{1}, nil}, {"123", noPlan, []uint64{1, 2, 3}, nil}, {"1b", planWalking, nil, nil},
		{"12b", planWalking, []uint64{2}, nil},
		{"1bc", planComputing, nil, []string{compute}},
		{"1bcd", noPlan, nil, []string{compute, "planned 1"}},
		{"1bcw", noPlan, nil, []string{compute, "planned 1, outdated"}},
		{"12bcdbcd", noPlan, nil, []string{compute, "planned 1", compute, "planned 2"}},
		{"1bc23d", noPlan, []uint64{2, 3}, []string{compute, "planned 1"}},
		{"p", noPlan, nil, nil}, {"1p", noPlan, []uint64{1}, nil}, {"1bp", noPlan, []uint64{1}, nil},
		{"12bp", noPlan, []uint64{1, 2}, nil},
		{"1bcp", planCancelled, []uint64{1}, []string{compute, cancel}},
		{"1bc2pp", planCancelled, []uint64{1, 2}, []string{compute, cancel}},
		{"1bcpd", noPlan, []uint64{1}, []string{compute, cancel}},
		{"1bcpdbcd", noPlan, nil, []string{compute, cancel, compute, "planned 1"}},
		{"x", noPlan, nil, nil}, {"123y", noPlan, []uint64{1, 3}, nil}, {"12bx", noPlan, []uint64{2}, nil},
		{"12by", planWalking, nil, nil}, {"1bz", planWalking, nil, nil},
		{"12bcx", planCancelled, []uint64{2}, []string{compute, cancel}},
		{"12bcxdbcd", noPlan, nil, []string{compute, cancel, compute, "planned 2"}},
		{"1bcpx", planCancelled, nil, []string{compute, cancel}},
		{"r", noPlan, nil, nil}, {"12r", noPlan, nil, []string{"not planned 1", "not planned 2"}},
		{"1br", noPlan, nil, []string{"not planned 1"}},
		{"12br", noPlan, nil, []string{"not planned 1", "not planned 2"}},
		{"12bcr", planCancelled, nil, []string{compute, cancel, "not planned 1", "not planned 2"}},
		{"1bcrr", planCancelled, nil, []string{compute, cancel, "not planned 1"}},
		{"1bcr2d", noPlan, []uint64{2}, []string{compute, cancel, "not planned 1"}},
		// What 3 brings is of a configuration; the others take the one that is in force when they begin.
		{"12obcdbcd", noPlan, nil, []string{compute, "planned 1", compute, "planned 2"}},
		{"13obcdbcd", noPlan, nil, []string{compute, "planned 1", compute, "planned 3, outdated"}},
		{"3bopbcd", noPlan, nil, []string{compute, "planned 3, outdated"}},
		{"o3bcd", noPlan, nil, []string{compute, "planned 3"}},
	} {
		var p planning
		fx := newEffects(0)
		for _, s := range c.steps {
			switch s {
			case '1', '2', '3':
				r := planRequest{number: uint64(s - '0')}
				if s == '3' {
					r.Policy = &sweep.Policy{}
				}
				p.ask(r)
			case 'b':
				if p.wanted() {
					p.begin()
				}
			case 'c':
				p.compute(fx, nil)
			case 'p':
				p.putOff(fx)
			case 'd', 'w':
				p.done(fx, &sweep.SweepPlan{}, s == 'w')
			case 'x', 'y', 'z':
				p.left(fx, uint64(s-'x')+1)
			case 'r':
				p.refuse(fx, ErrNotMaster)
			case 'o':
				p.reconfigured()
			}
		}
		var asked []uint64
		for _, r := range p.asked {
			asked = append(asked, r.number)
		}
		if p.state != c.state || !slices.Equal(asked, c.asked) || p.wanted() != (c.state == noPlan && c.asked != nil) {
			t.Errorf("%s leads to %v and %v are asked for, want %v and %v", c.steps, p.state, asked, c.state, c.asked)
		}
		equal(t, c.steps, fx.did(), c.did)
	}
}

// TestDescriptions: a node is asked once, and again if its description changes while its answer
// is on its way; what was read is published together.
func TestDescriptions(t *testing.T) {
	v := servedView()
	guid := v.Topo.Nodes[0].GUID
	var m descriptions
	m.reset()
	fx := newEffects(time.Second)
	state := func(want descriptionState, sent int) {
		t.Helper()
		m.ask(fx, v, sweep.New(sweep.Config{}))
		if n := len(fx.sent()); m.nodes[guid] != want || n != sent {
			t.Fatalf("the node is %v and %d requests are sent, want %v, %d", m.nodes[guid], n, want, sent)
		}
	}
	answer := func(tag uint64, r txn.Result) {
		fx.table.Cancel(nil) // which has no part in this
		m.done(fx.now, &txn.Outcome{Owner: ownerDescriptions, Tag: tag, Result: r, Data: smp.NodeDescription{'x'}})
	}
	m.want(guid)
	m.want(guid)
	state(asked, 1)
	m.want(guid)
	state(askedAgain, 0)
	m.want(guid)
	answer(m.last, txn.TimedOut)
	state(asked, 1)
	m.cancelled()
	answer(m.last, txn.Replied) // of the request that was cancelled
	state(asked, 1)
	if m.gathered(time.Hour) != nil {
		t.Error("gathered before an answer")
	}
	answer(m.last, txn.Replied)
	state(notWanted, 0)
	if m.gathered(fx.now+gatherDelay-1) != nil || len(m.gathered(fx.now+gatherDelay)) != 1 {
		t.Errorf("gathered at %v", m.due)
	}
	if m.published(); m.due != 0 || len(m.read) != 0 {
		t.Error("published again")
	}
	unresponsive, fabric := *v, *v.Topo
	fabric.Nodes = slices.Clone(fabric.Nodes)
	unresponsive.Topo, fabric.Nodes[0].Missed = &fabric, 1
	m.want(guid)
	if m.ask(fx, &unresponsive, sweep.New(sweep.Config{})); len(fx.sent()) != 0 || m.nodes[guid] != notWanted {
		t.Errorf("a node that did not answer the last walk is asked: %v", m.nodes[guid])
	}
	m.wantAll(v)
	for range 1 << 12 {
		m.ask(fx, v, sweep.New(sweep.Config{}))
		for _, tag := range slices.Sorted(maps.Keys(m.asked)) {
			answer(tag, txn.Replied)
		}
		fx.table.Cancel(nil)
	}
	if len(m.read) != len(v.Topo.Nodes) {
		t.Errorf("%d of %d nodes were read", len(m.read), len(v.Topo.Nodes))
	}
}

var guidOutcomes = map[sa.GUIDOutcome]string{sa.HoldsUnknown: "unknown", sa.HoldsOthers: "others",
	sa.HoldsForNow: "for now", sa.HoldsBlock: "block"}

// TestGUIDWrites: the last of the blocks that are wanted is answered once, unless the mastership ends.
func TestGUIDWrites(t *testing.T) {
	v := servedView()
	p := v.Topo.EndPorts[len(v.Topo.EndPorts)-1]
	v.Topo.Ports[p].Info.SetGUIDCap(16)
	block := sa.GUIDBlock{Port: v.Topo.Ports[p].GUID, Block: 1}
	unknown := sa.GUIDBlock{Port: 0xdead}
	fx := newEffects(0)
	w := newGUIDWrites()
	write := func(b sa.GUIDBlock, may bool) []string {
		w.write(fx, &b, v, may, &sweep.Settings{})
		return fx.did()
	}
	end := func(o txn.Outcome) []string {
		o.Owner, o.Tag = ownerGUIDs, w.last
		w.done(fx, &o)
		return fx.did()
	}
	is := func(want guidState) {
		t.Helper()
		if g := w.blocks[guidKey{block.Port, block.Block}]; g == nil || g.state != want {
			t.Errorf("the block is %+v, want %v", g, want)
		}
	}
	equal(t, "not master", write(block, false), []string{"written unknown"})
	equal(t, "an unknown port", write(unknown, true), []string{"written unknown"})
	w.write(fx, &block, nil, true, &sweep.Settings{})
	equal(t, "no view", fx.did(), nil)
	if n := len(fx.sent()); n != 0 {
		t.Errorf("%d requests", n)
	}
	equal(t, "a block", write(block, true), nil)
	is(guidSetting)
	if out := fx.sent(); len(out) != 1 || out[0].Packet.Method() != mad.MethodSet ||
		out[0].Packet.AttrID() != smp.AttrGUIDInfo || out[0].Packet.AttrMod() != 1 {
		t.Errorf("sent %v", out)
	}
	equal(t, "its answer", end(txn.Outcome{Result: txn.Replied}), []string{"written block"})
	equal(t, "the same again", end(txn.Outcome{Result: txn.Replied}), nil)
	write(block, true)
	equal(t, "the answer to a second attempt", end(txn.Outcome{Result: txn.Replied, Attempts: 2}),
		[]string{"written for now"})
	write(block, true)
	equal(t, "no answer", end(txn.Outcome{Result: txn.TimedOut}), []string{"written unknown"})
	var others smp.GUIDInfo
	others.SetGUID(3, 7)
	write(block, true)
	equal(t, "other GUIDs", end(txn.Outcome{Result: txn.Replied, Data: others}), []string{"written others"})

	fx.sent()
	for _, c := range []struct {
		name string
		read txn.Outcome
		want string
	}{
		{"executed all the same", txn.Outcome{Result: txn.Replied}, "written for now"},
		{"not executed", txn.Outcome{Result: txn.Replied, Data: others}, "written others"},
		{"not shown", txn.Outcome{Result: txn.TimedOut}, "written unknown"},
		{"refused again", txn.Outcome{Result: txn.Replied, Status: mad.StatusBusy}, "written unknown"},
	} {
		fx = newEffects(0) // with no requests open
		write(block, true)
		fx.sent()
		equal(t, "a refusal", end(txn.Outcome{Result: txn.Replied, Status: mad.StatusBadField}), nil)
		is(guidReading)
		if out := fx.sent(); len(out) != 1 || out[0].Packet.Method() != mad.MethodGet || out[0].Packet.AttrMod() != 1 {
			t.Errorf("after a refusal: sent %v", out)
		}
		equal(t, c.name, end(c.read), []string{c.want})
	}

	fx = newEffects(0)
	later := block
	later.GUIDs = others
	write(block, true)
	fx.sent()
	equal(t, "another order", write(later, true), nil)
	is(guidReplaced)
	if n := len(fx.sent()); n != 0 {
		t.Errorf("%d requests while one is open", n)
	}
	equal(t, "the answer to the first", end(txn.Outcome{Result: txn.Replied, Status: mad.StatusBadField}), nil)
	is(guidSetting)
	if out := fx.sent(); len(out) != 1 || *out[0].Packet.Data() != others {
		t.Errorf("then %v", out)
	}
	equal(t, "the answer to the other", end(txn.Outcome{Result: txn.Replied, Data: others}), []string{"written block"})

	write(block, true)
	end(txn.Outcome{Result: txn.Replied, Status: mad.StatusBadField})
	is(guidReading)
	write(later, true)
	is(guidReplaced)
	equal(t, "an answer that shows what was ordered since", end(txn.Outcome{Result: txn.Replied, Data: others}), nil)
	is(guidSetting)
	end(txn.Outcome{Result: txn.TimedOut})

	write(block, true)
	write(later, true)
	w.refuse(fx)
	if ev := fx.actions[0].(ForRegistrar).Event.(sa.GUIDsWritten); ev.GUIDs != others {
		t.Errorf("another block is refused than was ordered last: %+v", ev)
	}
	equal(t, "refused", fx.did(), []string{"written unknown"})
	w.drop()
	equal(t, "dropped", end(txn.Outcome{Result: txn.Replied}), nil)
}

// TestOwnPort: what has no link is logged once; requests wait for the GUID, and a Get needs the
// M_Key only where protection asks for it (IBA 14.2.4).
func TestOwnPort(t *testing.T) {
	var p ownPort
	fx := newEffects(0)
	if !p.becomeDown(fx) || p.becomeDown(fx) || p.state != ownPortDown || len(fx.logged()) != 1 {
		t.Error("down is not logged once")
	}
	p.becomeUp(fx)
	p.becomeUp(fx)
	if p.state != ownPortUp || len(fx.logged()) != 1 {
		t.Error("up is not logged once")
	}
	walk := func(now time.Duration, own discover.OwnPort, heard discover.Heard, want ownPortState, lines int) {
		t.Helper()
		fx.now = now
		p.walked(fx, &discover.Result{Own: own, Heard: heard})
		if n := len(fx.logged()); p.state != want || n != lines {
			t.Errorf("own port %v, %+v: %v with %d lines, want %v with %d", own, heard, p.state, n, want, lines)
		}
	}
	good, lossy, alone := discover.Heard{Answers: 8, Nodes: 8}, discover.Heard{Answers: 8, Late: 8, Nodes: 8},
		discover.Heard{Unresponsive: 1}
	walk(1, discover.OwnUp, good, ownPortUp, 0)
	walk(2, discover.OwnUp, lossy, ownPortLossy, 1)
	walk(3, discover.OwnUnresponsive, discover.Heard{}, ownPortUnresponsive, 1)
	walk(4, discover.OwnUp, alone, ownPortIsolated, 1)
	walk(5, discover.OwnUp, good, ownPortUp, 1)
	walk(6, discover.OwnUp, alone, ownPortIsolated, 0) // not every time
	walk(7, discover.OwnUp, good, ownPortUp, 0)
	walk(alarmPause+4, discover.OwnUp, alone, ownPortIsolated, 1)
	if p.looked(); p.state != ownPortUp || p.logged != ownPortIsolated {
		t.Errorf("after a light sweep %v", p.state)
	}
	p.becomeDown(fx)
	fx.logged()
	if p.looked(); p.state != ownPortDown {
		t.Errorf("without a link %v", p.state)
	}
	walk(alarmPause+5, discover.OwnUnresponsive, discover.Heard{}, ownPortDown, 0) // it has not said that it has a link
	walk(alarmPause+6, discover.OwnUp, good, ownPortUp, 2)
	walk(2*alarmPause+3, discover.OwnUp, alone, ownPortIsolated, 0)
	walk(2*alarmPause+4, discover.OwnUp, alone, ownPortIsolated, 1)
	for range 2 * maxEarly {
		p.wait(&mad.Datagram{})
	}
	if early := p.identified(fx, 5); len(early) != maxEarly || p.early != nil || p.guid != 5 || p.identity != ownKnown {
		t.Errorf("%d requests have waited", len(early))
	}
	for _, c := range []struct {
		key, shown  mad.MKey
		protect     uint8
		read, write bool
	}{{0, 9, 3, true, true}, {7, 7, 3, true, true}, {7, 9, 1, true, false}, {7, 9, 2, false, false}} {
		var info smp.PortInfo
		info.SetMKey(c.key)
		info.SetMKeyProtectBits(c.protect)
		p.holds(&info)
		if p.mayRead(c.shown) != c.read || p.mayWrite(c.shown) != c.write {
			t.Errorf("%+v: may read %t, write %t", c, p.mayRead(c.shown), p.mayWrite(c.shown))
		}
	}
}

// TestHandover: the end has three states, and a target is reported when it changes.
func TestHandover(t *testing.T) {
	var h handover
	fx := newEffects(time.Minute)
	if _, ends := h.deadline(); ends || h.over(time.Hour) {
		t.Error("ends without having been asked to")
	}
	h.prepare(fx, 3)
	h.prepare(fx, 3)
	h.prepare(fx, 0)
	equal(t, "target", fx.did(), []string{"prepares 3", "prepares 0"})
	h.leave(fx.now)
	if by, _ := h.deadline(); h.state != leaving || h.over(fx.now) || !h.over(by) {
		t.Errorf("%v, ends by %v", h.state, by)
	}
	h.offer(4)
	h.depart(fx)
	if h.state != handedOver || h.to != 4 {
		t.Errorf("%v to %v", h.state, h.to)
	}
	equal(t, "departs", fx.did(), []string{"ClearIsSM"})
}

// TestMulticastLog: trouble is logged when it changes, and when it ends.
func TestMulticastLog(t *testing.T) {
	set, fx := finding.Set{}, newEffects(0)
	for i, c := range []struct {
		done    multicast.Forwarding
		avoided []finding.Finding
		lines   int
	}{
		{multicast.Forwarding{}, nil, 0}, {multicast.Forwarding{Err: ErrIncomplete}, nil, 1},
		{multicast.Forwarding{Err: ErrIncomplete}, nil, 0},
		{multicast.Forwarding{Missed: 2}, nil, 2}, {multicast.Forwarding{Missed: 2}, nil, 0},
		{multicast.Forwarding{Failures: []finding.Finding{{Detail: "x"}}, Missed: 3},
			[]finding.Finding{{Kind: finding.MFTAvoided, Node: 1}, {Kind: finding.MFTAvoided, Node: 2}}, 4},
		{multicast.Forwarding{}, nil, 4},
	} {
		replace(fx, &set, multicastFindings(&c.done, c.avoided), func(mad.GUID) string { return "" })
		if n := len(fx.logged()); n != c.lines {
			t.Errorf("round %d is logged in %d lines, want %d", i, n, c.lines)
		}
	}
}
