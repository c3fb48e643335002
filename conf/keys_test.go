package conf

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ibsm/keys"
)

// secretEnvironment has a configuration file and a file of keys.
func secretEnvironment(t *testing.T, text *string, secret *[]byte, readable *error) Environment {
	return Environment{
		Getenv: func(string) string { return "" },
		ReadFile: func(name string) ([]byte, error) {
			if name != "o.conf" {
				return nil, fs.ErrNotExist
			}
			return []byte(*text), nil
		},
		ReadSecret: func(name string) ([]byte, error) {
			if name != "/k" {
				t.Errorf("%s is read as a secret", name)
			}
			return *secret, *readable
		},
	}
}

// TestKeysFile: keys that are not set are derived from the secret, at start and at a reload, and none is written to a
// file.
func TestKeysFile(t *testing.T) {
	secrets := [2]keys.Secret{}
	for i := range secrets {
		secrets[i], _ = keys.New(bytes.NewReader(bytes.Repeat([]byte{byte(7 + i)}, 32)))
	}
	text, file, readable := "keys_file /k\nsa_key 0x5ec\n", secrets[0].Text(), error(nil)
	env := secretEnvironment(t, &text, &file, &readable)
	l := Load([]string{"-F", "o.conf"}, env)
	if err := l.Report.Err(Start); err != nil {
		t.Fatal(err)
	}
	is := func(c *Config, s *keys.Secret) bool {
		return SMKey.In(c) == s.SMKey() && MKey.In(c) == s.MKey() && SAKey.In(c) == 0x5ec && MKey.Chosen(c) &&
			SMKey.Chosen(c)
	}
	if !is(l.Config, &secrets[0]) {
		t.Errorf("sm_key %#x, m_key %#x, sa_key %#x", SMKey.In(l.Config), MKey.In(l.Config), SAKey.In(l.Config))
	}
	for name, write := range map[string]func() ([]byte, error){"opensm.conf": l.WriteOpenSM, "ibsm.toml": l.WriteTOML} {
		b, err := write()
		if err != nil || !strings.Contains(string(b), "/k") ||
			strings.Contains(string(b), MKey.Key().Format(l.Setting(MKey.Key()).Value)) {
			t.Errorf("%s: %v, or it has a derived key:\n%s", name, err, b)
		}
	}
	file = secrets[1].Text()
	next, changed, _, err := l.Reread(env)
	if slices.Sort(changed); err != nil || !is(next.Config, &secrets[1]) ||
		!slices.Equal(changed, []string{"m_key", "sm_key"}) {
		t.Errorf("another secret: changed %v, %v", changed, err)
	}
	for what, set := range map[string]func(){
		"expected the line ibsm-keys 1": func() { file = []byte("m_key 5\n") },
		"ibsmctl security new /k":       func() { file, readable = nil, fs.ErrNotExist },
		"chmod": func() {
			readable = errors.New("/k can be read or changed by others: chmod 600 /k")
		},
	} {
		file, readable = secrets[0].Text(), nil
		set()
		if same, _, _, err := l.Reread(env); err == nil || !strings.Contains(err.Error(), what) || same != l {
			t.Errorf("reload: %v, want %s", err, what)
		}
		if err := Load([]string{"-F", "o.conf"}, env).Report.Err(Start); err == nil ||
			!strings.Contains(err.Error(), what) {
			t.Errorf("start: %v, want %s", err, what)
		}
	}
}

