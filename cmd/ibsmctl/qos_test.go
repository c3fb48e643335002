package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/ctl"
)

// TestQoS: check names line and column, and show the rules in the order in which they are tried.
func TestQoS(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(ctl.SocketEnv, filepath.Join(dir, "no.sock"))
	for name, text := range map[string]string{
		"good": "qos-ulps\n default: 1\n ipoib: 5\n sdp, port-num 9: 6\nend-qos-ulps\n", "bad": "qos-ulps\n default: 16\n sdq: 1\nend-qos-ulps\n",
		"doubtful": "qos-ulps\n default: 1\n any, pkey 9-7: 1\nend-qos-ulps\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		status int
		says   []string
	}{
		{"check good", 0, nil},
		{"check --strict good", 0, nil},
		{"check bad", 1, []string{"bad:2:11: error: 16 is out of range; expected 0 to 15\n     default: 16\n", `bad:3:2: error: unexpected "sdq"`, "has 2 errors: a manager would not apply it"}},
		{"check doubtful", 0, []string{"doubtful:3:12: warning: the range is reversed"}},
		{"check --strict doubtful", 1, []string{"has 1 warning"}},
		{"check missing", 1, []string{"no such file"}},
		{"check --json bad", 1, []string{`"line": 2`, `"column": 11`}},
		{"show good", 0, []string{"RULE  LINE  REQUESTS", "1  3     P_Key 0x7fff        SL 5   ipoib", "2  4     service ID 0x10009", "sdp, port-num 9", "2     all others          SL 1"}},
		{"show --json good", 0, []string{`"conditions": "P_Key 0x7fff"`, `"position": "`}},
		{"show bad", 1, []string{"bad:2:11: 16 is out of range", "shows all errors"}},
		{"show", 1, []string{"no.sock"}},
		{"shew", 2, []string{"unknown verb"}},
		{"--help", 0, []string{"Usage:"}},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			if i > 0 && !strings.HasPrefix(args[i], "-") {
				args[i] = filepath.Join(dir, args[i])
			}
		}
		var out bytes.Buffer
		status := run(append([]string{"qos"}, args...), &out, &out)
		if status != c.status {
			t.Errorf("%s: exit status %d, want %d\n%s", c.args, status, c.status, out.String())
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: want %q\n%s", c.args, want, out.String())
			}
		}
	}
}

// TestPathAnswerText: the rule that decides is shown with its line.
func TestPathAnswerText(t *testing.T) {
	for want, p := range map[string]ctl.PathAnswer{
		"path record: SL 5, MTU 4096, 100 Gb/s, lifetime 18, P_Key 0xffff\n  rule p:3:2: ipoib\n  level SL 5\n": {Found: true, SL: 5, MTU: 4096, Gbps: 100, LifeTime: 18, PKey: "0xffff", Rule: "ipoib", Limits: "SL 5", Position: "p:3:2"},
		"path record: SL 0, MTU 256, 2.5 Gb/s, lifetime 0, P_Key 0x0001\n  no QoS policy\n":                     {Found: true, MTU: 256, Gbps: 2.5, PKey: "0x0001"},
		"path record: none: x\n  no rule matches: the default level, p:2:1\n  level DEFAULT: SL 1\n":            {Reason: "x", Level: "DEFAULT", Limits: "SL 1", Position: "p:2:1"},
	} {
		if got := pathAnswerText(&p); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}
