package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"ibsm/atomicfile"
	"ibsm/cmd/cli"
	"ibsm/mad"
	"ibsm/topo/net"
)

// defaultSpecs are measured when none is given: 2,916 hosts and 11,664.
var defaultSpecs = []string{"fattree:k=36,pods=9", "fattree:k=36"}

// bench is one benchmark.
type bench struct {
	runs   int // 0: as many as the size allows
	ibsm   string
	opensm string
	base   string // an ibsm to compare with instead of OpenSM; "" for OpenSM
	keep   string
	out    io.Writer
	all    []measurement
}

func newBench() *cobra.Command {
	b := &bench{}
	c := &cobra.Command{Use: "bench [SPEC]... [OPTION]...", Short: "compare OpenSM and ibsm", Long: `
Compares OpenSM and ibsm. They run one after the other, each as a client of the same server of a
simulated fabric.

SPEC is as for ibfabric serve; without one, a fat tree of 2,916 hosts and one of 11,664.

A cold start begins with a fabric that was just powered on. A takeover begins with a fabric
that OpenSM brought up and that no longer has a manager. The measurement of time, CPU time,
memory and SMPs ends when all links are Active and 10,000 data packets between random pairs
arrive, and in a takeover not before the manager reports SUBNET UP.

A lost link is an uplink of a leaf switch, in a subnet that OpenSM brought up and the manager took
over. The measurement begins when the link goes down. It ends with the manager's last Set: all
packets arrive, and no other Set follows within two seconds.

A cold start on ibsim uses Debian's ibsim, an independent simulator; there the measurement
ends when the manager reports SUBNET UP.

The ratio is ibsm's figure divided by OpenSM's: the median over all pairs of runs. It
depends less on the load of the machine than absolute times.

With --base two versions of ibsm are compared: then the other ibsm does all that is said of OpenSM.`}
	b.options(c)
	c.Flags().StringVar(&b.base, "base", "", "compare with the ibsm program at `PATH` instead of OpenSM")
	c.Flags().IntVar(&b.runs, "runs", 0, "`N` paired runs of each SPEC (default: 3, and 1 above 5,000 hosts)")
	file := c.Flags().String("json", "", "write every run and the ratios to `FILE`")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		b.out = cmd.OutOrStdout()
		if b.runs < 0 {
			return cli.UsageError(fmt.Sprintf("--runs %d: expected 1 or more", b.runs), "")
		}
		specs := args
		if len(specs) == 0 {
			specs = defaultSpecs
		}
		err := b.each(cmd.Context(), specs, func(ctx context.Context, spec string) error {
			if err := b.measure(ctx, spec); err != nil {
				return err
			}
			printComparison(b.out, spec, b.first("minhop").name, compare(b.all, spec))
			return nil
		})
		if err != nil || *file == "" {
			return err
		}
		return b.writeJSON(*file, specs)
	}
	c.Args = cobra.ArbitraryArgs // they are no verbs
	c.AddCommand(newBenchDays(), newBenchGrowth(), newBenchMemory(), newBenchPartitions())
	return c
}

// options are the options of all benchmarks.
func (b *bench) options(c *cobra.Command) {
	b.ownOptions(c)
	c.Flags().StringVar(&b.opensm, "opensm", "opensm", "opensm program at `PATH`")
}

// ownOptions are the options of benchmarks that do not run OpenSM.
func (b *bench) ownOptions(c *cobra.Command) {
	c.Flags().StringVar(&b.ibsm, "ibsm", "", "ibsm program at `PATH` (default: next to ibfabric, or found in $PATH)")
	c.Flags().StringVar(&b.keep, "keep", "", "keep the managers' logs in `DIR`")
}

// each measures one topology after the other, until the first error or an interrupt.
func (b *bench) each(ctx context.Context, specs []string, measure func(ctx context.Context, spec string) error) error {
	if err := b.findPrograms(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for _, spec := range specs {
		if err := measure(ctx, spec); err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
	}
	return nil
}

// first is the manager that ibsm is compared with.
func (b *bench) first(engine string) manager {
	if b.base != "" {
		return ownManager(otherIbsm, b.base, engine)
	}
	return b.openSM(engine)
}

// findPrograms looks for the programs to run.
func (b *bench) findPrograms() error {
	if b.ibsm == "" {
		if own, err := os.Executable(); err == nil {
			b.ibsm = filepath.Join(filepath.Dir(own), "ibsm")
		}
		if _, err := os.Stat(b.ibsm); err != nil {
			b.ibsm = "ibsm"
		}
	}
	type needed struct{ path, hint string }
	programs := []needed{{b.ibsm, "build it beside ibfabric, or give --ibsm"}}
	other := &b.opensm
	switch {
	case b.base != "":
		other = &b.base
		programs = append(programs, needed{b.base, ""})
	case b.opensm != "":
		programs = append(programs, needed{b.opensm, "Debian's package opensm has it, or give --opensm"},
			needed{"ibsim-run", "Debian's package ibsim-utils has it"}, needed{"ibsim", "Debian's package ibsim-utils has it"})
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p.path); err != nil {
			return cli.UsageError(err.Error(), p.hint)
		}
	}
	for _, path := range []*string{&b.ibsm, other} { // they run in another folder
		if *path == "" {
			continue
		}
		found, err := exec.LookPath(*path)
		if err == nil {
			found, err = filepath.Abs(found)
		}
		if err != nil {
			return err
		}
		*path = found
	}
	return nil
}

