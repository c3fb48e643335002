package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ibsm/ctl"
)

// tallScreen is how many lines are filled where there is no screen.
const tallScreen = 60

// render is the screen of a width and height in lines; with height 0 it ends where there is
// nothing more to say, tallScreen lines or so down.
func render(v *topView, width, height int) []line {
	lines := append(v.head(), line{v.tabs(width), faint})
	room := height - len(lines) - 1 // the last line is the help
	if height == 0 {
		room = tallScreen
	}
	if room > 0 {
		body := v.body(width, room)
		lines = append(lines, body[:min(len(body), room)]...)
	}
	if height > 0 {
		for len(lines) < height-1 {
			lines = append(lines, line{})
		}
		lines = append(lines, line{v.help(), faint})
		lines = lines[:min(len(lines), height)]
	}
	for i := range lines {
		lines[i].text = cut(printable(lines[i].text), width)
		if lines[i].style == reverse {
			lines[i].text += strings.Repeat(" ", max(0, width-utf8.RuneCountInString(lines[i].text)))
		}
	}
	return lines
}

// head is the upper part of the screen: the manager, its subnet, its sweeps, its requests
// and those of others.
func (v *topView) head() []line {
	st := v.now.Status
	state := st.State
	if st.State == "" {
		state = "WAITING"
	}
	title := fmt.Sprintf("ibsm %s  %s  up %v  %s  %s", st.Version, state, v.ago(st.Started), st.Where,
		v.now.Time.Local().Format(time.TimeOnly))
	switch {
	case v.trouble != "":
		title = "NO ANSWER: " + v.trouble + "  " + title
	case v.paused:
		title += "  PAUSED"
	}
	var lines []line
	for _, text := range st.Troubles() {
		lines = append(lines, line{text, alarm})
	}
	if v.takeover != "" {
		lines = append(lines, line{v.takeover, alarm})
	}
	lines = append(lines, line{title, reverse})
	if st.Waiting != "" {
		lines = append(lines, line{"waiting  " + st.Waiting, alarm})
	}
	if s := st.Subnet; s != nil {
		lines = append(lines, line{"subnet   " + subnetText(s), plain}, line{"ports    " + states(s.Ports), plain})
		if s.Missing > 0 {
			lines[len(lines)-2].style = alarm
		}
	}
	lines = append(lines, v.sweeps()...)
	lines = append(lines,
		line{fmt.Sprintf("SMPs     %s sent, %s retried, %s timed out; %d of %d on the wire%s; %s traps",
			v.perSecond(func(a *ctl.Activity) uint64 { return a.SMPs.Sent }), v.perSecond(func(a *ctl.Activity) uint64 {
				return a.SMPs.Retries
			}),
			v.perSecond(func(a *ctl.Activity) uint64 {
				return a.SMPs.TimedOut
			}), v.now.SMPs.OnWire, v.now.SMPs.Window, pathText(&v.now.SMPs), v.perSecond(traps)), plain})
	text := fmt.Sprintf("SA       %s answered, %s refused, %s dropped", v.perSecond(func(a *ctl.Activity) uint64 {
		return replies(a, "", ok)
	}),
		v.perSecond(refusals), v.perSecond(func(a *ctl.Activity) uint64 { return drops(a, "") }))
	text += numbers("; wait: ", count{v.now.SA.Transfers.UnderWay, "tables"},
		count{v.now.SA.Registrations.RepliesWaiting, "replies"},
		count{v.now.SA.Registrations.ReportsWaiting, "reports"})
	lines = append(lines, line{text, plain})
	if times := v.timesText(); times != "" {
		lines = append(lines, line{times, plain})
	}
	return append(lines, line{"standby  " + v.standby(), plain})
}

// count is a number of things.
type count struct {
	n    int
	what string
}

// numbers are those of the counts that are not 0, after a head; "" where all are.
func numbers(head string, all ...count) (text string) {
	for _, c := range all {
		if c.n != 0 {
			text += fmt.Sprintf("%s%d %s", head, c.n, c.what)
			head = ", "
		}
	}
	return text
}

// subnetText is the subnet in figures.
func subnetText(s *ctl.SubnetStatus) string {
	return fmt.Sprintf("generation %d", s.Generation) + numbers(": ", count{s.Switches, "switches"},
		count{s.CAs, "CAs"}, count{s.Routers, "routers"},
		count{s.Links, "links"}, count{s.LIDs, "LIDs"}, count{s.Missing, "unresponsive nodes"})
}

