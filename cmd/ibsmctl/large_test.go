package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

// TestLarge holds the time of answers on 11,664 hosts and 1,620 switches, or on a
// smaller fabric that need not prove anything but is quick: a status in 50 ms, all
// ports in a second, from the start of the verb to the last line of the table.
func TestLarge(t *testing.T) {
	fabric, ports := "fattree:k=12", 432+180*13
	if os.Getenv("IBSM_PROOF") != "" {
		fabric, ports = "fattree:k=36", 11664+1620*37
	}
	socket, _ := startManager(t, fabric)
	t.Setenv(ctl.SocketEnv, socket)
	for _, c := range []struct {
		args  string
		lines int
		bar   time.Duration
	}{
		{"status", 0, 50 * time.Millisecond},
		{"path 1 100", 0, 50 * time.Millisecond},
		{"ports", 1 + ports, time.Second},
		{"ports --json", 2 + ports, time.Second},
		{"links", 0, time.Second},
		{"nodes", 0, time.Second},
		{"why", 1, time.Second},
		{"why 1 100", 0, 50 * time.Millisecond}, // a line more where other ports would do
		{"diff " + firstGeneration(t), 0, 100 * time.Millisecond},
	} {
		var times []time.Duration
		for range 5 {
			var out, errs bytes.Buffer
			from := time.Now()
			status := run(strings.Fields(c.args), &out, &errs)
			times = append(times, time.Since(from))
			if lines := bytes.Count(out.Bytes(), []byte("\n")); status != 0 || c.lines > 0 && lines != c.lines {
				t.Fatalf("%s: status %d, %d lines, want %d; %s", c.args, status, lines, c.lines, errs.String())
			}
		}
		slices.Sort(times)
		t.Logf("%s %s: fastest %v, median %v", fabric, c.args, times[0], times[len(times)/2])
		if times[0] > c.bar {
			t.Errorf("%s takes %v, more than %v", c.args, times[0], c.bar)
		}
	}
}

// firstGeneration is the oldest generation that the manager remembers: views that follow each other at once are not all
// kept.
func firstGeneration(t *testing.T) string {
	t.Helper()
	var out, errs bytes.Buffer
	status := run([]string{"generations"}, &out, &errs)
	_, rows, _ := strings.Cut(out.String(), "\n")
	columns := strings.Fields(rows)
	if status != 0 || len(columns) == 0 {
		t.Fatalf("generations: status %d, %s %s", status, out.String(), errs.String())
	}
	return columns[0]
}
