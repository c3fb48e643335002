package qos

import (
	"fmt"
	"strconv"
	"strings"

	"ibsm/conf/diag"
)

// cursor is how far a file is read.
type cursor struct {
	name      string
	src       string
	pos       int
	line      int // of pos
	lineStart int
	errors    diag.List
	warnings  diag.List
}

// blank is what may stand around words. Lines may end as on other systems.
const blank = " \t\r\v\f"

// maxFindings bounds the errors, and the warnings, of one file.
const maxFindings = 200

// here is the position of the next character.
func (c *cursor) here() diag.Position { return c.at(c.pos) }

// at is the position of an offset in the current line.
func (c *cursor) at(pos int) diag.Position {
	return diag.Position{File: c.name, Line: c.line, Col: pos - c.lineStart + 1}
}

// fail notes an error.
func (c *cursor) fail(p diag.Position, format string, args ...any) {
	if len(c.errors) < maxFindings {
		c.errors.Add(p, format, args...)
	}
}

// warn notes a warning.
func (c *cursor) warn(p diag.Position, format string, args ...any) {
	if len(c.warnings) < maxFindings {
		c.warnings.Add(p, format, args...)
	}
}

// full reports whether there are so many errors that the rest need not be read.
func (c *cursor) full() bool { return len(c.errors) >= maxFindings }

func (c *cursor) ended() bool { return c.pos >= len(c.src) }

// peek is the next character, 0 at the end.
func (c *cursor) peek() byte {
	if c.ended() {
		return 0
	}
	return c.src[c.pos]
}

// blanks passes blanks within the line.
func (c *cursor) blanks() {
	for !c.ended() && strings.IndexByte(blank, c.src[c.pos]) >= 0 {
		c.pos++
	}
}

// space passes what has no meaning between words: blanks, line ends, comments.
func (c *cursor) space() {
	for c.blanks(); !c.ended(); c.blanks() {
		switch c.src[c.pos] {
		case '\n':
			c.pos++
			c.line++
			c.lineStart = c.pos
		case '#':
			c.restOfLine()
		default:
			return
		}
	}
}

// restOfLine passes everything up to the end of the line, and returns it.
func (c *cursor) restOfLine() string {
	rest := c.src[c.pos:]
	if end := strings.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	c.pos += len(rest)
	return rest
}

// word passes a keyword; "" where none begins.
func (c *cursor) word() (w string, p diag.Position) {
	start := c.pos
	for !c.ended() && isWord(c.src[c.pos]) {
		c.pos++
	}
	return c.src[start:c.pos], c.at(start)
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_'
}

// sign passes one character after any space, if it comes next.
func (c *cursor) sign(b byte) bool {
	c.space()
	if c.peek() != b {
		return false
	}
	c.pos++
	return true
}

// number passes a number as C writes it: 0x, 0 or decimal.
func (c *cursor) number() (n uint64, p diag.Position, ok bool) {
	c.space()
	start := c.pos
	for !c.ended() && (isWord(c.src[c.pos]) && c.src[c.pos] != '-') {
		c.pos++
	}
	text, p := c.src[start:c.pos], c.at(start)
	n, err := strconv.ParseUint(text, 0, 64)
	if text == "" || strings.Contains(text, "_") || err != nil || len(text) > 1 && (text[1]|0x20 == 'b' || text[1]|0x20 == 'o') {
		if text == "" {
			text = c.src[c.pos:min(len(c.src), c.pos+1)]
		}
		c.fail(p, "%s is not a number of at most 64 bits; expected digits, or 0x and hexadecimal digits", shown(text))
		return 0, p, false
	}
	if len(text) > 1 && text[0] == '0' && text[1]|0x20 != 'x' {
		c.warn(p, "%s is read as an octal number, %d, because it begins with 0", text, n)
	}
	return n, p, true
}

// ranges passes a list of numbers and ranges, each number at most most. The list is in the
// order of the file. Where an error ends it, ok is false.
func (c *cursor) ranges(most uint64) (list Ranges, ok bool) {
	for {
		from, p, ok := c.number()
		if !ok {
			return list, false
		}
		to, q := from, p
		if c.sign('-') {
			if to, q, ok = c.number(); !ok {
				return list, false
			}
		}
		switch {
		case from > most:
			c.fail(p, "%#x is too large; expected at most %#x", from, most)
		case to > most:
			c.fail(q, "%#x is too large; expected at most %#x", to, most)
		case from > to:
			c.warn(p, "the range is reversed; it is read as %#x-%#x", to, from)
			from, to = to, from
		}
		list = append(list, Range{from, to})
		if !c.sign(',') {
			return list, true
		}
	}
}

// texts passes the rest of the line, and returns the words between its commas without the blanks around
// them. A comma at the end of a line continues the list in the next one.
func (c *cursor) texts() (words []Word) {
	for {
		w, comma := c.text(",")
		words = append(words, w)
		if !comma {
			return words
		}
		if c.blanks(); c.peek() == '\n' || c.peek() == '#' {
			c.space()
		}
	}
}

// text passes text up to the end of the line, a comment, or one of some characters, which it passes too.
// What stands in quotes is taken as it is.
func (c *cursor) text(stops string) (w Word, stopped bool) {
	c.blanks()
	w.Position = c.here()
	var b strings.Builder
	for !c.ended() {
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
func (c *cursor) quoted() string {
	rest := c.src[c.pos+1:]
	end := strings.IndexAny(rest, "\"\n")
	if end < 0 || rest[end] != '"' {
		c.pos++
		return `"`
	}
	c.pos += end + 2
	return rest[:end]
}

// maxShown bounds what a message quotes.
const maxShown = 60

// shown quotes a text for a message.
func shown(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return fmt.Sprintf("%q", text)
}
