package qos

import (
	"maps"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Bounds of what is read.
const (
	MaxFile   = 16 << 20
	maxGroups = 1 << 13 // those of qos-ulps included
	maxLevels = 1 << 13
	maxRules  = 1 << 14
)

// Parse reads the text of a file. The name is for messages. The Policy is nil if there are
// errors.
func Parse(name string, src []byte) (policy *Policy, errors, warnings diag.List) {
	p := &parser{cursor: cursor{name: name, line: 1}, policy: &Policy{}}
	switch {
	case len(src) > MaxFile:
		p.fail(diag.Position{File: name}, "file of %d bytes: at most %d are read", len(src), MaxFile)
		return nil, p.errors, nil
	case !p.isText(src):
		return nil, p.errors, nil
	}
	p.src = string(src)
	if strings.Contains(p.src, "\r\n") {
		p.warn(diag.Position{File: name, Line: 1}, "line ends CR LF: OpenSM refuses the file")
	}
	p.file()
	switch {
	case p.full():
		p.errors.Add(p.here(), "too many errors; the rest is not read")
	case len(p.errors) == 0: // names of what could not be read are unknown
		p.resolve()
	}
	if len(p.errors) > 0 {
		return nil, p.errors, p.warnings
	}
	return p.policy, nil, p.warnings
}

// isText says no to what has a byte 0, with an error.
func (c *cursor) isText(src []byte) bool {
	text := string(src)
	at := strings.IndexByte(text, 0)
	if at >= 0 {
		before := text[:at]
		c.fail(diag.Position{File: c.name, Line: 1 + strings.Count(before, "\n"), Col: at - strings.LastIndexByte(before, '\n')}, "a byte 0: this is not a text file")
	}
	return at < 0
}

// parser is a Policy that is being read.
type parser struct {
	cursor
	policy   *Policy
	named    []named // the rules of qos-match-rules, by index in policy.Rules
	ulps     []Rule
	fallback *Level // the line default of qos-ulps
}

// named is what a rule names, to be looked up when everything is read.
type named struct{ sources, destinations, level []Word }

// file reads the sections.
func (p *parser) file() {
	sections := map[string]func(start diag.Position){
		"port-groups":     func(at diag.Position) { p.blocks("port-groups", at, blocks{"port-group": p.group}) },
		"qos-levels":      func(at diag.Position) { p.blocks("qos-levels", at, blocks{"qos-level": p.level}) },
		"qos-match-rules": func(at diag.Position) { p.blocks("qos-match-rules", at, blocks{"qos-match-rule": p.rule}) },
		"qos-setup":       p.qosSetup,
		"qos-ulps":        p.qosULPs,
	}
	for p.space(); !p.ended() && !p.full(); p.space() {
		w, at := p.word()
		if section := sections[w]; section != nil {
			section(at)
			continue
		}
		p.unexpected(w, at, "port-groups", "qos-setup", "qos-levels", "qos-match-rules", "qos-ulps")
	}
}

// blocks are the readers of what may stand in a section, by the keyword that begins it.
type blocks map[string]func(start diag.Position)

// blocks reads a section up to its end.
func (p *parser) blocks(section string, start diag.Position, inside blocks) {
	expected := append(slices.Sorted(maps.Keys(inside)), "end-"+section)
	p.until(section, start, func(w string, at diag.Position) {
		if block := inside[w]; block != nil {
			block(at)
			return
		}
		p.unexpected(w, at, expected...)
	})
}

// until passes keywords to read, up to the one that ends a section.
func (p *parser) until(section string, start diag.Position, read func(w string, at diag.Position)) {
	for p.space(); !p.full(); p.space() {
		if p.ended() {
			p.fail(p.here(), "the file ends within %s, which begins in line %d; expected end-%s", section, start.Line, section)
			return
		}
		w, at := p.word()
		if w == "end-"+section {
			return
		}
		read(w, at)
	}
}

// unexpected notes an error about a word, and passes the rest of its line.
func (p *parser) unexpected(w string, at diag.Position, expected ...string) {
	if w == "" {
		w = p.src[p.pos : p.pos+1]
	}
	p.fail(at, "unexpected %s; expected %s%s", shown(w), list(expected), diag.Meant(w, expected))
	p.restOfLine()
}

// list writes words as a sentence has them.
func list(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// entries are the readers of the values of a block, by keyword.
type entries map[string]func(at diag.Position)

// entries reads a block of KEYWORD: VALUE up to its end. The order of the keywords is that of messages.
func (p *parser) entries(block string, start diag.Position, order []string, read entries) {
	p.until(block, start, func(w string, at diag.Position) {
		value := read[w]
		if value == nil {
			p.unexpected(w, at, append(slices.Clone(order), "end-"+block)...)
			return
		}
		p.blanks()
		if p.peek() != ':' {
			p.fail(p.here(), "expected ':' after %s", w)
			p.restOfLine()
			return
		}
		p.pos++
		value(at)
	})
}

// once notes an error if a value was given before, and remembers that it was.
func (p *parser) once(given map[string]bool, w string, at diag.Position) {
	if given[w] {
		p.fail(at, "%s stands here twice; expected it once", w)
	}
	given[w] = true
}

// single reads one text that must not be empty.
func (p *parser) single(what string) (w Word) {
	w, _ = p.text("")
	if w.Text == "" {
		p.fail(w.Position, "expected a text after %s", what)
	}
	if i := strings.IndexByte(w.Text, ','); i >= 0 && what != "use:" {
		p.fail(w.Position, "%s: expected one name, without a comma", shown(w.Text))
	}
	for what == "use:" && p.continued() { // OpenSM takes it for part of the description
		p.restOfLine()
	}
	return w
}

// continued reports whether the next line, which is passed up to its first word, can only belong to the text
// before: a line without any sign has no keyword.
func (p *parser) continued() bool {
	saved := p.cursor
	p.space()
	line := p.restOfLine()
	p.pos -= len(line)
	if line != "" && !strings.ContainsAny(line, ":,-*#0123456789") {
		return true
	}
	saved.warnings, saved.errors = p.warnings, p.errors
	p.cursor = saved
	return false
}

// some reads a list of texts, none of which may be empty.
func (p *parser) some(what string) (words []Word) {
	words = p.texts()
	for _, w := range words {
		if w.Text == "" {
			p.fail(w.Position, "expected a name in the list of %s", what)
		}
	}
	return words
}

// list reads ranges up to a number, and adds them.
func (p *parser) list(to *Ranges, most uint64) {
	more, ok := p.ranges(most)
	if !ok {
		p.restOfLine()
		return
	}
	*to = join(append(*to, more...))
}

// pkeys reads ranges of P_Keys, of which the membership does not count.
func (p *parser) pkeys(to *Ranges) {
	more, ok := p.ranges(0xffff)
	if !ok {
		p.restOfLine()
		return
	}
	*to = join(append(*to, bases(more)...))
}

// bases takes the membership from P_Keys, as OpenSM does: from both ends of a range.
func bases(keys Ranges) Ranges {
	for i, r := range keys {
		from, to := r.From&^uint64(mad.FullMember), r.To&^uint64(mad.FullMember)
		keys[i] = Range{min(from, to), max(from, to)}
	}
	return keys
}

// value reads one number between two.
func (p *parser) value(least, most uint64) (n uint64, at diag.Position, ok bool) {
	n, at, ok = p.number()
	switch {
	case !ok:
		p.restOfLine()
	case n < least || n > most:
		p.fail(at, "%d is out of range; expected %d to %d", n, least, most)
		ok = false
	}
	return n, at, ok
}
