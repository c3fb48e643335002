package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hangingFolder is a folder on a file system that does not answer, as that of an NFS server that is down: FUSE without
// a server.
func hangingFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err == nil {
		t.Cleanup(func() { fuse.Close() }) // whoever waits gets an error
		err = syscall.Mount("ibsm", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV,
			fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=0", fuse.Fd(), os.Geteuid()))
	}
	if err != nil {
		t.Skip("no file system that hangs can be mounted here: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_FORCE|syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFilesHang: where the file system of a file does not answer, a start says so, and SIGTERM ends a start, and a
// reload with its manager, at once.
func TestFilesHang(t *testing.T) {
	t.Parallel()
	dir, hanging := t.TempDir(), filepath.Join(hangingFolder(t), "file")
	argv := []string{program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2"}
	r := run(t, dir, caches(t), append(argv, "-P", hanging)...)
	if want := hanging + " cannot be read within 11s: make its file system available"; r.status != 1 ||
		!strings.Contains(r.stderr, want) {
		t.Errorf("exit status %d, want 1 and %q\n%s", r.status, want, r.stderr)
	}
	link := filepath.Join(dir, "partitions.conf")
	for _, c := range []struct {
		name    string
		options []string
		waits   string // is printed before the read
		status  syscall.WaitStatus
	}{
		{"configuration at the start", []string{"-F", hanging}, "", syscall.WaitStatus(syscall.SIGTERM)},
		{"partitions at the start", []string{"-P", hanging}, "compatible)", 0},
		{"partitions at a reload", []string{"-P", link}, "SUBNET UP", 0},
	} {
		if err := os.WriteFile(link, []byte("Default=0x7fff : ALL=full;\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, nil, dir, caches(t), append(argv, c.options...)...)
		if c.waits != "" {
			p.await(c.waits)
		}
		if c.waits == "SUBNET UP" {
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(hanging, link); err != nil {
				t.Fatal(err)
			}
			p.signal(syscall.SIGHUP)
		}
		p.awaitHanging()
		began := time.Now()
		p.signal(syscall.SIGTERM)
		<-p.done
		if took := time.Since(began); took > 5*time.Second || p.cmd.ProcessState.Sys() != c.status {
			t.Errorf("%s: ended after %v with %v", c.name, took, p.cmd.ProcessState)
		}
		os.Remove(link)
	}
}

// awaitHanging waits until a thread of the process is in a request to FUSE.
func (p *process) awaitHanging() {
	p.t.Helper()
	eventually(p.t, "a thread waits for the file system", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", p.cmd.Process.Pid))
		return slices.ContainsFunc(threads, func(thread string) bool {
			at, err := os.ReadFile(thread)
			return err == nil && strings.Contains(string(at), "fuse")
		})
	})
}
