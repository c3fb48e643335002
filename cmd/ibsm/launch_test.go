package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
	const metrics = "metrics_addr 127.0.0.1:9300\n"
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
	for i, want := range []struct{ log, dump, socket, metrics string }{
		{"", "", "/run/ibsm/1.sock", ""},
		{"/var/log/a.2.log", "opensm.2", "/run/ibsm/2.sock", "127.0.0.1:9301"},
		{"/var/log/opensm.3.log", "opensm.3", "", "127.0.0.1:9302"},
	} {
		c := children[i]
		dump := option(c.args, "dump_files_dir")
		if want.dump != "" {
			want.dump = filepath.Join(la.root, "dump", want.dump)
		} else {
			want.dump = filepath.Join(la.root, "dump")
		}
		got := struct{ log, dump, socket, metrics string }{option(c.args, "log_file"), dump, option(c.args, "ctl_socket"), option(c.args, "metrics_addr")}
		if got != want || option(c.args, "priority") != "5" || option(c.args, "config") != fmt.Sprintf("/etc/rdma/opensm.conf.%d", i+1) {
			t.Errorf("instance %s: %+v of %q, want %+v", c.name, got, c.args, want)
		}
		if cache := fmt.Sprintf("OSM_CACHE_DIR=/cache/%d", i+1); !slices.Equal(c.env, []string{cache}) {
			t.Errorf("instance %s: environment %q, want %s", c.name, c.env, cache)
		}
	}
}

// TestLaunchWrong: a command line that is wrong starts nothing.
func TestLaunchWrong(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"--launch --all-ports", exitUsage, "exclude each other"},
		{"--launch --instance 1", exitUsage, "exclude each other"},
		{"--launch --nonsense", exitUsage, "unrecognized option --nonsense"},
		{"--all-ports -l 9", exitRefused, "LMC must be 7 or less"},
		{"--instance 3", exitUsage, `no instance "3"; there are 1`},
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
		"instance 2 is not started: port 0x0000000000000011 is that of instance 1",
		"instance 3 is not started: /etc/opensm/opensm.conf.3:2:5: lmc",
		"instance 4 names no port",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it did not say %q but\n%s", want, said)
		}
	}
}

// TestAllPorts: a manager for each InfiniBand port, also for one that comes later; those
// of Ethernet are passed over in a line.
func TestAllPorts(t *testing.T) {
	files := map[string]string{"sys/class/infiniband_mad/abi_version": "5\n"}
	port := func(device, guid, layer string, umad int) {
		dir := "sys/class/infiniband/" + device + "/ports/1/"
		files[dir+"gids/0"] = "fe80:0000:0000:0000:0002:c903:0000:" + guid + "\n"
		files[dir+"link_layer"] = layer + "\n"
		mad := fmt.Sprintf("sys/class/infiniband_mad/umad%d/", umad)
		files[mad+"ibdev"], files[mad+"port"] = device+"\n", "1\n"
	}
	names := func(la *launcher) string {
		var names []string
		for _, c := range la.allPorts() {
			names = append(names, c.name+" at "+option(c.args, "guid"))
		}
		return strings.Join(names, ", ")
	}
	la, said := hostWith(t, "--all-ports", files)
	if got := names(la); got != "" || !strings.Contains(said.String(), "waiting for a port") {
		t.Errorf("no port: %q, said %q", got, said)
	}
	port("mlx5_0", "0001", "InfiniBand", 0)
	port("mlx5_1", "0002", "Ethernet", 1)
	port("mlx5_2", "0003", "InfiniBand", 2)
	la, said = hostWith(t, "--all-ports", files)
	want := "0x0002c90300000001 at 0x0002c90300000001, 0x0002c90300000003 at 0x0002c90300000003"
	for range 2 {
		if got := names(la); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if line := "ibsm: mlx5_1 port 1 (GUID 0x0002c90300000002) is passed over: its link layer is Ethernet\n"; said.String() != line {
		t.Errorf("said %q, want %q", said, line)
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

// TestSupervise: who fails is started again, who ends is not, and all end together. The
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
	fails := script("fails", `echo "try $(cat $MARK 2>/dev/null)"; echo -n x >> $MARK; [ $(cat $MARK) = xxx ] || exit 3; printf unfinished`)
	stays := script("stays", "trap 'echo hung up; >$MARK' HUP\ntrap 'echo told to end; exit 0' TERM\necho ready\nwhile :; do sleep 0.01; done")
	stubborn := script("stubborn", "trap 'echo never' TERM\necho ready\nwhile :; do sleep 0.01; done")
	for _, c := range []struct {
		name     string
		children []child
		once     bool
		await    []string // before all are told to end
		hurry    string   // killed after this; "" for not at all
		after    []string
		status   int
	}{
		{"restarted until it ends well", []child{fails}, false, nil, "", []string{"fails: try xx", "fails: unfinished", "instance fails has ended with status 0"}, 0},
		{"once", []child{script("once", "exit 4")}, true, nil, "", []string{"instance once has ended with status 4"}, 4},
		{"all end", []child{stays, script("quick", "exit 0")}, false, []string{"stays: ready", "instance quick has ended with status 0"}, "", []string{"stays: told to end"}, 0},
		{"killed", []child{stubborn}, false, []string{"stubborn: ready"}, "stubborn: never", nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := &output{written: make(chan struct{}, 1)}
			heard := newNotices(&notifier{})
			defer heard.close()
			s := &supervisor{notices: heard, program: "/bin/sh", soonest: time.Millisecond, once: c.once, out: out, running: map[string]*os.Process{}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			hurry, ended := make(chan os.Signal, 1), make(chan int, 1)
			go func() { ended <- s.run(ctx, func() []child { return c.children }, hurry) }()
			for _, want := range c.await {
				out.await(t, want)
			}
			if c.await != nil {
				cancel()
			}
			if c.hurry != "" {
				out.await(t, c.hurry)
				hurry <- os.Interrupt
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
