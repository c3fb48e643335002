// Mutate changes the sources of packages in one small place at a time and looks whether a
// test fails. It draws the places at random, by a seed:
//
//	go run ./testdata/mutate -n 100 -seed 1 ./routing/... ./partitions
//
// The tests are those of the changed package and then those of each package of -tests that
// depends on it, the quickest first, until one fails. A mutant that does not compile
// does not count; another one is drawn. The working tree is left alone: the go command
// reads the changed file from an overlay.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	r := run{out: os.Stdout}
	flag.IntVar(&r.count, "n", 100, "`number` of mutants")
	flag.Uint64Var(&r.seed, "seed", uint64(time.Now().Unix()), "`seed` of the draw")
	flag.StringVar(&r.tests, "tests", "./...", "packages whose tests run when those of the changed package pass, as `patterns`")
	flag.StringVar(&r.skip, "skip", "ibsm/cmd/ ibsm/daemon", "packages whose tests do not run, as `prefixes` of import paths")
	flag.StringVar(&r.only, "run", "", "run only the tests whose names match this `expression`")
	flag.StringVar(&r.at, "at", "", "all mutants of these `places` (file:line,...) instead of a draw")
	flag.StringVar(&r.cache, "cache", "", "build cache that is not cleaned after each mutant (default: a temporary one, which is)")
	flag.BoolVar(&r.list, "list", false, "list the mutants and run nothing")
	flag.Parse()
	r.patterns = flag.Args()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := r.do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run is one call of the program.
type run struct {
	count    int
	seed     uint64
	tests    string
	skip     string
	only     string
	at       string
	list     bool
	cache    string
	patterns []string
	out      io.Writer

	dir    string              // of the overlay
	built  map[string]bool     // what the build cache holds of the sources as they are
	needs  map[string][]string // for each changed package those whose tests depend on it
	limits map[string]time.Duration
}

// verdict is what the tests say of a mutant.
type verdict struct {
	outcome outcome
	by      string // package and test that found it
}

type outcome int

const (
	survived outcome = iota
	killed
	invalid // does not compile
)

