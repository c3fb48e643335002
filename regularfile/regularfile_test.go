package regularfile

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestKinds: regular files are read, also those of the kernel; all else is named in the error, and is not waited for.
func TestKinds(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"file": "text", "full": "0123456789", "long": "0123456789x", "empty": ""} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for link, to := range map[string]string{"link": path("file"), "off": os.DevNull, "zero": "/dev/zero"} {
		if err := os.Symlink(to, path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, want, err string }{
		{path("file"), "text", ""}, {path("full"), "0123456789", ""}, {path("empty"), "", ""},
		{path("link"), "text", ""}, {path("off"), "", ""}, {os.DevNull, "", ""},
		{path("long"), "", path("long") + " has more than the 10 bytes that are read: name the right file, or shorten it"},
		{path("fifo"), "", path("fifo") + " is a FIFO: name a regular file"},
		{path("socket"), "", path("socket") + " is a socket: name a regular file"},
		{dir, "", dir + " is a directory: name a regular file"},
		{"/dev/zero", "", "/dev/zero is a device: name a regular file"},
		{path("zero"), "", path("zero") + " is a device: name a regular file"},
		{path("none"), "", "open " + path("none") + ": no such file or directory"},
	} {
		text, err := new(Reader).Read(c.name, 10)
		if string(text) != c.want || (err != nil) != (c.err != "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
	}
	if _, err := new(Reader).Read(path("none"), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if text, err := new(Reader).Read("/proc/self/status", 1<<20); err != nil || len(text) == 0 {
		t.Errorf("%d bytes of a file of the kernel, %v", len(text), err)
	}
	unwanted := errors.New("unwanted")
	if text, err := new(Reader).ReadIf(path("file"), 10, func(info fs.FileInfo) error {
		if info.Size() != 4 {
			t.Errorf("a file of %d bytes is checked", info.Size())
		}
		return unwanted
	}); text != nil || err != unwanted {
		t.Errorf("%q, %v", text, err)
	}
}

// TestChanges: a file that somebody writes is never half of what was written: it is read whole, or refused.
func TestChanges(t *testing.T) {
	name := filepath.Join(t.TempDir(), "qos-policy.conf")
	line := []byte(strings.Repeat("x", 127) + "\n")
	if err := os.WriteFile(name, bytes.Repeat(line, 1<<15), 0o600); err != nil {
		t.Fatal(err)
	}
	r := new(Reader)
	if text, err := r.Read(name, 1<<30); err != nil || len(text) != 1<<22 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		for at := int64(0); err == nil; at = (at + 1) % 64 {
			select {
			case <-stop:
				stopped <- f.Close()
				return
			default:
				err = f.Truncate(1<<21 + at*128)
			}
		}
		stopped <- err
	}()
	for {
		text, err := r.Read(name, 1<<30)
		if err != nil {
			if want := name +
				" changed while it was read: reload after it is written, or write a new file and rename it"; err.Error() != want {
				t.Errorf("%v", err)
			}
			break
		}
		if len(text)%128 != 0 {
			t.Fatalf("%d bytes", len(text))
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

// TestHangs: a read that hangs is given up. Until it ends another read of the same file fails at once, and those of
// others have less time; then the file is read again.
func TestHangs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{})
		r := &Reader{Opening: func(string) { <-answers }}
		for _, c := range []struct {
			name  string
			most  int64
			takes time.Duration
			err   string
		}{
			{"a", 1 << 10, patience, " cannot be read within 10s: " + remedy},
			{"a", 1 << 10, 0, ": the previous read of it still hangs: " + remedy},
			{"b", 50 << 20, shorter + 5*time.Second, " cannot be read within 6s: " + remedy},
		} {
			began, name := time.Now(), filepath.Join(dir, c.name)
			_, err := r.Read(name, c.most)
			if took := time.Since(began); took != c.takes || err == nil || err.Error() != name+c.err {
				t.Errorf("%s: %v after %v", c.name, err, took)
			}
		}
		close(answers)
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			if text, err := r.Read(filepath.Join(dir, name), 10); string(text) != name || err != nil {
				t.Errorf("then %s: %q, %v", name, text, err)
			}
		}
		if len(r.hanging) > 0 {
			t.Errorf("%v still hang", r.hanging)
		}
	})
}

// TestStop: a read that hangs ends when the program stops, and so do those after it.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers, stop := make(chan struct{}), make(chan struct{})
		defer close(answers)
		r := &Reader{Opening: func(string) { <-answers }}
		r.Stop(stop)
		time.AfterFunc(time.Second, func() { close(stop) })
		began := time.Now()
		for _, takes := range []time.Duration{time.Second, 0} {
			if _, err := r.Read("a", 10); !errors.Is(err, ErrStopped) || err.Error() != "a: the program stops" ||
				time.Since(began) != takes {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			began = time.Now()
		}
	})
}
