package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/registry"
)

// TestDisk runs diskTrouble in a mount namespace, on a small disk of its own.
func TestDisk(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestDiskInside$", "-test.v")
	cmd.Env = append(os.Environ(), "IBSM_TEST_DISK="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL):
		t.Skipf("this system gives no mount namespace: %v", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skip(string(out))
	case err != nil || !strings.Contains(string(out), "--- PASS: TestDiskInside"):
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDiskInside is for the namespace of TestDisk. A disk runs full, has room again, is
// read-only at a start, and can be written again: the manager is notified each time, goes
// on, and in the end everything is there.
func TestDiskInside(t *testing.T) {
	dir := os.Getenv("IBSM_TEST_DISK")
	if dir == "" {
		t.Skip("run by TestDisk")
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Skipf("make mounts private: %v", err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("mount tmpfs: %v", err)
	}
	cfg := testConfig(filepath.Join(dir, "store.db"))
	var notices []error
	cfg.Trouble = func(err error) { notices = append(notices, err) }
	lastNotice := func(want error) {
		t.Helper()
		if len(notices) == 0 || !errors.Is(notices[len(notices)-1], want) {
			t.Fatalf("notices %v, want %v last", notices, want)
		}
	}
	s, c := open(t, cfg)
	r := c.Registry
	s.Put(register(t, r, putGroup(1)), nil)
	flush(t, s)

	fillUp(t, filepath.Join(dir, "ballast"))
	members := func(from, n int) (changes []registry.Change) {
		for port := from; port < from+n; port++ {
			changes = append(changes, putMember(1, port))
		}
		return changes
	}
	s.Put(register(t, r, members(1, 10000)...), nil)
	for range 2 {
		if err := s.Flush(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("on a full disk: %v", err)
		}
		s.Put(register(t, r, members(int(20000+r.Seq()), 1)...), nil)
	}
	lastNotice(syscall.ENOSPC)
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	flush(t, s)
	lastNotice(nil)
	if len(notices) != 2 {
		t.Errorf("notices %v", notices)
	}
	_ = s.Close()
	check(t, cfg.Path)

	for _, remove := range []bool{false, true} { // at the second start there is not even a lock file
		if remove {
			_ = os.Remove(cfg.Path + ".lock")
		}
		remount(t, dir, syscall.MS_RDONLY)
		s, c = open(t, cfg)
		lastNotice(syscall.EROFS)
		same(t, c, &Contents{Registry: r})
		s.Put(register(t, r, members(int(20000+r.Seq()), 1)...), nil)
		if err := s.Flush(); !errors.Is(err, syscall.EROFS) {
			t.Fatalf("on a disk that is read-only: %v", err)
		}
		remount(t, dir, 0)
		flush(t, s)
		lastNotice(nil)
		if _, _, err := Open(cfg); !errors.Is(err, ErrInUse) {
			t.Errorf("without a lock after it could be had: %v", err)
		}
		_ = s.Close()
		s, c = open(t, cfg)
		same(t, c, &Contents{Registry: r})
		_ = s.Close()
	}
}

func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, pageSize))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func remount(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("none", dir, "", syscall.MS_REMOUNT|flags, "size=3m"); err != nil {
		t.Fatal(err)
	}
}

// TestLargest is a start with the largest subnet that is planned for: its CPU time has
// a bar of two seconds.
func TestLargest(t *testing.T) {
	if os.Getenv("IBSM_PROOF") == "" {
		t.Skip("measures; with IBSM_PROOF=1")
	}
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	written := fillLargest(t, cfg)
	began := cpu()
	s, c := open(t, cfg)
	took := cpu() - began
	_ = s.Close()
	info, _ := os.Stat(cfg.Path)
	t.Logf("open and load %v of CPU, first write %v, %d bytes", took, written, info.Size())
	if took > 2*time.Second || len(c.LIDs) != 43011 || c.Registry.Counts().Members != 100000 {
		t.Errorf("%v for %d LIDs, %+v", took, len(c.LIDs), c.Registry.Counts())
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fillLargest makes a store of 39,366 hosts and 3,645 switches, 10,000 groups and
// 100,000 members, and returns how long it took to write.
func fillLargest(t testing.TB, cfg Config) time.Duration {
	s, c := open(t, cfg)
	var batch Batch
	for n := range 39366 + 3645 {
		batch.LIDs = append(batch.LIDs, LID{Port: mad.GUID(0x0002c90000000000 + n), Base: mad.LID(n + 1)})
	}
	for n := range 10000 {
		register(t, c.Registry, putGroup(n))
	}
	for n := range 100000 {
		register(t, c.Registry, putMember(n%10000, 1+n*7919%39366))
	}
	batch.Registry = c.Registry.Freeze()
	s.Put(batch, nil)
	began := time.Now()
	flush(t, s)
	took := time.Since(began)
	_ = s.Close()
	return took
}
