package ctl_test

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ibsm/ctl"
)

// mustListen listens, and closes at the end of the test.
func mustListen(t *testing.T, path, group string) *ctl.Socket {
	t.Helper()
	s, err := ctl.Listen(path, group)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSocketMode(t *testing.T) {
	for _, c := range []struct {
		group string
		mode  fs.FileMode
	}{{"", 0o600}, {"0", 0o660}} {
		path := filepath.Join(t.TempDir(), "new", "s") // its folder is made
		if c.group != "" && os.Geteuid() != 0 {
			continue // a group of one's own has another number everywhere
		}
		mustListen(t, path, c.group)
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != fs.ModeSocket|c.mode {
			t.Errorf("group %q: mode %v, want %v", c.group, info.Mode(), c.mode)
		}
		if names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(names) != 2 {
			t.Errorf("beside the socket and its lock there is something left: %q", names)
		}
	}
}

// What is at the path decides whether it is taken.
func TestSocketPlace(t *testing.T) {
	abandoned := func(t *testing.T, path string) {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
	}
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, path string)
		refused string // part of the error; "" for none
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"a stale socket", abandoned, ""},
		{"a lock that nobody holds", func(t *testing.T, path string) {
			os.WriteFile(path+".lock", []byte("1\n"), 0o600)
		}, ""},
		{"a manager", func(t *testing.T, path string) {
			mustListen(t, path, "")
		}, "another process uses the control socket: process "},
		{"another program", func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, "another process uses the control socket"},
		{"a file", func(t *testing.T, path string) {
			os.WriteFile(path, []byte("precious"), 0o600)
		}, "is not a socket"},
		{"a link to a file", func(t *testing.T, path string) {
			os.WriteFile(path+"2", []byte("precious"), 0o600)
			os.Symlink(path+"2", path)
		}, "is not a socket"},
		{"a link for a lock", func(t *testing.T, path string) {
			os.Symlink("/dev/null", path+".lock")
		}, "too many levels"},
		{"a folder for everybody", func(t *testing.T, path string) {
			os.Chmod(filepath.Dir(path), 0o777)
		}, "chmod go-w"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			c.prepare(t, path)
			s, err := ctl.Listen(path, "")
			if err == nil {
				s.Close()
			}
			if got := err != nil; got != (c.refused != "") || got &&
				(!strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), path)) {
				t.Errorf("error %v, want one of %q", err, c.refused)
			}
			if text, err := os.ReadFile(path); err == nil && string(text) != "precious" {
				t.Errorf("the file holds %q", text)
			}
		})
	}
}

func TestSocketRefusals(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"s": "absolute", filepath.Join(dir, strings.Repeat("x", 100)): "too long",
		filepath.Join(dir, "no", "such", "s"): "no such file",
	} {
		if s, err := ctl.Listen(path, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v, want an error with %q", path, s, err, want)
		}
	}
	if _, err := ctl.Listen(filepath.Join(dir, "s"), "no such group"); err == nil ||
		!strings.Contains(err.Error(), `"no such group"`) {
		t.Errorf("an unknown group: %v", err)
	}
}

// Of many managers that start at once beside a stale socket one gets it, and the others
// know that.
func TestSocketRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	var tasks sync.WaitGroup
	results := make(chan *ctl.Socket, 50)
	for range cap(results) {
		tasks.Go(func() {
			s, err := ctl.Listen(path, "")
			if err != nil && !errors.Is(err, ctl.ErrInUse) {
				t.Error(err)
			}
			results <- s
		})
	}
	tasks.Wait()
	close(results)
	var won []*ctl.Socket
	for s := range results {
		if s != nil {
			won = append(won, s)
		}
	}
	if len(won) != 1 {
		t.Errorf("%d managers have the socket", len(won))
	}
	for _, s := range won {
		s.Close()
	}
}

// play starts this program in a role.
func play(t *testing.T, role, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), role+"="+path)
	return cmd
}

// A manager that is killed leaves its socket, which the next one takes.
func TestSocketOfTheKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	cmd := play(t, "CTL_TEST_LISTEN", path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := ctl.Listen(path, ""); !errors.Is(err, ctl.ErrInUse) {
		t.Errorf("while it lives: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("it did not leave its socket: %v", err)
	}
	mustListen(t, path, "")
}

// Another user is refused, and reported so.
func TestSocketPermission(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	b := serve(t, &source{}, ctl.Config{})
	const nobody = 65534
	cmd := play(t, "CTL_TEST_ASK", b.path)
	// Both the program and the socket must be within reach of anybody.
	room := t.TempDir()
	for dir := room; dir != os.TempDir(); dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	for dir := filepath.Dir(b.path); dir != os.TempDir(); dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	cmd.Path = copyProgram(t, cmd.Path, filepath.Join(room, "ask"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "refused\n" {
		t.Errorf("another user: %q, %v", out, err)
	}
	b.mustAnswer()
}

func copyProgram(t *testing.T, from, to string) string {
	t.Helper()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}
