package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	osmlog "ibsm/opensm/log"
	"ibsm/routing"
	"ibsm/routing/nue"
	"ibsm/routing/torus"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// engineSpecs are routed when no SPEC is given.
var engineSpecs = []string{"fattree:k=16", "fattree:k=24", "fattree:k=32", "torus:dims=10x10x10",
	"dragonfly:a=12,p=6,h=6", "random:switches=500,degree=8"}

// benchEngines is one benchmark of routing engines.
type benchEngines struct {
	bench
	engines []string
	limit   time.Duration
}

func newBenchEngines() *cobra.Command {
	b := &benchEngines{}
	c := &cobra.Command{Use: "bench-engines [SPEC]... [OPTION]...",
		Short: "compare the routing engines of OpenSM and ibsm", Long: `
Measures the routing engines of OpenSM and ibsm. For each engine the two run one after the other,
each as a client of Debian's ibsim on a fabric that was just powered on.

SPEC is as for ibfabric serve; without one, fat trees of 1,024, 3,456 and 8,192 hosts, a torus of
10x10x10, a dragonfly of 876 switches, and a random graph of 500.

OpenSM's time is the time between two lines of its log: LIDs are assigned, and tables are configured.
The time of ibsm's engine is measured in ibfabric, on the same fabric with eight lanes: the fastest of
three. The time beside it is all computation of the manager's first sweep: routes, their proof,
multicast trees, partitions, and the Sets to write. The memory is the peak up to SUBNET UP. If an
engine cannot route the fabric, the table names the engine that routed it instead.

lash, dfsssp, nue and torus-2QoS run with quality of service, nue with all available lanes.`}
	b.options(c)
	all := slices.DeleteFunc(engines.OpenSM(), func(name string) bool { return name == "file" })
	c.Flags().StringSliceVarP(&b.engines, "engine", "R", all, "`LIST` of routing engines")
	c.Flags().DurationVar(&b.limit, "limit", 5*time.Minute, "OpenSM is ended when it has routed for this `TIME`")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		b.out = cmd.OutOrStdout()
		for _, name := range b.engines {
			if !slices.Contains(all, name) {
				return cli.UsageError(fmt.Sprintf("--engine %s: this engine is not measured", name),
					"expected some of "+strings.Join(all, ", "))
			}
		}
		if b.limit <= 0 {
			return cli.UsageError("--limit: expected more than 0", "")
		}
		specs := args
		if len(specs) == 0 {
			specs = engineSpecs
		}
		return b.each(cmd.Context(), specs, b.measure)
	}
	return c
}

// measure prints the table of one topology.
func (b *benchEngines) measure(ctx context.Context, spec string) error {
	n, err := loadNet(spec)
	if err != nil {
		return err
	}
	hosts := countHosts(n)
	fmt.Fprintf(b.out, "\n%s: %d hosts, %d switches\n", spec, hosts, len(n.Nodes)-hosts)
	fmt.Fprintf(b.out, "%-12s %12s %12s %12s %8s %12s %12s %8s\n", "engine", "OpenSM, s", "ibsm, s", "all of it, s",
		"ratio", "OpenSM, MB", "ibsm, MB", "ratio")
	for _, name := range b.engines {
		if name == torus2QoS && !torusDims.MatchString(spec) {
			continue
		}
		theirs, err := b.route(ctx, n, b.openSMWith(name, spec, n))
		if err != nil {
			return fmt.Errorf("OpenSM's %s: %w", name, err)
		}
		ours, err := b.route(ctx, n, b.ownSMWith(name, spec, n))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		alone, err := engineAlone(ctx, n, name, torusFile(spec, n))
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "%-12s %12s %12s %12s %8s %12.0f %12.0f %8.2f\n", name, theirs.text(name), alone.text(name),
			ours.text(name),
			theirs.ratio(alone), theirs.memory, ours.memory, ours.memory/theirs.memory)
	}
	return nil
}

// engineRun is what it cost to route a fabric.
type engineRun struct {
	engine string        // that routed; "" if the limit came first
	took   time.Duration // of it, at least
	memory float64       // MB
}

func (r engineRun) text(wanted string) string {
	switch {
	case r.engine == "":
		return fmt.Sprintf(">%.0f", r.took.Seconds())
	case r.engine != wanted:
		return r.engine
	}
	return fmt.Sprintf("%.3f", r.took.Seconds())
}

// ratio is that of times, where both are of the same engine.
func (r engineRun) ratio(own engineRun) string {
	switch r.engine {
	case own.engine:
		return fmt.Sprintf("%.4f", own.took.Seconds()/r.took.Seconds())
	case "":
		return fmt.Sprintf("<%.4f", own.took.Seconds()/r.took.Seconds())
	}
	return "-"
}

// engineAlone measures an engine of ibsm.
func engineAlone(ctx context.Context, n *net.Net, name, torusFile string) (r engineRun, err error) {
	t, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		return r, err
	}
	settings := engines.Settings{Nue: nue.Settings{QoS: true}}
	if torusFile != "" {
		settings.Torus, _, _ = torus.Parse(torusConf, []byte(torusFile))
	}
	in := routing.In{Topo: t, LIDs: topo.SequentialLIDs(t, 0), Lanes: slices.Repeat([]uint8{8}, len(t.Ports))}
	e, _ := engines.Find(name, &settings)
	r = engineRun{engine: "refused", took: time.Hour}
	for range 3 {
		began := time.Now()
		if _, err := e.Route(ctx, in); err == nil {
			r.engine, r.took = name, min(r.took, time.Since(began))
		}
	}
	return r, ctx.Err()
}

// moduleLevels has OpenSM log the steps of a sweep, and nothing else more than usual.
const moduleLevels = "osm_state_mgr.c=0x07\n"

