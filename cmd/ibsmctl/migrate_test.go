package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ibsm/opensm/migrate"
)

// TestMigrateEdit: a file keeps its owner and mode, and the one of before is beside it; one that somebody has changed
// since the plan was made is left alone; one that does not exist is made with its folder.
func TestMigrateEdit(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "opensm.conf")
	if err := errors.Join(os.WriteFile(file, []byte("a 1\n"), 0o640), os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}
	owner := os.Getuid()
	if owner == 0 {
		owner = 7
		if err := os.Chown(file, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	r := &runner{out: &said}
	step := &migrate.Step{Kind: migrate.EditFile, File: file, Before: []byte("a 1\n"), Content: []byte("a 2\n")}
	if err := r.edit(step); err != nil || !strings.Contains(said.String(), "mv "+file+".before-ibsm "+file) {
		t.Errorf("%v: %s", err, &said)
	}
	for name, want := range map[string]string{file: "a 2\n", file + ".before-ibsm": "a 1\n"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(name)
		if string(text) != want || info.Mode() != 0o640 || int(info.Sys().(*syscall.Stat_t).Uid) != owner {
			t.Errorf("%s: %q, %v, owner %d", name, text, info.Mode(), info.Sys().(*syscall.Stat_t).Uid)
		}
	}
	if err := r.edit(step); err == nil || !strings.Contains(err.Error(), "has changed meanwhile") {
		t.Errorf("a file that was changed: %v", err)
	}
	fresh := &migrate.Step{Kind: migrate.EditFile, File: filepath.Join(dir, "opensm/opensm.conf"),
		Content: []byte("b\n")}
	if err := r.edit(fresh); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(fresh.File); string(text) != "b\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestMigrateUsage: what excludes each other, and options of other verbs, are wrong usage; a command is printed as a
// shell takes it.
func TestMigrateUsage(t *testing.T) {
	for _, args := range []string{"to --yes --dry-run", "back --force", "check --yes", "forth"} {
		var out, errs bytes.Buffer
		if status := run(append([]string{"migrate"}, strings.Fields(args)...), &out, &errs); status != 2 {
			t.Errorf("%s: status %d, %s", args, status, &errs)
		}
	}
	if text := shown(
		[]string{"systemctl", "stop", "opensm@*.service",
			"it's"}); text != `systemctl stop 'opensm@*.service' 'it'\''s'` {
		t.Error(text)
	}
}
