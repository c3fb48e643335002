package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/opensm/instances"
)

// hostWith is a root folder with these files, and a launcher there.
func hostWith(t *testing.T, args string, files map[string]string) (la *launcher, said *bytes.Buffer) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said = &bytes.Buffer{}
	args += " --dump_files_dir " + filepath.Join(root, "dump")
	la = newLauncher("", root, strings.Fields(args), said, said)
	t.Setenv("OSM_CACHE_DIR", "/cache")
	t.Setenv("IBSM_SOCKET", "")
	return la, said
}

// option is the last value of an option, "" for none.
func option(args []string, name string) (value string) {
	for _, a := range args {
		if v, found := strings.CutPrefix(a, "--"+name+"="); found {
			value = v
		}
	}
	return value
}

// TestChildren: each instance has its own log, dump files, cache, socket and metrics, and
// what it has chosen for itself it keeps.
func TestChildren(t *testing.T) {
	const metrics = "metrics_addr 127.0.0.1:9300\nleader_addr 127.0.0.1:9301\n"
	la, said := hostWith(t, "--launch -p 5 -F /etc/other.conf", map[string]string{
		"etc/rdma/opensm.conf.1": "guid 0x11\nlog_file /var/log/a.log\n" + metrics,
		"etc/rdma/opensm.conf.2": "guid 0x12\nlog_file /var/log/a.log\n" + metrics,
		"etc/rdma/opensm.conf.3": "guid 0x13\nctl_socket /run/c.sock\n" + metrics,
	})
	plan := instances.Read(os.DirFS(la.root))
	children := la.children(plan.Instances)
	if again := la.children(plan.Instances); fmt.Sprint(again) != fmt.Sprint(children) {
		t.Errorf("asked again: %v, before %v", again, children)
	}
	if said.String() != "" || len(children) != 3 {
		t.Fatalf("%d children; it said %s", len(children), said)
	}
	for i, want := range []struct{ log, dump, socket, metrics, leader string }{
		{"", "opensm.1", "/run/ibsm/1.sock", "", ""}, // not the folder itself: OpenSM's own opensm-sa.dump is there
		{"/var/log/a.2.log", "opensm.2", "/run/ibsm/2.sock", "127.0.0.1:9302", "127.0.0.1:9303"},
		{"/var/log/opensm.3.log", "opensm.3", "", "127.0.0.1:9304", "127.0.0.1:9305"},
	} {
		c := children[i]
		dump := option(c.args, "dump_files_dir")
		want.dump = filepath.Join(la.root, "dump", want.dump)
		got := struct{ log, dump, socket, metrics, leader string }{option(c.args, "log_file"), dump,
			option(c.args, "ctl_socket"), option(c.args, "metrics_addr"), option(c.args, "leader_addr")}
		if got != want || option(c.args, "priority") != "5" ||
			option(c.args, "config") != fmt.Sprintf("/etc/rdma/opensm.conf.%d", i+1) {
			t.Errorf("instance %s: %+v of %q, want %+v", c.name, got, c.args, want)
		}
		if !slices.Equal(c.env, []string{severalMark + "=0x0000000000000011,0x0000000000000012,0x0000000000000013"}) {
			t.Errorf("instance %s: environment %q", c.name, c.env)
		}
	}
}

// portFiles are what the kernel shows of a host with n InfiniBand ports, mlx5_0 and so on, with the GUIDs
// 0x0002c90300000001 and so on.
func portFiles(n int) map[string]string {
	files := map[string]string{"sys/class/infiniband_mad/abi_version": "5\n"}
	for i := range n {
		device := fmt.Sprintf("mlx5_%d", i)
		dir := "sys/class/infiniband/" + device + "/ports/1/"
		files[dir+"gids/0"] = fmt.Sprintf("fe80:0000:0000:0000:0002:c903:0000:%04x\n", i+1)
		files[dir+"link_layer"] = "InfiniBand\n"
		for _, kind := range []string{"umad", "issm"} {
			mad := fmt.Sprintf("sys/class/infiniband_mad/%s%d/", kind, i)
			files[mad+"ibdev"], files[mad+"port"] = device+"\n", "1\n"
		}
	}
	return files
}

