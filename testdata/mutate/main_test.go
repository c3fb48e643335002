package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// source has one function that its tests examine in full, and one that they do not call.
const source = `package sample

import "errors"

var errNegative = errors.New("negative" + "!")

func Root(n int) (int, error) {
	if n < 0 {
		return 0, errNegative
	}
	r := 0
	for (r+1)*(r+1) <= n {
		r++
	}
	return r, nil
}

func Unused(n int) int {
	if n > 3 && n != 7 {
		n++
	}
	return n
}

const most = 9

type pair[K comparable] struct{ a, b K }

func (p pair[K]) Same(_ int, more ...K) bool {
	switch {
	case len(more) > most:
		return false
	case p.a == p.b:
		return len(more) == 0
	}
	return false
}

func first[T any](list []T, n int) (t T) {
	for i := range list {
		if i == n {
			t = list[i]
		}
	}
	return t
}

func Quiet(f func()) (err error) {
	defer func() {
		if recover() != nil {
			err = errNegative
		}
	}()
	f()
	return err
}
`

const tests = `package sample

import "testing"

func TestRoot(t *testing.T) {
	for n, want := range []int{0, 1, 1, 1, 2, 2, 2, 2, 2, 3} {
		if got, err := Root(n); got != want || err != nil {
			t.Errorf("%d: %d, %v", n, got, err)
		}
	}
	if got, err := Root(-1); got != 0 || err == nil {
		t.Errorf("-1: %d, %v", got, err)
	}
}

func TestShapes(t *testing.T) {
	if !(pair[int]{1, 1}).Same(0) || (pair[int]{1, 2}).Same(0) || (pair[int]{1, 1}).Same(0, 1, 2) {
		t.Error("pair")
	}
	if first([]string{"a", "b", "c"}, 1) != "b" {
		t.Error("first")
	}
	if Quiet(func() { panic(1) }) == nil || Quiet(func() {}) != nil {
		t.Error("quiet")
	}
	if (pair[int]{1, 1}).Same(0, make([]int, 9)...) || most != 9 {
		t.Error("most")
	}
}
`

// TestMutants: what the tests examine is found, what they do not call survives, and the
// sources are as they were. Results that a file holds are taken from there.
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module sample\n\ngo 1.26.0\n", "sample.go": source,
		"sample_test.go": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out strings.Builder
	r := run{count: 6, seed: 3, tests: "./...", patterns: []string{"."}, out: &out, results: "results"}
	r.at = "sample.go:8,sample.go:9:13,sample.go:11,sample.go:19,sample.go:20,sample.go:25,sample.go:31,sample.go:33,sample.go:34,sample.go:41,sample.go:50"
	if err := r.do(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"sample.go:8:7: boundary: < -> <=: sample TestRoot",
		"sample.go:8:7: negate: < -> >=: sample TestRoot",
		"sample.go:9:13: error: errNegative -> nil: sample TestRoot",
		"sample.go:11:7: constant: 0 -> 1: sample TestRoot",
		"sample.go:19:7: boundary: > -> >=: SURVIVED, no test reaches it",
		"sample.go:19:11: logic: && -> ||: SURVIVED, no test reaches it",
		"sample.go:20:3: drop: n++ -> (nothing): SURVIVED, no test reaches it",
		"sample.go:25:14: constant: 9 -> 10: sample TestShapes",
		"sample.go:31:17: boundary: > -> >=: SURVIVED\n",
		"sample.go:33:11: negate: == -> !=: sample TestShapes",
		"sample.go:34:20: negate: == -> !=: sample TestShapes",
		"sample.go:41:8: negate: == -> !=: sample TestShapes",
		"sample.go:50:16: negate: != -> ==: sample TestShapes",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	var again strings.Builder
	r.out, r.programs = &again, nil
	if err := r.do(t.Context()); err != nil || again.String() != out.String() || r.programs != nil {
		t.Errorf("with the results of the first run: %v\n%s", err, again.String())
	}
	if text, err := os.ReadFile("sample.go"); string(text) != source {
		t.Errorf("the source has become %q, %v", text, err)
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// TestDraw: a seed always draws the same, another seed something else; what only words a
// message is left alone.
func TestDraw(t *testing.T) {
	draw := func(seed uint64) (all []string) {
		r := run{seed: seed}
		pkgs, err := goList("ibsm/priority", "ibsm/routing")
		if err != nil {
			t.Fatal(err)
		}
		mutants, err := r.draw(pkgs)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutants {
			all = append(all, m.String())
		}
		return all
	}
	one, again, other := draw(1), draw(1), draw(2)
	if len(one) < 100 || len(one) != len(other) || strings.Join(one, "\n") != strings.Join(again, "\n") ||
		strings.Join(one[:9], "\n") == strings.Join(other[:9], "\n") {
		t.Errorf("%d, %d and %d mutants", len(one), len(again), len(other))
	}
	found, err := mutantsOf("sample", "sample.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		if m.line == 5 || m.line == 3 {
			t.Errorf("changes a message or an import: %v", m)
		}
	}
}
