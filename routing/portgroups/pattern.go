package portgroups

import (
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"ibsm/conf/diag"
)

// Bounds of a pattern. The time to match a description is at most proportional to the steps of the pattern.
const (
	maxPattern = 256  // bytes
	maxSteps   = 2000 // instructions of the compiled pattern
)

// pattern reads a regular expression, after which :N may name a port.
func (g *reader) pattern(at diag.Position) {
	w, _ := g.Text("")
	p, err := newPattern(w.Text)
	if err != "" {
		g.Fail(w.Position, "%s", err)
		return
	}
	g.rule(at).Pattern = p
}

// newPattern makes a pattern of a text. err says what is wrong with it; "" if nothing.
func newPattern(text string) (p *Pattern, err string) {
	p = &Pattern{Text: text}
	if colon := strings.LastIndexByte(text, ':'); colon >= 0 {
		if n, wrong := strconv.ParseUint(text[colon+1:], 10, 8); wrong == nil && n > 0 && n <= maxPort {
			p.Text, p.Port = text[:colon], uint8(n)
		}
	}
	switch {
	case p.Text == "":
		return nil, "expected a regular expression"
	case len(p.Text) > maxPattern:
		return nil, "the pattern is longer than " + strconv.Itoa(maxPattern) + " bytes"
	}
	// syntax.Parse alone is cheap for any text of this length, and Compile is what can be large.
	parsed, wrong := syntax.Parse(p.Text, syntax.Perl)
	if wrong != nil {
		return nil, strings.TrimPrefix(wrong.Error(), "error parsing regexp: ")
	}
	if program, wrong := syntax.Compile(parsed.Simplify()); wrong != nil || len(program.Inst) > maxSteps {
		return nil, "the pattern is too large: its repetitions make more than " + strconv.Itoa(maxSteps) + " steps"
	}
	if p.expr, wrong = regexp.Compile(p.Text); wrong != nil {
		return nil, wrong.Error()
	}
	return p, ""
}
