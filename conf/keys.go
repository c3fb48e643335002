package conf

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"ibsm/conf/diag"
	"ibsm/keys"
)

// deriveKeys sets the keys that nobody has chosen by the secret of keys_file, and returns the names of those that
// changed by it. A file that cannot be read is an error: keys that everybody knows would be worse than none of
// this manager.
func (c *Config) deriveKeys(env Environment, report *Report) (changed []string) {
	name := KeysFile.In(c)
	if name == "" && slices.ContainsFunc(c.settings, func(s Setting) bool { return s.Source == FromKeysFile }) {
		report.add(Warning, c.Setting(KeysFile.Key()).Position, KeysFile.Key().Name,
			"keys_file is not set any more; the keys that were derived from it stay until the next start")
	}
	if name == "" || env.ReadSecret == nil { // a caller without one only looks at options
		return nil
	}
	at := c.Setting(KeysFile.Key())
	text, err := env.ReadSecret(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf(
			"%s does not exist: make it on one manager with ibsmctl security new %s, and take it to the others with ibsmctl security export and import", name, name)
	}
	if err != nil {
		report.add(Refusal, at.Position, KeysFile.Key().Name, "keys_file: %v", err)
		return nil
	}
	secret, err := keys.Parse(name, text)
	if bad := (diag.Error{}); errors.As(err, &bad) {
		report.add(Refusal, bad.Position, KeysFile.Key().Name, "%s", bad.Text)
		return nil
	}
	c.secret = secret
	for _, derived := range []struct {
		of   Accessor[uint64]
		from func() uint64
	}{{MKey, secret.MKey}, {SMKey, secret.SMKey}, {SAKey, secret.SAKey}} {
		s := &c.settings[derived.of.row]
		if s.chosen(derived.of.Key()) && s.Source != FromKeysFile {
			continue
		}
		value := Value{Num: derived.from()}
		if s.Value != value {
			changed = append(changed, derived.of.Key().Name)
		}
		*s = Setting{Value: value, Source: FromKeysFile, Position: at.Position}
	}
	// At level 0 agents show the M_Key to everybody.
	if k := MKeyProtectionLevel.Key(); !c.Chosen(k) {
		c.settings[k.row()] = Setting{Value: Value{Num: 1}, Source: FromKeysFile, Position: at.Position}
		changed = append(changed, k.Name)
	}
	return changed
}

// isDerived reports whether a setting is one that keys_file gives a value.
func (k *Key) isDerived() bool {
	return k == MKey.Key() || k == SMKey.Key() || k == SAKey.Key() || k == MKeyProtectionLevel.Key()
}

// hasKeysFile reports whether keys_file is set when a file has been read again; c is the configuration before.
func (f *File) hasKeysFile(c *Config) bool {
	if s, has := f.settings[KeysFile.row]; has {
		return s.Value.Text != ""
	}
	return KeysFile.In(c) != ""
}

// withoutDerived is the configuration without what follows from other settings: no file has the keys but that of
// the secret.
func (c *Config) withoutDerived() *Config {
	c = c.clone()
	for i := range c.settings {
		if s := c.settings[i].Source; s == FromKeysFile || s == FromSecurity {
			c.settings[i] = Setting{Value: table[i].standard()}
		}
	}
	return c
}
