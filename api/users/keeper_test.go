package users_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ibsm/api/users"
	"ibsm/rights"
)

// clock is a time that a test sets.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newClock() *clock { return &clock{time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)} }

// TestRefresh: a file that changes is read again, once a second at most. A file that is wrong keeps the users, and is
// reported once.
func TestRefresh(t *testing.T) {
	path, c := filepath.Join(t.TempDir(), "users.toml"), newClock()
	k := users.NewKeeper(path, c.read)
	if err := k.Load(); !errors.Is(err, fs.ErrNotExist) || k.Users().Len() != 0 {
		t.Errorf("a file that is not there: %v, %v", err, k.Users())
	}
	refresh := func(what string, changed bool, want string, n int) {
		t.Helper()
		c.advance(time.Second)
		got, err := k.Refresh()
		if got != changed || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) ||
			k.Users().Len() != n {
			t.Errorf("%s: changed %t, %v, %v; want %t, %q, %d users", what, got, err, k.Users(), changed, want, n)
		}
	}
	refresh("not there", false, "", 0) // Load has reported it
	write(t, path, user("a", "admin", ""))
	refresh("new", true, "", 1)
	refresh("the same", false, "", 1)
	write(t, path, user("a", "admin", "")+user("b", "admin", ""))
	if changed, err := k.Refresh(); changed || err != nil || k.Users().Len() != 1 {
		t.Errorf("looked at again within a second: %t, %v, %v", changed, err, k.Users())
	}
	refresh("two users", true, "", 2)

	write(t, path, user("a", "root", ""))
	refresh("wrong", false, path+`:2: user a: there is no role "root"`, 2)
	refresh("still wrong", false, "", 2)
	os.Remove(path)
	refresh("removed", false, "no such file", 2)
	refresh("still removed", false, "", 2)
	write(t, path, user("a", "root", ""))
	refresh("wrong again", false, `there is no role "root"`, 2)
	write(t, path, user("c", "admin", ""))
	refresh("right", true, "", 1)

	for _, mode := range []fs.FileMode{0o640, 0o620, 0o610, 0o604, 0o602, 0o601} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		refresh("open to others", false, fmt.Sprintf("other users can read or change %s (mode %04o): chmod 600", path, mode), 1)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	refresh("private again", true, "", 1)

	// A file of the same size and time, renamed to its place, is another one.
	info, err := os.Stat(path)
	write(t, path+".new", user("d", "admin", ""))
	err = errors.Join(err, os.Chtimes(path+".new", info.ModTime(), info.ModTime()), os.Rename(path+".new", path))
	if err != nil {
		t.Fatal(err)
	}
	refresh("renamed", true, "", 1)
	if _, is := k.Users().Find("d"); !is {
		t.Error("the users are those of the file before")
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(path, 12345, 0); err != nil {
		t.Fatal(err)
	}
	refresh("of another user", false, path+" belongs to user 12345, who can change the users of the API", 1)
	// Root may change it all the same, and it stays the user's: of a manager that does not run as root.
	err = users.Change(t.Context(), path, func(s *users.Set) (*users.Set, error) { return s, nil })
	if info, _ := os.Stat(path); err != nil || info.Sys().(*syscall.Stat_t).Uid != 12345 {
		t.Errorf("the changed file: %v, %+v", err, info.Sys())
	}
}

