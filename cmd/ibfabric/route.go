package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/mad"
	"ibsm/opensm/dump"
	"ibsm/plural"
	"ibsm/routing"
	"ibsm/routing/candidates"
	"ibsm/routing/creditloop"
	"ibsm/routing/file"
	"ibsm/routing/quality"
	"ibsm/routing/rails"
	"ibsm/routing/shape"
	"ibsm/routing/torus"
	"ibsm/routing/verify"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

const routeExamples = `  ibfabric route fattree:k=36
  ibfabric route torus:dims=5x5x5 --engine lash,minhop
  ibfabric route fattree:k=8,missing-links=3% --engine updn --root 0xb83fd20300404000
  ibfabric route cluster.topo --engine lash --lanes 4 --dump dumps
  ibfabric route fattree:k=16 --engine minhop,ftree,sssp,tree --missing 0%..10% --plot k16.svg
`

// route is one run of ibfabric route.
type route struct {
	engines  []string
	engine   string // of them, that routed
	settings engines.Settings
	lanes    uint8
	lmc      uint8
	dir      string
	missing  []int  // shares of cables, in percent; none compares nothing
	plot     string // file for the comparison as an SVG picture; "" for none
	rails    *rails.Rails
	out      io.Writer
}

func newRoute() *cobra.Command {
	r := &route{}
	c := &cobra.Command{Use: "route FILE|SPEC [OPTION]...", Short: "compute and prove routes without a manager",
		Args: cli.Args(1, 1), Example: routeExamples, Long: `
Computes the routes of a topology, verifies them, and prints the result: pairs of switch and LID
without a working route, credit loops, VLs, link load, and the number of flows on the busiest link
for two traffic patterns: each host sends to the host a fixed distance after it (also within rails, if
there are any), or half of the hosts send to the other half. The exit status is 1 if no engine
can route the topology, if cabled destinations are unreachable, or if routes between hosts have a
credit loop.

FILE is the output of ibnetdiscover or a file for ibsim. SPEC is a generator: ibfabric gen --help
describes them.

With --missing each engine routes the topology with a growing share of the cables between switches
missing, and a table compares the routes. Each figure is the median of five random choices of missing
cables. With --plot the comparison is also drawn.

Engines are tried in the order of the list; if one cannot route the topology, the reason is printed. They are
minhop, updn, dnup, dor, ftree, lash, sssp, dfsssp, torus-2QoS, nue, tree, dragonfly, hyperx, file and auto, which chooses by the kind of fabric.`}
	var roots []string
	c.Flags().StringSliceVarP(&r.engines, "engine", "R", []string{"minhop"}, "`LIST` of routing engines")
	c.Flags().Uint8Var(&r.lanes, "lanes", 0, "assume `N` data VLs on every link, 1 to 15 (default: 15)")
	c.Flags().Uint8VarP(&r.lmc, "lmc", "l", 0, "LMC `N`: each adapter or router port gets 2^N LIDs, N up to 7")
	c.Flags().Uint8Var(&r.settings.Lash.StartVL, "lash-start-vl", 0, "first `VL` that lash uses")
	c.Flags().BoolVar(&r.settings.Lash.MeshAnalysis, "do-mesh-analysis", false, "detect a mesh or torus (lash)")
	r.settings.Nue.QoS = true
	c.Flags().Uint8Var(&r.settings.Nue.MaxVLs, "nue-max-num-vls", 1, "maximum number `N` of VLs for nue; 0 for all")
	c.Flags().BoolVar(&r.settings.Nue.Switches, "nue-include-switches", false,
		"also keep routes to switches free of credit loops (nue)")
	c.Flags().StringSliceVar(&roots, "root", nil,
		"node `GUID` of a root switch of updn or ftree; may be repeated (default: detected)")
	c.Flags().BoolVar(&r.settings.Updn.ConnectRoots, "connect-roots", false,
		"also create routes between root switches (updn, dnup, ftree); without it, pairs without a route are counted")
	c.Flags().StringVar(&r.dir, "dump", "",
		"write OpenSM's dump files to `DIR`, and for engines that use several VLs the SL of each path in the format of ibdmchk -c")
	missing := c.Flags().String("missing", "",
		"compare the engines with a share of the cables between switches missing, over a `RANGE` such as 0%..10%")
	c.Flags().StringVar(&r.plot, "plot", "", "with --missing: draw the comparison to `FILE`, as an SVG picture")
	torusFile := c.Flags().String("torus-config", "",
		"`FILE` that describes the torus of torus-2QoS, in the format of torus-2QoS.conf")
	lfts := c.Flags().String("lfts-file", "",
		"`FILE` of forwarding tables for the engine file, in the format of opensm-lfts.dump")
	matrix := c.Flags().String("lid-matrix-file", "",
		"`FILE` of hop counts for the engine file, in the format of opensm-lid-matrix.dump")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		r.out = cmd.OutOrStdout()
		err := r.readOptions(*missing, roots)
		if err != nil {
			return err
		}
		if r.settings.Torus, err = readTorus(*torusFile); err != nil {
			return err
		}
		if r.settings.File.LFTs, err = readDump(*lfts, file.ReadLFTs); err != nil {
			return err
		}
		if r.settings.File.Matrix, err = readDump(*matrix, file.ReadHops); err != nil {
			return err
		}
		fabric, err := loadNet(args[0])
		if err != nil {
			return err
		}
		return r.run(cmd.Context(), fabric)
	}
	return c
}

