package daemon

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"ibsm/atomicfile"
)

// daemonMark is set in the environment of the process that goes on in the
// background.
const daemonMark = "IBSM_DAEMON"

// daemonize starts this program once more, in a session of its own and without a
// terminal. In the first process parent is true: it has to end.
func daemonize() (parent bool, err error) {
	if os.Getenv(daemonMark) != "" {
		return false, os.Unsetenv(daemonMark)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return true, err
	}
	defer null.Close()
	exe, err := os.Executable()
	if err != nil {
		return true, fmt.Errorf("daemon: %w", err)
	}
	p, err := os.StartProcess(exe, os.Args, &os.ProcAttr{
		Env:   append(os.Environ(), daemonMark+"=1"),
		Files: []*os.File{null, null, null},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return true, fmt.Errorf("daemon: %w", err)
	}
	return true, p.Release()
}

// writePID writes the ID of this process to the named file, if any, and replaces its contents. Remove removes the file.
func writePID(path string) (remove func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	if err := atomicfile.Replace(path, 0o644, false, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, os.Getpid())
		return err
	}); err != nil {
		return nil, fmt.Errorf("pidfile: %w", err)
	}
	return func() { os.Remove(path) }, nil
}
