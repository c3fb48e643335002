package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
)

// defaultLog is where OpenSM logs.
const defaultLog = "/var/log/opensm.log"

// logFile is where log lines go. It starts afresh when it has grown to its limit,
// and when it is told to.
type logFile struct {
	toStdout bool
	name     string // "" for a stream, or none
	limit    int64  // bytes; 0 none
	erase    bool

	mu   sync.Mutex // guards the following
	w    io.Writer
	file *os.File
	size int64
}

// openLog opens what the options say.
func openLog(o *options, stdout, stderr io.Writer) (*logFile, error) {
	l := &logFile{limit: o.logLimit << 20, erase: o.eraseLog}
	switch o.logFile {
	case "-", "stdout":
		l.w, l.toStdout = stdout, true
		return l, nil
	case "stderr":
		l.w = stderr
		return l, nil
	case "":
		if o.fabric != "" || o.dryRun {
			l.w = io.Discard
			return l, nil
		}
		l.name = defaultLog
	default:
		l.name = o.logFile
	}
	if err := l.open(l.erase); err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	return l, nil
}

func (l *logFile) open(erase bool) error {
	mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if erase {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(l.name, mode, 0o644)
	if err != nil {
		return err
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.w, l.size = f, f, 0
	if info, err := f.Stat(); err == nil {
		l.size = info.Size()
	}
	return nil
}

// Write writes a line.
func (l *logFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit > 0 && l.file != nil && l.size+int64(len(b)) > l.limit {
		if err := l.open(true); err != nil {
			return 0, err
		}
	}
	n, err := l.w.Write(b)
	l.size += int64(n)
	return n, err
}

// reopen opens the file again, after it was moved away. Where that fails the old one
// goes on.
func (l *logFile) reopen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.name == "" {
		return
	}
	if err := l.open(l.erase); err != nil {
		fmt.Fprintf(l.w, "log file cannot be opened again: %v\n", err)
	}
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// level is the least level that OpenSM's log flags let through: errors and little
// else, or what VERBOSE (0x04) and above would show.
func level(o *options) slog.Level {
	flags, _ := o.flags()
	switch {
	case flags&0x0c != 0:
		return slog.LevelDebug
	case flags&0x02 != 0:
		return slog.LevelInfo
	}
	return slog.LevelError
}
