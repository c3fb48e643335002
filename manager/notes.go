package manager

import (
	"fmt"
	"log/slog"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/routing"
	"ibsm/routing/verify"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/topo"
	"ibsm/sweep/view"
)

// Log is something to be told. Args are as slog's.
type Log struct {
	Level slog.Level
	Msg   string
	Args  []any
}

// Entered is a change of this manager's state.
type Entered struct{ State smp.SMState }

// Up is the end of a heavy sweep as master. First is set with the first of them
// that left the subnet up.
type Up struct {
	Summary
	First bool
}

// Swept is the end of a light sweep.
type Swept struct{}

func (Log) action()     {}
func (Entered) action() {}
func (Up) action()      {}
func (Swept) action()   {}

// Summary is a heavy sweep in figures.
type Summary struct {
	Nodes, Switches, Links int
	LIDs                   int
	Active                 int // ports that carry traffic
	Sets                   map[mad.AttrID]int
	Took                   time.Duration
	Longest                int // links of the longest route
	Cut                    int // pairs of a switch and a LID with no cables between
	Bad                    int // routes that do not arrive although cables lead there
	Failures               int
	Errors                 bool // the subnet as a whole did not come up
}

func (c *Core) log(level slog.Level, msg string, args ...any) { c.do(Log{level, msg, args}) }

// tell reports a change of state.
func (c *Core) tell() {
	if s := c.elect.State(); s != c.told && !c.cfg.DryRun {
		c.told = s
		c.do(Entered{s})
	}
}

// findings tells what a walk found out of order, each once as long as it lasts. What
// may only be a link that has just changed is told when the next walk finds it too.
func (c *Core) findings(found *discover.Result) {
	now, silent := map[discover.Finding]bool{}, 0
	for _, f := range found.Findings {
		told, before := c.known[f]
		if !told && (before || f.Kind != discover.OneSided) {
			c.log(warn, f.String())
			if silent < maxTold && f.Kind == discover.Unresponsive {
				silent++
				c.unanswered(smp.AttrNodeInfo, f.Route)
			}
			told = true
		}
		now[f] = told
	}
	for f := range c.known {
		if !now[f] && f.Kind == discover.Unresponsive {
			c.log(info, "no longer the case", "finding", f.String())
		}
	}
	c.known = now
}

// unanswered tells in OpenSM's words of a Get that nobody has answered.
func (c *Core) unanswered(attr mad.AttrID, route mad.Route) {
	for _, text := range osmlog.Unanswered(attr, 0, route) {
		c.log(erro, text)
	}
}

// tellOverflows tells of ports that cannot hold all their P_Keys, each once as long as it
// lasts.
func (c *Core) tellOverflows(r *sweep.Computed) {
	now := map[string]bool{}
	for _, o := range r.Partitions.Overflows {
		text := r.Partitions.Tell(o, r.Topo)
		if now[text] = true; !c.overflows[text] {
			c.log(erro, text)
		}
	}
	c.overflows = now
}

// report tells what a Job came to before anything is written.
func (c *Core) report(r *sweep.Computed) {
	for _, guid := range r.Lost {
		c.log(warn, "node given up: it has not answered for several sweeps", "guid", guid)
	}
	for _, l := range r.Conflicts {
		c.log(warn, "port gets another LID: the one it has is not free", "guid", l.Port, "lid", l.LID, "owner", l.Owner)
	}
	for _, guid := range r.Exhausted {
		c.log(erro, "no LID is left for a port", "guid", guid)
	}
	for _, k := range r.Reclaimed {
		c.log(info, "no LIDs are free: those of an absent port are given away", "guid", k.Port, "lid", k.Base)
	}
	if r.AR > 0 {
		c.log(erro, "adaptive routing is on: no route is written; choose with --ar_mode=disable", "switches", r.AR)
	}
	if r.Err != nil {
		c.log(erro, r.Err.Error())
	}
	c.tellOverflows(r)
	if r.Unused {
		c.log(warn, "links were added, but the routes are another manager's and stay as they are; ask for a reroute to use them")
	}
	if r.Unavoidable > 0 {
		c.log(warn, "unhealthy links are used all the same: without them the subnet would be cut", "links", r.Unavoidable)
	}
	if r.Mended != nil {
		c.log(warn, "routes looped and were cut", "pairs", r.Mended.Count[verify.Loop])
	}
	if r.Report == nil {
		return
	}
	lost, cut := "", ""
	if n := r.Report.Unreached(); n > 0 {
		if lost = c.example(r, false); lost != c.lost {
			c.log(erro, "routes do not arrive although cables lead there", "pairs", n, "example", lost)
		}
	}
	if n := r.Report.Count[verify.Cut]; n > 0 {
		if cut = c.example(r, true); cut != c.cut {
			c.log(warn, "the subnet is cut: no cables between some switches and LIDs", "pairs", n, "example", cut)
		}
	}
	c.lost, c.cut = lost, cut
	c.log(info, osmlog.TablesConfigured(c.cfg.Sweep.EngineName), "kept", r.Keep != routing.KeepNone, "longest", r.Report.Longest)
}

