package manager

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/elect"
	"ibsm/sweep/proof"
)

// provingCore is a manager at port 5, with a secret SM_Key, in a state: STANDBY of a MASTER 9 that has proved the
// secret, two links away.
func provingCore(state smp.SMState) *Core {
	cfg := Config{Elect: elect.Config{GUID: 5, Priority: 3, SMKey: testSMKey, Inactive: state == smp.NotActive}}
	c := NewCore(cfg)
	c.fx.begin(time.Second)
	c.port.setGUID(5)
	if state == smp.Standby {
		e, _ := newElectionAt(state)
		e.Machine, e.nonces = elect.New(cfg.Elect), c.elect.nonces
		for i := range e.others {
			e.others[i].Info.SetSMKey(testSMKey)
			e.others[i].Proved, e.others[i].Asked.Place = true, proof.Place{Node: 0x51, Port: 2}
		}
		e.Decide(c.fx.now, infos(e.others))
		c.elect = *e
		c.elect.locateMet()
	}
	c.fx.actions = nil
	return c
}

const testSMKey = 0x5ec4e7

// TestShowSMKey: who asks without a nonce is shown the SM_Key when it has shown it, and 0 otherwise; who need not be
// asked is answered at once.
func TestShowSMKey(t *testing.T) {
	from := mad.MakeRoute(3, 4, 5)
	get := func(route mad.Route, tid mad.TID) mad.Datagram {
		d := arrived(route, mad.MethodGet, 0, smp.SMInfo{})
		d.Packet.SetTID(tid)
		return d
	}
	byLID, question, otherMKey := get(from, 1), get(from, 1), get(from, 1)
	byLID.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodGet, smp.AttrSMInfo, 0)
	byLID.Packet.SetTID(1)
	byLID.LID = 7
	(&proof.Question{Asker: 9, Nonce: proof.Nonce{1}}).Put((*smp.SMInfo)(question.Packet.Data()))
	otherMKey.Packet.SetMKey(8)
	says := func(key uint64) (o txn.Outcome) {
		o.Result = txn.Replied
		(*smp.SMInfo)(&o.Data).SetSMKey(key)
		return o
	}
	refused := says(testSMKey)
	refused.Status = mad.StatusBadMethodAttr
	for _, c := range []struct {
		name    string
		state   smp.SMState
		events  []any
		replies string // TID, and the SM_Key
		asks    int
	}{
		{"asked", smp.Standby, []any{get(from, 1)}, "", 1},
		{"shows it", smp.Standby, []any{get(from, 1), says(testSMKey)}, "1 key", 1},
		{"shows another one", smp.Standby, []any{get(from, 1), says(1)}, "1 0", 1},
		{"shows none", smp.Standby, []any{get(from, 1), says(0)}, "1 0", 1},
		{"refuses", smp.Standby, []any{get(from, 1), refused}, "1 0", 1},
		{"does not answer", smp.Standby, []any{get(from, 1), txn.Outcome{Result: txn.TimedOut}}, "1 0", 1},
		{"asks again", smp.Standby, []any{get(from, 1), get(from, 2), says(testSMKey)}, "2 key", 1},
		{"asks later", smp.Standby, []any{get(from, 1), says(testSMKey), get(from, 2)}, "1 key", 2},
		{"cancelled", smp.Standby, []any{get(from, 1), "cancel", says(testSMKey)}, "", 1},
		{"discovering", smp.Discovering, []any{get(from, 1), says(testSMKey)}, "1 key", 1},
		{"NOT-ACTIVE", smp.NotActive, []any{get(from, 1)}, "1 0", 0},
		{"by LID", smp.Standby, []any{byLID}, "1 0", 0},
		{"from our own port", smp.Standby, []any{get(mad.Route{}, 1)}, "1 0", 0},
		{"a Question", smp.Standby, []any{question}, "1 0", 0},
		{"another M_Key", smp.Standby, []any{"protect", otherMKey}, "1 0", 0},
	} {
		core := provingCore(c.state)
		var replies []string
		asks := 0
		for i, ev := range c.events {
			core.fx.begin(time.Second * time.Duration(i+1))
			switch ev := ev.(type) {
			case mad.Datagram:
				core.request(&ev)
			case txn.Outcome:
				core.fx.table.Cancel(nil) // which has no part in this
				ev.Owner = ownerShown
				ev.Tag = maxShows - 1
				core.outcome(&ev)
			case string:
				if ev == "cancel" {
					core.cancel()
				} else {
					core.port.mkey, core.port.protect = 7, 1
					core.port.reread.after = [madeKey + 1]time.Duration{time.Hour, time.Hour}
				}
			}
			for _, d := range core.fx.send {
				key := fmt.Sprint((*smp.SMInfo)(d.Packet.Data()).SMKey())
				replies = append(replies, fmt.Sprint(uint64(d.Packet.TID()), " ",
					strings.ReplaceAll(key, fmt.Sprint(testSMKey), "key")))
			}
			asks += len(core.fx.sentRequests())
		}
		if got := strings.Join(replies, ", "); got != c.replies || asks != c.asks {
			t.Errorf("%s: answered %q, asked %d, want %q, %d", c.name, got, asks, c.replies, c.asks)
		}
	}
}

