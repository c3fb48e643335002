package partitions

import (
	"strings"
	"unicode/utf8"
)

// indent is before lines of members.
const indent = "    "

// Format is the text of a file in one style: heads at the beginning of lines, members
// behind four blanks, one blank where one helps, a semicolon behind the last member and
// never on a line of its own, comments behind lines in one column. Words, their order,
// comments and the distribution over lines stay, and so does the meaning. The file must
// be without errors.
func (f *File) Format() []byte {
	l := layout{last: newline}
	for _, t := range f.tokens {
		l.add(t)
	}
	l.endLine()
	if l.open {
		l.close()
	}
	return l.text()
}

// layout collects lines.
type layout struct {
	lines   []line
	code    strings.Builder // of the line under way
	last    tokenKind       // in it, newline at its beginning
	comment string
	inside  bool // the line began inside a definition
	open    bool // behind the colon and before the semicolon
	group   bool // in an item with mgid, where each comma may have a meaning
}

// line is one line of the result.
type line struct {
	code, comment string
	inside        bool // it belongs to a definition that began before
	last          tokenKind
	group         bool // the last item is a group
}

func (l *layout) add(t token) {
	switch t.kind {
	case newline:
		l.endLine()
		return
	case comment:
		l.comment = t.word.Text
		return
	case semicolon:
		if l.open {
			l.close()
		}
		return
	}
	if l.last == semicolon {
		l.endLine() // each definition begins a line
	}
	switch last := l.last; t.kind {
	case comma:
		if !l.group && (last == comma || l.open && (last == newline || last == colon)) {
			return
		}
	case colon:
		code := strings.TrimRight(l.code.String(), ",")
		l.code.Reset()
		l.code.WriteString(code)
		if code != "" {
			l.code.WriteString(" ")
		}
		l.open = true
	case headWord, bodyWord:
		if last == comma || last == colon {
			l.code.WriteString(" ")
		}
		if l.open && last != equals {
			l.group = l.group || t.word.Text == groupWord
		}
	}
	l.code.WriteString(t.word.Text)
	l.last = t.kind
}

// endLine finishes the line under way. The next one is inside a definition if that is
// open now.
func (l *layout) endLine() {
	l.lines = append(l.lines, line{l.code.String(), l.comment, l.inside, l.last, l.group})
	l.code.Reset()
	l.comment, l.inside, l.group, l.last = "", l.open, false, newline
}

// close puts the semicolon behind the last item, above comments that stand before it.
func (l *layout) close() {
	l.open = false
	if code := l.code.String(); code != "" {
		l.code.Reset()
		l.code.WriteString(closed(code, l.last, l.group))
		l.last, l.group = semicolon, false
		return
	}
	l.inside = false
	for i := len(l.lines) - 1; ; i-- {
		at := &l.lines[i]
		if at.code == "" {
			at.inside = false
			continue
		}
		at.code = closed(at.code, at.last, at.group)
		return
	}
}

// closed is the last line of a definition.
func closed(code string, last tokenKind, group bool) string {
	switch {
	case last == comma && !group:
		code = strings.TrimRight(code, ",")
	case last == colon:
		code += " "
	}
	return code + ";"
}

// text joins the lines: never two empty ones in a row, none at the beginning and the end.
func (l *layout) text() []byte {
	var b strings.Builder
	empty := true
	for i := 0; i < len(l.lines); {
		if at := &l.lines[i]; at.code == "" {
			if at.comment != "" {
				if at.inside {
					b.WriteString(indent)
				}
				b.WriteString(at.comment)
			}
			if at.comment != "" || !empty && l.more(i) {
				b.WriteString("\n")
			}
			empty = at.comment == ""
			i++
			continue
		}
		empty = false
		run := i
		for run < len(l.lines) && l.lines[run].code != "" && l.lines[run].comment != "" {
			run++
		}
		writeRun(&b, l.lines[i:max(run, i+1)])
		i = max(run, i+1)
	}
	return []byte(b.String())
}

// more reports whether anything comes after a line.
func (l *layout) more(i int) bool {
	for _, at := range l.lines[i+1:] {
		if at.code != "" || at.comment != "" {
			return true
		}
	}
	return false
}

// writeRun writes lines with their comments in one column.
func writeRun(b *strings.Builder, lines []line) {
	width := func(l *line) int {
		n := utf8.RuneCountInString(l.code)
		if l.inside {
			n += len(indent)
		}
		return n
	}
	column := 0
	for i := range lines {
		column = max(column, width(&lines[i])+2)
	}
	for i := range lines {
		if lines[i].inside {
			b.WriteString(indent)
		}
		b.WriteString(lines[i].code)
		if lines[i].comment != "" {
			b.WriteString(strings.Repeat(" ", column-width(&lines[i])))
			b.WriteString(lines[i].comment)
		}
		b.WriteString("\n")
	}
}
