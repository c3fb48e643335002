package ibsm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestMessages: what the log warns of is explained on the page about messages, which
// begins with the same words, as far as these are the program's own.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile("docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	walkSources(t, func(path string, call *ast.CallExpr) {
		text, ok := warning(call)
		if !ok {
			return
		}
		found++
		words, _, _ := strings.Cut(text, ":")
		words, _, _ = strings.Cut(words, ";")
		if !strings.Contains(string(page), "`"+words) && !strings.Contains(string(page), "`"+strings.Split(words, ",")[0]) {
			t.Errorf("%s: %q is not on docs/messages.md", path, words)
		}
	})
	if found < 30 {
		t.Errorf("only %d messages were found", found)
	}
}

// walkSources visits each call of the program's own code.
func walkSources(t *testing.T, visit func(path string, call *ast.CallExpr)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				visit(path, call)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// warning is the text of a call that logs a warning or an error in words of its own:
// x.Warn("...") and x.Error("..."), and the core's x.log(warn, "...").
func warning(call *ast.CallExpr) (text string, ok bool) {
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod || len(call.Args) == 0 {
		return "", false
	}
	said := call.Args[0]
	switch method.Sel.Name {
	case "Warn", "Error":
	case "log":
		level, isName := said.(*ast.Ident)
		if !isName || level.Name != "warn" && level.Name != "erro" || len(call.Args) < 2 {
			return "", false
		}
		said = call.Args[1]
	default:
		return "", false
	}
	literal, isLiteral := said.(*ast.BasicLit)
	if !isLiteral || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// TestLinks: what the pages refer to is there.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatal(pages, err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
