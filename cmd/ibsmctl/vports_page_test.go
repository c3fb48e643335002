package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/ctl"
)

// functionsOfPage are the fabric's functions of docs/virtual.md, as commands of ibfabric serve.
const functionsOfPage = `functions H-b83fd20300a00020 3 0x0200000000000001
function policy H-b83fd20300a00020 3 down
functions H-b83fd20300a00040 1
`

// TestVirtualPage: the commands of docs/virtual.md print what the page shows, with a manager on a simulated fabric.
func TestVirtualPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/virtual.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- commands -->\n```\n")
	shown, _, found := strings.Cut(rest, "```\n")
	_, rest, _ = strings.Cut(string(page), "<!-- partitions -->\n```\n")
	partitions, _, both := strings.Cut(rest, "```\n")
	if !found || !both {
		t.Fatal("docs/virtual.md does not have its commands, or its partitions")
	}
	dir := t.TempDir()
	managesFunctions(t, dir, partitions)
	var got strings.Builder
	for _, line := range strings.Split(shown, "\n") {
		command, is := strings.CutPrefix(line, "$ ibsmctl ")
		if !is {
			continue
		}
		var stdout, stderr bytes.Buffer
		status := run(strings.Fields(command), &stdout, &stderr)
		fmt.Fprintf(&got, "%s\n%s", line, strings.ReplaceAll(stdout.String(), dir+"/", "/etc/opensm/"))
		if stderr.Len() > 0 || status != 0 {
			t.Errorf("%s: status %d: %s", command, status, stderr.String())
		}
	}
	if got.String() != shown {
		t.Errorf("the page shows\n%s\nand they print\n%s", shown, got.String())
	}
}

// managesFunctions starts a fabric with the functions of the page, and a manager on it whose socket ibsmctl uses, and
// waits until the functions are up.
func managesFunctions(t *testing.T, dir, partitions string) {
	t.Helper()
	path, err := ibsm()
	if err != nil {
		t.Fatal(err)
	}
	start := func(stdin io.Reader, name string, args ...string) *bufio.Scanner {
		cmd := exec.Command(filepath.Join(filepath.Dir(path), name), args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Stdin, cmd.Dir = stdin, dir
		cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+filepath.Join(dir, "sock"), "OSM_CACHE_DIR="+dir)
		out, err := cmd.StdoutPipe()
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
		late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		t.Cleanup(func() { late.Stop() })
		return bufio.NewScanner(out)
	}
	fabric := start(strings.NewReader(functionsOfPage), "ibfabric", "serve", "fattree:k=4,levels=2", "--sock",
		filepath.Join(dir, "sock"))
	for answers := 0; answers < strings.Count(functionsOfPage, "\n"); {
		if !fabric.Scan() || strings.HasPrefix(fabric.Text(), "error") {
			t.Fatalf("ibfabric: %s", fabric.Text())
		}
		if fabric.Text() == "ok" {
			answers++
		}
	}
	for name, text := range map[string]string{"partitions.conf": partitions, "opensm.conf": fmt.Sprintf(
		"virt_enabled 2\npartition_config_file %s/partitions.conf\n", dir)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "ctl")
	manager := start(nil, "ibsm", "--ibsim", "-F", filepath.Join(dir, "opensm.conf"), "--ctl_socket", socket, "-f",
		filepath.Join(dir, "log"))
	for manager.Scan() && manager.Text() != "SUBNET UP" {
	}
	t.Setenv("IBSM_SOCKET", socket)
	for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
		var stdout, stderr bytes.Buffer
		var reply struct {
			VPorts []ctl.VPort `json:"vports"`
		}
		if run([]string{"vports", "--json"}, &stdout, &stderr) == 0 {
			if err := json.Unmarshal(stdout.Bytes(), &reply); err != nil {
				t.Fatal(err)
			}
		}
		settled := 0
		for _, v := range reply.VPorts {
			if v.State == "Active" || strings.Contains(v.Reason, "link policy") || strings.Contains(v.Reason, "zero") {
				settled++
			}
		}
		if settled == 4 {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("the functions do not come up: %s%s", stdout.String(), stderr.String())
		}
	}
}
