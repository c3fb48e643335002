// Package guidfile reads files of GUIDs that steer OpenSM's routing engines, such as
// root_guid_file: on each line a GUID, and for some files a number.
package guidfile

import (
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Bounds of a file.
const (
	MaxFile   = 4 << 20 // bytes; longer ones are refused
	maxErrors = 100
)

// Entry is a line of a file.
type Entry struct {
	GUID mad.GUID
	ID   uint64 // with ids
}

// GUIDs reads root_guid_file, cn_guid_file or io_guid_file: a GUID on each line, after which the rest
// of the line is ignored.
func GUIDs(file string, text []byte) (guids []mad.GUID, warnings, errors diag.List) {
	entries, warnings, errors := parse(file, text, false)
	for _, e := range entries {
		guids = append(guids, e.GUID)
	}
	return guids, warnings, errors
}

// IDs reads ids_guid_file: a node GUID and the ID of its switch on each line. Of two IDs of a switch
// the last applies.
func IDs(file string, text []byte) (ids map[mad.GUID]uint64, warnings, errors diag.List) {
	entries, warnings, errors := parse(file, text, true)
	ids = map[mad.GUID]uint64{}
	for _, e := range entries {
		ids[e.GUID] = e.ID
	}
	return ids, warnings, errors
}

// parse reads lines as OpenSM does: numbers are those of the C library, with 0x or 0 before them or
// decimal, and a line that begins with # is a comment. A line that OpenSM cannot read is an error,
// after which OpenSM would ignore the rest of the file.
func parse(file string, text []byte, withID bool) (entries []Entry, warnings, errors diag.List) {
	if len(text) > MaxFile {
		errors.Add(diag.Position{File: file}, "the file is longer than %d bytes", MaxFile)
		return nil, nil, errors
	}
	seen := map[mad.GUID]int{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if len(errors) == maxErrors {
			errors.Add(diag.Position{File: file, Line: n}, "too many errors: the rest of the file is not checked")
			break
		}
		at := diag.Position{File: file, Line: n, Col: 1}
		rest := skipBlanks(line, &at)
		if rest == "" || rest[0] == '#' {
			continue
		}
		guid, rest, ok := number(rest)
		if !ok || rest != "" && !isBlank(rest[0]) && rest[0] != '#' {
			errors.Add(at, "expected a GUID, with 0x before its digits: OpenSM ignores the rest of the file")
			continue
		}
		e := Entry{GUID: mad.GUID(guid)}
		if was := seen[e.GUID]; was > 0 && len(warnings) < maxErrors {
			warnings.Add(at, "GUID %v is on line %d, too", e.GUID, was)
		}
		if seen[e.GUID] = n; guid == 0 {
			warnings.Add(at, "GUID 0 is that of no node")
		}
		if withID {
			at.Col += len(line[at.Col-1:]) - len(rest)
			if e.ID, ok = id(rest, &at); !ok {
				errors.Add(at, "expected an ID, a number: OpenSM ignores the rest of the file")
				continue
			}
		}
		entries = append(entries, e)
	}
	return entries, warnings, errors
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
