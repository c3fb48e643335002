package umad

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad"
)

// hostPort is a port of a fake host. Its files are as a kernel shows them.
type hostPort struct {
	device string
	port   int
	guid   string // the lower half of GID 0
	state  string
	layer  string // "-" for no file
	cap    string
	umad   int  // -1 for none
	noISSM bool // as on a device without QP0
}

// host makes a folder that looks like the root of a host with these ports.
func host(t *testing.T, ports ...hostPort) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, "sys/class/infiniband_mad/abi_version", "5\n")
	for _, p := range ports {
		dir := fmt.Sprintf("sys/class/infiniband/%s/ports/%d/", p.device, p.port)
		write(t, root, dir+"gids/0", "fe80:0000:0000:0000:"+p.guid+"\n")
		write(t, root, dir+"state", p.state+"\n")
		write(t, root, dir+"lid", "0x1f\n")
		write(t, root, dir+"cap_mask", p.cap+"\n")
		if p.layer != "-" {
			write(t, root, dir+"link_layer", p.layer+"\n")
		}
		for _, kind := range []string{"umad", "issm"} {
			if p.umad < 0 || kind == "issm" && p.noISSM {
				continue
			}
			dir := fmt.Sprintf("sys/class/infiniband_mad/%s%d/", kind, p.umad)
			write(t, root, dir+"ibdev", p.device+"\n")
			write(t, root, dir+"port", fmt.Sprintf("%d\n", p.port))
		}
	}
	return root
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Ports as they are found on hosts.
var (
	down    = hostPort{"mlx5_0", 1, "0002:c903:0010:0001", "1: DOWN", "InfiniBand", "0x0251486a", 0, false}
	initial = hostPort{"mlx5_0", 2, "0002:c903:0010:0002", "2: INIT", "InfiniBand", "0x02514868", 1, false}
	active  = hostPort{"mlx5_1", 1, "0002:c903:0010:0003", "4: ACTIVE", "InfiniBand", "0x02514868", 2, false}
	roce    = hostPort{"mlx4_0", 1, "0202:c9ff:fe10:0004", "4: ACTIVE", "Ethernet", "0x00010000", 3, false}
	noUMAD  = hostPort{"hfi1_0", 1, "0011:7501:0010:0005", "4: ACTIVE", "InfiniBand", "0x02514868", -1, false}
	ancient = hostPort{"mthca0", 1, "0002:c902:0000:0006", "4: ACTIVE", "-", "0x02510a6a", 4, false}
	blank   = hostPort{"mlx5_2", 1, "0000:0000:0000:0000", "4: ACTIVE", "InfiniBand", "0x02514868", 5, false}
	// A device of two planes: QP1 at mlx5_0, QP0 of each plane at smi1.
	planeGSI = hostPort{"mlx5_0", 1, "0002:c903:0010:0007", "4: ACTIVE", "InfiniBand", "0x02514c68", 0, true}
	plane1   = hostPort{"smi1", 1, "0002:c903:0010:0007", "1: DOWN", "InfiniBand", "0x02514868", 1, false}
	// A virtual function of a host with IsSMdisabled, and a port of Linux 6.11 or later whose
	// driver declares no QP0.
	vf    = hostPort{"mlx5_4", 1, "0002:c903:0010:0008", "4: ACTIVE", "InfiniBand", "0xa651ec48", 6, false}
	noSMI = hostPort{"efa_0", 1, "0002:c903:0010:0009", "4: ACTIVE", "InfiniBand", "0x00010000", 7, true}

	plane2 = hostPort{"smi1", 2, "0002:c903:0010:0007", "4: ACTIVE", "InfiniBand", "0x02514868", 2, false}
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name  string
		ports []hostPort
		guid  mad.GUID
		want  string
		err   error // in place of want
		says  string
	}{
		{"only port, though down", []hostPort{down}, 0, "mlx5_0 port 1", nil, ""},
		{"first with a link", []hostPort{active, initial, down}, 0, "mlx5_0 port 2", nil, ""},
		{"Ethernet passed over", []hostPort{roce, active}, 0, "mlx5_1 port 1", nil, ""},
		{"by GUID, though down", []hostPort{down, initial, active}, 0x0002c90300100001, "mlx5_0 port 1", nil, ""},
		{"by GUID", []hostPort{down, initial, active}, 0x0002c90300100003, "mlx5_1 port 1", nil, ""},
		{"no link_layer", []hostPort{ancient}, 0, "mthca0 port 1", nil, ""},
		{"no user MAD device", []hostPort{noUMAD, active}, 0, "mlx5_1 port 1", nil, ""},
		{"no GUID yet", []hostPort{blank, active}, 0, "mlx5_1 port 1", nil, ""},
		{"planes", []hostPort{planeGSI, plane1, plane2}, 0, "smi1 port 2 and mlx5_0 port 1", nil, ""},
		{"planes by GUID", []hostPort{planeGSI, plane1, plane2}, 0x0002c90300100007, "smi1 port 2 and mlx5_0 port 1",
			nil, ""},
		{"Ethernet by GUID", []hostPort{roce, active}, 0x0202c9fffe100004, "", ErrNotInfiniBand,
			"umad: mlx4_0 port 1 (GUID 0x0202c9fffe100004): not an InfiniBand port: its link layer is Ethernet; choose another port with -g"},
		{"Ethernet only", []hostPort{roce}, 0, "", fs.ErrNotExist,
			"umad: no InfiniBand port: none of 1 ports with a user MAD device"},
		{"other GUID", []hostPort{active}, 0x1, "", fs.ErrNotExist,
			"umad: no port with GUID 0x0000000000000001: ibstat -p lists the ports of this host"},
		{"virtual function passed over", []hostPort{vf, active}, 0, "mlx5_1 port 1", nil, ""},
		{"virtual function by GUID", []hostPort{vf, active}, 0x0002c90300100008, "", ErrNoSMI,
			"umad: mlx5_4 port 1 (GUID 0x0002c90300100008): no subnet management: its CapabilityMask has IsSMdisabled: no subnet manager can run there (a virtual function, or QP0 is on another device); choose another port with -g"},
		{"virtual function only", []hostPort{vf, roce}, 0, "", fs.ErrNotExist,
			"umad: no InfiniBand port for a subnet manager: mlx5_4 port 1: its CapabilityMask has IsSMdisabled: no subnet manager can run there (a virtual function, or QP0 is on another device)"},
		{"no QP0 passed over", []hostPort{noSMI, down}, 0, "mlx5_0 port 1", nil, ""},
		{"no QP0 by GUID", []hostPort{noSMI, down}, 0x0002c90300100009, "", ErrNoSMI,
			"umad: efa_0 port 1 (GUID 0x0002c90300100009): no subnet management: its driver declares no QP0: no subnet manager can run there; choose another port with -g"},
		{"no port", nil, 0, "", fs.ErrNotExist, "umad: no InfiniBand port: none of 0 ports with a user MAD device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pair, err := Find(host(t, c.ports...), c.guid)
			switch {
			case c.err == nil && err != nil:
				t.Fatal(err)
			case c.err != nil && (!errors.Is(err, c.err) || err.Error() != c.says):
				t.Fatalf("error %q, want %q", err, c.says)
			case c.err == nil && pair.String() != c.want:
				t.Fatalf("%v, want %s", &pair, c.want)
			}
		})
	}
}

