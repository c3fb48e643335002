package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

func newWhy(a *asker) *cobra.Command {
	var ask pathOptions
	cmd := &cobra.Command{Use: "why [OPTION]... [PORT [OTHER]]",
		Short: "why a port is not Active, or does not reach another", Args: cli.Args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all, err := a.profiles(); err == nil && len(all) > 1 {
				return a.whyOfEach(cmd.Context(), all, args, &ask, cmd.OutOrStdout())
			}
			return a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
				return a.why(ctx, args, &ask, stdout)
			})(cmd, args)
		}, ValidArgsFunction: a.completeNodes(2), Long: `
Explains why a port is not Active or, with two ports, why the first does not reach the
second, and gives advice. Without arguments it lists the ports that are not Active, grouped by
reason, sick links, problems of the manager's own port, and rejected multicast joins.

For two ports it also shows the routing engine. For tree engines it adds, for each switch on the
path, the other ports on shortest paths to OTHER that the engine permits.

If a QoS policy is in force, or an option is given, it also shows the PathRecord that PORT
would get for OTHER: SL, MTU, rate and P_Key, and the policy rule that applies, with its line.
The options are fields of the request. With --json only the path is printed then.

PORT is a LID (17 or 0x11), a GUID of a port, vPort or node (0x and more than four digits), a
GID, a node name, which stands for all its ports, or NODE:PORT. A vPort is a virtual function:
ibsmctl vports lists them.
The exit status does not depend on the diagnosis: it is 0. With --server and several profiles it
shows a block for each subnet; the exit status is 1 if one does not answer, or none has PORT.`}
	f := cmd.Flags()
	f.StringVar(&ask.serviceID, "service-id", "", "service `ID` of the request, a 64-bit number")
	f.StringVar(&ask.pkey, "pkey", "", "P_Key `KEY` of the request, such as 0x8001")
	f.StringVar(&ask.class, "qos-class", "", "QoS class `N` of the request, 0 to 4095")
	for _, name := range []string{"service-id", "pkey", "qos-class"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

// pathOptions is what a host says when it asks for a path.
type pathOptions struct{ serviceID, pkey, class string }

// pathAnswerText is a path in words.
func pathAnswerText(p *ctl.PathAnswer) (text string) {
	if p.Found {
		text = fmt.Sprintf("path record: SL %d, MTU %d, %g Gb/s, lifetime %d, P_Key %s\n", p.SL, p.MTU, p.Gbps,
			p.LifeTime, p.PKey)
	} else {
		text = fmt.Sprintf("path record: none: %s\n", printable(p.Reason))
	}
	switch {
	case p.Position == "":
		return text + "  no QoS policy\n"
	case p.Rule == "":
		text += fmt.Sprintf("  no rule matches: the default level, %s\n", p.Position)
	default:
		text += fmt.Sprintf("  rule %s: %s\n", p.Position, printable(p.Rule))
	}
	return text + fmt.Sprintf("  level %s\n", printable(levelText(p.Level, p.Limits)))
}

func (a *asker) why(ctx context.Context, args []string, ask *pathOptions, stdout io.Writer) error {
	named := append(args, "", "")
	record := query("from", a.names.resolve(named[0]), "to", a.names.resolve(named[1]), "service_id", ask.serviceID,
		"pkey", ask.pkey, "qos_class", ask.class)
	switch {
	case *ask == pathOptions{}:
	case len(args) < 2:
		return cli.UsageError("--service-id, --pkey and --qos-class need PORT and OTHER", "")
	case a.json:
		return a.copy(ctx, http.MethodGet, "/v1/path-record", record, stdout)
	}
	q := query("port", a.names.resolvePort(named[0]), "other", a.names.resolvePort(named[1]))
	if a.json {
		return a.copy(ctx, http.MethodGet, "/v1/why", q, stdout)
	}
	st, err := a.printTroubles(ctx, stdout) // also where the subnet is not known, as at a standby
	if err != nil {
		return a.explain(err)
	}
	var all []*ctl.Diagnosis
	err = ctl.All(ctx, a.Client, http.MethodGet, "/v1/why", q, func(d *ctl.Diagnosis) error {
		all = append(all, d)
		return nil
	})
	if err != nil {
		return a.explain(err)
	}
	out := bufio.NewWriter(stdout)
	if named[0] != "" {
		a.printDiagnoses(out, all)
		if err := out.Flush(); err != nil || named[1] == "" {
			return err
		}
		p := &ctl.PathAnswer{}
		switch err := a.Get(ctx, "/v1/path-record", record, p); {
		case err != nil && *ask != pathOptions{}:
			return a.explain(err)
		case err == nil && (p.Position != "" || *ask != pathOptions{}):
			_, err = io.WriteString(stdout, pathAnswerText(p))
			return err
		}
		return nil
	}
	a.printCauses(out, all)
	io.WriteString(out, routesText(st.Sweep))
	var refused []*ctl.Refusal
	err = ctl.All(ctx, a.Client, http.MethodGet, "/v1/refusals", nil, func(r *ctl.Refusal) error {
		refused = append(refused, r)
		return nil
	})
	if err != nil {
		return a.explain(err)
	}
	io.WriteString(out, a.refusedText(refused, st.JoinsUnlisted))
	return out.Flush()
}

// printTroubles asks for the status, and prints what in it comes before all others.
func (a *asker) printTroubles(ctx context.Context, stdout io.Writer) (*ctl.Status, error) {
	st := &ctl.Status{}
	err := a.Get(ctx, "/v1/status", nil, st)
	for _, text := range append(portTroubles(st), st.Troubles()...) {
		if _, err := fmt.Fprintf(stdout, "%s\n\n", printable(text)); err != nil {
			return nil, err
		}
	}
	return st, err
}

// portTroubles is what is wrong with the manager's own port, in words.
func portTroubles(st *ctl.Status) (lines []string) {
	if st.Waiting != "" {
		lines = append(lines, "the manager is waiting for its port: "+st.Waiting)
	}
	if st.OwnPort != "" {
		lines = append(lines, fmt.Sprintf("the manager's own port (%s): %s; check its cable and its driver with ibstat",
			st.Where, st.OwnPort))
	}
	return lines
}

// routesText describes missing routes, "" if there are none.
func routesText(s *ctl.SweepStatus) (text string) {
	if s == nil {
		return ""
	}
	if s.Cut > 0 {
		text += fmt.Sprintf("\nroutes: %s disconnected\n",
			plural.With(s.Cut, "pair of switch and LID is", "pairs of switch and LID are"))
	}
	if s.Lost > 0 {
		text += fmt.Sprintf("\nroutes: %s no working route\n",
			plural.With(s.Lost, "pair of switch and LID is connected but has",
				"pairs of switch and LID are connected but have"))
	}
	if text != "" {
		text += "  see ibsmctl events for an example, or ibsmctl why PORT OTHER for two ports\n"
	}
	return text
}

// mostRefused is how many refused joins of one reason are listed.
const mostRefused = 20

// refusedText describes joins that were refused, by reason, the latest first; "" if there are none.
func (a *asker) refusedText(all []*ctl.Refusal, unlisted uint64) string {
	if len(all) == 0 && unlisted == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nrejected joins: %s of a port and a group\n", plural.With(len(all), "pair", "pairs"))
	var reasons []string
	byReason := map[string][]*ctl.Refusal{}
	for _, r := range all {
		if byReason[r.Reason] == nil {
			reasons = append(reasons, r.Reason)
		}
		byReason[r.Reason] = append(byReason[r.Reason], r)
	}
	for _, reason := range reasons {
		list := byReason[reason]
		fmt.Fprintf(&b, "  %s\n", printable(reason))
		for _, r := range list[:min(len(list), mostRefused)] {
			name := printable(a.names.of(r.Node, r.Desc))
			if name == "" {
				name = r.Port
			}
			fmt.Fprintf(&b, "    %s: %s, %s, last %s\n", name, shortGID(r.MGID),
				plural.With(int(r.Count), "time", "times"), r.Last.Local().Format(time.DateTime))
		}
		if more := len(list) - mostRefused; more > 0 {
			fmt.Fprintf(&b, "    and %d more: ibsmctl groups lists all\n", more)
		}
	}
	if unlisted > 0 {
		fmt.Fprintf(
			&b, "  %d further rejected joins are not listed, because one port or all ports together had too many within a minute\n", unlisted)
	}
	return b.String()
}

// resolvePort is resolve for a name that may have a port behind it.
func (n names) resolvePort(name string) string {
	if node, port, ok := strings.Cut(name, ":"); ok {
		if guid := n.resolve(node); guid != node {
			return guid + ":" + port
		}
	}
	return n.resolve(name)
}

// portText is the end of a link in words.
func (a *asker) portText(e *ctl.End) string {
	text := printable(a.names.of(e.Node, e.Desc))
	if text == "" {
		text = e.Node
	}
	if e.Port != 0 {
		text += fmt.Sprintf(" port %d", e.Port)
	}
	if e.VPort != "" {
		text += " vPort " + e.VPort
	}
	return text
}

// printDiagnoses prints a full diagnosis of a port, or a short one of the ports of a node.
func (a *asker) printDiagnoses(w io.Writer, all []*ctl.Diagnosis) {
	if len(all) == 1 {
		a.printDiagnosis(w, all[0])
		return
	}
	total := len(all)
	all = slices.DeleteFunc(all, func(d *ctl.Diagnosis) bool { return d.Works && len(d.Reasons) == 0 })
	if len(all) > 0 {
		a.printCauses(w, all)
	}
	if quiet := total - len(all); quiet > 0 {
		fmt.Fprintf(w, "%s: no problem found\n", plural.With(quiet, "port", "ports"))
	}
}

func (a *asker) printDiagnosis(w io.Writer, d *ctl.Diagnosis) {
	switch {
	case d.To != nil && d.Works:
		fmt.Fprintf(w, "%s reaches %s\n", a.portText(&d.Port), a.portText(d.To))
	case d.To != nil:
		fmt.Fprintf(w, "%s does not reach %s\n", a.portText(&d.Port), a.portText(d.To))
	default:
		state := d.State
		if d.Physical != "" {
			state += ", " + d.Physical
		}
		fmt.Fprintf(w, "%s (%s) is %s\n", a.portText(&d.Port), d.Port.Node, state)
	}
	for _, r := range d.Reasons {
		fmt.Fprintf(w, "  %s: %s\n", r.Kind, printable(r.Text))
		if r.Do != "" {
			fmt.Fprintf(w, "    what to do: %s\n", printable(r.Do))
		}
	}
	if len(d.Reasons) == 0 {
		fmt.Fprintln(w, "  no problem found")
	}
	if d.Routes != "" {
		fmt.Fprintf(w, "  routes: %s\n", printable(d.Routes))
	}
	for i := range d.Choices {
		c := &d.Choices[i]
		word := "port"
		if len(c.Others) > 1 {
			word = "ports"
		}
		fmt.Fprintf(w, "    %s: leaves by port %d; could also leave by %s %s\n", printable(a.names.of(c.Node, c.Desc)),
			c.Out, word, ranges(c.Others))
	}
}

// cause is a kind of reason and the ports that it keeps down.
type cause struct {
	kind, text, do string
	varies         bool // the text is not the same for all
	advises        bool // nor is what to do
	ports          []*ctl.Diagnosis
}

// causesOf are the ports by what weighs most, the rarest cause first: what is wrong with
// few ports is more often news than what is wrong with many.
func causesOf(all []*ctl.Diagnosis) []*cause {
	var causes []*cause
	for _, d := range all {
		r := append(d.Reasons, ctl.Reason{Kind: "unknown"})[0]
		i := slices.IndexFunc(causes, func(g *cause) bool { return g.kind == r.Kind })
		if i < 0 {
			i = len(causes)
			causes = append(causes, &cause{kind: r.Kind, text: r.Text, do: r.Do})
		}
		g := causes[i]
		g.varies, g.advises = g.varies || g.text != r.Text, g.advises || g.do != r.Do
		g.ports = append(g.ports, d)
	}
	slices.SortStableFunc(causes, func(x, y *cause) int { return len(x.ports) - len(y.ports) })
	return causes
}

// printCauses lists ports by reason, those of a node together.
func (a *asker) printCauses(w io.Writer, all []*ctl.Diagnosis) {
	if len(all) == 0 {
		fmt.Fprintln(w, "all ports are Active")
		return
	}
	for i, g := range causesOf(all) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", g.kind, plural.With(len(g.ports), "port", "ports"))
		if !g.varies {
			fmt.Fprintf(w, "  %s\n", printable(g.text))
		}
		if !g.advises {
			fmt.Fprintf(w, "  what to do: %s\n", printable(g.do))
		}
		a.printPorts(w, g)
	}
}

