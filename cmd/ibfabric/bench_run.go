package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/topo/net"
)

const (
	openSM     = "opensm"
	otherIbsm  = "base" // of bench --base
	ibsm       = "ibsm"
	openSMConf = "opensm.conf"
)

// manager is a program to be measured.
type manager struct {
	name  string
	argv  []string
	files map[string]string // by name: written to the folder that it runs in
}

// openSM writes its log as it goes: its line of a takeover is waited for.
func (b *bench) openSM(engine string) manager {
	return manager{openSM, []string{"ibsim-run", b.opensm, "-F", openSMConf, "-s", "0", "-R", engine},
		map[string]string{openSMConf: "force_log_flush TRUE\n"}}
}

// controlSocket is made in the folder that the manager runs in.
const controlSocket = "control"

func (b *bench) ownSM(engine string) manager {
	return ownManager(ibsm, b.ibsm, engine)
}

// ownManager is an ibsm program, which the tables call name.
func ownManager(name, program, engine string) manager {
	return manager{name, []string{program, "--ibsim", "-s", "0", "-R", engine}, nil}
}

// measurement is what one run cost, up to the server's confirmation.
type measurement struct {
	Spec    string
	Run     int
	Manager string
	Kind    string            // "cold start", "takeover", lostLink or onIbsim
	Wall    float64           // s
	User    float64           // s of CPU
	System  float64           // s of CPU
	Memory  float64           // MB, the peak of what is resident
	SMPs    map[string]uint64 // by method and attribute, as the fabric counted them
	Phases  phases
}

// phases cut the wall time, in seconds, by what the fabric sees: the first Set of
// all, then the first and the last Set of a forwarding table, then the confirmation.
type phases struct {
	FirstSet, FirstTable, LastTable, Confirmed float64
}

func (m *measurement) total() uint64 { return totalSMPs(m.SMPs) }

// totalSMPs is the number of SMPs of all methods and attributes.
func totalSMPs(byName map[string]uint64) (n uint64) {
	for _, k := range byName {
		n += k
	}
	return n
}

// benchPlace is a fabric that managers are measured on, with its server.
type benchPlace struct {
	server *ibsim.Server
	sock   string
	host   string    // node that managers attach to
	links  []net.End // that may be lost, one for each manager
	link   net.End   // that runLost takes away
	cancel context.CancelFunc
	ended  chan error

	// Of the run, in the fabric's time, 0 for none. They belong to the server's turn.
	began, firstSet, firstTable, lastTable, lastSet time.Duration
}

// newBenchPlace powers up a fresh fabric.
func newBenchPlace(n *net.Net) (*benchPlace, error) {
	p := &benchPlace{sock: fmt.Sprintf("ibfabric-bench-%d", os.Getpid()), host: firstHost(n), links: linksToLose(n),
		ended: make(chan error, 1)}
	f := fabric.New(n, fabric.Config{Seed: 1, Caps: deviceCaps(n, false), OnSet: p.saw})
	var err error
	if p.server, err = ibsim.Listen(ibsim.ServerConfig{Fabric: f, SockName: p.sock}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() { p.ended <- p.server.Run(ctx) }()
	return p, nil
}

// close ends the server, and gives its memory back before the next is measured.
func (p *benchPlace) close() {
	p.cancel()
	<-p.ended
	p.server = nil
	debug.FreeOSMemory()
}

// saw notes when Sets come; the fabric calls it.
func (p *benchPlace) saw(s fabric.Set) {
	if p.firstSet == 0 {
		p.firstSet = s.At
	}
	p.lastSet = s.At
	if s.Attr == smp.AttrLinearForwardingTable {
		if p.firstTable == 0 {
			p.firstTable = s.At
		}
		p.lastTable = s.At
	}
}

// Bounds of a run.
const (
	lookInterval = 10 * time.Millisecond
	benchTimeout = 15 * time.Minute
	benchProbes  = 10_000
	benchQuiet   = 2 * time.Second // after a manager's last Set
)

// process is a manager that runs.
type process struct {
	cmd  *exec.Cmd
	dir  string // that it runs in
	log  string
	died chan error
}

// start starts a manager on the served fabric.
func (p *benchPlace) start(m manager, kind, keep string) (*process, error) {
	return startManager(m, p.sock, p.host, kind, keep)
}

// startManager starts a manager in a folder of its own, as a client of the server at sock.
func startManager(m manager, sock, host, kind, keep string) (*process, error) {
	dir, err := os.MkdirTemp("", "ibfabric-bench-")
	if err != nil {
		return nil, err
	}
	run := &process{dir: dir, log: filepath.Join(dir, "log"), died: make(chan error, 1)}
	if keep != "" {
		if err = os.MkdirAll(keep, 0o777); err == nil {
			run.log, err = filepath.Abs(filepath.Join(keep, m.name+"-"+strings.ReplaceAll(kind, " ", "-")+".log"))
		}
		if err == nil {
			os.Remove(run.log)
		}
	}
	for name, text := range m.files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)
		}
	}
	if err == nil {
		run.cmd = exec.Command(m.argv[0], append(m.argv[1:len(m.argv):len(m.argv)], "-f", run.log)...)
		run.cmd.Dir = dir
		run.cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+sock, "SIM_HOST="+host, "OSM_CACHE_DIR="+dir,
			"OSM_TMP_DIR="+dir, ctl.SocketEnv+"="+filepath.Join(dir, controlSocket))
		err = run.cmd.Start()
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	go func() { run.died <- run.cmd.Wait() }()
	return run, nil
}

