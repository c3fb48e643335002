package main_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// trusted are the queries of saquery that the enhanced trust model answers without the SA_Key, and those
// that it does not. $L is the LID of the host that asks, $M the manager's, $S a switch's.
var trusted = []struct {
	query    string
	answered bool
}{
	{"CPI", true}, {"SMIR", true}, {"PR --slid $L --dlid $M", true}, {"--src-to-dst $L:$M", true},
	{"PR --slid $M --dlid $L", false}, {"PR", false}, {"PR --dlid $M", false},
	{"NR", false}, {"NR $M", false}, {"PIR $M", false}, {"LR", false}, {"SWIR", false}, {"LFTR $S", false}, {"PKTR $M/1/0", false}, {"GIR $M/0", false},
	{"MCMR", false}, {"-g", false}, {"SR", false}, {"IIR", false}, {"SL2VL $M", false}, {"VLAR $M/1/1", false},
}

// TestTrust: saquery without the key sees what a host needs, and nothing else; with the key it sees all; with a
// guessed one nothing. The manager names who asked, and osmtest, which shows the key, passes.
func TestTrust(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, example("net.2sw2path4hca").file(t))
	ours := ibsm.bringUp(s)
	names := namesToAsk(s)
	ours.stop()
	s.conf = "sa_enhanced_trust_model TRUE\nsa_check_sgid_spoofing TRUE\nsa_rate_threshold 1000\nsa_key 0x5ec\n"
	socket := filepath.Join(t.TempDir(), "ctl")
	ibsm.bringUp(s, "--ctl_socket", socket)
	ctl := func(verb ...string) result {
		return run(t, s.dir, nil, append([]string{program(t, "ibsmctl"), "--socket", socket}, verb...)...)
	}
	asks := s.net.witnessHost()
	silence := regexp.MustCompile(`Query SA failed: Connection timed out|Unable to connect`)
	for _, q := range trusted {
		for key, answered := range map[string]bool{"": q.answered, " --smkey 0x5ec": true, " --smkey 0x5ed": false} {
			wait := "100" // ms; an answer may take longer on a busy host
			if answered {
				wait = "5000"
			}
			argv := append([]string{"saquery", "-t", wait}, strings.Fields(names.Replace(q.query+key))...)
			if r := s.run(asks, argv...); silence.MatchString(r.stdout+r.stderr) == answered {
				t.Errorf("saquery %s: status %d\n%s%s", names.Replace(q.query+key), r.status, r.stdout, r.stderr)
			}
		}
	}
	shown := ctl("security")
	for _, want := range []string{
		`fails +m_key `, `fails +sm_key `, `holds +sa_key `, `holds +sa_enhanced_trust_model `, `holds +sa_check_sgid_spoofing `,
		`holds +sa_rate_threshold .*1000`, `fails +default partition `, `left as found +congestion control keys`,
	} {
		if !regexp.MustCompile(want).MatchString(shown.stdout) {
			t.Errorf("ibsmctl security does not say %q:\n%s%s", want, shown.stdout, shown.stderr)
		}
	}
	if shown.status != 1 {
		t.Errorf("ibsmctl security: exit status %d with rules that fail", shown.status)
	}
	if r := ctl("security", "offenders"); !regexp.MustCompile(`untrusted +\d+`).MatchString(r.stdout) || !regexp.MustCompile(`bad SM_Key +\d+`).MatchString(r.stdout) {
		t.Errorf("ibsmctl security offenders:\n%s%s", r.stdout, r.stderr)
	}
}
