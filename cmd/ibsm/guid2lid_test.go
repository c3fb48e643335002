package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// TestHonorGUID2LID: with honor_guid2lid_file a standby that becomes master takes LIDs from
// guid2lid as it is then, else from the ports, as the man page of OpenSM says.
func TestHonorGUID2LID(t *testing.T) {
	t.Parallel()
	for _, honor := range []string{"FALSE", "TRUE"} {
		t.Run(honor, func(t *testing.T) {
			t.Parallel()
			n := nettest.Generate(t, "fattree:k=4,levels=2")
			w := newTestSubnetOf(t, n, 2)
			w.bringUp(program(t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0", "-p", "9")
			before := w.lid(w.ends[0])

			dir := t.TempDir()
			conf := filepath.Join(dir, "opensm.conf")
			if err := os.WriteFile(conf, fmt.Appendf(nil, "%shonor_guid2lid_file %s\n", polling, honor),
				0o666); err != nil {
				t.Fatal(err)
			}
			env := []string{"IBSIM_SOCKNAME=" + w.socket, "SIM_HOST=" + w.hosts[1], "OSM_CACHE_DIR=" + dir,
				"OSM_TMP_DIR=" + dir, "IBSM_SOCKET=none"}
			standby := start(t, nil, dir, env, program(t, "ibsm"), "--ibsim", "-F", conf, "-f", "stdout", "-s", "0",
				"-p", "3", "--state_dir", filepath.Join(dir, "state"))
			t.Cleanup(standby.kill)
			standby.await("Entering STANDBY state")
			var guid mad.GUID
			w.server.Do(func(*fabric.Fabric) { guid = n.Nodes[w.ends[0].Node].Ports[w.ends[0].Port].GUID })
			const other mad.LID = 0x123
			if err := os.WriteFile(filepath.Join(dir, "guid2lid"),
				fmt.Appendf(nil, "%v 0x%04x 0x%04x\n\n", guid, uint16(other), uint16(other)), 0o666); err != nil {
				t.Fatal(err)
			}
			w.manager.kill()
			standby.await("SUBNET UP")
			want := before
			if honor == "TRUE" {
				want = other
			}
			if got := w.lid(w.ends[0]); got != want {
				t.Errorf("LID %v, want %v; it was %v", got, want, before)
			}
		})
	}
}
