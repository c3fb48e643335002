package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// compiling returns the first of the mutants that compile, as many as are asked for.
func (r *run) compiling(pkgs []listed, possible []*mutant) (mutants []*mutant, err error) {
	exported, err := goList(append([]string{"-export", "-deps"}, r.patterns...)...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{} // export data, by package
	for _, p := range exported {
		files[p.ImportPath] = p.Export
	}
	c := checker{fset: token.NewFileSet(), parsed: map[string]*ast.File{}, pkgs: map[string]listed{}}
	c.from = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	for _, p := range pkgs {
		c.pkgs[p.ImportPath] = p
	}
	for _, m := range possible {
		if len(mutants) == r.count {
			break
		}
		ok, err := c.compiles(m)
		if err != nil {
			return nil, err
		}
		if ok {
			m.id = len(mutants) + 1
			mutants = append(mutants, m)
		}
	}
	return mutants, nil
}

// checker checks the types of packages with mutants in them.
type checker struct {
	fset   *token.FileSet
	from   types.Importer
	parsed map[string]*ast.File // the files as they are
	pkgs   map[string]listed
}

func (c *checker) compiles(m *mutant) (bool, error) {
	p := c.pkgs[m.pkg]
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		if path == m.file {
			src, err := os.ReadFile(path)
			if err != nil {
				return false, err
			}
			file, err := parser.ParseFile(c.fset, path, m.apply(src), parser.SkipObjectResolution)
			if err != nil {
				return false, nil // the mutant is no Go
			}
			files = append(files, file)
			continue
		}
		if c.parsed[path] == nil {
			file, err := parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return false, err
			}
			c.parsed[path] = file
		}
		files = append(files, c.parsed[path])
	}
	config := types.Config{Importer: c.from, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	_, err := config.Check(m.pkg, c.fset, files, nil)
	return err == nil, nil
}

// helper is the file that a package with mutants gets. A positive number selects a
// mutant; a negative one has each mutant that is reached written to a file.
const helper = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("MUTANT"))

var mutantSeen [%d]atomic.Bool

