package instances

import (
	"strings"

	"ibsm/conf/diag"
)

// setting is an assignment of a file that a shell reads.
type setting struct {
	key, value string
	unknown    bool // it is set, and nobody can say to what
	at         diag.Position
}

// parse reads assignments as a shell would: KEY=value, with quotes, after export as
// well. It runs nothing: a value with an expansion is passed over, as is any other line.
func parse(file string, src []byte) (map[string]setting, diag.List) {
	p := parser{file: file, rest: string(src), line: 1, set: map[string]setting{}}
	for p.rest != "" {
		p.statement()
	}
	return p.set, p.wrong
}

type parser struct {
	file  string
	rest  string
	line  int
	set   map[string]setting
	wrong diag.List
}

func (p *parser) at() diag.Position { return diag.Position{File: p.file, Line: p.line} }

// skip passes over n bytes.
func (p *parser) skip(n int) {
	p.line += strings.Count(p.rest[:n], "\n")
	p.rest = p.rest[n:]
}

// skipLine passes over the rest of the line with its end.
func (p *parser) skipLine() {
	if end := strings.IndexByte(p.rest, '\n'); end >= 0 {
		p.skip(end + 1)
	} else {
		p.rest = ""
	}
}

const shellBlanks = " \t\r;"

// statement reads an assignment, or passes over a line.
func (p *parser) statement() {
	p.rest = strings.TrimLeft(p.rest, shellBlanks)
	if p.rest == "" {
		return
	}
	if p.rest[0] == '\n' || p.rest[0] == '#' {
		p.skipLine()
		return
	}
	if rest, found := strings.CutPrefix(p.rest, "export "); found {
		p.rest = strings.TrimLeft(rest, shellBlanks)
	}
	n := 0
	for n < len(p.rest) && isNameByte(p.rest[n]) {
		n++
	}
	key, at := p.rest[:n], p.at()
	if n == 0 || n == len(p.rest) || p.rest[n] != '=' {
		p.wrong.Add(at, "this line is ignored: expected KEY=value")
		p.skipLine()
		return
	}
	p.rest = p.rest[n+1:]
	value, fault := p.value()
	if fault != "" {
		p.wrong.Add(at, "%s is ignored: %s", key, fault)
		p.skipLine()
	}
	p.set[key] = setting{key, strings.TrimSpace(value), fault != "", at}
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// value reads one word of the shell's, which may be in quotes in part. fault says why it
// has no value.
func (p *parser) value() (value, fault string) {
	var b strings.Builder
	quote := byte(0)
	for p.rest != "" {
		c := p.rest[0]
		switch {
		case quote == 0 && strings.IndexByte(shellBlanks+"\n", c) >= 0:
			return b.String(), ""
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != '\'' && c == '\\' && len(p.rest) > 1:
			p.skip(1)
			if p.rest[0] != '\n' {
				b.WriteByte(p.rest[0])
			}
		case quote != '\'' && (c == '$' || c == '`'):
			return "", "nothing is expanded here; write the value out"
		default:
			b.WriteByte(c)
		}
		p.skip(1)
	}
	if quote != 0 {
		return "", "a quote is left open"
	}
	return b.String(), ""
}
