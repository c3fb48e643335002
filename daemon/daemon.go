package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/opensm/console"
	"ibsm/opensm/dump"
	osmlog "ibsm/opensm/log"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/sweep"
	"ibsm/sweep/engines"
)

// Config of a daemon.
type Config struct {
	Loaded   *conf.Loaded
	Open     Opener   // of the port to run at
	AsOpenSM bool     // print what OpenSM prints
	Stdout   *os.File // shows progress if it is a terminal
	Stderr   io.Writer
}

// daemon runs managers at a port one after the other.
//
// The goroutine of Run starts tasks, then runs managers, whose callbacks are the methods of
// receiver, and in the end ends the tasks.
type daemon struct {
	cfg      Config
	conf     *conf.Loaded // as it was at the start
	signals  <-chan os.Signal
	tasks    tasks
	logger   *slog.Logger
	lines    *osmlog.Handler
	log      *logOutput
	events   *ctl.Ring
	display  *display
	notify   *notifier
	state    *state
	current  *configuration
	control  *server.Server
	clients  console.Counters // of the console
	counters *counters
	captures captures
	dumps    *dump.Keeper   // nil where there are none
	shell    *manager.Shell // of the manager that runs, or ran last
	// requests are requested sweeps, and manager.NoSweep.
	requests chan manager.SweepRequested
	running  atomic.Bool // a manager is at the port
}

