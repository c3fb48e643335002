package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/routing"
)

// Limits of what is read.
const (
	maxLine   = 1 << 16 // bytes of a line
	maxErrors = 20      // reported for one file
	maxCells  = 1 << 30 // table entries of one file
)

// reader goes through a dump file line by line and gathers what is wrong.
type reader struct {
	at    diag.Position // of the line
	line  string
	lines *bufio.Scanner
	open  bool // the line has no end: the file ends within it
	errs  diag.List
	cells int
	owner map[mad.LID]owner
	// unowned is where the first portguid without a GUID stands, of how many lines.
	unowned      diag.Position
	placeholders int
}

// owner is the port that a file says has a LID.
type owner struct {
	guid mad.GUID
	line int
}

func newReader(name string, r io.Reader) *reader {
	f := &reader{at: diag.Position{File: name}, lines: bufio.NewScanner(r), owner: map[mad.LID]owner{}}
	f.lines.Buffer(nil, maxLine)
	f.lines.Split(func(data []byte, atEOF bool) (advance int, line []byte, err error) {
		advance, line, err = bufio.ScanLines(data, atEOF)
		f.open = advance > 0 && data[advance-1] != '\n'
		return advance, line, err
	})
	return f
}

// cutOff says what to do about a file that is not whole.
const cutOff = "the file is cut off; write it again"

// next goes to the next line that is neither empty nor a comment.
func (r *reader) next() bool {
	for len(r.errs) < maxErrors && r.lines.Scan() {
		r.at.Line++
		r.line = r.lines.Text()
		text := strings.TrimSpace(r.line)
		if text == "" || text[0] == '#' {
			continue
		}
		if r.open && !strings.HasSuffix(text, endOfTable) {
			r.fail(text, "the file ends within this line: either "+cutOff+", or the line needs an end")
			return false
		}
		return true
	}
	return false
}

// fail notes what is wrong with the line, at a part of it.
func (r *reader) fail(part, format string, args ...any) {
	at := r.at
	if i := strings.Index(r.line, part); i >= 0 {
		at.Col = i + 1
	}
	r.errs.Add(at, format, args...)
}

// err is everything that was wrong.
func (r *reader) err() error {
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		r.errs.Add(diag.Position{File: r.at.File, Line: r.at.Line + 1},
			"a line of more than %d bytes; this is no dump file", maxLine)
	case err != nil:
		return fmt.Errorf("%s: %w", r.at.File, err)
	case len(r.errs) >= maxErrors:
		r.errs.Add(diag.Position{File: r.at.File}, "the file was not read beyond the first %d errors", maxErrors)
	}
	return r.errs.Err()
}

// room notes that n more entries are kept, and reports whether they may be.
func (r *reader) room(n int) bool {
	if r.cells += n; r.cells > maxCells {
		r.fail("", "more than %d table entries", maxCells)
		return false
	}
	return true
}

// lid reads a LID that a switch can route to.
func (r *reader) lid(text string) (mad.LID, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 16)
	lid := mad.LID(n)
	if err != nil || !lid.IsUnicast() {
		r.fail(text, "LID %q: expected 0x0001 to 0xbfff", text)
		return 0, false
	}
	return lid, true
}

// switchGUID reads the GUID that follows "guid" in the heading of a switch.
func (r *reader) switchGUID() (mad.GUID, bool) {
	_, rest, _ := strings.Cut(r.line, " guid ")
	word, _, _ := strings.Cut(rest, " ")
	guid, err := mad.ParseGUID(strings.TrimSpace(word))
	if err != nil || guid == 0 {
		r.fail(strings.TrimSpace(r.line), "no GUID of the switch: expected guid 0x and 16 digits")
		return 0, false
	}
	return guid, true
}

// portGUID parses the owner of the LID, if the line has it.
func (r *reader) portGUID(lid mad.LID) {
	_, rest, ok := strings.Cut(r.line, "portguid ")
	if !ok {
		return
	}
	word := rest
	if end := strings.IndexAny(rest, ": \t"); end >= 0 {
		word = rest[:end]
	}
	guid, err := mad.ParseGUID(word)
	switch {
	case err == nil && guid == 0 || !strings.HasPrefix(word, "0x"): // a placeholder
		if r.placeholders++; r.placeholders == 1 {
			r.unowned = r.at
		}
		return
	case err != nil:
		r.fail("portguid "+word, "portguid %q: expected 0x and 16 digits", word)
		return
	}
	if was, ok := r.owner[lid]; !ok {
		r.owner[lid] = owner{guid, r.at.Line}
	} else if was.guid != guid {
		r.fail("portguid "+word, "LID %v belongs to port %v here, but to port %v on line %d", lid, guid, was.guid,
			was.line)
	}
}

// warnings is one warning about all lines whose portguid is no GUID. OpenSM takes their LIDs as they are.
func (r *reader) warnings() (list diag.List) {
	if r.placeholders > 0 {
		list.Add(r.unowned,
			"no GUID after portguid, here and in %d more lines: these LIDs are taken as they are, and if ports change their LIDs, routes lead to others",
			r.placeholders-1)
	}
	return list
}

// owners are the ports that the file says have LIDs.
func (r *reader) owners() map[mad.LID]mad.GUID {
	owners := make(map[mad.LID]mad.GUID, len(r.owner))
	for lid, o := range r.owner {
		owners[lid] = o.guid
	}
	return owners
}

// heading takes the heading of a switch that must not have come before.
func heading[T any](r *reader, known map[mad.GUID]int, all []T, make func(mad.GUID, diag.Position) T) []T {
	guid, ok := r.switchGUID()
	if !ok {
		guid = 0 // the rest is still checked for errors
	} else if line := known[guid]; line != 0 {
		r.fail("guid", "switch %v is already on line %d", guid, line)
	}
	known[guid] = r.at.Line
	return append(all, make(guid, r.at))
}

// grown is a row with room for a LID, in whole blocks.
func (r *reader) grown(row []uint8, lid mad.LID) []uint8 {
	size := routing.RowLen(lid)
	if len(row) >= size || !r.room(size-len(row)) {
		return row
	}
	for len(row) < size {
		row = append(row, routing.NoPath)
	}
	return row
}
