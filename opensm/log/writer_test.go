package log

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// stalled is a disk that takes nothing until it is released.
type stalled struct {
	began    chan struct{} // closed when something is written
	released chan struct{}
	once     sync.Once
	bytes.Buffer
}

func newStalled() *stalled {
	return &stalled{began: make(chan struct{}), released: make(chan struct{})}
}

func (s *stalled) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.began) })
	<-s.released
	return s.Buffer.Write(b)
}

// TestWriter: lines of all goroutines are written, each whole, those of one goroutine in their order; a call comes
// behind the lines before it; Close leaves nothing.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, nil)
	const goroutines, lines = 8, 1000
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for n := range lines {
				fmt.Fprintf(w, "%d %d\n", g, n)
			}
		})
	}
	all.Wait()
	before := 0
	w.After(func() { before = bytes.Count(out.Bytes(), []byte("\n")) })
	fmt.Fprintln(w, "the last")
	if !w.Close() || before != goroutines*lines {
		t.Errorf("a call behind %d lines, want %d", before, goroutines*lines)
	}
	written := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(written) != goroutines*lines+1 || written[len(written)-1] != "the last" {
		t.Fatalf("%d lines, the last is %q", len(written), written[len(written)-1])
	}
	var next [goroutines]int
	for _, line := range written[:len(written)-1] {
		var g, n int
		if _, err := fmt.Sscanf(line, "%d %d", &g, &n); err != nil || n != next[g] {
			t.Fatalf("%q, want number %d", line, next[g])
		}
		next[g]++
	}
	if fmt.Fprintln(w, "after the end"); w.Dropped() != 1 || w.After(func() { t.Error("called after the end") }) {
		t.Errorf("after the end: %d lines dropped", w.Dropped())
	}
}

// TestStalledDisk: no caller waits; what there is no room for is counted, and a line of the log says how many lines are
// missing, where they are missing. A call for which there is no room is refused, and counted.
func TestStalledDisk(t *testing.T) {
	disk := newStalled()
	var w *Writer
	w = NewWriter(disk, func(lines uint64) { fmt.Fprintf(w, "%d missing\n", lines) })
	line := []byte(strings.Repeat("x", 1023) + "\n")
	w.Write(line)
	<-disk.began
	const room, more = maxQueued / 1024, 1000
	for range room + more {
		w.Write(line)
	}
	refused := 0
	for range maxCalls + 5 {
		if !w.After(func() {}) {
			refused++
		}
	}
	if w.Dropped() != more+5 || refused != 5 {
		t.Errorf("%d dropped, %d calls refused", w.Dropped(), refused)
	}
	close(disk.released)
	for waiting := maxQueued; waiting > maxQueued/2; { // until the full queue is taken
		w.mu.Lock()
		waiting = len(w.queued.lines)
		w.mu.Unlock()
		runtime.Gosched()
	}
	fmt.Fprintln(w, "the last")
	if !w.Close() {
		t.Fatal("not all is written")
	}
	written, report := strings.Repeat(string(line), 1+room), fmt.Sprintf("%d missing\n", more)
	// the Writer may report it a moment later
	if got := disk.String(); got != written+report+"the last\n" && got != written+"the last\n"+report {
		t.Errorf("%d bytes written; the end is %q", len(got), got[max(0, len(got)-40):])
	}
}

// TestDroppedAtEnd: what was dropped last is reported as well.
func TestDroppedAtEnd(t *testing.T) {
	disk := newStalled()
	var w *Writer
	w = NewWriter(disk, func(lines uint64) { fmt.Fprintf(w, "%d missing\n", lines) })
	fmt.Fprintln(w, "a")
	<-disk.began
	w.mu.Lock()
	w.drops = 3
	w.mu.Unlock()
	close(disk.released)
	if !w.Close() || disk.String() != "a\n3 missing\n" {
		t.Errorf("written: %q", disk.String())
	}
}

// full is a disk that takes the first bytes of what is written, and no more.
type full int

func (f full) Write(b []byte) (int, error) { return int(f), syscall.ENOSPC }

// TestDiskFull: lines that the disk does not take are counted.
func TestDiskFull(t *testing.T) {
	w := NewWriter(full(3), func(uint64) { t.Error("there was room") })
	w.Write([]byte("a\nb\nc\nd\n"))
	if w.Close(); w.Dropped() != 3 {
		t.Errorf("%d lines were not written, want 3", w.Dropped())
	}
}

// room is a disk that takes so many bytes, and then, in part or not at all, no more.
type room struct {
	left int
	bytes.Buffer
}

func (r *room) Write(b []byte) (int, error) {
	n := min(len(b), r.left)
	r.left -= n
	r.Buffer.Write(b[:n])
	if n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestLost: where lines are missing because the disk was full, a line says how many, and the line that was cut off is
// ended before: no two lines become one. That holds wherever the disk becomes full, also within the line that says it.
func TestLost(t *testing.T) {
	lines := []string{"first line\n", "second line\n", "third line\n"}
	for left := range 40 {
		disk := &room{left: left}
		w := &Writer{w: disk, Lost: func(n uint64) []byte { return fmt.Appendf(nil, "%d lost\n", n) }}
		for _, line := range lines {
			w.write([]byte(line))
		}
		lost := w.lost
		disk.left = 5 // too few for what comes next
		w.write([]byte("not this one\n"))
		disk.left = 1000
		w.write([]byte("the last\n"))
		want := ""
		for _, line := range lines {
			if len(want)+len(line) > left {
				break
			}
			want += line
		}
		got, end := disk.String(), fmt.Sprintf("\n%d lost\nthe last\n", lost+1)
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, end) || w.Dropped() != lost+1 {
			t.Errorf("room for %d bytes: %q, want %q ... %q", left, got, want, end)
		}
		for line := range strings.Lines(got) {
			if strings.Count(line, "line")+strings.Count(line, "last")+strings.Count(line, "lost") > 1 {
				t.Errorf("room for %d bytes: %q are two lines", left, line)
			}
		}
	}
}

// TestCloseGivesUp: a disk that takes nothing does not keep the process.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newStalled()
		w := NewWriter(disk, nil)
		fmt.Fprintln(w, "a line")
		began := time.Now()
		if w.Close() || time.Since(began) != closePatience {
			t.Errorf("closed after %v", time.Since(began))
		}
		close(disk.released)
		<-w.ended
	})
}

// TestFileOfManyLines: a Write of many lines keeps the limit as one line after the other does.
func TestFileOfManyLines(t *testing.T) {
	dir := t.TempDir()
	var lines []byte
	for n := range 200 {
		lines = fmt.Appendf(lines, "%s %d\n", strings.Repeat("y", n*7%31), n)
	}
	for limit := range int64(120) {
		var got [2]string
		var alarms [2]bytes.Buffer
		for i := range got {
			path := filepath.Join(dir, fmt.Sprint(limit, i))
			f, err := Open(Config{Path: path, Limit: limit, Alarm: &alarms[i]})
			if err != nil {
				t.Fatal(err)
			}
			rest := lines
			for len(rest) > 0 {
				n := len(rest)
				if i == 0 {
					n = bytes.IndexByte(rest, '\n') + 1
				}
				if wrote, err := f.Write(rest[:n]); err != nil || wrote != n {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			f.Close()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = string(text)
		}
		if truncated := func(i int) int {
			return strings.Count(alarms[i].String(), "\n")
		}; got[0] != got[1] || truncated(0) != truncated(1) {
			t.Errorf("limit %d: line by line %q, at once %q; truncated %d and %d times", limit, got[0], got[1],
				truncated(0), truncated(1))
		}
	}
}
