package conf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ibsm/conf/diag"
)

// WriteTOML writes the configuration in the format of ibsm.toml: the chosen settings, and
// the others as comments. The error is a diag.List of values that the format cannot
// represent.
func (c *Config) WriteTOML() ([]byte, error) {
	c = c.withoutDerived()
	var b strings.Builder
	var errs diag.List
	for _, group := range tomlGroups() {
		fmt.Fprintf(&b, "[%s]\n\n", group)
		for i := range table {
			k, s := &table[i], c.settings[i]
			if k.Group() != group {
				continue
			}
			if !utf8.ValidString(s.Value.Text) {
				errs.Add(s.Position, "%s: ibsm.toml cannot represent %s: it is not UTF-8", k.Name, shown(s.Value.Text))
			}
			b.WriteString(k.comments(true))
			off := "# "
			// OSM_TMP_DIR changes the default of dump_files_dir; the file takes precedence.
			if s.chosen(k) || k.Name == "dump_files_dir" && s.Source != FromDefault {
				off = ""
			}
			fmt.Fprintf(&b, "%s%s = %s\n\n", off, k.Leaf(), k.tomlText(s.Value))
		}
	}
	return []byte(b.String()), errs.Err()
}

// tomlGroups are the groups in the order of the table.
func tomlGroups() (groups []string) {
	for i := range table {
		if g := table[i].Group(); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups
}

// tomlText formats a value for ibsm.toml.
func (k *Key) tomlText(v Value) string {
	switch {
	case v.Unset:
		return quotedTOML(null)
	case k.Kind == Bool:
		return strconv.FormatBool(v.Num != 0)
	case k.Unit.duration() != 0:
		return quotedTOML(formatTime(v.Num, k.Unit))
	case k.Unit == Mebibytes:
		return quotedTOML(formatSize(v.Num))
	case k.Kind == X64, k.Kind == HCA, k.Kind == String, k.Kind == Word, k.Kind == Mask, k.Kind == Pair:
		return quotedTOML(k.Format(v))
	case k.Kind == List:
		return listTOML(v.Text)
	case k.Kind == SLs8, k.Kind == SLs16:
		return "[" + strings.ReplaceAll(v.Text, " ", ", ") + "]"
	}
	return k.Format(v)
}

func listTOML(text string) string {
	if text == "" {
		return "[]"
	}
	elements := strings.Split(text, ",")
	for i, e := range elements {
		if n, err := strconv.ParseInt(e, 10, 64); err != nil || strconv.FormatInt(n, 10) != e {
			elements[i] = quotedTOML(e)
		}
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

// formatTime is a number of units in the largest unit that makes it whole.
func formatTime(n uint64, unit Unit) string {
	units := []struct {
		name string
		size uint64
	}{{"h", 3_600_000_000}, {"m", 60_000_000}, {"s", 1_000_000}, {"ms", 1000}, {"us", 1}}
	if n == 0 {
		return "0s"
	}
	n *= uint64(unit.duration() / time.Microsecond)
	for _, u := range units {
		if n%u.size == 0 {
			return strconv.FormatUint(n/u.size, 10) + u.name
		}
	}
	return ""
}

func formatSize(n uint64) string {
	for _, u := range sizeUnits {
		if n%uint64(u.size) == 0 && n > 0 {
			return strconv.FormatUint(n/uint64(u.size), 10) + u.name
		}
	}
	return "0MiB"
}

// quotedTOML is a basic string of TOML.
func quotedTOML(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
