package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
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
		"good":   "qos-ulps\n default: 1\n ipoib: 5\n sdp, port-num 9: 6\nend-qos-ulps\n",
		"bad":    "qos-ulps\n default: 16\n sdq: 1\nend-qos-ulps\n",
		"warned": "qos-ulps\n default: 1\n any, pkey 9-7: 1\nend-qos-ulps\n",
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
		{"check bad", 1, []string{"bad:2:11: error: 16 is out of range; expected 0 to 15\n     default: 16\n",
			`bad:3:2: error: unexpected "sdq"`, "has 2 errors: a manager would not apply it"}},
		{"check warned", 0, []string{"warned:3:12: warning: the range is reversed"}},
		{"check --strict warned", 1, []string{"has 1 warning"}},
		{"check missing", 1, []string{"no such file"}},
		{"check --json bad", 1, []string{`"line": 2`, `"column": 11`}},
		{"show good", 0, []string{"RULE  LINE  REQUESTS", "1  3     P_Key 0x7fff        SL 5   ipoib",
			"2  4     service ID 0x10009", "sdp, port-num 9", "2     all others          SL 1"}},
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
		"path record: SL 5, MTU 4096, 100 Gb/s, lifetime 18, P_Key 0xffff\n  rule p:3:2: ipoib\n  level SL 5\n": {
			Found: true, SL: 5, MTU: 4096, Gbps: 100, LifeTime: 18, PKey: "0xffff", Rule: "ipoib", Limits: "SL 5",
			Position: "p:3:2",
		},
		"path record: SL 0, MTU 256, 2.5 Gb/s, lifetime 0, P_Key 0x0001\n  no QoS policy\n": {
			Found: true, MTU: 256, Gbps: 2.5, PKey: "0x0001",
		},
		"path record: none: x\n  no rule matches: the default level, p:2:1\n  level DEFAULT: SL 1\n": {
			Reason: "x", Level: "DEFAULT", Limits: "SL 1", Position: "p:2:1",
		},
	} {
		if got := pathAnswerText(&p); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

// TestQoSRefused: after a reload of a policy file with errors, status, why, top and the metrics say that
// the earlier policy is in force, and why; after one without errors, none does.
func TestQoSRefused(t *testing.T) {
	dir := t.TempDir()
	file, config := filepath.Join(dir, "qos-policy.conf"), filepath.Join(dir, "opensm.conf")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "qos-ulps\ndefault: 1\nend-qos-ulps\n")
	write(config, "qos TRUE\nqos_policy_file "+file+"\n")
	socket, _ := startManager(t, "fattree:k=4", "-F", config, "--state_dir", "none")
	ask := func(args ...string) string {
		var out bytes.Buffer
		run(append([]string{"--socket", socket}, args...), &out, &out)
		return out.String()
	}
	metric := `ibsm_file_refused{setting="qos_policy_file"} 1`
	first := "EARLIER QOS POLICY: the last valid version is in force, because " + file + " cannot be used: " + file +
		":2:10: 16 is out of range; expected 0 to 15\n"
	for _, c := range []struct {
		text    string
		refused bool
	}{{"qos-ulps\ndefault: 16\nend-qos-ulps\n", true}, {"qos-ulps\ndefault: 2\nend-qos-ulps\n", false}} {
		write(file, c.text)
		ask("config", "reload")
		for _, args := range [][]string{{"status"}, {"why"}, {"why", "host-01", "host-02"}} {
			if got := ask(args...); strings.HasPrefix(got, first) != c.refused ||
				strings.Contains(got, "QOS POLICY") != c.refused {
				t.Errorf("%q, %v:\n%s\nfirst line, if refused:\n%s", c.text, args, got, first)
			}
		}
		if got := scrape(t, socket); strings.Contains(got, metric) != c.refused {
			t.Errorf("%q: the metrics have %s: %t", c.text, metric, !c.refused)
		}
	}
	v := looked()
	v.now.Status.QoSPolicy = &ctl.QoSTrouble{InForce: "no policy", File: "q.conf", Reason: "q.conf:1:1: wrong"}
	if lines := render(v, 120, 40); !strings.HasPrefix(lines[0].text, "NO QOS POLICY: ") {
		t.Errorf("top begins with %q", lines[0].text)
	}
}

// scrape is the metrics as text.
func scrape(t *testing.T, socket string) string {
	t.Helper()
	client := http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}}
	defer client.CloseIdleConnections()
	r, err := client.Get("http://ibsm/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
