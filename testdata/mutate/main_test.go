package main

import (
	"os"
	"os/exec"
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
`

// TestMutants: what the tests examine is found whatever changes, what they do not call
// survives, and the sources are as they were.
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module sample\n\ngo 1.26.0\n", "sample.go": source, "sample_test.go": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := run{count: 6, seed: 3, tests: "./...", cache: strings.TrimSpace(string(cache)), patterns: []string{"."}, out: &out}
	r.at = "sample.go:8,sample.go:9,sample.go:11,sample.go:19,sample.go:20"
	if err := r.do(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"sample.go:8: boundary: < -> <=: sample TestRoot",
		"sample.go:8: negate: < -> >=: sample TestRoot",
		"sample.go:9: error: errNegative -> nil: sample TestRoot",
		"sample.go:11: constant: 0 -> 1: sample TestRoot",
		"sample.go:19: boundary: > -> >=: SURVIVED",
		"sample.go:19: logic: && -> ||: SURVIVED",
		"sample.go:20: drop: n++ -> (nothing): SURVIVED",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	for line := range strings.Lines(out.String()) {
		_, place, _ := strings.Cut(line, " sample.go:")
		if used := strings.HasPrefix(place, "8:") || strings.HasPrefix(place, "9:") || strings.HasPrefix(place, "11:"); used && !strings.Contains(line, ": sample TestRoot") {
			t.Errorf("not found: %s", line)
		}
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
		r := run{seed: seed, patterns: []string{"ibsm/priority", "ibsm/routing"}}
		mutants, err := r.draw()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutants {
			all = append(all, relative(m))
		}
		return all
	}
	one, again, other := draw(1), draw(1), draw(2)
	if len(one) < 100 || len(one) != len(other) || strings.Join(one, "\n") != strings.Join(again, "\n") || strings.Join(one[:9], "\n") == strings.Join(other[:9], "\n") {
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