// TestPaths: the only manager of a host has the dump files and caches where OpenSM has them, and
// the log where the distribution's OpenSM has it. A unit of its own for an instance (ibsm@NAME)
// finds the same as the service that starts all.
func TestPaths(t *testing.T) {
	const first, second = "0x0002c90300000001", "0x0002c90300000002"
	for _, c := range []struct {
		name    string
		ports   int
		files   map[string]string
		several bool
		logs    string // of the first
		alone   string // the name of an instance that only a unit of its own starts
	}{
		{"PORTS=ALL, one port", 1, map[string]string{"etc/default/opensm": "PORTS=ALL"}, false,
			"/var/log/opensm." + first + ".log", ""},
		{"PORTS=ALL, two ports", 2, map[string]string{"etc/default/opensm": "PORTS=ALL"}, true,
			"/var/log/opensm." + first + ".log", ""},
		{"PORTS of one, two ports", 2, map[string]string{"etc/default/opensm": "PORTS=" + first}, false,
			"/var/log/opensm." + first + ".log", ""},
		{"PORTS of two", 2, map[string]string{"etc/default/opensm": "PORTS='" + first + " " + second + "'"}, true,
			"/var/log/opensm." + first + ".log", ""},
		{"PORTS of another", 2, map[string]string{"etc/default/opensm": "PORTS=" + second}, true,
			"/var/log/opensm." + first + ".log", first},
		{"PORTS=NONE, one port", 1, map[string]string{"etc/default/opensm": "PORTS=NONE"}, false,
			"/var/log/opensm." + first + ".log", first},
		{"no file, one port", 1, nil, false, "/var/log/opensm." + first + ".log", first},
		{"no file, no port yet", 0, nil, false, "/var/log/opensm." + first + ".log", first},
		{"no file, two ports", 2, nil, true, "/var/log/opensm." + first + ".log", first},
		{"GUIDS of one", 2, map[string]string{"etc/sysconfig/opensm": "GUIDS=" + first}, false, "", ""},
		{"GUIDS of two", 2, map[string]string{"etc/sysconfig/opensm": "GUIDS='" + first + " " + second + "'"}, true,
			"/var/log/opensm." + first + ".log", ""},
		{"one numbered file", 2, map[string]string{"etc/rdma/opensm.conf.1": "guid " + first}, false, "", ""},
		{"a numbered file of the same port", 2, map[string]string{"etc/rdma/opensm.conf.1": "guid " + first}, false,
			"/var/log/opensm." + first + ".log", first},
		{"two numbered files", 2, map[string]string{"etc/rdma/opensm.conf.1": "guid " + first,
			"etc/rdma/opensm.conf.2": "guid " + second}, true, "/var/log/opensm.1.log", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := portFiles(c.ports)
			for name, text := range c.files {
				files[name] = text
			}
			la, said := hostWith(t, "--launch", files)
			dump := filepath.Join(la.root, "dump")
			check := func(way, name string, args, env []string) {
				t.Helper()
				want := dump
				if c.several {
					want = filepath.Join(dump, "opensm."+name)
					if _, err := os.Stat(want); err != nil {
						t.Errorf("%s: %v", way, err)
					}
				}
				if got := option(args, "dump_files_dir"); got != want {
					t.Errorf("%s: dump files in %s, want %s", way, got, want)
				}
				if got := option(args, "log_file"); got != c.logs {
					t.Errorf("%s: log %q, want %q", way, got, c.logs)
				}
				if got := slices.ContainsFunc(env, func(e string) bool {
					return strings.Contains(e, ",")
				}); got != c.several {
					t.Errorf("%s: one of several: %t, want %t", way, got, c.several)
				}
			}
			name := c.alone
			if name == "" {
				la.read()
				child := la.find(false)[0]
				name = child.name
				check("launched", name, child.args, child.env)
				os.RemoveAll(dump)
			}
			la.given.Launch, la.given.Instance, la.wanted, la.shares = false, name, nil,
				shares{owner: map[[2]string]string{}}
			t.Setenv(severalMark, "")
			for range 2 { // a restart decides the same
				status := la.launch(func(args []string) int {
					check("alone", name, args, []string{severalMark + "=" + os.Getenv(severalMark)})
					return 0
				})
				if status != 0 || said.String() != "" {
					t.Errorf("status %d, said %s", status, said)
				}
			}
			if entries, _ := os.ReadDir(dump); len(entries) > 1 {
				t.Errorf("folders of other instances: %v", entries)
			}
		})
	}
}

