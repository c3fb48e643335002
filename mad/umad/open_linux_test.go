package umad

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ibsm/mad"
)

// TestOpenErrors: each reason for which a port does not open is a line that names the
// device and the errno and says what to do.
func TestOpenErrors(t *testing.T) {
	root := host(t, active, roce)
	pair, err := Find(root, 0)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "dev/infiniband/umad2")
	const prefix = "umad: mlx5_1 port 1: "
	check := func(name string, want string, is error) {
		t.Helper()
		if _, err := Open(pair, Config{}); err == nil || err.Error() != want || !errors.Is(err, is) {
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
	}
	check("no device file",
		prefix+"open "+path+
			": no such file or directory (ENOENT): load the module ib_umad; udev makes the file when the device is there", fs.ErrNotExist)
	write(t, root, "dev/infiniband/umad2", "")
	check("no device", prefix+"register class SubnDirected at "+path+
		": inappropriate ioctl for device (ENOTTY): see the kernel's log", unix.ENOTTY)
	os.Remove(path)
	if err := unix.Mkfifo(path, 0); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		check("no permission",
			prefix+"open "+path+
				": permission denied (EACCES): run as root, or as a member of the device file's group (often rdma)"+
				denied, fs.ErrPermission)
	}

	ports, err := Ports(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Pair{ports[0], ports[0]}, Config{}); !errors.Is(err, ErrNotInfiniBand) {
		t.Errorf("Ethernet: %v", err)
	}
}

// TestOpenBest: a port that refuses QP0 only when it is opened is passed
// over where another one can be used, and is the reason where none can.
func TestOpenBest(t *testing.T) {
	ports, err := Ports(host(t, active, initial, down))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		without string // ports without QP0
		guid    mad.GUID
		want    string
		err     error
	}{
		{"", 0, "mlx5_0 port 2", nil},
		{"mlx5_0 port 2", 0, "mlx5_1 port 1", nil},
		{"mlx5_0 port 2, mlx5_1 port 1", 0, "mlx5_0 port 1", nil},
		{"mlx5_0 port 2, mlx5_1 port 1, mlx5_0 port 1", 0, "", unix.EPROTONOSUPPORT},
		{"mlx5_1 port 1", ports[2].GUID, "", unix.EPROTONOSUPPORT},
	} {
		at, dev, err := openBest(slices.Clone(ports), c.guid, func(at Pair) (*Device, error) {
			if strings.Contains(c.without, at.SMI.String()) {
				return nil, fault(at.SMI, "register", unix.EPROTONOSUPPORT)
			}
			return &Device{}, nil
		})
		if !errors.Is(err, c.err) || (dev != nil) != (c.err == nil) || err == nil && at.String() != c.want {
			t.Errorf("without %q: %v, %v; want %s, %v", c.without, &at, err, c.want, c.err)
		}
	}
}

// TestFault: what the kernel's refusals mean.
func TestFault(t *testing.T) {
	at := HostPort{Device: "mlx5_1", Number: 2}
	for errno, want := range map[unix.Errno]string{
		unix.EINVAL:          "umad: mlx5_1 port 2: register: invalid argument (EINVAL): another subnet manager runs at this port; stop it first",
		unix.EPERM:           "umad: mlx5_1 port 2: register: operation not permitted (EPERM): run as root, or as a member of the device file's group (often rdma)" + denied,
		unix.ENXIO:           "umad: mlx5_1 port 2: register: no such device or address (ENXIO): the device is gone; see the kernel's log",
		unix.EPROTONOSUPPORT: "umad: mlx5_1 port 2: register: protocol not supported (EPROTONOSUPPORT): this port does not take part in subnet management; choose another with -g",
		unix.ENOMEM:          "umad: mlx5_1 port 2: register: cannot allocate memory (ENOMEM): see the kernel's log",
	} {
		if err := fault(at, "register", errno); err.Error() != want || !errors.Is(err, errno) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// denied is the rest of the advice where the kernel refuses a device file.
const denied = ". If that is so, SELinux or a device cgroup refuses it: see ausearch -m avc, DeviceAllow of the unit, and the devices given to the container"

// TestRemoved: a device that the host has removed ends the readers of both queue pairs, also where the kernel does not,
// and where another one has its name by now. One that is still there ends nothing, also if its state cannot be read.
func TestRemoved(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(root, node, state string) error
		removed bool
		state   uint8
	}{
		{"nothing", func(string, string, string) error { return nil }, false, 4},
		{"state cannot be read", func(_, _, state string) error { return os.Remove(state) }, false, 0},
		{"removed", func(_, node, _ string) error { return os.RemoveAll(node) }, true, 0},
		{"there again", func(root, node, _ string) error {
			return errors.Join(os.Rename(node, filepath.Join(root, "old")), os.Mkdir(node, 0o777))
		}, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := host(t, active)
			pair, err := Find(root, 0)
			if err != nil {
				t.Fatal(err)
			}
			smi, _ := socketPort(t, 0)
			gsi, _ := socketPort(t, 1)
			d := newDevice(pair, smi, gsi)
			ended := make(chan error, 2)
			for _, p := range []*Port{smi, gsi} {
				go func() {
					_, err := p.Recv(make([]mad.Datagram, 1))
					ended <- err
				}()
			}
			err = c.change(root, filepath.Join(root, "sys/class/infiniband_mad/umad2"),
				filepath.Join(root, "sys/class/infiniband/mlx5_1/ports/1/state"))
			if got := d.State(); err != nil || got != c.state {
				t.Errorf("state %d, want %d; %v", got, c.state, err)
			}
			d.Close()
			for range 2 {
				if err := <-ended; errors.Is(err, unix.ENODEV) != c.removed ||
					errors.Is(err, os.ErrClosed) == c.removed {
					t.Errorf("Recv: %v", err)
				}
			}
		})
	}
}

// TestIsSM: the bit is held by an open file, which is closed only once.
func TestIsSM(t *testing.T) {
	root := host(t, active)
	pair, err := Find(root, 0)
	if err != nil {
		t.Fatal(err)
	}
	smi, _ := socketPort(t, 0)
	gsi, _ := socketPort(t, 1)
	d := &Device{SMI: smi, GSI: gsi, at: pair}
	if err := d.SetIsSM(true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no device file: %v", err)
	}
	write(t, root, "dev/infiniband/issm2", "")
	for _, is := range []bool{true, true, false, false, true} {
		if err := d.SetIsSM(is); err != nil || is != (d.issm != nil) {
			t.Errorf("SetIsSM(%v): %v, open %v", is, err, d.issm != nil)
		}
	}
	d.Close()
	if err := d.SetIsSM(true); d.issm != nil || !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v, open %v", err, d.issm != nil)
	}
	d.Close()
}
