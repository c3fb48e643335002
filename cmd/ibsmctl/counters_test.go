package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

// TestCounters: the verbs of counters, on a fabric inside the manager, which counts packets.
func TestCounters(t *testing.T) {
	socket, _ := startManager(t, "fattree:k=4", "--perfmgr", "--perfmgr_sweep_time_s", "1")
	t.Setenv(ctl.SocketEnv, socket)
	awaitSweeps(t, 3)
	for _, c := range []struct {
		args   string
		want   string // a regular expression for the whole of standard output
		status int
		says   string // part of standard error
	}{
		{"counters", `^read \d+s ago, every 1s: 104 of 104 ports answered\nNODE .*\n(.+ +\d+ .* sound\n){88}(.+ +1 .* may have overflowed: PortXmitWait not complete\n){16}$`, 0, ""},
		{"counters leaf-01:1",
			`^read .*\n\nleaf-01 port 1 \(0x[0-9a-f]{16}\) to host-01 \S+ port 1\n  reading  sound; read \d+s ago, total since .*\n  link .*\n  COUNTER .*\n(  \w+ +\d+ +\d+ +\d+\n){22}$`, 0, ""},
		{"counters leaf-01", `^read .*\n(\nleaf-01 port \d .*\n(  .*\n){25}){5}$`, 0, ""},
		{"counters 2", `^read .*\n(\nleaf-01 port \d .*\n(  .*\n){25}){5}$`, 0, ""}, // by the LID of the switch
		{"counters host-02",
			`^read .*\n\nhost-02 \S+ port 1 .*\n  reading  may have overflowed: PortXmitWait not complete; (.*\n){24}$`,
			0, ""},
		{"counters --json leaf-01:1",
			`^{"ports":\[\n{"node":"0x[0-9a-f]{16}","desc":"leaf-01","port":1,"peer":{.*},"read":.*"reading":"sound","answered":true,"complete":true,.*"counters":\[.*\]}\n\]}\n$`, 0, ""},
		{"counters nobody", `^$`, 1, `no node is named "nobody"`},
		{"counters leaf-01:9", `^$`, 1, `"leaf-01" has 4 ports`},
		{"counters a b", `^$`, 2, `unexpected argument "b"`},
		{"counters top traffic --most 2",
			`^in the last .* \(read .* ago\)\n(\n\S.* port \d to .*: \d+\.\d%\n  sent \d+ octets in \d+ packets, received \d+ in \d+\n){2}\nand \d+ more ports; --most shows them\n$`, 0, ""},
		{"counters top errors", `^in the last .* \(read .* ago\)\nno port has counted errors\n$`, 0, ""},
		{"counters top con", `^in the last .* \(read .* ago\)\nno port has waited for credits\n$`, 0, ""},
		{"counters top congestion --json", `^{"by":"congestion","seconds":\d.*,"ports":\[\],"more":0}\n$`, 0, ""},
		{"counters top nonsense", `^$`, 2, "expected errors, traffic or congestion"},
		{"counters top", `^$`, 2, "an argument is missing"},
		{"counters top errors --most 0", `^$`, 2, "expected 1 or more"},
		{"counters congestion", `^read \d+s ago\nno port waits for another\n$`, 0, ""},
		{"counters congestion --json", `^{"age":\d.*,"open":\[\],"ended":\[\]}\n$`, 0, ""},
		{"counters clear leaf-01:2", `^counting from zero: 1 port\n$`, 0, ""},
		{"counters clear --json", `^{"ports":104}\n$`, 0, ""},
		{"counters clear nobody", `^$`, 1, `no node is named "nobody"`},
	} {
		out, errs, status := invoke(t, strings.Fields(c.args)...)
		if status != c.status || !regexp.MustCompile(c.want).MatchString(out) || !strings.Contains(errs, c.says) ||
			(errs == "") != (status == 0) {
			t.Errorf("ibsmctl %s: status %d, it wrote\n%s%s", c.args, status, out, errs)
		}
	}
}

// awaitSweeps waits until the counters were read so many times.
func awaitSweeps(t *testing.T, sweeps uint64) {
	t.Helper()
	client := ctl.NewClient(socketOf(""))
	defer client.Close()
	for began := time.Now(); time.Since(began) < patience; <-time.After(50 * time.Millisecond) {
		st := &ctl.CounterStatus{}
		if err := client.Get(t.Context(), "/v1/counters/status", nil, st); err != nil {
			t.Fatal(err)
		}
		if st.Sweeps >= sweeps {
			return
		}
	}
	t.Fatal("the counters are not read")
}

// TestCountersOff: without perfmgr the verbs say how to turn it on; a file and a reload turn it on and off.
func TestCountersOff(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "c.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("sweep_interval 10\n")
	socket, _ := startManager(t, "fattree:k=4,levels=2", "-F", conf)
	t.Setenv(ctl.SocketEnv, socket)
	if out, errs, status := invoke(t, "counters"); status != 1 || out != "" ||
		!strings.Contains(errs, "the performance manager is off") || !strings.Contains(errs, "perfmgr TRUE") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	if _, errs, status := invoke(t, "counters", "top", "errors"); status != 1 ||
		!strings.Contains(errs, "no counters have been read") {
		t.Errorf("status %d: %s", status, errs)
	}
	write("perfmgr TRUE\nperfmgr_sweep_time_s 1\n")
	if out, errs, _ := invoke(t, "config", "reload"); !strings.Contains(out, "perfmgr") {
		t.Errorf("reload: %s%s", out, errs)
	}
	awaitSweeps(t, 2)
	if out, _, status := invoke(t, "counters"); status != 0 || !strings.Contains(out, ", every 1s: ") {
		t.Errorf("status %d: %s", status, out)
	}
	write("perfmgr FALSE\n")
	invoke(t, "config", "reload")
	client := ctl.NewClient(socket)
	defer client.Close()
	st := &ctl.CounterStatus{Enabled: true}
	for began := time.Now(); st.Enabled && time.Since(began) < patience; <-time.After(20 * time.Millisecond) {
		st = &ctl.CounterStatus{}
		if err := client.Get(t.Context(), "/v1/counters/status", nil, st); err != nil {
			t.Fatal(err)
		}
	}
	out, _, _ := invoke(t, "counters", "--json")
	var reply struct{ Ports []ctl.PortCounters }
	if err := json.Unmarshal([]byte(out), &reply); err != nil || len(reply.Ports) != 36 {
		t.Errorf("after it was turned off: %v, %d ports", err, len(reply.Ports))
	}
}
