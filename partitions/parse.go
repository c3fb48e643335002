package partitions

import (
	"fmt"
	"strings"

	"ibsm/conf/diag"
)

// Bounds of what is read. The file of a subnet of 39,366 ports, each in two of 5,000 partitions, has 2.4 MiB and
// 262,000 marks.
const (
	MaxFile  = 16 << 20 // bytes
	MaxLine  = 1 << 20  // bytes
	MaxMarks = 1 << 20  // line ends and, outside comments, equals signs, commas, colons and semicolons
	// maxPatterns bounds the members that have to be looked up in the whole subnet.
	maxPatterns = 1 << 13
	// maxFindings bounds errors, and warnings, of one file.
	maxFindings = 200
)

// Parse reads the text of a file. The name is for messages. It always returns a File, of
// a text with errors as much as could be understood.
func Parse(name string, src []byte) *File {
	f := &File{Name: name}
	if len(src) > MaxFile {
		f.Errors.Add(diag.Position{File: name}, "file of %d bytes: at most %d are read", len(src), MaxFile)
		return f
	}
	f.Src = string(src)
	marks, ok := f.marks()
	if !ok {
		return f
	}
	// At most one word for each mark, with the last one, and one comment for each line end.
	f.tokens = make([]token, 0, 2*marks+2)
	p := parser{f: f, src: f.Src, line: 1}
	for p.blanks(); p.pos < len(p.src) && len(f.Errors) < maxFindings; p.blanks() {
		if p.src[p.pos] == ';' {
			p.mark(semicolon)
			continue
		}
		p.definition()
	}
	if len(f.Errors) >= maxFindings {
		f.Errors.Add(p.here(), "too many errors; the rest is not read")
	}
	f.findMisreadings()
	return f
}

// marks counts the marks of a text. What is not lines of text, or has too many, has an error.
func (f *File) marks() (marks int, ok bool) {
	line, start := 1, 0
	for start <= len(f.Src) {
		text := f.Src[start : start+until(f.Src[start:], "\n")]
		if len(text) > MaxLine {
			f.Errors.Add(diag.Position{File: f.Name, Line: line}, "line of %d bytes: at most %d are read", len(text),
				MaxLine)
			return 0, false
		}
		if col := strings.IndexByte(text, 0); col >= 0 {
			f.Errors.Add(diag.Position{File: f.Name, Line: line, Col: col + 1}, "a byte 0: this is not a text file")
			return 0, false
		}
		start += len(text) + 1
		text, _, _ = strings.Cut(text, "#")
		marks++
		for i := range len(text) {
			if strings.IndexByte("=,:;", text[i]) >= 0 {
				marks++
			}
		}
		if marks > MaxMarks {
			f.Errors.Add(diag.Position{File: f.Name, Line: line},
				"more than %d line ends, equals signs, commas, colons and semicolons: no more are read", MaxMarks)
			return 0, false
		}
		line++
	}
	return marks, true
}

// parser is how far a file is read.
type parser struct {
	f         *File
	src       string
	pos       int
	line      int // of pos
	lineStart int
	begun     bool // the line has more than commas up to pos
}

// blanks passes what has no meaning: blanks, line ends, comments.
func (p *parser) blanks() {
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '\n':
			p.mark(newline)
			p.line++
			p.lineStart = p.pos
		case c == '#':
			text := p.src[p.pos : p.pos+until(p.src[p.pos:], "\n")]
			p.f.tokens = append(p.f.tokens, token{comment, p.word(p.pos, strings.TrimRight(text, blank))})
			p.pos += len(text)
		case strings.IndexByte(blank, c) >= 0:
			p.pos++
		default:
			return
		}
	}
}

// blank is what may stand around words. Lines may end as on other systems.
const blank = " \t\r"

// until is the offset of the first of some characters in a text, or its length.
func until(text, stops string) int {
	if i := strings.IndexAny(text, stops); i >= 0 {
		return i
	}
	return len(text)
}

// mark passes one character that is a token.
func (p *parser) mark(kind tokenKind) {
	p.f.tokens = append(p.f.tokens, token{kind, p.word(p.pos, p.src[p.pos:p.pos+1])})
	p.pos++
	if kind != comma {
		p.begun = kind != newline
	}
}

// word is a piece of the current line.
func (p *parser) word(start int, text string) Word {
	return Word{Text: text, Start: start, Line: p.line, Col: start - p.lineStart + 1}
}

