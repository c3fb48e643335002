package conf

import (
	"errors"
	"strings"

	"ibsm/conf/diag"
)

// blanks are the characters that OpenSM trims around keys and values.
const blanks = " \t\r\n\v\f"

// maxLine is the number of bytes of a line that OpenSM reads at a time: it treats the
// rest as another line.
const maxLine = 1022

// imposeKey lists, in opensm.conf, keys whose default value is chosen. See
// Config.Chosen.
const imposeKey = "impose"

// readOpenSM parses the format of opensm.conf: one key and its value per line; # begins
// a comment.
func readOpenSM(f *File, src []byte) {
	var impose []imposed
	for i, line := range strings.Split(string(src), "\n") {
		p := diag.Position{File: f.Name, Line: i + 1}
		if f.enough(p) {
			break
		}
		text, _, _ := strings.Cut(line, "#")
		if len(line) > maxLine {
			f.Report.add(Warning, p, "", "line of %d bytes: OpenSM reads %d bytes and treats the rest as another line",
				len(line), maxLine)
		}
		indent := len(text) - len(strings.TrimLeft(text, blanks))
		text = strings.Trim(text, blanks)
		if text == "" {
			continue
		}
		p.Col = indent + 1
		at, name, value := p, text, ""
		if end := strings.IndexAny(text, " \t\x00"); end >= 0 { // OpenSM takes a line to end at a zero byte
			name, value = text[:end], strings.Trim(text[end:], blanks)
			p.Col += len(text) - len(value)
		}
		if name == imposeKey {
			impose = append(impose, imposed{p, value})
			continue
		}
		f.line(name, unquote(value), at, p)
	}
	for _, i := range impose {
		f.impose(i)
	}
	f.byHand()
	f.Report.sort()
}

// unquote removes one pair of quotes around a value.
func unquote(value string) string {
	if value == "" || value[0] != '"' && value[0] != '\'' || value[len(value)-1] != value[0] {
		return value
	}
	return value[1:max(1, len(value)-1)]
}

// line parses a key and its value; at and p are their positions.
func (f *File) line(name, value string, at, p diag.Position) {
	i, ok := byName[name]
	if !ok {
		f.unknown(name, value, at)
		return
	}
	k := &table[i]
	switch {
	case len(value) > maxLine-len(name)-1:
		f.wrong(k, p, value, errors.New("OpenSM cuts lines of this length"))
		return
	case strings.ContainsRune(value, 0):
		f.wrong(k, p, value, errors.New("zero byte"))
		return
	}
	if answer, severity := forkValue(name, value); answer != "" {
		f.Report.add(severity, p, name, "%s %s: %s", name, value, answer)
		return
	}
	if value == null && k.Own && k.Kind.numeric() { // no value, as in a file of a program that does not know the key
		return
	}
	v, err := k.parse(value, f.settings[i].Value)
	if err != nil {
		f.wrong(k, p, value, asMeant(k, value, err))
		if k.Kind != Bool || k.Serious {
			return
		}
	}
	if k.Kind.numeric() && octal(value) {
		f.Report.add(Warning, p, k.Name, "%s %s: a leading 0 makes it octal, %d", k.Name, value, v.Num)
	}
	f.settings[i] = Setting{Value: v, Source: FromOpenSMConf, Position: p}
}

// asMeant adds a hint about frequent errors.
func asMeant(k *Key, value string, err error) error {
	rest, equals := strings.CutPrefix(value, "=")
	switch {
	case equals:
		return errors.New(err.Error() + ": opensm.conf uses no =; write " + k.Name + " " +
			clean(strings.Trim(rest, blanks)))
	case (k.Kind == X64 || k.Kind == HCA) && value != "" && isHex(value):
		return errors.New(err.Error() + ": a hexadecimal number begins with 0x")
	case k.Kind == Word:
		return errors.New(err.Error() + didYouMean(value, k.Words))
	}
	return err
}

// unknown reports a key that the table does not have.
func (f *File) unknown(name, value string, at diag.Position) {
	if meaning := forkKey(name); meaning != "" {
		f.inert(name, meaning, at)
		return
	}
	hint := didYouMean(name, family(name, names()))
	if key, _, found := strings.Cut(name, "="); found && Find(key) != nil {
		hint = "; opensm.conf uses no =: write " + key + " and its value"
	}
	f.Report.add(Warning, at, "", "Unrecognized token: %s: not a key of OpenSM%s", shown(name), hint)
}

// names are all keys of opensm.conf, those of NVIDIA's OpenSM included.
func names() []string {
	all := []string{imposeKey}
	for i := range table {
		all = append(all, table[i].Name)
	}
	for _, k := range forkKeys {
		all = append(all, k.Name)
	}
	return all
}

// byHand imposes the defaults that a person has written: those of keys with Key.ByHand in a file with less than half of
// the keys of OpenSM, which writes all of them.
func (f *File) byHand() {
	if 2*len(f.settings) >= len(table) {
		return
	}
	for i, s := range f.settings {
		if table[i].ByHand {
			s.Imposed = true
			f.settings[i] = s
		}
	}
}

// imposed is a line with imposeKey.
type imposed struct {
	diag.Position
	list string
}

// impose marks the settings that a line lists.
func (f *File) impose(line imposed) {
	for _, name := range strings.FieldsFunc(unquote(line.list), func(r rune) bool {
		return strings.ContainsRune(", \t", r)
	}) {
		if f.enough(line.Position) {
			return
		}
		i, ok := byName[name]
		s, set := f.settings[i]
		switch {
		case !ok:
			f.Report.add(Refusal, line.Position, "", "%s %s: not a key of OpenSM%s", imposeKey, shown(name),
				didYouMean(name, family(name, names())))
		case !set:
			f.Report.add(Refusal, line.Position, name, "%s %s: the file does not set this key", imposeKey, name)
		default:
			s.Imposed = true
			f.settings[i] = s
		}
	}
}