// TestLaunchWrong: a command line that is wrong starts nothing.
func TestLaunchWrong(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"--launch --all-ports", ExitUsage, "only one of --all-ports"},
		{"--launch --instance 1", ExitUsage, "only one of --all-ports"},
		{"--launch --nonsense", ExitUsage, "unrecognized option --nonsense"},
		{"--all-ports -l 9", ExitRefused, "LMC must be 7 or less"},
		{"--instance 3", ExitUsage, `no instance "3"; there are 1`},
	} {
		la, said := hostWith(t, c.args, map[string]string{"etc/opensm/opensm.conf.1": "guid 0x11\n"})
		status := la.launch(func([]string) int {
			t.Errorf("%s: a manager is run", c.args)
			return 0
		})
		if status != c.status || !strings.Contains(said.String(), c.says) {
			t.Errorf("%s: status %d, %s; want %d and %s", c.args, status, said, c.status, c.says)
		}
	}
}

// TestChildrenWrong: what is right is started, and what is not is named.
func TestChildrenWrong(t *testing.T) {
	la, said := hostWith(t, "--launch", map[string]string{
		"etc/opensm/opensm.conf.1": "guid 0x11\n",
		"etc/opensm/opensm.conf.2": "guid 0x11\n",
		"etc/opensm/opensm.conf.3": "guid 0x13\nlmc 9\n",
		"etc/opensm/opensm.conf.4": "",
		"etc/opensm/opensm.conf.5": "\xff\x00\x01 nonsense",
		"etc/opensm/opensm.conf.6": "guid 0x16\n",
	})
	var names []string
	for _, c := range la.children(instances.Read(os.DirFS(la.root)).Instances) {
		names = append(names, c.name)
	}
	if want := []string{"1", "4", "5", "6"}; !slices.Equal(names, want) {
		t.Errorf("started are %q, want %q", names, want)
	}
	for _, want := range []string{
		"instance 2 is not started: port 0x0000000000000011 is used by instance 1",
		"instance 3 is not started: /etc/opensm/opensm.conf.3:2:5: lmc",
		"instance 4 sets no port",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it did not say %q but\n%s", want, said)
		}
	}
}

