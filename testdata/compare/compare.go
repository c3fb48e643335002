package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// comparer compares run after run.
type comparer struct {
	base, now         *side
	limit             time.Duration
	seeds             int
	runs, cut, differ int
}

func union(a, b map[string]bool) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// test compares the runs of one test.
func (c *comparer) test(name string) error {
	switch {
	case !c.base.tests[name]:
		if c.base.recorded == nil {
			fmt.Printf("%s: only in %s\n", name, c.now.name)
		}
		return nil
	case !c.now.tests[name]:
		fmt.Printf("%s: only in %s\n", name, c.base.name)
		return nil
	}
	first, profile, last := 0, "", c.seeds
	if c.base.recorded != nil {
		profile = "ideal" // as all that TestRecorded ran
		if has := c.base.recorded[strings.TrimPrefix(name, "Test")]; has == 1 {
			first, last = -1, 0
		} else {
			last = min(last, has)
		}
	}
	for seed := first; seed < last; seed++ {
		seeded, err := c.one(name, seed, profile)
		if err != nil {
			return err
		}
		if !seeded {
			break
		}
	}
	return nil
}

// one compares the runs with one seed, line by line as they come, and reports whether the test takes a seed.
func (c *comparer) one(name string, seed int, profile string) (seeded bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	a, err := c.base.start(ctx, name, seed, profile)
	if err != nil {
		return false, err
	}
	b, err := c.now.start(ctx, name, seed, profile)
	if err != nil {
		cancel()
		a.cmd.Wait()
		return false, err
	}
	diff := firstDifference(a.lines, b.lines)
	late := ctx.Err() != nil
	if diff != "" {
		cancel()
	}
	a.pipe.Close()
	b.pipe.Close()
	failedA, failedB := a.cmd.Wait(), b.cmd.Wait()
	switch {
	case late:
		if diff = ""; b.lines.count > 0 { // what both wrote is equal; one was ended before the other
			c.cut++
		}
	case diff == "" && failedB != nil && (failedA == nil || c.base.recorded != nil):
		diff = fmt.Sprintf("the test fails in %s:\n%s", c.now.name, b.output.text)
	case diff == "" && failedA != nil && failedB == nil && c.base.recorded == nil:
		diff = fmt.Sprintf("the test fails in %s:\n%s", c.base.name, a.output.text)
	}
	if b.lines.seeded && seed >= 0 {
		name = fmt.Sprintf("%s, seed %d", name, seed)
	}
	if a.lines.count+b.lines.count > 0 {
		c.runs++
	}
	if diff != "" {
		c.differ++
		fmt.Printf("%s: - %s, + %s\n%s", name, c.base.name, c.now.name, diff)
	}
	return b.lines.seeded, nil
}

// lines are those of a transcript.
type lines struct {
	r      *bufio.Reader
	seeded bool
	count  int
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 1<<16)} }

// next is the next line: what is compared, and what is shown. ok is false at the end.
func (l *lines) next() (key, shown string, ok bool) {
	for {
		text, err := l.r.ReadString('\n')
		if err != nil {
			return "", "", false
		}
		text = strings.TrimSuffix(text, "\n")
		if text == "== seeded" {
			l.seeded = true
			continue
		}
		l.count++
		if strings.HasPrefix(text, "== ") {
			return "==", text, true
		}
		line, isView := strings.CutPrefix(text, "\t")
		key, words, _ := strings.Cut(line, "\t")
		if shown = key; words != "" {
			at := strings.SplitN(key, " ", 5)
			shown = strings.Join(at[:min(len(at), 4)], " ") + " " + words
		} else if isView {
			shown = "    view " + key
		}
		return key, shown, true
	}
}

// context is how many lines before and after a difference are shown.
const (
	before = 4
	after  = 3
)

// firstDifference describes the first line that differs, with some around it; "" for none.
func firstDifference(a, b *lines) string {
	var common []string
	for {
		keyA, shownA, okA := a.next()
		keyB, shownB, okB := b.next()
		if !okA && !okB {
			return ""
		}
		if okA && okB && keyA == keyB {
			if common = append(common, shownB); len(common) > before {
				common = common[1:]
			}
			continue
		}
		var out strings.Builder
		for _, line := range common {
			fmt.Fprintf(&out, "    %s\n", clip(line, 0))
		}
		if shownA == keyA && shownB != keyB && okA && okB { // a tree without words
			fmt.Fprintf(&out, "    %s\n", clip("in words: "+shownB, 0))
			shownB = keyB
		}
		if shownA == shownB || strings.HasPrefix(shownA, "    view ") && strings.HasPrefix(shownB, "    view ") {
			shownA, shownB = keyA, keyB // the words do not show it
		}
		from := 0
		for from < min(len(shownA), len(shownB)) && shownA[from] == shownB[from] {
			from++
		}
		show(&out, "-", shownA, okA, from, a)
		show(&out, "+", shownB, okB, from, b)
		return out.String()
	}
}

func show(out *strings.Builder, mark, first string, ok bool, from int, rest *lines) {
	if !ok {
		fmt.Fprintf(out, "  %s (ends)\n", mark)
		return
	}
	fmt.Fprintf(out, "  %s %s\n", mark, clip(first, from))
	for range after {
		if _, line, ok := rest.next(); ok {
			fmt.Fprintf(out, "  %s   %s\n", mark, clip(line, 0))
		}
	}
}

// clip is the part of a long line around a place in it, with its begin.
func clip(line string, at int) string {
	const head, width = 60, 180
	if at > width-head && len(line) > width {
		line = line[:head] + " ... " + line[at-head/2:]
	}
	if len(line) > width {
		line = line[:width] + " ..."
	}
	return line
}
