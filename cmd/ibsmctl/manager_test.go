package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ibsm/ctl"
)

// ibsm is the manager, built once, with ibfabric beside it.
var ibsm = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ibsmctl-test-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir, "ibsm/cmd/ibsm", "ibsm/cmd/ibfabric").CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return filepath.Join(dir, "ibsm"), err
})

// beside has ibsmctl find ibsm and ibfabric, as if they were installed.
func beside(t *testing.T) {
	t.Helper()
	path, err := ibsm()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(path)+":"+os.Getenv("PATH"))
}

// asProgram is the environment variable that makes the test be ibsmctl.
const asProgram = "IBSMCTL_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		completePatience = patience // the machine may have other work to do
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	dumps, err := os.MkdirTemp("", "ibsmctl-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("OSM_TMP_DIR", dumps) // for dump files of managers that nobody gives another
	code := m.Run()
	os.RemoveAll(dumps)
	if path, err := ibsm(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// patience is how long a test waits for one event.
const patience = 5 * time.Minute

// startManager starts a manager on a fabric inside its process, and returns its socket
// when the subnet is up.
func startManager(t *testing.T, fabric string, options ...string) (socket string, cmd *exec.Cmd) {
	t.Helper()
	path, err := ibsm()
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(t.TempDir(), "s")
	cmd = exec.Command(path, append([]string{"--fabric", fabric, "--ctl_socket", socket}, options...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "SUBNET UP" {
			awaitHistory(t, socket)
			return socket, cmd
		}
	}
	t.Fatal("the manager ended before the subnet was up")
	return "", nil
}

// awaitHistory waits until the manager has taken a view into its history, which it does
// beside what it answers from.
func awaitHistory(t *testing.T, socket string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; <-time.After(10 * time.Millisecond) {
		if len(storedGenerations(t, socket)) > 0 {
			return
		}
	}
	t.Fatal("the manager stores no generation")
}

// storedGenerations are the generations in the history, oldest first. Of views that follow
// each other quickly it takes the last.
func storedGenerations(t *testing.T, socket string) []ctl.Generation {
	t.Helper()
	client := ctl.NewClient(socket)
	defer client.Close()
	var reply struct{ Generations []ctl.Generation }
	if err := client.Get(t.Context(), "/v1/generations", nil, &reply); err != nil {
		return nil
	}
	return reply.Generations
}

// invoke runs ibsmctl.
func invoke(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(args, &out, &errs)
	return out.String(), errs.String(), status
}

func TestVerbs(t *testing.T) {
	socket, cmd := startManager(t, "fattree:k=4", "-R", "minhop")
	t.Setenv(ctl.SocketEnv, socket)
	file := filepath.Join(t.TempDir(), "names")
	first := fmt.Sprint(storedGenerations(t, socket)[0].Generation)
	for _, c := range []struct {
		args   string
		want   string // a regular expression for the whole of standard output
		status int
		says   string // part of standard error
	}{
		{"sms", `(?s)GUID .*0x\S+ +host-01 \S+ +\d+ +0  MASTER +this manager.*No standby`, 0, ""},
		{"status", `(?s)manager +ibsm .*state +MASTER.*nodes +20 switches, 16 CAs, 0 routers\n.*96 Active; 48 links, 36 LIDs.*this SM +0x\S+ LID 1 `, 0, ""},
		{"nodes --type ca", `(GUID .*\n(0x[0-9a-f]{16}  CA +\d+  1/1  host-\d\d \S+\n){16})$`, 0, ""},
		{"ports --node leaf-01", `PORT GUID .*\n(0x\S+  leaf-01 .*\n){5}$`, 0, ""},
		{"ports --state down", `PORT GUID .*\n$`, 0, ""},
		{"links", `FROM .*\n(.* Active +4x HDR\n){48}$`, 0, ""},
		{"path host-01 host-16", `GUID .*\n(.*\n){7}6 links to LID \d+, 200 Gb/s, MTU 4096\n$`, 0, ""},
		{"why", `^all ports are Active\n$`, 0, ""},
		{"why leaf-01", `^4 ports: no problem found\n$`, 0, ""},
		{"why leaf-01:2", `^leaf-01 port 2 \(0x\S+\) is Active, LinkUp\n  no problem found\n$`, 0, ""},
		{"why host-01 host-16",
			`^host-01 \S+ port 1 reaches host-16 \S+ port 1\n  no problem found\n  routes: minhop\n$`, 0, ""},
		{"why --json leaf-01:1", `^{"generation":\d+,"diagnoses":\[\n{"port":{.*"works":true,"reasons":.*}\n\]}\n$`, 0,
			""},
		{"why nobody", `^$`, 1, `no node is named "nobody"`},
		{"why a b c", `^$`, 2, `unexpected argument "c"`},
		{"generations", `(?s)^GENERATION .*  first as master\n`, 0, ""},
		{"generations --json", `^{"generations":\[\n{"generation":\d+,(.|\n)*\]}\n$`, 0, ""},
		{"diff " + first, `^generation ` + first + ` to \d+: \d+ changes?`, 0, ""},
		{"diff --json " + first + " " + first, `^{"rows":\[\n{"span":{"from":` + first + `,"to":` + first +
			`,.*}}\n\]}\n$`, 0, ""},
		{"diff " + first + " 999", `^$`, 1, "no such generation"},
		{"diff x", `^$`, 2, "expected a number"},
		{"top --once --interval 500ms",
			`(?s)^ibsm \S+  MASTER  up .*\nsubnet   generation \d+: 20 switches, 16 CAs, 48 links, 36 LIDs\nports    96 Active\n.*CHANGES OF THE SUBNET\n.*WARNINGS\n`, 0, ""},
		{"top --once --json", `^{"time":"\S+","status":{.*"clients":{"seconds":.*}}\n$`, 0, ""},
		{"top --interval 1ms", `^$`, 2, "500ms"},
		{"path 1 1", `host-01 .* sends packets for LID 1 to itself: they use no link\n$`, 0, ""},
		{"path 1 nobody", `^$`, 1, `no node is named "nobody"`},
		{"path 1", `^$`, 2, "hint: see ibsmctl path --help"},
		{"services", `^ID .*\n$`, 0, ""},
		{"subscriptions", `^SUBSCRIBER .*\n$`, 0, ""},
		{"groups ff12::99", `^$`, 1, "group ff12:"},
		{"groups 5", `^$`, 1, `"5" is not an MGID`},
		{"groups 5 6", `^$`, 2, `unexpected argument "6"`},
		{"sa-stats", `^ATTRIBUTE .*\n\nRMPP transfers: 0 sent, .*\nregistrations: 0 rejected .*\nevents: \d+, 0 dropped; .*\n$`, 0, ""},
		{"sa-stats --json",
			`^{"replies":\[\],"dropped":\[\],"packets":\[\],"times":\[\],"transfers":{"sent":0,.*},"registrations":{"full":0,.*}}\n$`, 0, ""},
		{"plan", `^0 Sets would be sent; nothing was written\nroutes: minhop\n$`, 0, ""},
		{"plan --json", `^{"outdated":false,"routes":"minhop","steps":\[\n\]}\n$`, 0, ""},
		{"sweep --light", `^light sweep requested; .* --since \d+\n`, 0, ""},
		{"reroute", `^reroute requested; `, 0, ""},
		{"dump guids", `^(0x[0-9a-f]{16} 0x\d{4} 0x\d{4}\n\n|0x\S+ 0x\S+ 0x\S+\n\n){36}$`, 0, ""},
		{"dump --format=slurm", `^# 16 hosts.*\n(SwitchName=.*\n){13}$`, 0, ""},
		{"dump nothing", `^$`, 2, "expected lfts, lid-matrix, "},
		{"draw --colour load",
			`(?s)^<svg .*leaf-01 port .* routes \d+ and back \d+.*20 switches on 3 levels, 16 adapters, 48 links.*, generation \d+.*mean 13<.*</svg>\n$`, 0, ""},
		{"draw --colour red", `^$`, 2, "expected state or load"},
		{"log-level", `^0x83 info\n$`, 0, ""},
		{"log-level debug --json", `^{"flags":143}\n$`, 0, ""},
		{"config reload", `^the manager has no configuration file\n$`, 0, ""},
		{"config reload --json", `^{"file":"","refused":false,"changed":\[\],"findings":\[\]}\n$`, 0, ""},
		{"config reload x", `^$`, 2, `unexpected argument "x"`},
		{"log-level x", `^$`, 2, "expected error, info, verbose, debug"},
		{"events", `(?s)^1 .*SUBNET UP .*log flags changed .*from=0x83`, 0, ""},
		{"ports --type bridge", `^$`, 2, "expected CA, switch or router"},
		{"ports --state a", `^$`, 2, `--state "a": expected Down, Initialize, Armed or Active`},
		{"ports --state INIT", `PORT GUID .*\n$`, 0, ""},
		{"nodes --tpye CA", `^$`, 2, "unknown option --tpye; did you mean --type?"},
		{"events --since x", `^$`, 2, `--since "x": expected a time`},
		{"events --since 1h", `(?s)SUBNET UP`, 0, ""},
		{"events --since 2h --json", `(?s)SUBNET UP`, 0, ""},
		{"diff --since x", `^$`, 2, `--since "x": expected a time`},
		{"diff --since 1h 3", `^$`, 2, `--since and a generation exclude each other`},
		{"diff --since 1h", `^changes are stored since generation ` + first + `, but not since .*\ngeneration ` +
			first + ` to \d+: \d+ change`, 0, ""},
		{"events --since", `^$`, 2, "--since: argument missing"},
		{"dump lfst", `^$`, 2, "expected lfts, lid-matrix, routes, multicast, subnet, guids, slurm, "},
		{"reload", `^$`, 2, `did you mean config reload?`},
		{"state sho", `^$`, 2, `unknown verb of state "sho"; did you mean show?`},
		{"help path", `^Usage: ibsmctl path `, 0, ""},
		{"help stauts", `^$`, 2, `did you mean status or state?`},
		{"help config check", `^Usage: ibsmctl config VERB `, 0, ""},
		{"version", `^ibsmctl \d+\.\d+\.\d+\n$`, 0, ""},
		{"help", `(?s)^Usage: ibsmctl VERB .*ibsmctl shows`, 0, ""},
		{"--version", `^ibsmctl \d+\.\d+\.\d+\n$`, 0, ""},
		{"path 1 hsot-01", `^$`, 1, `no node is named "hsot-01"; did you mean host-01? ibsmctl nodes lists the nodes`},
		{"nodes --state up", `^$`, 2, "unknown option"},
		{"partitions apply --file x", `^$`, 2, "unknown option --file"},
		{"partitions why --strict 1 2", `^$`, 2, "unknown option --strict"},
		{"config reload --strict", `^$`, 2, "unknown option --strict"},
		{"state show --socket x", `^$`, 2, "unknown option --socket"},
		{"--json manual ibsm.8", `^$`, 2, "unknown option --json"},
		{"status more", `^$`, 2, `unexpected argument "more"`},
		{"frobnicate", `^$`, 2, "hint: see ibsmctl --help for the verbs"},
		{"--socket x", `^$`, 2, "a verb is missing"},
		{"--bogus status", `^$`, 2, "unknown option --bogus"},
		{"--json status", `^{"version":`, 0, ""},
		{"", `^$`, 2, "a verb is missing"},
		{"--help", `(?s)^Usage: ibsmctl VERB .*ibsmctl shows.*Exit status.*\n  path +the route .*--socket PATH `, 0,
			""},
		{"path --help", `^Usage: ibsmctl path `, 0, ""},
		{"stauts", `^$`, 2, `unknown verb "stauts"; did you mean status or state?`},
		{"status --socket /nonexistent/s", `^$`, 1, "hint: start a manager with ibsm --ctl_socket /nonexistent/s"},
		{"nodes --node-name-map " + file + " --node spine1", `^GUID.*\n0x\S+ +switch .* spine1\n$`, 0, ""},
		{"nodes --node-name-map " + file + ".none", `^$`, 1, "node-name-map: open "},
	} {
		if c.args == "nodes --node-name-map "+file+" --node spine1" {
			nodes, _, _ := invoke(t, "nodes", "--node", "spine-01")
			guid := regexp.MustCompile(`0x\S+`).FindString(nodes)
			os.WriteFile(file, []byte(guid+" spine1\n"), 0o600)
		}
		out, errs, status := invoke(t, strings.Fields(c.args)...)
		if status != c.status || !regexp.MustCompile(c.want).MatchString(out) || !strings.Contains(errs, c.says) ||
			(errs == "") != (status == 0) {
			t.Errorf("ibsmctl %s: status %d, it wrote\n%s%s", c.args, status, out, errs)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the manager ended with %v", err)
	}
	if _, errs, status := invoke(t, "status"); status != 1 || !strings.Contains(errs, "no such file") {
		t.Errorf("after the end of the manager: status %d, %s", status, errs)
	}
}

// Every list is the same as JSON.
func TestJSON(t *testing.T) {
	socket, _ := startManager(t, "fattree:k=4,levels=2")
	for verb, count := range map[string]int{"nodes": 14, "ports": 8 + 6*5, "links": 16} {
		out, errs, status := invoke(t, verb, "--json", "--socket", socket)
		var reply map[string]json.RawMessage
		var rows []map[string]any
		if err := json.Unmarshal([]byte(out), &reply); status != 0 || err != nil {
			t.Fatalf("%s: status %d, %v, %s", verb, status, err, errs)
		}
		if err := json.Unmarshal(reply[verb], &rows); err != nil || len(rows) != count || reply["generation"] == nil {
			t.Errorf("%s: %d rows, %v", verb, len(rows), err)
		}
	}
	var st ctl.Status
	if out, _, _ := invoke(t, "status", "--json", "--socket", socket); json.Unmarshal([]byte(out), &st) != nil ||
		st.Subnet == nil || st.Subnet.CAs != 8 {
		t.Errorf("status %s", out)
	}
}

// Two managers do not share a socket: the second says who has it, and does not start.
func TestTwoManagers(t *testing.T) {
	socket, first := startManager(t, "fattree:k=4")
	path, _ := ibsm()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--fabric", "fattree:k=4", "--ctl_socket", socket).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another process uses the control socket: process ") {
		t.Errorf("a second manager: %v, %s", err, out)
	}
	if _, errs, status := invoke(t, "status", "--socket", socket); status != 0 {
		t.Errorf("the first one: %s", errs)
	}
	first.Process.Kill() // its socket is left
	first.Wait()
	if _, err := os.Lstat(socket); err != nil {
		t.Fatal(err)
	}
	next := exec.CommandContext(ctx, path, "--fabric", "fattree:k=4", "--ctl_socket", socket, "-o")
	if out, err := next.CombinedOutput(); err != nil || !strings.Contains(string(out), "SUBNET UP") {
		t.Errorf("the next one: %v, %s", err, out)
	}
}

// Followers are reported what happens, and of the end.
func TestFollow(t *testing.T) {
	socket, cmd := startManager(t, "fattree:k=4")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 1)
	go func() {
		var errs bytes.Buffer
		ended <- run([]string{"events", "--follow", "--socket", socket}, w, &errs)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	await := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("nothing is reported %q", text)
	}
	await("SUBNET UP")
	if _, errs, status := invoke(t, "sweep", "--socket", socket); status != 0 {
		t.Fatal(errs)
	}
	await("sweep requested")
	await("SUBNET UP")
	cmd.Process.Signal(syscall.SIGTERM)
	for lines.Scan() { // to the end
	}
	if status := <-ended; status != 1 {
		t.Errorf("status %d after the end of the manager", status)
	}
}