// sweeps are how sweeps went.
func (v *topView) sweeps() []line {
	st := v.now.Status
	kinds := make([]count, 0, 4)
	for _, kind := range []string{"light", "quick", "heavy", "plan"} {
		kinds = append(kinds, count{int(v.now.Sweeps[kind]), kind})
	}
	lines := []line{{"sweeps   " + st.Phase + numbers("; since start ", kinds...), plain}}
	var phases []string
	for _, p := range v.now.Phases {
		if p.Count > 0 {
			phases = append(phases, fmt.Sprintf("%s %s", p.Phase, brief(p.Seconds/float64(p.Count))))
		}
	}
	if phases != nil {
		lines = append(lines, line{"mean     " + strings.Join(phases, ", "), plain})
	}
	if s := st.Sweep; s != nil {
		lines = append(lines, v.lastSweep(s))
	}
	return lines
}

// lastSweep is how the last heavy sweep ended.
func (v *topView) lastSweep(s *ctl.SweepStatus) line {
	text, style := fmt.Sprintf("SUBNET UP %v ago in %s", v.ago(s.Ended), brief(s.Seconds)), plain
	if !s.Up {
		text, style = fmt.Sprintf("errors during initialization %v ago", v.ago(s.Ended)), alarm
	}
	if wrong := numbers("; ", count{s.Failures, "Sets failed"}, count{s.Cut, "pairs disconnected"},
		count{s.Lost, "routes lost"}); wrong != "" {
		return line{"last     " + text + wrong, alarm}
	}
	return line{"last     " + text + "; Sets: " + s.Sets, style}
}

// brief is a time in seconds in few characters.
func brief(seconds float64) string {
	if seconds < 1 {
		return fmt.Sprintf("%.0fms", seconds*1000)
	}
	return fmt.Sprintf("%.1fs", seconds)
}

// perSecond is how often something happens.
func (v *topView) perSecond(count func(*ctl.Activity) uint64) string {
	return rateText(v.rate(count)) + "/s"
}

