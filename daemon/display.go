package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/plural"
	"ibsm/sweep"
)

// display is what a person sees on standard output: the log's SYS lines, as OpenSM
// prints them, and on a terminal the progress of a sweep and a summary.
type display struct {
	w        *os.File
	terminal bool
	quiet    bool // the log itself goes to standard output
	json     bool // a plan is printed for programs
	shown    bool // a progress line is on the screen
	last     time.Time
	steps    int
}

// every is how often the progress line is renewed.
const every = 100 * time.Millisecond

// newDisplay is quiet where the log itself goes to standard output, and shows no
// progress where commands are typed.
func newDisplay(w *os.File, quiet, commands bool) *display {
	return &display{w: w, quiet: quiet, terminal: !quiet && !commands && isTerminal(w) && os.Getenv("TERM") != "dumb"}
}

// line prints a line that stays.
func (d *display) line(text string) {
	if d.quiet {
		return
	}
	d.clear()
	fmt.Fprintln(d.w, text)
}

func (d *display) clear() {
	if d.shown {
		fmt.Fprint(d.w, "\r\x1b[K")
		d.shown = false
	}
}

// up shows what a sweep that has ended came to.
func (d *display) up(u manager.Up) {
	if d.terminal && (u.First || len(u.Sets) > 0) {
		d.line(fmt.Sprintf("  %s (%s), %s, %s active, %s, longest route %s", plural.Of(u.Nodes, "node"),
			plural.Of(u.Switches, "switch"),
			plural.Of(u.Links, "link"), plural.Of(u.Active, "port"), plural.Of(u.LIDs, "LID"),
			plural.Of(u.Longest, "link")))
		d.line(fmt.Sprintf("  written: %s; took %v", u.SetsText(), u.Took.Round(time.Millisecond)))
		if u.CreditLoop > 0 {
			d.line(fmt.Sprintf("  routes have a credit loop of %s: ibsmctl why", plural.Of(u.CreditLoop, "link")))
		}
		if u.Failures+u.Cut+u.Bad > 0 {
			d.line(fmt.Sprintf("  errors: %s failed, %s of switch and LID disconnected, %s (see the log)",
				plural.Of(u.Failures, "Set"),
				plural.Of(u.Cut, "pair"), plural.With(u.Bad, "destination unreachable although cabled",
					"destinations unreachable although cabled")))
		}
	}
}

// plan prints what a dry run would write: a summary, an empty line, and each Set.
func (d *display) plan(s manager.Show) {
	d.clear()
	if d.json {
		out := json.NewEncoder(d.w)
		out.SetEscapeHTML(false)
		_ = out.Encode(dryRun(s.Plan)) // an error cannot be reported
		return
	}
	c := s.Plan
	lids := 0
	for _, p := range c.Topo.EndPorts {
		if c.LIDs.Base[p] != 0 && c.LIDs.Base[p] != c.Topo.Ports[p].Info.LID() {
			lids++
		}
	}
	fmt.Fprintf(d.w, "%s (%s); %s would get another LID\n", plural.Of(len(c.Topo.Nodes), "node"),
		plural.Of(len(c.Topo.Switches), "switch"), plural.Of(lids, "port"))
	routes := manager.RoutingOf(c)
	fmt.Fprintf(d.w, "routes: %s\n", server.RoutesText(&routes))
	for _, line := range c.Summary() {
		fmt.Fprintln(d.w, line)
	}
	fmt.Fprintln(d.w)
	n := 0
	for step := range c.Steps {
		fmt.Fprintln(d.w, step)
		n++
	}
	for _, text := range planWarnings(c) {
		fmt.Fprintln(d.w, text)
	}
	fmt.Fprintf(d.w, "%s would be sent; nothing was written\n", plural.Of(n, "Set"))
}

// planWarnings are the warnings about the routes of a plan.
func planWarnings(c *sweep.SweepPlan) (lines []string) {
	if text := manager.CreditLoop(c, nil); text != "" {
		lines = append(lines, "warning: "+text)
	}
	for _, text := range []string{manager.Fitting(c), manager.Transition(c, nil)} {
		if text != "" {
			lines = append(lines, "note: "+text)
		}
	}
	return lines
}

// dryRun is a plan for programs.
func dryRun(c *sweep.SweepPlan) *ctl.DryRun {
	routes := manager.RoutingOf(c)
	out := &ctl.DryRun{
		Nodes: len(c.Topo.Nodes), Switches: len(c.Topo.Switches),
		Port: c.Topo.Ports[c.Topo.Self].GUID.String(), Routes: server.RoutesText(&routes),
		LIDs: map[string]mad.LID{}, SMs: []ctl.SM{}, Moves: ctl.Moves{LIDs: []ctl.LIDMove{}},
		Summary: c.Summary(), Sets: slices.Collect(c.Steps), Warnings: planWarnings(c),
	}
	for _, p := range c.Topo.EndPorts {
		if lid := c.Topo.Ports[p].Info.LID(); lid.IsUnicast() {
			out.LIDs[c.Topo.Ports[p].GUID.String()] = lid
		}
	}
	for _, sm := range c.Found().SMs {
		info := &sm.Info
		out.SMs = append(out.SMs, ctl.SM{GUID: sm.Port.String(), LID: sm.LID, Priority: info.Priority(),
			State: info.SMState().String(), ActCount: info.ActCount()})
	}
	moves, lanes := c.Moves()
	out.Moves.Entries, out.Moves.PKeys, out.Moves.Lanes = moves.Entries, moves.PKeys, lanes
	for _, m := range moves.LIDs {
		out.Moves.LIDs = append(out.Moves.LIDs, ctl.LIDMove{Port: m.Port.String(), Was: m.Was, Now: m.Now})
	}
	return out
}

// progress shows where a sweep stands.
func (d *display) progress(p manager.Progress) {
	if d.steps++; !d.terminal || d.steps%16 != 0 || time.Since(d.last) < every {
		return
	}
	d.last = time.Now()
	d.clear()
	fmt.Fprintf(d.w, "%v: ", p.Phase)
	if p.Nodes > 0 {
		fmt.Fprintf(d.w, "%s, ", plural.Of(p.Nodes, "node"))
	}
	fmt.Fprintf(d.w, "%d SMPs sent", p.Sent)
	d.shown = true
}
