package sweep

import (
	"context"
	"fmt"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/quality"
	"ibsm/topo"
)

// standIn decides about the tables of min-hop in place of engines that this version does not have:
// those that the operator chose may be free of credit loops, and with a loop traffic can stop. It
// then keeps the routes in force where they work. If that does not help, a manager that has routed
// nothing yet routes nothing; otherwise the routes are repaired all the same.
func (a *attempts) standIn(ctx context.Context, r *routed, missing string) (*routed, error) {
	if r.credit.Loop != nil && a.in.Prev != nil && r.keep != routing.KeepWorking {
		kept, err := a.repaired(ctx)
		if err == nil && kept.credit.Loop == nil {
			r = kept
		}
	}
	if r.credit.Loop != nil && a.state.report == nil {
		return nil, fmt.Errorf("this version has no routing engine %s, and the routes of min-hop have a credit loop, in which traffic can stop for good: %s; add minhop to routing_engine to use them all the same",
			missing, creditloop.Text(a.out.Topo, r.credit.Loop, creditloop.Description))
	}
	r.missing = missing
	var err error
	a.out.Idle, err = idleLinks(ctx, a.out, r.tables)
	return r, err
}

// idleLinks counts links between switches: those that no route between hosts uses, and all.
func idleLinks(ctx context.Context, out *SweepPlan, tables *routing.Tables) (count [2]int, err error) {
	t := out.Topo
	loads, err := quality.Loads(ctx, t, out.LIDs, tables.LFT)
	if err != nil {
		return count, err
	}
	for i := range t.Ports {
		p := topo.PortIdx(i)
		peer := t.Ports[p].Peer
		if peer == topo.None || peer < p || !t.IsSwitchPort(p) || !t.IsSwitchPort(peer) {
			continue
		}
		count[1]++
		if loads[p] == 0 && loads[peer] == 0 {
			count[0]++
		}
	}
	return count, nil
}
