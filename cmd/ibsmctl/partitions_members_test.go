package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMembersWithBlanks: a host is a member by the name that its operator reads, also where its NodeDescription
// has blanks at the ends, as descriptions of real hosts have.
func TestMembersWithBlanks(t *testing.T) {
	dir := t.TempDir()
	file, fabric := filepath.Join(dir, "partitions.conf"), filepath.Join(dir, "net")
	for name, text := range map[string]string{
		file: "Default=0x7fff : ALL=full;\n",
		fabric: `Switch 4 "s"
[1] "h1"[1]
[2] "h2"[1]
[3] "h3"[1]

caguid=0x11
Ca 1 "h1" # "selene-01 mlx5_0"
[1] "s"[1]

caguid=0x21
Ca 1 "h2" # "selene-02 mlx5_1 "
[1] "s"[2]

caguid=0x31
Ca 1 "h3" # " selene-03 mlx5_0"
[1] "s"[3]
`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket, _ := startManager(t, fabric, "-P", file, "--state_dir", "none")
	for _, c := range []struct{ name, says string }{
		{"selene-02 mlx5_1", `port 0x0000000000000022 of "selene-02 mlx5_1 "`},
		{"selene-02 mlx5_1 =full", `port 0x0000000000000022 of "selene-02 mlx5_1 "`},
		{"selene-03 mlx5_0=full", `port 0x0000000000000032 of " selene-03 mlx5_0"`},
		{"selene-03", `port 0x0000000000000032 of " selene-03 mlx5_0"`},
	} {
		if err := os.WriteFile(file, []byte("Default=0x7fff : ALL=full;\nred=0x11 : 0x12=full;\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		status := run([]string{"--socket", socket, "partitions", "add", "red", c.name}, &out, &out)
		if status != 0 || strings.Count(out.String(), "port 0x") != 1 || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q: exit status %d\n%s", c.name, status, out.String())
		}
	}
}

// TestForeignMembers: check marks lines that OpenSM does not accept, which are no warnings; export writes the ports
// that they mean now; add writes patterns and, with --names, names as they are, otherwise the GUIDs of a host; remove
// and undo work with them.
func TestForeignMembers(t *testing.T) {
	dir := t.TempDir()
	file, fabric, groups, settings := filepath.Join(dir, "partitions.conf"), filepath.Join(dir, "net"),
		filepath.Join(dir, "groups"), filepath.Join(dir, "opensm.conf")
	const text = "Default=0x7fff : ALL=full;\nred=0x11 : selene-01=full, # the first\n    @two, 0x30-0x3f=full;\n"
	for name, text := range map[string]string{
		file:     text,
		groups:   "port-group\nname: two\nport-guid: 0x22\nend-port-group\n",
		settings: "pgrp_policy_file " + groups + "\n",
		fabric: `Switch 4 "s"
[1] "h1"[1]
[2] "h2"[1]
[3] "h3"[1]

caguid=0x11
Ca 1 "h1" # "selene-01 mlx5_0"
[1] "s"[1]

caguid=0x21
Ca 1 "h2" # "selene-02 mlx5_0"
[1] "s"[2]

caguid=0x31
Ca 1 "h3" # "selene-03 mlx5_0"
[1] "s"[3]
`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket, _ := startManager(t, fabric, "-F", settings, "-P", file, "--state_dir", "none")
	read := func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct{ args, prints, file string }{
		{"check --strict", "partitions.conf:2:12: note: OpenSM does not accept \"selene-01\"", text},
		{"check --strict", "partitions.conf:3:5: note: OpenSM does not accept \"@two\"", text},
		{"export", "red=0x11 : 0x0000000000000012=full, # the first\n    0x0000000000000022, 0x0000000000000032=full;\n", text},
		{"show --node selene-03", "0x8011", text},
		{"why selene-01 red", "selene-01=full", text},
		{"add red selene-0[2-3]=full", "changed",
			strings.Replace(text, "0x30-0x3f=full", "0x30-0x3f=full, selene-0[2-3]=full", 1)},
		{"remove red selene-01", "changed",
			"Default=0x7fff : ALL=full;\nred=0x11 : # the first\n    @two, 0x30-0x3f=full, selene-0[2-3]=full;\n"},
		{"undo", "changed", strings.Replace(text, "0x30-0x3f=full", "0x30-0x3f=full, selene-0[2-3]=full", 1)},
		{"add red selene-02=full", `selene-02: port 0x0000000000000022 of "selene-02 mlx5_0"`,
			strings.Replace(text, "0x30-0x3f=full", "0x30-0x3f=full, selene-0[2-3]=full, 0x0000000000000022=full", 1)},
		{"add --names red selene-02=full", "changed",
			strings.Replace(text, "0x30-0x3f=full",
				"0x30-0x3f=full, selene-0[2-3]=full, 0x0000000000000022=full, selene-02=full", 1)},
	} {
		var out bytes.Buffer
		status := run(append([]string{"--socket", socket, "partitions"}, strings.Fields(c.args)...), &out, &out)
		if status != 0 || !strings.Contains(out.String(), c.prints) {
			t.Errorf("%s: exit status %d\n%s", c.args, status, out.String())
		}
		if got := read(); got != c.file {
			t.Errorf("%s:\n%s\nwant\n%s", c.args, got, c.file)
		}
	}
}
