package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

func newDiff(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "diff [OPTION]... [GENERATION [GENERATION]]",
		Short: "changes between two generations of the subnet", Args: cli.Args(0, 2), Long: `
Shows the last change of the subnet. With one generation it shows all changes since then; with
two, the changes from the first to the second: nodes and links added or removed, LIDs, port
states, P_Keys, groups, settings, subnet managers, SLs of paths, VL tables, and the number of
changed forwarding table entries per switch. Changes that were reverted in between are not shown.
ibsmctl generations lists the generations.`,
		Example: `  ibsmctl diff --since 1h
  ibsmctl diff 12 15
`}
	whole := c.Flags().Bool("all", false, "list all switches whose tables changed, not only the ones with most changes")
	since := c.Flags().String("since", "", "show the changes since `WHEN`: "+timesHelp)
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		return a.diff(ctx, args, *since, *whole, stdout)
	})
	return c
}

func (a *asker) diff(ctx context.Context, args []string, since string, whole bool, stdout io.Writer) error {
	if since != "" {
		if len(args) > 0 {
			return cli.UsageError("--since and a generation exclude each other", "use one of them")
		}
		from, err := a.generationSince(ctx, since, stdout)
		if err != nil {
			return a.explain(err)
		}
		args = []string{strconv.FormatUint(from, 10)}
	}
	before := uint64(0)
	for _, g := range args {
		n, err := strconv.ParseUint(g, 10, 64)
		if err != nil || n == 0 {
			return cli.UsageError(fmt.Sprintf("generation %q: expected a number", g),
				"ibsmctl generations lists them")
		}
		if n < before {
			return cli.UsageError(fmt.Sprintf("generation %d is older than %d", n, before),
				fmt.Sprintf("the older one comes first: ibsmctl diff %d %d", n, before))
		}
		before = n
	}
	named := append(args, "", "")
	q := query("from", named[0], "to", named[1])
	if a.json {
		return a.copy(ctx, http.MethodGet, "/v1/diff", q, stdout)
	}
	span, changes, tables := &ctl.Span{}, []*ctl.Change{}, []*ctl.Change{}
	t := &table{columns: []column{{head: "WHAT"}, {head: "NAME", yields: true}, {head: "PORT", right: true},
		{head: "BEFORE", yields: true}, {head: "NOW", yields: true}}}
	err := ctl.All(ctx, a.Client, http.MethodGet, "/v1/diff", q, func(r *ctl.DiffRow) error {
		switch {
		case r.Span != nil:
			span = r.Span
		case r.Change != nil && r.Change.What == "routes":
			tables = append(tables, r.Change)
		case r.Change != nil:
			changes = append(changes, r.Change)
		}
		return nil
	})
	if err != nil {
		return a.explain(err)
	}
	if _, err := io.WriteString(stdout, spanText(span, len(changes)+len(tables))); err != nil ||
		len(changes)+len(tables) == 0 {
		return err
	}
	slices.SortStableFunc(tables, func(x, y *ctl.Change) int { return y.Count - x.Count })
	shown := len(tables)
	if !whole && shown > fewTables {
		shown = fewTables
	}
	for _, c := range slices.Concat(changes, tables[:shown]) {
		a.addChange(t, c)
	}
	if err := t.print(stdout, terminalWidth(stdout)); err != nil || shown == len(tables) {
		return err
	}
	_, err = fmt.Fprintf(stdout, "and the tables of %s; --all lists them\n",
		plural.With(len(tables)-shown, "other switch", "other switches"))
	return err
}

// generationSince is the generation that was in force at a time. It says so if changes are stored only from a later
// time on.
func (a *asker) generationSince(ctx context.Context, since string, stdout io.Writer) (uint64, error) {
	at, err := parseTime(since, time.Now())
	if err != nil {
		return 0, err
	}
	var all []ctl.Generation
	err = ctl.All(ctx, a.Client, http.MethodGet, "/v1/generations", nil, func(g *ctl.Generation) error {
		all = append(all, *g)
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, cli.WithHint(errors.New("the manager has not read the subnet yet"), "see ibsmctl status")
	}
	from, early := generationAt(all, at)
	if early && !a.json {
		_, err = fmt.Fprintf(stdout, "changes are stored since generation %d, but not since %s\n", from,
			at.Local().Format(time.DateTime))
	}
	return from, err
}

// fewTables is how many forwarding tables are listed, those with most changes first.
const fewTables = 10

// spanText is what the changes are about.
func spanText(s *ctl.Span, changes int) string {
	text := fmt.Sprintf("generation %d to %d: %s", s.From, s.To, plural.With(changes, "change", "changes"))
	if !s.Time.IsZero() {
		text += ", the last at " + s.Time.Local().Format(time.DateTime)
	}
	if s.Entries > 0 {
		text += fmt.Sprintf("; %s of forwarding tables", plural.With(s.Entries, "entry", "entries"))
	}
	if s.Missing > 0 {
		text += fmt.Sprintf("; %d older changes are no longer stored", s.Missing)
	}
	return text + "\n"
}

func (a *asker) addChange(t *table, c *ctl.Change) {
	port, from, to := "", a.names.withPeer(c.From, c.FromPeer), a.names.withPeer(c.To, c.ToPeer)
	if c.Port > 0 {
		port = strconv.Itoa(int(c.Port))
	}
	switch {
	case c.What == "routes":
		to = plural.With(c.Count, "entry", "entries")
	case to == "":
		to = "-"
	case from == "":
		from = "-"
	}
	t.add(c.What, printable(shortGID(a.names.of(c.Node, c.Name))), port, printable(from), printable(to))
}

func newGenerations(a *asker) *cobra.Command {
	return &cobra.Command{Use: "generations [OPTION]...", Short: "generations that diff can compare",
		Args: cli.Args(0, 0), RunE: a.asking(a.generations), Long: `
Lists the stored generations of the subnet that contain changes: the time and the number of
changes. A generation is a consistent snapshot of the subnet; each answer of the manager is
based on one generation.`}
}

func (a *asker) generations(ctx context.Context, _ []string, stdout io.Writer) error {
	t := &table{columns: []column{{head: "GENERATION", right: true}, {head: "TIME"}, {head: "CHANGES", yields: true}}}
	return rows(ctx, a, "/v1/generations", nil, stdout, t, func(g *ctl.Generation) {
		t.add(strconv.FormatUint(g.Generation, 10), g.Time.Local().Format(time.DateTime), countsText(g))
	})
}

// countsText is how much changed.
func countsText(g *ctl.Generation) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(g.Counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, g.Counts[what]))
	}
	if g.First {
		parts = append(parts, "first as master")
	}
	if g.Entries > 0 {
		parts = append(parts, plural.With(g.Entries, "entry", "entries")+" of forwarding tables")
	}
	return strings.Join(parts, ", ")
}
