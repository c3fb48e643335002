package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadFileThatChanges: a file that somebody writes is never half of what was written: it is read whole, or refused.
func TestReadFileThatChanges(t *testing.T) {
	name := filepath.Join(t.TempDir(), "qos-policy.conf")
	line := []byte(strings.Repeat("x", 127) + "\n")
	if err := os.WriteFile(name, bytes.Repeat(line, 1<<15), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := readFile(name, 1<<30); err != nil || len(text) != 1<<22 {
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
		text, err := readFile(name, 1<<30)
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
	if text, err := readFile(name, 1000); err != nil || len(text) != 1000 {
		t.Errorf("%d bytes at rest, %v", len(text), err)
	}
}

// TestReadFileOfAnyKind: pipes and files of the kernel are read as they come.
func TestReadFileOfAnyKind(t *testing.T) {
	if text, err := readFile("/proc/self/status", 1<<20); err != nil || len(text) == 0 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if text, err := readFile(os.DevNull, 1<<20); err != nil || len(text) > 0 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("lmc 3\n"), 0) }()
	if text, err := readFile(pipe, 1<<20); err != nil || string(text) != "lmc 3\n" {
		t.Errorf("%q, %v", text, err)
	}
}
