package daemon

import (
	"fmt"
	"io"
	"log/slog"

	"ibsm/conf"
	osmlog "ibsm/opensm/log"
)

// openLog opens the log that the configuration names. file is nil when it is a stream.
// state is called with the lines about the state of the manager.
func openLog(l *conf.Loaded, stdout, stderr io.Writer, state func(text string)) (lines *osmlog.Handler, file *osmlog.File, err error) {
	w := io.Discard
	copied := func(osmlog.Severity, string) {}
	if toSyslog(l) {
		copied = osmlog.NewSyslog(osmlog.SyslogSocket).Send
	}
	switch path, toStdout, toStderr := logTarget(l); {
	case path != "":
		limit, erase := logFile(l.Config)
		file, err = osmlog.Open(osmlog.Config{Path: path, Erase: erase, Limit: limit, Alarm: stderr,
			Opened: func() { copied(osmlog.SyslogNotice, path+" log file opened") }})
		if err != nil {
			return nil, nil, fmt.Errorf("log file: %w", err)
		}
		w = file
	case toStdout:
		w = stdout
	case toStderr:
		w = stderr
	}
	opts := osmlog.Options{Flags: logFlagsOf(l.Config), Prefix: conf.LogPrefix.In(l.Config), JSON: conf.LogFormat.In(l.Config) == "json", Sys: func(text string) {
		state(text)
		copied(osmlog.SyslogInfo, text)
	}}
	if l.DryRun {
		opts.Sys = nil // standard output is the plan's
	}
	return osmlog.NewHandler(w, opts), file, nil
}

// reopen opens the log file again, after it was moved away.
func reopen(file *osmlog.File, logger *slog.Logger) {
	if file == nil {
		return
	}
	if err := file.Reopen(); err != nil {
		logger.Error(err.Error())
	}
}