// TestSecurity: tenants changes what nobody has chosen, at start and at a reload, and back; and is refused without
// secrets.
func TestSecurity(t *testing.T) {
	secret, _ := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	file, readable := secret.Text(), error(nil)
	text := "security tenants\nkeys_file /k\nsa_rate_threshold 50\n"
	env := secretEnvironment(t, &text, &file, &readable)
	is := func(c *Config, level uint8, lease uint16, trust, sgid bool, rate uint32) bool {
		return MKeyProtectionLevel.In(c) == level && MKeyProtectionLevel.Chosen(c) == (level > 0) &&
			MKeyLeasePeriod.In(c) == lease &&
			SAEnhancedTrustModel.In(c) == trust && SACheckSGIDSpoofing.In(c) == sgid && SARateThreshold.In(c) == rate
	}
	l := Load([]string{"-F", "o.conf"}, env)
	if err := l.Report.Err(Start); err != nil || !is(l.Config, 2, 60, true, true, 50) {
		t.Errorf("tenants: %v, %v", err, l.Config)
	}
	if b, err := l.WriteTOML(); err != nil || strings.Contains(string(b), "\nm_key_protection = 2") {
		t.Errorf("%v, or what follows is written as chosen:\n%s", err, b)
	}
	text = "keys_file /k\nsecurity open\nsa_rate_threshold 50\n"
	open, changed, _, err := l.Reread(env)
	if err != nil || !is(open.Config, 1, 0, false, false, 50) || !slices.Contains(changed, "m_key_protection_level") {
		t.Errorf("open again: %v, %v, changed %v", err, open.Config, changed)
	}
	if slices.Sort(changed); len(slices.Compact(slices.Clone(changed))) != len(changed) {
		t.Errorf("a setting is named twice: %v", changed)
	}
	text = "keys_file /k\nsecurity tenants\nm_key_lease_period 2\n"
	again, _, _, err := open.Reread(env)
	if err == nil || again != open { // the lease would end before a port is read three times
		t.Errorf("a lease that ends too early is taken: %v", err)
	}
	text = "keys_file /k\nsecurity tenants\nm_key_protection_level 1\nsa_enhanced_trust_model FALSE\n"
	if again, _, _, err = open.Reread(env); err != nil || MKeyProtectionLevel.In(again.Config) != 1 {
		t.Errorf("a chosen level: %v, %d", err, MKeyProtectionLevel.In(again.Config))
	}
	text = "security open\n"
	keyless := Load([]string{"-F", "o.conf"}, env)
	for _, bad := range []string{"security tenants\n", "security tenants\nm_key 5\nsm_key 6\n",
		"security tenants\nm_key 5\nsm_key 6\nsa_key 7\nm_key_protection_level 1\n",
		"security tenants\nm_key 5\nsm_key 6\nsa_key 7\nimpose m_key_lease_period\nm_key_lease_period 0\n",
		"m_key 5\nm_key_per_port TRUE\n", "m_key_per_port TRUE\nm_key_protection_level 2\n",
		"m_key_per_port TRUE\nm_key_protection_level 1\nm_key_lease_period 60\n",
		"security tenants\nkeys_file /k\nsm_key 1\nimpose sm_key\n", "security tenant\nkeys_file /k\n"} {
		text = bad
		if err := Load([]string{"-F", "o.conf"}, env).Report.Err(Start); err == nil {
			t.Errorf("%q starts", bad)
		}
		if _, _, _, err := keyless.Reread(env); err == nil {
			t.Errorf("%q is reloaded", bad)
		}
	}
	// keys of its own, without a keys_file
	for lines, bad := range map[string]bool{"": true, "m_key_per_port FALSE\n": false} {
		text = "security tenants\nm_key 5\nsm_key 6\nsa_key 7\n" + lines
		err := Load([]string{"-F", "o.conf"}, env).Report.Err(Start)
		if (err != nil) != bad || bad &&
			!strings.Contains(err.Error(), "o.conf:1:10: m_key_per_port TRUE without keys_file") {
			t.Errorf("%q: %v", text, err)
		}
	}
	text = "m_key_protection_level 2\nm_key_lease_period 60\nm_key 5\nsm_key 6\nsa_key 7\nm_key_per_port TRUE\n"
	for what, err := range map[string]error{"start": Load([]string{"-F", "o.conf"}, env).Report.Err(Start),
		"reload": reloaded(keyless, env)} {
		if err == nil || !strings.Contains(err.Error(),
			"make one with ibsmctl security new FILE, and name FILE as keys_file") {
			t.Errorf("%s without keys_file: %v", what, err)
		}
	}
}

// reloaded is the error of a reload.
func reloaded(l *Loaded, env Environment) error {
	_, _, _, err := l.Reread(env)
	return err
}