// comings tells which end ports have come and gone between two views. Those of the
// first view of a reign have all just come, and are not told of.
func (c *Core) comings(old, now *view.View) {
	if old == nil {
		return
	}
	was, is := old.Topo.EndPorts, now.Topo.EndPorts
	for len(was)+len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && old.Topo.Ports[was[0]].GUID < now.Topo.Ports[is[0]].GUID:
			c.log(info, osmlog.ReportingGID(smp.TrapGIDOutOfService, old.Subnet.Prefix, old.Topo.Ports[was[0]].GUID))
			c.log(info, c.tellPort(osmlog.RemovedPort, old, was[0]))
			was = was[1:]
		case len(was) == 0 || now.Topo.Ports[is[0]].GUID < old.Topo.Ports[was[0]].GUID:
			c.log(info, osmlog.ReportingGID(smp.TrapGIDInService, now.Subnet.Prefix, now.Topo.Ports[is[0]].GUID))
			c.log(info, c.tellPort(osmlog.DiscoveredPort, now, is[0]))
			is = is[1:]
		default:
			was, is = was[1:], is[1:]
		}
	}
}

// tellPort is a text about an end port.
func (c *Core) tellPort(text func(guid mad.GUID, first, last mad.LID, name string) string, v *view.View, p topo.PortIdx) string {
	port, first := &v.Topo.Ports[p], v.LIDs.Base[p]
	return text(port.GUID, first, first+mad.LID(max(v.LIDs.Count(p), 1)-1), c.name(&v.Topo.Nodes[port.Node]))
}

// name is what the log calls a node.
func (c *Core) name(n *topo.Node) string { return c.cfg.Names.Of(n.GUID, n.Desc.String()) }

// example is one route that is cut, or does not arrive.
func (c *Core) example(r *sweep.Computed, cut bool) string {
	for _, f := range r.Report.Examples {
		if (f.Kind == verify.Cut) == cut {
			n := &r.Topo.Nodes[r.Topo.Switches[f.Switch]]
			return fmt.Sprintf("%v from switch %v %q to LID %v", f.Kind, n.GUID, c.name(n), f.LID)
		}
	}
	return ""
}

// maxTold is how many failures of a kind are told one by one.
const maxTold = 10

// summarise tells how a heavy sweep ended, and returns what went wrong. What went wrong
// in the last one as well is not told aloud again.
func (c *Core) summarise(out *sweep.Outcome) (trouble string) {
	trouble = troubles(out)
	level := warn
	if trouble == c.trouble {
		level = debug
	}
	for i, f := range out.Failures {
		if i == maxTold {
			c.log(level, "further Sets failed", "count", len(out.Failures)-maxTold)
			break
		}
		c.log(level, f.String())
	}
	for i, f := range out.NotHeld {
		if i == maxTold {
			c.log(debug, "further ports do not hold what they acknowledge", "count", len(out.NotHeld)-maxTold)
			break
		}
		c.log(debug, "port does not hold what it was told; it is not told again", "guid", f.Node, "port", f.Port, "fields", f.Fields)
	}
	up := Up{Summary: c.figures(out)}
	up.First = !c.upOnce && !up.Errors
	c.upOnce = c.upOnce || up.First
	c.do(up)
	return trouble
}

func (c *Core) figures(out *sweep.Outcome) Summary {
	t := out.Topo
	s := Summary{
		Nodes: len(t.Nodes), Switches: len(t.Switches), Sets: out.Sets, Took: c.now - c.started,
		Failures: len(out.Failures),
		Errors:   out.Err != nil || out.AR > 0 || out.LIDs.Base[t.Self] == 0,
	}
	for i := range t.Ports {
		p := &t.Ports[i]
		if out.LIDs.Base[i] != 0 {
			s.LIDs += out.LIDs.Count(topo.PortIdx(i))
		}
		if p.Num != 0 && p.Info.PortState() >= smp.PortActive {
			s.Active++
		}
		if p.Peer != topo.None && p.Peer >= topo.PortIdx(i) {
			s.Links++
		}
	}
	if out.Report != nil {
		s.Longest, s.Cut, s.Bad = out.Report.Longest, out.Report.Count[verify.Cut], out.Report.Unreached()
	}
	return s
}

// Progress is where the manager stands, for a display.
type Progress struct {
	Phase sweep.Phase
	Nodes int
	Sent  uint32 // SMPs, since the start
}

// Progress tells where the manager stands.
func (c *Core) Progress() Progress {
	return Progress{c.sweeper.Phase(), c.sweeper.Nodes(), c.actCount}
}
