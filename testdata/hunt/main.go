// Hunt looks for faults for a given time: further seeds of the simulations, fuzz targets, mutants of the core that no
// test finds, and tests in full size:
//
//	go run ./testdata/hunt -minutes 60
//
// The time is shared equally among these kinds. Of each kind, work whose package has changed since it was last done
// comes first, then what was not done for longest; bin/hunt.json remembers. What fails is kept: the input in the
// package's testdata/fuzz, the seed in sim/testdata/seeds, where the tests find both. The exit status is 1 if
// anything was found.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	minutes := flag.Int("minutes", 30, "`minutes` that the hunt takes")
	list := flag.Bool("list", false, "list the work in the order in which it would be done, and do nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	found, err := hunt(ctx, os.Stdout, time.Duration(*minutes)*time.Minute, *list)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "hunt:", err)
		os.Exit(2)
	case found > 0:
		os.Exit(1)
	}
}

func hunt(ctx context.Context, out io.Writer, budget time.Duration, list bool) (found int, err error) {
	all, err := scan(".")
	if err != nil {
		return 0, err
	}
	past, err := readPast(pastFile)
	if err != nil {
		return 0, err
	}
	if err := rank(all, past); err != nil {
		return 0, err
	}
	if list {
		for _, t := range all {
			fmt.Fprintln(out, t.kind, t.name())
		}
		return 0, nil
	}
	var spent [kinds]time.Duration
	end := time.Now().Add(budget)
	for ctx.Err() == nil {
		left := time.Until(end)
		t := next(all, past, spent, budget, left)
		if t == nil {
			break
		}
		was := run{Began: time.Now(), Seed: past[t.key()].Seed}
		fmt.Fprintf(out, "%3.0f min left: %v %s\n", left.Minutes(), t.kind, t.name())
		text, result := t.do(ctx, &was, t.slot(budget, left), left)
		if ctx.Err() != nil {
			break
		}
		was.Took = time.Since(was.Began)
		spent[t.kind] += was.Took
		if errors.Is(result, errNoTime) {
			was.Took *= 2 // it is tried again where there is more time
		} else if result != nil {
			found++
			fmt.Fprintf(out, "FOUND by %v %s: %v\n%s\n", t.kind, t.name(), result, text)
		}
		past[t.key()] = was
		t.done = true
		if err := past.write(pastFile); err != nil {
			return found, err
		}
	}
	fmt.Fprintln(out, "time by kind:")
	for k, t := range spent {
		fmt.Fprintf(out, "  %-8v %v\n", kind(k), t.Round(time.Second))
	}
	fmt.Fprintf(out, "found: %d\n", found)
	return found, nil
}
