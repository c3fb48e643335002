package policyfile

import (
	"maps"
	"slices"
	"strings"

	"ibsm/conf/diag"
)

// Word is a word of the file and where it stands.
type Word struct {
	Text     string
	Position diag.Position
}

// Blocks are the readers of what may stand in a section, by the keyword that begins it.
type Blocks map[string]func(start diag.Position)

// Section reads a section up to its end.
func (c *Reader) Section(section string, start diag.Position, inside Blocks) {
	expected := append(slices.Sorted(maps.Keys(inside)), "end-"+section)
	c.Until(section, start, func(w string, at diag.Position) {
		if block := inside[w]; block != nil {
			block(at)
			return
		}
		c.Unexpected(w, at, expected...)
	})
}

// Until passes keywords to read, up to the one that ends a section.
func (c *Reader) Until(section string, start diag.Position, read func(w string, at diag.Position)) {
	for c.Space(); !c.Full(); c.Space() {
		if c.Ended() {
			c.Fail(c.Here(), "the file ends within %s, which begins in line %d; expected end-%s", section, start.Line,
				section)
			return
		}
		w, at := c.Keyword()
		if w == "end-"+section {
			return
		}
		read(w, at)
	}
}

// Unexpected notes an error about a word, and passes the rest of its line.
func (c *Reader) Unexpected(w string, at diag.Position, expected ...string) {
	if w == "" {
		w = c.src[c.pos : c.pos+1]
	}
	c.Fail(at, "unexpected %s; expected %s%s", Shown(w), List(expected), diag.Meant(w, expected))
	c.RestOfLine()
}

// List writes words as a sentence has them.
func List(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// Entries are the readers of the values of a block, by keyword.
type Entries map[string]func(at diag.Position)

// Entries reads a block of KEYWORD: VALUE up to its end. The order of the keywords is that of messages.
func (c *Reader) Entries(block string, start diag.Position, order []string, read Entries) {
	c.Until(block, start, func(w string, at diag.Position) {
		value := read[w]
		if value == nil {
			c.Unexpected(w, at, append(slices.Clone(order), "end-"+block)...)
			return
		}
		c.Blanks()
		if c.Peek() != ':' {
			c.Fail(c.Here(), "expected ':' after %s", w)
			c.RestOfLine()
			return
		}
		c.pos++
		value(at)
	})
}

// Once notes an error if a value was given before, and remembers that it was.
func (c *Reader) Once(given map[string]bool, w string, at diag.Position) {
	if given[w] {
		c.Fail(at, "%s stands here twice; expected it once", w)
	}
	given[w] = true
}

// Single reads one text that must not be empty.
func (c *Reader) Single(what string) (w Word) {
	w, _ = c.Text("")
	if w.Text == "" {
		c.Fail(w.Position, "expected a text after %s", what)
	}
	if i := strings.IndexByte(w.Text, ','); i >= 0 && what != "use:" {
		c.Fail(w.Position, "%s: expected one name, without a comma", Shown(w.Text))
	}
	for what == "use:" && c.continued() { // OpenSM takes it for part of the description
		c.RestOfLine()
	}
	return w
}

// continued reports whether the next line, which is passed up to its first word, can only belong to the text
// before: a line without any sign has no keyword.
func (c *Reader) continued() bool {
	saved := *c
	c.Space()
	line := c.RestOfLine()
	c.pos -= len(line)
	if line != "" && !strings.ContainsAny(line, ":,-*#0123456789") {
		return true
	}
	saved.Warnings, saved.Errors = c.Warnings, c.Errors
	*c = saved
	return false
}

// Names reads a list of texts, none of which may be empty.
func (c *Reader) Names(what string) (words []Word) {
	words = c.Texts()
	for _, w := range words {
		if w.Text == "" {
			c.Fail(w.Position, "expected a name in the list of %s", what)
		}
	}
	return words
}

// Numbers reads ranges up to a number, and adds them.
func (c *Reader) Numbers(to *Ranges, most uint64) {
	more, ok := c.Ranges(most)
	if !ok {
		c.RestOfLine()
		return
	}
	*to = Join(append(*to, more...))
}

// PKeys reads ranges of P_Keys, and adds them without the membership, which does not count.
func (c *Reader) PKeys(to *Ranges) {
	more, ok := c.Ranges(0xffff)
	if !ok {
		c.RestOfLine()
		return
	}
	*to = Join(append(*to, Bases(more)...))
}

// fullMember is the bit of a P_Key that says so.
const fullMember = 0x8000

// Bases takes the membership from P_Keys, as OpenSM does: from both ends of a range.
func Bases(keys Ranges) Ranges {
	for i, r := range keys {
		from, to := r.From&^fullMember, r.To&^fullMember
		keys[i] = Range{min(from, to), max(from, to)}
	}
	return keys
}

// Value reads one number between two.
func (c *Reader) Value(least, most uint64) (n uint64, at diag.Position, ok bool) {
	n, at, ok = c.Number()
	switch {
	case !ok:
		c.RestOfLine()
	case n < least || n > most:
		c.Fail(at, "%d is out of range; expected %d to %d", n, least, most)
		ok = false
	}
	return n, at, ok
}

// Fold is a name as it is compared: OpenSM drops blanks and does not mind upper case.
func Fold(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(blank, r) {
			return -1
		}
		return r
	}, name))
}

// enough is how many names of very many Known returns.
const enough = 200

// Known are names, for messages that show the nearest: some of very many.
func Known[T any](names map[string]T) []string {
	all := slices.Sorted(maps.Keys(names))
	return all[:min(len(all), enough)]
}
