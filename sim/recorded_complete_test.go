package sim_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/topo/net"
)

// unrecorded are tests that make a World and are not recorded, and why.
var unrecorded = map[string]string{
	"Mutants":         "runs other tests",
	"MKeyMutants":     "runs other tests",
	"Recorded":        "records the others",
	"RecordedTests":   "is about the record",
	"RecordedKinds":   "is about the record",
	"RecordedView":    "is about the recorder",
	"RecordedEvents":  "is about the recorder",
	"RecordedLog":     "is about the recorder",
	"RecordedEngines": "is about the record",
}

// What is recorded stays complete: a test with a World is a scenario, or says why not.
func TestRecordedTests(t *testing.T) {
	recorded := map[string]bool{}
	for _, s := range scenarios {
		if recorded[s.name] {
			t.Errorf("scenario %s is there twice", s.name)
		}
		recorded[s.name] = true
	}
	tests := testsThatReach(t, "newHarness")
	if len(tests) < 200 {
		t.Errorf("only %d tests make a World", len(tests))
	}
	for _, name := range tests {
		if reason := unrecorded[name]; recorded[name] == (reason != "") {
			t.Errorf("Test%s must be in scenarios, or in unrecorded with a reason, and not in both", name)
		}
	}
	for name := range unrecorded {
		if !slices.Contains(tests, name) {
			t.Errorf("Test%s is in unrecorded, and is no test with a World", name)
		}
	}
}

// testsThatReach are the tests of this package, without Test, from which a function can be
// called, going by names.
func testsThatReach(t *testing.T, target string) (tests []string) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string]map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if uses[f.Name.Name] == nil {
				uses[f.Name.Name] = map[string]bool{}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					uses[f.Name.Name][id.Name] = true
				}
				return true
			})
		}
	}
	reaches := map[string]bool{target: true}
	for grown := true; grown; {
		grown = false
		for f, used := range uses {
			for name := range used {
				if reaches[name] && !reaches[f] {
					reaches[f], grown = true, true
				}
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(uses)) {
		if name, ok := strings.CutPrefix(f, "Test"); ok && reaches[f] {
			tests = append(tests, name)
		}
	}
	return tests
}

// A kind of fabric that can be generated is one that is recorded.
func TestRecordedKinds(t *testing.T) {
	var kinds []string
	for text := range strings.Lines(net.Help()) {
		if name, _, ok := strings.Cut(text, ":"); ok && !strings.ContainsAny(name, " ") {
			kinds = append(kinds, name)
		}
	}
	if len(kinds) < 9 {
		t.Fatalf("the generator says it has %q", kinds)
	}
	sampled := map[string]bool{} // by the small size
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == "SweepsOnEveryKind" })
	for seed := 0; seed < scenarios[i].seeds; seed += scenarios[i].stride {
		kind, _, _ := strings.Cut(everyKind[seed%len(everyKind)], ":")
		sampled[kind] = true
	}
	for _, kind := range kinds {
		if !sampled[kind] {
			t.Errorf("no fabric of kind %s is recorded, or none in the small size", kind)
		}
	}
}
