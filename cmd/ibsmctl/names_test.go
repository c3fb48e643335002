package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ibsm/ctl"
)

// TestNamesOfManager: nodes have the names that the manager logs, without an option of ibsmctl, in lists and in the
// sentences of the manager, and are found by them. A map of the caller's own takes precedence.
func TestNamesOfManager(t *testing.T) {
	dir := t.TempDir()
	conf, given, own := filepath.Join(dir, "opensm.conf"), filepath.Join(dir, "names"), filepath.Join(dir, "own")
	socket, _ := startManager(t, "fattree:k=4,levels=2")
	nodes, _, _ := invoke(t, "nodes", "--node", "spine-01", "--socket", socket)
	guid := regexp.MustCompile(`0x\S+`).FindString(nodes)
	for file, text := range map[string]string{
		conf: "node_name_map_name " + given + "\n", given: guid + " \"core 1 rack A\"\n", own: guid + " mine\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket, _ = startManager(t, "fattree:k=4,levels=2", "-F", conf)
	t.Setenv(ctl.SocketEnv, socket)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nodes", "--node", "core 1 rack A"}, `\n` + guid + ` .* core 1 rack A\n$`},
		// the NodeDescription is still found
		{[]string{"nodes", "--node", "spine-01"}, `\n` + guid + ` .* core 1 rack A\n$`},
		{[]string{"links", "--node", "leaf-01"}, `core 1 rack A`},
		{[]string{"path", "core 1 rack A", "host-01"}, `core 1 rack A`},
		{[]string{"dump", "subnet"}, `core 1 rack A`}, // as in opensm-subnet.lst
		{[]string{"why", "core 1 rack A:1"}, `^core 1 rack A port 1 `},
		{[]string{"nodes", "--node", "mine", "--node-name-map", own}, `\n` + guid + ` .* mine\n$`},
		{[]string{"dump", "subnet", "--node-name-map", own}, `\{mine\}`},
		{[]string{"dump", "lfts", "--node-name-map", own}, `\('mine'\)`},
		{[]string{"why", "mine:1", "--node-name-map", own}, `^mine port 1 `},
		{[]string{"plan", "--reroute", "--without", "leaf-01:3"}, `switch ` + guid + ` "core 1 rack A"`},
		{[]string{"plan", "--reroute", "--without", "leaf-01:3", "--node-name-map", own}, `switch ` + guid + ` "mine"`},
	} {
		out, errs, status := invoke(t, c.args...)
		if status != 0 || !regexp.MustCompile(c.want).MatchString(out) || strings.Contains(out, "spine-01") {
			t.Errorf("ibsmctl %q: status %d, it wrote\n%s%s", c.args, status, out, errs)
		}
	}
	// A line with an error is left out with a warning; infiniband-diags use the other lines, too.
	if err := os.WriteFile(own, []byte("0x0123456789abcdef\t# not named yet\n"+guid+" mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, status := invoke(t, "nodes", "--node", "mine", "--node-name-map", own)
	if status != 0 || !strings.Contains(out, " mine\n") ||
		errs != own+":1: warning: the name is missing: the line is left out\n" {
		t.Errorf("a map with a line without a name: status %d, it wrote\n%s%s", status, out, errs)
	}
}

// TestWithPeer: a text of a change that ends with a port of another node has the node's name in the map.
func TestWithPeer(t *testing.T) {
	n := names{1: "mine"}
	for _, c := range []struct {
		text, want string
		peer       *ctl.Peer
	}{
		{"CA LID 5 at spine port 3", "CA LID 5 at mine port 3", &ctl.Peer{Node: "0x1", Name: "spine", Port: 3}},
		{"spine port 3", "mine port 3", &ctl.Peer{Node: "0x1", Name: "spine", Port: 3}},
		{"leaf port 3", "leaf port 3", &ctl.Peer{Node: "0x2", Name: "leaf", Port: 3}},
		{"Down", "Down", nil}, {"", "", nil},
	} {
		if got := n.withPeer(c.text, c.peer); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestStopped: a manager that is stopped, by SIGSTOP or a debugger, answers nobody, and the kernel takes connections
// in its place.
func TestStopped(t *testing.T) {
	socket, cmd := startManager(t, "fattree:k=4,levels=2")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var now syscall.WaitStatus // the signal is on its way: until it has stopped, the manager may answer
	if _, err := syscall.Wait4(cmd.Process.Pid, &now, syscall.WUNTRACED, nil); err != nil || !now.Stopped() {
		t.Fatalf("it has not stopped: %v, %v", now, err)
	}
	want := fmt.Sprintf("process %d is stopped", cmd.Process.Pid)
	for _, verb := range []string{"status", "nodes", "sweep"} {
		out, errs, status := invoke(t, verb, "--socket", socket)
		if status != 1 || out != "" || !strings.Contains(errs, want) || !strings.Contains(errs, "kill -CONT") {
			t.Errorf("%s: status %d, it wrote %s%s", verb, status, out, errs)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := invoke(t, "status", "--socket", socket); status != 0 {
		t.Errorf("after it continues: status %d, %s", status, errs)
	}
}