// readOptions checks the options, and reads the texts of --missing and --root.
func (r *route) readOptions(missing string, roots []string) error {
	switch {
	case r.lanes > 15:
		return cli.UsageError(fmt.Sprintf("--lanes %d: expected 1 to 15", r.lanes), "")
	case r.lmc > 7:
		return cli.UsageError(fmt.Sprintf("--lmc %d: expected 0 to 7", r.lmc), "")
	}
	var err error
	if r.missing, err = shares(missing); err != nil {
		return cli.UsageError(fmt.Sprintf("--missing %s: %v", missing, err), "expected a range such as 0%..10%")
	}
	if r.plot != "" && r.missing == nil {
		return cli.UsageError("--plot needs --missing", "")
	}
	if r.plot != "" && len(r.engines) > len(marks) {
		return cli.UsageError(fmt.Sprintf("--plot draws %d engines at most", len(marks)), "")
	}
	for _, name := range r.engines {
		if _, ok := engines.Find(name, &r.settings); !ok {
			return cli.UsageError(fmt.Sprintf("--engine %s: unknown engine", name),
				"expected some of "+strings.Join(engines.Names(), ", "))
		}
	}
	for _, text := range roots {
		guid, err := mad.ParseGUID(text)
		if err != nil {
			return cli.UsageError(fmt.Sprintf("--root %s: %v", text, err), "")
		}
		r.settings.Updn.Roots = append(r.settings.Updn.Roots, guid)
	}
	r.settings.Ftree.Roots = r.settings.Updn.Roots
	r.settings.Ftree.ConnectRoots, r.settings.Dnup.ConnectRoots = r.settings.Updn.ConnectRoots,
		r.settings.Updn.ConnectRoots
	return nil
}

// readTorus reads a file of torus-2QoS; "" is none.
func readTorus(name string) (*torus.Settings, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	settings, _, found := torus.Parse(name, text)
	return settings, found.Err()
}

// readDump reads a file of the engine file; "" is none.
func readDump[T any](name string, read func(string, io.Reader) (*T, error)) (*T, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(name, f)
}

