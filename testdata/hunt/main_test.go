package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOrder(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	old, changed, recent, fresh := &task{pkg: "old"}, &task{pkg: "changed"}, &task{pkg: "recent"}, &task{pkg: "fresh"}
	all := []*task{recent, old, changed, fresh}
	order(all, past{
		old.key():     {Began: at(2)},
		changed.key(): {Began: at(3)},
		recent.key():  {Began: at(5)},
	}, map[string]time.Time{"old": at(1), "changed": at(4), "recent": at(1), "fresh": at(1)})
	for i, want := range []*task{fresh, changed, old, recent} {
		if all[i] != want {
			t.Errorf("place %d has %s, want %s", i, all[i].pkg, want.pkg)
		}
	}
}

func TestNext(t *testing.T) {
	large := &task{kind: full, pkg: "large"}
	small := &task{kind: full, pkg: "small"}
	target := &task{kind: fuzz, pkg: "fuzz", test: "FuzzX"}
	all := []*task{large, small, target}
	p := past{large.key(): {Took: time.Hour}, small.key(): {Took: time.Minute}}
	if got := next(all, p, [kinds]time.Duration{}, 30*time.Minute, 30*time.Minute); got != small {
		t.Errorf("the first task that fits is small, got %v", got)
	}
	spent := [kinds]time.Duration{full: time.Minute}
	if got := next(all, p, spent, 30*time.Minute, 29*time.Minute); got != target {
		t.Errorf("fuzz has had less time than full, got %v", got)
	}
	small.done, target.done = true, true
	if got := next(all, p, spent, 30*time.Minute, 29*time.Minute); got != nil {
		t.Errorf("nothing is left that fits, got %v", got)
	}
}

func TestReaches(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", `package x
func TestA() { helper() }
func TestB() { x.helper() }
func TestC() { _ = "IBSM_PROOF" }
func TestD() {}
func helper() { if true { seedsOf() } }
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]*ast.FuncDecl{}
	for _, d := range f.Decls {
		fn := d.(*ast.FuncDecl)
		functions[fn.Name.Name] = fn
	}
	seeded, sized := reaches(functions, "seedsOf"), reaches(functions, `"IBSM_PROOF"`)
	for name, want := range map[string][2]bool{"TestA": {true, false}, "TestB": {}, "TestC": {false, true},
		"TestD": {}} {
		if got := [2]bool{seeded[name], sized[name]}; got != want {
			t.Errorf("%s: seeded, sized %v, want %v", name, got, want)
		}
	}
}

// TestScan: every kind of work is found in this tree.
func TestScan(t *testing.T) {
	t.Chdir("../..")
	all, err := scan(".")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, x := range all {
		found[x.key()] = true
	}
	for _, want := range []string{
		"seeds ./sim TestSeeds", "fuzz ./mad/umad FuzzReads", "mutants ./sweep/device", "full ./store TestKill",
	} {
		if !found[want] {
			t.Errorf("not found: %s", want)
		}
	}
}

func TestKeepSeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	x := &task{kind: seeds, pkg: "./sim", test: "TestX"}
	for _, failed := range [][]string{{"10007", "10003"}, {"10007"}} {
		if err := x.keepSeeds(failed); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join("sim", "testdata", "seeds", "TestX"))
	if want := "10007\n10003\n"; err != nil || string(text) != want {
		t.Errorf("kept %q, %v, want %q", text, err, want)
	}
}
