package log

import (
	"bufio"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFIFO: a FIFO is opened without a reader. One that comes later reads what was written.
func TestFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("a line\n")); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if line, err := bufio.NewReader(reader).ReadString('\n'); line != "a line\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}
