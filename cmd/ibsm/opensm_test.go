package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// asOpenSM is ibsm under the other's name.
func asOpenSM(t *testing.T) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "opensm")
	if err := os.Symlink(program(t, "ibsm"), link); err != nil {
		t.Fatal(err)
	}
	return link
}

// TestBanner: under the name opensm, ibsm prints on standard output what OpenSM prints
// of the same options. "Loading Cached Option" lines are OpenSM's alone.
func TestBanner(t *testing.T) {
	t.Parallel()
	ours := asOpenSM(t)
	for _, c := range []string{
		"-v",
		"--version",
		"-F none -g 0x123 -l 1 -p 3 --subnet_prefix fe80000000000001 -k 5 -r -R updn --do_mesh_analysis --lash_start_vl 1",
		"--sm_sl 1 --nue_max_num_vls 2 -z -A -M mm -U uu -S ss -a aa -u cn -G io --port-shifting --scatter-ports 3 -H 2 -m ids -X xo --torus_config tc",
		"-o -s 5 -t 100 --retries 2 -n 7 -q off -C 100 -i ig -w hw -O po --dimn_ports_file pd -x --dump_files_dir dd -f ff -L 3 -e",
		"-P pp -N -Z in -W -Q -Y yy --congestion_control -y -B --pidfile pid -I --perfmgr --perfmgr_sweep_time_s 44 --prefix_routes_file pr",
		"--consolidate_ipv6_snm_req --guid_routing_order_no_scatter --log_prefix lp -V -D 0xff -d 0 -d 1 -d 2 -d 3 -d 0x5",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "none"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		args := append(strings.Fields(c), "-c", "written.conf")
		want := run(t, dir, caches(t), append([]string{"opensm"}, args...)...)
		got := run(t, dir, caches(t), append([]string{ours}, args...)...)
		if got.status != want.status || got.stdout != want.stdout {
			t.Errorf("%s: status %d, OpenSM's %d; different: %q\nstderr %s", c, got.status, want.status,
				differing(want.stdout, got.stdout), got.stderr)
		}
	}
}

// TestOnceStatus: what -o ends with says what became of the subnet.
func TestOnceStatus(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, example("net.2sw2path4hca").file(t))
	other := s.net.witnessHost()
	once := func() result {
		return run(t, s.dir, s.env(s.net.managerHost()), program(t, "ibsm"), "--ibsim", "-o", "-f", "sm.log")
	}
	if r := once(); r.status != 0 || !strings.Contains(r.stdout, "SUBNET UP") {
		t.Errorf("alone: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	p := opensm.start(s, other, "-p", "9")
	p.await("SUBNET UP")
	if r := once(); r.status != 3 || !strings.Contains(r.stderr, "another subnet manager is master") {
		t.Errorf("beside a master: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	p.stop()
}

// TestOnceIncomplete: a device that has a link up and does not answer is reported, with a
// status of its own.
func TestOnceIncomplete(t *testing.T) {
	t.Parallel()
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	w := newTestSubnet(t, n)
	w.server.Do(func(f *fabric.Fabric) { f.SetUnresponsive(w.ends[2].Node, true) })
	env := append(caches(t), "IBSIM_SOCKNAME="+w.socket, "SIM_HOST="+w.hosts[0])
	r := run(t, t.TempDir(), env, program(t, "ibsm"), "--ibsim", "-o", "-f", "sm.log", "-t", "20", "--retries", "1")
	if r.status != 4 || !strings.Contains(r.stderr, "ibsm: error: the subnet came up with errors: ") ||
		!strings.Contains(r.stdout, "SUBNET UP") {
		t.Errorf("status %d, %s%s", r.status, r.stdout, r.stderr)
	}
}

// TestOnceEnds: a run of one sweep ends whatever is under way when the subnet is up, such as
// a tree that grows; that differs from run to run.
func TestOnceEnds(t *testing.T) {
	t.Parallel()
	for range 12 {
		dir := t.TempDir()
		if r := run(t, dir, caches(t), program(t, "ibsm"), "--fabric", "fattree:k=4", "-o", "-f", "sm.log",
			"--state_dir", dir); r.status != 0 {
			t.Errorf("status %d, %s%s", r.status, r.stdout, r.stderr)
		}
	}
}

// TestStates: under the name opensm the states on standard output are OpenSM's, in
// their order.
func TestStates(t *testing.T) {
	t.Parallel()
	const spec = "fattree:k=4,levels=2"
	guid := "0x" + strings.TrimLeft(strings.TrimPrefix(hostPorts(t, spec)[0], "0x"), "0")
	r := run(t, t.TempDir(), caches(t), asOpenSM(t), "--fabric", spec, "-o", "-f", "sm.log")
	var states []string
	for line := range strings.Lines(r.stdout) {
		if strings.HasPrefix(line, "E") || strings.HasPrefix(line, "SUBNET") || strings.HasPrefix(line, " Run") ||
			strings.HasPrefix(line, "OpenSM") || strings.HasPrefix(line, "Using") {
			states = append(states, strings.TrimSpace(line))
		}
	}
	if want := []string{"OpenSM 3.3.23", "Run Once", "Using default GUID " + guid, "Entering DISCOVERING state",
		"Entering MASTER state", "SUBNET UP", "Exiting SM"}; !slices.Equal(states, want) {
		t.Errorf("status %d, states %q, want %q\n%s%s", r.status, states, want, r.stdout, r.stderr)
	}
}

// hostPorts are the GUIDs of two adapters of a fabric.
func hostPorts(t *testing.T, spec string) (guids []string) {
	t.Helper()
	n := nettest.Generate(t, spec)
	f := fabric.New(n, fabric.Config{})
	for at := range f.EndPorts() {
		if f.NodeType(at.Node) == mad.CA {
			guids = append(guids, f.PortGUID(at).String())
		}
	}
	return guids[:2]
}