func (b *benchEngines) openSMWith(engine, spec string, n *net.Net) manager {
	m := b.openSM(engine)
	m.files[openSMConf] += engineConf(engine) + "per_module_logging_file levels.conf\n"
	m.files["levels.conf"] = moduleLevels
	m.files[torusConf] = torusFile(spec, n)
	return m
}

func (b *benchEngines) ownSMWith(engine, spec string, n *net.Net) manager {
	m := b.ownSM(engine)
	m.argv = append(m.argv, "-F", openSMConf)
	m.files = map[string]string{openSMConf: engineConf(engine), torusConf: torusFile(spec, n)}
	return m
}

// torus2QoS routes tori of three dimensions only, each of which has a file that describes it.
const (
	torus2QoS = "torus-2QoS"
	torusConf = "torus-2QoS.conf"
)

// engineConf are the settings of an engine.
func engineConf(engine string) string {
	switch engine {
	case "lash", "dfsssp", "nue", torus2QoS:
		return "qos TRUE\nnue_max_num_vls 0\ntorus_config " + torusConf + "\n"
	}
	return ""
}

var torusDims = regexp.MustCompile(`^(torus|mesh):dims=(\d+)x(\d+)x(\d+)`)

// torusFile describes a generated torus of three dimensions to torus-2QoS: the switches next to one, in both
// directions, which a dimension of four needs. It is nothing for any other fabric.
func torusFile(spec string, n *net.Net) string {
	m := torusDims.FindStringSubmatch(spec)
	if m == nil {
		return ""
	}
	switchAt := func(at [3]int) uint64 {
		name := fmt.Sprintf("switch-%d-%d-%d", at[0], at[1], at[2])
		return uint64(n.Nodes[slices.IndexFunc(n.Nodes, func(node net.Node) bool { return node.Desc == name })].GUID)
	}
	text := strings.Join(m[1:], " ") + "\n"
	for dim, radix := range m[2:] {
		var next, before [3]int
		last, _ := strconv.Atoi(radix)
		next[dim], before[dim] = 1, last-1
		text += fmt.Sprintf("%cp_link %#x %#x\n", "xyz"[dim], switchAt([3]int{}), switchAt(next))
		if m[1] == "torus" && last > 2 {
			text += fmt.Sprintf("%cm_link %#x %#x\n", "xyz"[dim], switchAt([3]int{}), switchAt(before))
		}
	}
	return text
}

// route has a manager route a fabric.
func (b *benchEngines) route(ctx context.Context, n *net.Net, m manager) (r engineRun, err error) {
	place, err := newIbsimPlace(n)
	if err != nil {
		return r, err
	}
	defer place.close()
	run, err := startManager(m, place.sock, place.host, onIbsim, b.keep)
	if err != nil {
		return r, err
	}
	err = b.await(ctx, run, m.name, &r)
	if err == nil && m.name != openSM {
		var phases map[string]float64
		phases, err = run.phases(ctx)
		r.took = time.Duration(phases["computing"] * float64(time.Second))
	}
	var used measurement
	err = errors.Join(err, run.kill(&used))
	r.memory = used.Memory
	return r, err
}

// await waits until a manager says SUBNET UP, or until OpenSM has routed for too long.
func (b *benchEngines) await(ctx context.Context, run *process, name string, r *engineRun) error {
	var routes time.Time // since when OpenSM does
	return run.until(ctx, func() bool {
		text, _ := os.ReadFile(run.log) // it may not be there yet
		log := string(text)
		r.engine, r.took = readRouting(log)
		switch {
		case strings.Contains(log, "SUBNET UP"):
			return true
		case name != openSM || r.engine != "" || !strings.Contains(log, osmlog.LIDsAssigned):
		case routes.IsZero():
			routes = time.Now()
		case time.Since(routes) > b.limit:
			r.took = b.limit
			return true
		}
		return false
	})
}

var configured = regexp.MustCompile(`osm_ucast_mgr_process: (\S+) tables configured on all switches`)

// readRouting reads from a log which engine has routed first, "" for none yet, and for how long, where the
// log says when it began.
func readRouting(log string) (engine string, took time.Duration) {
	var began, now time.Duration
	for line := range strings.Lines(log) {
		if at, ok := logTime(line); ok {
			now = at // OpenSM's messages in boxes are of several lines, the first of which has the time
		}
		if strings.Contains(line, osmlog.LIDsAssigned) {
			began = now
		}
		if m := configured.FindStringSubmatch(line); m != nil {
			return m[1], (now - began + 24*time.Hour) % (24 * time.Hour)
		}
	}
	return "", 0
}

// logTime is the time of day of a line of a log, such as "Nov 23 09:11:31 997305 [...".
func logTime(line string) (time.Duration, bool) {
	words := strings.Fields(line)
	if len(words) < 4 {
		return 0, false
	}
	at, err := time.Parse("15:04:05.000000", words[2]+"."+words[3])
	return at.Sub(at.Truncate(24 * time.Hour)), err == nil
}

// phases is how long each phase of ibsm's sweeps has taken until now, in seconds.
func (run *process) phases(ctx context.Context) (map[string]float64, error) {
	c := ctl.NewClient(filepath.Join(run.dir, controlSocket))
	defer c.Close()
	body, err := c.Open(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	took := map[string]float64{}
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if m := phaseSum.FindStringSubmatch(lines.Text()); m != nil {
			if took[m[1]], err = strconv.ParseFloat(m[2], 64); err != nil {
				return nil, err
			}
		}
	}
	if len(took) == 0 {
		return nil, errors.New("the metrics of ibsm lack the times of phases")
	}
	return took, nil
}

var phaseSum = regexp.MustCompile(`^ibsm_sweep_phase_seconds_sum\{phase="(\w+)"\} (\S+)$`)
