package manager

import (
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/routing/verify"
	"ibsm/sweep"
	"ibsm/sweep/discover"
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
	lost, cut string                    // examples of routes
	up        bool                      // SUBNET UP was logged
}

// walked logs what a walk found out of order. What may only be a link that has just changed is
// logged when the next walk finds it too.
func (l *sweepLog) walked(fx *effects, found *discover.Result) {
	now, silent := map[discover.Finding]bool{}, 0
	for _, f := range found.Findings {
		logged, before := l.findings[f]
		if !logged && (before || f.Kind != discover.OneSided) {
			fx.log(warn, f.String())
			if silent < maxLogged && f.Kind == discover.Unresponsive {
				silent++
				logUnanswered(fx, smp.AttrNodeInfo, f.Route)
			}
			logged = true
		}
		now[f] = logged
	}
	var ended []string
	for f := range l.findings {
		if !now[f] && f.Kind == discover.Unresponsive {
			ended = append(ended, f.String())
		}
	}
	slices.Sort(ended)
	for _, f := range ended {
		fx.log(info, "no longer the case", "finding", f)
	}
	l.findings = now
}

// logUnanswered logs in OpenSM's words a Get that nobody has answered.
func logUnanswered(fx *effects, attr mad.AttrID, route mad.Route) {
	for _, text := range osmlog.Unanswered(attr, 0, route) {
		fx.log(erro, text)
	}
}

// maxLogged is how many failures of a kind are logged one by one.
const maxLogged = 10

// finished logs how a heavy sweep ended that took a time. again says that the same went wrong
// as in the last one.
func (l *sweepLog) finished(fx *effects, out *sweep.Outcome, took time.Duration, again bool) {
	level := warn
	if again {
		level = debug
	}
	for i, f := range out.Failures {
		if i == maxLogged {
			fx.log(level, "further Sets failed", "count", len(out.Failures)-maxLogged)
			break
		}
		fx.log(level, f.String())
	}
	for i, f := range out.NotHeld {
		if i == maxLogged {
			fx.log(debug, "further ports do not hold what they acknowledge", "count", len(out.NotHeld)-maxLogged)
			break
		}
		fx.log(debug, "port does not hold what it was told; it is not told again", "guid", f.Node, "port", f.Port, "fields", f.Fields)
	}
	up := Up{Summary: summary(out, took)}
	up.First = !l.up && !up.Errors
	l.up = l.up || up.First
	fx.do(up)
}

// logOverflows logs ports that cannot hold all their P_Keys.
func (l *sweepLog) logOverflows(fx *effects, r *sweep.Computed) {
	now := map[string]bool{}
	for _, o := range r.Partitions.Overflows {
		text := r.Partitions.Explain(o, r.Topo)
		if now[text] = true; !l.overflows[text] {
			fx.log(erro, text)
		}
	}
	l.overflows = now
}

// logUnforced logs links whose width and speed cannot be forced.
func (l *sweepLog) logUnforced(fx *effects, r *sweep.Computed, m names.Map) {
	links := r.Plan.Unforced()
	text := ""
	if len(links) > 0 {
		p := &r.Topo.Ports[links[0]]
		text = fmt.Sprintf("links that would not come up again with force_link_width, force_link_speed and force_link_speed_ext keep what they have: %d, as port %d of %q",
			len(links), p.Num, nodeName(m, &r.Topo.Nodes[p.Node]))
	}
	if text != l.unforced && text != "" {
		fx.log(warn, text)
	}
	l.unforced = text
}

// computed logs what a Job came to before anything is written.
func (l *sweepLog) computed(fx *effects, r *sweep.Computed, engine string, m names.Map) {
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
		fx.log(info, "no LIDs are free: those of an absent port are given away", "guid", k.Port, "lid", k.Base)
	}
	if r.AR > 0 {
		fx.log(erro, "adaptive routing is on: no route is written; choose with --ar_mode=disable", "switches", r.AR)
	}
	if r.Err != nil {
		fx.log(erro, r.Err.Error())
	}
	l.logOverflows(fx, r)
	l.logUnforced(fx, r, m)
	if r.Unused {
		fx.log(warn, "links were added, but the routes are another manager's and stay as they are; ask for a reroute to use them")
	}
	if r.Unavoidable > 0 {
		fx.log(warn, "unhealthy links are used all the same: without them the subnet would be cut", "links", r.Unavoidable)
	}
	if r.Mended != nil {
		fx.log(warn, "routes looped and were cut", "pairs", r.Mended.Count[verify.Loop])
	}
	if r.Report == nil {
		return
	}
	lost, cut := "", ""
	if n := r.Report.Unreached(); n > 0 {
		if lost = example(r, false, m); lost != l.lost {
			fx.log(erro, "routes do not arrive although cables lead there", "pairs", n, "example", lost)
		}
	}
	if n := r.Report.Count[verify.Cut]; n > 0 {
		if cut = example(r, true, m); cut != l.cut {
			fx.log(warn, "the subnet is cut: no cables between some switches and LIDs", "pairs", n, "example", cut)
		}
	}
	l.lost, l.cut = lost, cut
	fx.log(info, osmlog.TablesConfigured(engine), "kept", r.Keep != routing.KeepNone, "longest", r.Report.Longest)
}

// example is one route that is cut, or does not arrive.
func example(r *sweep.Computed, cut bool, m names.Map) string {
	for _, f := range r.Report.Examples {
		if (f.Kind == verify.Cut) == cut {
			n := &r.Topo.Nodes[r.Topo.Switches[f.Switch]]
			return fmt.Sprintf("%v from switch %v %q to LID %v", f.Kind, n.GUID, nodeName(m, n), f.LID)
		}
	}
	return ""
}

// troubles is what went wrong in a sweep, in an order that makes two of them comparable.
// grave says that only a full walk tells whether it has passed; for the rest, light sweeps ask.
func troubles(out *sweep.Outcome) (text string, grave bool) {
	var all []string
	for _, f := range out.Failures {
		all = append(all, f.String())
	}
	grave = len(all) > 0 || out.Found.Moved || out.Err != nil
	for _, f := range out.Found.Findings {
		switch f.Kind {
		case discover.UnreadPKeys:
			grave = true
			fallthrough
		case discover.Unresponsive, discover.Incomplete, discover.Refused, discover.RefusedPKeys:
			all = append(all, f.String())
		}
	}
	if out.Found.Moved {
		all = append(all, "links changed while they were walked")
	}
	if out.Err != nil {
		all = append(all, out.Err.Error())
	}
	sort.Strings(all)
	return strings.Join(all, "; "), grave
}