// TestBridge: on a DGX B200 mlx5_0 to mlx5_3 lead to NVLink switches, and have links before
// any other port has.
func TestBridge(t *testing.T) {
	bridge := hostPort{"mlx5_0", 1, "0002:c903:0010:00b1", "4: ACTIVE", "InfiniBand", "0xa651e848", 0, false}
	root := host(t, bridge, hostPort{"mlx5_4", 1, "0002:c903:0010:0001", "2: INIT", "InfiniBand", "0xa651e848", 4,
		false})
	for device, entry := range map[string]string{"mlx5_0": "SW_MNG", "mlx5_4": "MCX755106AS-HEAT"} {
		dir := "sys/class/infiniband/" + device + "/device/"
		write(t, root, dir+"vendor", "0x15b3\n")
		write(t, root, dir+"vpd", "\x82\x1a\x00NVIDIA ConnectX-7\x90\x30\x00PN\x05MCX75V3\x20SMDL="+entry+"\x00\x78")
	}
	if pair, err := Find(root, 0); err != nil || pair.String() != "mlx5_4 port 1" {
		t.Errorf("chosen %v, %v", &pair, err)
	}
	if pair, err := Find(root, 0x0002c903001000b1); err != nil || pair.String() != "mlx5_0 port 1" {
		t.Errorf("by GUID: %v, %v", &pair, err)
	}
	ports, err := Ports(root)
	if err != nil || len(ports) != 2 || ports[0].Bridge != IsBridge || !strings.Contains(ports[0].Unfit(), "NVLSM") ||
		ports[1].Bridge != NoBridge || ports[1].Unfit() != "" {
		t.Errorf("%+v, %v", ports, err)
	}
	const none = "umad: no InfiniBand port for a subnet manager: mlx5_0 port 1: it is a bridge to NVLink switches (SMDL=SW_MNG), whose subnet NVLSM manages: only -g chooses it"
	if _, err := Choose(ports[:1], 0); err == nil || err.Error() != none {
		t.Errorf("bridges alone: %v", err)
	}
}

