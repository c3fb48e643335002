package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTable(t *testing.T) {
	tab := &table{
		columns: []column{{head: "NAME", yields: true}, {head: "N", right: true}, {head: "PEER", yields: true}},
	}
	tab.add("a host with a long name", "1", "x")
	tab.add("\u00e4", "100", "another long name")
	tab.add("c", "2", "")
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "NAME                       N  PEER\n" +
			"a host with a long name    1  x\n" +
			"\u00e4                        100  another long name\n" +
			"c                          2\n"},
		{30, "NAME           N  PEER\n" + // 11 + 2 + 3 + 2 + 12
			"a host wit~    1  x\n" +
			"\u00e4            100  another lon~\n" +
			"c              2\n"},
		{10, ""}, // too narrow for any
	} {
		var b strings.Builder
		if err := tab.print(&b, c.width); err != nil {
			t.Fatal(err)
		}
		if c.want != "" && b.String() != c.want {
			t.Errorf("width %d:\n%swant\n%s", c.width, b.String(), c.want)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); c.width > 0 && n > c.width {
				t.Errorf("width %d: %q has %d characters", c.width, line, n)
			}
		}
	}
}

func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[31mb\n\u00e4"); got != "a?[31mb?\u00e4" {
		t.Errorf("%q", got)
	}
}
