package main

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is rows of cells under heads, made to fit a width when it is printed.
type table struct {
	columns []column
	rows    [][]string
}

// column is one column of a table.
type column struct {
	head   string
	right  bool // numbers
	yields bool // it becomes narrower where there is no room, down to leastWidth
}

const (
	leastWidth = 8
	gap        = 2 // between columns
)

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table in lines of at most width characters; 0 is without bounds.
func (t *table) print(w io.Writer, width int) error {
	widths := t.fit(width)
	out := bufio.NewWriterSize(w, 1<<16)
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = c.head
	}
	var line []byte
	for i := -1; i < len(t.rows); i++ {
		cells := heads
		if i >= 0 {
			cells = t.rows[i]
		}
		line = t.appendLine(line[:0], cells, widths)
		if width > 0 {
			line = []byte(cut(string(line), width))
		}
		out.Write(append(bytes.TrimRight(line, " "), '\n'))
	}
	return out.Flush()
}

// fit is the width of each column.
func (t *table) fit(width int) []int {
	widths := make([]int, len(t.columns))
	total := gap * (len(t.columns) - 1)
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.head)
		for _, r := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
		total += widths[i]
	}
	for width > 0 && total > width {
		widest := -1
		for i, c := range t.columns {
			if c.yields && widths[i] > leastWidth && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

func (t *table) appendLine(b []byte, cells []string, widths []int) []byte {
	for i, cell := range cells {
		cell = cut(cell, widths[i])
		blanks := widths[i] - utf8.RuneCountInString(cell)
		if t.columns[i].right {
			b = append(appendBlanks(b, blanks), cell...)
		} else {
			b = append(b, cell...)
			if i < len(cells)-1 {
				b = appendBlanks(b, blanks)
			}
		}
		if i < len(cells)-1 {
			b = appendBlanks(b, gap)
		}
	}
	return b
}

func appendBlanks(b []byte, n int) []byte {
	for range n {
		b = append(b, ' ')
	}
	return b
}

// cut is a text of at most width characters; a tilde at its end stands for the rest.
func cut(text string, width int) string {
	if len(text) <= width || utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(width-1, 0)]) + "~"
}

// printable is a text without what a terminal would obey.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
