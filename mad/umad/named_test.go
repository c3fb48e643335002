package umad

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// TestNamed: a port is found by its device with a number, by its device alone, and by its interface, whose number is in
// dev_port, or on older kernels in dev_id. Child interfaces of IPoIB have the device of their parent.
func TestNamed(t *testing.T) {
	root := host(t, down, initial, active, roce, noUMAD)
	for name, of := range map[string]struct{ device, file, number string }{
		"ib0": {"mlx5_0", "dev_port", "0"}, "ib1": {"mlx5_0", "dev_port", "1"}, "ib1.8001": {"mlx5_0", "dev_port", "1"},
		"ib2": {"mlx5_1", "dev_id", "0x0"}, "old1": {"mlx5_0", "dev_id", "0x1"}, "eth0": {"mlx4_0", "dev_port", "0"},
	} {
		write(t, root, "sys/class/net/"+name+"/device/infiniband/"+of.device+"/node_type", "1: CA\n")
		write(t, root, "sys/class/net/"+name+"/"+of.file, of.number+"\n")
	}
	write(t, root, "sys/class/net/lo/mtu", "65536\n")
	ports, err := Ports(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		// of its two ports the one with a link
		"mlx5_0:1": down.guid, "mlx5_0/2": initial.guid, "mlx5_1": active.guid, "mlx5_0": initial.guid,
		"ib0": down.guid, "ib1": initial.guid, "ib1.8001": initial.guid, "ib2": active.guid, "old1": initial.guid,
		"mlx4_0:1": roce.guid, "eth0": roce.guid, // for which Choose says what is wrong
	} {
		guid, err := Named(root, ports, name)
		if got := strings.ReplaceAll(guid.String(), "0x", ""); err != nil || got != strings.ReplaceAll(want, ":", "") {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	guid, _ := Named(root, ports, "eth0")
	if _, err := Choose(ports, guid); !errors.Is(err, ErrNotInfiniBand) {
		t.Errorf("a port of Ethernet: %v", err)
	}
	for name, want := range map[string]string{
		"mlx5_9":   "no device or interface mlx5_9: there are mlx4_0:1 (eth0), mlx5_0:1 (ib0), mlx5_0:2 (ib1)",
		"mlx5_0:3": "there are", "lo": "there are", "hfi1_0": "there are",
	} {
		if _, err := Named(root, ports, name); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"..", "../ib0", "a/b/1", "ib0:x", ""} {
		if guid, err := Named(root, ports, name); err == nil {
			t.Errorf("%q is %v", name, guid)
		}
	}
}
