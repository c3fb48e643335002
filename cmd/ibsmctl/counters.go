package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

func newCounters(a *asker) *cobra.Command {
	cmd := &cobra.Command{Use: "counters [VERB] [OPTION]... [PORT]", Short: "counters of ports, by the last reading",
		Args: cli.Args(0, 1), RunE: a.asking(a.counters), Long: `
Shows the counters that the performance manager read last, and their age: of one port, of all ports
of a node, or one line for each port of the subnet. The setting perfmgr enables the performance
manager; see docs/health.md. For the forms of PORT see ibsmctl why --help.

VALUE is the device's counter, as perfquery -x prints it. TOTAL adds up all counts since the first
reading, or since clear, even if the device is reset or rebooted. ROSE is the increase between the
last two readings. A + means that the true number may be higher, because the device has a 32-bit
counter or another program reset it. SENT and RECEIVED are in bytes per second, USED is the
utilization of the link, and WAIT is the share of time in which data waited for credits.`,
		ValidArgsFunction: a.completeNodes(1)}
	var most int
	top := &cobra.Command{Use: "top [OPTION]... errors|traffic|congestion",
		Short: "ports with most errors, traffic or congestion",
		Args:  cli.Args(1, 1), ValidArgs: tops(), Long: `
Shows the ports with the most errors, traffic or congestion. errors: the last hour, with the meaning
of each counter and advice; ports whose link went down or was retrained come first. traffic: by
utilization of the link between the last two readings. congestion: by the share of time in which
data waited for credits. The cause is downstream, at a port that does not wait itself.`}
	top.Flags().IntVar(&most, "most", 20, "at most `N` ports")
	top.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		return a.topCounters(ctx, args[0], most, stdout)
	})
	clear := &cobra.Command{Use: "clear [OPTION]... [PORT]", Short: "set the totals to zero", Args: cli.Args(0, 1),
		RunE:              a.asking(a.clearCounters),
		ValidArgsFunction: a.completeNodes(1), Long: `
Sets the totals of a port, of all ports of a node, or of all ports to zero. No device is reset:
perfquery and other programs see the same values as before.`}
	congestion := &cobra.Command{Use: "congestion [OPTION]...", Short: "ports that wait for credits, and the cause",
		Args: cobra.NoArgs, RunE: a.asking(a.congestions), Long: `
Shows the ports that hold up others, current ones first, then past ones, each with its cause: a host
that does not accept data fast enough, a link below its full rate, more data for a host than its
link carries, or a link with too many routes. Below each, the ports that wait for it are listed, the
longest wait first; congestion spreads back to all sources of the data.`}
	cmd.AddCommand(top, congestion, clear)
	return cmd
}

// tops are the ranks.
func tops() (words []string) {
	for _, t := range ctl.Tops() {
		words = append(words, string(t))
	}
	return words
}

func (a *asker) counters(ctx context.Context, args []string, stdout io.Writer) error {
	port := ""
	if len(args) == 1 {
		port = args[0]
	}
	q := query("port", a.names.resolve(port))
	if a.json {
		return a.copy(ctx, http.MethodGet, "/v1/counters", q, stdout)
	}
	st := &ctl.CounterStatus{}
	if err := a.Get(ctx, "/v1/counters/status", nil, st); err != nil {
		return a.explain(err)
	}
	if st.Age < 0 {
		return noCounters(st)
	}
	if port == "" {
		q.Set("brief", "1")
	}
	var list []*ctl.PortCounters
	if err := ctl.All(ctx, a.Client, http.MethodGet, "/v1/counters", q, func(p *ctl.PortCounters) error {
		list = append(list, p)
		return nil
	}); err != nil {
		return a.explain(err)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "read %s ago%s: %d of %d ports answered\n", ago(st.Age), every(st), st.Answered, st.Ports)
	if port == "" {
		if err := a.counterLines(list, &text, terminalWidth(stdout)); err != nil {
			return err
		}
	}
	for i := 0; i < len(list) && port != ""; i++ {
		fmt.Fprintln(&text)
		if err := a.counterBlock(list[i], &text); err != nil {
			return err
		}
	}
	_, err := stdout.Write(text.Bytes())
	return err
}

// noCounters is why there are none.
func noCounters(st *ctl.CounterStatus) error {
	if st.Enabled {
		return cli.WithHint(fmt.Errorf("the counters have not been read yet"),
			"the first sweep begins when the subnet is up")
	}
	return cli.WithHint(fmt.Errorf("the performance manager is off"),
		"set perfmgr TRUE (perfmgr.enabled in ibsm.toml) and reload; see docs/health.md")
}

