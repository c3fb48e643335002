package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/ctl"
)

// TestCallerVerbs: the verbs about partitions of programs, beside a file that later gets the P_Key of one of them.
func TestCallerVerbs(t *testing.T) {
	dir := t.TempDir()
	file, body := filepath.Join(dir, "partitions.conf"), filepath.Join(dir, "red.json")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const own = "Default=0x7fff : ALL=full;\nstorage=0x10 : ALL=limited;\n"
	write(file, own)
	write(body, `{"members":[{"host":"host-04"}],"note":"of a file"}`)
	socket, cmd := startManager(t, "fattree:k=4", "-P", file, "--state_dir", "none", "--partition_pkeys", "0x200-0x2ff")
	do := func(status int, args string, says ...string) string {
		t.Helper()
		var out bytes.Buffer
		got := run(append([]string{"--socket", socket, "partitions"}, strings.Fields(args)...), &out, &out)
		for _, text := range says {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: no %q", args, text)
			}
		}
		if got != status || t.Failed() {
			t.Fatalf("%s: exit status %d, want %d\n%s", args, got, status, out.String())
		}
		return out.String()
	}
	const first, second = "0xb83fd20300a00000", "0xb83fd20300a00010"
	do(0, "put red --ipoib --mtu 4096 --rate 100 "+first+",index0 host-03=limited 0x99=both",
		"red created: P_Key 0x0200, change 1; 3 members put, 0 removed")
	do(0, "show red --wait 30s", "red, P_Key 0x0200, of a caller, ready: 2 applied, 1 pending", "full, index0",
		"host-03", "no port with this GUID has been seen")
	do(0, "put red --ipoib --mtu 4096 --rate 100 0x99=both host-03=limited "+first+",index0", "red is unchanged")
	do(0, "why host-01 red", "is a full member of 0x0200 (red)", "a caller's partition red, change 1",
		"its P_Key table has 0x8200")
	do(0, "show --node host-03", "0x0200")
	do(0, "set red --add "+second+" --remove 0x99 --remove host-77", "red changed", "change 2; 1 member put, 1 removed")
	do(0, "show red --wait 30s --json", `"number": 2`, `"ready": true`)
	do(0, "put blue --file "+body, "blue created: P_Key 0x0201")
	do(0, "list", "storage", "caller", "partitions.conf:2", "of a file")
	if text := do(0, "list --node host-04"); strings.Contains(text, "red") || !strings.Contains(text, "blue") ||
		!strings.Contains(text, "storage") {
		t.Errorf("partitions of host-04:\n%s", text)
	}
	if text := do(0, "list --node "+second); !strings.Contains(text, "red") || strings.Contains(text, "blue") {
		t.Errorf("partitions of %s:\n%s", second, text)
	}
	do(0, "export --callers", "red=0x0200, ipoib, mtu=5, rate=16 :", "0xb83fd20300a00020=limited", "red=0x0200, indx0 :")
	do(1, "put storage host-01", "partitions.conf:2:")
	do(1, "put green --strict host-77", `no host named "host-77" has been seen`)
	do(1, "put green --pkey 0x200", "has P_Key 0x0200 already")
	do(1, "put green --mtu 17", "expected 256, 512")
	do(1, "show green", `there is no partition "green"`)
	do(2, "set red", "--add or --remove")
	do(2, "set red ipoib --add host-01", "flags are for the file")
	do(2, "rm", "")
	do(2, "list --file x", "unknown option")

	write(file, own+"colour=0x200 : "+second+"=full;\n")
	do(0, "check", "partition red of a caller, 0x0200, is held as long as the file has this P_Key or name")
	do(0, "diff", "partition red of a caller", "0x8200")
	do(0, "apply", "applied after")
	do(0, "show red", "held", `partitions.conf:3:1 has P_Key 0x0200, as partition "colour"`)
	do(1, "show red --wait 1s", "is not ready")
	do(1, "set red --add host-05", "partitions.conf:3:")
	write(file, own)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); strings.Contains(do(0, "show red"), "held"); {
		if time.Since(began) > patience {
			t.Fatal("the partition is held after the file has changed")
		}
	}
	do(0, "show red --wait 30s", "of a caller, ready\n")
	do(0, "rm red", "red deleted: P_Key 0x0200, change 4; 0 members put, 3 removed")
	do(0, "rm red", "red is not there")
	do(0, "history", "red", "created: 3 members put, 0 removed", "changed: 1 member put, 1 removed",
		"deleted: 0 members put, 3 removed", "the file", "version 1")
	do(1, "undo 2", `partition "red" has been deleted since, by change 4: take that one back first`)
	do(0, "undo 4", "change 4 of red taken back by change 5: P_Key 0x0200")
	do(0, "show red --wait 30s", "of a caller, ready")
	do(0, "undo 5", "change 5 of red taken back by change 6: it is deleted")
	do(1, "undo 99", "not among the last ones that are remembered")
	do(2, "undo x", "expected a number")
	for _, text := range []string{"a caller's partition was created", "a caller's partition is held"} {
		var out bytes.Buffer
		if run([]string{"--socket", socket, "events"}, &out, &out); !strings.Contains(out.String(), text) {
			t.Errorf("no event %q:\n%s", text, out.String())
		}
	}
}

