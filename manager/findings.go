package manager

import (
	"fmt"
	"slices"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/topo"
	"ibsm/view"
)

// findings are the present findings, by the part of the manager that reports them. Each finding is logged when it
// begins and when it ends.
type findings struct {
	walk, plan, routes, program, multicast, vPorts finding.Set
}

// maxLogged is how many findings of a kind are logged one by one when they begin or end together.
const maxLogged = 64

// replace replaces a set of findings, and logs the difference.
func replace(fx *effects, set *finding.Set, now []finding.Finding,
	name func(mad.GUID) string) (began []finding.Finding) {
	was := *set
	*set = finding.Of(now)
	began, ended := set.Since(was)
	logFindings(fx, "", began, name)
	logFindings(fx, "ended: ", ended, name)
	return began
}

// logFindings logs findings that are sorted by kind, with words before their text.
func logFindings(fx *effects, before string, all []finding.Finding, name func(mad.GUID) string) {
	for len(all) > 0 {
		kind := all[0].Kind
		n := slices.IndexFunc(all, func(f finding.Finding) bool { return f.Kind != kind })
		if n < 0 {
			n = len(all)
		}
		of := all[:n]
		all = all[n:]
		level := kind.Level()
		if level == finding.NotLogged {
			continue
		}
		if before != "" {
			level = min(level, info)
		}
		for i := range of[:min(n, maxLogged)] {
			fields := logFields(&of[i], name)
			if level == erro {
				fields = append(fields, "do", kind.Remedy())
			}
			fx.log(level, before+kind.Text(), fields...)
		}
		if n > maxLogged {
			fx.log(level, "further findings of a kind", "kind", kind.Name(), "text", before+kind.Text(), "count",
				n-maxLogged)
		}
	}
}

// logFields are the keys and values of the log line of a finding.
func logFields(f *finding.Finding, name func(mad.GUID) string) (fields []any) {
	if f.Node != 0 {
		fields = append(fields, "guid", f.Node)
		if text := name(f.Node); text != "" {
			fields = append(fields, "name", text)
		}
	}
	if f.Port != 0 {
		fields = append(fields, "port", f.Port)
	}
	if f.Detail != "" {
		fields = append(fields, "detail", f.Detail)
	}
	return append(fields, f.Fields...)
}

// namesIn names the nodes of a subnet by their GUIDs; "" for one that is not there.
func namesIn(t *topo.Topo, m names.Map) func(mad.GUID) string {
	return func(guid mad.GUID) string {
		n := t.FindNode(guid)
		if n == topo.None {
			return ""
		}
		return nodeName(m, &t.Nodes[n])
	}
}

// nameNode names a node of the published subnet by its GUID; "" for one that is not there.
func (c *Core) nameNode(guid mad.GUID) string {
	if c.published.view == nil {
		return ""
	}
	return namesIn(c.published.view.Topo, c.cfg.Names)(guid)
}

// walked logs what a walk found. What may only be a link that has just changed is logged when the next walk finds it
// too.
func (l *sweepLog) walked(fx *effects, found *discover.Result, m names.Map) {
	var now []finding.Finding
	oneSided := map[discover.Finding]bool{}
	for i := range found.Findings {
		f := &found.Findings[i]
		if f.Kind == finding.OneSided {
			oneSided[*f] = true
		}
		if f.Kind != finding.OneSided || l.oneSided[*f] {
			now = append(now, f.Finding())
		}
	}
	if l.oneSided = oneSided; !found.Quick || found.Retry {
		l.strange = found.Strange()
	}
	if found.FindingsMore > 0 {
		fx.log(warn, "a sweep had more findings than are reported", "count", found.FindingsMore)
	}
	unanswered := 0
	for _, f := range replace(fx, &l.walk, atLimit(l.walk.All(), now), func(guid mad.GUID) string {
		n, known := found.Builder.Find(guid)
		if !known {
			return ""
		}
		return nodeName(m, found.Builder.Node(n))
	}) {
		if f.Kind != finding.Unresponsive || unanswered == maxNodeInfos {
			continue
		}
		unanswered++
		at := slices.IndexFunc(found.Findings, func(o discover.Finding) bool {
			return o.Kind == f.Kind && o.GUID == f.Node && o.Port == f.Port
		})
		logUnanswered(fx, smp.AttrNodeInfo, found.Findings[at].Route)
	}
}