func rateText(rate float64) string {
	switch {
	case rate < 0:
		return "-"
	case rate == 0:
		return "0"
	case rate < 10:
		return fmt.Sprintf("%.1f", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}

// standby is the manager that takes over when the master dies.
func (v *topView) standby() string {
	sms := v.now.Status.SMs
	next, others := slices.IndexFunc(sms, func(m ctl.SM) bool { return m.NextMaster }), len(sms)-1
	if next < 0 {
		return "none"
	}
	m := &sms[next]
	text := fmt.Sprintf("%s %s priority %d", m.GUID, m.State, m.Priority)
	if next == 0 {
		text = "this manager"
	}
	if note := mirrorNote(m); note != "" {
		text += ", " + note
	}
	if others > 1 {
		text += fmt.Sprintf("; %d managers in total", others+1)
	}
	return text
}

// tabs names the pages.
func (v *topView) tabs(width int) string {
	var b strings.Builder
	for i, name := range pageNames {
		open, shut := " ", " "
		if page(i) == v.page {
			open, shut = "[", "]"
		}
		fmt.Fprintf(&b, "%s%d %s%s ", open, i+1, name, shut)
	}
	text := strings.TrimRight(b.String(), " ")
	return text + " " + strings.Repeat("-", max(0, width-utf8.RuneCountInString(text)-1))
}

func (v *topView) help() string {
	return fmt.Sprintf("q quit  p pause  s sort (%s)  1-%d, Tab page", orderNames[v.order], numPages)
}

// body is the page that was chosen, in room lines or more.
func (v *topView) body(width, room int) []line {
	switch v.page {
	case pageSA:
		times := v.timesTable(width)
		return append(times, v.saTable(width, room-len(times))...)
	case pageClients:
		return v.clientTable(width)
	case pageChanges:
		return v.changes(room)
	case pageEvents:
		return eventLines(v.events, room)
	case pageManagers:
		return v.managers(width)
	}
	return v.overview(width, room)
}

// overview is the first of each page. What there is none of leaves its room to the others.
func (v *topView) overview(width, room int) (lines []line) {
	part := max(2, room/3)
	lines = append(lines, v.saTable(width, part)...)
	if clients := v.clientTable(width); len(v.now.Clients.Most) > 0 && room >= 18 {
		lines = append(lines, clients[:min(len(clients), part)]...)
	}
	lines = append(lines, line{"CHANGES OF THE SUBNET", bold})
	lines = append(lines, v.changes(part-1)...)
	lines = append(lines, line{"WARNINGS", bold})
	if warnings := v.warnings(); len(warnings) > 0 {
		return append(lines, eventLines(warnings, max(0, room-len(lines)))...)
	}
	return append(lines, line{"none", plain})
}

// tableLines are those of a table, the head bold.
func tableLines(t *table, width int) (lines []line) {
	var b bytes.Buffer
	t.print(&b, width)
	for text := range strings.Lines(b.String()) {
		l := line{strings.TrimSuffix(text, "\n"), plain}
		if lines == nil {
			l.style = bold
		}
		lines = append(lines, l)
	}
	return lines
}

// saTable is how subnet administration answers, in room lines.
func (v *topView) saTable(width, room int) []line {
	t := &table{columns: []column{{head: "SUBNET ADMINISTRATION", yields: true}, {head: "STATUS", yields: true},
		{head: "PER SECOND", right: true}, {head: "TOTAL", right: true}}}
	rows := v.saRows()
	for _, r := range rows[:min(len(rows), max(room-1, 0))] {
		t.add(r.attribute, r.answer, rateText(r.rate), strconv.FormatUint(r.total, 10))
	}
	lines := tableLines(t, width)
	if len(rows) == 0 {
		lines = append(lines, line{"no requests", plain})
	}
	return lines
}

// clientTable has the ports that ask most, and those that send with wrong keys.
func (v *topView) clientTable(width int) []line {
	c := &v.now.Clients
	t := &table{
		columns: []column{{head: "CLIENT", yields: true}, {head: "LID", right: true}, {head: "PER SECOND", right: true},
			{head: "SHARE", right: true}},
	}
	for _, r := range v.clients() {
		t.add(printable(v.names.of(r.Node, r.Desc)), strconv.Itoa(int(r.LID)), rateText(float64(r.Count)/c.Seconds),
			fmt.Sprintf("%.0f%%", 100*float64(r.Count)/float64(c.Asked)))
	}
	lines := tableLines(t, width)
	if len(t.rows) == 0 {
		lines = append(lines, line{"no requests", plain})
	}
	if len(v.now.BadKeys) == 0 {
		return lines
	}
	t = &table{
		columns: []column{{head: "SENDER OF WRONG KEYS", yields: true}, {head: "KEY"}, {head: "TRAPS", right: true}},
	}
	for _, b := range v.now.BadKeys {
		name := "others"
		if b.Port != "" {
			name = v.names.of(b.Node, b.Desc)
		}
		if name == "" {
			name = b.Port
		}
		key := "P_Key"
		if b.Trap == 258 {
			key = "Q_Key"
		}
		t.add(printable(name), key, strconv.FormatUint(b.Count, 10))
	}
	return append(append(lines, line{}), tableLines(t, width)...)
}

// changes are the last generations of the subnet, the newest first.
func (v *topView) changes(room int) (lines []line) {
	for _, g := range slices.Backward(v.generations) {
		if len(lines) >= room {
			break
		}
		lines = append(lines,
			line{fmt.Sprintf("%s  generation %d: %s", g.Time.Local().Format(time.TimeOnly), g.Generation,
				countsText(&g)), plain})
	}
	if lines == nil {
		lines = []line{{"none", plain}}
	}
	return lines
}

// eventLines are the last events, the newest first.
func eventLines(events []ctl.Event, room int) (lines []line) {
	for _, e := range slices.Backward(events) {
		if len(lines) >= room {
			break
		}
		style := plain
		if e.Level == "error" {
			style = alarm
		}
		var attrs strings.Builder
		for _, key := range slices.Sorted(maps.Keys(e.Attrs)) {
			fmt.Fprintf(&attrs, " %s=%v", key, e.Attrs[key])
		}
		lines = append(lines, line{e.Time.Local().Format(time.TimeOnly) + "  " + e.Text + attrs.String(), style})
	}
	return lines
}

// managers are all subnet managers.
func (v *topView) managers(width int) []line {
	t := &table{columns: []column{{head: "GUID"}, {head: "LID", right: true}, {head: "PRIORITY", right: true},
		{head: "STATE"}, {head: "", yields: true}}}
	for i, m := range v.now.Status.SMs {
		t.add(m.GUID, lid(m.LID), strconv.Itoa(int(m.Priority)), m.State, noteOn(&m, i == 0))
	}
	return tableLines(t, width)
}

// pathText says why the window of SMPs is small.
func pathText(s *ctl.SMPs) string {
	if s.PathLimited {
		return " (slow switches)"
	}
	return ""
}