func mutantReached(id int) {
	if mutantSeen[id].Swap(true) {
		return
	}
	file, err := os.OpenFile(os.Getenv("MUTANTS_REACHED"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		panic(err)
	}
	file.WriteString(strconv.Itoa(id) + "\n")
	file.Close()
}
`

// together writes the sources of all packages with all mutants in them that can be
// switched on, and marks the others as alone. It returns the replaced files.
func together(dir string, mutants []*mutant) (map[string]string, error) {
	byFile, top := map[string][]*mutant{}, 0
	for _, m := range mutants {
		byFile[m.file] = append(byFile[m.file], m)
		top = max(top, m.id)
	}
	overlay := map[string]string{}
	write := func(path, text string) error {
		if overlay[path] == "" {
			overlay[path] = filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay)))
		}
		return os.WriteFile(overlay[path], []byte(text), 0o666)
	}
	for path, list := range byFile {
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s := switched{src: src, fset: fset}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				s.function(f, list)
			}
		}
		for _, m := range list {
			m.alone = !s.has[m]
		}
		if err := write(path, s.text()); err != nil {
			return nil, err
		}
		if err := write(filepath.Join(filepath.Dir(path), "mutant_on.go"),
			fmt.Sprintf(helper, file.Name.Name, top+1)); err != nil {
			return nil, err
		}
	}
	return overlay, nil
}

// switched is a file that gets its mutants.
type switched struct {
	src    []byte
	fset   *token.FileSet
	edits  []edit
	copies strings.Builder
	has    map[*mutant]bool
}

// edit puts text in the place of [from, to).
type edit struct {
	from, to int
	text     string
}

func (s *switched) offset(p token.Pos) int { return s.fset.Position(p).Offset }

func (s *switched) slice(n ast.Node) string {
	return string(s.src[s.offset(n.Pos()):s.offset(n.End())])
}

// function adds the mutants in the body of one function: a copy of the function for each,
// a switch at its beginning that calls the copy, and a mark of what is reached. A function
// that recovers from a panic cannot be called by another one.
func (s *switched) function(f *ast.FuncDecl, list []*mutant) {
	if f.Body == nil || strings.Contains(s.slice(f.Body), "recover()") {
		return
	}
	start, end := s.offset(f.Body.Lbrace), s.offset(f.Body.Rbrace)
	var cases strings.Builder
	call := "" // of a copy
	for _, m := range list {
		if m.start <= start || m.end > end {
			continue
		}
		if call == "" {
			call = s.call(f)
		}
		if s.has == nil {
			s.has = map[*mutant]bool{}
		}
		s.has[m] = true
		name := fmt.Sprintf("mutant%d_%s", m.id, f.Name.Name)
		fmt.Fprintf(&cases, "case %d: %s; ", m.id, strings.Replace(call, "\x00", name, 1))
		at, nameEnd := s.offset(f.Pos()), s.offset(f.Name.End())
		fmt.Fprintf(&s.copies, "\n%s%s%s%s%s\n", s.src[at:s.offset(f.Name.Pos())], name, s.src[nameEnd:m.start],
			m.after, s.src[m.end:end+1])
		reached := s.statement(f.Body, m)
		s.edits = append(s.edits, edit{reached, reached, fmt.Sprintf("if mutantOn < 0 { mutantReached(%d) }; ", m.id)})
	}
	if call != "" {
		s.edits = append(s.edits, edit{start + 1, start + 1, "switch mutantOn { " + cases.String() + "}; "})
	}
}

// statement returns where the innermost statement of a list begins that holds the mutant.
func (s *switched) statement(body *ast.BlockStmt, m *mutant) int {
	at := s.offset(body.Rbrace)
	ast.Inspect(body, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		for _, st := range list {
			switch st.(type) {
			case *ast.CaseClause, *ast.CommClause: // no statement can be before a clause
			default:
				if s.offset(st.Pos()) <= m.start && m.end <= s.offset(st.End()) {
					at = s.offset(st.Pos())
				}
			}
		}
		return true
	})
	return at
}

// call returns the statements that call a copy of a function, whose name is \x00. The
// receiver and all parameters get names.
func (s *switched) call(f *ast.FuncDecl) string {
	named := 0
	names := func(list *ast.FieldList) (all []string) {
		if list == nil {
			return nil
		}
		for _, p := range list.List {
			if len(p.Names) == 0 {
				named++
				all = append(all, fmt.Sprintf("mutantArg%d", named))
				s.edits = append(s.edits, edit{s.offset(p.Pos()), s.offset(p.Pos()), all[len(all)-1] + " "})
			}
			for _, n := range p.Names {
				name := n.Name
				if name == "_" {
					named++
					name = fmt.Sprintf("mutantArg%d", named)
					s.edits = append(s.edits, edit{s.offset(n.Pos()), s.offset(n.End()), name})
				}
				all = append(all, name)
			}
			if _, ok := p.Type.(*ast.Ellipsis); ok {
				all[len(all)-1] += "..."
			}
		}
		return all
	}
	text := "\x00"
	if f.Recv != nil {
		text = names(f.Recv)[0] + ".\x00"
	}
	if f.Type.TypeParams != nil {
		var all []string
		for _, p := range f.Type.TypeParams.List {
			for _, n := range p.Names {
				all = append(all, n.Name)
			}
		}
		text += "[" + strings.Join(all, ", ") + "]"
	}
	text += "(" + strings.Join(names(f.Type.Params), ", ") + ")"
	if f.Type.Results == nil {
		return text + "; return"
	}
	return "return " + text
}

// text is the file with all edits and copies.
func (s *switched) text() string {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, e := range s.edits {
		out.Write(s.src[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(s.src[at:])
	out.WriteString(s.copies.String())
	return out.String()
}