// Run runs a manager until a signal ends it, its only sweep is done, or it cannot go on.
// ExitStatus is for its error. For a daemon in the background it returns nil at once in the
// process that was started.
func Run(cfg Config) error {
	l := cfg.Loaded
	if err := checkEngines(l.Config); err != nil {
		return &UsageError{err.Error(), "the engines are " + strings.Join(engines.Names(), ", ")}
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	fileReader.Stop(ctx.Done())
	// To the end of the process: one that is being stopped must not die of a SIGHUP or SIGUSR1.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGCONT, syscall.SIGUSR1)
	d := &daemon{cfg: cfg, conf: l, signals: signals, events: ctl.NewRing(keptEvents),
		requests: make(chan manager.SweepRequested)}
	defer d.tasks.end()
	if err := d.start(ctx); err != nil {
		return err
	}
	return d.keepRunning(ctx)
}

// start starts the tasks. ctx is done when a signal ends the daemon.
func (d *daemon) start(ctx context.Context) (err error) {
	d.notify = newNotifier(&d.tasks)
	if err = d.openLog(); err != nil {
		return err
	}
	path, _, _ := logTarget(d.conf)
	d.rotate(path)
	d.tasks.atEnd(func() {
		d.display.clear()
		d.logger.Log(ctx, osmlog.LevelSys, osmlog.Exiting)
	})
	// there is a control before anything is written
	d.state = newState(d.conf, d.logger, func(what string, err error) { d.control.Unwritten(what, err) })
	d.tasks.atEnd(d.state.close)
	given := readNames(d.conf, d.logger)
	d.control = server.New(server.Config{Version: conf.Version, Where: d.cfg.Open.Name, Asks: d.requests, Names: given,
		Events: d.events, Console: &d.clients,
		Engines:     func(list []string) (engines.Chain, error) { return d.current.enginesOf(list) },
		Isolate:     func(port, peer perf.Key, until time.Time) error { return d.counters.isolate(port, peer, until) },
		Heal:        func(port, peer perf.Key, forget func()) error { return d.counters.heal(port, peer, forget) },
		CallerRules: func() *server.CallerRules { return d.current.callerRules() },
		Tenants:     func() (*sweep.Policy, []ctl.SettingChange, error) { return d.current.tenants() }})
	d.counters = &counters{daemon: d, gone: map[mad.GUID]string{}}
	d.counters.useRules(sickRules{text: sick.Defaults}) // in force where those of the file have errors
	d.current = newConfiguration(d.conf, given, d.logger, d.lines, d.log, d.state, d.control.ShowSettings,
		d.counters.useRules, d.control.AdoptLinks)
	// Both run until the manager has ended.
	d.tasks.run(context.Background(), d.current.run)
	d.tasks.run(context.Background(), func(ended context.Context) { d.listen(ctx, ended) })
	d.logger.Log(ctx, osmlog.LevelSys, "ibsm "+conf.Version+" ("+conf.OpenSM+" compatible)", "port", d.cfg.Open.Name,
		"config", d.conf.ConfigFile)
	logReport(d.logger, d.conf.Report)
	warnOfDefaultKeys(d.conf, d.logger)
	if err = d.recordStart(); err != nil {
		return err
	}
	d.tasks.run(ctx, d.control.Run)
	if err = d.serveControl(ctx); err != nil {
		return err
	}
	d.writeDumps(ctx)
	d.serveConsole(ctx)
	d.tasks.run(ctx, d.watchdog)
	d.tasks.run(ctx, d.current.tendMKeys)
	d.tasks.run(ctx, d.watchLinks)
	d.tasks.atEnd(func() { d.notify.say("STOPPING=1") })
	return nil
}

// openLog opens the log. Lines about the state of the manager also go to the terminal and
// to the service manager.
func (d *daemon) openLog() error {
	_, toStdout, _ := logTarget(d.conf)
	d.display = newDisplay(d.cfg.Stdout, toStdout, consoleOf(d.conf) == "local")
	d.display.json = d.conf.JSON
	lines, out, err := openLog(d.conf, d.cfg.Stdout, d.cfg.Stderr, func(text string) {
		d.display.line(text)
		d.notify.status(text)
	}, func(lines uint64) {
		d.logger.Error("log lines dropped, because the log could not be written fast enough", "lines", lines)
	})
	if err != nil {
		return err
	}
	d.tasks.atEnd(out.close)
	d.lines, d.log, d.logger = lines, out, slog.New(ctl.Tee(lines, d.events))
	return nil
}

// writeDumps starts to write dump files if the configuration wants them. When ctx is done, the
// task leaves the files with routes unfinished.
func (d *daemon) writeDumps(ctx context.Context) {
	dir := dumpDir(d.conf)
	if dir == "" {
		return
	}
	routing := func() bool { return d.lines.Flags()&osmlog.Routing != 0 }
	d.dumps = dump.NewKeeper(dir, d.current.names, routing, d.logger)
	d.dumps.Unwritten = d.control.Unwritten
	d.dumps.VPorts = func() string {
		if c := d.current.own().Config; conf.VirtEnabled.In(c) != 0 {
			return conf.VirtDumpFile.In(c)
		}
		return ""
	}
	d.dumps.PrintPorts(d.display.w, func() bool { return d.lines.Flags()&osmlog.Verbose != 0 })
	d.tasks.atEnd(d.dumps.WriteRest)
	d.tasks.start(func() { d.dumps.Run(ctx) }, func() {
		d.dumpSA(false)
		d.dumps.Close()
	})
}

// dumpSA has the registrations of clients written, where the configuration wants it. OpenSM
// writes them with a verbose log, too, but then only after heavy sweeps.
func (d *daemon) dumpSA(heavy bool) {
	wanted := conf.SADBDump.In(d.current.own().Config) || heavy && d.lines.Flags()&osmlog.Verbose != 0
	if d.dumps == nil || d.shell == nil || !wanted {
		return
	}
	d.dumps.PutSA(dump.Registered{State: d.shell.Registry(), View: d.shell.View(), Now: time.Now().Unix(),
		Sync: conf.FsyncHighAvailFiles.In(d.conf.Config)})
}

// listen has the configuration read again on SIGHUP, and the log file opened again on
// SIGUSR1. SIGCONT is treated like SIGHUP, as by OpenSM: a manager that was stopped has
// missed what happened. When ctx is done, only the log file is opened again.
func (d *daemon) listen(ctx, ended context.Context) {
	for {
		select {
		case <-ended.Done():
			return
		case s := <-d.signals:
			if s == syscall.SIGUSR1 {
				d.log.reopen(d.logger)
			} else if ctx.Err() == nil {
				d.current.reload(s == syscall.SIGHUP)
			}
		}
	}
}

// retryPort is how often a port that cannot be opened is tried.
const retryPort = time.Second

// keepRunning runs managers at the port one after the other: it waits for a port that is not
// there yet, or goes away.
func (d *daemon) keepRunning(ctx context.Context) error {
	reason := "" // that was logged
	for {
		port, err := d.cfg.Open.Open(ctx)
		if err != nil && err.Error() != reason && ctx.Err() == nil {
			d.logger.Error(osmlog.BindFailed, "reason", err)
		}
		if err == nil {
			reason = ""
			err = d.runAt(ctx, port)
			if err == nil || isResult(err) || isRefusal(err) && ctx.Err() == nil { // Stop makes files unreadable
				return err
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case d.conf.Once || d.conf.DryRun || isHopeless(err):
			return err
		case err.Error() != reason:
			reason = err.Error()
			d.control.Wait(reason)
			d.notify.ready("waiting for the port: " + reason)
			d.logger.Warn("waiting for the port", "reason", err)
			d.display.line(fmt.Sprintf("waiting for the port: %v", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryPort):
		}
	}
}

// runAt runs one manager until it ends or its port breaks.
func (d *daemon) runAt(ctx context.Context, port *Port) error {
	d.logger.Info("port is open", "port", port.Name)
	d.notify.ready(port.Name + " is open")
	if d.cfg.AsOpenSM && PortGUID(d.conf) == 0 && conf.GUIDDevice.In(d.conf.Config) == "" {
		d.display.line(fmt.Sprintf("Using default GUID 0x%x", uint64(port.GUID)))
	}
	d.captures.wrap(port)
	if err := d.state.open(port.GUID); err != nil {
		port.close()
		d.logger.Error(err.Error()) // nobody sees standard error of a daemon
		return err
	}
	shell, err := receiver{d, port}.shell()
	if err != nil {
		port.close()
		d.logger.Error(err.Error())
		return err
	}
	d.warnOfPartitions()
	if !d.conf.DryRun {
		if err := port.SetIsSM(ctx, true); err != nil {
			port.close()
			return err
		}
	}
	d.state.resume(shell)
	var atPort tasks
	defer atPort.end()
	if port.State != nil {
		atPort.run(ctx, func(ctx context.Context) { port.watch(ctx, d.requests) })
	}
	d.shell = shell
	view := shell.View
	d.current.views.Store(&view)
	d.control.Serve(shell, port.Name)
	d.running.Store(true)
	defer d.running.Store(false)
	err = shell.Run(ctx)
	if d.conf.Once && err == nil && len(d.current.current.Load().partitions.Errors) > 0 {
		err = fmt.Errorf("%w: the partition file could not be applied", manager.ErrIncomplete)
	}
	return err
}

// warnOfPartitions prints that the partition file is not in force, or obeyed although it is
// dangerous: a person who starts a manager at a terminal does not see its log.
func (d *daemon) warnOfPartitions() {
	now := d.current.current.Load()
	l, chosen := now.effective()
	if t := partitionsTrouble(chosen, l); t != nil {
		fmt.Fprintln(d.cfg.Stderr, "ibsm: warning: "+t.String())
	} else if chosen.Policy != nil {
		for _, e := range chosen.Policy.Dangers {
			fmt.Fprintln(d.cfg.Stderr, "ibsm: warning: "+e.Error())
		}
	}
}
