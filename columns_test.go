package ibsm_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns = 120 // with four for a tab
	maxLines   = 70  // of a function
)

// TestColumns: lines have at most 120 columns, unless the text of one literal is what makes a line longer, so that
// messages can be searched for; functions outside tests have at most 70 lines.
func TestColumns(t *testing.T) {
	files := strings.Fields(output(t, "git", "ls-files", "*.go"))
	if len(files) < 1000 {
		t.Fatalf("only %d files", len(files))
	}
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		literals := literalsOf(src)
		for i, line := range strings.Split(string(src), "\n") {
			if n := columns(line) - literals[i+1]; n > maxColumns {
				t.Errorf("%s:%d has %d columns", path, i+1, n)
			}
		}
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				from, to := fset.Position(fn.Pos()), fset.Position(fn.End())
				if n := to.Line - from.Line + 1; n > maxLines {
					t.Errorf("%v: %s has %d lines", from, fn.Name.Name, n)
				}
			}
		}
	}
}

func columns(line string) int { return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t") }

// literalsOf is the length of the longest literal of a string on each line, from 1. A literal of several lines makes
// all of them as long as they are.
func literalsOf(src []byte) map[int]int {
	longest := map[int]int{}
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return longest
		}
		if tok != token.STRING {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			at := file.Line(pos) + i
			longest[at] = max(longest[at], columns(line))
		}
	}
}
