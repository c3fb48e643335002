package daemon

import (
	"fmt"
	"os"
	"time"

	"ibsm/manager"
)

// display is what a person sees on standard output: the log's SYS lines, as OpenSM
// prints them, and on a terminal the progress of a sweep and a summary.
type display struct {
	w        *os.File
	terminal bool
	quiet    bool // the log itself goes to standard output
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
		d.line(fmt.Sprintf("  %d nodes (%d switches), %d links, %d ports active, %d LIDs, longest route %d links",
			u.Nodes, u.Switches, u.Links, u.Active, u.LIDs, u.Longest))
		d.line(fmt.Sprintf("  written: %s; took %v", u.SetsText(), u.Took.Round(time.Millisecond)))
		if u.CreditLoop > 0 {
			d.line(fmt.Sprintf("  routes have a credit loop of %d links: ibsmctl why", u.CreditLoop))
		}
		if u.Failures+u.Cut+u.Bad > 0 {
			d.line(fmt.Sprintf("  errors: %d Sets failed, %d pairs of switch and LID disconnected, %d routes do not arrive (see the log)", u.Failures, u.Cut, u.Bad))
		}
	}
}

// plan prints what a dry run would write: a summary, an empty line, and each Set.
func (d *display) plan(s manager.Show) {
	d.clear()
	c := s.Plan
	lids := 0
	for _, p := range c.Topo.EndPorts {
		if c.LIDs.Base[p] != 0 && c.LIDs.Base[p] != c.Topo.Ports[p].Info.LID() {
			lids++
		}
	}
	fmt.Fprintf(d.w, "%d nodes (%d switches); %d ports would get another LID\n", len(c.Topo.Nodes), len(c.Topo.Switches), lids)
	routes := manager.RoutingOf(c)
	fmt.Fprintf(d.w, "routes: %v\n", &routes)
	for _, line := range c.Summary() {
		fmt.Fprintln(d.w, line)
	}
	fmt.Fprintln(d.w)
	n := 0
	for step := range c.Steps {
		fmt.Fprintln(d.w, step)
		n++
	}
	if text := manager.CreditLoop(s.Plan, nil); text != "" {
		fmt.Fprintln(d.w, "warning:", text)
	}
	if text := manager.Fitting(s.Plan); text != "" {
		fmt.Fprintln(d.w, "note:", text)
	}
	if text := manager.Transition(s.Plan, nil); text != "" {
		fmt.Fprintln(d.w, "note:", text)
	}
	fmt.Fprintf(d.w, "%d Sets would be sent; nothing was written\n", n)
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
		fmt.Fprintf(d.w, "%d nodes, ", p.Nodes)
	}
	fmt.Fprintf(d.w, "%d SMPs sent", p.Sent)
	d.shown = true
}