// TestUnreadableVPD: an adapter whose vital product data cannot be read is passed over if it may be a bridge to
// NVLink switches, which are ConnectX-7. One without such data, or of another kind, is chosen.
func TestUnreadableVPD(t *testing.T) {
	const connectX7, connectX6, connectX = "0x1021\n", "0x101b\n", "0x673c\n"
	const may = "it may be a bridge to NVLink switches, whose subnet NVLSM manages: its vital product data (vpd) cannot be read: "
	for _, c := range []struct {
		name, vendor, device, vpd string
		unfit                     string
	}{
		{"read fails", "0x15b3\n", connectX7, "fails", may + "is a directory; only -g chooses it"},
		{"open fails", "0x15b3\n", connectX7, "loops", may + "too many levels of symbolic links; only -g chooses it"},
		{"no bridge", "0x15b3\n", connectX7, "there", ""},
		{"without vpd", "0x15b3\n", connectX7, "", ""},
		{"read fails, another kind", "0x15b3\n", connectX6, "fails", ""},
		{"open fails, another kind", "0x15b3\n", connectX6, "loops", ""},
		{"old, without vpd", "0x15b3\n", connectX, "", ""},
		{"another vendor", "0x1fc1\n", connectX7, "fails", ""},
		{"no PCI function", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := host(t, active, hostPort{"mlx5_4", 1, "0002:c903:0010:0011", "1: DOWN", "InfiniBand", "0xa651e848",
				4, false})
			const dir = "sys/class/infiniband/mlx5_1/device/"
			if c.vendor != "" {
				write(t, root, dir+"vendor", c.vendor)
				write(t, root, dir+"device", c.device)
			}
			vpd := filepath.Join(root, dir, "vpd")
			switch c.vpd {
			case "there":
				write(t, root, dir+"vpd", "\x82\x1a\x00NVIDIA ConnectX-7\x78")
			case "fails":
				write(t, root, dir+"vpd/stray", "") // reading a folder fails for root too
			case "loops":
				if err := os.Symlink(vpd, vpd); err != nil {
					t.Fatal(err)
				}
			}
			chosen := "mlx5_1 port 1"
			if c.unfit != "" {
				chosen = "mlx5_4 port 1"
			}
			pair, err := Find(root, 0)
			if err != nil || pair.String() != chosen {
				t.Errorf("chosen %v, %v, want %s", &pair, err, chosen)
			}
			ports, err := Ports(root)
			if err != nil || len(ports) != 2 || ports[0].Unfit() != c.unfit {
				t.Fatalf("%v, %v: unfit: %q, want %q", ports, err, ports[0].Unfit(), c.unfit)
			}
			if pair, err := Find(root, ports[0].GUID); err != nil || pair.String() != "mlx5_1 port 1" {
				t.Errorf("by GUID: %v, %v", &pair, err)
			}
			if _, err := Choose(ports[:1], 0); (err != nil) != (c.unfit != "") || err != nil &&
				!strings.Contains(err.Error(), c.unfit) {
				t.Errorf("alone: %v", err)
			}
		})
	}
}

func TestPorts(t *testing.T) {
	root := host(t, active, roce, planeGSI)
	write(t, root, "sys/class/infiniband/mlx5_1/ports/1/port_guid", "0x0002c90300100033\n")
	write(t, root, "sys/class/infiniband/mlx5_1/ports/stray/state", "4: ACTIVE\n")
	write(t, root, "sys/class/infiniband/stray", "no folder\n")
	write(t, root, "sys/class/infiniband_mad/umad/ibdev", "no number\n")
	ports, err := Ports(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []HostPort{
		{Device: "mlx4_0", Number: 1, GUID: 0x0202c9fffe100004, LID: 0x1f, State: 4, LinkLayer: "Ethernet", root: root,
			umad: "umad3", issm: "issm3"},
		{Device: "mlx5_0", Number: 1, GUID: 0x0002c90300100007, LID: 0x1f, State: 4, LinkLayer: "InfiniBand",
			NoSMI: true, disabled: true, root: root, umad: "umad0"},
		{Device: "mlx5_1", Number: 1, GUID: 0x0002c90300100033, LID: 0x1f, State: 4, LinkLayer: "InfiniBand",
			root: root, umad: "umad2", issm: "issm2"},
	}
	if len(ports) != len(want) {
		t.Fatalf("%d ports, want %d: %v", len(ports), len(want), ports)
	}
	for i := range want {
		if ports[i] != want[i] {
			t.Errorf("port %d: %+v\nwant %+v", i, ports[i], want[i])
		}
	}
}

// TestOddHosts: what sysfs shows is not believed.
func TestOddHosts(t *testing.T) {
	if _, err := Ports(t.TempDir()); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "modprobe ib_umad") {
		t.Errorf("no ib_umad: %v", err)
	}
	root := host(t, active)
	write(t, root, "sys/class/infiniband_mad/abi_version", "6\n")
	if _, err := Ports(root); !errors.Is(err, ErrABI) {
		t.Errorf("version 6: %v", err)
	}
	for _, text := range []string{"", "\n", ":::", "fe80", strings.Repeat("f", 5000), "\x00\xff"} {
		root := host(t, active)
		for _, name := range []string{"gids/0", "state", "lid", "cap_mask", "link_layer"} {
			write(t, root, "sys/class/infiniband/mlx5_1/ports/1/"+name, text)
		}
		for _, name := range []string{"ibdev", "port"} {
			write(t, root, "sys/class/infiniband_mad/umad9/"+name, text)
		}
		if _, err := Find(root, 0x0002c90300100003); err == nil {
			t.Errorf("found a port whose files hold %.10q", text)
		}
	}
}

// Find reads sysfs below the folder root, "/" but in tests, and chooses a port there.
func Find(root string, guid mad.GUID) (Pair, error) {
	ports, err := Ports(root)
	if err != nil {
		return Pair{}, err
	}
	return Choose(ports, guid)
}
