// Package audit keeps who changed what over the API and the control socket, and what was refused: a file with a JSON
// object a line.
package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"ibsm/ctl"
	"ibsm/opensm/log"
)

// Log is a file of changes and refusals. Its methods are safe for concurrent use.
type Log struct {
	path   string // "" for no file
	file   *log.File
	lines  *log.Writer
	logger *slog.Logger
}

// mode is that of the file: lines name users.
const mode = 0o600

// Open opens the file at path, and appends to it; for "" nothing is written. Each entry is also logged as an event.
// alarm gets the reason why lines cannot be written.
func Open(path string, logger *slog.Logger, alarm io.Writer) (*Log, error) {
	l := &Log{path: path, logger: logger}
	if path == "" {
		return l, nil
	}
	file, err := log.Open(log.Config{Path: path, Mode: mode, Alarm: alarm})
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l.file = file
	l.lines = log.NewWriter(file, func(lines uint64) {
		logger.Error("lines of the audit dropped, because the file could not be written fast enough", "lines", lines, "file", path)
	})
	return l, nil
}

// Record writes an entry, without waiting for the disk.
func (l *Log) Record(a *ctl.Audited) {
	at := slog.LevelInfo
	text := "change ordered"
	if a.Error != "" {
		at, text = slog.LevelWarn, "request refused"
	}
	fields := []any{"request", a.Request, "path", a.Path, "status", a.Status}
	for _, f := range [][2]string{{"user", a.User}, {"from", a.From}, {"error", a.Error}, {"id", a.ID}} {
		if f[1] != "" {
			fields = append(fields, f[0], f[1])
		}
	}
	l.logger.Log(context.Background(), at, text, fields...)
	if l.lines == nil {
		return
	}
	line, err := json.Marshal(a)
	if err != nil {
		l.logger.Error("an entry of the audit cannot be written", "request", a.Request, "reason", err)
		return
	}
	l.lines.Write(append(line, '\n'))
}

// Dropped is the number of lines that were not written.
func (l *Log) Dropped() uint64 {
	if l.lines == nil {
		return 0
	}
	return l.lines.Dropped()
}

// Close writes the remaining lines.
func (l *Log) Close() {
	if l.lines != nil && l.lines.Close() {
		l.file.Close()
	}
}

// maxTail bounds what Last reads, in bytes.
const maxTail = 4 << 20

// Last are the last entries of the file, the oldest first, at most so many. A line that is no entry is left out.
func (l *Log) Last(most int) ([]ctl.Audited, error) {
	entries := []ctl.Audited{}
	if l.path == "" {
		return entries, nil
	}
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return entries, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-maxTail)
	text, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, from, maxTail), maxTail))
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	if from > 0 {
		lines = lines[1:] // the rest of a line
	}
	for _, line := range lines[max(0, len(lines)-1-most):] {
		var a ctl.Audited
		if json.Unmarshal(line, &a) == nil && a.Request != "" {
			entries = append(entries, a)
		}
	}
	return entries, nil
}
