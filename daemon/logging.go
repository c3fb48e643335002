package daemon

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"ibsm/conf"
	osmlog "ibsm/opensm/log"
)

// logOutput is where the log's lines go.
type logOutput struct {
	*osmlog.Writer
	file *osmlog.File // used by the goroutine of the Writer; nil where the log is a stream
}

// openLog opens the log that the configuration names. state is called with the lines about the state of the manager, by
// who logs them; dropped with the number of lines that the log had no room for.
func openLog(l *conf.Loaded, stdout, stderr io.Writer, state func(text string), dropped func(lines uint64)) (*osmlog.Handler, *logOutput, error) {
	w := io.Discard
	var file *osmlog.File
	copied := func(osmlog.Severity, string) {}
	if toSyslog(l) {
		copied = osmlog.NewSyslog(osmlog.SyslogSocket).Send
	}
	switch path, toStdout, toStderr := logTarget(l); {
	case path != "":
		limit, erase := logFile(l.Config)
		var err error
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
	out := &logOutput{osmlog.NewWriter(w, dropped), file}
	opts := osmlog.Options{Flags: logFlagsOf(l.Config), Prefix: conf.LogPrefix.In(l.Config), JSON: conf.LogFormat.In(l.Config) == "json", Sys: func(text string) {
		state(text)
		out.After(func() { copied(osmlog.SyslogInfo, text) })
	}}
	if l.DryRun {
		opts.Sys = nil // standard output is the plan's
	}
	return osmlog.NewHandler(out, opts), out, nil
}

// reopen opens the log file again, after it was moved away.
func (o *logOutput) reopen(logger *slog.Logger) {
	if o.file == nil {
		return
	}
	done := make(chan error, 1)
	if !o.After(func() { done <- o.file.Reopen() }) {
		done <- errors.New("log file cannot be opened again: it has not taken what was logged before")
	}
	if err := <-done; err != nil {
		logger.Error(err.Error())
	}
}

// setLimits applies the limit of the file's size, and whether it is erased, from the next line on.
func (o *logOutput) setLimits(limit int64, erase bool) {
	if o.file != nil {
		o.After(func() { o.file.SetLimits(limit, erase) })
	}
}

// close writes what is left.
func (o *logOutput) close() {
	if o.Close() && o.file != nil {
		o.file.Close()
	}
}
