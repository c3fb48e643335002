package policyfile

import (
	"fmt"
	"strconv"
	"strings"

	"ibsm/conf/diag"
)

// Reader is how far a file is read, and what was found wrong.
type Reader struct {
	Errors   diag.List
	Warnings diag.List

	name      string
	src       string
	pos       int
	line      int // of pos
	lineStart int
}

// blank is what may stand around words. Lines may end as on other systems.
const blank = " \t\r\v\f"

// Bounds of what is read.
const (
	MaxFile     = 16 << 20
	MaxFindings = 200 // errors, and warnings, of one file
)

// New returns a Reader at the beginning of a file, whose name is for messages. What is too long, or no text, has an
// error and cannot be read.
func New(name string, src []byte) (r *Reader, ok bool) {
	r = &Reader{name: name, line: 1}
	if len(src) > MaxFile {
		r.Fail(diag.Position{File: name}, "file of %d bytes: at most %d are read", len(src), MaxFile)
		return r, false
	}
	text := string(src)
	if at := strings.IndexByte(text, 0); at >= 0 {
		before := text[:at]
		r.Fail(diag.Position{File: name, Line: 1 + strings.Count(before, "\n"),
			Col: at - strings.LastIndexByte(before, '\n')}, "a byte 0: this is not a text file")
		return r, false
	}
	r.src = text
	return r, true
}

// Top is the beginning of the file.
func (c *Reader) Top() diag.Position { return diag.Position{File: c.name, Line: 1} }

// Pos is the offset of the next character.
func (c *Reader) Pos() int { return c.pos }

// Since is what was passed since an offset.
func (c *Reader) Since(pos int) string { return c.src[pos:c.pos] }

// Skip passes the next character, which must not be the end of a line.
func (c *Reader) Skip() { c.pos++ }

// Here is the position of the next character.
func (c *Reader) Here() diag.Position { return c.at(c.pos) }

// at is the position of an offset in the current line.
func (c *Reader) at(pos int) diag.Position {
	return diag.Position{File: c.name, Line: c.line, Col: pos - c.lineStart + 1}
}

// Fail notes an error.
func (c *Reader) Fail(p diag.Position, format string, args ...any) {
	if len(c.Errors) < MaxFindings {
		c.Errors.Add(p, format, args...)
	}
}

// Warn notes a warning.
func (c *Reader) Warn(p diag.Position, format string, args ...any) {
	if len(c.Warnings) < MaxFindings {
		c.Warnings.Add(p, format, args...)
	}
}

// Full reports whether there are so many errors that the rest need not be read.
func (c *Reader) Full() bool { return len(c.Errors) >= MaxFindings }

// Ended reports whether nothing is left.
func (c *Reader) Ended() bool { return c.pos >= len(c.src) }

// Peek is the next character, 0 at the end.
func (c *Reader) Peek() byte {
	if c.Ended() {
		return 0
	}
	return c.src[c.pos]
}

// Blanks passes blanks within the line.
func (c *Reader) Blanks() {
	for !c.Ended() && strings.IndexByte(blank, c.src[c.pos]) >= 0 {
		c.pos++
	}
}

// Space passes what has no meaning between words: blanks, line ends, comments.
func (c *Reader) Space() {
	for c.Blanks(); !c.Ended(); c.Blanks() {
		switch c.src[c.pos] {
		case '\n':
			c.pos++
			c.line++
			c.lineStart = c.pos
		case '#':
			c.RestOfLine()
		default:
			return
		}
	}
}

// RestOfLine passes everything up to the end of the line, and returns it.
func (c *Reader) RestOfLine() string {
	rest := c.src[c.pos:]
	if end := strings.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	c.pos += len(rest)
	return rest
}

// Keyword passes a keyword; "" where none begins.
func (c *Reader) Keyword() (w string, p diag.Position) {
	start := c.pos
	for !c.Ended() && isWord(c.src[c.pos]) {
		c.pos++
	}
	return c.src[start:c.pos], c.at(start)
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_'
}

// Sign passes one character after any space, if it comes next.
func (c *Reader) Sign(b byte) bool {
	c.Space()
	if c.Peek() != b {
		return false
	}
	c.pos++
	return true
}

