package log

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Config of a File.
type Config struct {
	Path  string
	Erase bool  // start afresh when it is opened, rather than append
	Limit int64 // bytes; a line that would make the file larger starts it afresh; 0 for none
	// Alarm gets the lines that cannot be written to the log: usually standard error. Nil
	// discards it.
	Alarm io.Writer
	Mode  fs.FileMode // of a file that is created; 0 for 0644
	// Opened is called each time the file is opened; may be nil.
	Opened func()
}

// maxAlarms bounds the number of reported write errors.
const maxAlarms = 3

// File is a log file that can be moved away, and grows to a limit. Lines are not
// held back: each is in the file when Write returns. A file that was moved away or removed is opened
// again by the next Write, whoever has done that: the rule by which OpenSM's package rotates logs signals OpenSM only.
// One goroutine uses it.
type File struct {
	cfg    Config
	file   *os.File
	info   os.FileInfo // of file when it was opened; nil where that is not known
	size   int64
	alarms int
}

// Open opens a log file.
func Open(cfg Config) (*File, error) {
	if cfg.Alarm == nil {
		cfg.Alarm = io.Discard
	}
	if path, err := filepath.Abs(cfg.Path); err == nil {
		cfg.Path = path
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
	if info, err := os.Stat(f.cfg.Path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		mode = os.O_RDWR // to open a FIFO for writing alone waits for a reader
	}
	file, err := os.OpenFile(f.cfg.Path, mode, cmp.Or(f.cfg.Mode, 0o644))
	if err != nil {
		return err
	}
	if f.file != nil {
		f.file.Close()
	}
	f.file, f.info, f.size = file, nil, 0
	if info, err := file.Stat(); err == nil {
		f.info, f.size = info, info.Size()
	}
	if f.cfg.Opened != nil {
		f.cfg.Opened()
	}
	return nil
}

// Write writes lines, each of which ends with a newline. Where the next one would exceed the limit, or the disk is full
// and the file has a limit, it starts afresh: the last lines are worth more than the first.
func (f *File) Write(lines []byte) (n int, err error) {
	f.follow()
	for n < len(lines) {
		fit := f.fit(lines[n:])
		if fit == 0 && f.size > 0 {
			fmt.Fprintf(f.cfg.Alarm, "log file %s exceeds the limit of %d bytes. Truncating.\n", f.cfg.Path,
				f.cfg.Limit)
			f.truncate()
			fit = f.fit(lines[n:])
		}
		if fit == 0 { // a line longer than the limit
			fit = lineLength(lines[n:])
		}
		written, err := f.write(lines[n : n+fit])
		if n += written; err != nil {
			return n, err
		}
	}
	return n, nil
}

// follow opens the file again if its name belongs to another file now, or to none. Where that fails the old one
// goes on.
func (f *File) follow() {
	info, err := os.Stat(f.cfg.Path)
	moved := err == nil && f.info != nil && !os.SameFile(info, f.info)
	if moved || errors.Is(err, fs.ErrNotExist) {
		if err := f.open(); err != nil {
			f.alarm("log file cannot be opened again: %v", err)
		}
	}
}

// alarm reports what is wrong with the file, a few times.
func (f *File) alarm(format string, err error) {
	if f.alarms < maxAlarms {
		f.alarms++
		fmt.Fprintf(f.cfg.Alarm, format+"\n", err)
	}
}

// fit is how many bytes of lines fit into the file, which are whole lines.
func (f *File) fit(lines []byte) int {
	if f.cfg.Limit <= 0 || f.size+int64(len(lines)) <= f.cfg.Limit {
		return len(lines)
	}
	return bytes.LastIndexByte(lines[:max(f.cfg.Limit-f.size, 0)], '\n') + 1
}

// lineLength is the length of the first line.
func lineLength(lines []byte) int {
	if end := bytes.IndexByte(lines, '\n'); end >= 0 {
		return end + 1
	}
	return len(lines)
}

func (f *File) write(lines []byte) (int, error) {
	n, err := f.file.Write(lines)
	f.size += int64(n)
	if err != nil && f.cfg.Limit > 0 && f.size > 0 {
		f.truncate()
		n, err = f.file.Write(lines)
		f.size += int64(n)
	}
	if err != nil {
		f.alarm("log: write failed: %v", err)
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
	f.cfg.Limit, f.cfg.Erase = limit, erase
}

// Reopen opens the file by its name again, after it was moved away. Where that fails
// the old one goes on.
func (f *File) Reopen() error {
	if err := f.open(); err != nil {
		return fmt.Errorf("log file cannot be opened again: %w", err)
	}
	return nil
}

// Close closes the file.
func (f *File) Close() error {
	return f.file.Close()
}
