package umad

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"ibsm/mad"
)

// HostPort is a port of this host as sysfs describes it.
type HostPort struct {
	Device    string // such as mlx5_0
	Number    int    // from 1; 0 for a switch's own port
	GUID      mad.GUID
	LID       mad.LID
	State     uint8 // PortState code: 1 down, 4 active
	LinkLayer string
	// NoSMI says that the port has no QP0 for a subnet manager: its CapabilityMask has
	// IsSMdisabled, as that of a virtual function or of a device of several planes whose
	// QP0 is on another device, or its driver declares none.
	NoSMI bool
	// Bridge says whether the port belongs to the subnet of NVLink switches.
	Bridge Bridge

	vpdError string // why that is not known
	disabled bool   // IsSMdisabled
	root     string
	umad     string // device file's name; empty when there is none
	issm     string
}

// isDown is where a port's state stops being of use.
const isDown = 1

// capSMDisabled is bit 10 of CapabilityMask (IBA 14.2.5.6).
const capSMDisabled = 1 << 10

func (p HostPort) String() string { return fmt.Sprintf("%s port %d", p.Device, p.Number) }

// IsInfiniBand reports whether the port's link is InfiniBand. Kernels before 2.6.37
// know no other and have no link_layer.
func (p *HostPort) IsInfiniBand() bool { return p.LinkLayer == "InfiniBand" || p.LinkLayer == "" }

// bar says why no manager can run at the port, "" if one can.
func (p *HostPort) bar() string {
	switch {
	case !p.IsInfiniBand():
		return "its link layer is " + p.LinkLayer
	case p.disabled:
		return "its CapabilityMask has IsSMdisabled: no subnet manager can run there (a virtual function, or QP0 is on another device)"
	case p.NoSMI:
		return "its driver declares no QP0: no subnet manager can run there"
	}
	return ""
}

// Unfit says why a manager does not choose the port without -g, "" if it may.
func (p *HostPort) Unfit() string {
	why := p.bar()
	switch {
	case why != "" || p.Bridge == NoBridge:
		return why
	case p.Bridge == IsBridge:
		return "it is a bridge to NVLink switches (SMDL=SW_MNG), whose subnet NVLSM manages: only -g chooses it"
	}
	return "it may be a bridge to NVLink switches, whose subnet NVLSM manages: its vital product data (vpd) cannot be read: " +
		p.vpdError + "; only -g chooses it"
}

// Ports are the ports of this host that have a user MAD device, those of Ethernet
// included, by name of the device and number. root is the root folder, "/" but in
// tests.
func Ports(root string) ([]HostPort, error) {
	if err := checkABI(root); err != nil {
		return nil, err
	}
	devices, err := os.ReadDir(filepath.Join(root, "sys/class/infiniband"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("umad: %w", err)
	}
	names, err := deviceFiles(root)
	if err != nil {
		return nil, err
	}
	var ports []HostPort
	for _, d := range devices {
		numbers, err := os.ReadDir(filepath.Join(root, "sys/class/infiniband", d.Name(), "ports"))
		if err != nil {
			continue // it went away while we looked, or is none of ours
		}
		for _, n := range numbers {
			number, err := strconv.Atoi(n.Name())
			if err != nil {
				continue
			}
			p := readPort(root, d.Name(), number)
			p.umad, p.issm = names[file{"umad", p.Device, number}], names[file{"issm", p.Device, number}]
			p.NoSMI = p.disabled || p.issm == ""
			if p.umad != "" && p.GUID != 0 {
				p.Bridge, p.vpdError = bridgeOf(filepath.Join(root, "sys/class/infiniband", d.Name(), "device"), p.GUID)
				ports = append(ports, p)
			}
		}
	}
	sort.Slice(ports, func(i, j int) bool {
		a, b := &ports[i], &ports[j]
		if a.Device != b.Device {
			return a.Device < b.Device
		}
		return a.Number < b.Number
	})
	return ports, nil
}

// readPort reads what is known of a port. What cannot be read stays zero: files
// come and go with their device.
func readPort(root, device string, number int) HostPort {
	p := HostPort{Device: device, Number: number, root: root}
	dir := p.dir()
	p.GUID = portGUID(dir)
	p.LID = mad.LID(readUint(dir, "lid", 16))
	p.State = p.CurrentState()
	p.LinkLayer = read(dir, "link_layer")
	p.disabled = readUint(dir, "cap_mask", 32)&capSMDisabled != 0
	return p
}

// dir is the port's folder in sysfs.
func (p *HostPort) dir() string {
	return filepath.Join(p.root, "sys/class/infiniband", p.Device, "ports", strconv.Itoa(p.Number))
}

// CurrentState reads the port's state anew; 0 when the port is gone.
func (p *HostPort) CurrentState() uint8 {
	state, _, _ := strings.Cut(read(p.dir(), "state"), ":")
	return uint8(parseUint(state, 8))
}

// node is the folder of the user MAD device in sysfs, which is another one when the device was removed and is there
// again; nil without one.
func (p *HostPort) node() os.FileInfo {
	info, err := os.Stat(filepath.Join(p.root, "sys/class/infiniband_mad", p.umad))
	if err != nil || p.umad == "" {
		return nil
	}
	return info
}

// portGUID is the lower half of the port's first GID, which has a file of its own
// on some kernels.
func portGUID(dir string) mad.GUID {
	text := read(dir, "port_guid")
	if text == "" {
		text = read(dir, "gids/0")
	}
	digits := strings.ReplaceAll(text, ":", "")
	return mad.GUID(parseUint("0x"+digits[max(0, len(digits)-16):], 64))
}

// file is what a device file is for.
type file struct {
	kind   string // umad or issm
	device string
	port   int
}

// deviceFiles are the names of the device files there are.
func deviceFiles(root string) (map[file]string, error) {
	dir := filepath.Join(root, "sys/class/infiniband_mad")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("umad: %w", err)
	}
	names := map[file]string{}
	for _, e := range entries {
		kind := strings.TrimRight(e.Name(), "0123456789")
		port, err := strconv.Atoi(read(dir, e.Name()+"/port"))
		if err == nil && kind != e.Name() {
			names[file{kind, read(dir, e.Name()+"/ibdev"), port}] = e.Name()
		}
	}
	return names, nil
}

// abiVersion is the version of the interface that this package speaks.
const abiVersion = "5"

func checkABI(root string) error {
	version := read(filepath.Join(root, "sys/class/infiniband_mad"), "abi_version")
	switch version {
	case abiVersion:
		return nil
	case "":
		return missing("no user MAD devices: load the module ib_umad (modprobe ib_umad) and the adapter's driver")
	}
	return fmt.Errorf("umad: %w: %s, expected %s", ErrABI, version, abiVersion)
}

// missing is what is not there, and what to do about it; it is fs.ErrNotExist.
type missing string

func (m missing) Error() string { return "umad: " + string(m) }

func (missing) Is(target error) bool { return target == fs.ErrNotExist }

// maxValue is more than any value that is read here has characters.
const maxValue = 256

// read is a value of sysfs without its newline, "" if there is none.
func read(dir, name string) string {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	defer f.Close()
	var b [maxValue]byte
	n, _ := f.Read(b[:])
	return strings.TrimSpace(string(b[:n]))
}

func readUint(dir, name string, bits int) uint64 { return parseUint(read(dir, name), bits) }

// parseUint is 0 for what is no number.
func parseUint(text string, bits int) uint64 {
	v, err := strconv.ParseUint(strings.TrimSpace(text), 0, bits)
	if err != nil {
		return 0
	}
	return v
}
