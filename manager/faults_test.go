package manager

import (
	"errors"
	"testing"

	"ibsm/mad"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/view"
)

// TestFaults: a view has the first faults, and how many more there are.
func TestFaults(t *testing.T) {
	for count, want := range map[int]int{0: 0, 1: 0, view.MaxFaults - 1: 0, view.MaxFaults: 1, view.MaxFaults + 10: 11} {
		out := &sweep.Outcome{
			SweepPlan: &sweep.SweepPlan{Topo: servedView().Topo, Plan: &plan.Plan{}, Err: errors.New("no engine routes it")}, Found: &discover.Result{}, NotHeld: make([]sweep.NotHeld, count),
		}
		all, more := faults(out)
		if len(all)+more != 1+count || more != want || all[0].Kind != view.NoRoutes || all[0].Text != "no engine routes it" {
			t.Errorf("%d ports that keep nothing: %d faults and %d more, the first is %+v", count, len(all), more, all[0])
		}
	}
}

// TestSameControl: a control packet is a repetition of another one only if nothing in it differs.
func TestSameControl(t *testing.T) {
	var d mad.Datagram
	route := mad.MakeRoute(1, 2)
	d.Packet.SetDirected(&route, mad.MethodSet, 0x20, 1)
	c := control{request: d}
	again := d
	again.Packet.SetTID(7)
	if !c.same(&again) {
		t.Error("another attempt is not the same")
	}
	for what, change := range map[string]func(p *mad.Packet){
		"modifier": func(p *mad.Packet) { p.SetAttrMod(2) }, "data": func(p *mad.Packet) { p.Data()[63]++ },
		"return path": func(p *mad.Packet) { p.ReturnPath()[1]++ }, "hops": func(p *mad.Packet) { p[7]++ },
	} {
		other := d
		if change(&other.Packet); c.same(&other) {
			t.Errorf("with another %s it is the same", what)
		}
	}
}
