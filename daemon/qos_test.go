package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/registry"
)

const (
	qosOn    = "qos TRUE\nqos_policy_file "
	goodQoS  = "qos-ulps\ndefault: 1\nipoib: 5\nend-qos-ulps\n"
	otherQoS = "qos-ulps\ndefault: 2 # another\nend-qos-ulps\n"
	badQoS   = "qos-ulps\ndefault: 16\nend-qos-ulps\n"
)

// withQoS is a fixture with a QoS policy file of its own.
func withQoS(t *testing.T, text string) *fixture {
	t.Helper()
	file := filepath.Join(t.TempDir(), "qos-policy.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return newFixture(t, qosOn+file+"\n", ownParts)
}

// qosFile is the policy file of a fixture.
func (o *fixture) qosFile() string { return o.current.Load().qos.name }

// defaultSL is the SL of the policy in force for requests that no rule matches, -1 without a policy.
func (o *fixture) defaultSL() int {
	if o.sent.QoS == nil {
		return -1
	}
	return int(o.sent.QoS.Default.SL)
}

// TestQoSReload: a file with errors changes nothing and says where; the same text is the same policy; a file
// without errors takes its place; QoS that is switched off has none.
func TestQoSReload(t *testing.T) {
	o := withQoS(t, goodQoS)
	file := o.qosFile()
	was := o.sent.QoS
	step := func(text string, want int, says string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o.log.Reset()
		o.reload(true)
		o.take()
		if got := o.defaultSL(); got != want || !strings.Contains(o.log.String(), says) {
			t.Errorf("%q: SL %d, want %d and %q\n%s", text, got, want, says, o.log.String())
		}
	}
	step(goodQoS, 1, "QoS policy in force")
	if o.sent.QoS != was {
		t.Error("the same text is another policy")
	}
	step(badQoS, 1, file+":2:10: 16 is out of range; expected 0 to 15")
	step(badQoS, 1, "the last valid version stays in force")
	step(otherQoS, 2, "QoS policy in force")
	o.write("opensm.conf", "qos FALSE\n")
	step(goodQoS, -1, "the QoS policy is no longer in force")
}

// TestQoSAtStart: a start fails with a file that cannot be used, and says where; a default file that is
// missing is none.
func TestQoSAtStart(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good": goodQoS, "bad": badQoS,
		"warned": "qos-ulps\ndefault: 1\nany, pkey 9-7: 1\nend-qos-ulps\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for options, want := range map[string]string{
		"-Q -Y good":            "",
		"-Y missing":            "",
		"-Q":                    "",
		"-Q -Y bad":             "the QoS policy file cannot be used: fix it, or start without -Q: ",
		"-Q -Y missing":         "no such file",
		"-Q -Y .":               "is a directory",
		"-Q -Y warned":          "",
		"-Q -Y warned --strict": ":3:11: the range is reversed",
		"-Q -Y good --strict":   "",
	} {
		args := strings.Fields(options)
		for i, a := range args {
			if i > 0 && args[i-1] == "-Y" {
				args[i] = filepath.Join(dir, a)
			}
		}
		_, err := selectQoS(load("", args...), nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
}

// TestQoSMirrored: a standby takes over with the policy of its master, and a manager without one with none.
func TestQoSMirrored(t *testing.T) {
	master := withQoS(t, goodQoS)
	o := withQoS(t, otherQoS)
	policy := master.sent.Registrar.Mirror.Policy
	o.hears(policy)
	if got := o.defaultSL(); got != 1 {
		t.Errorf("SL %d, want the master's, 1", got)
	}
	o.mustSay("differ=qos_policy_file")
	same := withQoS(t, strings.ReplaceAll(goodQoS, "\n", "  # a comment\n"))
	same.hears(policy)
	if same.mustSay("this manager's own files are identical to the master's"); string(
		same.sent.Registrar.Mirror.Policy) != string(policy) {
		t.Error("a standby passes another policy on")
	}
	none := withQoS(t, otherQoS)
	if none.hears(newFixture(t, "qos TRUE\n", ownParts).sent.Registrar.Mirror.Policy); none.defaultSL() != -1 {
		t.Errorf("SL %d, and the master has no policy", none.defaultSL())
	}
	o.entered(smp.Master)
	o.reload(true)
	o.take()
	if got := o.defaultSL(); got != 2 {
		t.Errorf("SL %d after a reload as master, want its own, 2", got)
	}
	for name, bad := range map[string][]byte{"cut off": policy[:len(policy)-len(ownParts)-9],
		"broken": []byte(strings.Replace(string(policy), "default: 1", "default= 1", 1))} {
		if p, err := newMasterPolicy(bad); err == nil {
			t.Errorf("%s: %+v", name, p.qos.policy)
		}
	}
}

// TestQoSGroups: the broadcast group of the default partition has the SL of the line ipoib.
func TestQoSGroups(t *testing.T) {
	for text, want := range map[string]uint8{goodQoS: 5, otherQoS: 0} {
		o := withQoS(t, text)
		o.write("partitions.conf", "Default=0x7fff, ipoib: ALL=full;\nx=2, ipoib, sl=3: ALL=full;\n")
		o.reload(true)
		o.take()
		sls := map[registry.Group]bool{}
		for _, g := range o.sent.Registrar.Groups {
			sls[registry.Group{PKey: g.PKey, SL: g.SL}] = true
		}
		if !sls[registry.Group{PKey: 0xffff, SL: want}] || !sls[registry.Group{PKey: 0x8002, SL: 3}] || len(sls) != 2 {
			t.Errorf("%q: %+v", text, sls)
		}
	}
}

// TestDefaultGroupTerms: default_mcg_mtu and default_mcg_rate are those of IPoIB groups to which the partition file
// gives none, also without a file; codes are those of partitions.conf.
func TestDefaultGroupTerms(t *testing.T) {
	broadcast := registry.BroadcastMGID(mad.DefaultPKey, 2)
	const settings = "default_mcg_mtu 5\ndefault_mcg_rate 7\n"
	check := func(text string, got []registry.Group, defaulted map[mad.GID]bool, mtu mad.MTU, rate mad.Rate) {
		if len(got) != 1 || got[0].MGID != broadcast || got[0].MTU != mtu || got[0].Rate != rate ||
			!defaulted[broadcast] {
			t.Errorf("%q: %+v, defaulted %v", text, got, defaulted)
		}
	}
	for text, want := range map[string]registry.Group{
		"Default=0x7fff, ipoib: ALL=full;\n":         {MTU: mad.MTU4096, Rate: 7},
		"Default=0x7fff, ipoib, mtu=3: ALL=full;\n":  {MTU: mad.MTU1024, Rate: 7},
		"Default=0x7fff, ipoib, rate=3: ALL=full;\n": {MTU: mad.MTU4096, Rate: 3},
	} {
		o := newFixture(t, settings, text)
		check(text, o.sent.Registrar.Groups, o.sent.Registrar.Defaulted, want.MTU, want.Rate)
	}
	c, _ := conf.FromFile("opensm.conf", []byte(settings))
	all, defaulted := groups(&partitions.Selected{Policy: partitions.Default()}, c)
	check("no file", all, defaulted, mad.MTU4096, 7)
}
