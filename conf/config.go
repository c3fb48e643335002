package conf

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Config is the value of every setting. Settings are named as in opensm.conf; a name
// that does not exist, or is of another kind, panics. A Config may be read by many
// at once; it changes only while it is loaded.
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

// Setting returns a value with its origin.
func (c *Config) Setting(name string) Setting { return c.settings[row(name)] }

// Chosen reports whether somebody has chosen the value of a setting. It decides,
// for settings that the table says are otherwise taken from the fabric or found
// out, whether the value counts.
//
// This is the one rule for it: what stands in ibsm.toml or on the command line is
// chosen. What stands in opensm.conf is chosen if it differs from OpenSM's default,
// since OpenSM writes every default into the files that it makes; or if the key
// impose of that file names it.
func (c *Config) Chosen(name string) bool {
	i := row(name)
	return c.settings[i].chosen(&table[i])
}

func (s Setting) chosen(k *Key) bool {
	switch s.Source {
	case FromDefault:
		return false
	case FromOpenSMConf:
		return s.Imposed || s.Value != k.standard()
	}
	return true
}

// value is that of a setting of one of some kinds.
func (c *Config) value(name string, kinds ...Kind) (Value, *Key) {
	i := row(name)
	if !slices.Contains(kinds, table[i].Kind) {
		panic("conf: " + name + " is of kind " + table[i].Kind.String())
	}
	return c.settings[i].Value, &table[i]
}

// Bool is the value of a switch.
func (c *Config) Bool(name string) bool {
	v, _ := c.value(name, Bool)
	return v.Num != 0
}

// Uint is the value of a number, in the setting's unit.
func (c *Config) Uint(name string) uint64 {
	v, _ := c.value(name, U8, U16, U32, X64)
	return v.Num
}

// Int is the value of a signed number.
func (c *Config) Int(name string) int64 {
	v, _ := c.value(name, I32)
	return int64(v.Num)
}

// Duration is the value of a setting in seconds, milliseconds or microseconds.
func (c *Config) Duration(name string) time.Duration {
	v, k := c.value(name, U16, U32)
	unit := k.Unit.duration()
	if unit == 0 {
		panic("conf: " + name + " is no time")
	}
	if v.Num > math.MaxInt64/uint64(unit) {
		return math.MaxInt64
	}
	return time.Duration(v.Num) * unit
}

// duration is one of a unit, 0 if it is none of time.
func (u Unit) duration() time.Duration {
	switch u {
	case Seconds:
		return time.Second
	case Milliseconds:
		return time.Millisecond
	case Microseconds:
		return time.Microsecond
	}
	return 0
}

// Size is the value of a setting in MiB, in bytes.
func (c *Config) Size(name string) int64 {
	v, k := c.value(name, U32)
	if k.Unit != Mebibytes {
		panic("conf: " + name + " is no size")
	}
	return int64(v.Num) << 20
}

// Text is the value of a text or word, "" if it is unset.
func (c *Config) Text(name string) string {
	v, _ := c.value(name, String, Word, Mask, Pair)
	return v.Text
}

// List is the elements of a list, nil if it is unset or empty.
func (c *Config) List(name string) []string {
	v, _ := c.value(name, List)
	if v.Text == "" {
		return nil
	}
	return strings.Split(v.Text, ",")
}

// PerSL is a number for each SL.
func (c *Config) PerSL(name string) [slCount]uint64 {
	v, _ := c.value(name, SLs8, SLs16)
	return slNumbers(v)
}
