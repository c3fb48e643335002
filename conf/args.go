package conf

import (
	"fmt"
	"strings"

	"ibsm/conf/diag"
)

// Given is an option on the command line.
type Given struct {
	*Option
	Value   string // its argument
	Written string // as typed, such as -s or --sweep
}

// commandLine is the place of findings about options.
var commandLine = diag.Position{File: "command line"}

// ParseArgs splits a command line into options, as getopt_long_only does for OpenSM:
// --name and -name, both abbreviated to any unambiguous prefix, --name=value, and
// several short options after one dash. It returns the other words as stray. Errors
// are in the report, with exit status 2.
func ParseArgs(args []string) (given []Given, stray []string, report Report) {
	p := argParser{rest: args}
	for len(p.rest) > 0 {
		arg := p.next()
		switch {
		case arg == "--":
			return p.given, append(p.stray, p.rest...), p.report
		case len(arg) < 2 || arg[0] != '-':
			p.stray = append(p.stray, arg)
		case strings.HasPrefix(arg, "--"):
			p.long(arg, arg[2:])
		case len(arg) > 2 && p.isLong(arg[1:]):
			p.long(arg, arg[1:])
		default:
			p.short(arg[1:])
		}
	}
	return p.given, p.stray, p.report
}

type argParser struct {
	rest   []string
	given  []Given
	stray  []string
	report Report
}

func (p *argParser) next() string {
	arg := p.rest[0]
	p.rest = p.rest[1:]
	return arg
}

func (p *argParser) wrong(format string, args ...any) {
	p.report.add(Refusal, commandLine, "", format, args...)
	p.report[len(p.report)-1].Status = 2
}

// isLong reports whether the text after one dash is a long option. Text that is none
// but begins with a short option is a group of short options.
func (p *argParser) isLong(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	return len(findLong(name, false)) > 0 || findShort(text[0]) == nil
}

// findLong returns the options that a name can mean: an exact match, or all options
// with that prefix.
func findLong(name string, twoDashes bool) (found []*Option) {
	for i := range options {
		o := &options[i]
		switch {
		case o.Own && (!twoDashes || o.Long != name):
		case o.Long == name:
			return []*Option{o}
		case strings.HasPrefix(o.Long, name):
			found = append(found, o)
		}
	}
	return found
}

func findShort(letter byte) *Option {
	if letter == '?' {
		letter = 'h'
	}
	for i := range options {
		if options[i].Short == letter {
			return &options[i]
		}
	}
	return nil
}

// long parses a long option and its argument.
func (p *argParser) long(written, text string) {
	name, value, hasValue := strings.Cut(text, "=")
	found := findLong(name, strings.HasPrefix(written, "--"))
	dashes := written[:len(written)-len(text)]
	switch {
	case len(found) == 0:
		p.wrong("unrecognized option %s%s", dashes+clean(name), meantOption(name))
		return
	case len(found) > 1:
		var could []string
		for _, o := range found {
			could = append(could, "--"+o.Long)
		}
		p.wrong("option %s is ambiguous: %s", dashes+clean(name), strings.Join(could, ", "))
		return
	}
	o := found[0]
	switch {
	case o.Arg == "" && hasValue:
		p.wrong("option --%s takes no argument", o.Long)
		return
	case o.Arg != "" && !hasValue:
		if len(p.rest) == 0 {
			p.wrong("option --%s needs an argument: %s", o.Long, o.Arg)
			return
		}
		value = p.next()
	}
	p.given = append(p.given, Given{o, value, "--" + o.Long})
}

// short parses a group of short options; the last may have an argument, directly
// after it or in the next word.
func (p *argParser) short(letters string) {
	for i := range len(letters) {
		o := findShort(letters[i])
		written := "-" + clean(letters[i:i+1])
		switch {
		case o == nil:
			p.wrong("unrecognized option %s in -%s; --help lists the options", written, clean(letters))
			return
		case o.Arg == "":
			p.given = append(p.given, Given{o, "", written})
		case i+1 < len(letters):
			p.given = append(p.given, Given{o, letters[i+1:], written})
			return
		case len(p.rest) == 0:
			p.wrong("option %s needs an argument: %s", written, o.Arg)
			return
		default:
			p.given = append(p.given, Given{o, p.next(), written})
			return
		}
	}
}

// clean makes what somebody wrote printable, and bounds its length.
func clean(text string) string {
	q := shown(text)
	return q[1 : len(q)-1]
}

func optionNames() (all []string) {
	for _, o := range options {
		all = append(all, "--"+o.Long)
	}
	return all
}

// meantOption is the end of a message about an unknown long option: a similar option, or
// a note that the name is that of a setting.
func meantOption(name string) string {
	if text := didYouMean("--"+name, optionNames()); text != "" {
		return text
	}
	keys := make([]string, len(table))
	for i := range table {
		keys[i] = table[i].Name
	}
	key := diag.Nearest(name, keys)
	for _, o := range options {
		if key != "" && o.Key == key {
			return fmt.Sprintf("; did you mean --%s, which sets %s?", o.Long, key)
		}
	}
	if key != "" {
		return fmt.Sprintf("; %s is a setting of the configuration file and has no option", key)
	}
	return "; --help lists the options"
}

// String is the option as typed.
func (g Given) String() string {
	if g.Arg == "" {
		return g.Written
	}
	return fmt.Sprintf("%s %s", g.Written, clean(g.Value))
}
