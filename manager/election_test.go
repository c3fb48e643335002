package manager

import (
	"errors"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
	"ibsm/sweep/proof"
)

// otherSM is what a manager says of itself.
func otherSM(guid mad.GUID, priority uint8, state smp.SMState) (i smp.SMInfo) {
	i.SetGUID(guid)
	i.SetPriority(priority)
	i.SetSMState(state)
	return i
}

// newElectionAt is one of priority 3 at port 5, in a state: STANDBY of a MASTER 9 with LID 90,
// two links away.
func newElectionAt(state smp.SMState) (*election, *effects) {
	e, fx := newElection(&Config{Elect: elect.Config{GUID: 5, Priority: 3}}), newEffects(time.Second)
	others := []discover.SM{{Port: 9, LID: 90, Route: mad.MakeRoute(1, 2), Info: otherSM(9, 4, smp.Master)}}
	switch state {
	case smp.Standby:
		e.met(others)
		e.Decide(fx.now, infos(others))
		e.locate(&discover.Result{SMs: others})
	case smp.Master:
		e.Decide(fx.now, nil)
	}
	e.enter(fx)
	fx.actions = nil
	return &e, fx
}

// TestAuthority: only a MASTER that has asked all others writes.
func TestAuthority(t *testing.T) {
	for _, c := range []struct {
		state     smp.SMState
		authority authority
		may       bool
	}{
		{smp.Discovering, confirmed, false}, {smp.Standby, confirmed, false}, {smp.Master, unconfirmed, false},
		{smp.Master, confirmed, true},
	} {
		e, _ := newElectionAt(c.state)
		if e.authority = c.authority; e.mayWrite() != c.may || e.State() != c.state {
			t.Errorf("%v, %v: may write %t", e.State(), e.authority, e.mayWrite())
		}
	}
	e, fx := newElectionAt(smp.Master)
	e.authority = confirmed
	if e.portDown(); e.mayWrite() || e.authority != unconfirmed {
		t.Error("writes without a port")
	}
	e.enter(fx)
	e.enter(fx)
	equal(t, "states", fx.did(), []string{"enters DISCOVERING"})
}

// TestElectionRequests: what each decision sends, and where.
func TestElectionRequests(t *testing.T) {
	type sent struct {
		method mad.Method
		attr   mad.AttrID
		mod    uint32
		hops   uint8
		lid    mad.LID
	}
	own := smp.PortInfo{}
	own.SetLID(7)
	fresh := smp.PortInfo{}
	fresh.SetLID(mad.PermissiveLID)
	for _, c := range []struct {
		name string
		do   func(e *election, fx *effects)
		want []sent
	}{
		{"poll", func(e *election, fx *effects) {
			e.poll(fx, 0, tagPoll)
		}, []sent{{mad.MethodGet, smp.AttrSMInfo, 0, 2, mad.PermissiveLID}}},
		{"look", func(e *election, fx *effects) { e.look(fx, 0); e.lookAcross(fx, 0, tagPeer) },
			[]sent{{mad.MethodGet, smp.AttrPortInfo, 0, 2, mad.PermissiveLID},
				{mad.MethodGet, smp.AttrPortInfo, 2, 1, mad.PermissiveLID}}},
		{"look at our own port", func(e *election, fx *effects) {
			e.route = mad.Route{}
			e.look(fx, 0)
			e.lookAcross(fx, 0, tagPeer)
		}, []sent{{mad.MethodGet, smp.AttrPortInfo, 0, 0, mad.PermissiveLID}}},
		{"own port", func(e *election, fx *effects) {
			e.askOwnPort(fx, 0)
		}, []sent{{mad.MethodGet, smp.AttrPortInfo, 0, 0, mad.PermissiveLID}}},
		{"trap", func(e *election, fx *effects) {
			e.sendTrap(fx, &own)
		}, []sent{{mad.MethodTrap, smp.AttrNotice, 0, 0, 90}}},
		{"trap without LID", func(e *election, fx *effects) { e.sendTrap(fx, &smp.PortInfo{}) }, nil},
		{"trap of an adapter at power-up", func(e *election, fx *effects) { e.sendTrap(fx, &fresh) }, nil},
		{"handover", func(e *election, fx *effects) { e.order(fx, 0, smp.ControlHandover, 9, smp.Master, 1) },
			[]sent{{mad.MethodSet, smp.AttrSMInfo, smp.ControlHandover, 2, mad.PermissiveLID}}},
	} {
		e, fx := newElectionAt(smp.Standby)
		c.do(e, fx)
		out := fx.sent()
		if len(out) != len(c.want) {
			t.Errorf("%s: %d packets, want %d", c.name, len(out), len(c.want))
			continue
		}
		for i := range out {
			p := &out[i].Packet
			got := sent{p.Method(), p.AttrID(), p.AttrMod(), 0, out[i].LID}
			if p.MgmtClass() == mad.ClassDirected {
				got.hops = uint8(p.HopCount())
			}
			if got != c.want[i] {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want[i])
			}
		}
	}
}

