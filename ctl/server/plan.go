package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"ibsm/ctl"
	"ibsm/manager"
	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/quality"
	"ibsm/routing/rails"
	"ibsm/routing/verify"
	"ibsm/sweep"
	"ibsm/sweep/routes"
	"ibsm/topo"
	"ibsm/view"
)

// errHeld is why no routes are computed though an engine would.
var errHeld = errors.New("adaptive routing is on, and ar_mode is hold")

// Plan makes the manager compute a plan.
func (d *Server) Plan(ctx context.Context, q ctl.PlanQuery) (*ctl.Plan, error) {
	ask := manager.SweepRequested{Sweep: manager.Plan}
	if q.Reroute {
		ask.Sweep = manager.PlanReroute
	}
	if len(q.Engines) > 0 {
		if d.cfg.Engines == nil {
			return nil, fmt.Errorf("%w: this manager has no configuration of routing engines", ctl.ErrNotFound)
		}
		chain, err := d.cfg.Engines(q.Engines)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ctl.ErrBadRequest, err)
		}
		ask.Sweep, ask.Engines = manager.PlanReroute, chain
	}
	var settings []ctl.SettingChange
	if q.Tenants {
		if d.cfg.Tenants == nil {
			return nil, fmt.Errorf("%w: this manager has no configuration", ctl.ErrNotFound)
		}
		var err error
		if ask.Policy, settings, err = d.cfg.Tenants(); err != nil {
			return nil, fmt.Errorf("%w: %w", ctl.ErrNotNow, err)
		}
	}
	var err error
	if ask.Without, err = d.mayFail(q.Without); err != nil {
		return nil, err
	}
	if err := d.takesRequests(); err != nil {
		return nil, err
	}
	p, err := d.planned(ctx, ask)
	if err != nil {
		return nil, err
	}
	if p.Err != nil {
		return nil, fmt.Errorf("%w: no plan: %w", ctl.ErrNotNow, p.Err)
	}
	if p.Plan.Tables == nil && q.Without != nil {
		return nil, fmt.Errorf("%w: no routes are computed: %v", ctl.ErrNotNow, cmp.Or(p.Plan.Err, errHeld))
	}
	routes := manager.RoutingOf(p.Plan)
	head := ctl.PlanHead{Outdated: p.Outdated, Routes: RoutesText(&routes), Unrouted: unrouted(p.Plan),
		Settings: settings}
	if v := d.View(); (ask.Sweep == manager.PlanReroute || q.Without != nil) && v != nil && v.Tables != nil &&
		p.Plan.Tables != nil {
		if head.Change, err = changeOf(ctx, d.cfg.Names, v, p.Plan); err != nil {
			return nil, err
		}
	}
	return &ctl.Plan{PlanHead: head, Steps: p.Plan.Steps}, nil
}

// unrouted are the pairs of switch and LID that the tables of a plan do not connect; nil for none.
func unrouted(r *sweep.SweepPlan) *ctl.Unrouted {
	if r.Report == nil {
		return nil
	}
	count := &r.Report.Count
	out := &ctl.Unrouted{ByRules: r.Report.ByRules(r.Engine)}
	out.Lost.Count, out.Cut.Count, out.Forbidden.Count = r.Report.Unreached(), count[verify.Cut],
		count[verify.Forbidden]
	if out.Lost.Count+out.Cut.Count+out.Forbidden.Count == 0 {
		return nil
	}
	for _, f := range r.Report.Examples {
		of := &out.Lost
		switch f.Kind {
		case verify.Cut:
			of = &out.Cut
		case verify.Forbidden:
			of = &out.Forbidden
		case verify.TooLong, verify.Unowned: // which arrive, or concern nobody
			continue
		}
		from := r.Topo.Port(r.Topo.Switches[f.Switch], 0)
		pair := ctl.Pair{From: endAt(r.Topo, r.LIDs, from), LID: f.LID, Reason: f.Kind.String()}
		if p := r.LIDs.PortOf(f.LID); p != topo.None {
			pair.To = endAt(r.Topo, r.LIDs, p)
		}
		of.Listed = append(of.Listed, pair)
	}
	return out
}