// TestTokens: a token counts at once and is in the file as its sum alone; one that is revoked is refused at once. What
// another program changes in the file stays.
func TestTokens(t *testing.T) {
	path, c := filepath.Join(t.TempDir(), "users.toml"), newClock()
	write(t, path, user("nico", "admin", ""))
	k := users.NewKeeper(path, c.read)
	if err := k.Load(); err != nil {
		t.Fatal(err)
	}
	a := users.NewAuthenticator(k.Users, c.read, pause)
	who := func(token string) string {
		t.Helper()
		u, err := a.Authenticate(t.Context(), users.Credential{From: here, Authorization: "Bearer " + token})
		if err != nil {
			return err.Error()
		}
		return u.Name
	}
	if err := users.Change(t.Context(), path, func(s *users.Set) (*users.Set, error) {
		return s.Add(users.Account{User: rights.User{Name: "other", Role: rights.Reader}})
	}); err != nil {
		t.Fatal(err)
	}
	first, text, err := k.AddToken(t.Context(), &rights.User{Name: "nico"}, 30, "rack 7")
	if err != nil || who(text) != "nico" || k.Users().Len() != 2 || first.Note != "rack 7" ||
		!first.Until.Equal(c.now.Add(30*24*time.Hour)) {
		t.Errorf("%v of %v: %v, %s", first, k.Users(), err, who(text))
	}
	written, err := os.ReadFile(path)
	info, err2 := os.Stat(path)
	if err != nil || err2 != nil || strings.Contains(string(written), text[5:]) || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: mode %v\n%s", err, err2, info.Mode(), written)
	}
	second, other, err := k.AddToken(t.Context(), &rights.User{Name: "nico"}, 1, "")
	if err != nil || who(other) != "nico" || second.ID == first.ID {
		t.Errorf("%v, %s", err, who(other))
	}
	sender, err := a.Authenticate(t.Context(), users.Credential{From: here, Authorization: "Bearer " + other})
	if err != nil || !sender.Until.Equal(second.Until) {
		t.Fatalf("%+v, %v", sender, err)
	}
	if third, _, err := k.AddToken(t.Context(), sender, 30, ""); err != nil || !third.Until.Equal(second.Until) {
		t.Errorf("%v: a token that was made with another one ends at %v, after it", err, third.Until)
	}
	err = k.RevokeToken(t.Context(), "nico", first.ID)
	if err != nil || who(text) != "unknown token" || who(other) != "nico" {
		t.Errorf("%v: %s, %s", err, who(text), who(other))
	}
	c.advance(24 * time.Hour)
	if who(other) != "the token has ended" {
		t.Error(who(other))
	}
	c.advance(31 * 24 * time.Hour)
	if _, _, err := k.AddToken(t.Context(), &rights.User{Name: "nico"}, 1, ""); err != nil || who(other) != "unknown token" {
		t.Errorf("%v: a token that ended a month ago: %s", err, who(other))
	}
	for _, c := range []struct {
		user string
		days int
		note string
		want string
	}{{"nicp", 1, "", "there is no user nicp; did you mean nico?"}, {"a b", 1, "", `"a b" is not a name of a user`},
		{"nico", 0, "", "a token cannot end after 0 days: expected 1 to 3650"}, {"nico", 3651, "", "after 3651 days"},
		{"nico", 1, "a\nb", "the note has other than"}, {"nico", 1, strings.Repeat("a", 65), "the note has other than"}} {
		_, _, err := k.AddToken(t.Context(), &rights.User{Name: c.user}, c.days, c.note)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c, err, c.want)
		}
	}
	for _, id := range []string{"", first.ID, "%s"} {
		err := k.RevokeToken(t.Context(), "nico", id)
		if err == nil || !strings.Contains(err.Error(), "user nico has no token") {
			t.Errorf("%q is revoked: %v", id, err)
		}
	}
	for range 99 {
		if _, _, err = k.AddToken(t.Context(), &rights.User{Name: "nico"}, 1, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := k.AddToken(t.Context(), &rights.User{Name: "nico"}, 1, ""); err == nil ||
		err.Error() != "user nico: there are more than 100 tokens: revoke some" {
		t.Errorf("token 101: %v", err)
	}
}

// TestChanges: changes at the same time are all in the file.
func TestChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.toml")
	keepers := []*users.Keeper{users.NewKeeper(path, time.Now), users.NewKeeper(path, time.Now)}
	if err := users.Change(t.Context(), path, func(s *users.Set) (*users.Set, error) {
		return s.Add(users.Account{User: rights.User{Name: "nico", Role: rights.Admin}})
	}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, _, err := keepers[i%2].AddToken(t.Context(), &rights.User{Name: "nico"}, 1, ""); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := users.Change(t.Context(), path, func(s *users.Set) (*users.Set, error) {
				return s.Add(users.Account{User: rights.User{Name: fmt.Sprint("user", i), Role: rights.Reader}})
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	set, err := users.Read(path)
	if err != nil || set.Len() != 21 {
		t.Fatalf("%v, %v", set, err)
	}
	if nico, _ := set.Find("nico"); len(nico.Tokens) != 20 {
		t.Errorf("%d tokens", len(nico.Tokens))
	}
}

// TestChangeErrors: a change that fails leaves the file as it was, and so does one that gives up its turn.
func TestChangeErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "users.toml")
	text := user("a", "admin", "") + "# a comment\n"
	write(t, path, text)
	unwanted := errors.New("unwanted")
	same := func(s *users.Set) (*users.Set, error) { return s, nil }
	unchanged := func() {
		t.Helper()
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%v, the file is\n%s", err, now)
		}
	}
	err := users.Change(t.Context(), path, func(*users.Set) (*users.Set, error) { return nil, unwanted })
	if err != unwanted {
		t.Error(err)
	}
	unchanged()
	err = users.Change(t.Context(), path, func(s *users.Set) (*users.Set, error) { return s.Delete("b") })
	if err == nil || err.Error() != "there is no user b" {
		t.Error(err)
	}
	unchanged()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := users.Change(t.Context(), path, same); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
		t.Error(err)
	}
	unchanged()
	err = users.Change(t.Context(), filepath.Join(dir, "none", "users.toml"), same)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := users.Change(ctx, path, same); !errors.Is(err, context.Canceled) {
		t.Errorf("the lock is another program's: %v", err)
	}
	unchanged()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}

	// A file that cannot be written is an error.
	fresh := filepath.Join(dir, "new.toml")
	if err := os.MkdirAll(fresh+".tmp/full", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := users.Change(t.Context(), fresh, same); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a new file: %v", err)
	}

	// A symbolic link stays, and what it leads to changes.
	link := filepath.Join(dir, "link.toml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := users.Change(t.Context(), link, same); err != nil {
		t.Error(err)
	}
	if to, err := os.Readlink(link); err != nil || to != path {
		t.Errorf("%s, %v", to, err)
	}
	if now, err := os.ReadFile(path); err != nil || strings.Contains(string(now), "# a comment") {
		t.Errorf("%v, the file is\n%s", err, now)
	}
}

// TestFull: a file that would be longer than one that is read is not written.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.toml")
	u := rights.User{Name: "last", Role: rights.Tenant}
	for i := range 100 {
		u.Scope.Names = append(u.Scope.Names, fmt.Sprintf("%064d", i))
	}
	names := fmt.Sprintf("partitions = [\"%s\"]\n", strings.Join(u.Scope.Names, `", "`))
	var b strings.Builder
	for i := 0; b.Len()+len(names)+100 < users.MaxFile; i++ {
		b.WriteString(user(fmt.Sprint("t", i), "tenant", names))
	}
	write(t, path, b.String())
	err := users.Change(t.Context(), path, func(s *users.Set) (next *users.Set, err error) {
		return s.Add(users.Account{User: u})
	})
	if now, _ := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), "would have more than 1048576 bytes") ||
		string(now) != b.String() {
		t.Errorf("%v; the file has %d bytes, not %d", err, len(now), b.Len())
	}
}