// TestElectionOutcomes: what follows from the answers to a STANDBY's requests.
func TestElectionOutcomes(t *testing.T) {
	port := func(lid mad.LID, state smp.PortState, isSM bool) (data [mad.DataSize]byte) {
		p := (*smp.PortInfo)(&data)
		p.SetLID(lid)
		p.SetPortState(state)
		if isSM {
			p.SetCapabilityMask(smp.IsSM)
		}
		return data
	}
	for _, c := range []struct {
		name  string
		tag   uint64
		r     txn.Result
		data  [mad.DataSize]byte
		do    elect.Do
		state smp.SMState
		lid   mad.LID
		lines int
	}{
		{"a manager is there", tagPort, txn.Replied, port(91, smp.PortActive, true), elect.Nothing, smp.Standby, 91, 0},
		{"its port has no LID yet", tagPort, txn.Replied, port(0, smp.PortActive, true), elect.Nothing, smp.Standby, 90,
			0},
		{"its port has the LID of power-up", tagPort, txn.Replied, port(mad.PermissiveLID, smp.PortActive, true),
			elect.Nothing, smp.Standby, 90, 0},
		{"it has ended", tagPort, txn.Replied, port(90, smp.PortActive, false), elect.Discover, smp.Discovering, 90, 1},
		{"no answer", tagPort, txn.TimedOut, port(91, smp.PortActive, false), elect.Nothing, smp.Standby, 90, 0},
		{"the cable is there", tagPeer, txn.Replied, port(0, smp.PortActive, false), elect.Nothing, smp.Standby, 90, 0},
		{"the cable is pulled", tagPeer, txn.Replied, port(0, smp.PortDown, false), elect.Discover, smp.Discovering, 90,
			1},
		{"the switch does not answer", tagPeer, txn.TimedOut, port(0, smp.PortDown, false), elect.Nothing, smp.Standby,
			90, 0},
	} {
		e, fx := newElectionAt(smp.Standby)
		var own ownPort
		do := e.done(fx, &txn.Outcome{Owner: ownerElection, Tag: c.tag, Result: c.r, Data: c.data}, &own)
		if lines := len(fx.logged()); do != c.do || e.State() != c.state || e.lid != c.lid || lines != c.lines {
			t.Errorf("%s: do %d, %v, LID %v, %d lines", c.name, do, e.State(), e.lid, lines)
		}
	}
	e, fx := newElectionAt(smp.Standby)
	own := ownPort{mkey: 0x1234}
	e.done(fx, &txn.Outcome{Owner: ownerElection, Tag: tagOwn, Result: txn.Replied,
		Data: port(7, smp.PortActive, true)}, &own)
	if out := fx.sent(); own.lid != 7 || len(out) != 1 || out[0].Packet.Method() != mad.MethodTrap ||
		out[0].Packet.MKey() != 0 {
		t.Errorf("our own port has LID %v; %d packets", own.lid, len(out))
	}
}

// TestElectionTick: a STANDBY polls at once, then looks; when nobody answers it goes on without
// the master.
func TestElectionTick(t *testing.T) {
	e, fx := newElectionAt(smp.Standby)
	polls, looks := 0, 0
	for e.State() == smp.Standby {
		due, _ := e.Due()
		fx.now = max(fx.now, due)
		do, ok := e.tick(fx)
		switch {
		case !ok:
			t.Fatalf("nothing at %v, which is due", fx.now)
		case do == elect.Poll:
			polls++
		case do == elect.Look:
			looks++
		case do != elect.Discover:
			t.Fatalf("do %d", do)
		}
	}
	if polls != 5 || looks == 0 || len(fx.logged()) != 1 {
		t.Errorf("%d polls, %d looks", polls, looks)
	}
	if _, ok := e.tick(fx); ok {
		t.Error("something is due though nobody is polled")
	}
}

