package ibsm_test

import (
	"cmp"
	"fmt"
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
	"unicode/utf8"

	"ibsm/conf"
	"ibsm/finding"
	"ibsm/sa/mirror"
	"ibsm/store"
)

// TestMessages: what the log warns of is explained on the page about messages, which
// begins with the same words, as far as these are the program's own.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile("docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	all := readSources(t)
	found := 0
	check := func(path, text string) {
		if slices.Contains(noWarnings, text) {
			return
		}
		found++
		words, _, _ := strings.Cut(text, ":")
		words, _, _ = strings.Cut(words, ";")
		words = strings.TrimRight(words, " '")
		if !strings.Contains(string(page), "`"+words) &&
			!strings.Contains(string(page), "`"+strings.Split(words, ",")[0]) {
			t.Errorf("%s: %q is not on docs/messages.md", path, words)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		pkg := all[dir]
		pkg.calls(func(path string, in *ast.FuncDecl, call *ast.CallExpr) {
			if said := warning(call); said != nil {
				for _, text := range pkg.texts(said, in, 0) {
					check(path, text)
				}
			}
		})
	}
	if found < 90 {
		t.Errorf("only %d messages were found", found)
	}
}

// noWarnings are texts that what makes texts of warnings makes as well: one of the level info, and one that
// no finding has.
var noWarnings = []string{"switches are programmed in", "finding"}

// TestFindings: docs/messages.md has the table of findings, as the program has it. IBSM_DOCS=write writes it.
func TestFindings(t *testing.T) {
	const path, begin, end = "docs/messages.md", "<!-- findings -->\n", "<!-- end of findings -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	is, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks the comments around the findings", path)
	}
	want := "| message | `why` and metric | meaning | action |\n| --- | --- | --- | --- |\n"
	for _, k := range finding.Kinds() {
		if k.Level() != finding.NotLogged {
			want += fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Text(), k.Name(), k.Meaning(), k.Remedy())
		}
	}
	if is == want {
		return
	}
	if os.Getenv("IBSM_DOCS") != "write" {
		t.Fatalf(
			"the table of findings on %s is not that of the package finding: IBSM_DOCS=write go test -run TestFindings . writes it", path)
	}
	if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLogKeys: the keys of log lines are words in lower case with underscores between them.
