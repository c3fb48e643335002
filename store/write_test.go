package store

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestRemoveUnfinished: of what lies beside a secret, only regular files with the names of unfinished ones and of this
// user are removed. What links lead to stays.
func TestRemoveUnfinished(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	for _, name := range []string{"keys", ".ibsm-keys-1", ".ibsm-keys-4294967295", ".ibsm-keys-", ".ibsm-keys-x",
		".ibsm-keys-12.bak", ".ibsm-keys-+1", "a.ibsm-keys-1", ".ibsm-key-1", "target"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(dir, ".ibsm-keys-2"), 0o700))
	must(os.Symlink("target", filepath.Join(dir, ".ibsm-keys-3")))
	must(syscall.Mkfifo(filepath.Join(dir, ".ibsm-keys-4"), 0o600))
	must(os.Link(file, filepath.Join(dir, ".ibsm-keys-5"))) // killed between the link and the removal
	wantRemoved := 3
	stays := []string{".ibsm-key-1", ".ibsm-keys-", ".ibsm-keys-+1", ".ibsm-keys-12.bak", ".ibsm-keys-2",
		".ibsm-keys-3", ".ibsm-keys-4", ".ibsm-keys-x", "a.ibsm-keys-1", "keys", "target"}
	if os.Geteuid() == 0 { // of another user
		must(os.WriteFile(filepath.Join(dir, ".ibsm-keys-6"), nil, 0o600))
		must(os.Chown(filepath.Join(dir, ".ibsm-keys-6"), 12345, -1))
		stays = append(stays, ".ibsm-keys-6")
	}
	slices.Sort(stays)
	if removed, err := RemoveUnfinished(file); removed != wantRemoved || err != nil {
		t.Errorf("%d are removed, want %d: %v", removed, wantRemoved, err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	must(err)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if !slices.Equal(left, stays) {
		t.Errorf("%q are left, want %q", left, stays)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "secret" {
		t.Errorf("the secret is %q, %v", text, err)
	}
	if removed, err := RemoveUnfinished(filepath.Join(dir, "nowhere", "keys")); removed != 0 || err != nil {
		t.Errorf("without a directory: %d, %v", removed, err)
	}
	if _, err := RemoveUnfinished(filepath.Join(file, "keys")); err == nil {
		t.Error("that the directory cannot be read is no error")
	}
}
