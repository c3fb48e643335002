package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ibsm/atomicfile"
)

type kind uint8

const (
	seeds   kind = iota // further seeds of a test of sim
	fuzz                // a fuzz target
	mutants             // small changes of a package
	full                // a test in full size
	kinds   = iota
)

func (k kind) String() string { return [...]string{"seeds", "fuzz", "mutants", "full"}[k] }

// task is one piece of work. A task without a test is about the whole package.
type task struct {
	kind kind
	pkg  string // ./sim
	test string
	done bool // in this hunt
}

func (t *task) name() string {
	if t.test == "" {
		return t.pkg
	}
	return t.pkg + " " + t.test
}

func (t *task) key() string { return t.kind.String() + " " + t.name() }

const pastFile = "bin/hunt.json"

// run is when a task was done last.
type run struct {
	Began time.Time
	Took  time.Duration
	Seed  uint64 // the first that was not tried yet
}

// past is when each task was done last, by its key.
type past map[string]run

func readPast(file string) (past, error) {
	p := past{}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to begin anew", file, err)
	}
	return p, nil
}

func (p past) write(file string) error {
	text, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(file, 0o666, text)
}

// rank sorts tasks: those whose package has changed since they were done, or that were never done, before the others;
// among equals, what was not done for longest first.
func rank(all []*task, p past) error {
	changed := map[string]time.Time{}
	for _, t := range all {
		if _, known := changed[t.pkg]; known {
			continue
		}
		text, err := exec.Command("git", "log", "-1", "--format=%ct", "--", t.pkg).Output()
		if err != nil {
			return fmt.Errorf("git log of %s: %w", t.pkg, err)
		}
		seconds, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // 0: never committed
		changed[t.pkg] = time.Unix(seconds, 0)
	}
	order(all, p, changed)
	return nil
}

func order(all []*task, p past, changed map[string]time.Time) {
	stale := func(t *task) int {
		if p[t.key()].Began.Before(changed[t.pkg]) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *task) int {
		if d := stale(a) - stale(b); d != 0 {
			return d
		}
		return p[a.key()].Began.Compare(p[b.key()].Began)
	})
}

// next is the task to do: the first that fits into the time left, of the kind that has had the least time.
func next(all []*task, p past, spent [kinds]time.Duration, budget, left time.Duration) (best *task) {
	for _, t := range all {
		if t.done || t.estimate(p, budget, left) > left {
			continue
		}
		if best == nil || spent[t.kind] < spent[best.kind] {
			best = t
		}
	}
	return best
}

// slot is the time that a task takes which can take any time.
func (t *task) slot(budget, left time.Duration) time.Duration {
	return min(max(budget/30, 20*time.Second), 10*time.Minute, left)
}

// estimate is how long a task may take.
func (t *task) estimate(p past, budget, left time.Duration) time.Duration {
	switch was := p[t.key()]; {
	case t.kind == fuzz || t.kind == seeds:
		return max(t.slot(budget, left), 10*time.Second)
	case was.Took > 0:
		return was.Took
	case t.kind == mutants:
		return 5 * time.Minute
	}
	return time.Minute
}

// errNoTime: the time was up before the task ended.
var errNoTime = errors.New("no time left")

// mutantsEach is the number of mutants in one task.
const mutantsEach = 10

// do does a task, for a slot where it can take any time, otherwise within the time left. It returns the output of a
// task that has found something.
func (t *task) do(ctx context.Context, was *run, slot, left time.Duration) (output string, err error) {
	within, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	switch exact := "^" + t.test + "$"; t.kind {
	case seeds:
		return t.trySeeds(within, was, slot)
	case fuzz:
		output, err = command(within, nil, ".ci/fuzz", fmt.Sprintf("%ds", int(slot.Seconds())), t.pkg+":"+t.test)
	case mutants:
		was.Seed++
		output, err = command(within, nil, "go", "run", "./testdata/mutate", "-n", strconv.Itoa(mutantsEach),
			"-seed", strconv.FormatUint(was.Seed, 10), t.pkg)
		if err == nil && strings.Contains(output, "SURVIVED") {
			err = errors.New("a mutant that no test finds")
		}
	case full:
		output, err = command(within, []string{"IBSM_PROOF=1"}, "go", "test", "-count=1", "-timeout", "0", "-run",
			exact, t.pkg)
	}
	return output, err
}

// seedsEach is the number of seeds that one run of a test tries.
const seedsEach = 10

// trySeeds tries further seeds until the slot is over. Of a run that fails it keeps the seeds that fail alone.
func (t *task) trySeeds(ctx context.Context, was *run, slot time.Duration) (output string, err error) {
	if was.Seed == 0 {
		was.Seed = firstSeed
	}
	for end := time.Now().Add(slot); time.Now().Before(end) && err == nil; was.Seed += seedsEach {
		if output, err = t.trySeed(ctx, was.Seed, was.Seed+seedsEach); err == nil || errors.Is(err, errNoTime) {
			continue
		}
		var failed []string
		for seed := was.Seed; seed < was.Seed+seedsEach; seed++ {
			if _, alone := t.trySeed(ctx, seed, seed+1); alone != nil && !errors.Is(alone, errNoTime) {
				failed = append(failed, strconv.FormatUint(seed, 10))
			}
		}
		return output, errors.Join(err, t.keepSeeds(failed))
	}
	return "", err
}

func (t *task) trySeed(ctx context.Context, from, to uint64) (string, error) {
	env := []string{fmt.Sprintf("IBSM_SEED=%d-%d", from, to)}
	return command(ctx, env, "go", "test", "-count=1", "-timeout", "0", "-run", "^"+t.test+"$", t.pkg)
}

// firstSeed is beyond those that tests try in full size.
const firstSeed = 10_000

// keepSeeds adds seeds to those that a test always tries.
func (t *task) keepSeeds(failed []string) error {
	file := filepath.Join(t.pkg, "testdata", "seeds", t.test)
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	known := strings.Fields(string(text))
	for _, seed := range failed {
		if !slices.Contains(known, seed) {
			known = append(known, seed)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(file, 0o666, []byte(strings.Join(known, "\n")+"\n"))
}

// command runs a program. Its children end with it.
func command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	var out bytes.Buffer
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), env...)
	c.Stdout, c.Stderr = &out, &out
	endWithChildren(c)
	err := c.Run()
	if ctx.Err() != nil {
		return "", errNoTime
	}
	return out.String(), err
}

// endWithChildren makes a command end with all that it has started.
func endWithChildren(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
