package conf

import "slices"

// Config is the value of every setting, which an Accessor reads. A Config may be read by
// many at once; it changes only while it is loaded.
type Config struct {
	settings []Setting // by row
	file     *File     // that it was loaded from, nil for none
}

// New returns the defaults.
func New() *Config {
	c := &Config{settings: make([]Setting, len(table))}
	for i := range table {
		c.settings[i].Value = table[i].standard()
	}
	return c
}

// apply lays a file over what there is.
func (c *Config) apply(f *File) {
	c.file = f
	for i, s := range f.settings {
		c.settings[i] = s
	}
}

// clone is a copy that may be changed.
func (c *Config) clone() *Config {
	return &Config{slices.Clone(c.settings), c.file}
}

// Setting returns the value of a row of the table with its origin.
func (c *Config) Setting(k *Key) Setting { return c.settings[k.row()] }

// Chosen reports whether somebody has chosen the value of a setting. It decides,
// for settings that the table says are otherwise taken from the fabric or found
// out, whether the value counts.
//
// This is the one rule for it: what stands in ibsm.toml or on the command line is
// chosen. What stands in opensm.conf is chosen if it differs from OpenSM's default,
// since OpenSM writes every default into the files that it makes; or if the key
// impose of that file names it.
func (c *Config) Chosen(k *Key) bool { return c.settings[k.row()].chosen(k) }

func (s Setting) chosen(k *Key) bool {
	switch s.Source {
	case FromDefault:
		return false
	case FromOpenSMConf:
		return s.Imposed || s.Value != k.standard()
	}
	return true
}
