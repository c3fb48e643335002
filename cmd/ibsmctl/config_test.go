package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	beside(t)
	dir := t.TempDir()
	files := map[string]string{
		"good.conf":    "lmc 2\nsm_priority 3\nmax_op_vls 5\n",
		"same.toml":    "[subnet]\nlmc = 2\n[election]\npriority = 3\n",
		"imposes.toml": "[subnet]\nlmc = 2\n[election]\npriority = 3\n[links]\nmax_operational_vls = 5\n",
		"bad.conf":     "lmc 9\n",
		"console.conf": "console socket\n",
		"unsure.conf":  "nosuchkey 1\n",
		"parts.conf":   "partition_config_file D/broken\n",
		"noparts.conf": "partition_config_file D/nosuch\n",
		"broken":       "A=1 ALL=full;\n",
		"tenants.conf": "security tenants\nm_key 5\nsm_key 6\nsa_key 7\npartition_config_file D/named\n",
		"open.conf":    "partition_config_file D/named\n",
		"named":        "Default=0x7fff: ALL=limited, SELF=full;\nA=1: SELF=full, node[01-10];\n",
		"group.conf":   "partition_config_file D/grouped\n",
		"grouped":      "Default=0x7fff: ALL=limited, SELF=full;\nA=1: SELF=full, @gpus;\n",
		"qos.conf":     "qos TRUE\nqos_policy_file D/badqos\n",
		"noqos.conf":   "qos_policy_file D/badqos\n",
		"badqos":       "qos-ulps\ndefault: 16\nend-qos-ulps\n",
	}
	for name, src := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(src, "D/", dir+"/")),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		status int
		want   string // in the output
	}{
		{"check D/good.conf", 0, ""},
		{"check D/bad.conf", 1, "bad.conf:1:5: error: lmc \"9\": value out of range"},
		{"check D/unsure.conf", 0, "unsure.conf:1:1: warning: Unrecognized token"},
		{"check --strict D/unsure.conf", 1, "warning"},
		{"check --json D/bad.conf", 1, `"severity": "error"`},
		{"check D/parts.conf", 1, "broken:1:1: error: \"A=1 ALL=full;\": no ':'"},
		{"check D/open.conf", 0, ""},
		{"check D/tenants.conf", 1, "named:2:17: error: \"node[01-10]\": by security tenants a name is no member"},
		{"check D/group.conf", 1, "grouped:2:17: error: \"@gpus\": no port group has this name"},
		{"check D/qos.conf", 1, "badqos:2:10: error: 16 is out of range"},
		{"check D/noqos.conf", 0, ""},
		{"check D/noparts.conf", 1, "noparts.conf:1:23: error: open "},
		{"check D/missing.conf", 1, "no such file"},
		{"show D/good.conf", 0, "lmc          2  "},
		{"show --all D/good.conf", 0, "not set: left unchanged"},
		{"show D/bad.conf", 1, "value out of range"},
		{"diff D/good.conf D/same.toml", 0, ""},
		{"diff D/good.conf D/imposes.toml", 1, "max_op_vls  (left unchanged)  5"},
		{"diff D/good.conf", 2, "an argument is missing"},
		{"convert D/good.conf", 0, "[subnet]"},
		{"convert D/console.conf", 0, "console.conf:1:9: error: console = socket: "},
		{"convert D/imposes.toml", 0, "\nimpose max_op_vls\n"},
		{"default", 0, "\nlmc 0\n"},
		{"default --toml", 0, "\n# lmc = 0\n"},
		{"default x", 2, `unexpected argument "x"`},
		{"nosuchverb", 2, "unknown verb"},
		{"chekc", 2, "did you mean check?"},
		{"diff a b c", 2, `unexpected argument "c"`},
		{"check --nosuchoption x", 2, "unknown option"},
		{"", 2, "ibsmctl config --help"},
		{"--help", 0, "Usage:"},
	} {
		var out bytes.Buffer
		args := strings.Fields("config " + strings.ReplaceAll(c.args, "D/", dir+"/"))
		if status := run(args, &out, &out); status != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("config %s: exit status %d, want %d and %q\n%s", c.args, status, c.status, c.want, out.String())
		}
	}
	var out bytes.Buffer
	run([]string{"config", "show", "--json", filepath.Join(dir, "good.conf")}, &out, &out)
	var settings []setting
	if err := json.Unmarshal(out.Bytes(), &settings); err != nil || len(settings) != 2 || settings[0].Key != "lmc" ||
		settings[0].Value != "2" {
		t.Errorf("show --json: %v %+v", err, settings)
	}
}
