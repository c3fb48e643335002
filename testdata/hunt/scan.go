package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// core is what mutants change: packages whose faults take a subnet down.
var core = []string{"mad", "sweep", "sa", "partitions", "routing", "registry", "topo", "manager", "conf", "store",
	"view"}

// scan finds the work below a folder: seeded tests call seedsOf, tests that have a full size read IBSM_PROOF, both in
// their own body or in a function of their package that they call.
func scan(root string) (all []*task, err error) {
	files := token.NewFileSet()
	packages := map[string]map[string]*ast.FuncDecl{} // functions of test files, by folder and name
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch base := filepath.Base(path); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		dir := "./" + filepath.ToSlash(filepath.Dir(path))
		if packages[dir] == nil {
			packages[dir] = map[string]*ast.FuncDecl{}
			if top, _, _ := strings.Cut(strings.TrimPrefix(dir, "./"), "/"); slices.Contains(core, top) {
				all = append(all, &task{kind: mutants, pkg: dir})
			}
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				packages[dir][fn.Name.Name] = fn
			}
		}
		return nil
	})
	for dir, functions := range packages {
		seeded, sized := reaches(functions, "seedsOf"), reaches(functions, `"IBSM_PROOF"`)
		for name := range functions {
			switch {
			case strings.HasPrefix(name, "Fuzz"):
				all = append(all, &task{kind: fuzz, pkg: dir, test: name})
			case strings.HasPrefix(name, "Test") && seeded[name]:
				all = append(all, &task{kind: seeds, pkg: dir, test: name})
			case strings.HasPrefix(name, "Test") && sized[name]:
				all = append(all, &task{kind: full, pkg: dir, test: name})
			}
		}
	}
	slices.SortFunc(all, func(a, b *task) int { return strings.Compare(a.key(), b.key()) })
	return all, err
}

// reaches are the functions that call a function of that name, or have it as a literal, or call a function that does.
func reaches(functions map[string]*ast.FuncDecl, used string) map[string]bool {
	found := map[string]bool{used: true}
	for grown := true; grown; {
		grown = false
		for name, fn := range functions {
			if found[name] || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					called, ok := n.Fun.(*ast.Ident)
					found[name] = found[name] || ok && found[called.Name]
				case *ast.BasicLit:
					found[name] = found[name] || n.Value == used
				}
				return !found[name]
			})
			grown = grown || found[name]
		}
	}
	return found
}