// TestShowSMKeyLimit: so many senders are asked at a time. Requests of others are dropped.
func TestShowSMKeyLimit(t *testing.T) {
	core := provingCore(smp.Standby)
	asks := 0
	for i := range 3 * maxShows {
		core.fx.begin(time.Second)
		d := arrived(mad.MakeRoute(1, uint8(i+1)), mad.MethodGet, 0, smp.SMInfo{})
		core.request(&d)
		if len(core.fx.send) > 0 {
			t.Fatalf("request %d is answered", i)
		}
		asks += len(core.fx.sentRequests())
	}
	if asks != maxShows {
		t.Errorf("%d are asked, want %d", asks, maxShows)
	}
}

// TestCodedControl: a HANDOVER with a code is obeyed when the code is new, or when the manager that it names proves
// that it is no longer master, at the place where the packet came from. One without a right code is refused.
func TestCodedControl(t *testing.T) {
	away, polled := mad.MakeRoute(3, 4, 5), mad.MakeRoute(1, 2)
	const node2, sm3, sm2 = "NodeInfo/2", "SMInfo/3", "SMInfo/2"
	for _, c := range []struct {
		name    string
		from    mad.Route
		asked   bool // the sender knows the nonce of our last Question
		change  func(*smp.SMInfo)
		answers []func(*Core) txn.Outcome
		becomes smp.SMState
		asks    string
		alarms  uint64
	}{
		{"new", polled, true, nil, nil, smp.Master, sm2, 0}, // ACKNOWLEDGE
		{"new, another way", away, true, nil, nil, smp.Master, sm2, 0},
		{"another priority", polled, true, func(i *smp.SMInfo) { i.SetPriority(9) }, nil, smp.Standby, "", 1},
		{"old", polled, false, nil, nil, smp.Standby, sm2, 0},
		{"old, proved", polled, false, nil, []func(*Core) txn.Outcome{provesBy(9, smp.Standby, true)}, smp.Master, sm2,
			0},
		{"old, NOT-ACTIVE", polled, false, nil, []func(*Core) txn.Outcome{provesBy(9, smp.NotActive, true)}, smp.Master,
			sm2, 0},
		{"old, still master", polled, false, nil, []func(*Core) txn.Outcome{provesBy(9, smp.Master, true)}, smp.Standby,
			sm2, 1},
		{"old, of another manager", polled, false, nil, []func(*Core) txn.Outcome{provesBy(8, smp.Standby, true)},
			smp.Standby, sm2, 1},
		{"old, no proof", polled, false, nil, []func(*Core) txn.Outcome{provesBy(9, smp.Standby, false)}, smp.Standby, sm2,
			1},
		{"old, another way", away, false, nil, nil, smp.Standby, node2, 0},
		{"old, another way, proved", away, false, nil, []func(*Core) txn.Outcome{isNode(0x77),
			provesBy(9, smp.Standby, true)}, smp.Master, node2 + " " + sm3, 0},
		{"old, another way, no proof", away, false, nil, []func(*Core) txn.Outcome{isNode(0x77),
			provesBy(9, smp.Standby, false)}, smp.Standby, node2 + " " + sm3, 1},
	} {
		core := provingCore(smp.Standby)
		core.elect.poll(&core.fx, 0, tagPoll)
		core.fx.sent()
		core.fx.begin(2 * time.Second)
		sender := elect.New(elect.Config{GUID: 9, Priority: 4, SMKey: testSMKey})
		info, nonce := otherSM(9, 4, smp.Master), proof.Nonce{}
		if c.asked {
			nonce = core.elect.asked[0].Nonce
		}
		sender.Order(smp.ControlHandover, 5, nonce, &info)
		if c.change != nil {
			c.change(&info)
		}
		d := arrived(c.from, mad.MethodSet, smp.ControlHandover, info)
		core.control(&d)
		asks := core.fx.sentRequests()
		for _, answer := range c.answers {
			core.fx.table.Cancel(nil)
			o := answer(core)
			o.Owner = ownerControl
			core.outcome(&o)
			if core.elect.State() != smp.Master {
				asks = append(asks, core.fx.sentRequests()...)
			}
		}
		if core.elect.State() != c.becomes || core.alarms.total[AlarmControl] != c.alarms ||
			strings.Join(asks, " ") != c.asks {
			t.Errorf("%s: %v, %d alarms, asks %q, want %v, %d, %q", c.name, core.elect.State(),
				core.alarms.total[AlarmControl], asks, c.becomes, c.alarms, c.asks)
		}
		where := proof.Place{Node: 0x51, Port: 2} // as the walk has it
		if c.from == away {
			where = proof.Place{Node: 0x77, Port: 5}
		}
		if len(c.answers) > 0 && core.controls.asked.Place != where {
			t.Errorf("%s: asked at %+v", c.name, core.controls.asked.Place)
		}
	}
}

// provesBy answers the Question of a Core that proves a control packet, with a right code or a wrong one.
func provesBy(guid mad.GUID, state smp.SMState, right bool) func(*Core) txn.Outcome {
	return func(c *Core) (o txn.Outcome) {
		o.Result = txn.Replied
		info := otherSM(guid, 4, state)
		key := uint64(testSMKey)
		if !right {
			key++
		}
		elect.New(elect.Config{GUID: guid, SMKey: key}).Prove(&c.controls.asked, &info)
		o.Data = info
		return o
	}
}

// isNode answers with a NodeInfo.
func isNode(guid mad.GUID) func(*Core) txn.Outcome {
	return func(*Core) (o txn.Outcome) {
		o.Result = txn.Replied
		(*smp.NodeInfo)(&o.Data).SetNodeGUID(guid)
		return o
	}
}
