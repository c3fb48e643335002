package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/keys/keystest"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// TestNoKeyIsShown: with security tenants and a keys_file, over a rotation, the end of the master and a takeover
// nothing that two managers print, log, dump, store or answer has the secret or any key that follows from it, except
// guid2mkey, which is for OpenSM: all verbs of ibsmctl with the arguments that they complete, as text and as JSON, all
// commands of the console, metrics, the dry run, the configuration written out, and the stacks of a manager that is
// ended by SIGQUIT.
func TestNoKeyIsShown(t *testing.T) {
	t.Parallel()
	file, secret := secretFile(t)
	// Of a host's port with another GUID than its node a client of a simulator learns the GUID by NodeInfo only, which
	// needs the M_Key that follows from it.
	w := newTestSubnetOf(t, nettest.Generate(t, "fattree:k=4,devices=real"), 2)
	var search keystest.Search
	var ports []uint64
	w.server.Do(func(f *fabric.Fabric) {
		for at := range f.EndPorts() {
			ports = append(ports, uint64(f.PortGUID(at)))
		}
	})
	must := func(what string, text []byte) {
		t.Helper()
		if shown := search.Find(text); shown != nil {
			t.Errorf("%s shows %v", what, shown)
		}
	}
	dir := t.TempDir()
	conf, metrics := filepath.Join(dir, "opensm.conf"), "127.0.0.1:"+freePort(t)
	lines := "keys_file " + file + "\nsecurity tenants\nlog_flags 0xff\nforce_log_flush TRUE\nsweep_interval 2\n" +
		// which some verbs write
		"partition_config_file " + dir + "/partitions.conf\ndrain_file " + dir + "/drain.conf\n"
	for path, text := range map[string]string{
		conf: lines, dir + "/partitions.conf": "Default=0x7fff, ipoib: ALL=limited, SELF=full;\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(i int, more ...string) *process {
		own := filepath.Join(dir, fmt.Sprint(i))
		argv := []string{"env", "OSM_CACHE_DIR=" + own + "/cache", "OSM_TMP_DIR=" + own + "/dumps", program(t, "ibsm"),
			"--ibsim", "-F", conf, "-f", "stdout",
			"--state_dir", own + "/state", "--ctl_socket", own + "/ctl"}
		for _, below := range []string{"cache", "dumps", "state"} {
			if err := os.MkdirAll(filepath.Join(own, below), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return w.start(w.hosts[i], append(argv, more...)...)
	}
	first := begin(0, "-p", "8", "--console", "loopback", "--console-port", freePort(t), "--metrics_addr", metrics)
	first.await("SUBNET UP")
	for _, name := range []string{"guid2mkey", "neighbors"} { // with which the standby knows the subnet
		text := []byte(nil)
		eventually(t, name+" is written", func() bool {
			text, _ = os.ReadFile(filepath.Join(dir, "0/cache", name))
			return len(text) > 0
		})
		if err := os.MkdirAll(filepath.Join(dir, "1/cache"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "1/cache", name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second := begin(1, "-p", "3")
	second.await("ENTERING STANDBY")
	run := func(argv ...string) []byte {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // some follow what happens for ever
		defer cancel()
		out, _ := command(ctx, dir, []string{"COLUMNS=200"}, argv...).CombinedOutput()
		return out
	}
	ctl := func(args ...string) []byte {
		return run(append([]string{program(t, "ibsmctl"), "--socket", filepath.Join(dir, "0/ctl")}, args...)...)
	}
	for _, number := range []uint32{2, 5} { // verbs rotate further
		if err := search.AddSecret(secret, number, ports); err != nil {
			t.Fatal(err)
		}
	}
	if out := ctl("security", "rotate"); !bytes.Contains(out, []byte("number 2")) {
		t.Fatalf("no rotation: %s", out)
	}
	eventually(t, "all ports have the next M_Keys", func() bool {
		return bytes.Contains(ctl("security"), []byte("M_Keys, number 2"))
	})
	completed := func(args ...string) (words []string) {
		for line := range strings.Lines(string(ctl(append(append([]string{"__complete"}, args...), "")...))) {
			if word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); word != "" && word[0] != ':' &&
				!strings.Contains(word, " ") {
				words = append(words, word)
			}
		}
		return words
	}
	names := 2 // of nodes and ports
	if proof() {
		names = 50
	}
	asked, began := 0, time.Now()
	verbs := completed()
	for _, verb := range verbs {
		for _, args := range append([][]string{{}}, someOf(completed(verb), names)...) {
			asked++
			args = append([]string{verb}, args...)
			must("ibsmctl "+strings.Join(args, " "), ctl(args...))
			must("ibsmctl --json "+strings.Join(args, " "), ctl(append(args, "--json")...))
		}
	}
	t.Logf("%d verbs, %d questions in %v", len(verbs), asked, time.Since(began))
	if len(verbs) < 30 || asked < 2*len(verbs) {
		t.Errorf("%d verbs, %d questions", len(verbs), asked)
	}
	console := dialConsole(t, first)
	for _, c := range slices.Concat(consoleCommands, firstLineOnly) {
		must("the console, "+c, []byte(console.say(c)))
	}
	answer, err := http.Get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || !bytes.Contains(text, []byte("ibsm_security_rule_holds")) {
		t.Errorf("metrics: %v", err)
	}
	must("the metrics", text)
	ibsm := []string{"env", "IBSIM_SOCKNAME=" + w.socket, "SIM_HOST=" + w.hosts[1],
		"OSM_CACHE_DIR=" + filepath.Join(dir, "1/cache"), program(t, "ibsm"), "-F", conf}
	must("the dry run", run(append(ibsm, "--ibsim", "--dry-run")...))
	written := filepath.Join(dir, "written.conf")
	must("ibsm --create-config", run(append(ibsm, "--create-config", written)...))
	if _, err := os.Stat(written); err != nil {
		t.Error(err)
	}
	var number uint32 // verbs have rotated further
	eventually(t, "the last rotation has ended", func() bool {
		text := string(ctl("security"))
		_, rest, _ := strings.Cut(text, "M_Keys, number ")
		_, err := fmt.Sscanf(rest, "%d", &number)
		return err == nil && !strings.Contains(text, "earlier number")
	})
	first.signal(syscall.SIGQUIT)
	<-first.done
	if !strings.Contains(first.text(), "goroutine ") {
		t.Error("SIGQUIT shows no stacks")
	}
	second.await("SUBNET UP")
	own := secret.Ports(number)
	w.server.Do(func(f *fabric.Fabric) {
		for at := range f.EndPorts() {
			if info := f.PortInfo(at); uint64(info.MKey()) != own.Of(uint64(f.PortGUID(at))) {
				t.Errorf("port %v has another M_Key than that of number %d after the takeover", at, number)
			}
		}
	})
	second.signal(syscall.SIGTERM)
	<-second.done // it writes no file any more
	must("the log of the master", []byte(first.text()))
	must("the log of the standby", []byte(second.text()))
	read := map[string]int{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if name := d.Name(); name == "guid2mkey" {
			if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s can be read by others: %v, %v", path, info.Mode(), err)
			}
			if search.Find(text) == nil {
				t.Errorf("nothing is found in %s, which has all M_Keys", path)
			}
		} else {
			must(path, text)
			read[filepath.Ext(name)]++
		}
		return err
	})
	if err != nil || read[".db"] < 2 || read[".dump"]+read[".lst"]+read[".fdbs"] == 0 {
		t.Errorf("%v; files read: %v", err, slices.Sorted(maps.Keys(read)))
	}
}

// someOf are all words that are verbs of a verb, and some of the others, each by itself.
func someOf(words []string, most int) (all [][]string) {
	for _, word := range words {
		isVerb := strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == ""
		if isVerb || most > 0 {
			all = append(all, []string{word})
		}
		if !isVerb {
			most--
		}
	}
	return all
}
