package conf

import (
	"fmt"
	"strings"

	"ibsm/conf/diag"
)

// WriteOpenSM writes the configuration in the form of opensm.conf: every setting of
// OpenSM with a comment, in OpenSM's order, then those of this manager that somebody
// has chosen. The error is a diag.List of values that the form cannot hold.
func (c *Config) WriteOpenSM() ([]byte, error) {
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
				errs.Add(s.Position, "%s: opensm.conf cannot hold %s: %s", k.Name, shown(k.Format(s.Value)), why)
			}
			b.WriteString(line + "\n")
		}
		b.WriteByte('\n')
	}
	if impose := c.imposed(); len(impose) > 0 {
		fmt.Fprintf(&b, "# Values above that count though they are OpenSM's defaults; other defaults above count\n"+
			"# as not chosen.\n%s %s\n", imposeKey, strings.Join(impose, ","))
	}
	return []byte(b.String()), errs.Err()
}

// imposed are settings chosen to be what OpenSM's default is.
func (c *Config) imposed() (names []string) {
	for i := range table {
		k, s := &table[i], c.settings[i]
		if k.Unset != "" && s.chosen(k) && s.Value == k.standard() {
			names = append(names, k.Name)
		}
	}
	return names
}

// lines are the values of the lines of a setting: one, but for those with a number
// for each SL.
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

// unwritable says why a line of opensm.conf would not be read as it is.
func unwritable(line string) string {
	switch {
	case strings.ContainsAny(line, "#"):
		return "# begins a comment"
	case strings.ContainsAny(line, "\n\x00"):
		return "it is more than a line"
	case len(line) > maxLine:
		return fmt.Sprintf("a line has at most %d bytes", maxLine)
	}
	return ""
}

// comments are the lines above a setting in a file.
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
		notes = append(notes, "Not chosen: "+k.Unset)
	}
	if k.Effect == NotYet {
		notes = append(notes, "No effect in this version")
	}
	return wrap("# ", strings.Join(notes, ". ")+".", 100)
}

// capital begins a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// wrap breaks a text into lines behind a prefix.
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

// Diff are the settings that two configurations differ in: in value, or in that it
// is chosen where that counts.
func Diff(a, b *Config) (differences []Difference) {
	for i := range table {
		k := &table[i]
		if s, t := a.settings[i], b.settings[i]; s.Value != t.Value || k.Unset != "" && s.chosen(k) != t.chosen(k) {
			differences = append(differences, Difference{k, s, t})
		}
	}
	return differences
}
