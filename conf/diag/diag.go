// Package diag reports errors in configuration files: a list of errors, each with file,
// line and column, printed as compilers do, so that editors can open the position.
package diag

import (
	"fmt"
	"io"
	"strings"
)

// Position is a position in a file. Line and Col start at 1, Col counts bytes; 0 means
// unknown.
type Position struct {
	File string
	Line int
	Col  int
}

// String prints "file:line:col" and leaves out what is unknown.
func (p Position) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
		if p.Col > 0 {
			s += fmt.Sprintf(":%d", p.Col)
		}
	}
	return s
}

// Error is an error at a position.
type Error struct {
	Position
	Text string // the error and the expected value
}

// Error is the position, if there is one, and the text.
func (e Error) Error() string {
	if e.Position == (Position{}) {
		return e.Text
	}
	return e.Position.String() + ": " + e.Text
}

// List is a list of errors in a file, in file order.
type List []Error

// Add appends an error.
func (l *List) Add(p Position, format string, args ...any) {
	*l = append(*l, Error{p, fmt.Sprintf(format, args...)})
}

// Err is the list as an error, nil when it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Warn writes each as a line that is a warning.
func (l List) Warn(w io.Writer) {
	for _, e := range l {
		fmt.Fprintf(w, "%v: warning: %s\n", e.Position, e.Text)
	}
}

func (l List) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}
