package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestReplace: who has the old file open reads it to its end; a write that fails leaves it; what a crash left does not
// matter.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := errors.Join(os.WriteFile(file, []byte("before"), 0o644),
		os.WriteFile(file+".tmp", []byte("half"), 0o666)); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	failure := errors.New("failed")
	if err := Replace(file, 0o600, false, func(w io.Writer) error {
		io.WriteString(w, "half")
		return failure
	}); !errors.Is(err, failure) {
		t.Errorf("a write that fails: %v", err)
	}
	mustHave(t, file, "before", 0o644)
	for _, sync := range []bool{false, true} {
		if err := Replace(file, 0o600, sync, func(w io.Writer) error {
			_, err := io.WriteString(w, "after")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		mustHave(t, file, "after", 0o600)
	}
	if text, err := io.ReadAll(old); err != nil || string(text) != "before" {
		t.Errorf("the file that was open has %q, %v", text, err)
	}
	mustHold(t, dir, 1)
}

// TestWrite: a file that others could read is replaced by one that they cannot, also behind a symbolic link, which
// stays; a device is written to.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file, link, other := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "file.tmp")
	if err := errors.Join(os.WriteFile(file, []byte("before"), 0o644), os.Symlink("file", link),
		os.WriteFile(other, []byte("other"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, filepath.Join(dir, "new")} {
		old, err := os.Open(path)
		if err := Write(path, 0o600, []byte(path)); err != nil {
			t.Fatal(err)
		}
		mustHave(t, path, path, 0o600)
		if err == nil {
			if text, err := io.ReadAll(old); err != nil || string(text) == path {
				t.Errorf("the file that was open has %q, %v", text, err)
			}
			old.Close()
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	mustHave(t, other, "other", 0o644)
	mustHold(t, dir, 4)
	nowhere := filepath.Join(dir, "missing", "file")
	if err := Write(nowhere, 0o600, nil); !errors.Is(err, os.ErrNotExist) || err.Error() != "open "+nowhere+
		": no such file or directory" {
		t.Errorf("in a directory that is not there: %v", err)
	}
	if err := Write(os.DevNull, 0o600, []byte("text")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Error("a device was replaced")
	}
}

func mustHave(t *testing.T, path, want string, mode os.FileMode) {
	t.Helper()
	text, err := os.ReadFile(path)
	info, failed := os.Stat(path)
	if err = errors.Join(err, failed); err != nil || string(text) != want || info.Mode() != mode {
		t.Errorf("%s: %q, %v, %v; want %q, %v", path, text, info.Mode(), err, want, mode)
	}
}

// mustHold: nothing is left behind.
func mustHold(t *testing.T, dir string, files int) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) != files {
		t.Errorf("the directory has %v, %v", left, err)
	}
}
