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
		{"--node=leaf", "ports", "leaf-01", 8},
		{"rack 1", "--node-name-map " + names + " links --node", "rack 1 leaf", 1},
		{"leaf", "partitions why", "leaf-01", 8},
		{"leaf", "partitions show --node", "leaf-01", 8},
		{"leaf", "partitions why leaf-01", "", 0},
		{"leaf", "partitions check", "", 0},
		{"leaf", "nodes", "", 0},
		{"leaf", "--socket=" + socket + " why", "leaf-01", 8},
		{"leaf", "--socket " + socket + ".not why", "", 0},
	} {
		lines, _ := candidates(t, append(strings.Fields(c.line), c.word)...)
		if len(lines) != c.n || c.n > 0 && lines[0] != c.want {
			t.Errorf("%q behind %q: %q", c.word, c.line, lines)
		}
	}
}

// candidates are the words that a completion script gets for a command line, and cobra's
// directive what else to do.
func candidates(t *testing.T, line ...string) (words []string, directive string) {
	t.Helper()
	out, errs, status := invoke(t, append([]string{"__completeNoDesc"}, line...)...)
	if status != 0 {
		t.Fatalf("%q: status %d, %s", line, status, errs)
	}
	words = strings.Split(strings.TrimSpace(out), "\n")
	return words[:len(words)-1], words[len(words)-1]
}

// A manager that says nothing keeps nobody waiting who types.
func TestCompleteSilence(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "unresponsive.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	words, _ := candidates(t, "--socket", socket, "why", "")
	if took := time.Since(began); len(words) > 0 || took < completePatience || took > 20*completePatience {
		t.Errorf("%q after %v", words, took)
	}
}
