package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRotateLog: logrotate rotates the log of a manager that runs, whoever writes it: by the rule of
// OpenSM's package if that names it, else by one of ibsm's, which is gone when the manager has ended.
// No rule of ibsm names a log that ibsm does not write.
func TestRotateLog(t *testing.T) {
	if _, err := exec.LookPath("logrotate"); err != nil {
		t.Skip("needs logrotate")
	}
	included, err := os.ReadFile("../dist/ibsm.logrotate")
	if err != nil {
		t.Fatal(err)
	}
	const debian = "/var/log/opensm*.log {\n    rotate 4\n    missingok\n    notifempty\n    weekly\n    compress\n    postrotate\n        theirs\n    endscript\n}\n"
	for _, c := range []struct {
		name, opensm, log string
		ours              bool
	}{
		{"OpenSM's package of Debian", debian, "opensm.0x0002c90300000001.log", false},
		{"a rule for another log", strings.Replace(debian, "*", "", 1), "opensm.0x0002c90300000001.log", true},
		{"no OpenSM", "", "opensm.log", true},
		{"a name of its own", debian, "fabric a.log", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			var logs []string
			write := func(name, text string, mode os.FileMode) string {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
				return path
			}
			inRoot := func(text string) string {
				return strings.NewReplacer("/var/log/", root+"/var/log/", "/var/lib/", root+"/var/lib/", "theirs",
					"echo theirs >>"+root+"/signals").Replace(text)
			}
			if err := os.MkdirAll(filepath.Join(root, rulesOfLogs), 0o755); err != nil {
				t.Fatal(err)
			}
			write(rulesFolder+"/ibsm", inRoot(string(included)), 0o644)
			if c.opensm != "" {
				write(rulesFolder+"/opensm", inRoot(c.opensm), 0o644)
			}
			main := write("logrotate.conf", "create\ninclude "+filepath.Join(root, rulesFolder)+"\n", 0o644)
			for _, name := range []string{c.log, "opensm-other.log"} {
				logs = append(logs, write("var/log/"+name, "SUBNET UP\n", 0o644))
			}
			write("bin/pkill", "#!/bin/sh\necho ours >>"+root+"/signals\n", 0o755)
			rotate := func() {
				t.Helper()
				cmd := exec.Command("logrotate", "--force", "--state", filepath.Join(root, "state"), main)
				cmd.Env = append(os.Environ(), "PATH="+root+"/bin:"+os.Getenv("PATH"))
				if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
					t.Errorf("logrotate: %v\n%s", err, out)
				}
			}
			rotated := func(log string) bool { files, _ := filepath.Glob(log + ".1*"); return len(files) == 1 }
			l := rotatedLog{root, logs[0]}
			for range 2 { // the second time after it was killed
				if err := l.announce(); err != nil {
					t.Fatal(err)
				}
			}
			rotate()
			signals, _ := os.ReadFile(filepath.Join(root, "signals"))
			if !rotated(logs[0]) || strings.Contains(string(signals), "ours") != c.ours {
				t.Errorf("rotated: %t, signals by %q", rotated(logs[0]), signals)
			}
			if want := c.opensm == debian; rotated(logs[1]) != want {
				t.Errorf("the log of another: rotated %t, want %t", !want, want)
			}
			l.withdraw()
			if left, _ := filepath.Glob(filepath.Join(root, rulesOfLogs, "*")); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
			rotate()
		})
	}
}
