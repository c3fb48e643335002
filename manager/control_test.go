package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/elect"
)

// arrived is a request of SMInfo that has come from the end of a directed route.
func arrived(from mad.Route, m mad.Method, mod uint32, info smp.SMInfo) (d mad.Datagram) {
	d.LID = mad.PermissiveLID
	d.Packet.SetDirected(&from, m, smp.AttrSMInfo, mod)
	back := slices.Clone(from.Ports())
	slices.Reverse(back)
	copy(d.Packet.ReturnPath()[1:], back)
	*d.Packet.Data() = info
	return d
}

// sentRequests are the requests that leave, in short.
func (fx *effects) sentRequests() (all []string) {
	for _, d := range fx.sent() {
		all = append(all, fmt.Sprintf("%s/%d", smp.AttrName(d.Packet.AttrID()), d.Packet.HopCount()))
	}
	return all
}

// TestControl: a control packet of the master, in another way than to the port that is polled, is obeyed when the port
// that it came from has the master's GUID, and, where the master is not known, the LID that our own port has as
// MasterSMLID. All others are refused, with an alarm, and one is proved at a time.
func TestControl(t *testing.T) {
	away := mad.MakeRoute(3, 4, 5)
	master := otherSM(9, 4, smp.Master)
	ours := func(d mad.Datagram, tid mad.TID) mad.Datagram { d.Packet.SetTID(tid); return d }
	set := func(mod uint32, info smp.SMInfo) mad.Datagram { return arrived(away, mad.MethodSet, mod, info) }
	disable := ours(set(smp.ControlDisable, master), 1)
	standBy := ours(set(smp.ControlStandby, master), 1)
	known, byLID, unlike, wrongKey := disable, disable, ours(set(smp.ControlDiscover, master), 2), master
	known = arrived(mad.MakeRoute(1, 2), mad.MethodSet, smp.ControlDisable, master)
	byLID.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrSMInfo, smp.ControlDisable)
	*byLID.Packet.Data() = master
	wrongKey.SetSMKey(1)
	harmless := set(smp.ControlAcknowledge, otherSM(8, 0, smp.Standby))
	reply := func(set func(data *[mad.DataSize]byte)) (o txn.Outcome) {
		o.Result = txn.Replied
		set(&o.Data)
		return o
	}
	node := func(guid mad.GUID) txn.Outcome {
		return reply(func(data *[mad.DataSize]byte) { (*smp.NodeInfo)(data).SetPortGUID(guid) })
	}
	port := func(lid, sm mad.LID) txn.Outcome {
		return reply(func(data *[mad.DataSize]byte) {
			(*smp.PortInfo)(data).SetLID(lid)
			(*smp.PortInfo)(data).SetMasterSMLID(sm)
		})
	}
	lost := txn.Outcome{Result: txn.TimedOut}
	refused := node(9)
	refused.Status = mad.StatusBadField
	const node3, port3, own = "NodeInfo/3", "PortInfo/3", "PortInfo/0"
	for _, c := range []struct {
		name    string
		unknown bool // the master is not known
		events  []any
		state   controlState // at the end
		becomes smp.SMState
		replies string // TID and whether it is OK
		asks    string
		alarms  uint64
	}{
		{"on the way to the master", false, []any{known}, controlIdle, smp.NotActive, "0 ok", "", 0},
		{"asked", false, []any{disable}, asksNode, smp.Standby, "", node3, 0},
		{"proved", false, []any{disable, node(9)}, controlIdle, smp.NotActive, "1 ok", node3, 0},
		{"of another port", false, []any{disable, node(8)}, controlIdle, smp.Standby, "1 refused", node3, 1},
		{"no answer", false, []any{disable, lost}, controlIdle, smp.Standby, "1 refused", node3, 1},
		{"a refusal", false, []any{disable, refused}, controlIdle, smp.Standby, "1 refused", node3, 1},
		{"another SM_Key", false, []any{set(smp.ControlDisable, wrongKey)}, controlIdle, smp.Standby, "0 refused", "",
			1},
		{"of a manager that is not polled", false, []any{set(smp.ControlDisable, otherSM(8, 4, smp.Master))},
			controlIdle, smp.Standby, "0 refused", "", 1},
		{"by LID", false, []any{byLID}, controlIdle, smp.Standby, "0 refused", "", 1},
		{"harmless", false, []any{harmless}, controlIdle, smp.Standby, "0 ok", "", 0},
		{"harmless, while one is proved", false, []any{disable, harmless, node(9)}, controlIdle, smp.NotActive,
			"0 ok, 1 ok", node3, 0},
		{"a second one", false, []any{disable, unlike}, asksNode, smp.Standby, "", node3, 0},
		{"a second one is not obeyed", false, []any{disable, unlike, node(9)}, controlIdle, smp.NotActive, "1 ok",
			node3, 0},
		{"repeated", false, []any{disable, ours(disable, 7), node(9)}, controlIdle, smp.NotActive, "7 ok", node3, 0},
		{"of another way", false,
			[]any{disable, ours(arrived(mad.MakeRoute(3, 4, 6), mad.MethodSet, smp.ControlDisable, master), 7),
				node(9)}, controlIdle, smp.NotActive, "1 ok", node3, 0},
		{"the next one", false, []any{disable, node(8), ours(disable, 7), node(9)}, controlIdle, smp.NotActive,
			"1 refused, 7 ok", node3 + " " + node3, 1},
		{"cancelled", false, []any{disable, "cancel", ours(disable, 7), node(9)}, controlIdle, smp.NotActive, "7 ok",
			node3 + " " + node3, 0},
		{"an outcome when it has ended", false, []any{disable, "cancel", lost}, controlIdle, smp.Standby, "", node3, 0},
		{"no room", false, []any{"full", disable}, controlIdle, smp.Standby, "", "", 0},

		{"unknown, its node", true, []any{standBy, node(9)}, asksPort, smp.NotActive, "", node3 + " " + port3, 0},
		{"unknown, its LID", true, []any{standBy, node(9), port(90, 7)}, asksOwn, smp.NotActive, "",
			node3 + " " + port3 + " " + own, 0},
		// Which it then has lost, as no walk has found it.
		{"unknown, proved", true, []any{standBy, node(9), port(90, 7), port(7, 90)}, controlIdle, smp.Discovering,
			"1 ok", node3 + " " + port3 + " " + own, 0},
		{"unknown, repeated", true, []any{standBy, node(9), port(90, 7), ours(standBy, 3), port(7, 90)}, controlIdle,
			smp.Discovering, "3 ok", node3 + " " + port3 + " " + own, 0},
		{"unknown, of another port", true, []any{standBy, node(8)}, controlIdle, smp.NotActive, "1 refused", node3, 1},
		{"unknown, without LID", true, []any{standBy, node(9), port(0, 7)}, controlIdle, smp.NotActive, "1 refused",
			node3 + " " + port3, 1},
		{"unknown, not the master's LID", true, []any{standBy, node(9), port(90, 7), port(90, 7)}, controlIdle,
			smp.NotActive, "1 refused", node3 + " " + port3 + " " + own, 1},
		{"unknown, no answer of its port", true, []any{standBy, node(9), lost}, controlIdle, smp.NotActive, "1 refused",
			node3 + " " + port3, 1},
		{"unknown, no answer of our own", true, []any{standBy, node(9), port(90, 7), lost}, controlIdle, smp.NotActive,
			"1 refused", node3 + " " + port3 + " " + own, 1},
	} {
		core := NewCore(Config{Elect: elect.Config{GUID: 5, Priority: 3, Inactive: c.unknown}})
		if !c.unknown {
			e, _ := newElectionAt(smp.Standby)
			core.elect = *e
		}
		core.port.setGUID(5)
		var replies, asks []string
		for i, ev := range c.events {
			core.fx.begin(time.Second * time.Duration(i+1))
			switch ev := ev.(type) {
			case mad.Datagram:
				core.control(&ev)
			case txn.Outcome:
				core.fx.table.Cancel(nil) // which has no part in this
				ev.Owner = ownerControl
				core.outcome(&ev)
			case string:
				if ev == "cancel" {
					core.cancel()
				}
				for full := ev == "full"; full; {
					full = core.fx.request(directed(ownerSweep, 0, mad.MakeRoute(1), mad.MethodGet, smp.AttrNodeInfo, 0,
						0))
				}
			}
			for _, d := range core.fx.send {
				how := "ok"
				if d.Packet.Status() != mad.StatusOK {
					how = "refused"
				}
				replies = append(replies, fmt.Sprint(uint64(d.Packet.TID()), " ", how))
			}
			if c.events[0] != "full" {
				asks = append(asks, core.fx.sentRequests()...)
			}
		}
		if got := core.controls.state; got != c.state || core.elect.State() != c.becomes ||
			core.alarms.total[AlarmControl] != c.alarms {
			t.Errorf("%s: %v, %v, %d alarms, want %v, %v, %d", c.name, got, core.elect.State(),
				core.alarms.total[AlarmControl], c.state, c.becomes, c.alarms)
		}
		if got := strings.Join(replies, ", "); got != c.replies {
			t.Errorf("%s: answered %q, want %q", c.name, got, c.replies)
		}
		if got := strings.Join(asks, " "); got != c.asks {
			t.Errorf("%s: asks %q, want %q", c.name, got, c.asks)
		}
	}
}