// Number passes a number as C writes it: 0x, 0 or decimal.
func (c *Reader) Number() (n uint64, p diag.Position, ok bool) {
	c.Space()
	start := c.pos
	for !c.Ended() && (isWord(c.src[c.pos]) && c.src[c.pos] != '-') {
		c.pos++
	}
	text, p := c.src[start:c.pos], c.at(start)
	n, err := strconv.ParseUint(text, 0, 64)
	if text == "" || strings.Contains(text, "_") || err != nil || len(text) > 1 &&
		(text[1]|0x20 == 'b' || text[1]|0x20 == 'o') {
		if text == "" {
			text = c.src[c.pos:min(len(c.src), c.pos+1)]
		}
		c.Fail(p, "%s is not a number of at most 64 bits; expected digits, or 0x and hexadecimal digits", Shown(text))
		return 0, p, false
	}
	if len(text) > 1 && text[0] == '0' && text[1]|0x20 != 'x' {
		c.Warn(p, "%s is read as an octal number, %d, because it begins with 0", text, n)
	}
	return n, p, true
}

// Ranges passes a list of numbers and ranges, each number at most most. The list is in the
// order of the file. Where an error ends it, ok is false.
func (c *Reader) Ranges(most uint64) (list Ranges, ok bool) {
	for {
		r, ok := c.Range(most)
		if !ok {
			return list, false
		}
		list = append(list, r)
		if !c.Sign(',') {
			return list, true
		}
	}
}

// Range passes a number, at most most, or a range of such. Where there is none, ok is false.
func (c *Reader) Range(most uint64) (r Range, ok bool) {
	from, p, ok := c.Number()
	if !ok {
		return r, false
	}
	to, q := from, p
	if c.Sign('-') {
		if to, q, ok = c.Number(); !ok {
			return r, false
		}
	}
	switch {
	case from > most:
		c.Fail(p, "%#x is too large; expected at most %#x", from, most)
	case to > most:
		c.Fail(q, "%#x is too large; expected at most %#x", to, most)
	case from > to:
		c.Warn(p, "the range is reversed; it is read as %#x-%#x", to, from)
		from, to = to, from
	}
	return Range{from, to}, true
}

// Texts passes the rest of the line, and returns the words between its commas without the blanks around
// them. A comma at the end of a line continues the list in the next one.
func (c *Reader) Texts() (words []Word) {
	for {
		w, comma := c.Text(",")
		words = append(words, w)
		if !comma {
			return words
		}
		if c.Blanks(); c.Peek() == '\n' || c.Peek() == '#' {
			c.Space()
		}
	}
}

// Text passes text up to the end of the line, a comment, or one of some characters, which it passes too.
// What stands in quotes is taken as it is.
func (c *Reader) Text(stops string) (w Word, stopped bool) {
	c.Blanks()
	w.Position = c.Here()
	var b strings.Builder
	for !c.Ended() {
		switch ch := c.src[c.pos]; {
		case ch == '\n' || ch == '#':
			w.Text = strings.Trim(b.String(), blank)
			return w, false
		case strings.IndexByte(stops, ch) >= 0:
			c.pos++
			w.Text = strings.Trim(b.String(), blank)
			return w, true
		case ch == '"':
			b.WriteString(c.quoted())
		default:
			b.WriteByte(ch)
			c.pos++
		}
	}
	w.Text = strings.Trim(b.String(), blank)
	return w, false
}

// quoted passes a quoted text within the line, or a single quotation mark.
func (c *Reader) quoted() string {
	rest := c.src[c.pos+1:]
	end := strings.IndexAny(rest, "\"\n")
	if end < 0 || rest[end] != '"' {
		c.pos++
		return `"`
	}
	c.pos += end + 2
	return rest[:end]
}

// MaxShown bounds what a message quotes.
const MaxShown = 60

// Shown quotes a text for a message.
func Shown(text string) string {
	if len(text) > MaxShown {
		text = text[:MaxShown] + "..."
	}
	return fmt.Sprintf("%q", text)
}
