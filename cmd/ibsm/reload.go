package main

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/manager"
	"ibsm/opensm/console"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
)

// inForce is the configuration in force, which changes when its file is read again. It
// is safe for concurrent use.
type inForce struct {
	logger *slog.Logger
	lines  *osmlog.Handler
	file   *osmlog.File // nil where the log is a stream
	names  names.Map    // of nodes
	// configs has the newest configuration for the manager that runs, or the next one.
	configs chan manager.Config
	keep    func(*conf.Loaded) // is given each configuration that comes into force
	saDump  atomic.Bool        // sa_db_dump

	mu     sync.Mutex // guards what follows, and is held while files are read
	now    *conf.Loaded
	policy policy
	// resting holds sweeps back: the console said so.
	resting bool
}

func newInForce(l *conf.Loaded, logger *slog.Logger, lines *osmlog.Handler, file *osmlog.File, kept *state) *inForce {
	f := &inForce{
		logger: logger, lines: lines, file: file, names: readNames(l, logger), configs: make(chan manager.Config, 1), keep: kept.keepConfiguration,
		now: l, policy: policy{logger: logger, keep: kept.keepPartitions},
	}
	f.saDump.Store(l.Bool("sa_db_dump"))
	return f
}

// manager is what a manager that begins now is told, where the partition file that was
// in force last is known.
func (f *inForce) manager(lastPartitions []byte) manager.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(f.now)
	f.policy.begin(f.now, lastPartitions)
	return f.managerConfig()
}

// Reload reads the configuration and the partition file again. One with a mistake changes
// nothing of what it is about. In either case a heavy sweep follows: who sends OpenSM a SIGHUP may want no more than that.
func (f *inForce) Reload() *ctl.Reloaded {
	f.mu.Lock()
	defer f.mu.Unlock()
	next, changed, report, err := f.now.Reread(environment)
	logReport(f.logger, report)
	switch {
	case err != nil:
		f.logger.Error("the configuration stays as it is: its file has mistakes or cannot be read", "file", f.now.ConfigFile)
	case next.ConfigFile == "":
		f.logger.Info("there is no configuration file to be read again")
	default:
		f.now = next
		f.keep(next)
		f.saDump.Store(next.Bool("sa_db_dump"))
		f.keepLog(changed)
		f.logger.Info("the configuration was read again", "file", next.ConfigFile, "changed", strings.Join(changed, ","))
	}
	found := append(findings(report), f.policy.reread(f.now)...)
	f.send()
	return &ctl.Reloaded{File: next.ConfigFile, Refused: err != nil, Changed: append([]string{}, changed...), Findings: found}
}

// send has the manager go on as is in force now. What it has not taken yet is replaced.
func (f *inForce) send() {
	select {
	case <-f.configs:
	default:
	}
	f.configs <- f.managerConfig()
}

// managerConfig is what a manager is told now, with what other files say.
func (f *inForce) managerConfig() manager.Config {
	cfg := managerConfig(f.now)
	cfg.Resting = f.resting
	cfg.Names = f.names
	cfg.Sweep.Partitions = f.policy.sweep(f.now.Config)
	cfg.Registrar.Groups = f.policy.groups(f.now.Config)
	cfg.Registrar.Mirror = mirroring(&cfg)
	cfg.PrefixRoutes = readPrefixRoutes(f.now.Text("prefix_routes_file"), f.logger)
	return cfg
}

// keepLog has the log kept as the configuration now says. Log flags that ibsmctl has
// set stay until the file's change.
func (f *inForce) keepLog(changed []string) {
	if slices.Contains(changed, "log_flags") {
		f.lines.SetFlags(logFlagsOf(f.now.Config))
	}
	f.lines.SetPrefix(f.now.Text("log_prefix"))
	if f.file != nil {
		f.file.SetLimits(logFile(f.now.Config))
	}
}

// loaded is the configuration in force.
func (f *inForce) loaded() *conf.Loaded {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// describe adds what the configuration says to the status that the console shows.
func (f *inForce) describe(st *console.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st.Priority, st.SweepInterval, st.Sweeping = uint8(f.now.Uint("sm_priority")), f.now.Duration("sweep_interval"), !f.resting
}

// setPriority puts another priority among subnet managers into force. It stays until
// the file's changes.
func (f *inForce) setPriority(priority uint8) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.WithUint("sm_priority", uint64(priority))
	f.send()
}

// setSweeping holds sweeps back, or lets them go on with a heavy one.
func (f *inForce) setSweeping(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resting = !on
	f.send()
}

// findings are those of a report for the control socket.
func findings(report conf.Report) []ctl.Finding {
	list := []ctl.Finding{}
	for _, f := range report {
		list = append(list, ctl.Finding{File: f.File, Line: f.Line, Column: f.Col, Severity: f.Severity.String(), Key: f.Key, Text: f.Text})
	}
	return list
}
