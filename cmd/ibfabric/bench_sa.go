package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sim/hosts"
	"ibsm/topo/net"
)

// benchSA is one benchmark of the SA.
type benchSA struct {
	bench
	spec  string
	boot  hosts.Boot
	loss  float64
	open  int
	rate  int
	flood int
	lasts time.Duration
}

func newBenchSA() *cobra.Command {
	b := &benchSA{spec: "fattree:k=36"}
	c := &cobra.Command{Use: "bench-sa [SPEC] [OPTION]...",
		Short: "compare the subnet administration of OpenSM and ibsm", Args: cli.Args(0, 1), Long: `
Measures the subnet administration of OpenSM and ibsm. Each runs in its own process, as a client
of the same simulated fabric. The hosts of the fabric send the requests of Linux hosts, with the
kernel's time-outs and retries.

SPEC is as for ibfabric serve; without one, a fat tree of 11,664 hosts.

Boot: all links come up; then every host queries the IPoIB broadcast group, joins it,
subscribes to four traps and queries paths to other hosts, without waiting for the
responses. A host drops a request after the kernel's number of retries.
Rate: a constant number of path queries (--open) is outstanding.
Latency: path queries arrive at a constant rate (--rate) while the manager sweeps and
recomputes all routes repeatedly. The latency of a query is the time from its first packet
to its response, measured in the fabric.
Flood: path queries arrive at the same rate, without sweeps: first alone; then while one more host
sends --flood path queries a second to another host; then while it sends them to the manager.
On ibsim: rate and latency again, with four clients of Debian's ibsim, an independent
simulator. ibsim forwards each packet separately, so its speed limits both managers.`}
	b.options(c)
	f := c.Flags()
	f.DurationVar(&b.boot.Over, "over", 30*time.Second, "hosts boot at random moments of this `TIME`")
	f.IntVar(&b.boot.Paths, "paths", 64, "each host asks for `N` paths, one every --every")
	f.DurationVar(&b.boot.Every, "every", 200*time.Millisecond, "`TIME` between two requests of a host for paths")
	loss := f.String("loss", "1%", "packet loss `RATE` while hosts boot")
	f.IntVar(&b.open, "open", 256, "rate: `N` queries are outstanding")
	f.IntVar(&b.rate, "rate", 10_000, "latency: `N` queries per second")
	f.IntVar(&b.flood, "flood", 100_000, "flood: `N` queries per second of one host; 0 skips the flood")
	f.DurationVar(&b.lasts, "for", 10*time.Second, "`TIME` for which the rate, the latency and the flood are measured")
	only := f.String("only", "", "only manager `NAME`: opensm or ibsm")
	cli.Words(c, "only", openSM, ibsm)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		b.out = cmd.OutOrStdout()
		if b.open < 1 || b.rate < 1 || b.boot.Paths < 0 || b.lasts <= 0 {
			return cli.UsageError("--open, --rate, --for: expected more than 0", "")
		}
		if b.flood < 0 {
			return cli.UsageError("--flood: expected 0 or more", "")
		}
		var err error
		if b.loss, err = readRate(*loss); err != nil {
			return cli.UsageError("--loss "+err.Error(), "")
		}
		if len(args) == 1 {
			b.spec = args[0]
		}
		return b.compare(cmd.Context(), *only)
	}
	return c
}

// leastHosts is how many hosts a subnet must have.
const leastHosts = 4

