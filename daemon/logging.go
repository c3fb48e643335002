package daemon

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"time"

	"ibsm/conf"
	osmlog "ibsm/opensm/log"
)

// logOutput is where the log's lines go.
type logOutput struct {
	*osmlog.Writer
	file   *osmlog.File   // used by the goroutine of the Writer; nil where the log is a stream
	copies *osmlog.Writer // has lines copied to the system's log; nil for none
}

// openLog opens the log that the configuration names. state is called with the lines about the state of the manager, by
// the goroutine that logs them; dropped with the number of lines that the log had no room for.
func openLog(l *conf.Loaded, stdout, stderr io.Writer, state func(text string),
	dropped func(lines uint64)) (*osmlog.Handler, *logOutput, error) {
	out, w := &logOutput{}, io.Discard
	copied := func(osmlog.Severity, string) {}
	if toSyslog(l) {
		syslog := osmlog.NewSyslog(osmlog.SyslogSocket)
		out.copies = osmlog.NewWriter(io.Discard, dropped)
		copied = func(severity osmlog.Severity, text string) {
			at := time.Now()
			out.copies.After(func() { syslog.Send(at, severity, text) })
		}
	}
	switch path, toStdout, toStderr := logTarget(l); {
	case path != "":
		limit, erase := logFile(l.Config)
		var err error
		out.file, err = osmlog.Open(osmlog.Config{Path: path, Erase: erase, Limit: limit, Alarm: stderr,
			Opened: func() { copied(osmlog.SyslogNotice, path+" log file opened") }})
		if err != nil {
			return nil, nil, fmt.Errorf("log file: %w", err)
		}
		w = out.file
	case toStdout:
		w = stdout
	case toStderr:
		w = stderr
	}
	out.Writer = osmlog.NewWriter(w, dropped)
	opts := osmlog.Options{Flags: logFlagsOf(l.Config), Prefix: conf.LogPrefix.In(l.Config),
		JSON: conf.LogFormat.In(l.Config) == "json", Sys: func(text string) {
			state(text)
			copied(osmlog.SyslogInfo, text)
		}}
	if l.DryRun {
		opts.Sys = nil // standard output is the plan's
	}
	lost := opts
	lost.Sys = nil
	out.Lost = func(lines uint64) []byte {
		var line bytes.Buffer
		slog.New(osmlog.NewHandler(&line, lost)).Error("log lines lost: the log could not be written", "lines", lines)
		return line.Bytes()
	}
	return osmlog.NewHandler(out, opts), out, nil
}

// reopen has the log file opened again, after it was moved away. It does not wait for it.
func (o *logOutput) reopen(logger *slog.Logger) {
	if o.file == nil {
		return
	}
	taken := o.After(func() {
		if err := o.file.Reopen(); err != nil {
			logger.Error(err.Error())
		}
	})
	if !taken {
		logger.Error("log file cannot be opened again", "reason", "earlier lines are still waiting for the old file")
	}
}

// setLimits applies the limit of the file's size, and whether it is erased, from the next line on.
func (o *logOutput) setLimits(limit int64, erase bool) {
	if o.file != nil {
		o.After(func() { o.file.SetLimits(limit, erase) })
	}
}

// dropped is how many lines the log, or the system's log, did not take.
func (o *logOutput) dropped() uint64 {
	n := o.Dropped()
	if o.copies != nil {
		n += o.copies.Dropped()
	}
	return n
}

// close writes the remaining lines.
func (o *logOutput) close() {
	if o.Close() && o.file != nil {
		o.file.Close()
	}
	if o.copies != nil {
		o.copies.Close()
	}
}