func TestLogKeys(t *testing.T) {
	key, found := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`), 0
	check := func(path string, args []ast.Expr) {
		for i := 0; i < len(args); i += 2 {
			if text, ok := literal(args[i]); !ok {
				return // args...
			} else if found++; !key.MatchString(text) {
				t.Errorf("%s: the key %q of a log line", path, text)
			}
		}
	}
	for _, pkg := range readSources(t) {
		pkg.calls(func(path string, _ *ast.FuncDecl, call *ast.CallExpr) {
			switch name := called(call); {
			case len(call.Args) < 2 || !pkg.logs:
			case name == "log" || name == "logSwitch":
				check(path, call.Args[2:])
			case slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, name):
				check(path, call.Args[1:])
			case name == "With":
				check(path, call.Args)
			case name == "append":
				if list, ok := call.Args[0].(*ast.Ident); ok && (list.Name == "fields" || list.Name == "args") {
					check(path, call.Args[1:])
				}
			}
		})
		for path, file := range pkg.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if c, ok := n.(*ast.CompositeLit); ok {
					if a, ok := c.Type.(*ast.ArrayType); ok && isAny(a.Elt) {
						check(path, c.Elts)
					}
				}
				return true
			})
		}
	}
	if found < 250 {
		t.Errorf("only %d keys were found", found)
	}
}

func isAny(e ast.Expr) bool { id, ok := e.(*ast.Ident); return ok && id.Name == "any" }

// sources are the files of a package without its tests, and what its texts are made of.
type sources struct {
	logs      bool // it imports log/slog
	files     map[string]*ast.File
	functions map[string]*ast.FuncDecl
	methods   map[string]*ast.FuncDecl // by Type.Method
	values    map[string]ast.Expr      // of constants and variables of the package
}

// readSources parses the module, by folder.
func readSources(t *testing.T) map[string]*sources {
	t.Helper()
	all := map[string]*sources{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		pkg := all[filepath.Dir(path)]
		if pkg == nil {
			pkg = &sources{false, map[string]*ast.File{}, map[string]*ast.FuncDecl{}, map[string]*ast.FuncDecl{},
				map[string]ast.Expr{}}
			all[filepath.Dir(path)] = pkg
		}
		pkg.add(path, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *sources) add(path string, file *ast.File) {
	s.files[path] = file
	s.logs = s.logs || slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return i.Path.Value == `"log/slog"`
	})
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				s.functions[d.Name.Name] = d
				continue
			}
			of := d.Recv.List[0].Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			if id, ok := of.(*ast.Ident); ok {
				s.methods[id.Name+"."+d.Name.Name] = d
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for i := range v.Values {
						s.values[v.Names[i].Name] = v.Values[i]
					}
				}
			}
		}
	}
}

// calls visits each call, in the function that makes it; nil for none.
func (s *sources) calls(visit func(path string, in *ast.FuncDecl, call *ast.CallExpr)) {
	for path, file := range s.files {
		for _, d := range file.Decls {
			in, _ := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					visit(path, in, call)
				}
				return true
			})
		}
	}
}

// called is the name of the function or method that is called, without package and receiver.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// warning is the text of a call that logs a warning or an error: x.Warn(text), x.Error(text), the
// core's x.log(warn, text), and logSwitch(x, text); nil for another call.
func warning(call *ast.CallExpr) (said ast.Expr) {
	switch name := called(call); {
	case len(call.Args) == 0:
	case name == "Warn" || name == "Error":
		return call.Args[0]
	case len(call.Args) == 1:
	case name == "logSwitch":
		return call.Args[1]
	case name == "log":
		if level, isName := call.Args[0].(*ast.Ident); isName &&
			(level.Name == "warn" || level.Name == "erro" || level.Name == "level") {
			return call.Args[1]
		}
	}
	return nil
}

func literal(e ast.Expr) (text string, ok bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// texts are the beginnings of what an expression in a function can be: of literals, constants, tables,
// formats up to their first value, what the function assigns to a variable, and what functions of the same
// package return. Texts of other packages are not among them: those of opensm/log are OpenSM's.
func (s *sources) texts(e ast.Expr, in *ast.FuncDecl, depth int) (all []string) {
	if depth > 5 {
		return nil
	}
	depth++
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, ok := literal(e); ok && text != "" {
			return []string{text}
		}
	case *ast.ParenExpr:
		return s.texts(e.X, in, depth)
	case *ast.BinaryExpr:
		return s.texts(e.X, in, depth)
	case *ast.IndexExpr:
		return s.texts(e.X, in, depth)
	case *ast.KeyValueExpr:
		return s.texts(e.Value, in, depth)
	case *ast.CompositeLit:
		for _, value := range e.Elts {
			all = append(all, s.texts(value, in, depth)...)
		}
	case *ast.CallExpr:
		if called(e) == "Sprintf" {
			return s.formats(e, in, depth)
		}
		if f, ok := e.Fun.(*ast.Ident); ok {
			return s.returned(s.functions[f.Name], depth)
		}
	case *ast.Ident:
		if assigned := s.assigned(e.Name, in, depth); len(assigned) > 0 {
			return assigned
		}
		return s.texts(s.values[e.Name], in, depth)
	}
	return all
}

// formats are the beginnings of a call of fmt.Sprintf. Where it begins with a value in words, those.
func (s *sources) formats(call *ast.CallExpr, in *ast.FuncDecl, depth int) (all []string) {
	for _, format := range s.texts(call.Args[0], in, depth) {
		switch words, _, _ := strings.Cut(format, "%"); {
		case strings.TrimSpace(words) != "":
			all = append(all, strings.TrimSpace(words))
		case len(call.Args) > 1:
			all = append(all, s.texts(call.Args[1], in, depth)...)
		}
	}
	return all
}

// assigned are the texts that a function gives to a variable.
func (s *sources) assigned(name string, in *ast.FuncDecl, depth int) (all []string) {
	if in == nil {
		return nil
	}
	ast.Inspect(in, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, left := range a.Lhs {
				if id, ok := left.(*ast.Ident); ok && id.Name == name {
					all = append(all, s.texts(a.Rhs[i], in, depth)...)
				}
			}
		}
		return true
	})
	return all
}

// returned are the texts that a function returns.
func (s *sources) returned(f *ast.FuncDecl, depth int) (all []string) {
	if f == nil {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok {
			for _, e := range r.Results {
				all = append(all, s.texts(e, f, depth)...)
			}
		}
		return true
	})
	return all
}

// TestLinks: what the pages refer to is there, pages and headings.
func TestLinks(t *testing.T) {
	if checked := checkLinks(t, "."); checked < 50 {
		t.Errorf("only %d links were found", checked)
	}
}

// checkLinks checks that the links of the README and of the pages below docs lead to files of the tree and to headings
// in them, and returns how many links there are.
func checkLinks(t *testing.T, tree string) (checked int) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(tree, "docs/*.md"))
	if err != nil || len(pages) < 5 {
		t.Fatal(pages, err)
	}
	root, err := filepath.Glob(filepath.Join(tree, "*.md"))
	if err != nil || len(root) == 0 {
		t.Fatal(root, err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	for _, page := range append(pages, root...) {
		if filepath.Base(page) == "CHANGELOG.md" {
			continue // quotes texts with brackets
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if checked++; m[2] != "" && !slices.Contains(anchors(t, target), m[2][1:]) {
				t.Errorf("%s: %s has no heading for %s", page, target, m[2])
			}
		}
	}
	return checked
}

// anchors are the names that headings of a page have in links: in lower case, with a hyphen for each
// blank, and without other signs. The second of one name has -1 at its end.
func anchors(t *testing.T, page string) (all []string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	heading, sign := regexp.MustCompile("(?m)^#+ +(.*?) *$"), regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	times := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		name := strings.ReplaceAll(sign.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if n := times[name]; n > 0 {
			all = append(all, name+"-"+strconv.Itoa(n))
		} else {
			all = append(all, name)
		}
		times[name]++
	}
	return all
}

// TestDocsIndex: docs/README.md leads to every page.
func TestDocsIndex(t *testing.T) {
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
	}
}

// TestDocsColumns: lines of the README, CONTRIBUTING.md and the pages have at most 120 columns, except rows of tables.
// docs/options.md is not among them: conf writes it.
func TestDocsColumns(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line); n > 120 && !strings.HasPrefix(line, "|") &&
				page != "docs/options.md" {
				t.Errorf("%s:%d: %d columns", page, i+1, n)
			}
		}
	}
}

// TestDocComments: what is said of a declaration begins with its name, as it is now. Before the name of a
// type there may be an article. Comments of tests begin with anything but the name of another test.
func TestDocComments(t *testing.T) {
	found, files := 0, token.NewFileSet()
	first, article, aTest := regexp.MustCompile(`^\w+`), regexp.MustCompile(`^(A|An|The) `),
		regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)([A-Z]|$)`)
	check := func(doc *ast.CommentGroup, name *ast.Ident, isType bool) {
		text := doc.Text()
		if isType {
			text = article.ReplaceAllString(text, "")
		}
		if word := first.FindString(text); text != "" && word != name.Name &&
			(!aTest.MatchString(name.Name) || aTest.MatchString(word)) {
			t.Errorf("%v: the comment of %s begins with %q", files.Position(doc.Pos()), name.Name, word)
		}
		found++
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(d.Doc, d.Name, false)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						check(cmp.Or(s.Doc, d.Doc), s.Name, true)
					case *ast.ValueSpec:
						if d.Lparen == token.NoPos && len(s.Names) == 1 {
							check(d.Doc, s.Names[0], false)
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil || found < 5000 {
		t.Errorf("%d declarations, %v", found, err)
	}
}

// TestVersion: the changelog begins with the version of the programs, and promises.md names the layouts that they have.
func TestVersion(t *testing.T) {
	changes, err1 := os.ReadFile("CHANGELOG.md")
	promises, err2 := os.ReadFile("docs/promises.md")
	if err := cmp.Or(err1, err2); err != nil {
		t.Fatal(err)
	}
	if _, after, _ := strings.Cut(string(changes), "\n## "); !strings.HasPrefix(after, conf.Version+"\n") {
		t.Errorf("the first heading of CHANGELOG.md is not %s", conf.Version)
	}
	for _, want := range []string{
		"ibsm " + conf.Version + " is the first version",
		fmt.Sprintf("| state store | layout %d.", store.Schema),
		fmt.Sprintf("| mirror between managers | protocol %d.", mirror.Version),
	} {
		if !strings.Contains(string(promises), want) {
			t.Errorf("docs/promises.md does not say %q", want)
		}
	}
}
