package manager

import (
	"log/slog"
	"runtime"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/routing/verify"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/topo"
)

// Log is something to be told. Args are as slog's, and PC is the line of code that tells.
type Log struct {
	Level slog.Level
	Msg   string
	Args  []any
	PC    uintptr
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

// Notification is an Action that is more than a line of the log: Shell.Tell is given it.
type Notification interface {
	Action
	notification()
}

func (Entered) notification()  {}
func (Up) notification()       {}
func (Swept) notification()    {}
func (Show) notification()     {}
func (Planned) notification()  {}
func (Keep) notification()     {}
func (Stranger) notification() {}
func (Unlist) notification()   {}

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

func (c *Core) log(level slog.Level, msg string, args ...any) {
	var pc [1]uintptr
	runtime.Callers(2, pc[:]) // of who called this
	c.do(Log{level, msg, args, pc[0]})
}

// tell reports a change of state.
func (c *Core) tell() {
	if s := c.elect.State(); s != c.told && !c.cfg.DryRun {
		c.told = s
		c.reigns = c.reigns && s == smp.Master
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
	var ended []string
	for f := range c.known {
		if !now[f] && f.Kind == discover.Unresponsive {
			ended = append(ended, f.String())
		}
	}
	slices.Sort(ended)
	for _, f := range ended {
		c.log(info, "no longer the case", "finding", f)
	}
	c.known = now
}

// unanswered tells in OpenSM's words of a Get that nobody has answered.
func (c *Core) unanswered(attr mad.AttrID, route mad.Route) {
	for _, text := range osmlog.Unanswered(attr, 0, route) {
		c.log(erro, text)
	}
}

// maxTold is how many failures of a kind are told one by one.
const maxTold = 10

// summarise tells how a heavy sweep ended, and returns what went wrong. What went wrong
// in the last one as well is not told aloud again.
func (c *Core) summarise(out *sweep.Outcome) (trouble string, grave bool) {
	trouble, grave = troubles(out)
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
	return trouble, grave
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