// mayFail returns what is left out of a plan. The error is for what cannot be.
func (d *Server) mayFail(without []string) (all []routing.SwitchPort, err error) {
	for _, text := range without {
		found, err := d.FindSwitches(text)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if s.Port == 0 && s.Own {
				return nil, fmt.Errorf("%w: the manager runs on switch %v", ctl.ErrBadRequest, s.Switch)
			}
			all = append(all, s.SwitchPort)
		}
	}
	return all, nil
}

// changeOf compares the routes in force with those of a plan.
func changeOf(ctx context.Context, given names.Map, v *view.View, r *sweep.SweepPlan) (*ctl.PlanChange, error) {
	c := &ctl.PlanChange{
		CutOff: r.CutOff, PairsCut: r.PairsCut,
		Before: ctl.EngineRoutes{Engine: v.Routing.Engine, Notes: v.Routing.Notes},
		After:  ctl.EngineRoutes{Engine: r.Engine, Notes: r.Tables.Notes, Refused: []ctl.EngineRefusal{}},
	}
	for _, f := range r.Refused {
		c.After.Refused = append(c.After.Refused, ctl.EngineRefusal{Engine: f.Engine, Reason: f.Err.Error()})
	}
	for n, row := range r.Tables.LFT {
		var was []uint8
		if old := v.Topo.FindNode(r.Topo.Nodes[r.Topo.Switches[n]].GUID); old != topo.None &&
			v.Topo.Nodes[old].Switch != topo.None {
			was = v.Tables.LFT[v.Topo.Nodes[old].Switch]
		}
		blocks, entries := differ(was, row)
		c.Blocks, c.Entries = c.Blocks+blocks, c.Entries+entries
		if blocks > 0 {
			c.Switches++
		}
	}
	if err := judge(ctx, &c.Before, problem(v.Topo, v.LIDs, v.Partitions), v.Tables); err != nil {
		return nil, err
	}
	if err := judge(ctx, &c.After, problem(r.Topo, r.LIDs, r.Partitions), r.Tables); err != nil {
		return nil, err
	}
	nameOf := func(n *topo.Node) string { return given.Of(n.GUID, n.Desc.String()) }
	c.Proof = "no credit loop between hosts"
	if r.CreditLoop != nil {
		c.Proof = "a credit loop: " + creditloop.Text(r.Topo, r.CreditLoop, nameOf)
	}
	switch tr := &r.Transition; tr.State {
	case routes.AtRisk, routes.AtRiskUntilAsked:
		c.Transition = "a risk: old and new routes together have a credit loop: " + creditloop.Text(r.Topo, tr.Risk,
			nameOf)
	case routes.LoopedAnyway:
		c.Transition = "the present routes or the planned routes have a credit loop by themselves"
	default:
		c.Transition = "safe: with the order of the plan, old and new routes together have no credit loop"
	}
	return c, nil
}

// differ counts the blocks and entries in which two rows differ.
func differ(was, is []uint8) (blocks, entries int) {
	for first := 0; first < len(is); first += routing.BlockSize {
		before := entries
		for lid := first; lid < min(first+routing.BlockSize, len(is)); lid++ {
			old := uint8(routing.NoPath)
			if lid < len(was) {
				old = was[lid]
			}
			if old != is[lid] {
				entries++
			}
		}
		if entries > before {
			blocks++
		}
	}
	return blocks, entries
}

// judge fills in how good tables are.
func judge(ctx context.Context, to *ctl.EngineRoutes, in routing.In, tables *routing.Tables) error {
	f, err := quality.Measure(ctx, in, tables.LFT, quality.Hosts(in.Topo, in.LIDs), bisections)
	if err != nil {
		return err
	}
	to.Unused, to.Fullest, to.Shift, to.Worst, to.Bisection, to.Several, to.Cut = f.Unused, f.Fullest, f.Shift, f.Worst,
		f.Bisection, f.Several, f.Cut
	if r := rails.Find(in.Topo); len(r.Rails) > 0 {
		within, err := quality.WithinRails(ctx, in, tables.LFT, r)
		if err != nil {
			return err
		}
		to.RailShift = within.Shift
	}
	if to.SLs = 1; tables.SLs != nil {
		to.SLs = tables.SLs.Count
	}
	return nil
}
