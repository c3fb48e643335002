package ibsm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// oldWords are words that the project does not use, with the term to use instead. They
// are matched without case, in comments, texts, documentation, and identifiers split
// into words.
var oldWords = []struct {
	old     *regexp.Regexp
	instead string
}{
	{word(`reigns?|reigned`), "mastership term"},
	{word(`heirs?`), "handover target, next master"},
	{word(`bequeath\w*`), "hand over"},
	{word(`kin`), "peer ibsm"},
	{word(`orphaned`), "master lost"},
	{word(`astray`), "path lost"},
	{word(`st(?:oo|an)ds? still|standing still`), "was paused, resumed"},
	{word(`deaf`), "draining"},
	{word(`strangers?`), "foreign master"},
	{word(`petitions?|petitioned`), "priority-change trap"},
	{word(`twins?`), "duplicate GUID"},
	{word(`kept lid|grow job`), "LID assignment, ignored fields, multicast task"},
	{word(`hush\w*`), "unresponsive"},
	{word(`homeless`), "without LID"},
	{word(`rekeys`), "changes M_Key"},
	{word(`distrust\w*`), "needs full sweep"},
	{word(`clerks?`), "dispatcher"},
	{word(`desks?`), "control server"},
	{word(`tells?|told|telling`), "log, report, notify, send"},
	{word(`ruled|ruling|who rules|that rules|nobody rules`), "is master"},
	{word(`(?:is|are|was|were) to be|(?:is|are) to hold`), "wanted, target"},
	{word(`goe?s? before`), "takes precedence over"},
	{word(`mend|mends|mended|mending`), "fix"},
	{word(`mistakes?`), "error"},
}

func word(s string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + s + `)\b`) }

// exceptions are texts that have to stay: those of OpenSM, and names outside the program.
var exceptions = []struct {
	path string
	text *regexp.Regexp
}{
	{"opensm/log/modules.go", regexp.MustCompile(`\.go`)},                    // names of source files
	{"words_test.go", regexp.MustCompile(``)},                                // the list itself
	{"floors_test.go", regexp.MustCompile(``)},                               // names of packages
	{"docs/messages.md", regexp.MustCompile("^[|] `")},                       // log messages of packages below
	{"CHANGELOG.md", regexp.MustCompile("`reign`|`heir`|stranger")},          // what was renamed
	{"daemon/master_policy.go", regexp.MustCompile("ibsm ruling [123456%]")}, // in the store and in the mirror
	{"daemon/inherited_test.go", regexp.MustCompile("ruling [124]")},         // the same
	{"store/schema.go", regexp.MustCompile(`^reigns$`)},                      // on disk
	{"cmd/ibsmctl/state_export.go", regexp.MustCompile(`json:"reigns"`)},     // of earlier exports
}

// TestWords: old words do not return.
func TestWords(t *testing.T) {
	found := map[string][]string{} // by unit
	note := func(unit, path string, line int, text string) {
		for _, w := range oldWords {
			hit := w.old.FindString(text)
			if hit == "" || excepted(path, text) {
				continue
			}
			found[unit] = append(found[unit], path+":"+strconv.Itoa(line)+": "+strconv.Quote(hit)+": use "+w.instead)
		}
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || path == "testdata/fabrics"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		case strings.HasSuffix(path, ".go"):
			unit := filepath.Dir(path)
			if strings.HasSuffix(path, "_test.go") {
				unit += " tests"
			}
			return wordsOfGo(path, func(line int, text string) { note(unit, path, line, text) })
		case strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".sh") || strings.HasPrefix(path, "dist/") || path == "Makefile":
			src, err := os.ReadFile(path)
			for i, line := range strings.Split(string(src), "\n") {
				note(path, path, i+1, line)
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("%s:\n%s", unit, strings.Join(found[unit], "\n"))
	}
}

func excepted(path, text string) bool {
	for _, e := range exceptions {
		if e.path == path && e.text.MatchString(text) {
			return true
		}
	}
	return false
}

// wordsOfGo visits the comments, texts and declared names of a Go file. Names are split
// into words: keptLID is "kept lid".
func wordsOfGo(path string, visit func(line int, text string)) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	at := func(p token.Pos) int { return set.Position(p).Line }
	for _, group := range file.Comments {
		for _, c := range group.List {
			visit(at(c.Pos()), c.Text)
		}
	}
	names := func(ids ...*ast.Ident) {
		for _, id := range ids {
			visit(at(id.Pos()), splitName(id.Name))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				if text, err := strconv.Unquote(n.Value); err == nil {
					visit(at(n.Pos()), text)
				}
			}
		case *ast.FuncDecl:
			names(n.Name)
		case *ast.TypeSpec:
			names(n.Name)
		case *ast.ValueSpec:
			names(n.Names...)
		case *ast.Field:
			names(n.Names...)
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					names(id)
				}
			}
		}
		return true
	})
	return nil
}

// splitName puts blanks between the words of a name.
func splitName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "_", " ")
}
