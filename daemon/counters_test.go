package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/ctl/server"
)

// A rule for sick links with a shorter time than that between two readings is a warning, unless nothing is read.
func TestRulesBelowInterval(t *testing.T) {
	for _, c := range []struct {
		conf string
		want []string // rules
	}{
		{"perfmgr TRUE\nperfmgr_sweep_time_s 720\n", nil},
		{"perfmgr TRUE\nperfmgr_sweep_time_s 721\n", []string{"bit-errors"}},
		{"perfmgr TRUE\nperfmgr_sweep_time_s 7200\nsick_rules_file ufm\n", []string{"bit-errors"}},
		{"perfmgr FALSE\nperfmgr_sweep_time_s 7200\n", nil},
	} {
		var log bytes.Buffer
		d := &daemon{control: server.New(server.Config{}), logger: slog.New(slog.NewTextHandler(&log, nil))}
		if findings := (&counters{daemon: d}).useRules(readSickRules(nil, load(c.conf))); findings != nil {
			t.Errorf("%q: %v", c.conf, findings)
		}
		if got := strings.Count(log.String(), "\n"); got != len(c.want) {
			t.Errorf("%q: %d lines: %s", c.conf, got, &log)
		}
		for _, rule := range c.want {
			if !strings.Contains(log.String(), "a rule for sick links has a shorter time than perfmgr_sweep_time_s") ||
				!strings.Contains(log.String(), "rule="+rule+" ") {
				t.Errorf("%q: not of %s: %s", c.conf, rule, &log)
			}
		}
	}
}

// TestNoCounters: without a manager the file of counters stays as it is, and the console gets errors.
func TestNoCounters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "counters")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &daemon{control: server.New(server.Config{}), logger: slog.New(slog.DiscardHandler), current: &configuration{}}
	d.current.current.Store(&inForce{own: load("perfmgr TRUE\nevent_db_dump_file " + file + "\n")})
	mgr := (&counters{daemon: d}).console()
	_, noNodes := mgr.Nodes()
	_, noRedirects := mgr.Redirects()
	_, notForgotten := mgr.ForgetAbsent()
	for what, err := range map[string]error{"a dump": mgr.Dump(false), "nodes": noNodes, "redirects": noRedirects,
		"forgetting absent nodes": notForgotten, "forgetting redirects": mgr.ForgetRedirects(0)} {
		if !errors.Is(err, errNoReader) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "before" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
