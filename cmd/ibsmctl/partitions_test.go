package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPartitions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.conf")
	const first = "# mine\nA=1 : SELF=full;\n"
	for _, c := range []struct {
		args   string
		status int
		says   string
		text   string // of the file after it, "" where it is as before
	}{
		{"check", 1, "no such file", ""},
		{"create A --key 0x1 SELF=full", 0, "p.conf created; ", "A=0x0001 : SELF=full;\n"},
		{"create B --flag ipoib ALL=full", 0, "", "A=0x0001 : SELF=full;\nB=0x0002, ipoib : ALL=full;\n"},
		{"check --strict", 0, "", ""},
		{"show", 0, "B        0x0002       1  ALL=full", ""},
		{"show --json", 0, `"pkey": "0x0001"`, ""},
		{"add A 0x5=limited --dry-run", 0, "SELF=full, 0x0000000000000005=limited;", ""},
		{"add A 0x5=limited", 0, "",
			"A=0x0001 : SELF=full, 0x0000000000000005=limited;\nB=0x0002, ipoib : ALL=full;\n"},
		{"undo", 0, "", "A=0x0001 : SELF=full;\nB=0x0002, ipoib : ALL=full;\n"},
		{"set B rate=7 mtu=5", 0, "", "A=0x0001 : SELF=full;\nB=0x0002, ipoib, rate=7, mtu=5 : ALL=full;\n"},
		{"unset B rate mtu", 0, "", "A=0x0001 : SELF=full;\nB=0x0002, ipoib : ALL=full;\n"},
		{"remove A 0x5", 1, "does not list", ""},
		{"add A 0x5=fool", 1, "expected full, limited or both", ""},
		{"delete 2", 0, "", "A=0x0001 : SELF=full;\n"},
		{"rename A C", 0, "", "C=0x0001 : SELF=full;\n"},
		{"undo", 0, "", "A=0x0001 : SELF=full;\n"},
		{"rename", 2, "an argument is missing", ""},
		{"frobnicate", 2, "unknown verb", ""},
		{"create D --key x", 2, "expected a number", ""},
		{"--help", 0, "Usage:", ""},
	} {
		before, _ := os.ReadFile(file)
		var out bytes.Buffer
		status := run(append([]string{"partitions", "-f", file}, strings.Fields(c.args)...), &out, &out)
		after, _ := os.ReadFile(file)
		want := c.text
		if want == "" {
			want = string(before)
		}
		if status != c.status || !strings.Contains(out.String(), c.says) || string(after) != want {
			t.Errorf("%s: exit status %d, want %d and %q\n%s\nthe file is\n%s", c.args, status, c.status, c.says,
				out.String(), after)
		}
	}
	if err := os.WriteFile(file, []byte("A=1 ALL;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if status := run([]string{"partitions", "check", file}, &out, &out); status != 1 ||
		!strings.Contains(out.String(), "p.conf:1:1: error: \"A=1 ALL;\": no ':' in it") ||
		!strings.Contains(out.String(), "\n    A=1 ALL;\n") {
		t.Errorf("exit status %d\n%s", status, out.String())
	}
	if status := run([]string{"partitions", "check", filepath.Dir(file)}, &out, &out); status != 1 ||
		!strings.Contains(out.String(), "is a directory") {
		t.Errorf("a directory: exit status %d\n%s", status, out.String())
	}
	if err := os.WriteFile(file, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	run([]string{"partitions", "fmt", "-w", file}, &out, &out)
	if text, _ := os.ReadFile(file); string(text) != "# mine\nA=1 : SELF=full;\n" {
		t.Errorf("formatted: %q", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
