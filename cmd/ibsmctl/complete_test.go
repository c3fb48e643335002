package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

func TestCompleteNodes(t *testing.T) {
	socket, _ := startManager(t, "fattree:k=4")
	t.Setenv(ctl.SocketEnv, socket)
	names := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(names, []byte(`0xb83fd20300400000 "rack 1 leaf"`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		word string
		line string
		want string // the first of so many
		n    int
	}{
		{"", "why", "agg-01", 36},
		{"host-0", "path", "host-01", 9},
		{"host-0", "path host-01", "host-01", 9},
		{"host-0", "path host-01 host-02", "", 0},
		{"0xb83fd2030040000", "why", "0xb83fd20300400000", 1},
		{"2", "--json why", "2", 11}, // 2 and 20 to 29
		{"2", "nodes --node", "", 0},
		{"leaf", "ports --state down --node", "leaf-01", 8},
		{"leaf", "ports --node =", "leaf-01", 8},
		{`rack\ 1`, "--node-name-map " + names + " links --node", "rack 1 leaf", 1},
		{"leaf", "partitions why", "leaf-01", 8},
		{"leaf", "partitions why leaf-01", "", 0},
		{"leaf", "partitions check", "", 0},
		{"leaf", "nodes", "", 0},
		{"leaf", "", "", 0},
		{"leaf", "--socket = " + socket + " why", "leaf-01", 8},
		{"leaf", "--socket " + socket + ".not why", "", 0},
	} {
		out, errs, status := invoke(t, append([]string{"completion", "nodes", c.word}, strings.Fields(c.line)...)...)
		lines := strings.Split(out, "\n")
		if status != 0 || errs != "" || lines[0] != c.want || len(lines)-1 != c.n {
			t.Errorf("%q behind %q: status %d, %s, %q", c.word, c.line, status, errs, out)
		}
	}
}

// A manager that says nothing keeps nobody waiting who types.
func TestCompleteSilence(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "silent.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	out, errs, status := invoke(t, "completion", "nodes", "", "--socket", socket, "why")
	if took := time.Since(began); status != 0 || out != "" || errs != "" || took < completePatience || took > 20*completePatience {
		t.Errorf("status %d after %v, %q, %s", status, took, out, errs)
	}
}
