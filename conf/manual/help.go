// Package manual generates man pages from the --help texts of the programs, so that both have
// one source. It is pure.
//
// Help is plain text: paragraphs; lists of terms and what they mean, in two columns that
// two or more blanks separate, under a heading that ends with a colon or without heading; and
// examples, under a heading of that name. Usage lines are a list, or follow "Usage: ".
package manual

import "strings"

// block is a part of a help text.
type block struct {
	heading string // without its colon, "" for none
	text    string // a paragraph
	entries []entry
	lines   []string // of examples, as they stand
}

// entry is a term and its description.
type entry struct{ term, text string }

// continued is the minimum indentation of a line that continues an entry.
const continued = 12

// parse divides a help text into its blocks.
func parse(help string) (blocks []block) {
	var b *block
	begin := func(heading string) {
		blocks = append(blocks, block{heading: heading})
		b = &blocks[len(blocks)-1]
	}
	blank := true
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, " \n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		trimmed := line[indent:]
		usage, isUsage := strings.CutPrefix(line, "Usage: ")
		switch {
		case line == "":
			if b != nil && b.lines != nil {
				b.lines = append(b.lines, "")
			}
		case isUsage:
			begin("Usage")
			b.entries = append(b.entries, entry{term: usage})
		case indent == 0 && strings.HasSuffix(line, ":") && len(line) < 60 && (blank || b == nil || b.entries != nil):
			begin(strings.TrimSuffix(line, ":"))
		case indent == 0:
			if b == nil || blank || b.text == "" {
				begin("")
			}
			b.text = strings.TrimSpace(b.text + " " + trimmed)
		case b != nil && strings.HasPrefix(b.heading, "Example"):
			b.lines = append(b.lines, strings.TrimPrefix(line, "  "))
		case b != nil && indent >= continued && b.entries != nil:
			last := &b.entries[len(b.entries)-1]
			last.text = strings.TrimSpace(last.text + " " + trimmed)
		default:
			if b == nil || b.text != "" {
				begin("")
			}
			term, text := cutColumns(trimmed)
			b.entries = append(b.entries, entry{term, text})
		}
		blank = line == ""
	}
	return blocks
}

// cutColumns splits a line at the first two blanks.
func cutColumns(line string) (term, text string) {
	term, text, _ = strings.Cut(line, "  ")
	return term, strings.TrimSpace(text)
}

// usage are the usage lines of a program.
func usage(blocks []block) (lines []entry) {
	for i := range blocks {
		if blocks[i].heading == "Usage" {
			lines = append(lines, blocks[i].entries...)
		}
	}
	return lines
}
