package conf

import (
	"errors"
	"strconv"
	"strings"
)

// exits are options whose range errors end OpenSM with a status of its own.
var exits = map[string]string{
	"lmc":             "LMC must be 7 or less",
	"priority":        "priority must be between 0 and 15",
	"sm_sl":           "SM's SL must be between 0 and 15",
	"lash_start_vl":   "starting lash vl must be between 0 and 15",
	"nue_max_num_vls": "maximum number of VLs for nue must be between 0 and 15",
}

// exitRange is that status.
const exitRange = 255

// maxSweep is the longest interval that OpenSM takes as an option, in seconds.
const maxSweep = 4294

// set puts an option into force.
func (c *Config) set(g Given, report *Report) {
	switch g.Long {
	case "verbose":
		c.option("log_flags", Value{Num: (c.Uint("log_flags")<<1 | 1) & 0xff})
		return
	case "V":
		c.option("log_flags", Value{Num: 0xff})
		c.option("force_log_flush", Value{Num: 1})
		return
	case "debug":
		c.debug(g, report)
		return
	}
	if g.Key == "" {
		return
	}
	k := Find(g.Key)
	v, err := k.fromOption(g)
	if err != nil {
		report.wrongOption(g, k, err)
		return
	}
	c.option(g.Key, v)
}

// option sets a setting.
func (c *Config) option(name string, v Value) {
	c.settings[row(name)] = Setting{Value: v, Source: FromOption, Position: commandLine}
}

// debug sets what the old numbers of -d mean.
func (c *Config) debug(g Given, report *Report) {
	meanings := map[string]string{"0": "ignore_other_sm", "1": "single_thread", "2": "force_log_flush", "3": "disable_multicast"}
	name, ok := meanings[g.Value]
	if !ok {
		report.add(Warning, commandLine, "", "%s: Unknown debug option ignored; known are 0, 1, 2 and 3", g)
		return
	}
	c.option(name, Value{Num: 1})
}

// fromOption is the value that an option gives to its setting.
func (k *Key) fromOption(g Given) (Value, error) {
	text := g.Value
	if g.Arg == "" {
		text = g.Sets
	}
	switch {
	case k.Kind == X64 && k.Arg != "KEY": // these are in base 16 with or without 0x
		digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
		n, err := strconv.ParseUint(digits, 16, 64)
		if err != nil {
			return Value{}, errors.New("want 1 to 16 hexadecimal digits")
		}
		return Value{Num: n}, nil
	case g.Long == "maxsmps":
		n, err := parseNumber(text, 32)
		if err == nil && (n == 0 || n > noBound) {
			n = noBound
		}
		return Value{Num: n}, err
	case k.Kind == String:
		if strings.ContainsRune(text, 0) {
			return Value{}, errors.New("zero byte")
		}
		return Value{Text: text, Unset: text == null}, nil
	}
	v, err := k.parse(text, Value{})
	if err == nil && g.Long == "sweep" && v.Num > maxSweep {
		err = errors.New("sweep interval given is too large")
	}
	return v, err
}

// noBound is OpenSM's max_wire_smps without one.
const noBound = 0x7fffffff

// wrongOption reports an argument that is not taken. Where OpenSM goes on with the
// value before and no route, key or partition depends on it, so does this manager.
func (r *Report) wrongOption(g Given, k *Key, err error) {
	severity, status := Refusal, 2
	text := err.Error()
	switch {
	case errors.Is(err, errNotNumeric): // OpenSM takes the digits before the first other character
	case exits[g.Long] != "":
		status, text = exitRange, exits[g.Long]
	case g.Long == "timeout", g.Long == "sweep", g.Long == "console":
		severity = Mistake
	}
	r.add(severity, commandLine, k.Name, "%s: %s; want %s", g, text, k.Wanted())
	(*r)[len(*r)-1].Status = status
}
