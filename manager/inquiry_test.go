package manager

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/elect"
	"ibsm/view"
)

// TestInquiry: a manager that names itself is asked at its port, one at a time and not at once again. It is stored when
// it says that it is this manager, and this one is still MASTER.
func TestInquiry(t *testing.T) {
	v := *servedView()
	v.SMs = []view.SM{{GUID: 5}}
	ends := v.Topo.EndPorts
	a, b := ends[len(ends)-1], ends[len(ends)-2]
	// name is a Question of the manager at port p, in the name of the one at port as.
	type name struct{ p, as int }
	ports := []mad.GUID{v.Topo.Ports[a].GUID, v.Topo.Ports[b].GUID}
	routes := make([]mad.Route, 2)
	for i, guid := range ports {
		routes[i], _ = v.Topo.RouteTo(v.Topo.FindPort(guid))
	}
	answer := func(guid mad.GUID) (o txn.Outcome) {
		o.Result, o.Data = txn.Replied, otherSM(guid, 1, smp.Standby)
		return o
	}
	lost, refused := txn.Outcome{Result: txn.TimedOut}, answer(ports[0])
	refused.Status = mad.StatusBusy
	const pause, short = inquiryPause, inquiryPause - 1
	for _, c := range []struct {
		name   string
		events []any // each a nanosecond after the one before; a time is waited
		state  inquiryState
		asks   []int // ports
		stored []int
		alarms uint64
	}{
		{"asked", []any{name{0, 0}}, inquiryAsking, []int{0}, nil, 0},
		{"one at a time", []any{name{0, 0}, time.Second, name{1, 1}, name{0, 0}}, inquiryAsking, []int{0}, nil, 0},
		{"stored", []any{name{0, 0}, answer(ports[0])}, inquiryIdle, []int{0}, []int{0}, 0},
		{"the answer of another manager", []any{name{0, 0}, answer(ports[1])}, inquiryIdle, []int{0}, nil, 0},
		{"no answer", []any{name{0, 0}, lost}, inquiryIdle, []int{0}, nil, 0},
		{"too late", []any{name{0, 0}, lost, answer(ports[0])}, inquiryIdle, []int{0}, nil, 0},
		{"a refusal", []any{name{0, 0}, refused}, inquiryIdle, []int{0}, nil, 0},
		{"pause", []any{name{0, 0}, lost, short - 3, name{1, 1}}, inquiryIdle, []int{0}, nil, 0},
		{"after the pause", []any{name{0, 0}, lost, pause - 3, name{1, 1}}, inquiryAsking, []int{0, 1}, nil, 0},
		{"both", []any{name{0, 0}, answer(ports[0]), pause, name{1, 1}, answer(ports[1])}, inquiryIdle, []int{0, 1},
			[]int{0, 1}, 0},
		{"known", []any{name{0, 0}, answer(ports[0]), pause, name{0, 0}}, inquiryIdle, []int{0}, []int{0}, 0},
		{"two answers", []any{name{0, 0}, answer(ports[0]), answer(ports[0])}, inquiryIdle, []int{0}, []int{0}, 0},
		{"not master any more", []any{name{0, 0}, "not master", answer(ports[0])}, inquiryIdle, []int{0}, nil, 0},
		{"cancelled", []any{name{0, 0}, "cancel", answer(ports[0])}, inquiryIdle, []int{0}, nil, 0},
		{"after a cancellation", []any{name{0, 0}, "cancel", name{1, 1}}, inquiryAsking, []int{0, 1}, nil, 0},
		{"in another's name", []any{name{0, 1}}, inquiryIdle, nil, nil, 1},
		{"no room", []any{"full", name{0, 0}}, inquiryIdle, nil, nil, 0},
	} {
		core := NewCore(Config{Elect: elect.Config{GUID: 5, Priority: 3}})
		e, _ := newElectionAt(smp.Master)
		core.elect = *e
		core.port.setGUID(5)
		core.published.view = &v
		var asks []int
		now := time.Second
		for _, ev := range c.events {
			now++
			core.fx.begin(now)
			switch ev := ev.(type) {
			case time.Duration:
				now += ev
			case name:
				q := elect.New(elect.Config{GUID: ports[ev.as]}).Question()
				d := arrived(routes[ev.p], mad.MethodGet, 0, q)
				core.question(&d)
			case txn.Outcome:
				core.fx.table.Cancel(nil) // which has no part in this
				ev.Owner = ownerInquiry
				core.outcome(&ev)
			case string:
				switch ev {
				case "cancel":
					core.cancel()
				case "not master":
					core.elect.portDown()
				}
				for full := ev == "full"; full; {
					full = core.fx.request(directed(ownerSweep, 0, mad.MakeRoute(1), mad.MethodGet, smp.AttrNodeInfo, 0,
						0))
				}
			}
			for _, d := range core.fx.sent() {
				if p := &d.Packet; p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet {
					asks = append(asks, slices.IndexFunc(routes, func(r mad.Route) bool {
						return slices.Equal(r.Ports(), p.InitialPath()[1:1+p.HopCount()])
					}))
				}
			}
		}
		var stored []int
		for i := range core.elect.others {
			sm := &core.elect.others[i]
			if stored = append(stored, slices.Index(ports, sm.Port)); sm.Info.GUID() != sm.Port ||
				sm.Route != routes[stored[i]] {
				t.Errorf("%s: stored %+v", c.name, sm)
			}
		}
		if core.inquiry.state != c.state || !slices.Equal(asks, c.asks) || !slices.Equal(stored, c.stored) ||
			core.alarms.total[AlarmQuestion] != c.alarms || len(core.published.view.SMs) != 1+len(stored) {
			t.Errorf("%s: state %d, asks %v, stores %v, %d alarms, publishes %d managers", c.name, core.inquiry.state,
				asks, stored, core.alarms.total[AlarmQuestion], len(core.published.view.SMs))
		}
	}
}