// compare measures both managers, or only one.
func (b *benchSA) compare(ctx context.Context, only string) error {
	if err := b.findPrograms(); err != nil {
		return err
	}
	n, err := loadNet(b.spec)
	if err != nil {
		return err
	}
	if countHosts(n) < leastHosts {
		return fmt.Errorf(
			"%s: %d hosts; at least %d are needed: the manager's, one that floods, and two that ask for paths to each other", b.spec, countHosts(n), leastHosts)
	}
	fmt.Fprintf(b.out, "%s: %d hosts, %d switches\n", b.spec, countHosts(n), len(n.Nodes)-countHosts(n))
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for _, m := range []manager{b.openSM("minhop"), b.ownSM("minhop")} {
		if only != "" && only != m.name {
			continue
		}
		if err := b.one(ctx, n, m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if err := b.onIbsim(ctx, n, m); err != nil {
			return fmt.Errorf("%s on ibsim: %w", m.name, err)
		}
	}
	return nil
}

// one measures a manager.
func (b *benchSA) one(ctx context.Context, n *net.Net, m manager) error {
	place, err := newBenchPlace(n)
	if err != nil {
		return err
	}
	defer place.close()
	var crowd *hosts.Crowd
	var flood *flooder
	place.server.Do(func(f *fabric.Fabric) {
		others := otherHosts(f)
		last := len(others) - 1
		flood = &flooder{f: f, at: others[last], to: others[0]}
		crowd, err = hosts.New(f, 1, others[:last])
	})
	if err != nil {
		return err
	}
	run, err := place.start(m, "SA, all of it", b.keep)
	if err != nil {
		return err
	}
	l := load{place: place, crowd: crowd, run: run}
	r := measurement{}
	err = place.await(ctx, run, true, &r)
	if err == nil {
		fmt.Fprintf(b.out, "%s: up after %.2f s\n", m.name, r.Wall)
		err = b.measureLoad(ctx, &l, m)
	}
	if err == nil && b.flood > 0 {
		err = b.measureFlood(ctx, &l, flood)
	}
	err = errors.Join(err, run.kill(&r))
	fmt.Fprintf(b.out, "  all of it: user %.2f s, system %.2f s, memory %.0f MB\n", r.User, r.System, r.Memory)
	return err
}

// measureLoad goes through the three parts.
func (b *benchSA) measureLoad(ctx context.Context, l *load, m manager) error {
	l.place.server.Do(func(f *fabric.Fabric) {
		f.SetFaults(fabric.Faults{Loss: b.loss})
		l.crowd.Begin(b.boot)
	})
	err := l.until(ctx, b.boot.Over+time.Duration(b.boot.Paths)*b.boot.Every+time.Minute, func() bool {
		return l.crowd.Begun() && l.crowd.Open() == 0
	})
	l.show(b.out, "boot")
	if err != nil {
		return err
	}
	l.place.server.Do(func(f *fabric.Fabric) {
		f.SetFaults(fabric.Faults{})
		l.crowd.KeepOpen(b.open)
	})
	if err := l.last(ctx, b.lasts, nil); err != nil {
		return err
	}
	l.place.server.Do(func(*fabric.Fabric) { l.crowd.KeepOpen(0) })
	l.show(b.out, fmt.Sprintf("rate, %d open", b.open))
	if err := l.finish(ctx); err != nil {
		return err
	}
	l.take()
	reroutes := 0
	var orders sync.WaitGroup // the manager lives until it has taken the last
	asked := 0
	began := time.Now()
	err = l.last(ctx, b.lasts, func() {
		n := due(began, b.rate) - asked
		l.crowd.Ask(n)
		asked += n
		if time.Since(began) >= time.Duration(reroutes)*rerouteEvery {
			reroutes++
			orders.Go(func() { l.run.reroute(ctx, m) })
		}
	})
	orders.Wait()
	l.show(b.out, fmt.Sprintf("latency at %d/s, %d full reroutes asked for", b.rate, reroutes))
	return err
}

// due is how many are sent by now, at a rate a second since a time.
func due(since time.Time, rate int) int { return int(time.Since(since).Seconds() * float64(rate)) }

// rerouteEvery is how often the manager is asked for all routes anew.
const rerouteEvery = time.Second

// orderPatience is how long it has to take the order.
const orderPatience = 10 * time.Second

// otherHosts are the ports of all hosts but the first, where the manager is.
func otherHosts(f *fabric.Fabric) (ends []net.End) {
	for at := range f.EndPorts() {
		if f.NodeType(at.Node) == mad.CA {
			ends = append(ends, at)
		}
	}
	return ends[1:]
}

// reroute asks the manager for all routes anew: OpenSM computes them in each heavy
// sweep.
func (run *process) reroute(ctx context.Context, m manager) {
	if m.name == openSM {
		run.cmd.Process.Signal(syscall.SIGHUP) // of ibsim-run, which has become opensm
		return
	}
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	c := ctl.NewClient(filepath.Join(run.dir, controlSocket))
	defer c.Close()
	if err := c.Post(ctx, "/v1/reroute", nil, nil); err != nil {
		fmt.Fprintln(os.Stderr, "reroute:", err)
	}
}
