package manager

import (
	"slices"
	"sort"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/sweep"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/topo"
	"ibsm/view"
)

// walked logs what a walk found out of order. What may only be a link that has just changed is
// logged when the next walk finds it too.
func (l *sweepLog) walked(fx *effects, found *discover.Result) {
	now, unresponsive := map[discover.Finding]bool{}, 0
	for _, f := range found.Findings {
		logged, before := l.findings[f]
		if !logged && (before || f.Kind != discover.OneSided) {
			level := warn
			if f.Kind == discover.OwnPorts {
				level = info
			}
			fx.log(level, f.String())
			if unresponsive < maxLogged && f.Kind == discover.Unresponsive {
				unresponsive++
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
		fx.log(info, "finding resolved", "finding", f)
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
			fx.log(debug, "further ports ignore fields that were set", "count", len(out.NotHeld)-maxLogged)
			break
		}
		fx.log(debug, "port ignores fields that were set; they are not set again", "guid", f.Node, "port", f.Port, "fields", f.Fields)
	}
	l.logNotAdaptive(fx, out)
	l.logLanesLeft(fx, out)
	l.logGivenUp(fx, out)
	up := Up{Summary: summary(out, took)}
	up.First = !l.up && !up.Errors
	l.up = l.up || up.First
	fx.do(up)
}

// logGivenUp logs what devices did not take and are not sent any more.
func (l *sweepLog) logGivenUp(fx *effects, out *sweep.Outcome) {
	now, logged := map[device.Place]bool{}, 0
	for _, at := range out.GivenUp {
		if now[at] = true; l.givenUp[at] {
			continue
		}
		if logged++; logged > maxLogged {
			continue
		}
		args := []any{"attribute", smp.AttrName(at.Attr), "guid", at.Node}
		if n := out.Topo.FindNode(at.Node); n != topo.None {
			args = append(args, "name", out.Topo.Nodes[n].Desc.String())
		}
		if at.Port != device.AllPorts {
			args = append(args, "port", at.Port)
		}
		fx.log(warn, "a device does not take an attribute; it is not sent any more", args...)
	}
	if logged > maxLogged {
		fx.log(warn, "further devices do not take attributes", "count", logged-maxLogged)
	}
	l.givenUp = now
}

// troubles is what went wrong in a sweep, in an order that makes two of them comparable.
// grave says that only a full walk shows whether it has passed; for the rest, light sweeps ask.
func troubles(out *sweep.Outcome) (text string, grave bool) {
	var all []string
	for _, f := range out.Failures {
		all = append(all, f.String())
		grave = grave || f.Kind != view.Excluded // what excludes a port is a failure, or a table that light sweeps ask for
	}
	grave = grave || out.Found.Moved || out.Err != nil
	for _, f := range out.Found.Findings {
		switch f.Kind {
		case discover.Unresponsive, discover.Incomplete, discover.Refused, discover.RefusedPKeys, discover.UnreadPKeys:
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
