package slurm

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/shape"
	"ibsm/mad/madtest"
)

// scontrol runs Slurm's scontrol with a configuration.
func scontrol(t *testing.T, conf string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), madtest.Need(t, "scontrol"), args...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+conf)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("scontrol %v: %v, %s", args, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// slurmConf is a configuration for the hosts of a list, none of which is there.
func slurmConf(t *testing.T, dir, hosts string) (conf string) {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	conf = filepath.Join(dir, "slurm.conf")
	text := strings.NewReplacer("DIR", dir, "HOST", name, "PORT", strconv.Itoa(port.Addr().(*net.TCPAddr).Port), "USER",
		strconv.Itoa(os.Getuid()), "NODES", hosts).Replace(`
ClusterName=test
SlurmctldHost=HOST(127.0.0.1)
SlurmctldPort=PORT
SlurmUser=USER
AuthInfo=socket=DIR/munge.sock
StateSaveLocation=DIR
SlurmctldPidFile=DIR/slurmctld.pid
TopologyPlugin=topology/tree
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
MpiDefault=none
NodeName=NODES State=CLOUD
PartitionName=all Nodes=ALL
`)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf
}

// startSlurm runs slurmctld, and what it proves itself by, until the test ends, and
// returns what it said until it was there.
func startSlurm(t *testing.T, dir, conf string) string {
	t.Helper()
	slurmctld, munged := madtest.Need(t, "slurmctld"), madtest.Need(t, "munged")
	key := bytes.Repeat([]byte("no secret "), 10)
	if err := os.WriteFile(filepath.Join(dir, "key"), key, 0o400); err != nil {
		t.Fatal(err)
	}
	args := []string{"--force"}
	for option, file := range map[string]string{"key-file": "key", "socket": "munge.sock", "pid-file": "munged.pid",
		"log-file": "munged.log", "seed-file": "seed"} {
		args = append(args, "--"+option+"="+filepath.Join(dir, file))
	}
	// it goes into the background
	if out, err := exec.CommandContext(t.Context(), munged, args...).CombinedOutput(); err != nil {
		t.Fatalf("munged: %v, %s", err, out)
	}
	t.Cleanup(func() {
		text, _ := os.ReadFile(filepath.Join(dir, "munged.pid"))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			syscall.Kill(pid, syscall.SIGTERM)
		}
	})
	cmd := exec.CommandContext(t.Context(), slurmctld, "-D", "-c", "-i")
	cmd.Env = append(os.Environ(), "SLURM_CONF="+conf)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.Contains(lines.Text(), "Running as primary controller") {
			go func() {
				for lines.Scan() {
				}
			}()
			return said.String()
		}
	}
	t.Fatalf("slurmctld ended:\n%s", said.String())
	return ""
}

// TestSlurmctld: Slurm's own controller takes the file without a complaint, and what it
// makes of it are the hosts of each leaf, and on each level those below.
func TestSlurmctld(t *testing.T) {
	for _, program := range []string{"slurmctld", "munged", "scontrol"} {
		madtest.Need(t, program)
	}
	dir, err := os.MkdirTemp("", "ibsm-slurm-") // the path of munge's socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := shape.New(ctltest.Rows(t, "fattree:k=4"))
	var file bytes.Buffer
	if err := Of(f, nil).Write(&file, Tree); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "topology.conf"), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := slurmConf(t, dir, "host-[01-16]")
	said := startSlurm(t, dir, conf)
	for line := range strings.Lines(said) {
		if strings.Contains(line, "topology") || strings.Contains(line, "switch") {
			t.Error(line)
		}
	}
	var want []string
	for leaf := 1; leaf <= 8; leaf++ {
		want = append(want, fmt.Sprintf("SwitchName=leaf-%02d Level=0 LinkSpeed=1 Nodes=host-[%02d-%02d]", leaf,
			2*leaf-1, 2*leaf))
	}
	for pod := 1; pod <= 4; pod++ {
		want = append(want,
			fmt.Sprintf("SwitchName=level2-%d Level=1 LinkSpeed=1 Nodes=host-[%02d-%02d] Switches=leaf-[%02d-%02d]",
				pod, 4*pod-3, 4*pod, 2*pod-1, 2*pod))
	}
	want = append(want, "SwitchName=fabric Level=2 LinkSpeed=1 Nodes=host-[01-16] Switches=level2-[1-4]")
	got := scontrol(t, conf, "show", "topology")
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if !slices.Equal(got, want) {
		t.Errorf("Slurm has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestHostlists: what is written in brackets is, by Slurm's own reading, what went in.
func TestHostlists(t *testing.T) {
	conf := slurmConf(t, t.TempDir(), "n1")
	rng := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		var names []string
		for range 60 {
			prefix := []string{"n", "rack1-c", "a0", "login"}[rng.IntN(4)]
			names = append(names, fmt.Sprintf("%s%0*d", prefix, 1+rng.IntN(3), rng.IntN(30)))
		}
		names = append(names, "alone", "x", "1", "big-12345678901234", "z99", "z100", "z101")
		slices.SortFunc(names, shape.Natural)
		names = slices.Compact(names)
		got := scontrol(t, conf, "show", "hostnames", hostlist(names))
		if !slices.Equal(got, names) {
			t.Fatalf("%s is\n%q\nwant\n%q", hostlist(names), got, names)
		}
	}
}
