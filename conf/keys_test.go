package conf

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
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

// TestKeysFile: keys that are not set are derived from the secret, at start and at a reload, and none is written to a file.
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
		return SMKey.In(c) == s.SMKey() && MKey.In(c) == s.MKey() && SAKey.In(c) == 0x5ec && MKey.Chosen(c) && SMKey.Chosen(c)
	}
	if !is(l.Config, &secrets[0]) {
		t.Errorf("sm_key %#x, m_key %#x, sa_key %#x", SMKey.In(l.Config), MKey.In(l.Config), SAKey.In(l.Config))
	}
	for name, write := range map[string]func() ([]byte, error){"opensm.conf": l.WriteOpenSM, "ibsm.toml": l.WriteTOML} {
		b, err := write()
		if err != nil || !strings.Contains(string(b), "/k") || strings.Contains(string(b), MKey.Key().Format(l.Setting(MKey.Key()).Value)) {
			t.Errorf("%s: %v, or it has a derived key:\n%s", name, err, b)
		}
	}
	file = secrets[1].Text()
	next, changed, _, err := l.Reread(env)
	if slices.Sort(changed); err != nil || !is(next.Config, &secrets[1]) || !slices.Equal(changed, []string{"m_key", "sm_key"}) {
		t.Errorf("another secret: changed %v, %v", changed, err)
	}
	for what, set := range map[string]func(){
		"expected the line ibsm-keys 1": func() { file = []byte("m_key 5\n") },
		"ibsmctl security new /k":       func() { file, readable = nil, fs.ErrNotExist },
		"chmod":                         func() { readable = errors.New("/k can be read by others: chmod 600 /k") },
	} {
		file, readable = secrets[0].Text(), nil
		set()
		if same, _, _, err := l.Reread(env); err == nil || !strings.Contains(err.Error(), what) || same != l {
			t.Errorf("reload: %v, want %s", err, what)
		}
		if err := Load([]string{"-F", "o.conf"}, env).Report.Err(Start); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("start: %v, want %s", err, what)
		}
	}
}
