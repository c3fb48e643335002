package users

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"ibsm/atomicfile"
	"ibsm/regularfile"
	"ibsm/rights"
)

// refreshEvery is how often a Keeper looks at its file.
const refreshEvery = time.Second

// Keeper keeps the users of a file, which is read again when it changes. Any goroutine may call its methods. A file
// system that does not answer holds a read up for ten seconds at most, as in package regularfile.
type Keeper struct {
	path  string
	now   func() time.Time
	files regularfile.Reader
	set   atomic.Pointer[Set]
	next  atomic.Int64 // when the file is looked at again, in nanoseconds of Unix time

	turn   chan struct{} // of the goroutine that reads: it alone uses the rest
	seen   identity
	failed string // the error of the last read
}

// identity is what changes with a file. A file that is renamed to its place has another inode; the time of the last
// change of the inode is also that of chmod and chown.
type identity struct {
	device, inode   uint64
	size            int64
	written, change syscall.Timespec
}

func identityOf(info fs.FileInfo) identity {
	st, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return identity{}
	}
	return identity{uint64(st.Dev), st.Ino, st.Size, st.Mtim, st.Ctim}
}

// NewKeeper returns a Keeper without users: Load or Refresh reads the file.
func NewKeeper(path string, now func() time.Time) *Keeper {
	return &Keeper{path: path, now: now, turn: make(chan struct{}, 1)}
}

// Format prints the name of the file, whatever the verb.
func (k *Keeper) Format(f fmt.State, _ rune) { io.WriteString(f, "users in "+k.path) }

// Users are the users by the last file that could be read, nil before the first one.
func (k *Keeper) Users() *Set { return k.set.Load() }

// Load reads the file now. After an error the users are as they were.
func (k *Keeper) Load() error {
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	return k.load()
}

// load reads the file, in its turn.
func (k *Keeper) load() error {
	id := identity{}
	set, err := read(&k.files, k.path, func(info fs.FileInfo) error {
		id = identityOf(info)
		return isPrivate(k.path, info, os.Geteuid())
	})
	k.seen, k.failed = id, ""
	if err != nil {
		k.failed = err.Error()
		return err
	}
	k.set.Store(set)
	return nil
}

// Refresh reads the file again if it has changed, and reports whether the users are others. It looks at the file once a
// second at most, and while another goroutine reads it returns at once. After an error the users are as they were; the
// same error is returned once until the file changes.
func (k *Keeper) Refresh() (changed bool, err error) {
	now := k.now()
	if now.UnixNano() < k.next.Load() {
		return false, nil
	}
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	default:
		return false, nil
	}
	k.next.Store(now.Add(refreshEvery).UnixNano())
	info, err := k.files.Stat(k.path)
	if err == nil && identityOf(info) == k.seen {
		return false, nil
	}
	last := k.failed
	if err = k.load(); err != nil && k.failed == last {
		err = nil
	}
	return err == nil && k.failed == "", err
}

// AddToken gives a user a token that ends after so many days, but not after the token that the user has sent, and
// writes the file. text is what the client sends.
func (k *Keeper) AddToken(ctx context.Context, u *rights.User, days int, note string) (t Token, text string,
	err error) {
	if t, text, err = NewToken(k.now(), days, note); err != nil {
		return t, "", err
	}
	if !u.Until.IsZero() && t.Until.After(u.Until) {
		t.Until = u.Until
	}
	return t, text, k.change(ctx, func(s *Set) (*Set, error) { return s.AddToken(u.Name, t) })
}

// RevokeToken takes a token from a user, and writes the file.
func (k *Keeper) RevokeToken(ctx context.Context, user, id string) error {
	return k.change(ctx, func(s *Set) (*Set, error) { return s.RevokeToken(user, id) })
}

// change changes the file, and reads it.
func (k *Keeper) change(ctx context.Context, change func(*Set) (*Set, error)) error {
	if err := Change(ctx, k.path, change); err != nil {
		return err
	}
	return k.Load()
}

// read reads a file of users that a check has no error for.
func read(files *regularfile.Reader, path string, check func(fs.FileInfo) error) (*Set, error) {
	text, err := files.ReadIf(path, MaxFile, check)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Read reads a file of users, which no other users may read or change but its owner.
func Read(path string) (*Set, error) {
	return read(nil, path, func(info fs.FileInfo) error { return isPrivate(path, info, -1) })
}

// isPrivate is an error where others than root and a user can read or change a file. user is -1 for the owner, whoever
// that is.
func isPrivate(path string, info fs.FileInfo, user int) error {
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && user >= 0 && owner.Uid != 0 && int(owner.Uid) != user:
		return fmt.Errorf("%s belongs to user %d, who can change the users of the API: chown it to root", path, owner.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("other users can read or change %s (mode %04o): chmod 600 %s, and look at its users with "+
			"ibsmctl api user list", path, info.Mode().Perm(), path)
	}
	return nil
}

// lockPatience is how long a change waits for another one, lockPoll how often it looks.
const (
	lockPatience = 10 * time.Second
	lockPoll     = 20 * time.Millisecond
)

// Change replaces a file of users by what change makes of its users: of none where there is no file. Meanwhile no other
// Change of any process changes it. The file is replaced as a whole, only its owner can read it, and it is on disk when
// Change returns; after an error it is as it was.
func Change(ctx context.Context, path string, change func(*Set) (*Set, error)) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	lock, err := lock(ctx, path)
	if err != nil {
		return err
	}
	defer lock.Close() // which unlocks
	set, err := Read(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew {
		set, err = &Set{}, nil
	}
	if err != nil {
		return err
	}
	if set, err = change(set); err != nil {
		return err
	}
	text := set.text()
	if len(text) > MaxFile {
		return fmt.Errorf("%s would have more than %d bytes: delete users, or revoke tokens", path, MaxFile)
	}
	if isNew {
		err = atomicfile.Replace(path, 0o600, true, func(w io.Writer) error { _, err := w.Write(text); return err })
	} else {
		err = atomicfile.ReplaceLike(path, path, text)
	}
	if err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory puts the names of a directory on disk.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// lock takes the lock of a file of users, until it is closed. The file of the lock stays: without it two processes
// could each lock one of their own.
func lock(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-poll.C:
		case <-limited.Done():
			f.Close()
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("another program has been changing %s for %v: try again", path, lockPatience)
		}
	}
}