func (r *route) run(ctx context.Context, fabric *net.Net) error {
	t, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		return err
	}
	in := routing.In{Topo: t, LIDs: topo.SequentialLIDs(t, r.lmc),
		Lanes: slices.Repeat([]uint8{cmp.Or(r.lanes, 15)}, len(t.Ports))}
	r.line("fabric", "%s, %s, %s", plural.Of(len(t.Switches), "switch"), plural.Of(len(t.EndPorts), "end port"),
		plural.Of(int(in.LIDs.Top), "LID"))
	kind := shape.Find(t)
	if kind.Kind == shape.KindIrregular {
		r.line("kind", "irregular: %s", kind.Seen)
	} else {
		r.line("kind", "%s", kind.Seen)
	}
	if r.rails = rails.Find(t); len(r.rails.Rails) > 0 {
		r.line("rails", "%s", r.rails.Seen)
	}
	if r.missing != nil {
		return r.compare(ctx, in)
	}
	tables, err := r.compute(ctx, in)
	if err != nil {
		return err
	}
	if r.dir != "" {
		if err := os.MkdirAll(r.dir, 0o755); err != nil {
			return err
		}
		v := &view.View{Topo: t, LIDs: in.LIDs, Tables: tables}
		if err := (dump.Dir{Path: r.dir, Routing: true}).Write(ctx, v); err != nil {
			return err
		}
	}
	return r.prove(ctx, in, tables)
}

// compute returns the tables of the first engine that routes the topology.
func (r *route) compute(ctx context.Context, in routing.In) (*routing.Tables, error) {
	for _, name := range r.engines {
		start := time.Now()
		e, _ := engines.Find(name, &r.settings)
		tables, err := e.Route(ctx, in)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			r.line("engine", "%s, %.3f s", name, time.Since(start).Seconds())
			r.engine = name
			for _, note := range tables.Notes {
				r.line("note", "%s", note)
			}
			return tables, nil
		}
		r.line("engine", "%s cannot route this topology: %v", name, err)
	}
	return nil, errors.New("no engine of the list routes the topology")
}

// prove prints what the proofs find. The error says what makes tables unfit.
func (r *route) prove(ctx context.Context, in routing.In, tables *routing.Tables) error {
	start := time.Now()
	report, err := verify.Check(ctx, 0, in.Topo, in.LIDs, tables, nil)
	if err != nil {
		return err
	}
	loops := [2]*creditloop.Report{}
	for traffic := range loops {
		loops[traffic], err = findLoop(ctx, in, report, tables, creditloop.Traffic(traffic))
		if err != nil {
			return err
		}
	}
	took := time.Since(start)
	r.line("routes", "%s of switch and LID, the longest %s", plural.Of(report.Routes, "pair"),
		plural.Of(report.Longest, "link"))
	for kind, n := range report.Count {
		if n > 0 && verify.Kind(kind) != verify.Forbidden {
			r.line("", "%d: %v", n, verify.Kind(kind))
		}
	}
	if text := report.ByRules(r.engine); text != "" {
		r.line("", "%s", text)
	}
	r.line("lanes", "%s", lanesText(tables.SLs))
	r.line("credit loops", "%s", loopText(in.Topo, loops[creditloop.BetweenHosts].Loop, "between hosts"))
	r.line("", "%s", loopText(in.Topo, loops[creditloop.All].Loop, "with traffic of switch ports 0"))
	r.line("proof", "%.3f s", took.Seconds())
	if err := r.choices(ctx, in, tables); err != nil {
		return err
	}
	if err := r.measure(ctx, in, tables); err != nil {
		return err
	}
	switch {
	case report.Bad() > 0:
		return fmt.Errorf("%d routes or entries do not work", report.Bad())
	case loops[creditloop.BetweenHosts].Loop != nil:
		return errors.New("routes between hosts have a credit loop")
	}
	return nil
}

