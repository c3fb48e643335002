package manager

import (
	"fmt"
	"log/slog"

	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/routing/verify"
	"ibsm/sweep"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/view"
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
	findings  map[discover.Finding]bool // of the last walk; true when it was logged
	overflows map[string]bool           // partition tables that are too small
	unforced  string                    // links whose width and speed cannot be forced
	// unenforced are likewise switch ports that do not enforce partitions.
	unenforced string
	lost, cut  string                // examples of routes
	byRules    string                // the engine whose rules forbid routes, and how many
	up         bool                  // SUBNET UP was logged
	givenUp    map[device.Place]bool // as sweep.Outcome.GivenUp
	adaptive   adaptiveLog
	// creditLoop is the text about the loop that was logged last.
	creditLoop string
	stopped    string // likewise of ports that stop packets
	stoppedSA  string // likewise of those that stop packets to the SA
	fitting    sweep.Fitting
	refused    map[string]bool // engines, with their reasons
	drained    []view.Drained  // as sweep.SweepPlan.Drained
	cabling    cablingLog
	foreign    string   // as sweep.SweepPlan.Foreign
	awaited    string   // as sweep.SweepPlan.Awaited
	unknown    string   // GUIDs of files of engines
	unmatched  string   // rules of port groups in files of engines
	notes      []string // of the engine
}

// logOverflows logs ports that cannot hold all their P_Keys, and hosts that are no members because two nodes have their name.
func (l *sweepLog) logOverflows(fx *effects, r *sweep.SweepPlan) {
	now := map[string]bool{}
	for _, o := range r.Partitions.Overflows {
		text := r.Partitions.Explain(o, r.Topo)
		if now[text] = true; !l.overflows[text] {
			fx.log(erro, text)
		}
	}
	for _, claim := range r.Partitions.Claims {
		text := claim.String()
		if now[text] = true; !l.overflows[text] {
			fx.log(warn, text)
		}
	}
	l.overflows = now
}

// logUnforced logs links whose width and speed cannot be forced.
func (l *sweepLog) logUnforced(fx *effects, r *sweep.SweepPlan, m names.Map) {
	links := r.Plan.Unforced()
	text := ""
	if len(links) > 0 {
		p := &r.Topo.Ports[links[0]]
		text = fmt.Sprintf("links that would not come up again with force_link_width, force_link_speed and force_link_speed_ext keep their width and speed: %d, such as port %d of %q",
			len(links), p.Num, nodeName(m, &r.Topo.Nodes[p.Node]))
	}
	if text != l.unforced && text != "" {
		fx.log(warn, text)
	}
	l.unforced = text
}

// logUnenforced logs ports of switches that do not enforce partitions although they should.
func (l *sweepLog) logUnenforced(fx *effects, r *sweep.SweepPlan, m names.Map) {
	text := ""
	if ports := r.Plan.Unenforced(); len(ports) > 0 {
		p := &r.Topo.Ports[ports[0]]
		text = fmt.Sprintf("switch ports in front of hosts enforce no partitions, because their P_Keys could not be read or written, or they do not keep the enforcement; only the hosts' own P_Key tables protect: %d, such as port %d of %q",
			len(ports), p.Num, nodeName(m, &r.Topo.Nodes[p.Node]))
	}
	if text != l.unenforced && text != "" {
		fx.log(warn, text)
	}
	l.unenforced = text
}

// computed logs what a route task came to before anything is written.
func (l *sweepLog) computed(fx *effects, r *sweep.SweepPlan, m names.Map) {
	for _, guid := range r.Lost {
		fx.log(warn, "node given up: it has not answered for several sweeps", "guid", guid)
	}
	for _, conflict := range r.Conflicts {
		fx.log(warn, "port gets another LID: the one it has is not free", "guid", conflict.Port, "lid", conflict.LID, "owner", conflict.Owner)
	}
	for _, guid := range r.Exhausted {
		fx.log(erro, "no LID is left for a port", "guid", guid)
	}
	for _, k := range r.Reclaimed {
		fx.log(info, "no LIDs are free: the LIDs of an absent port are reassigned", "guid", k.Port, "lid", k.Base)
	}
	l.logAdaptive(fx, r)
	l.logEngines(fx, r)
	if r.Err != nil {
		fx.log(erro, r.Err.Error())
	}
	l.logOverflows(fx, r)
	l.logUnforced(fx, r, m)
	if r.Unused {
		fx.log(warn, "links were added, but the routes of another manager do not use them and are kept: ibsmctl reroute uses them")
	}
	l.logDrained(fx, r)
	l.cabling.log(fx, r.Cabling)
	if r.Unavoidable > 0 {
		fx.log(warn, "unhealthy links are still used: without them the subnet would be split", "links", r.Unavoidable)
	}
	if r.BeforeCut != nil {
		fx.log(warn, "routes had loops, which were removed", "pairs", r.BeforeCut.Count[verify.Loop])
	}
	if r.Report == nil {
		return
	}
	lost, cut, byRules := "", "", ""
	if n := r.Report.Unreached(); n > 0 {
		if lost = example(r, isLost, m); lost != l.lost {
			fx.log(erro, "routes do not reach their LIDs although there is a path of cables", "pairs", n, "example", lost)
		}
	}
	if n := r.Report.Count[verify.Cut]; n > 0 {
		if cut = example(r, isKind(verify.Cut), m); cut != l.cut {
			fx.log(warn, "the subnet is split: there is no path of cables between some switches and LIDs", "pairs", n, "example", cut)
		}
	}
	if n := r.Report.Count[verify.Forbidden]; n > 0 {
		if byRules = fmt.Sprint(r.Engine, n); byRules != l.byRules {
			fx.log(info, "pairs of switches have no route by the rules of the engine", "engine", r.Engine, "pairs", n,
				"connect_roots", r.Report.Connects, "example", example(r, isKind(verify.Forbidden), m))
		}
	}
	l.lost, l.cut, l.byRules = lost, cut, byRules
	l.logCreditLoop(fx, r, m)
	l.logFitting(fx, r)
	l.logTransition(fx, r, m)
	l.logStopped(fx, r, m)
	l.logStoppedSA(fx, r, m)
	for _, line := range osmlog.EngineFindings(r.Engine, r.Tables.Findings) {
		fx.log(info, line)
	}
	fx.log(info, osmlog.TablesConfigured(r.Engine), "kept", r.Keep != routing.KeepNone, "longest", r.Report.Longest)
}

// isLost reports whether a route that is found not to arrive is a fault.
func isLost(k verify.Kind) bool {
	return k != verify.Cut && k != verify.Forbidden && k != verify.Unowned
}

func isKind(kind verify.Kind) func(verify.Kind) bool {
	return func(k verify.Kind) bool { return k == kind }
}

// example is one route that is found to be of some kind.
func example(r *sweep.SweepPlan, is func(verify.Kind) bool, m names.Map) string {
	for _, f := range r.Report.Examples {
		if is(f.Kind) {
			n := &r.Topo.Nodes[r.Topo.Switches[f.Switch]]
			return fmt.Sprintf("%v from switch %v %q to LID %v", f.Kind, n.GUID, nodeName(m, n), f.LID)
		}
	}
	return ""
}
