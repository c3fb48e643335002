package manual

import (
	"fmt"
	"strings"
)

// Page is a man page under construction.
type Page struct {
	Name    string // such as ibsmctl
	Section int
	Summary string // one line, without a full stop
	Date    string // 2006-01-02
	text    strings.Builder
	headed  bool // a heading is the last there is
}

// Roff is the page in the language of man(7).
func (p *Page) Roff() string {
	return fmt.Sprintf(".\\\" Made from what --help prints.\n.TH %s %d %s ibsm \"ibsm manual\"\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(p.Name), p.Section, p.Date, escape(p.Name), escape(p.Summary)) + p.text.String()
}

// Heading begins a section.
func (p *Page) Heading(title string) {
	p.line(".SH %s", quote(strings.ToUpper(title)))
	p.headed = true
}

// Subheading begins a part of a section.
func (p *Page) Subheading(title string) {
	p.line(".SS %s", quote(title))
	p.headed = true
}

// begin begins a paragraph; below a heading there is one already.
func (p *Page) begin() {
	if !p.headed {
		p.line(".PP")
	}
}

// Paragraph adds one.
func (p *Page) Paragraph(text string) {
	p.begin()
	p.words(text)
}

// Entry adds a term and its description.
func (p *Page) Entry(term, text string) {
	p.line(".TP")
	p.line("%s", fonts(term))
	if text == "" {
		p.line(`\&`)
		return
	}
	p.words(text)
}

// Help adds a help text: its usage as the synopsis, its headings as sections, or with sub
// as subsections of the current section.
func (p *Page) Help(help string, sub bool) {
	heading := p.Heading
	if sub {
		heading = func(title string) { p.Paragraph(title + ":") }
	}
	blocks := parse(help)
	if lines := usage(blocks); len(lines) > 0 && !sub {
		p.Heading("Synopsis")
		p.synopsis(lines)
		p.Heading("Description")
	} else if sub {
		p.synopsis(lines)
	}
	p.blocks(blocks, heading)
}

// synopsis adds the usage lines with their descriptions.
func (p *Page) synopsis(lines []entry) {
	for _, l := range lines {
		if l.text == "" {
			p.begin()
			p.line("%s", fonts(l.term))
		} else {
			p.Entry(l.term, l.text)
		}
	}
}

// blocks adds all blocks but the usage.
func (p *Page) blocks(blocks []block, heading func(string)) {
	for i := range blocks {
		b := &blocks[i]
		if b.heading == "Usage" {
			continue
		}
		if b.heading != "" {
			heading(b.heading)
		}
		if b.text != "" {
			p.Paragraph(b.text)
		}
		for _, e := range b.entries {
			p.Entry(e.term, e.text)
		}
		if b.lines != nil {
			p.begin()
			p.line(".nf\n.RS")
			for _, l := range trimBlank(b.lines) {
				p.line("%s", protect(escape(l)))
			}
			p.line(".RE\n.fi")
		}
	}
}

// trimBlank removes blank lines at the end.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (p *Page) line(format string, args ...any) {
	fmt.Fprintf(&p.text, format+"\n", args...)
	p.headed = false
}

// words adds text in lines of moderate length.
func (p *Page) words(text string) {
	const width = 78
	line := ""
	for _, word := range strings.Fields(text) {
		word = escape(word)
		if line != "" && len(line)+1+len(word) > width {
			p.line("%s", protect(line))
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	p.line("%s", protect(line))
}

// escape escapes characters that are special in roff.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// protect prevents a line from being a roff request.
func protect(line string) string {
	if strings.HasPrefix(line, ".") {
		return `\&` + line
	}
	return line
}

// quote makes one argument of a title.
func quote(s string) string { return `"` + strings.ReplaceAll(escape(s), `"`, `\(dq`) + `"` }

// fonts sets literal words in bold, and placeholders, which are words in capitals, in
// italics.
func fonts(term string) string {
	words := strings.Fields(term)
	for i, word := range words {
		bare := strings.Trim(word, "[],.|")
		switch {
		case bare == "":
			words[i] = escape(word)
		case bare == strings.ToUpper(bare) && strings.ToLower(bare) != bare && bare[0] != '-':
			words[i] = `\fI` + escape(word) + `\fR`
		default:
			words[i] = `\fB` + escape(word) + `\fR`
		}
	}
	return protect(strings.Join(words, " "))
}
