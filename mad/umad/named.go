package umad

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ibsm/mad"
)

// Named is the GUID of the port that a name stands for: a device with the number of a port, as mlx5_0:1 or mlx5_0/1; a
// device, where several ports have a link the first of them; or a network interface, as ib0. ports are those of Ports.
// What does not exist (yet) is fs.ErrNotExist.
func Named(root string, ports []HostPort, name string) (mad.GUID, error) {
	device, number := name, 0
	if at := strings.LastIndexAny(name, ":/"); at >= 0 {
		n, err := strconv.Atoi(name[at+1:])
		if err != nil || n < 0 {
			return 0, fmt.Errorf("umad: %q is not a device with a port number, such as mlx5_0:1", name)
		}
		device, number = name[:at], n
	}
	if device != filepath.Base(device) || device == ".." || device == "." {
		return 0, fmt.Errorf("umad: %q is not the name of a device or an interface", name)
	}
	var best *HostPort
	for i := range ports {
		p := &ports[i]
		if p.Device != device || device != name && p.Number != number {
			continue
		}
		if best == nil || !best.IsInfiniBand() && p.IsInfiniBand() || best.State <= isDown && p.State > isDown &&
			p.IsInfiniBand() {
			best = p
		}
	}
	if best == nil && device == name {
		best = ofInterface(root, ports, name)
	}
	if best == nil {
		return 0, missing(fmt.Sprintf("no device or interface %s: there are %s", name,
			strings.Join(names(root, ports), ", ")))
	}
	return best.GUID, nil
}

// ofInterface is the port of a network interface, nil if there is none.
func ofInterface(root string, ports []HostPort, name string) *HostPort {
	dir := filepath.Join(root, "sys/class/net", name)
	devices, err := os.ReadDir(filepath.Join(dir, "device/infiniband"))
	if err != nil {
		return nil
	}
	// older kernels have only dev_id
	number := 1 + max(int(readUint(dir, "dev_port", 16)), int(readUint(dir, "dev_id", 16)))
	for _, d := range devices {
		for i := range ports {
			if p := &ports[i]; p.Device == d.Name() && p.Number == number {
				return p
			}
		}
	}
	return nil
}

// names are the names by which ports may be chosen.
func names(root string, ports []HostPort) (all []string) {
	interfaces, err := os.ReadDir(filepath.Join(root, "sys/class/net"))
	if err != nil {
		interfaces = nil
	}
	for i := range ports {
		p := &ports[i]
		text := fmt.Sprintf("%s:%d", p.Device, p.Number)
		for _, n := range interfaces {
			if of := ofInterface(root, ports, n.Name()); of != nil && of.GUID == p.GUID && of.Device == p.Device {
				text += " (" + n.Name() + ")"
			}
		}
		all = append(all, text)
	}
	if all == nil {
		return []string{"no ports with a user MAD device"}
	}
	return all
}