func (r *run) do(ctx context.Context) error {
	mutants, err := r.draw()
	if err != nil {
		return err
	}
	if r.list {
		for _, m := range mutants {
			fmt.Fprintln(r.out, relative(m))
		}
		return nil
	}
	if r.dir, err = os.MkdirTemp("", "mutate"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	cleaned := r.cache == ""
	if cleaned {
		r.cache = filepath.Join(r.dir, "cache")
	}
	if err := r.measure(ctx, mutants); err != nil {
		return err
	}
	if cleaned {
		r.built = map[string]bool{}
		if err := r.cached(func(path string) { r.built[path] = true }); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.out, "seed %d, %d mutants possible\n", r.seed, len(mutants))
	counts := map[string][2]int{} // survived and killed, by package
	var left []*mutant
	for done := 0; done < r.count && len(mutants) > 0 && ctx.Err() == nil; mutants = mutants[1:] {
		m := mutants[0]
		v, err := r.judge(ctx, m)
		if err != nil {
			return err
		}
		if v.outcome == invalid {
			continue
		}
		done++
		n := counts[m.pkg]
		n[v.outcome]++
		counts[m.pkg] = n
		if v.outcome == survived {
			left = append(left, m)
			v.by = "SURVIVED"
		}
		fmt.Fprintf(r.out, "%4d %s: %s\n", done, relative(m), v.by)
	}
	r.summary(counts, left)
	return ctx.Err()
}

// relative is a mutant with its path from here.
func relative(m *mutant) string {
	short := *m
	if here, err := os.Getwd(); err == nil {
		if path, err := filepath.Rel(here, m.file); err == nil {
			short.file = path
		}
	}
	return short.String()
}

func (r *run) summary(counts map[string][2]int, left []*mutant) {
	total := [2]int{}
	for _, pkg := range slices.Sorted(maps.Keys(counts)) {
		n := counts[pkg]
		fmt.Fprintf(r.out, "%-28s %4d killed %4d survived\n", pkg, n[killed], n[survived])
		total[killed] += n[killed]
		total[survived] += n[survived]
	}
	all := max(total[killed]+total[survived], 1)
	fmt.Fprintf(r.out, "seed %d: %d of %d killed, %.1f %%\n", r.seed, total[killed], all, 100*float64(total[killed])/float64(all))
	for _, m := range left {
		fmt.Fprintln(r.out, "survived:", relative(m))
	}
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, ForTest           string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Deps                               []string
}

func goList(args ...string) (all []listed, err error) {
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,ForTest,GoFiles,TestGoFiles,XTestGoFiles,Deps"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(args, " "), err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// draw returns the mutants of the packages in the order in which they are tried.
func (r *run) draw() ([]*mutant, error) {
	pkgs, err := goList(r.patterns...)
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for _, p := range pkgs {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			found, err := mutantsOf(p.ImportPath, path, src)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	if r.at != "" {
		r.count = len(all)
		return slices.DeleteFunc(all, func(m *mutant) bool { return !r.asked(m) }), nil
	}
	rand.New(rand.NewPCG(r.seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, nil
}

// asked reports whether a mutant is at one of the places of -at.
func (r *run) asked(m *mutant) bool {
	return slices.ContainsFunc(strings.Split(r.at, ","), func(at string) bool {
		file, line, _ := strings.Cut(at, ":")
		path, err := filepath.Abs(file)
		return err == nil && path == m.file && (line == "" || line == strconv.Itoa(m.line))
	})
}

// measure finds the tests that depend on each changed package, and how long they take.
// Those that do not pass on the sources as they are say nothing, and are left out.
func (r *run) measure(ctx context.Context, mutants []*mutant) error {
	all, err := goList(append([]string{"-test"}, strings.Fields(r.tests)...)...)
	if err != nil {
		return err
	}
	r.needs, r.limits = map[string][]string{}, map[string]time.Duration{}
	changed := map[string]bool{}
	for _, m := range mutants {
		changed[m.pkg] = true
	}
	for _, p := range all {
		name, isTest := strings.CutSuffix(p.ImportPath, ".test")
		if !isTest || slices.ContainsFunc(strings.Fields(r.skip), func(s string) bool { return strings.HasPrefix(name, s) }) {
			continue
		}
		for _, d := range p.Deps {
			d, _, _ = strings.Cut(d, " ") // "path [path.test]" is the same, built for a test
			if changed[d] && !slices.Contains(r.needs[d], name) {
				r.needs[d] = append(r.needs[d], name)
				r.limits[name] = 0
			}
		}
	}
	if len(r.limits) == 0 {
		return nil
	}
	out, err := r.test(ctx, "", slices.Sorted(maps.Keys(r.limits))...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, m := range ended.FindAllStringSubmatch(out, -1) {
		if m[1] != "FAIL" {
			continue
		}
		if changed[m[2]] {
			return fmt.Errorf("the tests of %s do not pass without a mutant:\n%s", m[2], out)
		}
		fmt.Fprintf(r.out, "left out, since its tests do not pass without a mutant: %s\n", m[2])
		for pkg, names := range r.needs {
			r.needs[pkg] = slices.DeleteFunc(names, func(name string) bool { return name == m[2] })
		}
		delete(r.limits, m[2])
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	for _, m := range ended.FindAllStringSubmatch(out, -1) {
		if m[1] != "ok" {
			continue
		}
		seconds, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return err
		}
		r.limits[m[2]] = time.Duration(seconds * float64(time.Second))
	}
	for pkg, names := range r.needs {
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(order(a, pkg), order(b, pkg)), cmp.Compare(r.limits[a], r.limits[b]), cmp.Compare(a, b))
		})
	}
	return nil
}

// order has a package's own tests come first.
func order(name, changed string) int {
	if name == changed {
		return 0
	}
	return 1
}

var (
	ended  = regexp.MustCompile(`(?m)^(ok|FAIL)\s+(\S+)\s+([0-9.]+)s`)
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	broken = regexp.MustCompile(`\[(build|setup) failed\]`)
)

// memory is how much address space, in KiB, a test may take: a mutant may loop for ever.
const memory = 8 << 20

// test runs go test with its own build cache, and returns what it prints. The overlay
// also is for programs that the tests build.
func (r *run) test(ctx context.Context, overlay string, args ...string) (string, error) {
	flags := os.Getenv("GOFLAGS")
	if overlay != "" {
		flags += " -overlay=" + overlay
	}
	script := fmt.Sprintf(`ulimit -v %d && exec go test -vet=off -failfast -count=1 "$@"`, memory)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh", "-run=" + r.only}, args...)...)
	cmd.Env = append(os.Environ(), "GOCACHE="+r.cache, "GOFLAGS="+flags)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// judge runs the tests on one mutant.
func (r *run) judge(ctx context.Context, m *mutant) (verdict, error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return verdict{}, err
	}
	file, overlay := filepath.Join(r.dir, "mutant.go"), filepath.Join(r.dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: file}})
	if err != nil {
		return verdict{}, err
	}
	if err := os.WriteFile(file, m.apply(src), 0o666); err != nil {
		return verdict{}, err
	}
	if err := os.WriteFile(overlay, list, 0o666); err != nil {
		return verdict{}, err
	}
	if r.built != nil {
		defer r.cached(func(path string) {
			if !r.built[path] {
				os.Remove(path)
			}
		})
	}
	for _, name := range r.needs[m.pkg] {
		out, err := r.test(ctx, overlay, "-timeout="+(20*time.Second+4*r.limits[name]).String(), name)
		switch {
		case ctx.Err() != nil:
			return verdict{}, ctx.Err()
		case err == nil:
			continue
		case broken.MatchString(out):
			return verdict{outcome: invalid}, nil
		}
		return verdict{killed, name + " " + reason(out)}, nil
	}
	return verdict{}, nil
}

// reason is the test that failed, or what else ended the tests.
func reason(out string) string {
	if m := failed.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return "failed"
}

// cached visits every file of the build cache.
func (r *run) cached(visit func(path string)) error {
	return filepath.WalkDir(r.cache, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			visit(path)
		}
		return err
	})
}