// printPorts lists the ports of a cause: of one text by node, else each with its own, and with what to do if that
// differs.
func (a *asker) printPorts(w io.Writer, g *cause) {
	for i := 0; i < len(g.ports); {
		d := g.ports[i]
		if g.varies || g.advises {
			r := append(d.Reasons, ctl.Reason{})[0]
			fmt.Fprintf(w, "    %s: %s\n", a.portText(&d.Port), printable(r.Text))
			if g.advises {
				fmt.Fprintf(w, "      what to do: %s\n", printable(r.Do))
			}
			i++
			continue
		}
		nums := []uint8{}
		for ; i < len(g.ports) && g.ports[i].Port.Node == d.Port.Node; i++ {
			nums = append(nums, g.ports[i].Port.Port)
		}
		word := "port"
		if len(nums) > 1 {
			word = "ports"
		}
		fmt.Fprintf(w, "    %s %s %s\n", printable(a.names.of(d.Port.Node, d.Port.Desc)), word, ranges(nums))
	}
}

// ranges is ascending numbers in short, such as 1, 3-5.
func ranges[N uint8 | int](nums []N) string {
	var b strings.Builder
	for i := 0; i < len(nums); {
		last := i
		for last+1 < len(nums) && nums[last+1] == nums[last]+1 {
			last++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, nums[i])
		if last > i {
			fmt.Fprintf(&b, "-%d", nums[last])
		}
		i = last + 1
	}
	return b.String()
}
