package main

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/mad"
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
	// keepRuling is given what this manager inherits, empty for nothing, and show what it
	// rules by.
	keepRuling func(text []byte)
	show       func(engine string, r *ctl.Ruling)
	ruling     atomic.Pointer[ctl.Ruling] // as it was shown
	master     atomic.Bool                // this manager is

	mu      sync.Mutex   // guards what follows, and is held while files are read
	now     *conf.Loaded // as this manager's own files say
	policy  policy       // the same
	own     mad.GUID     // of the port
	from    *inherited   // goes before now and policy; nil for nothing
	differs []string     // settings of now that are not those of from, as told; nil if nothing was told
	tooLong bool         // what it rules by is not told to standbys
	// resting holds sweeps back: the console said so.
	resting bool
}

func newInForce(l *conf.Loaded, logger *slog.Logger, lines *osmlog.Handler, file *osmlog.File, kept *state) *inForce {
	f := &inForce{
		logger: logger, lines: lines, file: file, names: readNames(l, logger), configs: make(chan manager.Config, 1), keep: kept.keepConfiguration,
		keepRuling: kept.keepRuling, show: func(string, *ctl.Ruling) {},
		now: l, policy: policy{logger: logger, keep: kept.keepPartitions},
	}
	f.saDump.Store(conf.SADBDump.In(l.Config))
	f.keepModules()
	return f
}

// manager is what a manager that begins now at a port is told, with what is known of the
// one before: the partition file that was in force last, and what it had inherited.
func (f *inForce) manager(port mad.GUID, lastPartitions, lastRuling []byte) manager.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own = port
	f.keep(f.now)
	f.policy.begin(f.now, lastPartitions)
	if len(lastRuling) > 0 {
		from, err := newInherited(lastRuling)
		if err != nil {
			f.logger.Error("what the master ruled by cannot be read: this manager rules by its own files", "reason", err)
		}
		f.inherit(from)
	}
	return f.managerConfig()
}

// Reload reads the configuration and the partition file again. One with a mistake changes
// nothing of what it is about. In either case a heavy sweep follows: who sends OpenSM a
// SIGHUP may want no more than that. A master that ruled by what it inherited rules by its
// own files again.
func (f *inForce) Reload() *ctl.Reloaded { return f.reload(true) }

// reload is Reload; own says whether this manager's own files are to go before what it
// inherited.
func (f *inForce) reload(own bool) *ctl.Reloaded {
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
		f.saDump.Store(conf.SADBDump.In(next.Config))
		f.keepLog(changed)
		f.logger.Info("the configuration was read again", "file", next.ConfigFile, "changed", strings.Join(changed, ","))
	}
	f.keepModules()
	found := append(findings(report), f.policy.reread(f.now)...)
	if own && err == nil {
		f.ownAgain()
	}
	f.compare()
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
	l, chosen := f.rules()
	cfg := managerConfig(l)
	cfg.Resting = f.resting
	cfg.Names = f.names
	cfg.Sweep.Partitions = sweepPartitions(chosen, l.Config)
	cfg.Registrar.Groups = groups(chosen, l.Config)
	cfg.Registrar.Mirror = f.mirroring(&cfg, l, chosen)
	f.ruling.Store(f.shown())
	f.show(cfg.Sweep.EngineName, f.shown())
	cfg.PrefixRoutes = readPrefixRoutes(conf.PrefixRoutesFile.In(f.now.Config), f.logger)
	return cfg
}

// keepLog has the log kept as the configuration now says. Log flags that ibsmctl has
// set stay until the file's change.
func (f *inForce) keepLog(changed []string) {
	if slices.Contains(changed, "log_flags") {
		f.lines.SetFlags(logFlagsOf(f.now.Config))
	}
	f.lines.SetPrefix(conf.LogPrefix.In(f.now.Config))
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
	st.Priority, st.SweepInterval, st.Sweeping = conf.SMPriority.In(f.now.Config), conf.SweepInterval.In(f.now.Config), !f.resting
	if len(st.SMs) > 0 {
		st.SMs[0].Priority = st.Priority // a new one is in force before the manager has come to say so
	}
}

// setPriority puts another priority among subnet managers into force. It stays until
// the file's changes.
func (f *inForce) setPriority(priority uint8) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.WithPriority(priority)
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
