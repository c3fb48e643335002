package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad/capture"
)

// TestCapture: what ibsm --record and ibsmctl capture write is a capture whose devices come up again, as they did, and
// no key of the configuration is in it.
func TestCapture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket, started, asked := filepath.Join(dir, "s"), filepath.Join(dir, "start.gz"), filepath.Join(dir, "asked.gz")
	config := filepath.Join(dir, "opensm.conf")
	if err := os.WriteFile(config, []byte("m_key 0x1122334455667788\nsm_key 0x99aabbccddeeff01\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, dir, caches(t), program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-F", config,
		"--ctl_socket", socket, "--record", started, "-f", "stdout", "-s", "0")
	p.await("recording written")
	r := run(t, dir, nil, program(t, "ibsmctl"), "--socket", socket, "--json", "capture", asked)
	var said struct {
		Packets int
		End     string
	}
	if err := json.Unmarshal([]byte(r.stdout), &said); r.status != 0 || err != nil || said.Packets < 50 ||
		said.End != "the sweep has ended" {
		t.Fatalf("ibsmctl capture: status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	p.stop()
	for _, name := range []string{started, asked} {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := capture.Read(file)
		file.Close()
		if err != nil || f.End != "the sweep has ended" || !strings.HasPrefix(f.Program, "ibsm ") {
			t.Fatalf("%s: %v, %q, %q", name, err, f.End, f.Program)
		}
		for i := range f.Records {
			packet := string(f.Records[i].Packet[:])
			if strings.Contains(packet, "\x11\x22\x33\x44\x55\x66\x77\x88") ||
				strings.Contains(packet, "\x99\xaa\xbb\xcc\xdd\xee\xff\x01") {
				t.Errorf("%s: packet %d has a key: % x", name, i, f.Records[i].Packet[:128])
			}
		}
		r := run(t, dir, nil, program(t, "ibsm"), "--fabric", "capture:"+name, "-F", config, "-o", "-f", "stdout")
		if r.status != 0 || !strings.Contains(r.stdout, "SUBNET UP") ||
			!strings.Contains(r.stderr, "answered as recorded") {
			t.Errorf("%s does not come up: status %d\n%s\n%s", name, r.status, tail(r.stdout), r.stderr)
		}
	}
	if r := run(t, dir, nil, program(t, "ibsm"), "--fabric", "capture:"+config, "-o"); r.status != 2 ||
		!strings.Contains(r.stderr, "not a capture: expected pcapng or pcap") {
		t.Errorf("a file that is no capture: status %d, %q", r.status, r.stderr)
	}
	if r := run(t, dir, nil, program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-o", "--record",
		dir+"/none/f"); r.status != 2 || !strings.Contains(r.stderr, "none is not a directory") {
		t.Errorf("a folder that is not there: status %d, %q", r.status, r.stderr)
	}
}
