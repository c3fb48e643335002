package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestPortGroups: groups of both files are shown with their place and their members, and what no port matches.
func TestPortGroups(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	groups := file("groups", "port-group\nname: spines\nport-regexp: ^spine-0[1-3]$\nport-guid: 0x77\nend-port-group\n")
	policy := file("qos",
		"port-groups\nport-group\nname: first host\nport-name: \"host-01 mlx5_0/P1\"\nend-port-group\nend-port-groups\nqos-ulps\ndefault: 0\nend-qos-ulps\n")
	conf := file("opensm.conf", "routing_engine updn\nroot_guid_file "+file("roots", "spines\n")+"\npgrp_policy_file "+
		groups+"\nqos TRUE\nqos_policy_file "+policy+"\n")
	socket, _ := startManager(t, "fattree:k=4", "-F", conf, "--state_dir", "none")
	ask := func(status int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"--socket", socket, "port-groups"}, args...), &out, &out); got != status ||
			!regexp.MustCompile(says).MatchString(out.String()) {
			t.Errorf("%v: exit status %d, want %d and %q\n%s", args, got, status, says, out.String())
		}
	}
	ask(0, `^GROUP +PORTS +DEFINED AT +LISTS *\nspines `)
	ask(0, `(?m)^spines +3 +\S*groups:1:1 +description`)
	ask(0, `(?m)^first host +1 +\S*qos:2:1 +host-01 mlx5_0/P1`)
	ask(0, `(?m)^port GUID 0x0000000000000077 +spines +\S*groups:4:1`)
	ask(0, `(?s)^PORT GUID +NODE +PORT\n0x[0-9a-f]{16} +spine-01 +0\n0x[0-9a-f]{16} +spine-02 +0\n0x[0-9a-f]{16} +spine-03 +0\n\nNO PORT MATCHES`, "SPINES")
	ask(0, `^PORT GUID +NODE +PORT\n0x[0-9a-f]{16} +host-01 mlx5_0 +1\n$`, "first host")
	ask(0, `"name":"ALL_CAS",.*"ports":16,`, "--json", "all_cas")
	named := file("named", naming)
	var out bytes.Buffer
	if got := run([]string{"--socket", socket, "qos", "check", named}, &out, &out); got != 0 ||
		!regexp.MustCompile(
			`named:9:9: warning: port-group "spines" is not in this file: OpenSM refuses the file`).MatchString(
			out.String()) {
		t.Errorf("exit status %d\n%s", got, out.String())
	}
	ask(1, `no port group has the name "spine"; did you mean spines\?`, "spine")
}

// TestConfigPortGroups: config check reads the file of port groups, and the QoS policy with them.
func TestConfigPortGroups(t *testing.T) {
	beside(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("groups", "port-group\nname: spines\nport-regexp: ^spine\nend-port-group\n")
	bad := file("bad",
		"port-group\nname: a\nunion-rule: b\nend-port-group\nport-group\nname: b\nunion-rule: a\nend-port-group\n")
	policy := file("qos", naming)
	for _, c := range []struct {
		text   string
		status int
		says   string
	}{
		{"pgrp_policy_file " + bad + "\n", 1, `bad:7:1: error: port-group "a" contains itself through "b"`},
		{"pgrp_policy_file /no/such\n", 1, `opensm.conf:1:18: error: pgrp_policy_file: open /no/such`},
		{"pgrp_policy_file " + good + "\nqos TRUE\nqos_policy_file " + policy + "\n", 0,
			`qos:9:9: warning: port-group "spines" is not in this file`},
		{"qos TRUE\nqos_policy_file " + policy + "\n", 1, `qos:9:9: error: no port-group has the name "spines"`},
	} {
		var out bytes.Buffer
		if got := run([]string{"config", "check", file("opensm.conf", c.text)}, &out, &out); got != c.status ||
			!regexp.MustCompile(c.says).MatchString(out.String()) {
			t.Errorf("%q: exit status %d, want %d and %q\n%s", c.text, got, c.status, c.says, out.String())
		}
	}
}

// naming is a QoS policy that names a group of another file.
const naming = "qos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-level\nend-qos-levels\n" +
	"qos-match-rules\nqos-match-rule\nsource: spines\nqos-level-name: DEFAULT\nend-qos-match-rule\nend-qos-match-rules\n"
