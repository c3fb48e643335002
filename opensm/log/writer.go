package log

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// maxQueued bounds the bytes that wait to be written: some 40,000 lines.
const maxQueued = 4 << 20

// keptBuffer is the size of a buffer that is used again; a larger one is given back.
const keptBuffer = 64 << 10

// closePatience is how long Close waits for a disk or a stream that does not take what is left.
const closePatience = 2 * time.Second

// Writer takes lines without waiting, and writes them in a goroutine of its own: a disk, a pipe or a system log that
// takes nothing delays no caller. Lines for which there is no room are dropped and counted. Its methods are safe for
// concurrent use.
type Writer struct {
	// Lost makes the line that says, where they are missing, how many lines were not written because writing failed.
	// Nil for no such line. It is set before the first Write, and called by the goroutine of the Writer.
	Lost func(lines uint64) []byte

	w       io.Writer
	lost    uint64 // lines that were not written since the last that were; of the goroutine of the Writer, as cut
	cut     bool   // the last line that was written has no end
	dropped func(lines uint64)
	wake    chan struct{} // has room for one: something is queued
	ended   chan struct{}

	mu     sync.Mutex // guards the following
	queued queue
	drops  uint64 // lines for which there was no room, since they were reported
	total  uint64 // of all that was lost
	state  writerState
}

// writerState is how far a Writer is.
type writerState uint8

const (
	writing writerState = iota
	closing             // until nothing is queued, nor left to report
	closed              // the goroutine has ended, or is about to
)

// queue is what waits to be done, in order.
type queue struct {
	lines []byte
	calls []call
}

// call is a function that is called after a number of bytes of the lines.
type call struct {
	after int
	do    func()
}

// NewWriter returns a Writer that writes to w. When there is room again after lines were dropped, dropped is called
// with their number, by the goroutine of the Writer. What it logs comes where they are missing.
func NewWriter(w io.Writer, dropped func(lines uint64)) *Writer {
	l := &Writer{w: w, dropped: dropped, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go l.run()
	return l
}

// Write queues a line. It always succeeds.
func (l *Writer) Write(line []byte) (int, error) {
	l.mu.Lock()
	if l.state == closed || len(l.queued.lines)+len(line) > maxQueued {
		l.drops++
		l.total++
	} else {
		l.queued.lines = append(l.queued.lines, line...)
	}
	l.mu.Unlock()
	l.awake()
	return len(line), nil
}

// maxCalls bounds the calls that wait.
const maxCalls = 1000

// After has a function called when all lines before it are written, by the goroutine of the Writer. It does not wait.
// It reports false where too many wait already, or the Writer has ended: then do is never called, which is counted as a
// dropped line.
func (l *Writer) After(do func()) bool {
	l.mu.Lock()
	taken := l.state != closed && len(l.queued.calls) < maxCalls
	if taken {
		l.queued.calls = append(l.queued.calls, call{len(l.queued.lines), do})
	} else {
		l.total++
	}
	l.mu.Unlock()
	l.awake()
	return taken
}

// Dropped is the number of lines that were not written: there was no room for them, or writing failed.
func (l *Writer) Dropped() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// Close writes what is queued, calls what was given to After, and ends the goroutine. It waits closePatience at most,
// and reports false if not all was written by then.
func (l *Writer) Close() bool {
	l.mu.Lock()
	l.state = max(l.state, closing)
	l.mu.Unlock()
	l.awake()
	select {
	case <-l.ended:
		return true
	case <-time.After(closePatience):
		return false
	}
}

func (l *Writer) awake() {
	select {
	case l.wake <- struct{}{}:
	default: // it has been woken and has not looked yet
	}
}

// run writes until Close was called and nothing is queued any more.
func (l *Writer) run() {
	defer close(l.ended)
	var now queue
	for range l.wake {
		var drops uint64
		var state writerState
		now, drops, state = l.take(now)
		if drops > 0 {
			l.dropped(drops) // while there is room, and so that it comes next
		}
		written := 0
		for _, c := range now.calls {
			l.write(now.lines[written:c.after])
			written = c.after
			c.do()
		}
		l.write(now.lines[written:])
		switch state {
		case closing:
			l.awake() // for what has been queued since
		case closed:
			return
		}
	}
}

// take exchanges what is queued for an empty queue that was used before, and the drops that were not reported for none.
// A Writer that is closing is closed when there is neither.
func (l *Writer) take(used queue) (now queue, drops uint64, state writerState) {
	if cap(used.lines) > keptBuffer {
		used.lines = nil
	}
	clear(used.calls)
	l.mu.Lock()
	defer l.mu.Unlock()
	now, drops = l.queued, l.drops
	l.queued, l.drops = queue{used.lines[:0], used.calls[:0]}, 0
	if l.state == closing && len(now.lines)+len(now.calls) == 0 && drops == 0 {
		l.state = closed
	}
	return now, drops, l.state
}

// write writes lines, and counts those that were not written because of an error, which File reports. Before the first
// lines that are written again it ends the line that was cut off, and says how many are missing.
func (l *Writer) write(lines []byte) {
	if len(lines) == 0 {
		return
	}
	if l.lost > 0 && !l.resume() {
		l.count(lines)
		return
	}
	n, err := l.w.Write(lines)
	if n > 0 {
		l.cut = lines[n-1] != '\n'
	}
	if err != nil || n < len(lines) {
		l.count(lines[n:])
	}
}

// count counts the lines that end in what was not written.
func (l *Writer) count(unwritten []byte) {
	lines := uint64(bytes.Count(unwritten, []byte("\n")))
	l.lost += lines
	l.mu.Lock()
	l.total += lines
	l.mu.Unlock()
}

// resume writes what comes before the first line after some that were lost, and reports whether that was written.
func (l *Writer) resume() bool {
	var head []byte
	if l.cut {
		head = append(head, '\n')
	}
	if l.Lost != nil {
		head = append(head, l.Lost(l.lost)...)
	}
	if len(head) == 0 {
		l.lost = 0
		return true
	}
	n, err := l.w.Write(head)
	if n > 0 {
		l.cut = head[n-1] != '\n'
	}
	if err != nil || n < len(head) {
		return false
	}
	l.lost = 0
	return true
}
