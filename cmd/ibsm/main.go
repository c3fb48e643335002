// Command ibsm is an InfiniBand subnet manager and administrator.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/txn"
	"ibsm/manager"
	"ibsm/opensm/console"
	"ibsm/opensm/dump"
	osmlog "ibsm/opensm/log"
	"ibsm/priority"
	"ibsm/view"
)

// version is that of this program; the other is the OpenSM whose interface it has.
const (
	version       = conf.Version
	compatibility = peerVersion + " compatible"
)

func main() {
	priority.AnswerFirst()
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}

// Exit statuses. That of --create-config and of numbers out of range is OpenSM's.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitOtherMaster = 3 // with --once: another manager rules the subnet
	exitIncomplete  = 4 // with --once: the subnet came up with errors
	exitRefused     = 255
)

// run is the program with its name; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	program, args := args[0], args[1:]
	asOpenSM := calledOpenSM(program)
	l := conf.Load(args, environment)
	switch {
	case l.Help:
		fmt.Fprint(stdout, conf.Usage())
		return exitUsage
	case l.Version && asOpenSM:
		bannerHead(stdout, "")
		return 0
	case l.Version:
		fmt.Fprintf(stdout, "ibsm %s (%s)\n", version, compatibility)
		return 0
	}
	if l.AllPorts || l.Launch || l.Instance != "" {
		self, err := os.Executable()
		if err != nil {
			return exitStatus(err, stderr)
		}
		return newLauncher(self, "/", args, stdout, stderr).launch(func(options []string) int { return run(append([]string{program}, options...), stdout, stderr) })
	}
	if status := judge(l, stderr); status != 0 {
		return status
	}
	if asOpenSM {
		banner(stdout, l)
	}
	if l.CreateConfig != "" {
		return createConfig(l, stderr)
	}
	if wantsMenu(l) {
		if inBackground(l) {
			fmt.Fprintln(stderr, "ibsm: error: -g 0 asks for a port, and a daemon has nobody to ask; ibstat -p lists the ports")
			return exitRefused
		}
		chosen, err := askForPort(l, args, stdout)
		if err != nil {
			return exitStatus(err, stderr)
		}
		l = chosen
	}
	return exitStatus(serve(l, asOpenSM, stdout, stderr), stderr)
}

// exitStatus tells of an error and returns the status that says it.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, errLeft) {
		return 0
	}
	fmt.Fprintln(stderr, "ibsm: error: "+strings.TrimPrefix(err.Error(), "ibsm: "))
	var u *usageError
	switch {
	case errors.As(err, &u):
		if u.hint != "" {
			fmt.Fprintln(stderr, "hint: "+u.hint)
		}
		return exitUsage
	case errors.Is(err, manager.ErrOtherMaster):
		return exitOtherMaster
	case errors.Is(err, manager.ErrIncomplete):
		return exitIncomplete
	}
	return exitFailed
}

// usageError is something that was asked for and cannot be: exit status 2.
type usageError struct {
	text string
	hint string
}

func (e *usageError) Error() string { return e.text }

