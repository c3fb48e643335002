package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// program is the test binary of a package.
type program struct {
	pkg, dir string
	deps     map[string]bool
	binary   string
	tests    []*test
}

// test is one function of a test binary.
type test struct {
	of      *program
	name    string
	cpu     time.Duration
	wall    time.Duration
	reaches map[int]bool // mutants, by id
	plain   bool         // passes only without other mutants, as a test that counts allocations does
}

// long is the processor time of a test that runs after all others.
const long = 5 * time.Second

// prepare builds the test binaries with all mutants in them, and runs each test without a
// mutant. A test that does not pass without any in its binary either is left out.
func (r *run) prepare(ctx context.Context, mutants []*mutant) error {
	if len(mutants) == 0 {
		return nil
	}
	if err := r.find(mutants); err != nil {
		return err
	}
	replaced, err := together(r.dir, mutants)
	if err != nil {
		return err
	}
	overlay, err := r.overlay("all", replaced)
	if err != nil {
		return err
	}
	for i, p := range r.programs {
		p.binary = filepath.Join(r.dir, fmt.Sprintf("%d.test", i))
		if out, err := build(ctx, overlay, p.pkg, p.binary); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		if err := r.measure(ctx, p, overlay); err != nil {
			return err
		}
	}
	return nil
}

// find lists the packages with tests that depend on a package with mutants.
func (r *run) find(mutants []*mutant) error {
	all, err := goList(append([]string{"-test"}, strings.Fields(r.tests)...)...)
	if err != nil {
		return err
	}
	for _, l := range all {
		name, isTest := strings.CutSuffix(l.ImportPath, ".test")
		if !isTest || hasPrefix(name, r.skip) {
			continue
		}
		p := &program{pkg: name, deps: map[string]bool{}}
		for _, d := range l.Deps {
			d, _, _ = strings.Cut(d, " ") // "path [path.test]" is the same, built for a test
			p.deps[d] = true
		}
		if slices.ContainsFunc(mutants, func(m *mutant) bool { return p.deps[m.pkg] }) {
			r.programs = append(r.programs, p)
		}
	}
	for _, l := range all {
		for _, p := range r.programs {
			if p.pkg == l.ImportPath {
				p.dir = l.Dir
			}
		}
	}
	return nil
}

func (r *run) overlay(name string, replaced map[string]string) (string, error) {
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.dir, name+".json")
	return path, os.WriteFile(path, list, 0o666)
}

func build(ctx context.Context, overlay, pkg, binary string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay="+overlay, "-o", binary,
		pkg).CombinedOutput()
	return string(out), err
}

// measure runs each test of a binary once, which shows what it takes and reaches.
func (r *run) measure(ctx context.Context, p *program, overlay string) error {
	out, err := p.run(ctx, p.binary, overlay, "", 0, 0, "-test.list="+cmp.Or(r.only, "."))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	plain := ""
	for _, name := range strings.Fields(out) {
		if strings.HasPrefix(name, "Benchmark") {
			continue
		}
		t := &test{of: p, name: name, reaches: map[int]bool{}}
		path := filepath.Join(r.dir, "reached")
		os.Remove(path)
		run := func(binary, overlay string) error {
			start := time.Now()
			cmd := p.command(ctx, binary, overlay, "-1", 0, time.Minute, "-test.failfast=false", "-test.run=^"+name+"$")
			cmd.Env = append(cmd.Env, "MUTANTS_REACHED="+path)
			out, err := cmd.CombinedOutput()
			t.wall, t.cpu = time.Since(start), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, out)
			}
			return err
		}
		err := run(p.binary, overlay)
		if err != nil {
			if plain == "" {
				plain = p.binary + ".plain"
				if out, err := build(ctx, "", p.pkg, plain); err != nil {
					return fmt.Errorf("%w\n%s", err, out)
				}
			}
			t.plain = true
			err = run(plain, "")
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(r.out, "left out: %s %s: %v\n", p.pkg, name, err)
			continue
		}
		p.tests = append(p.tests, t)
		if err := t.read(path); err != nil {
			return err
		}
	}
	return nil
}