// TestKeysStayHidden: no finding of a start or a reload shows a key, and a key whose line goes is derived at once.
func TestKeysStayHidden(t *testing.T) {
	secret, _ := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	file, readable := secret.Text(), error(nil)
	var text string
	env := secretEnvironment(t, &text, &file, &readable)
	shown := func(report Report) {
		for _, f := range report {
			for _, key := range []uint64{0xabcdef1, 0xabcdef2, 0xabcdef3, secret.MKey(), secret.SMKey(),
				secret.SAKey()} {
				if strings.Contains(f.String(), strconv.FormatUint(key, 16)) ||
					strings.Contains(f.String(), strconv.FormatUint(key, 10)) {
					t.Errorf("a key is shown: %s", f)
				}
			}
		}
	}
	const own = "m_key 0xabcdef1\nsm_key 0xabcdef2\nsa_key 0xabcdef3\n"
	for _, c := range []struct {
		before, after string
		derived       bool
	}{
		{own, "keys_file /k\n", true},
		{"m_key 0x0\nkeys_file /k\n", "keys_file /k\n", true},
		{own, "", false},
		{own + "keys_file /k\n", "keys_file /k\nm_key x\n", false},
		{"keys_file /k\n", "keys_file (null)\n", true},
		{"keys_file /k\nsecurity tenants\n", "keys_file /k\nsecurity open\n", true},
	} {
		text = c.before
		l := Load([]string{"-F", "o.conf"}, env)
		shown(l.Report)
		text = c.after
		next, _, report, err := l.Reread(env)
		shown(report)
		if err == nil && (MKey.In(next.Config) == secret.MKey()) != c.derived {
			t.Errorf("%q, then %q: m_key %#x, derived %v", c.before, c.after, MKey.In(next.Config), c.derived)
		}
		_, report = FromFile("o.conf", []byte(c.after))
		shown(report)
	}
	for text, bad := range map[string]bool{
		"security tenants\n": true, "security tenants\nkeys_file /k\n": false,
		"m_key_per_port TRUE\nm_key 5\n": true, "m_key_per_port TRUE\nkeys_file /k\n": false,
	} {
		if _, report := FromFile("o.conf", []byte(text)); (report.Err(Start) != nil) != bad {
			t.Errorf("config check of %q: %v", text, report)
		}
	}
}

// TestSecuredConfigurations: of an opensm.conf after NVIDIA's security guide, and of one after the runbook of its
// controller, every line takes effect, or a note says what becomes of it, and the only complaint is that M_Keys of
// ports need a keys_file.
func TestSecuredConfigurations(t *testing.T) {
	const guide = `m_key 0x5eed5eed5eed5eed
m_key_per_port TRUE
m_key_lease_period 60
m_key_protection_level 2
sm_key 0xa11ce0a11ce0a11c
sa_key 0xb0bb0bb0bb0bb0bb
allowed_sm_guids 0x0002c90300000001,0x0002c90300000002
periodic_key_update 3600
sa_enhanced_trust_model TRUE
sa_etm_allow_untrusted_guidinfo_rec FALSE
sa_etm_allow_guidinfo_rec_by_vf FALSE
sa_etm_allow_untrusted_proxy_requests FALSE
sa_check_sgid_spoofing TRUE
sa_rate_threshold 1000
key_mgr_seed 0xffffffffffffffff
vs_key_enable 2
cc_key_enable 2
n2n_key_enable 2
`
	const runbook = `m_key_protection_level 2
m_key_lease_period 60
m_key_per_port TRUE
m_key 0x5eed5eed5eed5eed
sm_key 0xa11ce0a11ce0a11c
sa_key 0xb0bb0bb0bb0bb0bb
allowed_sm_guids 0x0002c90300000001,0x0002c90300000002
cc_key_enable 2
n2n_key_enable 2
vs_key_enable 2
sa_enhanced_trust_model TRUE
sa_etm_max_num_mcgs 128
sa_etm_max_num_srvcs 32
sa_etm_max_num_event_subs 32
topo_config_file /etc/topoconfig.conf
topo_config_enabled TRUE
`
	secret, _ := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	file, readable, text := secret.Text(), error(nil), ""
	env := secretEnvironment(t, &text, &file, &readable)
	for name, lines := range map[string]string{"security guide": guide, "runbook": runbook,
		"security guide, keys_file": guide + "keys_file /k\n", "runbook, keys_file": runbook + "keys_file /k\n"} {
		text = lines
		l := Load([]string{"-F", "o.conf"}, env)
		noted, refused := map[int]bool{}, 0
		for _, f := range l.Report {
			switch {
			case f.Severity == Refusal && strings.Contains(f.Text, "m_key_per_port TRUE without keys_file"):
				refused++
			case f.Severity != Note:
				t.Errorf("%s: %v", name, f)
			}
			noted[f.Position.Line] = true
		}
		for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
			key, value, _ := strings.Cut(line, " ")
			k := Find(key)
			if k == nil {
				if !noted[i+1] {
					t.Errorf("%s: nothing is said of %s", name, line)
				}
				continue
			}
			s := l.Setting(k)
			if want, err := k.parse(value, s.Value); err != nil || s.Value != want || s.Source != FromOpenSMConf ||
				k.Effect != Acts {
				t.Errorf("%s: %s is %s, from %v, with effect %v; %v", name, line, k.Format(s.Value), s.Source, k.Effect,
					err)
			}
		}
		if want := map[bool]int{false: 1}[strings.Contains(lines, "keys_file")]; refused != want {
			t.Errorf("%s: refused %d times for want of a keys_file, want %d", name, refused, want)
		}
	}
}
