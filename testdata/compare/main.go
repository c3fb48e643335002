// Compare runs the simulations of two commits and names, for each test and seed, the first packet, view or log
// event that differs: see CONTRIBUTING.md. It is called by make compare.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	base := flag.String("base", "", "the commit that the tree is compared with")
	run := flag.String("run", "", "which tests, a regular expression; without it, those that end within -limit")
	seeds := flag.Int("seeds", 1, "how many seeds of tests that take one")
	limit := flag.Duration("limit", 3*time.Second,
		"without -run, for how long a run is followed; later lines are not compared")
	flag.Parse()
	if *base == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "compare: the commit is missing: make compare BASE=REV")
		os.Exit(2)
	}
	differs, err := compare(*base, *run, *seeds, *limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if differs {
		os.Exit(1)
	}
}

// side is one of the two trees, and its tests.
type side struct {
	name, dir, program string
	tests              map[string]bool
	// recorded are the scenarios of TestRecorded, and how many seeds each has, in trees that have it; nil in
	// trees where every test writes what IBSM_TRANSCRIPT asks for.
	recorded map[string]int
}

func compare(rev, run string, seeds int, limit time.Duration) (differs bool, err error) {
	work, err := os.MkdirTemp("", "ibsm-compare-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "base")
	if err := os.Mkdir(tree, 0o777); err != nil {
		return false, err
	}
	if err := command(".", "sh", "-c", `git archive "$0" | tar -x -C "$1"`, rev+"^{commit}", tree); err != nil {
		return false, err
	}
	base, err := build(rev, tree, filepath.Join(work, "base.test"))
	if err != nil {
		return false, err
	}
	now, err := build("this tree", ".", filepath.Join(work, "now.test"))
	if err != nil {
		return false, err
	}
	wanted, err := regexp.Compile(run)
	if err != nil {
		return false, err
	}
	if run != "" {
		limit = time.Hour
	}
	c := &comparer{base: base, now: now, limit: limit, seeds: seeds}
	for _, test := range union(base.tests, now.tests) {
		if wanted.MatchString(test) {
			if err := c.test(test); err != nil {
				return false, err
			}
		}
	}
	fmt.Printf("%d runs compared, %d differ\n", c.runs, c.differ)
	if c.cut > 0 {
		fmt.Printf("%d runs were compared for %v only: -limit, or RUN with the test's name, compares more\n", c.cut,
			limit)
	}
	return c.differ > 0, nil
}

// command runs a program in a folder.
func command(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil || bytes.Contains(out, []byte("fatal:")) {
		return fmt.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

var scenario = regexp.MustCompile(`(?m)^\t\{"(\w+)", (\d+), \d+, `)

// build builds the tests of sim in a tree.
func build(name, tree, program string) (*side, error) {
	if err := command(tree, "go", "test", "-c", "-trimpath", "-o", program, "./sim"); err != nil {
		return nil, err
	}
	s := &side{name: name, dir: filepath.Join(tree, "sim"), program: program, tests: map[string]bool{}}
	if src, err := os.ReadFile(filepath.Join(s.dir, "recorded_test.go")); err == nil {
		s.recorded = map[string]int{}
		for _, m := range scenario.FindAllSubmatch(src, -1) {
			s.recorded[string(m[1])], _ = strconv.Atoi(string(m[2]))
			s.tests["Test"+string(m[1])] = true
		}
		return s, nil
	}
	list := exec.Command(program, "-test.list", "^Test")
	list.Dir = s.dir
	out, err := list.Output()
	for line := range strings.Lines(string(out)) {
		s.tests[strings.TrimSpace(line)] = true
	}
	return s, err
}

// start runs a test with a seed, or as it is with seed -1, and returns its transcript.
func (s *side) start(ctx context.Context, test string, seed int, profile string) (*process, error) {
	pattern, env := "^"+test+"$", []string{
		"IBSM_TRANSCRIPT=/dev/fd/3", "IBSM_SEED=", "IBSM_PROOF=", "IBSM_TRANSCRIPTS=",
	}
	if seed >= 0 {
		env[1] = fmt.Sprintf("IBSM_SEED=%d", seed)
	}
	if s.recorded != nil {
		pattern = "^TestRecorded$/^" + strings.TrimPrefix(test, "Test") + "$"
		env[1], env[2] = "IBSM_SEED=", "IBSM_PROOF=1"
		if seed >= 0 {
			pattern += fmt.Sprintf("/^%d$", seed)
		}
	}
	if profile != "" {
		env = append(env, "IBSM_PROFILE="+profile)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &process{lines: newLines(read), pipe: read}
	p.cmd = exec.CommandContext(ctx, s.program, "-test.run", pattern, "-test.timeout", "30m")
	p.cmd.Dir, p.cmd.Env, p.cmd.ExtraFiles = s.dir, append(os.Environ(), env...), []*os.File{write}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	err = p.cmd.Start()
	write.Close()
	return p, err
}

// process is a run under way.
type process struct {
	cmd    *exec.Cmd
	lines  *lines
	pipe   io.Closer
	output tail
}

// tail keeps the end of what a program writes.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-2000):]
	return len(b), nil
}