// atLimit are the findings of a walk. Of a kind of which this walk and the one before had as many as a walk keeps, it
// is chance which these are: those of the one before stand for them.
func atLimit(was, now []finding.Finding) []finding.Finding {
	count := map[finding.Kind][2]int{}
	for i, all := range [...][]finding.Finding{was, now} {
		for j := range all {
			n := count[all[j].Kind]
			n[i]++
			count[all[j].Kind] = n
		}
	}
	isFull := func(f finding.Finding) bool {
		n := count[f.Kind]
		return n[0] >= discover.MaxFindings && n[1] >= discover.MaxFindings
	}
	now = slices.DeleteFunc(now, isFull)
	return append(now, slices.DeleteFunc(slices.Clone(was), func(f finding.Finding) bool { return !isFull(f) })...)
}

// maxNodeInfos is how many NodeInfos without an answer are logged in OpenSM's words after a walk.
const maxNodeInfos = 10

// logUnanswered logs an unanswered Get in OpenSM's words.
func logUnanswered(fx *effects, attr mad.AttrID, route mad.Route) {
	for _, text := range osmlog.Unanswered(attr, 0, route) {
		fx.log(erro, text)
	}
}

// programFindings are what the Sets of a sweep have not brought about.
func programFindings(out *sweep.Outcome, m names.Map) []finding.Finding {
	return slices.Concat(switchFindings(out, m), out.Failures, out.NotKept)
}

// finished logs how a heavy sweep ended that took a time, with what its program found. It keeps that slice.
func (l *sweepLog) finished(fx *effects, out *sweep.Outcome, program []finding.Finding, took time.Duration,
	m names.Map) {
	replace(fx, &l.program, program, namesIn(out.Topo, m))
	up := Up{Summary: summary(out, took)}
	up.First = !l.up && !up.Errors
	l.up = l.up || up.First
	fx.do(up)
}

// viewFindings are all findings of a heavy sweep, each at the port that leads to it, and how many more there are.
func (l *sweepLog) viewFindings(out *sweep.Outcome, program []finding.Finding) (all []finding.Finding, more int) {
	sets := [...][]finding.Finding{l.plan.All(), l.routes.All(), program}
	size := len(out.Found.Findings)
	for _, set := range sets {
		size += len(set)
	}
	all = make([]finding.Finding, 0, min(size, view.MaxFindings))
	for _, set := range sets {
		all = append(all, set[:min(len(set), view.MaxFindings-len(all))]...)
	}
	for i := range out.Found.Findings[:min(len(out.Found.Findings), view.MaxFindings-len(all))] {
		all = append(all, out.Found.Findings[i].In(out.Topo))
	}
	all, more = withMulticast(all, size-len(all)+out.Found.FindingsMore, l.multicast)
	return withVPorts(all, more, l.vPorts)
}

// withMulticast are the findings of a view with others of multicast, and how many more there are.
func withMulticast(all []finding.Finding, more int, multicast finding.Set) ([]finding.Finding, int) {
	return with(all, more, multicast, finding.Kind.OfMulticast)
}

// withVPorts are likewise those with others of vPorts.
func withVPorts(all []finding.Finding, more int, vPorts finding.Set) ([]finding.Finding, int) {
	return with(all, more, vPorts, finding.Kind.OfVPorts)
}

// with are findings with a set in place of those of its kinds.
func with(all []finding.Finding, more int, set finding.Set, is func(finding.Kind) bool) ([]finding.Finding, int) {
	now := slices.Clone(set.All())
	for _, f := range all {
		if !is(f.Kind) {
			now = append(now, f)
		}
	}
	size := min(len(now), view.MaxFindings)
	return now[:size], more + len(now) - size
}

// placeOf names the port of a finding, or its node.
func placeOf(t *topo.Topo, f *finding.Finding) string {
	text := fmt.Sprintf("node %v", f.Node)
	if n := t.FindNode(f.Node); n != topo.None {
		text += fmt.Sprintf(" %q", t.Nodes[n].Desc.String())
	}
	if f.Port != 0 {
		text += fmt.Sprintf(" port %d", f.Port)
	}
	return text
}