// kill ends the manager on the spot, so that what it used is what its work took, and
// adds what that was.
func (run *process) kill(r *measurement) (err error) {
	defer os.RemoveAll(run.dir)
	r.Memory, err = peakMemory(run.cmd.Process.Pid)
	run.cmd.Process.Kill()
	<-run.died
	usage := run.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	r.User, r.System = seconds(time.Duration(usage.Utime.Nano())), seconds(time.Duration(usage.Stime.Nano()))
	return err
}

// run measures a manager until its work is confirmed.
func (p *benchPlace) run(ctx context.Context, m manager, kind, keep string) (measurement, error) {
	r := measurement{Manager: m.name, Kind: kind}
	p.server.Do(p.begin)
	run, err := p.start(m, kind, keep)
	if err != nil {
		return r, err
	}
	err = p.await(ctx, run, kind == "takeover", &r)
	return r, errors.Join(err, run.kill(&r), p.awaitFarewell(ctx))
}

// begin sets counters and times back.
func (p *benchPlace) begin(f *fabric.Fabric) {
	f.ResetStats()
	p.began, p.firstSet, p.firstTable, p.lastTable, p.lastSet = f.Now(), 0, 0, 0, 0
}

// lostLink is the kind of a measurement that runLost makes.
const lostLink = "lost link"

// runLost measures what a manager of a subnet in use does when p.link is lost: from the loss to the last Set. Then
// everything arrives, and no Set follows for a while. Before it ends, the manager has brought the link up again.
func (p *benchPlace) runLost(ctx context.Context, m manager, kind, keep string) (measurement, error) {
	r := measurement{Manager: m.name, Kind: kind}
	p.server.Do(p.begin)
	run, err := p.start(m, kind, keep)
	if err != nil {
		return r, err
	}
	cpu, err := p.lose(ctx, run, &r)
	err = errors.Join(err, run.kill(&r), p.awaitFarewell(ctx))
	r.User, r.System = seconds(cpu), 0
	return r, err
}

// lose has a manager bring up what there is, and then takes a link away. It returns the CPU time that the manager used
// after that.
func (p *benchPlace) lose(ctx context.Context, run *process, r *measurement) (cpu time.Duration, err error) {
	if err := p.await(ctx, run, true, new(measurement)); err != nil {
		return 0, err
	}
	if err := p.settled(ctx, run, nil); err != nil {
		return 0, err
	}
	before := cpuTime(run.cmd.Process.Pid)
	p.server.Do(func(f *fabric.Fabric) {
		p.begin(f)
		f.LinkDown(p.link)
	})
	isWhole := func(f *fabric.Fabric) bool { return p.lastSet != 0 && isUp(f) }
	if err := p.settled(ctx, run, isWhole); err != nil {
		return 0, err
	}
	p.server.Do(func(f *fabric.Fabric) { r.Wall, r.SMPs = seconds(p.lastSet-p.began), countSMPs(f.Stats()) })
	cpu = cpuTime(run.cmd.Process.Pid) - before
	p.server.Do(func(f *fabric.Fabric) {
		p.begin(f)
		f.LinkUp(p.link)
	})
	return cpu, p.settled(ctx, run, isWhole)
}

