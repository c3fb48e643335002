package log

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// Config of a File.
type Config struct {
	Path  string
	Erase bool  // start afresh when it is opened, rather than append
	Limit int64 // bytes; a line that would make the file larger starts it afresh; 0 for none
	// Alarm gets the lines that cannot be written to the log: usually standard error. Nil
	// discards it.
	Alarm io.Writer
	// Opened is called each time the file is opened; may be nil.
	Opened func()
}

// maxAlarms bounds the number of reported write errors.
const maxAlarms = 3

// File is a log file that can be moved away, and grows to a limit. Lines are not
// held back: each is in the file when Write returns. It is safe for concurrent use.
type File struct {
	cfg Config

	mu     sync.Mutex // guards the following
	file   *os.File
	size   int64
	alarms int
}

// Open opens a log file.
func Open(cfg Config) (*File, error) {
	if cfg.Alarm == nil {
		cfg.Alarm = io.Discard
	}
	f := &File{cfg: cfg}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// open opens what Path names now.
func (f *File) open() error {
	mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if f.cfg.Erase {
		mode |= os.O_TRUNC
	}
	file, err := os.OpenFile(f.cfg.Path, mode, 0o644)
	if err != nil {
		return err
	}
	if f.file != nil {
		f.file.Close()
	}
	f.file, f.size = file, 0
	if info, err := file.Stat(); err == nil {
		f.size = info.Size()
	}
	if f.cfg.Opened != nil {
		f.cfg.Opened()
	}
	return nil
}

// Write writes a line. Where the disk is full and the file has a limit, it starts
// afresh: the last lines are worth more than the first.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cfg.Limit > 0 && f.size > 0 && f.size+int64(len(line)) > f.cfg.Limit {
		fmt.Fprintf(f.cfg.Alarm, "log file %s exceeds the limit of %d bytes. Truncating.\n", f.cfg.Path, f.cfg.Limit)
		f.truncate()
	}
	n, err := f.file.Write(line)
	if err != nil && f.cfg.Limit > 0 && f.size > 0 {
		f.truncate()
		n, err = f.file.Write(line)
	}
	f.size += int64(n)
	if err != nil && f.alarms < maxAlarms {
		f.alarms++
		fmt.Fprintf(f.cfg.Alarm, "log: write failed: %v\n", err)
	}
	return n, err
}

func (f *File) truncate() {
	if f.file.Truncate(0) == nil {
		f.size = 0
	}
}

// SetLimits changes Config.Limit and Config.Erase, from the next line and the next
// Reopen on.
func (f *File) SetLimits(limit int64, erase bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cfg.Limit, f.cfg.Erase = limit, erase
}

// Reopen opens the file by its name again, after it was moved away. Where that fails
// the old one goes on.
func (f *File) Reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.open(); err != nil {
		return fmt.Errorf("log file cannot be opened again: %w", err)
	}
	return nil
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}
