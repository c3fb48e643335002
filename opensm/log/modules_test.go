package log

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestParseModules: what OpenSM takes is taken, and what is wrong is reported with its line.
func TestParseModules(t *testing.T) {
	for _, c := range []struct {
		name, text string
		file       string // of a part
		want       Flags
		wrong      string
	}{
		{"equals sign", "osm_trap_rcv.c=0x07\n", "manager/traps.go", 7, ""},
		{"blanks", "\t osm_trap_rcv.c \t 15", "manager/traps.go", 15, ""},
		{"comma", "osm_trap_rcv.c,017", "manager/traps.go", 15, ""},
		{"comment", "# x\n\nosm_trap_rcv.c 1 # y 2\n", "manager/traps.go", 1, ""},
		{"two modules of one part", "osm_lid_mgr.c 1\nosm_ucast_mgr.c 4\n", "manager/report.go", 5, ""},
		{"unknown", "osm_nosuch.c 1\nosm_trap_rcv.c 2\n", "manager/traps.go", 2,
			`f:1: insert_per_module_debug: Module name "osm_nosuch.c" not found: this manager has no such part`},
		{"no flags", "\nosm_trap_rcv.c", "manager/traps.go", 0, "f:2: missing log level of osm_trap_rcv.c"},
		{"no number", "osm_trap_rcv.c x", "manager/traps.go", 0,
			`f:1: log level "x" of osm_trap_rcv.c: expected a number up to 0xff`},
		{"too large", "osm_trap_rcv.c 256", "manager/traps.go", 0,
			`f:1: log level "256" of osm_trap_rcv.c: expected a number up to 0xff`},
		{"more words", "osm_trap_rcv.c 3 4", "manager/traps.go", 3, `f:1: extra tokens ignored: ["4"]`},
	} {
		m, wrong := ParseModules("f", []byte(c.text))
		got := ""
		if len(wrong) > 0 {
			got = wrong[0].Error()
		}
		if m.flags[c.file] != c.want || got != c.wrong || len(wrong) > 1 {
			t.Errorf("%s: flags %#x, want %#x; %q, want %q", c.name, m.flags[c.file], c.want, wrong, c.wrong)
		}
	}
	if _, wrong := ParseModules("f", []byte(strings.Repeat("x\n", 100))); len(wrong) != maxModuleErrors {
		t.Errorf("%d lines are reported", len(wrong))
	}
}

// TestModules: a part logs by its own flags, the others by those of the log.
func TestModules(t *testing.T) {
	var out bytes.Buffer
	h := NewHandler(&out, Options{Flags: Error})
	l := slog.New(h)
	lines := func(m *Modules) string {
		out.Reset()
		h.SetModules(m)
		l.Debug("debug")
		l.Info("info")
		l.Error("error")
		l.Log(t.Context(), LevelSys, "sys")
		var words []string
		for line := range strings.Lines(out.String()) {
			words = append(words, line[strings.LastIndex(line, " ")+1:len(line)-1])
		}
		return strings.Join(words, " ")
	}
	of := func(file string, f Flags) *Modules { return &Modules{flags: map[string]Flags{file: f}, all: f} }
	for _, c := range []struct {
		modules *Modules
		want    string
	}{
		{nil, "error sys"},
		{of("log/modules_test.go", Error|Info|Verbose), "debug info error sys"},
		{of("log/modules_test.go", Verbose), "debug sys"},
		{of("log/modules_test.go", 0), "sys"},
		{of("log/another.go", 0xff), "error sys"},
		{nil, "error sys"},
	} {
		if got := lines(c.modules); got != c.want {
			t.Errorf("%v: %q, want %q", c.modules, got, c.want)
		}
	}
}

// TestParts: each module is one of OpenSM's, and leads to source files that there are.
func TestParts(t *testing.T) {
	folders := map[string]string{"daemon": "../../daemon", "manager": "../../manager", "dump": "../dump",
		"cache": "../cache"}
	opensm, err := os.ReadFile("/usr/sbin/opensm")
	if err != nil {
		t.Logf("%v: the names are not compared with OpenSM's", err)
	}
	page := text(t, "../../docs/console.md")
	for module, files := range parts {
		if !strings.Contains(page, "`"+module+"`") {
			t.Errorf("%s is not on the page about the console", module)
		}
		if opensm != nil && !bytes.Contains(opensm, []byte("\x00"+module+"\x00")) {
			t.Errorf("OpenSM has no module %s", module)
		}
		for _, f := range strings.Fields(files) {
			pkg, name, _ := strings.Cut(f, "/")
			text, err := os.ReadFile(filepath.Join(folders[pkg], name))
			if err != nil || !bytes.Contains(text, []byte(".log(")) && !bytes.Contains(text, []byte("ogger.")) &&
				!bytes.Contains(text, []byte("log.")) {
				t.Errorf("%s: %s does not log (%v)", module, f, err)
			}
		}
	}
}

// FuzzParseModules reads anything.
func FuzzParseModules(f *testing.F) {
	f.Add([]byte("osm_trap_rcv.c=0x07\n# x\nosm_sm.c,,, 0b11\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, wrong := ParseModules("f", text)
		for file, flags := range m.flags {
			if m.all&flags != flags {
				t.Errorf("%s has flags %#x, all together %#x", file, flags, m.all)
			}
		}
		if len(wrong) > maxModuleErrors {
			t.Errorf("%d errors", len(wrong))
		}
	})
}
