package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/sarec"
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
	c := &cobra.Command{Use: "bench-sa [SPEC] [OPTION]...", Short: "compare the subnet administration of OpenSM and ibsm", Args: cli.Args(0, 1), Long: `
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
Flood: path queries arrive at the same rate, without sweeps. First nothing else is sent, then one
more host sends --flood path queries a second to another host, then as many to the manager.
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
	f.IntVar(&b.flood, "flood", 100_000, "flood: `N` queries per second of one host; 0 for no such part")
	f.DurationVar(&b.lasts, "for", 10*time.Second, "`TIME` for which the rate, the latency and the flood are measured")
	only := f.String("only", "", "only manager `NAME`: opensm or ibsm")
	cli.Words(c, "only", openSM, "ibsm")
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
		if err := b.findPrograms(); err != nil {
			return err
		}
		n, err := loadNet(b.spec)
		if err != nil {
			return err
		}
		if countHosts(n) < leastHosts {
			return fmt.Errorf("%s: %d hosts; at least %d are needed: the manager's, one that floods, and two that ask for paths to each other", b.spec, countHosts(n), leastHosts)
		}
		fmt.Fprintf(b.out, "%s: %d hosts, %d switches\n", b.spec, countHosts(n), len(n.Nodes)-countHosts(n))
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		for _, m := range []manager{b.openSM("minhop"), b.ownSM("minhop")} {
			if *only != "" && *only != m.name {
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
	return c
}

// leastHosts is how many hosts a subnet must have.
const leastHosts = 4

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
	err := l.until(ctx, b.boot.Over+time.Duration(b.boot.Paths)*b.boot.Every+time.Minute, func() bool { return l.crowd.Begun() && l.crowd.Open() == 0 })
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

// measureFlood measures the latency of path queries alone, beside a host that sends many more to another host, and
// beside one that sends them to the manager. The difference of the last two is the manager's work, and that of
// handing it the packets: otherwise the simulated fabric carries the same.
func (b *benchSA) measureFlood(ctx context.Context, l *load, flood *flooder) error {
	var manager, host mad.LID
	var err error
	l.place.server.Do(func(*fabric.Fabric) { manager, host, err = flood.attach() })
	if err != nil {
		return err
	}
	for _, part := range []struct {
		to   string
		lid  mad.LID
		rate int
	}{{"", 0, 0}, {" to another host", host, b.flood}, {" to the manager", manager, b.flood}} {
		if err := l.finish(ctx); err != nil {
			return err
		}
		l.take()
		flood.sent = 0
		asked := 0
		began := time.Now()
		err := l.last(ctx, b.lasts, func() {
			n := due(began, b.rate) - asked
			l.crowd.Ask(n)
			asked += n
			flood.send(part.lid, due(began, part.rate)-flood.sent)
		})
		l.show(b.out, fmt.Sprintf("latency at %d/s, flood of %.0f/s%s", b.rate, float64(flood.sent)/time.Since(began).Seconds(), part.to))
		if err != nil {
			return err
		}
	}
	return nil
}

// flooder is a host that asks for the same path again and again, and needs no answer.
type flooder struct {
	f       *fabric.Fabric
	at, to  net.End // where it is, and the other end of the path
	station *fabric.Station
	ask     []mad.Datagram
	sent    int
}

// attach places it in the fabric, and returns the LIDs of the manager and of the other end.
func (l *flooder) attach() (manager, other mad.LID, err error) {
	if l.station, err = l.f.Attach(l.at); err != nil {
		return 0, 0, err
	}
	l.station.OnReceive(func(mad.Datagram) {})
	info, to := l.f.PortInfo(l.at), l.f.PortInfo(l.to)
	l.ask = []mad.Datagram{{Addr: mad.Addr{QPN: 1, SL: info.MasterSMSL()}}}
	p := &l.ask[0].Packet
	p.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
	rec := (*sarec.PathRecord)(p.SAData()[:64])
	rec.SetSGID(mad.MakeGID(info.GidPrefix(), l.f.PortGUID(l.at)))
	rec.SetDGID(mad.MakeGID(to.GidPrefix(), l.f.PortGUID(l.to)))
	rec.SetNumbPath(1)
	p.SetComponentMask(sarec.PathSGID | sarec.PathDGID | sarec.PathNumbPath)
	return info.MasterSMLID(), to.LID(), nil
}

// send sends n more requests, each of a transaction of its own.
func (l *flooder) send(to mad.LID, n int) {
	l.ask[0].Addr.LID = to
	for range n {
		l.sent++
		l.ask[0].Packet.SetTID(mad.TID(l.sent))
		l.station.Send(l.ask)
	}
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

// load is a crowd that a manager serves.
type load struct {
	place *benchPlace
	crowd *hosts.Crowd
	run   *process
	began time.Duration // what is shown next; the fabric's time
	cpu   time.Duration // that the manager had used by then
}

// stepEvery is how often the crowd is asked what it has to send.
const stepEvery = 200 * time.Microsecond

// until has the crowd go on until something is so.
func (l *load) until(ctx context.Context, atMost time.Duration, so func() bool) error {
	return l.steps(ctx, atMost, nil, so)
}

// finish has the crowd go on until nothing is open.
func (l *load) finish(ctx context.Context) error {
	return l.until(ctx, time.Minute, func() bool { return l.crowd.Open() == 0 })
}

// last has the crowd go on for a time, and does something in each step.
func (l *load) last(ctx context.Context, d time.Duration, do func()) error {
	end := time.Now().Add(d)
	return l.steps(ctx, d+time.Minute, do, func() bool { return time.Now().After(end) })
}

// steps steps the crowd; do and so have the fabric to themselves.
func (l *load) steps(ctx context.Context, atMost time.Duration, do func(), so func() bool) error {
	l.place.server.Do(func(f *fabric.Fabric) { l.began = f.Now() })
	l.cpu = cpuTime(l.run.cmd.Process.Pid)
	late := time.Now().Add(atMost)
	for next := time.Now(); next.Before(late); {
		select {
		case <-ctx.Done():
			return errors.New("interrupted")
		case err := <-l.run.died:
			l.run.died <- err
			return fmt.Errorf("it ended: %v", err)
		default:
		}
		next = pause(next)
		done := false
		l.place.server.Do(func(*fabric.Fabric) {
			if do != nil {
				do()
			}
			l.crowd.Step()
			done = so()
		})
		if done {
			return nil
		}
	}
	return fmt.Errorf("%d requests are still open after %v", l.crowd.Open(), atMost)
}

// pause waits until the next step is due, and returns when that was. Go's own timers are due
// to the millisecond when nothing else happens, by which time many requests would go out at once.
func pause(last time.Time) time.Time {
	next := last.Add(stepEvery)
	if wait := time.Until(next); wait > 0 {
		ts := syscall.NsecToTimespec(wait.Nanoseconds())
		_ = syscall.Nanosleep(&ts, nil) // cut short by a signal, a step is early
		return next
	}
	return time.Now()
}

// take is what became of the requests since the last time, and how long it took.
func (l *load) take() (r hosts.Report, took time.Duration) {
	l.place.server.Do(func(f *fabric.Fabric) { r, took = l.crowd.Report(), f.Now()-l.began })
	return r, took
}

// show prints what became of the requests.
func (l *load) show(w io.Writer, part string) {
	r, took := l.take()
	memory, _ := peakMemory(l.run.cmd.Process.Pid) // 0 if it has died
	cpu := cpuTime(l.run.cmd.Process.Pid) - l.cpu
	fmt.Fprintf(w, "  %s: %.1f s, CPU %.2f s, memory %.0f MB, %d reports, %d late answers\n", part, took.Seconds(), cpu.Seconds(), memory, r.Reports, r.Late)
	for kind := range hosts.NumKinds {
		o := &r.Kinds[kind]
		if o.Asked == 0 {
			continue
		}
		fmt.Fprintf(w, "    %-15s %8d asked %9.0f/s  %8d granted %7d resent %6d given up  p50 %-9v p99 %-9v max %v\n", kind, o.Asked,
			float64(len(o.Took))/took.Seconds(), len(o.Took), o.Resent, o.GivenUp, round(o.Quantile(0.5)), round(o.Quantile(0.99)), round(o.Quantile(1)))
		for status, n := range o.Refused {
			fmt.Fprintf(w, "    %15s %8d refused: %v\n", "", n, status)
		}
	}
}

// cpuTime is the CPU time that a process has used, 0 if it has ended.
func cpuTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	var user, system int64 // in hundredths of a second: fields 14 and 15, the second of which fields ends with a bracket
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) > 12 {
		user, _ = strconv.ParseInt(fields[11], 10, 64)
		system, _ = strconv.ParseInt(fields[12], 10, 64)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

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