// measure runs all pairs on one topology. In odd runs ibsm goes first.
func (b *bench) measure(ctx context.Context, spec string) error {
	n, err := loadNet(spec)
	if err != nil {
		return err
	}
	hosts := countHosts(n)
	runs := cmp.Or(b.runs, 3)
	if b.runs == 0 && hosts > 5000 {
		runs = 1
	}
	fmt.Fprintf(b.out, "%s: %d hosts, %d switches, %d runs\n", spec, hosts, len(n.Nodes)-hosts, runs)
	for run := range runs {
		order := []manager{b.first("minhop"), b.ownSM("minhop")}
		if run%2 == 1 {
			order[0], order[1] = order[1], order[0]
		}
		for _, m := range order {
			place, err := newBenchPlace(n)
			if err != nil {
				return err
			}
			err = b.one(ctx, place, m, "cold start", spec, run)
			if m.name != ibsm && err == nil {
				err = b.succeed(ctx, place, order, spec, run)
			}
			place.close()
			if err != nil {
				return err
			}
		}
		for _, m := range order {
			if err := b.oneOnIbsim(ctx, n, m, spec, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// oneOnIbsim measures a cold start of a manager on Debian's ibsim.
func (b *bench) oneOnIbsim(ctx context.Context, n *net.Net, m manager, spec string, run int) error {
	place, err := newIbsimPlace(n)
	if err != nil {
		return err
	}
	defer place.close()
	r, err := place.run(ctx, m, b.keep)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", onIbsim, m.name, err)
	}
	b.add(r, spec, run)
	return nil
}

// one measures a manager once.
func (b *bench) one(ctx context.Context, place *benchPlace, m manager, kind, spec string, run int) error {
	measure := place.run
	if kind == lostLink {
		measure = place.runLost
	}
	r, err := measure(ctx, m, kind, b.keep)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", kind, m.name, err)
	}
	b.add(r, spec, run)
	return nil
}

// succeed measures managers of a subnet in use, one after the other.
func (b *bench) succeed(ctx context.Context, place *benchPlace, order []manager, spec string, run int) error {
	kinds := []string{"takeover", lostLink}
	if len(place.links) < len(order) {
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		for i, m := range order {
			if kind == lostLink {
				place.link = place.links[i]
			}
			if err := b.one(ctx, place, m, kind, spec, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// linksToLose are ends of links between switches, one of each of the last two switches with hosts and two such links:
// each manager loses one that no other has routed around. There may be fewer.
func linksToLose(n *net.Net) (ends []net.End) {
	for i := range slices.Backward(n.Nodes) {
		hosts, links, last := 0, 0, net.NoEnd
		for num, p := range n.Nodes[i].Ports {
			switch {
			case n.Nodes[i].Type != mad.Switch || p.Peer.Node < 0:
			case n.Nodes[p.Peer.Node].Type == mad.Switch:
				links++
				last = net.End{Node: int32(i), Port: uint8(num)}
			default:
				hosts++
			}
		}
		if hosts > 0 && links > 1 {
			ends = append(ends, last)
		}
		if len(ends) == 2 {
			break
		}
	}
	return ends
}

// add notes and prints a run. SMPs are counted where the server counts them.
func (b *bench) add(r measurement, spec string, run int) {
	r.Spec, r.Run = spec, run
	b.all = append(b.all, r)
	smps := "-"
	if n := r.total(); n > 0 {
		smps = fmt.Sprint(n)
	}
	fmt.Fprintf(b.out, "  run %d: %-19s %-6s  wall %6.2f s  user %6.2f s  system %6.2f s  memory %4.0f MB  %7s SMPs\n",
		run+1, r.Kind, r.Manager, r.Wall, r.User, r.System, r.Memory, smps)
}

// writeJSON writes all that was measured.
func (b *bench) writeJSON(file string, specs []string) error {
	type comparisons struct {
		Spec    string
		Figures []comparison
	}
	report := struct {
		CPUs   int
		Go     string
		Ratios []comparisons
		Runs   []measurement
	}{runtime.NumCPU(), runtime.Version(), nil, b.all}
	for _, spec := range specs {
		report.Ratios = append(report.Ratios, comparisons{spec, compare(b.all, spec)})
	}
	return writeIndented(file, report)
}

// writeIndented writes a value as JSON.
func writeIndented(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(file, 0o666, append(text, '\n'))
}
