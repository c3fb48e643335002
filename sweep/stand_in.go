package sweep

import (
	"context"
	"fmt"
	"strings"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/quality"
	"ibsm/topo"
)

// standIn decides about the tables of an engine that is used in place of another one: those that
// the operator chose may be free of credit loops, and with a loop traffic can stop. It then keeps
// the routes in force where they work. If that does not help, a manager that has routed nothing
// yet routes nothing; otherwise the routes are repaired all the same.
func (j *RouteTask) standIn(ctx context.Context, out *SweepPlan, in routing.In, reserved []mad.LID, p *proved) *proved {
	if p.credit.Loop != nil && in.Prev != nil && in.Keep != routing.KeepWorking {
		in.Keep = routing.KeepWorking
		if kept := j.prove(ctx, out, in, reserved); kept != nil && kept.credit.Loop == nil {
			p, out.Keep = kept, in.Keep
		}
	}
	if p.credit.Loop != nil && j.state.report == nil {
		out.Err = fmt.Errorf("routing: this version has no routing engine %s, and the routes of min-hop have a credit loop, in which traffic can stop for good: %s; add minhop to routing_engine to use them all the same",
			j.inPlaceOf, loopText(out.Topo, p.credit.Loop))
		return nil
	}
	var err error
	if out.Idle, err = idleLinks(ctx, out, p.tables); err != nil {
		return nil
	}
	return p
}

// maxChannels is how many channels of a credit loop are named.
const maxChannels = 6

// loopText describes a credit loop.
func loopText(t *topo.Topo, loop []creditloop.Channel) string {
	var names []string
	for _, c := range loop[:min(len(loop), maxChannels)] {
		names = append(names, fmt.Sprintf("%q port %d", t.Nodes[t.Switches[c.Switch]].Desc.String(), c.Port))
	}
	text := strings.Join(names, " to ")
	if more := len(loop) - maxChannels; more > 0 {
		text += fmt.Sprintf(" and over %d more links", more)
	}
	return text + " and back"
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
