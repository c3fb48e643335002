package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ibsm/mad/madtest"
	"ibsm/topo/net/nettest"
)

// TestLaunch: what the Red Hat guide writes starts two managers, each with what is its
// own. One that is killed is started again, one that is stopped stays so, and both end
// together.
func TestLaunch(t *testing.T) {
	t.Parallel()
	spec := nettest.Spec(t, "fattree:k=4,levels=2")
	guids := hostPorts(t, spec)
	if r := run(t, "", nil, "unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/etc"); r.status != 0 {
		t.Skip("this system gives no mount namespace: " + r.stderr)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		names []string
	}{
		{"sysconfig", map[string]string{
			"sysconfig/opensm": fmt.Sprintf("GUIDS=%q\nPRIORITY=15\n", strings.Join(guids, " ")),
		}, guids},
		{"numbered", map[string]string{
			"rdma/opensm.conf.1": "guid " + guids[0] + "\nsm_priority 15\n", "rdma/opensm.conf.2": "guid " + guids[1] +
				"\nsm_priority 15\n",
			"rdma/opensm.conf.rpmnew": "guid 0x1", "sysconfig/opensm": "GUIDS=0x2",
		}, []string{"1", "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, etc := t.TempDir(), t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(etc, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := []string{"OSM_CACHE_DIR=" + dir + "/cache", "OSM_TMP_DIR=" + dir + "/dump",
				"IBSM_SOCKET=" + dir + "/x.sock"}
			inside := "mount --bind " + etc + " /etc; exec " + program(t, "ibsm") +
				" --launch --fabric " + spec + " -s 0 -f " + dir + "/sm.log --state_dir " + dir +
				"/state --ctl_socket " + dir + "/x.sock"
			p := start(t, nil, dir, env, "unshare", "-Urm", "sh", "-c", inside)
			for _, name := range c.names {
				p.rewind()
				p.await(name + ": SUBNET UP")
			}
			ctl := func(socket string) string {
				return run(t, dir, nil, program(t, "ibsmctl"), "--socket", filepath.Join(dir, socket), "status").stdout
			}
			for i, socket := range []string{"x.sock", c.names[1] + ".sock"} {
				if status := ctl(socket); !strings.Contains(status, guids[i]) || !strings.Contains(status, "15") {
					t.Errorf("%s: no GUID %s and priority 15 in\n%s", socket, guids[i], status)
				}
			}
			first, second := pidOf(t, p, c.names[0]), pidOf(t, p, c.names[1])
			p.skip()
			kill(t, first, syscall.SIGKILL)
			p.await("restarting it in")
			p.await(c.names[0] + ": SUBNET UP")
			kill(t, second, syscall.SIGTERM)
			p.await("instance " + c.names[1] + " has ended with status 0")
			if status := ctl("x.sock"); !strings.Contains(status, guids[0]) {
				t.Errorf("the other one does not go on:\n%s", status)
			}
			exits := 2
			if c.name == "numbered" {
				change(t, p, filepath.Join(etc, "rdma/opensm.conf."), guids)
				exits++
			}
			p.stop()
			if p.err != nil {
				t.Errorf("it ended with %v", p.err)
			}
			if text := p.text(); strings.Count(text, "Exiting SM") != exits {
				t.Errorf("not both have ended well:\n%s", tail(text))
			}
			// An instance that has ended has written all of its files; one that runs may be behind.
			for i, kept := range []string{"cache/" + guids[0] + "/guid2lid", "cache/" + guids[1] + "/guid2lid",
				"state/" + guids[0] + "/state.db", "state/" + guids[1] + "/state.db", "sm.log",
				"sm." + c.names[1] + ".log"} {
				if _, err := os.Stat(filepath.Join(dir, kept)); err != nil {
					t.Errorf("file %d: %v", i, err)
				}
			}
		})
	}
}

// change has a launcher with the instances 1 and 2, of which the second was stopped, read its
// numbered files again.
func change(t *testing.T, p *process, files string, guids []string) {
	t.Helper()
	old := pidOf(t, p, "2")
	p.skip()
	for _, step := range []struct{ remove, write, text, says string }{
		{"2", "3", "guid " + guids[1] + "\n", "3: SUBNET UP"},
		{"", "1", "lmc 9\n", "instance 1 keeps running unchanged: /etc/rdma/opensm.conf.1:1:5: lmc"},
		{"3", "", "", "instance 3 is stopped: it is no longer configured"},
	} {
		if step.remove != "" {
			if err := os.Remove(files + step.remove); err != nil {
				t.Fatal(err)
			}
		}
		if step.write != "" {
			if err := os.WriteFile(files+step.write, []byte(step.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p.signal(syscall.SIGHUP)
		p.await(step.says)
	}
	p.rewind() // the instance may say so before its supervisor says that it is stopped
	p.await("3: Exiting SM")
	if pidOf(t, p, "2") != old {
		t.Error("an instance that was stopped is started again")
	}
}

// pidOf is the process of an instance, as the launcher printed it.
func pidOf(t *testing.T, p *process, name string) int {
	t.Helper()
	m := regexp.MustCompile(`instance ` + name + ` runs as process (\d+)`).FindStringSubmatch(p.text())
	if m == nil {
		t.Fatalf("no process of instance %s", name)
	}
	pid, _ := strconv.Atoi(m[1])
	return pid
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// TestInstance: one instance by its name, in this process, refuses the port that another
// has, and names its process.
func TestInstance(t *testing.T) {
	t.Parallel()
	madtest.Need(t, "unshare")
	spec := nettest.Spec(t, "fattree:k=4,levels=2")
	guid, dir := hostPorts(t, spec)[0], t.TempDir()
	args := []string{program(t, "ibsm"), "--instance", guid, "--fabric", spec, "-f", filepath.Join(dir, "sm.log"),
		"--state_dir", dir}
	first := start(t, nil, dir, caches(t), args...)
	first.await("SUBNET UP")
	r := run(t, dir, caches(t), args...)
	if want := fmt.Sprintf("process %d (ibsm)", first.cmd.Process.Pid); r.status != 1 ||
		!strings.Contains(r.stderr, want) {
		t.Errorf("status %d, %s; want 1 and %s", r.status, r.stderr, want)
	}
	first.stop()
	if r := run(t, dir, caches(t), program(t, "ibsm"), "--instance", "7"); r.status != 2 ||
		!strings.Contains(r.stderr, `no instance "7"`) {
		t.Errorf("an instance that is not: status %d, %s", r.status, r.stderr)
	}
}
