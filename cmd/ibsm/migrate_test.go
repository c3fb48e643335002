package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

// migrations are the hosts on which the README's commands are tried, each with a variant of the trial:
// testdata/rig/migrate-host.sh describes them.
var migrations = []struct{ host, variant string }{
	{"ports-all", "plain"},
	{"ports-guid", "plain"},
	{"ports-guid", "again"},
	{"ports-guid", "no-file"},
	{"ports-guid", "late-file"},
	{"rhel", "plain"},
	{"rhel-guids", "plain"},
	{"hand", "plain"},
	{"ports-guid", "broken"},
	{"hand", "broken"},
	{"ports-guid", "moves"},
	{"ports-guid", "first"},
	{"ports-guid", "standby"},
}

// TestMigration: from OpenSM to ibsm and back by the README's own commands, with the units of Debian's and of RHEL's
// package: no LID, route, P_Key, multicast table or group changes. What fails leaves OpenSM running. systemctl is a
// script here; the rig's run-debian tries it with systemd.
func TestMigration(t *testing.T) {
	needFabcheck(t)
	if r := run(t, "", nil, "unshare", "-Urm", "-p", "-f", "--mount-proc", "mount", "-t", "tmpfs", "none",
		"/sys/class"); r.status != 0 {
		t.Skip("this system gives no mount and process namespaces: " + r.stderr)
	}
	for _, m := range migrations {
		t.Run(m.host+" "+m.variant, func(t *testing.T) {
			t.Parallel()
			s := startIbsim(t, generated("fattree:k=4").file(t))
			manager := s.net.managerHost()
			if m.variant == "standby" {
				opensm.start(s, s.net.witnessHost(), "-p", "15").await("SUBNET UP")
			}
			h := migrationHost(t, strings.TrimSpace(s.run(manager, "ibstat", "-p").stdout))
			env := append(s.env(manager), "PATH=/run/bin:"+os.Getenv("PATH"), "TO="+readmeScript(t, readmeToIbsm),
				"BACK="+readmeScript(t, readmeToOpenSM),
				"FABCHECK="+fabcheckPath()+" --ibsim", "WITNESS=SIM_HOST="+s.net.witnessHost(), "OUT="+s.dir)
			script := "ibsim-run bash " +
				strings.Join([]string{abs(t, "../../testdata/rig/migrate-host.sh"), m.host, m.variant}, " ")
			for _, folder := range append([]string{"/sys/class"}, hostFolders...) {
				script = "mount --bind " + h.path(folder) + " " + folder + " && " + script
			}
			p := start(t, nil, s.dir, env, "unshare", "-Urm", "-p", "-f", "--kill-child", "--mount-proc", "bash", "-c",
				script)
			select {
			case <-p.done:
			case <-time.After(5 * patience()):
				t.Fatal("it has not ended")
			}
			if p.err != nil {
				t.Errorf("%v\n%s", p.err, tail(p.text()))
			}
		})
	}
}

// migrationHost is a host with one port, of a GUID, with systemctl and ibsm's programs in /run/bin.
func migrationHost(t *testing.T, guid string) hostRoot {
	t.Helper()
	h := newHostRoot(t)
	const port, mad = "/sys/class/infiniband/mlx5_0/ports/1/", "/sys/class/infiniband_mad/"
	digits := strings.TrimPrefix(guid, "0x")
	h.write("/etc/default/ibsm", "IBSM_OPTIONS=--ibsim\n")
	h.write(port+"link_layer", "InfiniBand\n")
	h.write(port+"gids/0", "fe80:0000:0000:0000:"+digits[:4]+":"+digits[4:8]+":"+digits[8:12]+":"+digits[12:]+"\n")
	h.write(mad+"abi_version", "5\n")
	for _, kind := range []string{"umad0", "issm0"} {
		h.write(mad+kind+"/ibdev", "mlx5_0\n")
		h.write(mad+kind+"/port", "1\n")
	}
	errs := []error{os.MkdirAll(h.path("/etc/sysconfig"), 0o755), os.MkdirAll(h.path("/run/units"), 0o755),
		os.MkdirAll(h.path("/run/bin"), 0o755),
		os.MkdirAll(h.path("/var/cache/opensm"), 0o755)}
	for name, path := range map[string]string{"systemctl": abs(t, "../../testdata/rig/systemctl"),
		"ibsm": program(t, "ibsm"), "ibsmctl": program(t, "ibsmctl")} {
		errs = append(errs, os.Symlink(path, h.path("/run/bin/"+name)))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestDryRunMoves: what a takeover would take from traffic is counted: nothing with OpenSM's own settings; with an LMC,
// for which ports need LIDs at multiples of two, LIDs and the entries of tables that lead to them.
func TestDryRunMoves(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, generated("fattree:k=4").file(t))
	opensm.bringUp(s)
	dry := func(options ...string) (d ctl.DryRun) {
		t.Helper()
		r := s.run(s.net.witnessHost(), append([]string{program(t, "ibsm"), "--ibsim", "--dry-run", "--json"},
			options...)...)
		if err := json.Unmarshal([]byte(r.stdout), &d); err != nil {
			t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
		}
		return d
	}
	d := dry()
	if n := len(d.Moves.LIDs) + d.Moves.Entries + d.Moves.PKeys; n > 0 || len(d.LIDs) != d.Nodes || d.Switches == 0 {
		t.Errorf("%+v", d)
	}
	if len(d.SMs) != 1 || d.SMs[0].State != "MASTER" {
		t.Errorf("managers %+v", d.SMs)
	}
	d = dry("-l", "1")
	if len(d.Moves.LIDs) == 0 || d.Moves.Entries == 0 || d.LIDs[d.Moves.LIDs[0].Port] != d.Moves.LIDs[0].Was {
		t.Errorf("with LMC 1: %+v", d.Moves)
	}
}
