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
