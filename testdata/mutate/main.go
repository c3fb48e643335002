// Mutate changes the sources of packages in one small place at a time and looks whether a
// test fails. It draws the places at random, by a seed:
//
//	go run ./testdata/mutate -n 100 -seed 1 ./routing/... ./partitions
//
// The tests are those of the changed package and then those of each package of -tests that
// depends on it, the quickest first, until one fails. A mutant that does not compile
// does not count; another one is drawn. The working tree is left alone: the go command
// reads the changed files from an overlay.
//
// All mutants of function bodies are compiled at once: each is a copy of its function,
// and an environment variable selects one of them. Each test runs once without a mutant,
// which shows how long it takes and which mutants it reaches; a mutant is tried only on
// the tests that reach it.
package main

import (
	"bufio"
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
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	r := run{out: os.Stdout}
	flag.IntVar(&r.count, "n", 100, "`number` of mutants")
	flag.Uint64Var(&r.seed, "seed", uint64(time.Now().Unix()), "`seed` of the draw")
	flag.StringVar(&r.tests, "tests", "./...",
		"packages whose tests run when those of the changed package pass, as `patterns`")
	flag.StringVar(&r.skip, "skip", "ibsm/cmd/", "packages whose tests do not run, as `prefixes` of import paths")
	flag.StringVar(&r.only, "run", "", "run only the tests whose names match this `expression`")
	flag.StringVar(&r.at, "at", "", "all mutants of these `places` (file:line[:column],...) instead of a draw")
	flag.StringVar(&r.last, "last", "", "try the mutants of these packages last, as `prefixes` of import paths")
	flag.StringVar(&r.results, "results", "",
		"`file` of outcomes; those that it has are not tried again, and new ones are added")
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
	last     string
	results  string
	list     bool
	patterns []string
	out      io.Writer

	dir      string // of the overlays and the test binaries
	programs []*program
}

// outcome is what the tests say of a mutant, in the words of the results file.
type outcome string

const (
	survived  outcome = "SURVIVED"
	unreached outcome = "SURVIVED, no test reaches it"
)

func (o outcome) survived() bool { return o == survived || o == unreached }

func (r *run) do(ctx context.Context) error {
	pkgs, err := goList(r.patterns...)
	if err != nil {
		return err
	}
	possible, err := r.draw(pkgs)
	if err != nil {
		return err
	}
	if r.list {
		for _, m := range possible {
			fmt.Fprintln(r.out, m)
		}
		return nil
	}
	mutants, err := r.compiling(pkgs, possible)
	if err != nil {
		return err
	}
	slices.SortStableFunc(mutants, func(a, b *mutant) int { return r.order(a) - r.order(b) })
	fmt.Fprintf(r.out, "seed %d, %d mutants possible\n", r.seed, len(possible))
	if r.dir, err = os.MkdirTemp("", "mutate"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	known, err := r.known()
	if err != nil {
		return err
	}
	if err := r.prepare(ctx, slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool {
		return known[m.String()] != ""
	})); err != nil {
		return err
	}
	for i, m := range mutants {
		if known[m.String()] == "" {
			start := time.Now()
			o, err := r.judge(ctx, m)
			if err != nil {
				return err
			}
			known[m.String()] = o
			if err := r.keep(m, o, time.Since(start)); err != nil {
				return err
			}
		}
		fmt.Fprintf(r.out, "%4d %v: %s\n", i+1, m, known[m.String()])
	}
	r.summary(mutants, known)
	return nil
}

// order is greater for the mutants that are tried last.
func (r *run) order(m *mutant) int {
	if hasPrefix(m.pkg, r.last) {
		return 1
	}
	return 0
}

// hasPrefix reports whether one of the words of prefixes starts a package's path.
func hasPrefix(pkg, prefixes string) bool {
	return slices.ContainsFunc(strings.Fields(prefixes), func(s string) bool { return strings.HasPrefix(pkg, s) })
}

// known reads the outcomes that the results file has, by mutant.
func (r *run) known() (map[string]outcome, error) {
	all := map[string]outcome{}
	if r.results == "" {
		return all, nil
	}
	file, err := os.OpenFile(r.results, os.O_RDONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if fields := strings.Split(lines.Text(), "\t"); len(fields) == 3 {
			all[fields[0]] = outcome(fields[1])
		}
	}
	return all, lines.Err()
}

// keep adds an outcome to the results file.
func (r *run) keep(m *mutant, o outcome, took time.Duration) error {
	if r.results == "" {
		return nil
	}
	file, err := os.OpenFile(r.results, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(file, "%v\t%s\t%.1fs\n", m, o, took.Seconds())
	return file.Close()
}

func (r *run) summary(mutants []*mutant, known map[string]outcome) {
	counts, total := map[string][2]int{}, [2]int{} // killed and survived
	for _, m := range mutants {
		i := 0
		if known[m.String()].survived() {
			i = 1
		}
		n := counts[m.pkg]
		n[i]++
		total[i]++
		counts[m.pkg] = n
	}
	for _, pkg := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(r.out, "%-28s %4d killed %4d survived\n", pkg, counts[pkg][0], counts[pkg][1])
	}
	fmt.Fprintf(r.out, "seed %d: %d of %d killed, %.1f %%\n", r.seed, total[0], len(mutants),
		100*float64(total[0])/float64(max(len(mutants), 1)))
	for _, m := range mutants {
		if known[m.String()].survived() {
			fmt.Fprintf(r.out, "%v: %s\n", m, known[m.String()])
		}
	}
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, ForTest, Export   string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Deps                               []string
}

func goList(args ...string) (all []listed, err error) {
	cmd := exec.Command("go",
		append([]string{"list", "-json=ImportPath,Dir,ForTest,Export,GoFiles,TestGoFiles,XTestGoFiles,Deps"},
			args...)...)
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

// draw returns the mutants of the packages in the order of the draw. Packages that only
// serve tests, as net/http/httptest does, have none.
func (r *run) draw(pkgs []listed) ([]*mutant, error) {
	var all []*mutant
	for _, p := range pkgs {
		if strings.HasSuffix(p.ImportPath, "test") {
			continue
		}
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
		file, place, _ := strings.Cut(at, ":")
		line, column, _ := strings.Cut(place, ":")
		path, err := filepath.Abs(file)
		return err == nil && path == m.file && (line == "" || line == strconv.Itoa(m.line)) &&
			(column == "" || column == strconv.Itoa(m.column))
	})
}
