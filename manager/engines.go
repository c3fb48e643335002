package manager

import (
	"fmt"
	"slices"

	osmlog "ibsm/opensm/log"
	"ibsm/routing"
	"ibsm/sweep"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/view"
)

// RoutingOf says where the routes of a plan come from.
func RoutingOf(r *sweep.SweepPlan) view.Routing {
	v := view.Routing{Engine: r.Engine, Kept: r.Tables != nil && r.Keep == routing.KeepWorking, Foreign: r.Foreign, Awaited: r.Awaited, Fabric: r.Seen}
	if r.Tables != nil {
		v.Notes = r.Tables.Notes
	}
	switch r.Fitting.State {
	case sweep.Fitted:
		v.Lanes = fmt.Sprintf("have %d service levels without a credit loop", r.Fitting.Needed)
	case sweep.TooFewLanes:
		v.Lanes = "have a credit loop: they need " + lanesNeeded(&r.Fitting)
	}
	for _, f := range r.Refused {
		v.Refused = append(v.Refused, view.Refusal{Engine: f.Engine, Reason: f.Err.Error()})
	}
	return v
}

// logEngines logs which engines refused the subnet, in OpenSM's words and with the reason, each
// once as long as it lasts, whose routes are kept, and what the engine has to say.
func (l *sweepLog) logEngines(fx *effects, r *sweep.SweepPlan) {
	refused := map[string]bool{}
	for _, f := range r.Refused {
		text := f.String()
		if refused[text] = true; l.refused[text] {
			continue
		}
		for _, words := range osmlog.EngineRefused(f.Engine, f.Err) {
			fx.log(erro, words)
		}
		fx.log(erro, "a routing engine cannot route this subnet", "engine", f.Engine, "reason", f.Err.Error())
	}
	if len(r.Refused) > 0 && r.Tables == nil && len(l.refused) == 0 {
		fx.log(erro, osmlog.NoEngine)
	}
	l.refused = refused
	if r.Foreign != l.foreign && r.Foreign != "" {
		fx.log(warn, "the routes of another manager are kept: they are not those of the chosen routing engine, which ibsmctl reroute uses", "engine", r.Foreign)
	}
	l.foreign = r.Foreign
	if r.Awaited != "" && l.awaited == "" {
		fx.log(info, "interim routes serve until the routing engine has computed its own", "engine", r.Engine, "awaited", r.Awaited)
	}
	if r.Taken {
		fx.log(info, "the routes of the routing engine take the place of interim routes", "engine", r.Engine)
	}
	l.awaited = r.Awaited
	l.logUnknown(fx, r)
	l.logGroups(fx, r)
	if r.Tables != nil && !slices.Equal(r.Tables.Notes, l.notes) {
		l.notes = r.Tables.Notes
		for _, note := range l.notes {
			fx.log(info, note, "engine", r.Engine)
		}
	}
}

// logUnknown logs that files of the engine name switches or end ports that are not there.
func (l *sweepLog) logUnknown(fx *effects, r *sweep.SweepPlan) {
	text := fmt.Sprint(r.Unknown)
	if guids := r.Unknown.Switches; text != l.unknown && len(guids) > 0 {
		of := "no node of this subnet"
		switch guid := guids[0]; {
		case r.Topo.FindNode(guid) != topo.None:
			of = "a node that is no switch"
		case r.Topo.FindPort(guid) != topo.None:
			of = "a port: write the GUID of its node"
		}
		fx.log(warn, "a file of the routing engine names GUIDs that are no switches", "engine", r.Engine, "count", len(guids), "first", guids[0], "first_is", of)
	}
	if guids := r.Unknown.Ports; text != l.unknown && len(guids) > 0 {
		of := "no end port of this subnet"
		if r.Topo.FindNode(guids[0]) != topo.None {
			of = "a node: write the GUID of its port"
		}
		fx.log(warn, "a file of the routing engine names GUIDs that are no end ports", "engine", r.Engine, "count", len(guids), "first", guids[0], "first_is", of)
	}
	l.unknown = text
}

// logGroups logs what port groups in files of the engines ask for in vain.
func (l *sweepLog) logGroups(fx *effects, r *sweep.SweepPlan) {
	var m engines.Members
	switch {
	case r.Members != nil:
		m = *r.Members
	case r.Tables == nil:
		return // nothing was asked for
	}
	text := fmt.Sprint(m.Unmatched, m.Idle)
	if text != l.unmatched && len(m.Unmatched) > 0 {
		first := m.Unmatched[0]
		fx.log(warn, "a port group in a file of the routing engine has rules that no port matches", "count", len(m.Unmatched), "first", first.Text, "group", first.Group, "at", first.Position)
	}
	if text != l.unmatched && len(m.Idle) > 0 {
		fx.log(warn, "a port group in root_guid_file has no switch among its members", "count", len(m.Idle), "first", m.Idle[0])
	}
	l.unmatched = text
}
