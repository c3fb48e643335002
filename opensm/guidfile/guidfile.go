// Package guidfile reads files of GUIDs that steer OpenSM's routing engines, such as
// root_guid_file: on each line a GUID, and for some files
// numbers, or in its place the name of a port group.
package guidfile

import (
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/mad"
	"ibsm/routing/portgroups"
)

// Bounds of a file.
const (
	MaxFile     = 4 << 20 // bytes; longer ones are refused
	maxErrors   = 100
	maxWarnings = 100
	maxLine     = 255 // bytes, with its end: what OpenSM reads at a time
)

// List reads root_guid_file, cn_guid_file, io_guid_file or guid_routing_order_file: a GUID on each line, after which
// the rest of the line is ignored, or, as with NVIDIA's manager, the name of a port group. OpenSM ignores the rest of a
// file from such a name on.
func List(file string, text []byte, groups *portgroups.Set) (list *portgroups.List, warnings, errors diag.List) {
	r, list := reader{}, &portgroups.List{}
	seen, after, warned := map[mad.GUID]int{}, 0, false
	r.other = func(line string, at diag.Position) {
		line, _, _ = strings.Cut(line, "#")
		name := strings.TrimSpace(line)
		g := groups.Find(name)
		if g == nil {
			r.errors.Add(
				at, "expected a GUID, with 0x before its digits, or the name of a port group, which %s is not: OpenSM ignores the rest of the file%s", policyfile.Shown(name), groups.Meant(name))
			return
		}
		list.Items = append(list.Items, portgroups.Item{Group: g})
		if after == 0 {
			after = at.Line
		}
	}
	r.lines(file, text, func(guid mad.GUID, _ string, at diag.Position) {
		r.once(seen, guid, at)
		list.Items = append(list.Items, portgroups.Item{GUID: guid})
		if after > 0 && !warned {
			warned = true
			r.warn(at, "OpenSM does not read the GUIDs after the port group on line %d", after)
		}
	})
	return list, r.warnings, r.errors
}

// IDs reads ids_guid_file: a node GUID and the ID of its switch on each line. Of two IDs of a switch
// the last applies.
func IDs(file string, text []byte) (ids map[mad.GUID]uint64, warnings, errors diag.List) {
	r := reader{}
	seen := map[mad.GUID]int{}
	ids = map[mad.GUID]uint64{}
	r.lines(file, text, func(guid mad.GUID, rest string, at diag.Position) {
		r.once(seen, guid, at)
		at.Col += tokenLength(rest)
		id, ok := id(rest[tokenLength(rest):], &at)
		if !ok {
			r.errors.Add(at, "expected an ID, a number: OpenSM ignores the rest of the file")
			return
		}
		ids[guid] = id
	})
	return ids, r.warnings, r.errors
}

// reader collects what there is to say of a file.
type reader struct {
	warnings, errors diag.List
	// other reads a line that has no GUID; nil where such a line is an error.
	other func(line string, at diag.Position)
}

// lines calls do for each GUID, with the line from it on and its position. GUIDs are read as OpenSM does:
// they are numbers of the C library, with 0x or 0 before them or decimal, and a line that begins with # is a
// comment. A line whose GUID OpenSM cannot read is an error, after which OpenSM would ignore the rest
// of the file.
func (r *reader) lines(file string, text []byte, do func(guid mad.GUID, line string, at diag.Position)) {
	if len(text) > MaxFile {
		r.errors.Add(diag.Position{File: file}, "the file is longer than %d bytes", MaxFile)
		return
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if len(r.errors) == maxErrors {
			r.errors.Add(diag.Position{File: file, Line: n}, "too many errors: the rest of the file is not checked")
			break
		}
		at := diag.Position{File: file, Line: n, Col: 1}
		if len(line) > maxLine {
			r.warn(at, "the line is longer than %d bytes: OpenSM reads the rest as another line", maxLine)
		}
		line = skipBlanks(line, &at)
		if line == "" || line[0] == '#' {
			continue
		}
		guid, rest, ok := number(line)
		if !ok || rest != "" && !isBlank(rest[0]) && rest[0] != '#' {
			if r.other != nil {
				r.other(line, at)
				continue
			}
			r.errors.Add(at, "expected a GUID, with 0x before its digits: OpenSM ignores the rest of the file")
			continue
		}
		if guid == 0 {
			r.warn(at, "GUID 0 belongs to no node")
		}
		do(mad.GUID(guid), line, at)
	}
}

// warn adds a warning, unless there are very many.
func (r *reader) warn(at diag.Position, format string, args ...any) {
	if len(r.warnings) < maxWarnings {
		r.warnings.Add(at, format, args...)
	}
}

// once warns of a GUID that comes again. seen are the lines of those before.
func (r *reader) once(seen map[mad.GUID]int, guid mad.GUID, at diag.Position) {
	if was := seen[guid]; was > 0 {
		r.warn(at, "GUID %v is also on line %d", guid, was)
	}
	seen[guid] = at.Line
}

// tokenLength is the length of the GUID at the beginning of a line.
func tokenLength(line string) int {
	_, rest, _ := number(line)
	return len(line) - len(rest)
}

// id reads what follows the GUID of a line. A line without an ID has 0, as OpenSM reads it.
func id(rest string, at *diag.Position) (n uint64, ok bool) {
	if rest = skipBlanks(rest, at); rest == "" {
		return 0, true
	}
	n, rest, ok = number(rest)
	return n, ok && (rest == "" || isBlank(rest[0]))
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// skipBlanks is text from its first character on that is not blank.
func skipBlanks(text string, at *diag.Position) string {
	for text != "" && isBlank(text[0]) {
		text = text[1:]
		at.Col++
	}
	return text
}

// number reads a number of 64 bits at the beginning of text.
func number(text string) (n uint64, rest string, ok bool) {
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	digits, base := text[:end], 10
	switch {
	case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0X"):
		digits, base = digits[2:], 16
	case strings.HasPrefix(digits, "0"):
		base = 8
	}
	n, err := strconv.ParseUint(digits, base, 64)
	return n, text[end:], err == nil
}
