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

// oldWord is a word that the project does not use, and what it says instead.
type oldWord struct {
	old     *regexp.Regexp
	instead string
	but     *regexp.Regexp // of what old matches; nil for nothing
}

// oldWords are words that the project does not use, with the term to use instead. They
// are matched without case, in comments, texts, documentation, and identifiers split
// into words.
var oldWords = []oldWord{
	{word(`reigns?|reigned`), "mastership term", nil},
	{word(`heirs?`), "handover target, next master", nil},
	{word(`bequeath\w*`), "hand over", nil},
	{word(`kin`), "peer ibsm", nil},
	{word(`orphaned`), "master lost", nil},
	{word(`astray`), "path lost", nil},
	{word(`st(?:oo|an)ds? still|standing still`), "was paused, resumed", nil},
	{word(`deaf`), "draining", nil},
	{word(`strangers?`), "foreign master", nil},
	{word(`petitions?|petitioned`), "priority-change trap", nil},
	{word(`twins?`), "duplicate GUID", nil},
	{word(`kept lid|grow job`), "LID assignment, ignored fields, multicast task", nil},
	{word(`hush\w*`), "unresponsive", nil},
	{word(`homeless`), "without LID", nil},
	{word(`rekeys`), "changes M_Key", nil},
	{word(`distrust\w*`), "needs full sweep", nil},
	{word(`clerks?`), "dispatcher", nil},
	{word(`desks?`), "control server", nil},
	{word(`tells?|told|telling`), "log, report, notify, send", nil},
	{word(`ruled|ruling|(?:who|that|nobody|manager|master|one|opensm|higher|lower|guid) rules|rules (?:on|no|now)|(?:is|are|was|were|may|must|will|does|not) rule`), "is master", nil},
	{word(`(?:there )?(?:is|are|was|were|be) (?:(?:not|never|now|still|also|yet|all|only) )?to [a-z]+`),
		"wanted, target, must, should", regexp.MustCompile(`(?i)^there|to (?:a|an|the|it|blame|lid)$`)},
	{word(`overdue`), "deferred, timed out, expired", nil},
	{word(`hurr(?:y|ies|ied|ying)`), "preempt, interrupt", nil},
	{word(`silent|mute|muted|mutes|unmute`), "unresponsive", nil},
	{word(`goe?s? before`), "takes precedence over", nil},
	{word(`mend|mends|mended|mending`), "fix", nil},
	{word(`mistakes?`), "error", nil},
	{word(`in doubt|an? (?:job|doubt)`), "dirty, unconfirmed; task", nil},
	{word(`(?:is|are|and) no ibsm`), "is not ibsm", nil},
	{word(`(?:to|of) (?:who|those who|one who) [a-z]+s|by who`), "the client, manager, port or goroutine that", nil},
}

// oldNames are words that names do not have, though sentences may.
var oldNames = []oldWord{
	{word(`doubts?|doubted|doubtful`), "inconclusive, unconfirmed, dirty, stale", nil},
	{word(`jobs?`), "task", nil},
	{word(`beds?`), "harness", nil},
	{word(`seats?`), "client slot, place", nil},
	{word(`answerer`), "responder", nil},
	{word(`woken`), "resumed, wake", nil},
	{word(`rulers?`), "builder", nil},
	{word(`comings|lessened`), "port changes, without additions", nil},
}

func word(s string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + s + `)\b`) }

// exceptions are texts that have to stay: those of OpenSM, and names outside the program.
var exceptions = []struct {
	path string
	text *regexp.Regexp
}{
	{"opensm/log/modules.go", regexp.MustCompile(`\.go`)},                     // names of source files
	{"words_test.go", regexp.MustCompile(``)},                                 // the list itself
	{"floors_test.go", regexp.MustCompile(``)},                                // names of packages
	{"docs/messages.md", regexp.MustCompile("^[|] `")},                        // log messages of packages below
	{"opensm/log/text.go", regexp.MustCompile("is to show that a subnet")},    // the log of OpenSM
	{"ctl/activity.go", regexp.MustCompile("^Overdue|overdue")},               // a published name
	{"ctl/server_test.go", regexp.MustCompile(`"overdue":`)},                  // the same
	{"docs/ctl.md", regexp.MustCompile("`overdue`")},                          // the same
	{"mad/txn/stats.go", regexp.MustCompile("Overdue")},                       // as it is published
	{"cmd/ibfabric/commands.go", regexp.MustCompile("^(un)?mute NODE$")},      // commands that scripts have
	{"cmd/ibfabric/serve_test.go", regexp.MustCompile("^(un)?mute leaf-01$")}, // the same
	{"cmd/ibsm/prometheus_test.go", regexp.MustCompile("^mute |Silent")},      // the same
}

// TestWords: old words do not return.
func TestWords(t *testing.T) {
	found := map[string][]string{} // by unit
	note := func(unit, path string, line int, text string, words []oldWord) {
		for _, w := range words {
			for _, hit := range w.old.FindAllString(text, -1) {
				if w.but != nil && w.but.MatchString(hit) || excepted(path, text) {
					continue
				}
				found[unit] = append(found[unit], path+":"+strconv.Itoa(line)+": "+strconv.Quote(hit)+": use "+
					w.instead)
			}
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
			return wordsOfGo(path, func(line int, text string, isName bool) {
				note(unit, path, line, text, oldWords)
				if isName {
					note(unit, path, line, text, oldNames)
				}
			})
		case strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".sh") || strings.HasPrefix(path, "dist/") ||
			path == "Makefile":
			src, err := os.ReadFile(path)
			for i, line := range strings.Split(string(src), "\n") {
				note(path, path, i+1, line, oldWords)
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
func wordsOfGo(path string, visit func(line int, text string, isName bool)) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	at := func(p token.Pos) int { return set.Position(p).Line }
	for _, group := range file.Comments {
		visit(at(group.Pos()), strings.ReplaceAll(group.Text(), "\n", " "), false)
	}
	names := func(ids ...*ast.Ident) {
		for _, id := range ids {
			visit(at(id.Pos()), splitName(id.Name), true)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				if text, err := strconv.Unquote(n.Value); err == nil {
					visit(at(n.Pos()), text, false)
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
		if i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "_", " ")
}
