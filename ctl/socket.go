package ctl

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The environment variable with the path of the socket, and the default path.
const (
	SocketEnv     = "IBSM_SOCKET"
	DefaultSocket = "/run/ibsm/ibsm.sock"
)

// ErrInUse reports that another process serves the socket.
var ErrInUse = errors.New("another process uses the control socket")

// maxSocketPath is the maximum length of a socket path on Linux, including the final 0.
const maxSocketPath = 108

// Socket is a unix socket that listens at a path. The process holds a lock on a file
// beside it. The lock ends with the process, so that a stale socket can be recognized
// without connecting to it.
type Socket struct {
	net.Listener
	path string
	lock *os.File
}

// Listen creates a socket at an absolute path for its owner and, if group is not "", for
// the members of the group. It creates the directory if it is missing, but not its parents.
// The socket appears at the path with its final mode and replaces a stale one.
func Listen(path, group string) (*Socket, error) {
	s, err := listen(path, group)
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	return s, nil
}

func listen(path, group string) (_ *Socket, err error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("expected an absolute path")
	}
	dir := filepath.Dir(path)
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	gid, err := groupID(group)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if err := checkPlace(path); err != nil {
		return nil, err
	}
	l, err := bind(dir, path, gid)
	if err != nil {
		return nil, err
	}
	return &Socket{Listener: l, path: path, lock: lock}, nil
}

// Close closes and removes the socket.
func (s *Socket) Close() error {
	err := s.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	os.Remove(s.path) // still ours: we hold the lock
	return errors.Join(err, s.lock.Close())
}

// checkDir creates the directory if it is missing, and rejects one in which other users
// could replace the socket.
func checkDir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	mode, st := info.Mode(), info.Sys().(*syscall.Stat_t)
	if mode.Perm()&0o022 != 0 && mode&fs.ModeSticky == 0 {
		return fmt.Errorf("other users can write to its directory (%v): run chmod go-w %s", mode, dir)
	}
	if uid := os.Geteuid(); int(st.Uid) != uid && st.Uid != 0 {
		return fmt.Errorf("its directory belongs to user %d, not to user %d or root", st.Uid, uid)
	}
	return nil
}

// takeLock locks a file while it is open. The file is not removed: otherwise two
// processes could each lock a file of their own.
func takeLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		holder := make([]byte, 20)
		n, _ := f.ReadAt(holder, 0)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(holder[:n]))); err == nil {
			return nil, fmt.Errorf("%w: process %d", ErrInUse, pid)
		}
		return nil, ErrInUse
	}
	pid := append(strconv.AppendInt(nil, int64(os.Getpid()), 10), '\n')
	_, err = f.WriteAt(pid, 0)
	if err = errors.Join(err, f.Truncate(int64(len(pid)))); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkPlace refuses to replace a file that is not a socket, or a socket of another
// program, which listens although its lock is free.
func checkPlace(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("the file exists and is not a socket")
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return ErrInUse
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the existing socket may be in use: %w", err)
	}
	return nil
}

// bind creates the socket in a private directory, sets its mode and owner there, and then
// moves it to its path.
func bind(dir, path string, gid int) (net.Listener, error) {
	room, err := os.MkdirTemp(dir, ".")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(room)
	name := filepath.Join(room, "s")
	if len(name) >= maxSocketPath || len(path) >= maxSocketPath {
		return nil, errors.New("the path is too long for a socket: use less than 90 bytes")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	mode := fs.FileMode(0o600)
	if gid >= 0 {
		mode = 0o660
		err = os.Chown(name, -1, gid)
	}
	if err = errors.Join(err, os.Chmod(name, mode)); err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