// serve runs the manager where the configuration says.
func serve(l *conf.Loaded, asOpenSM bool, stdout, stderr io.Writer) error {
	if _, _, err := chooseEngine(conf.RoutingEngine.In(l.Config)); err != nil {
		return &usageError{err.Error(), "minhop is the engine that there is"}
	}
	place, err := newPlace(l)
	if err != nil {
		return err
	}
	if inBackground(l) {
		if parent, err := daemonize(); parent || err != nil {
			return err
		}
		removePID, err := writePID(l.PIDFile)
		if err != nil {
			return err
		}
		defer removePID()
	}
	_, toStdout, _ := logTarget(l)
	notify := newNotifier()
	d := newDisplay(stdout, toStdout, consoleOf(l) == "local")
	lines, log, err := openLog(l, stdout, stderr, func(text string) {
		d.line(text)
		notify.status(text)
	})
	if err != nil {
		return err
	}
	if log != nil {
		defer log.Close()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	events := ctl.NewRing(keptEvents)
	logger := slog.New(ctl.Tee(lines, events))
	kept := newState(l, logger)
	current := newInForce(l, logger, lines, log, kept)
	listen(ctx, current)

	logger.Log(ctx, osmlog.LevelSys, "ibsm "+version+" ("+compatibility+")", "port", place.String(), "config", l.ConfigFile)
	logReport(logger, l.Report)
	warnOfEngines(l, logger, stderr)
	m := &managers{conf: l, current: current, logger: logger, asks: make(chan manager.Sweep), display: d, state: kept, notify: notify, asOpenSM: asOpenSM}
	var clients console.Counters
	m.desk = server.New(server.Config{Version: version, Engine: managerConfig(l).Sweep.EngineName, Where: place.String(), Asks: m.asks, Events: events, Console: &clients})
	current.show = m.desk.Rules
	endControl, err := m.serveControl(ctx, events, logFlags{lines})
	if err != nil {
		return err
	}
	defer endControl()
	go m.desk.Run(ctx)
	endConsole := m.serveConsole(ctx, &clients)
	endDumps := m.keepDumps(ctx)
	go notify.watchdog(ctx, &m.running, m.asks)
	err = m.keepRunning(ctx, place)
	notify.say("STOPPING=1")
	endConsole()
	endDumps()
	m.state.close()
	d.end()
	logger.Log(ctx, osmlog.LevelSys, osmlog.Exiting)
	return err
}

// managers are those that run at a port one after the other.
type managers struct {
	conf     *conf.Loaded // as it was at the start
	current  *inForce
	logger   *slog.Logger
	asks     chan manager.Sweep
	display  *display
	dumps    *dump.Keeper   // nil where there are none
	shell    *manager.Shell // of the manager that runs, or ran last
	desk     *server.Desk
	state    *state
	notify   *notifier
	asOpenSM bool        // prints what OpenSM does
	running  atomic.Bool // a manager is at the port
}

// keepDumps begins to write dump files where the options want them. End returns when
// the last of them is written.
func (m *managers) keepDumps(ctx context.Context) (end func()) {
	dir := dumpDir(m.conf)
	if dir == "" {
		return func() {}
	}
	routing := func() bool { return m.current.lines.Flags()&osmlog.Routing != 0 }
	m.dumps = dump.NewKeeper(dir, m.current.names, routing, m.logger)
	m.dumps.PrintPorts(m.display.w, func() bool { return m.current.lines.Flags()&osmlog.Verbose != 0 })
	var task sync.WaitGroup
	task.Go(func() { m.dumps.Run(ctx) })
	return func() {
		m.dumpSA(false)
		m.dumps.Close()
		task.Wait()
		m.dumps.WriteRest()
	}
}

// dumpSA has what clients have registered written, where the options want it: OpenSM does
// with a verbose log, too, but then only after heavy sweeps.
func (m *managers) dumpSA(heavy bool) {
	if m.dumps == nil || m.shell == nil || !m.current.saDump.Load() && !(heavy && m.current.lines.Flags()&osmlog.Verbose != 0) {
		return
	}
	m.dumps.PutSA(dump.Registered{State: m.shell.Registry(), View: m.shell.View(), Now: time.Now().Unix(), Sync: conf.FsyncHighAvailFiles.In(m.conf.Config)})
}

// retryPort is how often a port that is not there is looked for.
const retryPort = time.Second

// keepRunning runs managers at the port one after the other: a port that is not there
// yet, or goes away, is waited for.
func (m *managers) keepRunning(ctx context.Context, place place) error {
	reason := "" // that was told
	for {
		port, err := place.open(ctx)
		if err != nil && err.Error() != reason && ctx.Err() == nil {
			m.logger.Error(osmlog.BindFailed, "reason", err)
		}
		if err == nil {
			reason = ""
			m.logger.Info("port is open", "port", place.String())
			m.notify.ready(place.String() + " is open")
			if m.asOpenSM && portGUID(m.conf.Config) == 0 {
				m.display.line(fmt.Sprintf("Using default GUID 0x%x", uint64(port.GUID())))
			}
			err = m.runAt(ctx, port, place.String())
			if err == nil || isResult(err) || isRefusal(err) {
				return err
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case m.conf.Once || m.conf.DryRun || isHopeless(err):
			return err
		case err.Error() != reason:
			reason = err.Error()
			m.desk.Wait(reason)
			m.notify.ready("waiting for the port: " + reason)
			m.logger.Warn("waiting for the port", "reason", err)
			m.display.line(fmt.Sprintf("waiting for the port: %v", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryPort):
		}
	}
}

// isResult reports whether an error is what a manager came to, not a port that broke.
func isResult(err error) bool {
	return errors.Is(err, manager.ErrPortDown) || errors.Is(err, manager.ErrWrongPort) || errors.Is(err, manager.ErrOtherMaster) || errors.Is(err, manager.ErrIncomplete)
}

// runAt runs one manager until it ends or its port breaks.
func (m *managers) runAt(ctx context.Context, port smPort, where string) error {
	if err := m.state.open(port.GUID()); err != nil {
		port.Close()
		m.logger.Error(err.Error()) // in the background nobody reads what is returned
		return err
	}
	if !m.conf.DryRun {
		if err := port.SetIsSM(ctx, true); err != nil {
			port.Close()
			return err
		}
	}
	shell := &manager.Shell{Config: m.current.manager(port.GUID(), m.state.lastPartitions(), m.state.lastRuling()), Port: port, Logger: m.logger, Asks: m.asks, Configs: m.current.configs,
		Tell: m.tellOf(port), Mirrored: m.current.mirrored, Published: m.publish, Moved: m.display.moved}
	_, shell.PlainPeers = port.(simulatorPort)
	m.state.give(shell)
	if p, ok := port.(*userMADPort); ok {
		shell.GSI = p.dev.GSI
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go p.watch(ctx, m.asks)
	}
	m.shell = shell
	m.desk.Serve(shell, where)
	m.running.Store(true)
	defer m.running.Store(false)
	return shell.Run(ctx)
}

// publish passes on what questions are answered from.
func (m *managers) publish(v *view.View) {
	m.state.publish(v)
	m.desk.Published(v)
	if m.dumps != nil {
		m.dumps.Put(v)
	}
}

// maxUnlist is how long IsSM may take to be cleared; simulators answer, or do not.
const maxUnlist = 200 * time.Millisecond

// tellOf is tell, for the manager at a port. It clears IsSM when that says so.
func (m *managers) tellOf(port smPort) func(manager.Notification) {
	return func(a manager.Notification) {
		if _, is := a.(manager.Unlist); is {
			ctx, cancel := context.WithTimeout(context.Background(), maxUnlist)
			defer cancel()
			if err := port.SetIsSM(ctx, false); err != nil {
				m.logger.Warn("IsSM stays set until this manager has ended", "reason", err)
			}
		}
		m.tell(a)
	}
}

// tell passes on what a manager tells.
func (m *managers) tell(a manager.Notification) {
	m.state.tell(a)
	m.desk.Tell(a)
	m.display.tell(a)
	switch a := a.(type) {
	case manager.Entered:
		m.current.entered(a.State)
	case manager.Stranger:
		m.current.forget(a.GUID)
	case manager.Up:
		m.dumpSA(true)
	case manager.Swept:
		m.dumpSA(false)
	}
}

// smPort is a port that can say that a subnet manager runs at it.
type smPort interface {
	txn.Port
	SetIsSM(ctx context.Context, is bool) error
	GUID() mad.GUID // of the port
}

// listen has the configuration read again on SIGHUP, and the log file begun afresh on
// SIGUSR1. SIGCONT counts as SIGHUP, as OpenSM has it: a manager that was stopped has
// missed what happened.
func listen(ctx context.Context, current *inForce) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGCONT, syscall.SIGUSR1)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-signals:
				if s == syscall.SIGUSR1 {
					reopen(current.file, current.logger)
				} else {
					current.reload(s == syscall.SIGHUP)
				}
			}
		}
	}()
}
