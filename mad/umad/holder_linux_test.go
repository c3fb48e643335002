package umad

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHolders: a process that has the IsSM device open is found and named, and nobody
// else is.
func TestHolders(t *testing.T) {
	root := host(t, hostPort{device: "mlx5_0", port: 1, guid: "0002:c903:0002:fce9", state: "4: ACTIVE",
		layer: "InfiniBand", cap: "0x2"})
	ports, err := Ports(root)
	if err != nil {
		t.Fatal(err)
	}
	at := ports[0]
	issm := filepath.Join(root, "dev/infiniband/issm0")
	write(t, root, "dev/infiniband/issm0", "")
	if err := inUse(at, "register", unix.EINVAL); errors.Is(err, ErrInUse) {
		t.Errorf("nobody has it open: %v", err)
	}
	f, err := os.Open(issm) // this process does not count
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command("cat")
	cmd.ExtraFiles = []*os.File{f}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	who := fmt.Sprintf("process %d (cat)", cmd.Process.Pid)
	if err := inUse(at, "register", unix.EINVAL); !errors.Is(err, ErrInUse) || !errors.Is(err, unix.EINVAL) ||
		!strings.Contains(err.Error(), who) {
		t.Errorf("got %v, want one with %s", err, who)
	}
	if got := holders("/proc", issm+"x"); slices.Contains(got, who) {
		t.Errorf("another file is held by %q", got)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
