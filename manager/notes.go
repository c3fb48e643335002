package manager

import (
	"log/slog"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/verify"
	"ibsm/sweep"
	"ibsm/topo"
)

// Log is a line of the log. Args are as slog's, and PC is the line of code that logs it.
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

// Notification is an Action that is more than a line of the log: Shell.Notify is given it.
type Notification interface {
	Action
	notification()
}

func (Entered) notification()       {}
func (Up) notification()            {}
func (Swept) notification()         {}
func (Show) notification()          {}
func (Planned) notification()       {}
func (Persist) notification()       {}
func (ForeignMaster) notification() {}
func (ClearIsSM) notification()     {}

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
	// routes that the engine's rules forbid and no host needs; those that connect_roots would give
	Forbidden, Connects int
	ByRules             string // these two in words
	CreditLoop          int    // links of a credit loop among the routes; 0 if they have none
	Failures            int
	Errors              bool // the subnet as a whole did not come up
}

// summary is a heavy sweep that took a time in figures.
func summary(out *sweep.Outcome, took time.Duration) Summary {
	t := out.Topo
	s := Summary{
		Nodes: len(t.Nodes), Switches: len(t.Switches), Sets: out.Sets, Took: took,
		Failures: len(out.Failures),
		Errors:   out.Err != nil || out.RoutesHeld() || out.LIDs.Base[t.Self] == 0,
	}
	for i := range t.Ports {
		p := &t.Ports[i]
		s.LIDs += out.LIDs.Count(topo.PortIdx(i))
		if p.Num != 0 && p.Info.PortState() >= smp.PortActive {
			s.Active++
		}
		if p.Peer != topo.None && p.Peer >= topo.PortIdx(i) {
			s.Links++
		}
	}
	if out.Report != nil {
		s.Longest, s.Cut, s.Bad = out.Report.Longest, out.Report.Count[verify.Cut], out.Report.Unreached()
		s.Forbidden, s.Connects, s.ByRules = out.Report.Count[verify.Forbidden], out.Report.Connects,
			out.Report.ByRules(out.Engine)
		s.CreditLoop = len(out.CreditLoop)
	}
	return s
}

// Progress is where the manager stands, for a display.
type Progress struct {
	Phase Phase
	Nodes int
	Sent  uint32 // SMPs, since the start
}

// Progress returns where the manager stands.
func (c *Core) Progress() Progress {
	phase, nodes, _ := c.sweeps.progress()
	if phase == Idle && c.sweeps.plan.computes() {
		phase = Computing
	}
	return Progress{phase, nodes, c.sent}
}
