package conf

import (
	"fmt"
	"strings"

	"ibsm/conf/diag"
)

// WriteOpenSM writes the configuration in the format of opensm.conf: every setting of
// OpenSM with a comment, in OpenSM's order, then the chosen settings of this manager.
// The error is a diag.List of values that the format cannot represent.
func (c *Config) WriteOpenSM() ([]byte, error) {
	c = c.withoutDerived()
	var b strings.Builder
	var errs diag.List
	for i := range table {
		k, s := &table[i], c.settings[i]
		if banner := sections[k.Name]; banner != "" {
			fmt.Fprintf(&b, "#\n# %s\n#\n\n", strings.ToUpper(banner))
		}
		if k.Own && s.Source == FromDefault {
			continue
		}
		b.WriteString(k.comments(false))
		for _, text := range k.lines(s.Value) {
			line := k.Name + " " + text
			if why := unwritable(line); why != "" {
				errs.Add(s.Position, "%s: opensm.conf cannot represent %s: %s", k.Name, shown(k.Format(s.Value)), why)
			}
			b.WriteString(line + "\n")
		}
		b.WriteByte('\n')
	}
	if impose := c.imposed(); len(impose) > 0 {
		fmt.Fprintf(&b, "# The defaults above of these keys are set; other defaults above count as not set.\n%s %s\n",
			imposeKey, strings.Join(impose, ","))
	}
	return []byte(b.String()), errs.Err()
}

// imposed are the settings whose chosen value is OpenSM's default.
func (c *Config) imposed() (names []string) {
	for i := range table {
		k, s := &table[i], c.settings[i]
		if k.Unset != "" && s.chosen(k) && s.Value == k.standard() {
			names = append(names, k.Name)
		}
	}
	return names
}

// lines are the values of the lines of a setting: one line, or one per SL for kinds with
// a number for each SL.
func (k *Key) lines(v Value) (lines []string) {
	switch k.Kind {
	case SLs8, SLs16:
		for sl, n := range slNumbers(v) {
			if n != 0 {
				lines = append(lines, fmt.Sprintf("%d %d", sl, n))
			}
		}
		if lines == nil {
			lines = []string{k.Default}
		}
		return lines
	case String, List:
		text := k.Format(v)
		if !v.Unset && (strings.Trim(text, blanks) != text || unquote(text) != text || text == "") {
			text = `"` + text + `"`
		}
		return []string{text}
	}
	return []string{k.Format(v)}
}

// unwritable is the reason why a line of opensm.conf would be read differently, "" if
// there is none.
func unwritable(line string) string {
	switch {
	case strings.ContainsAny(line, "#"):
		return "# begins a comment"
	case strings.ContainsAny(line, "\n\x00"):
		return "it has several lines"
	case len(line) > maxLine:
		return fmt.Sprintf("a line has at most %d bytes", maxLine)
	}
	return ""
}

// comments formats the comment above a setting in a file.
func (k *Key) comments(toml bool) string {
	wanted := k.Wanted()
	if toml {
		wanted = k.wantedTOML()
	}
	notes := []string{capital(k.Help)}
	if k.Kind != Bool && k.Kind != String && k.Kind != X64 {
		notes = append(notes, capital(wanted))
	}
	if k.Unset != "" {
		notes = append(notes, "Not set: "+k.Unset)
	}
	if k.Effect == NotYet {
		notes = append(notes, "No effect in this version")
	}
	return wrap("# ", strings.Join(notes, ". ")+".", 100)
}

// capital makes the first letter upper case.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// wrap breaks text into lines, each with a prefix.
func wrap(prefix, text string, width int) string {
	var b strings.Builder
	line := prefix
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > width && line != prefix {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = prefix
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}

// Difference is a setting with two values.
type Difference struct {
	Key  *Key
	A, B Setting
}

// Diff returns the settings that differ between two configurations: in value, or, for
// keys with Unset, in whether the value is chosen.
func Diff(a, b *Config) (differences []Difference) {
	for i := range table {
		k := &table[i]
		if s, t := a.settings[i], b.settings[i]; s.Value != t.Value || k.Unset != "" && s.chosen(k) != t.chosen(k) {
			differences = append(differences, Difference{k, s, t})
		}
	}
	return differences
}
