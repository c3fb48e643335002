package conf

import (
	"slices"

	"ibsm/keys"
)

// Config holds the value of every setting, which an Accessor reads. A Config is safe for
// concurrent reads; it changes only while it is loaded.
type Config struct {
	settings []Setting   // by row
	file     *File       // the file it was loaded from, nil for none
	secret   keys.Secret // of keys_file; the zero value for none
}

// New returns the defaults.
func New() *Config {
	c := &Config{settings: make([]Setting, len(table))}
	for i := range table {
		c.settings[i].Value = table[i].standard()
	}
	return c
}

// apply sets the values of a file.
func (c *Config) apply(f *File) {
	c.file = f
	for i, s := range f.settings {
		c.settings[i] = s
	}
}

// clone is a copy that may be changed.
func (c *Config) clone() *Config {
	return &Config{slices.Clone(c.settings), c.file, c.secret}
}

// Setting returns the value of a row of the table with its origin.
func (c *Config) Setting(k *Key) Setting { return c.settings[k.row()] }

// Chosen reports whether the value of a setting was chosen by the user. Settings with
// Key.Unset use the value only if it was chosen.
//
// A value in ibsm.toml or on the command line is chosen. A value in opensm.conf is
// chosen if it differs from OpenSM's default, because OpenSM writes every default into
// the files that it creates, or if the key impose of that file names the setting, or
// where Key.ByHand says so.
func (c *Config) Chosen(k *Key) bool { return c.settings[k.row()].chosen(k) }

func (s Setting) chosen(k *Key) bool {
	switch s.Source {
	case FromDefault:
		return false
	case FromOpenSMConf:
		return s.Imposed || s.Value != k.standard() || k.Own && k.Unset == "" // OpenSM writes no line of ours
	}
	return true
}
