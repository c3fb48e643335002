package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ibsm/sim/fabric"
	"ibsm/sim/hosts"
)

// load is a crowd that a manager serves.
type load struct {
	place *benchPlace
	crowd *hosts.Crowd
	run   *process
	began time.Duration // what is shown next; the fabric's time
	cpu   time.Duration // that the manager had used by then
}

// stepEvery is how often the crowd is asked what it has to send.
const stepEvery = 200 * time.Microsecond

// until has the crowd go on until something is so.
func (l *load) until(ctx context.Context, atMost time.Duration, so func() bool) error {
	return l.steps(ctx, atMost, nil, so)
}

// finish has the crowd go on until nothing is open.
func (l *load) finish(ctx context.Context) error {
	return l.until(ctx, time.Minute, func() bool { return l.crowd.Open() == 0 })
}

// last has the crowd go on for a time, and does something in each step.
func (l *load) last(ctx context.Context, d time.Duration, do func()) error {
	end := time.Now().Add(d)
	return l.steps(ctx, d+time.Minute, do, func() bool { return time.Now().After(end) })
}

// steps steps the crowd; do and so have the fabric to themselves.
func (l *load) steps(ctx context.Context, atMost time.Duration, do func(), so func() bool) error {
	l.place.server.Do(func(f *fabric.Fabric) { l.began = f.Now() })
	l.cpu = cpuTime(l.run.cmd.Process.Pid)
	late := time.Now().Add(atMost)
	for next := time.Now(); next.Before(late); {
		select {
		case <-ctx.Done():
			return errors.New("interrupted")
		case err := <-l.run.died:
			l.run.died <- err
			return fmt.Errorf("it ended: %v", err)
		default:
		}
		next = pause(next)
		done := false
		l.place.server.Do(func(*fabric.Fabric) {
			if do != nil {
				do()
			}
			l.crowd.Step()
			done = so()
		})
		if done {
			return nil
		}
	}
	return fmt.Errorf("%d requests are still open after %v", l.crowd.Open(), atMost)
}

// pause waits until the next step is due, and returns when that was. Go's own timers are due
// to the millisecond when nothing else happens, by which time many requests would go out at once.
func pause(last time.Time) time.Time {
	next := last.Add(stepEvery)
	if wait := time.Until(next); wait > 0 {
		ts := syscall.NsecToTimespec(wait.Nanoseconds())
		_ = syscall.Nanosleep(&ts, nil) // cut short by a signal, a step is early
		return next
	}
	return time.Now()
}

// take is what became of the requests since the last time, and how long it took.
func (l *load) take() (r hosts.Report, took time.Duration) {
	l.place.server.Do(func(f *fabric.Fabric) { r, took = l.crowd.Report(), f.Now()-l.began })
	return r, took
}

// show prints what became of the requests.
func (l *load) show(w io.Writer, part string) {
	r, took := l.take()
	memory, _ := peakMemory(l.run.cmd.Process.Pid) // 0 if it has died
	cpu := cpuTime(l.run.cmd.Process.Pid) - l.cpu
	fmt.Fprintf(w, "  %s: %.1f s, CPU %.2f s, memory %.0f MB, %d reports, %d late answers\n", part, took.Seconds(),
		cpu.Seconds(), memory, r.Reports, r.Late)
	for kind := range hosts.NumKinds {
		o := &r.Kinds[kind]
		if o.Asked == 0 {
			continue
		}
		fmt.Fprintf(w, "    %-15s %8d asked %9.0f/s  %8d granted %7d resent %6d given up  p50 %-9v p99 %-9v max %v\n",
			kind, o.Asked,
			float64(len(o.Took))/took.Seconds(), len(o.Took), o.Resent, o.GivenUp, round(o.Quantile(0.5)),
			round(o.Quantile(0.99)), round(o.Quantile(1)))
		for status, n := range o.Refused {
			fmt.Fprintf(w, "    %15s %8d refused: %v\n", "", n, status)
		}
	}
}

// cpuTime is the CPU time that a process has used, 0 if it has ended.
func cpuTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The fields 14 and 15 are in hundredths of a second. Field 2, a name in brackets, may have blanks.
	var user, system int64
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) > 12 {
		user, _ = strconv.ParseInt(fields[11], 10, 64)
		system, _ = strconv.ParseInt(fields[12], 10, 64)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