// take passes everything before one of some characters, and makes a word of it.
func (p *parser) take(kind tokenKind, stops string) Word {
	raw := p.src[p.pos : p.pos+until(p.src[p.pos:], stops)]
	text := strings.TrimLeft(raw, blank)
	start := p.pos + len(raw) - len(text)
	p.pos += len(raw)
	w := p.word(start, strings.TrimRight(text, blank))
	if w.Text != "" {
		p.f.tokens = append(p.f.tokens, token{kind, w})
		p.begun = true
	}
	return w
}

// assignment passes NAME or NAME=VALUE; what it may end with comes without the equals
// sign.
func (p *parser) assignment(kind tokenKind, stops string) (a Assignment) {
	a.Name = p.take(kind, stops+"=")
	if p.pos < len(p.src) && p.src[p.pos] == '=' {
		p.mark(equals)
		a.Assigned = true
		a.Value = p.take(kind, stops)
	}
	return a
}

func (p *parser) here() diag.Position {
	return diag.Position{File: p.f.Name, Line: p.line, Col: p.pos - p.lineStart + 1}
}

// definition reads one statement, which begins at the current character.
func (p *parser) definition() {
	// Not the whole line: it may have a hundred thousand definitions.
	if end := p.pos + until(p.src[p.pos:], ":;\n#"); end == len(p.src) || p.src[end] != ':' {
		p.noHead(p.src[p.pos : p.pos+until(p.src[p.pos:], "\n#")])
		return
	}
	d := Definition{Start: p.pos}
	d.Head = p.assignment(headWord, ",:")
	for p.src[p.pos] == ',' {
		p.mark(comma)
		d.Flags = append(d.Flags, p.assignment(headWord, ",:"))
	}
	d.Colon = p.pos
	p.mark(colon)
	d.End = p.pos
	p.body(&d)
	p.f.Definitions = append(p.f.Definitions, d)
}

// noHead reports a line that should be the head of a definition, and passes what seems
// to belong to it.
func (p *parser) noHead(line string) {
	if head, _, found := strings.Cut(line, ";"); found {
		line = head + ";"
	}
	p.f.Errors.Add(p.here(),
		"%s: no ':' in it; expected NAME=P_KEY, FLAG, ... : MEMBER, ... ; with the colon on the line of the name",
		shown(strings.TrimRight(line, blank)))
	for {
		p.pos += until(p.src[p.pos:], ";\n#")
		if p.pos == len(p.src) {
			return
		}
		if p.src[p.pos] == ';' {
			p.pos++
			return
		}
		p.blanks()
		next := p.src[p.pos : p.pos+until(p.src[p.pos:], ";\n#")]
		if looksLikeHead(next) {
			return
		}
	}
}

// looksLikeHead reports whether the text is the beginning of a definition.
func looksLikeHead(line string) bool {
	i := strings.IndexByte(line, ':')
	return i >= 0 && !strings.Contains(line[:i], groupWord) && strings.IndexByte(line[i+1:], ':') < 0
}

// body reads items up to the semicolon.
func (p *parser) body(d *Definition) {
	for p.blanks(); p.pos < len(p.src); p.blanks() {
		switch p.src[p.pos] {
		case ';':
			p.mark(semicolon)
			d.End, d.Closed = p.pos, true
			return
		case ',':
			p.mark(comma)
			continue
		}
		if p.startsNext() {
			p.f.Errors.Add(p.here(),
				"%s: a definition begins here, but that of line %d does not end; write ';' after its last member",
				shown(p.src[p.pos:p.pos+until(p.src[p.pos:], ":\n")]), d.Head.Name.Line)
			return
		}
		item := Item{Assignment: p.assignment(bodyWord, ",;#\n")}
		for item.IsGroup() && p.pos < len(p.src) && p.src[p.pos] == ',' {
			p.mark(comma)
			item.Flags = append(item.Flags, p.assignment(bodyWord, ",;#\n"))
		}
		d.Items = append(d.Items, item)
		d.End = item.end()
	}
}

// startsNext reports whether a line begins here that can only be the head of another
// definition. Commas before it in a body, which Format leaves out, change nothing.
func (p *parser) startsNext() bool {
	return !p.begun && looksLikeHead(p.src[p.pos:p.pos+until(p.src[p.pos:], ";\n#")])
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