// TestOthers: what a manager says of itself replaces what it said before, in a copy.
func TestOthers(t *testing.T) {
	e, _ := newElectionAt(smp.Standby)
	shown := e.shown
	info := otherSM(9, 4, smp.NotActive)
	if e.heard(&info, false); e.shown[0].State != uint8(smp.NotActive) || e.others[0].Info != info ||
		shown[0].State != uint8(smp.Master) {
		t.Errorf("shown %+v, others %+v, before %+v", e.shown, e.others, shown)
	}
	if e.locate(nil) || e.locate(&discover.Result{SMs: []discover.SM{{Port: 8}}}) || e.lid != 90 {
		t.Error("located where nobody is")
	}
	e.others[0].LID = 93
	if e.locateMet(); e.lid != 93 {
		t.Errorf("located at LID %v", e.lid)
	}
}

// TestAnswer: the SM_Key is shown only to a manager that knows the M_Key, where there is one (IBA 14.2.4), and where it
// is a secret only to one that has shown it. A Question gets a proof, whatever M_Key it shows, if it is for where the
// port is.
func TestAnswer(t *testing.T) {
	const secret, public = 11, elect.DefaultSMKey
	at, elsewhere := proof.Place{Node: 0x51, Port: 7}, proof.Place{Node: 0x51, Port: 8}
	get, set := mad.MethodGet, mad.MethodSet
	for _, c := range []struct {
		name    string
		own     uint64 // SM_Key
		method  mad.Method
		protect uint8
		key     mad.MKey
		data    uint64 // SM_Key in the request
		shown   bool
		asks    *proof.Question
		want    uint64
		proves  bool
	}{
		{"public", public, get, 0, 7, 0, false, nil, public, false},
		{"public, another M_Key", public, get, 1, 0, 0, false, nil, 0, false},
		{"secret", secret, get, 0, 7, 0, false, nil, 0, false},
		{"secret, shown", secret, get, 0, 7, 0, true, nil, secret, false},
		{"secret, shown, another M_Key", secret, get, 1, 0, 0, true, nil, 0, false},
		{"secret, in a Get", secret, get, 0, 7, secret, false, nil, 0, false},
		{"secret, in a Set", secret, set, 0, 7, secret, false, nil, secret, false},
		{"secret, another one in a Set", secret, set, 0, 7, 12, false, nil, 0, false},
		{"asked", secret, get, 0, 7, 0, false, &proof.Question{Asker: 9, Place: at}, 0, true},
		{"asked without the M_Key", secret, get, 1, 0, 0, false, &proof.Question{Asker: 9, Place: at}, 0, true},
		{"asked for another place", secret, get, 0, 7, 0, false, &proof.Question{Asker: 9, Place: elsewhere}, 0, false},
		{"asked in our own name", secret, get, 0, 7, 0, false, &proof.Question{Asker: 5, Place: at}, 0, true},
		{"asked in a Set", secret, set, 0, 7, 0, false, &proof.Question{Asker: 9, Place: at}, 0, false},
		{"asked, public", public, get, 0, 7, 0, false, &proof.Question{Asker: 9, Place: at}, public, false},
	} {
		e := newElection(&Config{Elect: elect.Config{GUID: 5, SMKey: c.own}})
		fx := newEffects(0)
		var d mad.Datagram
		d.Packet.SetDirected(&mad.Route{}, c.method, smp.AttrSMInfo, 0)
		d.Packet.SetMKey(c.key)
		data := (*smp.SMInfo)(d.Packet.Data())
		data.SetSMKey(c.data)
		if c.asks != nil {
			c.asks.Nonce = proof.Nonce{1}
			c.asks.Put(data)
		}
		own := &ownPort{guid: 5, mkey: 7, protect: c.protect, places: []proof.Place{at}}
		e.answer(fx, &d, mad.StatusOK, own, c.shown, 33)
		info := (*smp.SMInfo)(fx.send[0].Packet.Data())
		if fx.send[0].Packet.Method() != mad.MethodGetResp || info.SMKey() != c.want || info.ActCount() != 33 ||
			info.GUID() != 5 || proof.HasCode(info) != c.proves {
			t.Errorf("%s: answered %x", c.name, *info)
		}
		if c.proves && (!e.Verify(c.asks, info) || info.SMKey() != c.own) {
			t.Errorf("%s: no proof", c.name)
		}
	}
}

// TestIsAt: a port that does not know where it is proves what it knows wherever it is asked, but not to a Question in
// its own name, which may be its own.
func TestIsAt(t *testing.T) {
	at, elsewhere := proof.Place{Node: 0x51, Port: 7}, proof.Place{Node: 0x51, Port: 8}
	known, unknown := &ownPort{guid: 5, places: []proof.Place{{Node: 0x50}, at}}, &ownPort{guid: 5}
	for _, c := range []struct {
		port *ownPort
		q    proof.Question
		want bool
	}{
		{known, proof.Question{Asker: 9, Place: at}, true}, {known, proof.Question{Asker: 9, Place: elsewhere}, false},
		{known, proof.Question{Asker: 5, Place: at}, true}, {known, proof.Question{Asker: 5, Place: elsewhere}, false},
		{unknown, proof.Question{Asker: 9, Place: elsewhere}, true},
		{unknown, proof.Question{Asker: 5, Place: at}, false},
	} {
		if got := c.port.isAt(&c.q); got != c.want {
			t.Errorf("%+v at %v: %t", c.q, c.port.places, got)
		}
	}
}