// ago is a time in seconds as people say it.
func ago(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

func every(st *ctl.CounterStatus) string {
	if !st.Enabled {
		return ", no longer"
	}
	return ", every " + ago(st.Interval)
}

// counterLines are ports in one line each.
func (a *asker) counterLines(list []*ctl.PortCounters, w io.Writer, width int) error {
	t := &table{columns: []column{{head: "NODE", yields: true}, {head: "PORT", right: true},
		{head: "SENT/S", right: true}, {head: "RECEIVED/S", right: true},
		{head: "USED", right: true}, {head: "WAIT", right: true}, {head: "ERRORS", right: true},
		{head: "READING", yields: true}}}
	for _, p := range list {
		t.add(printable(a.names.of(p.Node, p.Desc)), strconv.Itoa(int(p.Port)), perSecond(p.Sent),
			perSecond(p.Received), share(p.Utilization), share(p.Waiting), strconv.FormatUint(p.Errors, 10), reading(p))
	}
	return t.print(w, width)
}

// reading says what is special about the last reading of a port, and which counters are not complete.
func reading(p *ctl.PortCounters) string {
	if len(p.Incomplete) == 0 || !p.Answered {
		return p.Reading
	}
	text := strings.Join(p.Incomplete, ", ") + " not complete"
	if p.Reading != "sound" {
		text = p.Reading + ": " + text
	}
	return text
}

// perSecond is a rate in bytes a second, "-" if it is not known.
func perSecond(v float64) string {
	if v < 0 {
		return "-"
	}
	unit := 0
	for ; v >= 1000 && unit < 5; unit++ {
		v /= 1000
	}
	if unit == 0 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " kMGTP"[unit:unit+1]
}

// share is a part of one in percent, "-" if it is not known.
func share(v float64) string {
	if v < 0 {
		return "-"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + "%"
}

// counterBlock is a port with all its counters.
func (a *asker) counterBlock(p *ctl.PortCounters, w io.Writer) error {
	fmt.Fprintf(w, "%s (%s)%s\n", a.endOf(p.Node, p.Desc, p.Port), p.Node, a.peerOf(&p.PortOf, " to "))
	if len(p.Counters) == 0 {
		fmt.Fprintf(w, "  not read yet: %s\n", p.Reading)
		return nil
	}
	fmt.Fprintf(w, "  reading  %s; read %s ago, total since %s\n", reading(p), ago(p.Age),
		p.Since.Local().Format(time.DateTime))
	fmt.Fprintf(w, "  link     used %s, waiting %s of the last %s\n", share(p.Utilization), share(p.Waiting),
		ago(p.Span))
	t := &table{columns: []column{{head: "  COUNTER"}, {head: "VALUE", right: true}, {head: "TOTAL", right: true},
		{head: "ROSE", right: true}}}
	for _, c := range p.Counters {
		total := strconv.FormatUint(c.Total, 10)
		if c.AtLeast {
			total += "+"
		}
		t.add("  "+c.Name, strconv.FormatUint(c.Value, 10), total, strconv.FormatUint(c.Rose, 10))
	}
	return t.print(w, 0)
}

func (a *asker) topCounters(ctx context.Context, by string, most int, stdout io.Writer) error {
	by, err := oneOf("rank", by, tops())
	if err != nil {
		return err
	}
	if most < 1 {
		return cli.UsageError("--most: expected 1 or more", "")
	}
	top := &ctl.TopPorts{}
	if shown, err := a.value(ctx, "/v1/counters/top", query("by", by, "most", strconv.Itoa(most)), top,
		stdout); err != nil || shown {
		return err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "in the last %s (read %s ago)\n", ago(top.Seconds), ago(top.Age))
	if len(top.Ports) == 0 {
		fmt.Fprintf(&text, "no port has %s\n",
			map[string]string{"errors": "counted errors", "traffic": "carried anything",
				"congestion": "waited for credits"}[by])
	}
	for i := range top.Ports {
		p := &top.Ports[i]
		amount := share(p.Share)
		if by == string(ctl.TopErrors) {
			amount = plural.Of(int(p.Errors), "error")
		}
		fmt.Fprintf(&text, "\n%s: %s\n", a.portOf(&p.PortOf), amount)
		for _, r := range p.Reasons {
			fmt.Fprintf(&text, "  %s\n", printable(r))
		}
	}
	if top.More > 0 {
		fmt.Fprintf(&text, "\nand %s; --most shows them\n", plural.Of(top.More, "more port"))
	}
	_, err = stdout.Write(text.Bytes())
	return err
}

func (a *asker) clearCounters(ctx context.Context, args []string, stdout io.Writer) error {
	port := ""
	if len(args) == 1 {
		port = a.names.resolve(args[0])
	}
	done := &ctl.ClearedCounters{}
	if a.json {
		return a.copy(ctx, http.MethodPost, "/v1/counters/clear", query("port", port), stdout)
	}
	if err := a.Post(ctx, "/v1/counters/clear", query("port", port), done); err != nil {
		return a.explain(err)
	}
	_, err := fmt.Fprintf(stdout, "counting from zero: %s\n", plural.Of(done.Ports, "port"))
	return err
}
