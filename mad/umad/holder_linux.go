package umad

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holders are the other processes that have a file open, as "process 123 (opensm)", as
// far as this one may know. proc is the folder of processes, /proc but in tests.
func holders(proc, path string) (who []string) {
	processes, _ := os.ReadDir(proc)
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join(proc, p.Name())
		files, _ := os.ReadDir(filepath.Join(dir, "fd"))
		for _, f := range files {
			if target, _ := os.Readlink(filepath.Join(dir, "fd", f.Name())); target == path {
				who = append(who, fmt.Sprintf("process %d (%s)", pid, read(dir, "comm")))
				break
			}
		}
	}
	return who
}

// inUse is a fault at a port, with the process that is the reason: the one that holds the IsSM
// device is a subnet manager.
func inUse(at HostPort, doing string, err error) error {
	who := holders("/proc", at.devicePath(at.issm))
	if at.issm == "" || who == nil {
		return fault(at, doing, err)
	}
	return fmt.Errorf("%w: %s; stop that one first, or choose another port with -g (%v: %s: %w)", ErrInUse,
		strings.Join(who, ", "), at, doing, err)
}