// settled waits until no Set has come for benchQuiet, since begin and since the last Set, and done is true; nil always
// is.
func (p *benchPlace) settled(ctx context.Context, run *process, done func(f *fabric.Fabric) bool) error {
	return run.until(ctx, func() (is bool) {
		p.server.Do(func(f *fabric.Fabric) {
			is = f.Now()-max(p.began, p.lastSet) > benchQuiet && (done == nil || done(f))
		})
		return is
	})
}

// await looks at the fabric until the manager's work is done, and reads clock and
// counters in the same moment.
func (p *benchPlace) await(ctx context.Context, run *process, sayUp bool, r *measurement) error {
	return run.until(ctx, func() (done bool) {
		if sayUp && !saysUp(run.log) {
			return false
		}
		p.server.Do(func(f *fabric.Fabric) {
			if done = isUp(f); done {
				r.Wall, r.Phases, r.SMPs = seconds(f.Now()-p.began), p.phases(f.Now()), countSMPs(f.Stats())
			}
		})
		return done
	})
}

// until asks again and again whether the measurement is complete.
func (run *process) until(ctx context.Context, done func() bool) error {
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	late := time.After(benchTimeout)
	for !done() {
		select {
		case <-ctx.Done():
			return errors.New("interrupted")
		case err := <-run.died:
			run.died <- err // for kill
			return fmt.Errorf("it exited before the measurement was complete: %v", err)
		case <-late:
			return fmt.Errorf("the measurement is not complete after %v", benchTimeout)
		case <-look.C:
		}
	}
	return nil
}

// awaitFarewell waits until the server has noticed that the manager is gone.
func (p *benchPlace) awaitFarewell(ctx context.Context) error {
	for len(p.server.Clients()) > 0 {
		select {
		case <-ctx.Done():
			return errors.New("interrupted")
		case <-time.After(lookInterval):
		}
	}
	return nil
}

// phases cuts the time of a run. A takeover may write nothing.
func (p *benchPlace) phases(end time.Duration) phases {
	set, table, last := p.firstSet, p.firstTable, p.lastTable
	if set == 0 {
		set = end
	}
	if table == 0 {
		table, last = end, end
	}
	return phases{seconds(set - p.began), seconds(table - set), seconds(last - table), seconds(end - last)}
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// saysUp reports whether the manager's log says that the subnet is up.
func saysUp(log string) bool {
	text, _ := os.ReadFile(log) // it may not be there yet
	return bytes.Contains(text, []byte("SUBNET UP"))
}

// isUp reports whether all links are Active and 10,000 probes arrive.
func isUp(f *fabric.Fabric) bool {
	if _, not := f.FirstNotActive(); not {
		return false
	}
	if links, active, _ := linkState(f); links != active {
		return false
	}
	if arrived, _ := probePairs(f, 100, 2); arrived < 100 {
		return false
	}
	arrived, _ := probePairs(f, benchProbes, 1)
	return arrived == benchProbes
}

func countSMPs(s fabric.Stats) map[string]uint64 {
	byName := make(map[string]uint64, len(s.SMPs))
	for k, n := range s.SMPs {
		byName[fmt.Sprintf("%v %s", k.Method, smp.AttrName(k.Attr))] += n
	}
	return byName
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s*(\d+) kB$`)

// peakMemory is the most memory that a process had resident, in MB. The kernel's
// account of a child that has ended counts what its parent had when it was born.
func peakMemory(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	m := highWater.FindSubmatch(status)
	if m == nil {
		return 0, fmt.Errorf("process %d does not show its peak memory", pid)
	}
	kB, err := strconv.ParseFloat(string(m[1]), 64)
	return kB / 1000, err
}

func firstHost(n *net.Net) string { return hostAt(n, 0) }

// hostAt is the ID of a channel adapter, counted from 0; "" where there are not so many.
func hostAt(n *net.Net, count int) string {
	for i := range n.Nodes {
		if n.Nodes[i].Type != mad.CA {
			continue
		}
		if count == 0 {
			return n.Nodes[i].ID
		}
		count--
	}
	return ""
}

func countHosts(n *net.Net) (hosts int) {
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			hosts++
		}
	}
	return hosts
}
