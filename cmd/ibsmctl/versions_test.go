package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestUndo: undo takes back what ibsmctl wrote and nothing else. What an editor wrote before or
// after an edit by ibsmctl stays in the file, and each text that ibsmctl met is kept.
func TestUndo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.conf")
	text := func() string { b, _ := os.ReadFile(file); return string(b) }
	edit := func(more string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text()+more), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(status int, says, want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		got := run(append([]string{"partitions", "-f", file}, args...), &out, &out)
		if got != status || !strings.Contains(out.String(), says) || text() != want {
			t.Errorf("%v: exit status %d, want %d and %q\n%s\nthe file is\n%s\nwant\n%s", args, got, status, says,
				out.String(), text(), want)
		}
	}
	const a, b, c, byHand = "A=0x0001 : SELF=full;\n", "B=0x0002 : SELF=full;\n", "C=0x0003 : SELF=full;\n",
		"H=0x0009 : ALL=full; # by hand\n"
	ask(0, "", a, "create", "A", "--key", "1", "SELF=full")
	ask(0, "", a+b, "create", "B", "--key", "2", "SELF=full")
	edit(byHand)
	ask(1, "\n  + H=0x0009 : ALL=full; # by hand\n", a+b+byHand, "undo")
	ask(0, "", a+b+byHand+c, "create", "C", "--key", "3", "SELF=full")
	ask(0, "changed", a+b+byHand, "undo")
	for range 2 {
		ask(1, "\n  + H=0x0009 : ALL=full; # by hand\n", a+b+byHand, "undo")
	}
	for name, want := range map[string]string{"1~": a, "2~": a + b, "3~edited": a + b + byHand,
		"4~undone": a + b + byHand + c} {
		if got, err := os.ReadFile(file + ".~" + name); err != nil || string(got) != want {
			t.Errorf("version %s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

// TestConcurrentEdits: an edit waits for another one, and none is lost.
func TestConcurrentEdits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.conf")
	if err := os.WriteFile(file, []byte("A=1 : SELF=full;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const edits = 12
	var all sync.WaitGroup
	for i := range edits {
		all.Go(func() {
			var out bytes.Buffer
			if status := run([]string{"partitions", "-f", file, "add", "A", fmt.Sprintf("0x%x", 0x100+i)}, &out,
				&out); status != 0 {
				t.Errorf("edit %d: exit status %d\n%s", i, status, out.String())
			}
		})
	}
	all.Wait()
	f, err := readPartitions(file)
	if err != nil {
		t.Fatal(err)
	}
	if policy, errs, _ := f.Policy(); len(errs) > 0 || len(policy.Find(1).Members) != 1+edits {
		t.Errorf("%v\n%s", errs, f.Src)
	}
	if list, err := versions(file); err != nil || len(list) != 1+edits {
		t.Errorf("%d versions, %v; want %d", len(list), err, 1+edits)
	}
}
