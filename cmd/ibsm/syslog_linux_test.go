package main_test

import (
	"encoding/json"
	"ibsm/conf"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestJSONLog: with log_format json the log is an object a line, and standard output is
// still for people.
func TestJSONLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := run(t, dir, caches(t), program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-o", "-f", "sm.log",
		"--log_format", "json")
	text, err := os.ReadFile(filepath.Join(dir, "sm.log"))
	if err != nil || r.status != 0 || !strings.Contains(r.stdout, "\nSUBNET UP\n") {
		t.Fatalf("status %d, %v, %s%s", r.status, err, r.stdout, r.stderr)
	}
	var up bool
	for line := range strings.Lines(string(text)) {
		var fields struct {
			Msg   string
			Nodes int
			Took  float64
		}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		up = up || fields.Msg == "SUBNET UP" && fields.Nodes == 14 && fields.Took > 0
	}
	if !up {
		t.Errorf("no line says how the subnet came up:\n%s", text)
	}
}

// TestSyslog: states go to the system's log under OpenSM's name, as OpenSM's do, and so
// does that the log file was opened.
func TestSyslog(t *testing.T) {
	t.Parallel()
	if r := run(t, "", nil, "unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/dev"); r.status != 0 {
		t.Skip("this system gives no mount namespace: " + r.stderr)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	system, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	if err := os.WriteFile(filepath.Join(dir, "ibsm.toml"), []byte("[log]\nsyslog = true\nprefix = \"mpi\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	inside := "mount -t tmpfs none /dev; ln -s " + path + " /dev/log; exec " + program(t, "ibsm") +
		" -F ibsm.toml --fabric fattree:k=4,levels=2 -o -f sm.log"
	if r := run(t, dir, caches(t), "unshare", "-Urm", "sh", "-c", inside); r.status != 0 {
		t.Fatalf("status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	if err := system.SetReadDeadline(time.Now().Add(patience())); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for b := make([]byte, 1000); !slices.Contains(lines, "<14>mpi: Exiting SM"); {
		n, err := system.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		severity, line, _ := strings.Cut(string(b[:n]), ">")
		_, text, _ := strings.Cut(line, "]: ")
		if !strings.Contains(line, " OpenSM[") {
			t.Errorf("not under OpenSM's name: %q", b[:n])
		}
		lines = append(lines, severity+">"+text)
	}
	want := []string{"<13>sm.log log file opened", "<14>mpi: ibsm " + conf.Version + " (OpenSM 3.3.23 compatible)",
		"<14>mpi: Entering DISCOVERING state",
		"<14>mpi: Entering MASTER state", "<14>mpi: SUBNET UP", "<14>mpi: Exiting SM"}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}

// TestLogLimit: the log is begun afresh when it has grown to the limit, and standard
// error says so.
func TestLogLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "sm.log")
	if err := os.WriteFile(log, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, dir, caches(t), program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-o", "-f", log, "-L", "1")
	text, err := os.ReadFile(log)
	if err != nil || r.status != 0 || len(text) > 1<<16 || !strings.Contains(string(text), "SUBNET UP") ||
		!strings.Contains(r.stderr, "exceeds the limit") {
		t.Errorf("status %d, %d bytes, %v, %s", r.status, len(text), err, r.stderr)
	}
}