// TestReadAgain: what the files say when they are read again. An error in them ends no manager
// that runs.
func TestReadAgain(t *testing.T) {
	const dir = "etc/opensm/opensm.conf."
	file := func(port, more string) string { return "guid " + port + "\nmetrics_addr 127.0.0.1:9300\n" + more }
	for _, c := range []struct {
		name   string
		change map[string]string // "" for removed
		want   string            // names, ports and metrics
		says   string
	}{
		{"nothing", nil, "1 0x11 , 2 0x12 127.0.0.1:9301", ""},
		{"one more", map[string]string{dir + "3": file("0x13", "")},
			"1 0x11 , 2 0x12 127.0.0.1:9301, 3 0x13 127.0.0.1:9302", ""},
		{"one less", map[string]string{dir + "1": ""}, "2 0x12 127.0.0.1:9301", ""},
		{"another in its place", map[string]string{dir + "1": "", dir + "3": file("0x11", "")},
			"2 0x12 127.0.0.1:9301, 3 0x11 ", ""},
		{"another port", map[string]string{dir + "2": file("0x22", "")}, "1 0x11 , 2 0x22 127.0.0.1:9301", ""},
		{"ports exchanged", map[string]string{dir + "1": file("0x12", ""), dir + "2": file("0x11", "")},
			"1 0x12 , 2 0x11 127.0.0.1:9301", ""},
		{"a setting", map[string]string{dir + "2": file("0x12", "sweep_interval 3\n")},
			"1 0x11 , 2 0x12 127.0.0.1:9301", ""},
		{"an error", map[string]string{dir + "2": file("0x22", "lmc 9\n")}, "1 0x11 , 2 0x12 127.0.0.1:9301",
			"instance 2 keeps running unchanged: /etc/opensm/opensm.conf.2:3:5: lmc"},
		{"the port of another", map[string]string{dir + "2": file("0x11", "")}, "1 0x11 , 2 0x12 127.0.0.1:9301",
			"instance 2 keeps running unchanged: port 0x0000000000000011 is used by instance 1"},
		{"a new one with an error", map[string]string{dir + "3": "lmc 9\n"}, "1 0x11 , 2 0x12 127.0.0.1:9301",
			"instance 3 is not started"},
		{"a folder in its place", map[string]string{dir + "2": "", dir + "2/x": "x"}, "1 0x11 , 2 0x12 127.0.0.1:9301",
			"instance 2 keeps running, although no file configures it"},
		{"none", map[string]string{dir + "1": "", dir + "2": "", "etc/default/opensm": "PORTS=NONE"}, "", ""},
		{"nothing that can be understood",
			map[string]string{dir + "1": "", dir + "2": "", "etc/default/opensm": "PORTS=$x"},
			"1 0x11 , 2 0x12 127.0.0.1:9301", "nothing is expanded here"},
		{"the usual one", map[string]string{dir + "1": "", dir + "2": ""}, "usual 0x0 ", ""},
		{"GUIDS", map[string]string{dir + "1": "", dir + "2": "", "etc/sysconfig/opensm": "GUIDS=0x12"},
			"0x0000000000000012 0x12 ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			la, said := hostWith(t, "--launch",
				map[string]string{dir + "1": file("0x11", ""), dir + "2": file("0x12", "")})
			la.read()
			la.find(false)
			for name, text := range c.change {
				if path := filepath.Join(la.root, name); text == "" {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			for name, text := range c.change {
				if path := filepath.Join(la.root, name); text != "" {
					if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
						os.WriteFile(path, []byte(text), 0o600)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 2 {
				var got []string
				for _, c := range la.find(true) {
					got = append(got, fmt.Sprintf("%s 0x%x %s", c.name, uint64(c.port), option(c.args, "metrics_addr")))
				}
				if got := strings.Join(got, ", "); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
			if !strings.Contains(said.String(), c.says) || c.says == "" && said.String() != "" {
				t.Errorf("said %q, want %q", said, c.says)
			}
		})
	}
}

// TestPortNames: PORTS and GUIDS take devices and interfaces, as -g does. A name that does not exist is named, and its
// manager waits for it, and stays when the device is there and the files are read again. A port has one manager,
// whatever it is called.
func TestPortNames(t *testing.T) {
	const first = "0x0002c90300000001"
	files := portFiles(2)
	files["sys/class/net/ib1/device/infiniband/mlx5_1/node_type"], files["sys/class/net/ib1/dev_port"] = "1: CA\n",
		"0\n"
	files["etc/default/opensm"] = "PORTS='mlx5_0:1 ib1 ib7 " + first + "'\n"
	la, said := hostWith(t, "--launch", files)
	la.read()
	children := la.find(false)
	var got []string
	for _, c := range children {
		got = append(got, fmt.Sprintf("%s %v %s", c.name, c.port, option(c.args, "guid")))
	}
	if want := []string{"mlx5_0:1 " + first + " mlx5_0:1", "ib1 0x0002c90300000002 ib1",
		"ib7 0x0000000000000000 ib7"}; !slices.Equal(got, want) {
		t.Errorf("children %q, want %q", got, want)
	}
	want := "ibsm: instance ib7 waits for its port: no device or interface ib7: there are mlx5_0:1, mlx5_1:1 (ib1)\n" +
		"ibsm: instance " + first + " is not started: port " + first + " is used by instance mlx5_0:1\n"
	if said.String() != want {
		t.Errorf("said %q, want %q", said, want)
	}
	dir := filepath.Join(la.root, "sys/class/net/ib7/device/infiniband/mlx5_1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if next := la.find(true); len(next) != 3 || !next[2].same(&children[2]) || next[2].port != 0 {
		t.Errorf("when ib7 is there: %+v", next)
	}
}

// TestAllPorts: a manager for each InfiniBand port, also for one that comes later; those
// of Ethernet, of NVLink switches and without QP0 are passed over in a line.
func TestAllPorts(t *testing.T) {
	files := map[string]string{"sys/class/infiniband_mad/abi_version": "5\n"}
	port := func(device, guid, layer string, umad int) {
		dir := "sys/class/infiniband/" + device + "/ports/1/"
		files[dir+"gids/0"] = "fe80:0000:0000:0000:0002:c903:0000:" + guid + "\n"
		files[dir+"link_layer"] = layer + "\n"
		for _, kind := range []string{"umad", "issm"} {
			mad := fmt.Sprintf("sys/class/infiniband_mad/%s%d/", kind, umad)
			files[mad+"ibdev"], files[mad+"port"] = device+"\n", "1\n"
		}
	}
	names := func(la *launcher) string {
		var names []string
		for _, c := range la.find(false) {
			names = append(names, c.name+" at "+option(c.args, "guid"))
		}
		return strings.Join(names, ", ")
	}
	la, said := hostWith(t, "--all-ports", files)
	la.read()
	if got := names(la); got != "" || !strings.Contains(said.String(), "waiting for a port") {
		t.Errorf("no port: %q, said %q", got, said)
	}
	port("mlx5_1", "0002", "Ethernet", 1)
	port("mlx5_3", "0004", "InfiniBand", 3)
	files["sys/class/infiniband/mlx5_3/device/vendor"], files["sys/class/infiniband/mlx5_3/device/vpd"] = "0x15b3\n",
		"SMDL=SW_MNG"
	port("mlx5_4", "0005", "InfiniBand", 4)
	files["sys/class/infiniband/mlx5_4/ports/1/cap_mask"] = "0xa651ec48\n"
	const bridge = "mlx5_3 port 1: it is a bridge to NVLink switches (SMDL=SW_MNG), whose subnet NVLSM manages: only -g chooses it"
	const disabled = "mlx5_4 port 1: its CapabilityMask has IsSMdisabled: no subnet manager can run there (a virtual function, or QP0 is on another device)"
	la, said = hostWith(t, "--all-ports", files)
	la.read()
	if got, why := names(la), "ibsm: waiting for a port: no InfiniBand port for a subnet manager: "+bridge+"; "+
		disabled+"\n"; got != "" || !strings.HasSuffix(said.String(), why) {
		t.Errorf("only ports that are skipped: %q, said %q, want %q", got, said, why)
	}
	port("mlx5_0", "0001", "InfiniBand", 0)
	port("mlx5_2", "0003", "InfiniBand", 2)
	// QP1 of a device of two planes, whose QP0 is that of mlx5_2.
	port("mlx5_5", "0003", "InfiniBand", 5)
	files["sys/class/infiniband/mlx5_5/ports/1/cap_mask"] = "0xa651ec48\n"
	la, said = hostWith(t, "--all-ports", files)
	la.read()
	want := "0x0002c90300000001 at 0x0002c90300000001, 0x0002c90300000003 at 0x0002c90300000003"
	for range 2 {
		if got := names(la); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	lines := "ibsm: mlx5_1 port 1 (GUID 0x0002c90300000002) is skipped: its link layer is Ethernet\n" +
		"ibsm: mlx5_3 port 1 (GUID 0x0002c90300000004) is skipped: it is a bridge to NVLink switches (SMDL=SW_MNG), whose subnet NVLSM manages: only -g chooses it\n" +
		"ibsm: mlx5_4 port 1 (GUID 0x0002c90300000005) is skipped: its CapabilityMask has IsSMdisabled: no subnet manager can run there (a virtual function, or QP0 is on another device)\n"
	if said.String() != lines {
		t.Errorf("said %q, want %q", said, lines)
	}
}

// output is what a supervisor prints; a test waits for lines of it.
type output struct {
	mu      sync.Mutex
	text    string
	written chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text += string(b)
	select {
	case o.written <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (o *output) await(t *testing.T, want string) {
	t.Helper()
	for late := time.After(30 * time.Second); ; {
		o.mu.Lock()
		text := o.text
		o.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-o.written:
		case <-late:
			t.Fatalf("it has not said %q but\n%s", want, text)
		}
	}
}

// TestSupervise: a manager that fails is started again, one that ends is not, and all end together. The
// children are shell scripts.
func TestSupervise(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) child {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return child{name: name, args: []string{path}, env: []string{"MARK=" + filepath.Join(dir, name+".mark")}}
	}
	fails := script("fails",
		`echo "try $(cat $MARK 2>/dev/null)"; echo -n x >> $MARK; [ $(cat $MARK) = xxx ] || exit 3; printf unfinished`)
	stays := script("stays",
		"trap 'echo hung up; >$MARK' HUP\ntrap 'echo asked to end; exit 0' TERM\necho ready\nwhile :; do sleep 0.01; done")
	stubborn := script("stubborn", "trap 'echo never' TERM\necho ready\nwhile :; do sleep 0.01; done")
	find := func(children []child) func(bool) []child { return func(bool) []child { return children } }
	for _, c := range []struct {
		name      string
		children  []child
		once      bool
		await     []string // before all are stopped
		interrupt string   // killed after this; "" for not at all
		after     []string
		status    int
	}{
		{"restarted until it ends well", []child{fails}, false, nil, "",
			[]string{"fails: try xx", "fails: unfinished", "instance fails has ended with status 0"}, 0},
		{"once", []child{script("once", "exit 4")}, true, nil, "", []string{"instance once has ended with status 4"},
			4},
		{"all end", []child{stays, script("quick", "exit 0")}, false,
			[]string{"stays: ready", "instance quick has ended with status 0"}, "", []string{"stays: asked to end"}, 0},
		{"killed", []child{stubborn}, false, []string{"stubborn: ready"}, "stubborn: never", nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := &output{written: make(chan struct{}, 1)}
			s := newSupervisor("/bin/sh", find(c.children), out)
			s.sockets = t.TempDir()
			s.soonest, s.once = time.Millisecond, c.once
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			interrupt, ended := make(chan os.Signal, 1), make(chan int, 1)
			go func() { ended <- s.run(ctx, nil, interrupt) }()
			for _, want := range c.await {
				out.await(t, want)
			}
			if c.await != nil {
				cancel()
			}
			if c.interrupt != "" {
				out.await(t, c.interrupt)
				interrupt <- os.Interrupt
			}
			for _, want := range c.after {
				out.await(t, want)
			}
			if status := <-ended; status != c.status {
				t.Errorf("status %d, want %d; it said\n%s", status, c.status, out.text)
			}
		})
	}
}

// TestSuperviseReload: with the files read again, a manager that is not wanted any more ends, one that
// is another now is started again, the others go on, and hear of it; one that was stopped stays so.
func TestSuperviseReload(t *testing.T) {
	const loop = "; echo ready; while :; do sleep 0.01; done"
	script := func(name, text string, port mad.GUID) child {
		return child{name: name, args: []string{"-c", text}, asked: []string{text}, port: port}
	}
	stays := script("stays", "trap 'echo hung up' HUP; trap 'echo asked to end; exit 0' TERM"+loop, 1)
	goes := script("goes", "trap 'echo asked to end; exit 0' TERM"+loop, 2)
	moves := script("moves", "trap 'echo left; exit 0' TERM"+loop, 4)
	moved := moves
	moved.port = 5
	quick := script("quick", "exit 0", 6)
	fails := script("fails", "echo a try; exit 3", 7)
	fresh := script("fresh", "trap 'exit 0' TERM"+loop, 2)
	out := &output{written: make(chan struct{}, 1)}
	wanted := [][]child{{stays, goes, moves, quick, fails}, {stays, moved, quick, fails, fresh}, {}, {goes}}
	s := newSupervisor("/bin/sh", func(again bool) []child {
		if again {
			wanted = wanted[1:]
		}
		return wanted[0]
	}, out)
	s.sockets = t.TempDir()
	s.soonest = time.Hour
	// As supervise does. Otherwise shells that nohup runs would inherit that SIGHUP is ignored,
	// and no trap of theirs could change that.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	passed, ended := make(chan os.Signal), make(chan int, 1)
	go func() { ended <- s.run(ctx, passed, nil) }()
	for _, name := range []string{"stays: ready", "goes: ready", "moves: ready", "quick has ended with status 0",
		"fails has ended"} {
		out.await(t, name)
	}
	for n, want := range [][]string{
		{"stays: hung up", "goes: asked to end", "moves: left\n", "moves: ready", "fails: a try",
			"instance fails has ended", "fresh: ready"},
		{"stays: asked to end", "moves: left\n"},
		{"goes: ready"},
	} {
		out.mu.Lock()
		out.text = ""
		out.mu.Unlock()
		passed <- syscall.SIGHUP
		for _, w := range want {
			out.await(t, w)
		}
		out.mu.Lock()
		if strings.Contains(out.text, "quick") || n == 0 && strings.Contains(out.text, "stays: asked to end") {
			t.Errorf("a manager that was stopped is started again, or one that is wanted ends:\n%s", out.text)
		}
		out.mu.Unlock()
	}
	cancel()
	if status := <-ended; status != 0 {
		t.Errorf("status %d", status)
	}
}

// TestSuperviseStubborn: a manager that no file names any more and that does not end when
// it is stopped is killed.
func TestSuperviseStubborn(t *testing.T) {
	const text = "trap '' TERM; echo ready; while :; do sleep 0.01; done"
	wanted := []child{{name: "stubborn", args: []string{"-c", text}, asked: []string{text}, port: 1}}
	out := &output{written: make(chan struct{}, 1)}
	s := newSupervisor("/bin/sh", func(again bool) []child {
		if again {
			wanted = nil
		}
		return wanted
	}, out)
	s.sockets = t.TempDir()
	s.patience = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	passed, ended := make(chan os.Signal), make(chan int, 1)
	go func() { ended <- s.run(ctx, passed, nil) }()
	out.await(t, "stubborn: ready")
	passed <- syscall.SIGHUP
	out.await(t, "stubborn has ended: signal: killed")
	cancel()
	if status := <-ended; status != ExitFailed {
		t.Errorf("status %d", status)
	}
}