// TestRequestsNeedTheMKey: a Get or Set of SMInfo that does not show the M_Key of a port that is
// protected at level 2 or 3 is neither answered nor believed (IBA 14.2.4.3).
func TestRequestsNeedTheMKey(t *testing.T) {
	for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet} {
		for key, answered := range map[mad.MKey]int{0: 0, 9: 0, 7: 1} {
			c := NewCore(Config{Elect: elect.Config{GUID: 5}})
			c.port.setGUID(5)
			c.port.mkey, c.port.protect = 7, 2
			c.fx.begin(time.Second)
			var d mad.Datagram
			d.Packet.SetDirected(&mad.Route{}, method, smp.AttrSMInfo, 0)
			d.Packet.SetMKey(key)
			(*smp.SMInfo)(d.Packet.Data()).SetGUID(6)
			c.request(&d)
			if len(c.fx.send) != answered {
				t.Errorf("%v with M_Key %d: %d answers, want %d", method, key, len(c.fx.send), answered)
			}
		}
	}
}

// TestPlansEndWithTheMastership: a client that has asked for a plan learns that this manager is not master
// any more.
func TestPlansEndWithTheMastership(t *testing.T) {
	c := NewCore(Config{})
	c.fx.begin(time.Second)
	c.sweeps.plan.ask(planRequest{})
	c.abandon()
	for _, a := range c.fx.actions {
		if planned, is := a.(Planned); is && errors.Is(planned.Err, ErrNotMaster) {
			return
		}
	}
	t.Errorf("no answer: %q", c.fx.did())
}

// TestPollsDoNotWait: a poll leaves though a sweep uses the whole window.
func TestPollsDoNotWait(t *testing.T) {
	e, fx := newElection(&Config{Elect: elect.Config{GUID: 5, Priority: 3}}), newEffects(time.Second)
	fx.table = txn.New(txn.Config{MaxWindow: 1})
	for port := range uint8(3) {
		fx.request(directed(ownerSweep, 0, mad.MakeRoute(1+port), mad.MethodGet, smp.AttrNodeInfo, 0, 0))
	}
	if n := len(fx.sent()); n != 1 {
		t.Fatalf("%d sent with a window of 1", n)
	}
	e.poll(fx, 0, tagPoll)
	polls := 0
	out := fx.sent()
	for i := range out {
		if out[i].Packet.AttrID() == smp.AttrSMInfo {
			polls++
		}
	}
	if polls != 1 {
		t.Errorf("%d sent, %d of them polls", len(out), polls)
	}
}

// TestAwaitsStandby: a standby is expected once another manager that applies was found, also after it has gone, and
// where the list of allowed ports names another one. One with another sm_key, or that is NOT-ACTIVE, could not take
// over.
func TestAwaitsStandby(t *testing.T) {
	of := func(key uint64, state smp.SMState) []discover.SM {
		info := otherSM(9, 4, state)
		info.SetSMKey(key)
		return []discover.SM{{Port: 9, LID: 90, Info: info}}
	}
	for name, c := range map[string]struct {
		found   []discover.SM
		allowed []mad.GUID
		now     int
		awaits  bool
	}{
		"alone":                {nil, nil, 0, false},
		"a standby":            {of(7, smp.Standby), nil, 1, true},
		"NOT-ACTIVE":           {of(7, smp.NotActive), nil, 0, false},
		"another sm_key":       {of(8, smp.Standby), nil, 0, false},
		"the list has another": {nil, []mad.GUID{5, 9}, 0, true},
		"the list has this":    {nil, []mad.GUID{5}, 0, false},
	} {
		e := newElection(&Config{Elect: elect.Config{GUID: 5, SMKey: 7}})
		e.met(c.found)
		st := Stats{Rivals: e.shown, Ignored: e.ignored}
		if st.Standbys() != c.now || e.awaitsStandby(5, c.allowed) != c.awaits {
			t.Errorf("%s: %d standbys, expected %v", name, st.Standbys(), e.awaitsStandby(5, c.allowed))
		}
		if e.met(nil); e.awaitsStandby(5, c.allowed) != c.awaits {
			t.Errorf("%s, after it has gone: %v", name, !c.awaits)
		}
	}
}
