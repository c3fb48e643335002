package main

import (
	"fmt"
	"io"
	"log/slog"

	osmlog "ibsm/opensm/log"
)

// defaultLog is where OpenSM logs.
const defaultLog = "/var/log/opensm.log"

// logsToStdout reports whether the log goes to standard output.
func (o *options) logsToStdout() bool { return o.logFile == "-" || o.logFile == "stdout" }

// logPath is the file that the log goes to, "" for a stream or nowhere.
func (o *options) logPath() string {
	switch {
	case o.logsToStdout() || o.logFile == "stderr":
		return ""
	case o.logFile == "" && (o.fabric != "" || o.dryRun):
		return ""
	case o.logFile == "":
		return defaultLog
	}
	return o.logFile
}

// openLog makes the log that the options ask for. File is nil when it is a stream.
func openLog(o *options, stdout, stderr io.Writer, d *display) (lines *osmlog.Handler, file *osmlog.File, err error) {
	w := io.Discard
	switch path := o.logPath(); {
	case path != "":
		file, err = osmlog.Open(osmlog.Config{Path: path, Erase: o.eraseLog, Limit: o.logLimit << 20, Alarm: stderr})
		if err != nil {
			return nil, nil, fmt.Errorf("log file: %w", err)
		}
		w = file
	case o.logsToStdout():
		w = stdout
	case o.logFile == "stderr":
		w = stderr
	}
	opts := osmlog.Options{Prefix: o.logPrefix, Sys: d.line}
	opts.Flags, _ = o.flags()
	if o.dryRun {
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