// TestReadYourWrites: what was answered is what is read next.
func TestReadYourWrites(t *testing.T) {
	socket, _ := startManager(t, "fattree:k=4", "--state_dir", t.TempDir())
	client := ctl.NewClient(socket)
	defer client.Close()
	const tenants = 5
	for i := range 300 {
		name, note := fmt.Sprintf("tenant-%d", i%tenants), fmt.Sprintf("round %d", i)
		body, _ := json.Marshal(&ctl.Partition{Name: name, PKey: "auto", Note: note,
			Members: []ctl.PartitionMember{{GUID: fmt.Sprintf("0x%x", 0x1000+i), Membership: "full"}}})
		done, err := client.ChangePartition(t.Context(), http.MethodPut, name, nil, body)
		if err != nil || done.Number != uint64(i+1) || done.Created != (i < tenants) {
			t.Fatalf("change %d: %+v, %v", i, done, err)
		}
		p, err := client.NamedPartition(t.Context(), name, 0)
		if err != nil || p.Note != note || p.Number != done.Number || len(p.Members) != 1 ||
			guidOf(p.Members[0].GUID) != guidOf(fmt.Sprintf("0x%x", 0x1000+i)) {
			t.Fatalf("change %d is read as %+v, %v", i, p, err)
		}
	}
	n := 0
	if err := ctl.All(t.Context(), client, http.MethodGet, "/v1/partition", query("members", "1"),
		func(p *ctl.Partition) error {
			n++
			return nil
		}); err != nil || n != tenants {
		t.Errorf("%d partitions, %v", n, err)
	}
}

// TestCallersRestart: what was answered is there after a kill and a start, with its number; with partitions_mirror
// required a manager without a standby refuses changes.
func TestCallersRestart(t *testing.T) {
	dir := t.TempDir()
	settings := filepath.Join(dir, "opensm.conf")
	if err := os.WriteFile(settings, []byte("partitions_mirror required\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	put := func(socket, name string) (*ctl.PartitionChanged, error) {
		client := ctl.NewClient(socket)
		defer client.Close()
		return client.ChangePartition(t.Context(), http.MethodPut, name, nil, []byte(`{"members":[{"guid":"0x99"}]}`))
	}
	socket, cmd := startManager(t, "fattree:k=4", "--state_dir", dir)
	first, err := put(socket, "red")
	if err != nil || !first.Created || !first.Mirrored {
		t.Fatalf("put %+v, %v", first, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	socket, cmd = startManager(t, "fattree:k=4", "--state_dir", dir)
	again, err := put(socket, "red")
	if err != nil || again.Changed || again.PKey != first.PKey || again.ETag != first.ETag ||
		!again.Since.Equal(first.Since) {
		t.Errorf("after a restart: %+v, %v; before %+v", again, err, first)
	}
	cmd.Process.Kill()
	cmd.Wait()
	socket, _ = startManager(t, "fattree:k=4", "--state_dir", dir, "-F", settings)
	if done, err := put(socket, "blue"); err == nil || !strings.Contains(err.Error(), "partitions_mirror is required") {
		t.Errorf("required without a standby: %+v, %v", done, err)
	}
	var out bytes.Buffer
	if status := run([]string{"--socket", socket, "partitions", "list"}, &out, &out); status != 0 ||
		!strings.Contains(out.String(), "red") || strings.Contains(out.String(), "blue") {
		t.Errorf("exit status %d\n%s", status, out.String())
	}
}

// TestStrict: with strict no change is stored that a P_Key table has no room for, also while the changes before it are
// not in the tables yet; without it the change is stored and the member has failed.
func TestStrict(t *testing.T) {
	socket, _ := startManager(t, "fattree:k=4", "--state_dir", "none")
	client := ctl.NewClient(socket)
	defer client.Close()
	put := func(name, strict string) error {
		_, err := client.ChangePartition(t.Context(), http.MethodPut, name, query("strict", strict),
			[]byte(`{"members":[{"guid":"0xb83fd20300a00010"}]}`))
		return err
	}
	var full error
	stored := 0
	for full == nil && stored < 1000 {
		if full = put(fmt.Sprintf("tenant-%d", stored), "true"); full == nil {
			stored++
		}
	}
	if full == nil || !strings.Contains(full.Error(), fmt.Sprintf("is full: it has %d entries", stored+1)) {
		t.Fatalf("%d partitions, then %v", stored, full)
	}
	if err := put("more", ""); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; {
		p, err := client.NamedPartition(t.Context(), "more", 1)
		if err != nil || time.Since(began) > patience {
			t.Fatalf("%+v, %v", p, err)
		}
		if m := p.Members[0]; m.State == "failed" && strings.Contains(m.Why, "the P_Key table of the port is full") {
			break
		}
	}
	for i := range stored {
		if p, err := client.NamedPartition(t.Context(), fmt.Sprintf("tenant-%d", i), 10); err != nil || !p.Ready {
			t.Errorf("%+v, %v", p, err)
		}
	}
}
