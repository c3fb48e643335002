package manager

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files are the parsed files of a package, without its tests.
func files(t *testing.T, dir string) (all []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// typeName is the name of a type without its package and pointer.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// methods calls do with each method of a package and the name of its receiver's type.
func methods(all []*ast.File, do func(receiver string, f *ast.FuncDecl)) {
	for _, file := range all {
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv != nil {
				do(typeName(f.Recv.List[0].Type), f)
			}
		}
	}
}

// TestTypeSwitches: where a sealed interface is taken apart there is a case for each of the
// types that implement it.
func TestTypeSwitches(t *testing.T) {
	for _, c := range []struct {
		dir, seal          string // the method that seals the interface
		in                 string // the folder of what follows
		receiver, function string // that has the type switch
		shared             string // the method to which it gives types that share a case, with a type switch of its own
		least              int
		others             string // sealed by this method as well: they share a case
	}{
		{dir: ".", seal: "event", in: ".", receiver: "Core", function: "take", least: 10},
		{dir: ".", seal: "action", in: ".", receiver: "loop", function: "act", least: 15, others: "notification"},
		{dir: "../sweep", seal: "phase", in: ".", receiver: "scheduler", function: "progress", least: 5},
		{dir: "../sweep", seal: "phase", in: ".", receiver: "Core", function: "settle", least: 5},
		{dir: "../sa", seal: "event", in: "../sa", receiver: "Registrar", function: "take", shared: "standBy",
			least: 16},
	} {
		var sealed, others, cases, shared, inShared []string
		methods(files(t, c.dir), func(receiver string, f *ast.FuncDecl) {
			switch f.Name.Name {
			case c.seal:
				sealed = append(sealed, receiver)
			case c.others:
				others = append(others, receiver)
			}
		})
		methods(files(t, c.in), func(receiver string, f *ast.FuncDecl) {
			switch {
			case receiver != c.receiver:
			case f.Name.Name == c.function:
				cases, shared = typeCases(f)
			case f.Name.Name == c.shared:
				inShared, _ = typeCases(f)
			}
		})
		if len(sealed) < c.least {
			t.Errorf("%s has only %d types with the method %s", c.dir, len(sealed), c.seal)
		}
		for _, name := range sealed {
			if !slices.Contains(cases, name) && !slices.Contains(others, name) {
				t.Errorf("%s.%s has no case for %s", c.receiver, c.function, name)
			}
		}
		for _, name := range shared {
			if c.shared != "" && !slices.Contains(inShared, name) {
				t.Errorf("%s.%s has no case for %s", c.receiver, c.shared, name)
			}
		}
	}
}

// typeCases are the types that have a case in the type switches of a function, and those of them that share one.
func typeCases(f *ast.FuncDecl) (all, shared []string) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if s, is := n.(*ast.TypeSwitchStmt); is {
			for _, clause := range s.Body.List {
				list := clause.(*ast.CaseClause).List
				for _, e := range list {
					if all = append(all, typeName(e)); len(list) > 1 {
						shared = append(shared, typeName(e))
					}
				}
			}
		}
		return true
	})
	return all, shared
}
