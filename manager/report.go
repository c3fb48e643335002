package manager

import (
	"log/slog"

	"ibsm/mad"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/routing/verify"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/lids"
)

const (
	debug = slog.LevelDebug
	info  = slog.LevelInfo
	warn  = slog.LevelWarn
	erro  = slog.LevelError
	sys   = osmlog.LevelSys
)

// sweepLog logs what sweeps find, each thing once as long as it lasts.
type sweepLog struct {
	findings
	oneSided map[discover.Finding]bool // links that the last walk found so
	strange  int                       // discover.Result.Strange of the last walk, but for quick ones without retry
	up       bool                      // SUBNET UP was logged
	adaptive int                       // switches on which adaptive routing is on, as logged last
	notes    []string                  // of the engine
}

// computed logs what a route task came to before anything is written.
func (l *sweepLog) computed(fx *effects, r *sweep.SweepPlan, m names.Map) {
	logSome(fx, warn, "node removed: it has not answered for several sweeps", r.Lost, func(guid *mad.GUID) []any {
		return []any{"guid", *guid}
	})
	logSome(fx, warn, "the LID of a port changes: its previous LID belongs to another port", r.Conflicts,
		func(c *lids.Conflict) []any { return []any{"guid", c.Port, "lid", c.LID, "owner", c.Owner} })
	logSome(fx, info, "no LIDs are free: the LIDs of an absent port are reassigned", r.Reclaimed,
		func(k *lids.Assignment) []any { return []any{"guid", k.Port, "lid", k.Base} })
	if r.AR > 0 && r.AR != l.adaptive && !r.RoutesHeld() {
		fx.log(info, "adaptive routing is on: it stays on at switches whose routes do not change", "switches", r.AR)
	}
	l.adaptive = r.AR
	name := namesIn(r.Topo, m)
	logRefusals(fx, r, replace(fx, &l.plan, planFindings(r, m), name))
	l.logNotes(fx, r)
	if r.Unused {
		fx.log(warn, "new links are not used, because the routes of another manager are kept: run ibsmctl reroute to use them")
	}
	if r.BeforeCut != nil {
		fx.log(warn, "routes had loops, which were removed", "pairs", r.BeforeCut.Count[verify.Loop])
	}
	if r.Report == nil {
		return
	}
	replace(fx, &l.routes, routeFindings(r, m), name)
	l.logTransition(fx, r, m)
	for _, line := range osmlog.EngineFindings(r.Engine, r.Tables.Findings) {
		fx.log(info, line)
	}
	fx.log(info, osmlog.TablesConfigured(r.Engine), "kept", r.Keep != routing.KeepNone, "longest", r.Report.Longest)
}

// logSome logs the first of a list one by one, each with its keys and values, and how many more there are.
func logSome[T any](fx *effects, level slog.Level, text string, all []T, fields func(*T) []any) {
	for i := range all[:min(len(all), maxLogged)] {
		fx.log(level, text, fields(&all[i])...)
	}
	if more := len(all) - maxLogged; more > 0 {
		fx.log(level, "further findings of a kind", "text", text, "count", more)
	}
}
