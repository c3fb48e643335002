package main

import (
	"fmt"
	"io"
	"log/slog"

	"ibsm/conf"
	osmlog "ibsm/opensm/log"
)

// openLog makes the log that the configuration asks for. File is nil when it is a
// stream. State is given the lines that say what state the manager is in.
func openLog(l *conf.Loaded, stdout, stderr io.Writer, state func(text string)) (lines *osmlog.Handler, file *osmlog.File, err error) {
	w := io.Discard
	switch path, toStdout, toStderr := logTarget(l); {
	case path != "":
		limit, erase := logFile(l.Config)
		file, err = osmlog.Open(osmlog.Config{Path: path, Erase: erase, Limit: limit, Alarm: stderr})
		if err != nil {
			return nil, nil, fmt.Errorf("log file: %w", err)
		}
		w = file
	case toStdout:
		w = stdout
	case toStderr:
		w = stderr
	}
	opts := osmlog.Options{Flags: logFlagsOf(l.Config), Prefix: l.Text("log_prefix"), Sys: state}
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
