package daemon

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ownedBy is the state of a file as if it belonged to a user.
type ownedBy struct {
	fs.FileInfo
	user uint32
}

func (o ownedBy) Sys() any { return &syscall.Stat_t{Uid: o.user} }

// TestIsSecret: the file of keys_file is root's or the program's user's, regular, and for its owner alone; else one
// line says what to do.
func TestIsSecret(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const self, other = 1000, 1001
	for _, c := range []struct {
		name  string
		mode  fs.FileMode
		owner uint32
		want  string // "" for none
	}{
		{file, 0o600, self, ""},
		{file, 0o400, 0, ""},
		{file, 0o600, other, "belongs to user 1001"},
		{file, 0o640, self, "(mode 0640)"},
		{file, 0o644, 0, "(mode 0644)"},
		{file, 0o602, self, "(mode 0602)"},
	} {
		if err := os.Chmod(c.name, c.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(c.name)
		if err != nil {
			t.Fatal(err)
		}
		err = isSecret(c.name, ownedBy{info, c.owner}, self)
		if (err == nil) != (c.want == "") || err != nil &&
			(!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s, mode %v, user %d: %v, want %q", c.name, c.mode, c.owner, err, c.want)
		}
	}
}

// TestReadSecret: what readSecret opens is asked about itself, not about its name.
func TestReadSecret(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := readSecret(file); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{pipe: "is a FIFO", dir: "is a directory",
		file + ".none": "no such file"} {
		if _, err := readSecret(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readSecret(file); err == nil || !strings.Contains(err.Error(), "other users can read or change") {
		t.Errorf("%v", err)
	}
}
