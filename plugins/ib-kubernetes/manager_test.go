package ibsm_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	ibsm "ibsm/plugins/ib-kubernetes"
)

// TestManager: a manager on a simulated fabric carries out what the plug-in sends.
func TestManager(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir, "./cmd/ibsm", "./cmd/ibsmctl")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	users, state := filepath.Join(dir, "users.toml"), filepath.Join(dir, "state")
	ctl := func(args ...string) string {
		out, err := exec.Command(filepath.Join(dir, "ibsmctl"), append([]string{"api", "user"}, args...)...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	ctl("add", "k8s", "--role", "operator", "--file", users)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	manager := exec.Command(filepath.Join(dir, "ibsm"), "--fabric", "fattree:k=4", "--api_addr", addr, "--api_users_file", users,
		"--state_dir", state, "-f", "stdout")
	manager.Stdout, manager.Stderr = log, log
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		manager.Process.Kill()
		manager.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s", text)
		}
	}()
	token := ctl("token", "k8s", "--file", users)
	c := connect(t, state, addr, token[strings.LastIndex(token, "ibsm_"):])
	use(t, c)
}

// connect is a client of a manager that has just been started.
func connect(t *testing.T, state, addr, token string) *ibsm.Client {
	t.Helper()
	_, port, _ := net.SplitHostPort(addr)
	var last error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		certificates, _ := filepath.Glob(filepath.Join(state, "api", "api.crt"))
		if len(certificates) != 1 {
			continue
		}
		ca, err := os.ReadFile(certificates[0])
		if err != nil {
			t.Fatal(err)
		}
		c, err := ibsm.New(ibsm.Config{Servers: []string{"https://localhost:" + port}, CA: string(ca), Token: token})
		if err != nil {
			last = err
			continue
		}
		if last = c.Validate(); last == nil {
			_, last = c.GetNodeIBDevices("host-05") // it knows the subnet
		}
		if last == nil {
			return c
		}
	}
	t.Fatalf("the manager does not answer in a minute: %v", last)
	return nil
}

// use has ports of a node and one that is not there in partitions, by P_Key and by name.
func use(t *testing.T, c *ibsm.Client) {
	t.Helper()
	node, err := c.GetNodeIBDevices("host-05.cluster.example")
	if err != nil || len(node) != 1 || node[0].Device != "mlx5_0" {
		t.Fatalf("%v, %v", node, err)
	}
	const absent = "02:00:00:00:00:00:00:01"
	key, err := c.CreateIBPartition("default_ib-net")
	if again, err2 := c.CreateIBPartition("default_ib-net"); err != nil || err2 != nil || again != key {
		t.Fatalf("%s, %s, %v, %v", key, again, err, err2)
	}
	if ready, of, err := c.IsPartitionReady("default_ib-net"); !ready || of != key || err != nil {
		t.Errorf("%t, %s, %v", ready, of, err)
	}
	number, err := strconv.ParseInt(key, 0, 32)
	if err != nil {
		t.Fatal(err)
	}
	guid := node[0].GUID.String()
	for _, k := range []int{int(number), 0x2fb} {
		ports := guids(t, guid, absent)
		if err := c.AddGuidsToPKey(k, ports); err != nil {
			t.Fatalf("P_Key %#x: %v", k, err)
		}
		err := c.Applied(k, ports)
		deadline := time.Now().Add(20 * time.Second)
		for errors.Is(err, ibsm.ErrPending) && time.Now().Before(deadline) {
			err = c.Applied(k, ports)
		}
		if err != nil {
			t.Errorf("P_Key %#x: %v", k, err)
		}
		used, err := c.ListGuidsInUse()
		if err != nil || used[guid] == "" || used[absent] == "" {
			t.Errorf("P_Key %#x: %v, %v", k, used, err)
		}
	}
	if err := errors.Join(c.RemoveGuidsFromPKey(0x2fb, guids(t, guid, absent)), c.DeleteIBPartition("default_ib-net"),
		c.DeleteIBPartition("default_ib-net"), c.RemoveGuidsFromPKey(0x2fb, guids(t, guid))); err != nil {
		t.Error(err)
	}
	if used, err := c.ListGuidsInUse(); err != nil || len(used) != 0 {
		t.Errorf("%v, %v", used, err)
	}
	if err := c.AddGuidsToPKey(0x7fff, guids(t, guid)); err != nil {
		t.Errorf("the default partition: %v", err)
	}
}