// choices prints how many ports adaptive routing could choose from, where the engine has ranked the switches.
func (r *route) choices(ctx context.Context, in routing.In, tables *routing.Tables) error {
	if tables.Ranks == nil {
		return nil
	}
	c, err := candidates.Find(ctx, 0, in.Topo, tables.Ranks)
	if err != nil {
		return err
	}
	switch err := c.Prove(ctx, 0); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.line("choices", "not every choice of ports can be used: %v", err)
	default:
		choice := c.Choice()
		r.line("choices",
			"from a switch with hosts to another one at least %d ports can be used, %.1f on average; whichever is used, packets arrive and there is no credit loop", choice.Least, choice.Mean)
	}
	return nil
}

func findLoop(ctx context.Context, in routing.In, report *verify.Report, tables *routing.Tables,
	traffic creditloop.Traffic) (*creditloop.Report, error) {
	return creditloop.Find(ctx, creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding(),
		SLs: tables.SLs, Maps: tables.SLs.Lanes(), Traffic: traffic})
}

// measure prints how evenly links between switches are used, and what flows meet there.
func (r *route) measure(ctx context.Context, in routing.In, tables *routing.Tables) error {
	f, err := quality.Measure(ctx, in, tables.LFT, quality.Hosts(in.Topo, in.LIDs), bisections)
	if err != nil {
		return err
	}
	if f.Links > 0 {
		r.line("load", "of %d directions of links between switches %d are unused; routes between hosts: %.1f on average, %d at most", f.Links, f.Unused, f.Mean, f.Fullest)
	}
	if f.Shifts > 0 {
		r.line("shifts", "of the hosts in the order of their LIDs, %d: %.2f flows on the fullest link on average, %d at most", f.Shifts, f.Shift, f.Worst)
		if err := r.measureRails(ctx, in, tables); err != nil {
			return err
		}
		r.line("bisections", "of the hosts by chance, %d: a flow has %.3f of the bandwidth of a link on average",
			bisections, f.Bisection)
	}
	if f.Several > 0 {
		r.line("hosts", "%d have several LIDs, of one port or several; the loss of one switch above leaves cuts %.1f %% of them off from a leaf, on average", f.Several, f.Cut*100)
	}
	return nil
}

// measureRails prints what flows meet in shifts within rails, if there are any.
func (r *route) measureRails(ctx context.Context, in routing.In, tables *routing.Tables) error {
	if len(r.rails.Rails) == 0 {
		return nil
	}
	f, err := quality.WithinRails(ctx, in, tables.LFT, r.rails)
	if err == nil {
		r.line("", "within all rails at once, %d: %.2f flows on the fullest link on average, %d at most", f.Shifts,
			f.Shift, f.Worst)
	}
	return err
}

func (r *route) line(name, format string, args ...any) {
	fmt.Fprintf(r.out, "%-13s %s\n", name, fmt.Sprintf(format, args...))
}

// lanesText describes the lanes that paths use, with the number of pairs of LIDs on each.
func lanesText(s *routing.SLs) string {
	if s == nil {
		return "one"
	}
	var paths [16]int
	weight := map[int32]int{} // LIDs of each column
	for _, c := range s.To {
		if c >= 0 {
			weight[c]++
		}
	}
	for _, row := range s.From {
		if row < 0 {
			continue
		}
		for c, n := range weight {
			paths[s.Rows[row][c]] += n
		}
	}
	var text []string
	for sl := range s.Count {
		text = append(text, fmt.Sprintf("%d: %d", sl, paths[sl]))
	}
	return fmt.Sprintf("pairs of LIDs by SL: %s", strings.Join(text, ", "))
}

// loopText describes a credit loop.
func loopText(t *topo.Topo, loop []creditloop.Channel, traffic string) string {
	if loop == nil {
		return "none " + traffic
	}
	text := fmt.Sprintf("%d links %s: %s", len(loop), traffic, creditloop.Text(t, loop, creditloop.Description))
	for _, c := range loop {
		text += fmt.Sprintf("\n%-13s   %s", "", c.Text(t, creditloop.Description))
	}
	return text
}
