package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ibsm/atomicfile"
	"ibsm/cmd/cli"
	"ibsm/partitions"
)

// maxVersions is how many versions of a file are kept: as FILE.~1~, the oldest, and so on, in
// the manner of cp --backup=numbered. A version that ibsmctl did not write has a name that
// ends in editedSuffix.
const (
	maxVersions  = 100
	editedSuffix = "edited"
	undoneSuffix = "undone"
)

// version is one text of a file, as it once was.
type version struct {
	number int
	edited bool // ibsmctl found it, and did not write it
	name   string
}

// versions are those of a file, oldest first.
func versions(file string) (list []version, err error) {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(file)+".~")
		digits, suffix, ends := strings.Cut(rest, "~")
		n, err := strconv.Atoi(digits)
		if ours && ends && err == nil && n > 0 && (suffix == "" || suffix == editedSuffix) {
			list = append(list, version{n, suffix != "", filepath.Join(filepath.Dir(file), e.Name())})
		}
	}
	slices.SortFunc(list, func(a, b version) int { return cmp.Compare(a.number, b.number) })
	return list, nil
}

// keep stores a text of the file as its newest version, unless it is that already.
func keep(file string, text []byte, edited bool) error {
	list, err := versions(file)
	if err != nil {
		return err
	}
	next := version{number: 1, edited: edited}
	if len(list) > 0 {
		newest := list[len(list)-1]
		if had, err := os.ReadFile(newest.name); err != nil || bytes.Equal(had, text) {
			return err
		}
		next.number = newest.number + 1
	}
	for _, old := range list[:max(0, len(list)+1-maxVersions)] {
		if err := os.Remove(old.name); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("%s.~%d~", file, next.number)
	if edited {
		name += editedSuffix
	}
	return atomicfile.ReplaceLike(name, file, text)
}

// keepEdited stores the present text of a file as a version, unless ibsmctl wrote it.
func keepEdited(file string) error {
	return locked(file, func() error {
		f, err := readPartitions(file)
		if err != nil {
			return err
		}
		return keep(file, []byte(f.Src), true)
	})
}

// lockPatience is how long an edit waits for another one, lockPoll how often it looks.
const (
	lockPatience = 10 * time.Second
	lockPoll     = 20 * time.Millisecond
)

// locked does something while no other ibsmctl changes the file.
func locked(file string, do func() error) error {
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // which unlocks
	until := time.Now().Add(lockPatience)
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return do()
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", lock.Name(), err)
		case time.Now().After(until):
			return fmt.Errorf("another ibsmctl has been editing %s for %v", file, lockPatience)
		}
		time.Sleep(lockPoll)
	}
}

// changed is what has become of a file.
type changed uint8

const (
	fileKept changed = iota
	fileChanged
	fileMade // there was none before
)

// change gives a file another text, and keeps both as versions. Readers see the one or the
// other.
func change(file string, how func(*partitions.File) ([]byte, error)) (done changed, err error) {
	err = locked(file, func() error {
		f, err := readPartitions(file)
		missing := errors.Is(err, fs.ErrNotExist)
		if missing {
			f, err = partitions.Parse(file, nil), nil
		}
		if err != nil {
			return err
		}
		text, err := how(f)
		if err != nil || bytes.Equal(text, []byte(f.Src)) {
			return err
		}
		if !missing {
			if err := keep(file, []byte(f.Src), true); err != nil {
				return err
			}
		}
		if err := atomicfile.ReplaceLike(file, file, text); err != nil {
			return err
		}
		if done = fileMade; !missing {
			done = fileChanged
		}
		return keep(file, text, false)
	})
	return done, err
}

// undo takes back the last change by ibsmctl. It refuses to take back anything that was
// written otherwise, and shows it.
func undo(file string) error {
	return locked(file, func() error {
		f, err := readPartitions(file)
		if err != nil {
			return err
		}
		list, err := versions(file)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf(
				"no earlier version of %s: versions are saved since the first edit by ibsmctl or the first apply", file)
		}
		newest := list[len(list)-1]
		now, err := os.ReadFile(newest.name)
		if err != nil {
			return err
		}
		if string(now) != f.Src {
			return notOurs(newest.name, file, string(now), f.Src)
		}
		if len(list) == 1 {
			return fmt.Errorf("%s has no earlier version", file)
		}
		before := list[len(list)-2]
		text, err := os.ReadFile(before.name)
		if err != nil {
			return err
		}
		if newest.edited {
			return notOurs(before.name, file, string(text), f.Src)
		}
		if err := atomicfile.ReplaceLike(file, file, text); err != nil {
			return err
		}
		return os.Rename(newest.name, newest.name+undoneSuffix)
	})
}

// notOurs refuses to undo a change that was not made by ibsmctl.
func notOurs(earlier, file, before, after string) error {
	return cli.WithHint(fmt.Errorf("the last change of %s was not made by ibsmctl, and undo would lose it:\n%s", file,
		lineDiff(before, after)),
		fmt.Sprintf("edit the file, or copy %s over it", earlier))
}
