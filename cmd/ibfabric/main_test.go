package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/topo/net"
)

func TestUsage(t *testing.T) {
	tests := []struct {
		args   string
		code   int
		stderr string // whole
	}{
		{"", 2, "ibfabric: error: a verb is missing\nhint: see ibfabric --help for the verbs\n"},
		{"gne", 2, "ibfabric: error: unknown verb \"gne\"\nhint: see ibfabric --help for the verbs\n"},
		{"--fabric x", 2, "ibfabric: error: unknown option --fabric\nhint: see ibfabric --help for the verbs\n"},
		{"--help", 0, ""},
		{"gen --help", 0, ""},
		{"gen", 2, "ibfabric: error: an argument is missing\nhint: see ibfabric gen --help\n"},
		{"gen --wide mesh", 2, "ibfabric: error: unknown option --wide\nhint: see ibfabric gen --help\n"},
		{"gen mesh:dim=4x4", 2,
			"ibfabric: error: unknown key of mesh \"dim\": expected one of dims, hosts, speed, width, " +
				"missing-links, missing-switches, devices, sharp, functions, seed\nhint: did you mean dims?\n"},
		{"gen tree:missing-links=1", 2,
			"ibfabric: error: tree: missing-links: 0 of 1 can be left out " +
				"without splitting the fabric\nhint: ibfabric gen --help describes every kind and key\n"},
		{"gen mesh:functions=1", 2, "ibfabric: error: a topology file has no virtual functions\n" +
			"hint: leave out functions, or give the SPEC to ibfabric serve or ibsm --fabric\n"},
		{"gen mesh -o /nonexistent/x", 1, "ibfabric: error: open /nonexistent/x: no such file or directory\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(strings.Fields(tt.args), &stdout, &stderr)
			if code != tt.code || stderr.String() != tt.stderr {
				t.Errorf("exit %d, want %d; stderr\n%s\nwant\n%s", code, tt.code, stderr.String(), tt.stderr)
			}
			if (stdout.Len() > 0) != (tt.code == 0) {
				t.Errorf("stdout with exit %d: %q", code, stdout.String())
			}
		})
	}
}

func TestGen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.net")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"gen", "fattree:k=4"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if code := run([]string{"gen", "-o", file, "fattree:k=4"}, &stderr, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	written, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(written, stdout.Bytes()) {
		t.Errorf("-o wrote %d bytes (%v), standard output got %d", len(written), err, stdout.Len())
	}
	n, err := net.Parse("out.net", written)
	if err != nil || len(n.Nodes) != 36 {
		t.Errorf("read back: %v, want 36 nodes", err)
	}
}

// TestHelpNamesEveryExample generates what the help text shows.
func TestHelpNamesEveryExample(t *testing.T) {
	examples := 0
	for line := range strings.SplitSeq(genExamples, "\n") {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "ibfabric" {
			examples++
			if _, err := net.Generate(f[2]); err != nil {
				t.Errorf("%s: %v", f[2], err)
			}
		}
	}
	if examples != 4 {
		t.Errorf("%d examples, want 4", examples)
	}
}
