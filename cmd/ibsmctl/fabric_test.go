package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ibsm/ctl"
)

// What works on a topology needs no manager.
func TestDescribed(t *testing.T) {
	beside(t)
	t.Setenv(ctl.SocketEnv, "/nonexistent")
	dir := t.TempDir()
	file := filepath.Join(dir, "torus.svg")
	for _, c := range []struct {
		args   string
		want   string // a regular expression for the whole of standard output
		status int
		says   string // part of standard error
	}{
		{"draw --fabric torus:dims=3x3", `(?s)^<svg .*9 switches, 9 adapters, 27 links.*torus:dims=3x3;.*</svg>\n$`, 0,
			""},
		{"draw --fabric torus:dims=3x3 --colour load -o " + file, `^$`, 0, ""},
		{"dump --format=slurm --fabric fattree:k=4,levels=2",
			`^# 8 hosts.*\n(SwitchName=leaf-0\d Nodes=host-\[.*\]\n){4}SwitchName=fabric Switches=leaf-\[01-04\]\n$`, 0,
			""},
		{"dump --format=slurm lfts", `^$`, 2, "a kind (lfts) and a format (slurm)"},
		{"dump --format=pbs", `^$`, 2, "expected slurm, slurm-block, slurm-yaml, topograph, kueue or volcano"},
		{"dump lfts --fabric fattree:k=4", `^$`, 2, "--fabric needs a format of a scheduler, and lfts is none"},
		{"dump subnet --device mlx5_0", `^$`, 2, "--device needs a format of a scheduler, and subnet is none"},
		{"dump slurm-block --fabric torus:dims=2x1", `^#.*\nBlockName=switch-0-0 Nodes=host-01\n(.*\n){2}$`, 0, ""},
		{"dump topograph --fabric torus:dims=2x1", `^#.*\nswitches:\n  "fabric":\n(.*\n){3}blocks:\n- switch: "switch-0-0"\n` +
			`  nodes:\n  - "host-01"\n(.*\n){3}$`, 0, ""},
		{"dump kueue --fabric torus:dims=2x1 --label-prefix example.com/tier",
			`(?s)^#.*kind: Topology\n.*"example.com/tier1"\n.*"example.com/tier0"\n.*"kubernetes.io/hostname"\n$`, 0, ""},
		{"dump volcano --fabric torus:dims=2x1", `^#.*\n(---\n(.*\n)*?kind: HyperNode\n(.*\n)*?){3}$`, 0, ""},
		{"dump kueue --fabric torus:dims=2x1 --label-prefix /", `^$`, 2, "is not the beginning of a label's key"},
		{"dump slurm --fabric torus:dims=2x1 --rail 1", `^$`, 2, "--rail and --device need a manager"},
		{"hosts --labels node1", `^$`, 2, "takes no NAME"},
		{"hosts --labels --json", `^$`, 2, "exclude each other"},
		{"hosts --label-prefix a/b", `^$`, 2, "--label-prefix needs --labels"},
		{"hosts --labels --label-prefix a/b/", `^$`, 2, "is not the beginning of a label's key"},
		{"dump", `^$`, 2, "an argument is missing"},
		{"draw --fabric torus:dims=3x0", `^$`, 2, "expected up to 6 sizes"},
		{"draw --fabric " + file + ".none", `^$`, 1, "no such file"},
		{"draw --fabric " + file, `^$`, 1, "no node in the file"},
	} {
		out, errs, status := invoke(t, strings.Fields(c.args)...)
		if status != c.status || !regexp.MustCompile(c.want).MatchString(out) || !strings.Contains(errs, c.says) ||
			(errs == "") != (status == 0) {
			t.Errorf("ibsmctl %s: status %d, it wrote\n%s%s", c.args, status, out, errs)
		}
	}
	if picture, err := os.ReadFile(file); err != nil || !strings.Contains(string(picture), "mean ") {
		t.Errorf("%v, %.100s", err, picture)
	}
}

// The LIDs of a file are shown, unless some are missing or used twice.
func TestLIDsOfFile(t *testing.T) {
	beside(t)
	topology, _, _ := invoke(t, "draw", "--fabric", "../../../shared/data/ndr-582.topo")
	if topology == "" {
		t.Skip("the real cluster's file is not there")
	}
	if want := "MF0;A09-P1-IBLEAF-04-04:MQM9701/U1\nGUID 0x2c5eab0300b87b40, LID 73\n"; !strings.Contains(topology,
		want) {
		t.Errorf("there is no %q", want)
	}
}