// read takes the mutants that a test has reached.
func (t *test) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, word := range strings.Fields(string(text)) {
		id, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		t.reaches[id] = true
	}
	return nil
}

// memory is how much address space, in KiB, a test may take: a mutant may loop for ever.
const memory = 8 << 20

// command runs a binary of tests with one mutant. A mutant that loops for ever is found by
// processor time, since a machine with much to do stretches the wall time. Programs that
// the tests build have the mutants in them as well.
func (p *program) command(ctx context.Context, binary, overlay, mutant string, cpu, wall time.Duration,
	args ...string) *exec.Cmd {
	script := fmt.Sprintf(`ulimit -v %d && ulimit -t %d && exec "$@"`, memory, 20+10*int(cpu.Seconds()))
	if cpu == 0 {
		script = `exec "$@"`
	}
	timeout := time.Minute + 20*wall
	cmd := exec.CommandContext(ctx, "sh",
		append([]string{"-c", script, "sh", binary, "-test.failfast", "-test.timeout=" + timeout.String()}, args...)...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay, "MUTANT="+mutant)
	return cmd
}

func (p *program) run(ctx context.Context, binary, overlay, mutant string, cpu, wall time.Duration,
	args ...string) (string, error) {
	out, err := p.command(ctx, binary, overlay, mutant, cpu, wall, args...).CombinedOutput()
	return string(out), err
}

// judge runs the tests that reach a mutant: those of its package first, long ones last.
func (r *run) judge(ctx context.Context, m *mutant) (outcome, error) {
	var tests []*test
	totals := map[*program]time.Duration{}
	for _, p := range r.programs {
		if !p.deps[m.pkg] {
			continue
		}
		for _, t := range p.tests {
			if m.alone || t.reaches[m.id] {
				tests = append(tests, t)
				totals[p] += t.cpu
			}
		}
	}
	if len(tests) == 0 {
		return unreached, nil
	}
	rank := func(t *test) int {
		switch {
		case t.plain && !m.alone:
			return 3
		case t.cpu > long:
			return 2
		case t.of.pkg != m.pkg:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(tests, func(a, b *test) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(totals[a.of], totals[b.of]), cmp.Compare(a.of.pkg, b.of.pkg))
	})
	for len(tests) > 0 {
		n := 1
		for n < len(tests) && tests[n].of == tests[0].of && rank(tests[n]) == rank(tests[0]) {
			n++
		}
		o, err := r.try(ctx, m, tests[:n])
		if err != nil || o != survived {
			return o, err
		}
		tests = tests[n:]
	}
	return survived, nil
}

// try runs tests of one binary on a mutant.
func (r *run) try(ctx context.Context, m *mutant, tests []*test) (outcome, error) {
	p, cpu, wall := tests[0].of, time.Duration(1), time.Duration(0)
	var names []string
	for _, t := range tests {
		names, cpu, wall = append(names, t.name), cpu+t.cpu, wall+t.wall
	}
	binary, overlay := p.binary, filepath.Join(r.dir, "all.json")
	if m.alone || tests[0].plain {
		var err error
		if overlay, err = r.write(m); err != nil {
			return "", err
		}
		binary = filepath.Join(r.dir, "alone.test")
		if _, err := build(ctx, overlay, p.pkg, binary); ctx.Err() == nil && err != nil {
			return outcome(p.pkg + " does not compile"), nil
		}
	}
	out, err := p.run(ctx, binary, overlay, strconv.Itoa(m.id), cpu, wall, "-test.run=^("+strings.Join(names, "|")+")$")
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return outcome(p.pkg + " " + reason(out, err)), nil
	}
	return survived, nil
}

// write makes the overlay of one mutant alone.
func (r *run) write(m *mutant) (string, error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.dir, "alone.go")
	if err := os.WriteFile(path, m.apply(src), 0o666); err != nil {
		return "", err
	}
	return r.overlay("alone", map[string]string{m.file: path})
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// reason is the test that failed, or what else ended the tests.
func reason(out string, err error) string {
	if m := failed.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return err.Error()
}
