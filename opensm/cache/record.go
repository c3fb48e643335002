package cache

import (
	"bytes"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// record is a key and its value, with the place of the key.
type record struct {
	diag.Position
	key   string
	value string
}

const (
	maxKey      = 32  // bytes; OpenSM gives the file up over a longer one
	maxWarnings = 100 // of a file: one that is of another kind has no line that is right
)

// warnings is a list that does not become longer than that of a file need be.
type warnings struct {
	diag.List
	more int
}

func (w *warnings) add(p diag.Position, format string, args ...any) {
	if len(w.List) < maxWarnings {
		w.Add(p, format, args...)
	} else {
		w.more++
	}
}

func (w *warnings) list() diag.List {
	if w.more > 0 {
		w.Add(diag.Position{File: w.List[0].File}, "and %d more", w.more)
	}
	return w.List
}

// parse splits a file into records. An error is what makes OpenSM give the file up;
// the records before it count.
func parse(file string, b []byte, w *warnings) (records []record, err error) {
	var open *record // whose empty line has not come yet
	for n := 1; len(b) > 0; n++ {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		at := diag.Position{File: file, Line: n, Col: 1}
		text := string(line)
		if text == "" {
			open = nil
			continue
		}
		if text[0] == ' ' || text[0] == '\t' {
			if open != nil { // a value that goes on
				open.value += text
				continue
			}
			return records, diag.List{
				{Position: at, Text: "a blank where a key is expected; a record begins in the first column"},
			}
		}
		key, value, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
		if len(key) > maxKey {
			return records, diag.List{
				{Position: at, Text: "a key of " + strconv.Itoa(len(key)) + " bytes; this is no file of that kind"},
			}
		}
		if open != nil {
			w.add(at, "no empty line before this record; OpenSM does not see it")
		}
		records = append(records, record{at, key, value})
		open = &records[len(records)-1]
	}
	return records, nil
}

// number reads a number as C does: 0x for hexadecimal, 0 for octal.
func number(s string, bits int) (uint64, bool) {
	base := 10
	switch {
	case len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		base = 8
	}
	n, err := strconv.ParseUint(s, base, bits)
	return n, err == nil
}

// guid reads the one form in which OpenSM finds a GUID again: 0x and 16 digits.
func guid(s string) (mad.GUID, bool) {
	g, err := mad.ParseGUID(s)
	return g, err == nil && g.String() == s
}
