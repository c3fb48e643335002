package conf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// exits are options whose range errors end OpenSM with the status exitRange.
var exits = map[string]string{
	"lmc":             "LMC must be 7 or less",
	"priority":        "priority must be between 0 and 15",
	"sm_sl":           "SM's SL must be between 0 and 15",
	"lash_start_vl":   "starting lash vl must be between 0 and 15",
	"nue_max_num_vls": "maximum number of VLs for nue must be between 0 and 15",
}

// exitRange is the exit status for them.
const exitRange = 255

// maxSweep is the longest sweep interval that OpenSM accepts as an option, in seconds.
const maxSweep = 4294

// set applies an option.
func (c *Config) set(g Given, report *Report) {
	switch g.Long {
	case "verbose":
		c.option(LogFlags.Key(), Value{Num: uint64(LogFlags.In(c)<<1 | 1)})
		return
	case "V":
		c.option(LogFlags.Key(), Value{Num: 0xff})
		c.option(ForceLogFlush.Key(), Value{Num: 1})
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
	if n, err := parseNumber(g.Value, 64); err == nil && n == v.Num && k.Kind.numeric() && octal(g.Value) {
		report.add(Warning, commandLine, k.Name, "%s: a leading 0 makes it octal, %d", g, v.Num)
	}
	c.option(k, v)
}

// option sets a setting.
func (c *Config) option(k *Key, v Value) {
	c.settings[k.row()] = Setting{Value: v, Source: FromOption, Position: commandLine}
}

// debug applies the numbers of -d.
func (c *Config) debug(g Given, report *Report) {
	meanings := []*Key{IgnoreOtherSM.Key(), SingleThread.Key(), ForceLogFlush.Key(), DisableMulticast.Key()}
	n, err := parseNumber(g.Value, 32)
	switch {
	case err != nil:
		report.add(Refusal, commandLine, "", "%s: %v; expected 0 to 3", g, err)
		(*report)[len(*report)-1].Status = 2
	case n >= uint64(len(meanings)):
		report.add(Warning, commandLine, "", "%s: Unknown debug option %d ignored; known are 0 to 3", g, n)
	default:
		c.option(meanings[n], Value{Num: 1})
	}
}

// fromOption is the value of an option's setting.
func (k *Key) fromOption(g Given) (Value, error) {
	text := g.Value
	if g.Arg == "" {
		text = g.Sets
	}
	switch {
	case k.Kind == HCA, k.Kind == X64 && k.Arg != "KEY": // hexadecimal with or without 0x
		digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
		n, err := strconv.ParseUint(digits, 16, 64)
		if v, is := parseHCA(text); err != nil && k.Kind == HCA && is == nil && v.Text != "" {
			return v, nil
		}
		if err != nil {
			return Value{}, errors.New("expected 1 to 16 hexadecimal digits")
		}
		return Value{Num: n}, nil
	case g.Long == "maxsmps":
		n, err := parseNumber(text, 32)
		if err == nil && (n == 0 || n > NoBound) {
			n = NoBound
		}
		return Value{Num: n}, err
	case g.Long == "max_reverse_hops", g.Long == "perfmgr_sweep_time_s": // decimal only
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return Value{}, errNotNumeric
		}
		return k.number(int64(n), nil)
	case strings.ContainsRune(text, 0):
		return Value{}, errors.New("zero byte")
	}
	v, err := k.parse(text, Value{})
	if err == nil && g.Long == "sweep" && v.Num > maxSweep {
		err = errors.New("sweep interval given is too large")
	}
	return v, err
}

// NoBound is the value of max_wire_smps for no limit.
const NoBound = 0x7fffffff

// wrongOption reports an invalid argument. As in a file, it ends a start if keys, partitions, LIDs or routes depend on
// the setting; else the value is ignored. It also ends the start where OpenSM ends. OpenSM takes -p
// /etc/opensm/partitions.conf for -p 0.
func (r *Report) wrongOption(g Given, k *Key, err error) {
	severity, status := k.severity(), 2
	text, end := err.Error(), k.ignored()
	if why := exits[g.Long]; why != "" && !errors.Is(err, errNotNumeric) {
		severity, status, text, end = Refusal, exitRange, why, ""
	}
	if other := findShort(g.Short ^ ' '); g.Short != 0 && other != nil && other.Arg == "FILE" &&
		strings.Contains(g.Value, "/") {
		end += fmt.Sprintf("; -%c takes a file: --%s", other.Short, other.Long)
	}
	r.add(severity, commandLine, k.Name, "%s: %s; expected %s%s", g, text, k.Wanted(), end)
	(*r)[len(*r)-1].Status = status
}
