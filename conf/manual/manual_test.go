package manual

import (
	"reflect"
	"strings"
	"testing"
)

const sample = `Usage: tool act [OPTION]... FILE
       tool rest

Does what it does, in
two lines.

  first       one thing
  second

Options:
      --long ARG   what it is,
                   -x is another
  -s, --short      short
  -x FILE          a file
tool --help describes the others.

Examples:
  tool act .x
                   -with a comment

  tool 'rest'
`

func TestParse(t *testing.T) {
	want := []block{
		{heading: "Usage", entries: []entry{{"tool act [OPTION]... FILE", ""}, {"tool rest", ""}}},
		{text: "Does what it does, in two lines."},
		{entries: []entry{{"first", "one thing"}, {"second", ""}}},
		{heading: "Options", entries: []entry{{"--long ARG", "what it is, -x is another"}, {"-s, --short", "short"},
			{"-x FILE", "a file"}}},
		{text: "tool --help describes the others."},
		{heading: "Examples", lines: []string{"tool act .x", "                 -with a comment", "", "tool 'rest'"}},
	}
	if got := parse(sample); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
}

func TestRoff(t *testing.T) {
	p := Page{Name: "tool", Section: 1, Summary: "a tool", Date: "2026-01-31"}
	p.Help(sample, false)
	want := `.\" Made from what --help prints.
.TH TOOL 1 2026-01-31 ibsm "ibsm manual"
.SH NAME
tool \- a tool
.SH "SYNOPSIS"
\fBtool\fR \fBact\fR \fI[OPTION]...\fR \fIFILE\fR
.PP
\fBtool\fR \fBrest\fR
.SH "DESCRIPTION"
Does what it does, in two lines.
.TP
\fBfirst\fR
one thing
.TP
\fBsecond\fR
\&
.SH "OPTIONS"
.TP
\fB\-\-long\fR \fIARG\fR
what it is, \-x is another
.TP
\fB\-s,\fR \fB\-\-short\fR
short
.TP
\fB\-x\fR \fIFILE\fR
a file
.PP
tool \-\-help describes the others.
.SH "EXAMPLES"
.nf
.RS
tool act .x
                 \-with a comment

tool \(aqrest\(aq
.RE
.fi
`
	if got := p.Roff(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// FuzzHelp: no part of a help text becomes a roff request.
func FuzzHelp(f *testing.F) {
	f.Add(sample)
	f.Add("Usage:\n  x\n   .y  z\n")
	f.Add(":\n  '\n")
	f.Fuzz(func(t *testing.T, help string) {
		p := Page{Name: "x", Section: 1}
		p.Help(help, true)
		for line := range strings.Lines(p.text.String()) {
			if word := strings.TrimSpace(line); strings.HasPrefix(line, ".") &&
				!strings.Contains(" .PP .TP .nf .RS .RE .fi ", " "+word+" ") || strings.HasPrefix(line, "'") {
				t.Errorf("%q from %q", line, help)
			}
		}
	})
}
