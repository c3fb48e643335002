package main

import (
	"log/slog"
	"slices"
	"strings"
	"sync"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/manager"
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

	mu  sync.Mutex // guards now, and is held while the file is read
	now *conf.Loaded
}

func newInForce(l *conf.Loaded, logger *slog.Logger, lines *osmlog.Handler, file *osmlog.File, keep func(*conf.Loaded)) *inForce {
	return &inForce{logger: logger, lines: lines, file: file, names: readNames(l, logger), configs: make(chan manager.Config, 1), keep: keep, now: l}
}

// manager is what a manager that begins now is told.
func (f *inForce) manager() manager.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(f.now)
	return f.managerConfig()
}

// Reload reads the file again. One with a mistake changes nothing. In either case a
// heavy sweep follows: who sends OpenSM a SIGHUP may want no more than that.
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
		f.keepLog(changed)
		f.logger.Info("the configuration was read again", "file", next.ConfigFile, "changed", strings.Join(changed, ","))
	}
	select {
	case <-f.configs:
	default:
	}
	f.configs <- f.managerConfig()
	return &ctl.Reloaded{File: next.ConfigFile, Refused: err != nil, Changed: append([]string{}, changed...), Findings: findings(report)}
}

// managerConfig is what a manager is told now, with what other files say.
func (f *inForce) managerConfig() manager.Config {
	cfg := managerConfig(f.now)
	cfg.Names = f.names
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

// findings are those of a report for the control socket.
func findings(report conf.Report) []ctl.Finding {
	list := []ctl.Finding{}
	for _, f := range report {
		list = append(list, ctl.Finding{File: f.File, Line: f.Line, Column: f.Col, Severity: f.Severity.String(), Key: f.Key, Text: f.Text})
	}
	return list
}
