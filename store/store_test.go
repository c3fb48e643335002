package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"ibsm/mad"
	"ibsm/registry"
)

func testConfig(path string) Config {
	return Config{Path: path, Prefix: mad.DefaultPrefix, Port: 0x11, Now: func() time.Time {
		return time.Unix(1.7e9, 0)
	}}
}

func open(t testing.TB, cfg Config) (*Store, *Contents) {
	t.Helper()
	s, c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, c
}

func flush(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
}

func mgid(n int) mad.GID {
	return mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
}

func portGID(n int) mad.GID { return mad.MakeGID(mad.DefaultPrefix, mad.GUID(n)) }

// register makes Changes in a registry and the Batch of them.
func register(t testing.TB, r *registry.Registry, changes ...registry.Change) Batch {
	t.Helper()
	for _, c := range changes {
		if err := r.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	return Batch{Changes: changes, Registry: r.Freeze()}
}

func putGroup(n int) registry.Change {
	return registry.PutGroup{
		Group: registry.Group{MGID: mgid(n), MLID: mad.MinMulticastLID + mad.LID(n%16000), PKey: 0xffff, MTU: 4,
			Rate: 3},
	}
}

func putMember(group, port int) registry.Change {
	return registry.PutMember{
		Member: registry.Member{MGID: mgid(group), Port: portGID(port), JoinState: registry.FullMember},
	}
}

// same reports what differs between two Contents.
func same(t testing.TB, got, want *Contents) {
	t.Helper()
	if !slices.Equal(got.LIDs, want.LIDs) {
		t.Errorf("LIDs %+v, want %+v", got.LIDs, want.LIDs)
	}
	if g, w := got.Registry, want.Registry; g.Seq() != w.Seq() ||
		!slices.Equal(slices.Collect(g.Changes()), slices.Collect(w.Changes())) {
		t.Errorf("registry of %d with %+v, want %d with %+v", g.Seq(), g.Counts(), w.Seq(), w.Counts())
	}
	if !slices.Equal(got.Terms, want.Terms) {
		t.Errorf("terms %+v, want %+v", got.Terms, want.Terms)
	}
	if !bytes.Equal(got.Configuration, want.Configuration) || !bytes.Equal(got.Partitions, want.Partitions) ||
		(got.Partitions == nil) != (want.Partitions == nil) {
		t.Errorf("texts %q and %q, want %q and %q", got.Configuration, got.Partitions, want.Configuration,
			want.Partitions)
	}
}

// check runs bbolt's own check.
func check(t testing.TB, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_ = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("bbolt finds: %v", err)
		}
		return nil
	})
}

// What was put is there after any number of closings, changed and taken back.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	cfg := testConfig(filepath.Join(dir, "state", "store.db"))
	s, c := open(t, cfg)
	same(t, c, &Contents{Registry: registry.New()})
	want := &Contents{Registry: registry.New()}
	steps := []func() Batch{
		func() Batch {
			want.LIDs = []LID{{Port: 1, Base: 4, LMC: 2}, {Port: 2, Base: 1, Absent: 77},
				{Port: 0xffffffffffffffff, Base: 0xbfff}}
			return Batch{LIDs: []LID{want.LIDs[2], want.LIDs[1], want.LIDs[0]}}
		},
		func() Batch { return register(t, want.Registry, putGroup(1), putMember(1, 5), putMember(1, 6)) },
		func() Batch {
			want.Configuration, want.Partitions = []byte("sweep_interval 10\n"), []byte{}
			want.Terms = []Term{{Number: 1, Master: true, Began: 100}}
			return Batch{Configuration: want.Configuration, Partitions: want.Partitions, Term: &want.Terms[0]}
		},
		func() Batch {
			want.LIDs = []LID{want.LIDs[0], {Port: 2, Base: 9}}
			return Batch{LIDs: want.LIDs, Forget: []mad.GUID{0xffffffffffffffff, 12345}}
		},
		func() Batch {
			return register(t, want.Registry, registry.DeleteMember{MGID: mgid(1), Port: portGID(6)})
		},
		func() Batch {
			for n := uint64(2); n < 100; n++ {
				want.Terms = append(want.Terms, Term{Number: n, Master: n%2 == 1, Began: 200})
			}
			for i := range want.Terms[1:98] {
				s.Put(Batch{Term: &want.Terms[i+1]}, nil)
			}
			last := want.Terms[98]
			want.Terms = want.Terms[99-maxTerms:]
			return Batch{Term: &last}
		},
		func() Batch { // another registry, as an import makes it
			want.Registry = registry.New()
			for n := range 5 {
				register(t, want.Registry, putGroup(n))
			}
			return Batch{Registry: want.Registry.Freeze()}
		},
		func() Batch { return register(t, want.Registry, putMember(4, 3)) },
	}
	for i, step := range steps {
		s.Put(step(), nil)
		flush(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, cfg.Path)
		s, c = open(t, cfg)
		same(t, c, want)
		if c.Damage != nil || t.Failed() {
			t.Fatalf("after step %d: damage %v", i, c.Damage)
		}
	}
	for name, mode := range map[string]os.FileMode{"state": 0o700 | os.ModeDir, "state/store.db": 0o600,
		"state/store.db.lock": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), mode)
		}
	}
	if got := s.Stats(); got.Failures != 0 || got.Rewrites != 0 {
		t.Errorf("%+v", got)
	}
}

// The log becomes a snapshot before it is longer than that, and the file stays small.
func TestCompaction(t *testing.T) {
	t.Parallel()
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	s, c := open(t, cfg)
	r := c.Registry
	s.Put(register(t, r, putGroup(1)), nil)
	n := 0
	for s.Stats().Compactions < 2 {
		var changes []registry.Change
		for range 2000 {
			changes = append(changes, putMember(1, 1+n%5000))
			n++
		}
		s.Put(register(t, r, changes...), nil)
		flush(t, s)
		if n > 1e6 {
			t.Fatalf("%+v after %d changes", s.Stats(), n)
		}
	}
	s.Put(register(t, r, putMember(1, 77777)), nil)
	flush(t, s)
	if info, _ := os.Stat(cfg.Path); info.Size() > 8*minLog {
		t.Errorf("the file has %d bytes after %d changes", info.Size(), n)
	}
	_ = s.Close()
	check(t, cfg.Path)
	_, c = open(t, cfg)
	same(t, c, &Contents{Registry: r})
}

// Files that are not this manager's are refused, with what to do, and stay as they are.
func TestRefused(t *testing.T) {
	change := func(name []byte, n uint64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(func(tx *bbolt.Tx) error { return putMeta(tx, name, n) }); err != nil {
				t.Fatal(err)
			}
			_ = db.Close()
		}
	}
	write := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	another := func(freelist bool) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			_ = os.Remove(path)
			db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: freelist, PageSize: pageSize})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_ = db.Update(func(tx *bbolt.Tx) error {
					_, err := tx.CreateBucketIfNotExists([]byte("cookies"))
					return err
				})
			}
			_ = db.Close()
		}
	}
	for _, c := range []struct {
		name string
		make func(*testing.T, string)
		want error
		says string
	}{
		{"of another schema", change(metaSchema, Schema+1), ErrSchema,
			"its schema is 3 and this version understands 2; run the version that wrote it, or move the file away"},
		{"of an earlier schema", change(metaSchema, firstSchema-1), ErrSchema, "its schema is 0 and"},
		{"another port", change(metaPort, 0x22), ErrForeign, "0x0000000000000022"},
		{"a text", write("# guid2lid\n0x0000000000000001 0x0001 0x0001\n"), ErrNotStore,
			"name another file, or move it away"},
		{"a long text", write(strings.Repeat("text ", 10000)), ErrNotStore, "move it away"},
		{"one byte", write("x"), ErrNotStore, "move it away"},
		{"another database", another(true), ErrNotStore, "database of another program"},
		{"another database with its free pages", another(false), ErrNotStore, "list of free pages"},
		{"a directory", func(t *testing.T, path string) {
			_ = os.Remove(path)
			_ = os.Mkdir(path, 0o700)
		}, ErrNotStore, "it is not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
			s, _ := open(t, cfg)
			_ = s.Close()
			c.make(t, cfg.Path)
			before, _ := os.ReadFile(cfg.Path)
			_, _, err := Open(cfg)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), cfg.Path) {
				t.Errorf("%v", err)
			}
			if checked := Check(cfg.Path, cfg.Port); checked == nil || checked.Error() != err.Error() {
				t.Errorf("a check says %v, a start %v", checked, err)
			}
			if after, _ := os.ReadFile(cfg.Path); !bytes.Equal(before, after) {
				t.Error("the file has changed")
			}
			if left, _ := filepath.Glob(cfg.Path + "*"); len(left) != 2 {
				t.Errorf("beside the store and its lock: %v", left)
			}
		})
	}
}

// TestPrefix: a store belongs to a port, whatever prefix the subnet has; it says which one that was.
func TestPrefix(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	s, _ := open(t, cfg)
	s.Put(Batch{LIDs: []LID{{Port: 0x1, Base: 5}}}, nil)
	if err := errors.Join(s.Flush(), s.Close()); err != nil {
		t.Fatal(err)
	}
	const site mad.Prefix = 0xfec0000000000008
	for _, c := range []struct{ given, was, is mad.Prefix }{{site, mad.DefaultPrefix, site}, {0, site, site},
		{mad.DefaultPrefix, site, mad.DefaultPrefix}} {
		cfg.Prefix = c.given
		if err := Check(cfg.Path, cfg.Port); err != nil {
			t.Error(err)
		}
		s, had := open(t, cfg)
		if err := errors.Join(s.Flush(), s.Close()); err != nil {
			t.Fatal(err)
		}
		_, is, _, err := Look(cfg.Path)
		if err != nil || had.Prefix != c.was || is != c.is || len(had.LIDs) != 1 {
			t.Errorf("prefix %v: it had %v and has %v, %d LIDs, %v; want %v and %v", c.given, had.Prefix, is,
				len(had.LIDs), err, c.was, c.is)
		}
	}
}

func TestLock(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	if err := os.WriteFile(cfg.Path+".lock", []byte("process 1 (gone)\n"+strings.Repeat("x", 50)), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := open(t, cfg) // a lock file without a process is no lock
	for range 2 {
		_, _, err := Open(cfg)
		if says := fmt.Sprintf("process %d (", os.Getpid()); !errors.Is(err, ErrInUse) ||
			!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "xx") {
			t.Errorf("%v", err)
		}
	}
	if err := os.Truncate(cfg.Path+".lock", 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(cfg); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "not said its name") {
		t.Errorf("of one that has not written its name: %v", err)
	}
	link := testConfig(filepath.Join(t.TempDir(), "link"))
	if err := os.Symlink(cfg.Path, link.Path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(link); !errors.Is(err, ErrInUse) {
		t.Errorf("by another name: %v", err)
	}
	_ = s.Close()
	s, _ = open(t, link)
	s.settle(errors.New("a failure of the disk"))
	flush(t, s)
	if info, err := os.Lstat(link.Path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is replaced: %v", err)
	}
}

// Run writes batches together, answers each, and writes the last before it ends.
func TestRun(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	s, c := open(t, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	r := c.Registry
	s.Put(register(t, r, putGroup(1)), nil)
	answers := make(chan error, 1000)
	for n := range 1000 {
		s.Put(register(t, r, putMember(1, n+1)), func(err error) { answers <- err })
	}
	for range 1000 {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	s.Put(register(t, r, putMember(1, 5000)), nil)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.Commits == 0 || got.Commits > 900 {
		t.Errorf("%+v for 1000 batches", got)
	}
	_ = s.Close()
	_, c = open(t, cfg)
	same(t, c, &Contents{Registry: r})
}

// A directory that goes away and comes back: the manager is notified once each, and then
// everything is in the file.
func TestTrouble(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	cfg := testConfig(filepath.Join(dir, "store.db"))
	var notices []error
	cfg.Trouble = func(err error) { notices = append(notices, err) }
	s, c := open(t, cfg)
	r := c.Registry
	s.Put(register(t, r, putGroup(1)), nil)
	flush(t, s)
	_ = s.db.Close() // as after a disk's failure: the next transaction cannot be written
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // so that it cannot be made anew
		t.Fatal(err)
	}
	var answers []error
	for n := range 3 {
		b := register(t, r, putMember(1, n+1))
		b.LIDs = []LID{{Port: mad.GUID(n + 1), Base: mad.LID(n + 1)}}
		s.Put(b, func(err error) { answers = append(answers, err) })
		if s.Flush() == nil {
			t.Fatal("written to a directory that is not there")
		}
	}
	if len(answers) != 3 || slices.Contains(answers, nil) {
		t.Errorf("answers %v", answers)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
		t.Fatal(err)
	}
	s.Put(register(t, r, putMember(1, 9)), func(err error) { answers = append(answers, err) })
	flush(t, s)
	if len(notices) != 2 || notices[0] == nil || notices[1] != nil || answers[3] != nil {
		t.Errorf("notices %v, answered %v", notices, answers)
	}
	s.Put(register(t, r, putMember(1, 10)), nil)
	flush(t, s)
	_ = s.Close()
	check(t, cfg.Path)
	_, c = open(t, cfg)
	same(t, c, &Contents{Registry: r, LIDs: []LID{{Port: 1, Base: 1}, {Port: 2, Base: 2}, {Port: 3, Base: 3}}})
}

// Contents is at any time what the next Open finds, and Add makes the same of a Batch
// without a file.
func TestContents(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	s, c := open(t, cfg)
	model := NewContents()
	r := c.Registry
	for _, b := range []Batch{
		{LIDs: []LID{{Port: 2, Base: 2}, {Port: 1, Base: 1, LMC: 3, Absent: 9}},
			Term: &Term{Number: 1, Master: true, Began: 5}},
		register(t, r, putGroup(1), putMember(1, 1)),
		{Forget: []mad.GUID{2}, Configuration: []byte("a"), Partitions: []byte("b")},
	} {
		model.Add(b)
		s.Put(b, nil)
		same(t, s.Contents(), model)
	}
	flush(t, s)
	_ = s.Close()
	_, c = open(t, cfg)
	same(t, c, model)
}

// A store that was not closed says when its process was alive last; one that was closed
// does not.
func TestInterrupted(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	s, c := open(t, cfg)
	if !c.Interrupted.IsZero() {
		t.Error("a new store was interrupted at", c.Interrupted)
	}
	_ = s.Close()
	s, c = open(t, cfg)
	if !c.Interrupted.IsZero() {
		t.Error("a closed store was interrupted at", c.Interrupted)
	}
	_ = s.Close()
	at := time.Unix(1234567890, 0)
	if err := os.WriteFile(cfg.Path+".lock", []byte("process 1 (gone)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(cfg.Path+".lock", at, at); err != nil {
		t.Fatal(err)
	}
	s, c = open(t, cfg)
	if !c.Interrupted.Equal(at) {
		t.Errorf("interrupted at %v, want %v", c.Interrupted, at)
	}
	beat(s.lock, at.Add(time.Hour))
	if info, err := os.Stat(cfg.Path + ".lock"); err != nil || !info.ModTime().Equal(at.Add(time.Hour)) {
		t.Error("the heartbeat is not noted", err)
	}
}

// What was put before the context ended is written, whatever Run was at.
func TestRunWritesAll(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	s, _ := open(t, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	s.Put(Batch{LIDs: []LID{{Port: 1, Base: 1}}}, nil)
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
	_ = s.Close()
	if _, c := open(t, cfg); len(c.LIDs) != 1 {
		t.Error("what was put last is not there")
	}
}

// TestSchemas: a file that has never had a partition of callers can be read by an ibsm which knows none; one that has
// had some, and one that has forgotten them all but in its log, cannot.
func TestSchemas(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	schema := func() uint64 {
		t.Helper()
		s, c := open(t, cfg)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return c.schema
	}
	put := func(changes ...registry.Change) {
		t.Helper()
		s, c := open(t, cfg)
		for _, change := range changes {
			if err := c.Registry.Apply(change); err != nil {
				t.Fatal(err)
			}
		}
		s.Put(Batch{Changes: changes, Registry: c.Registry.Freeze()}, nil)
		if err := errors.Join(s.Flush(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	group := registry.PutGroup{Group: registry.Group{MGID: registry.BroadcastMGID(0x7fff, 2), MLID: 0xc000,
		PKey: 0xffff, MTU: 4}}
	put(group)
	if got := schema(); got != 1 {
		t.Errorf("without partitions the schema is %d", got)
	}
	put(registry.PutPartition{Partition: registry.Partition{Key: 5, Name: "a", Number: 1}})
	if got := schema(); got != 2 {
		t.Errorf("with a partition the schema is %d", got)
	}
	put(registry.DeletePartition{FormerPartition: registry.FormerPartition{Key: 5, Number: 2}},
		registry.DeleteFormerPartition{Key: 5})
	if got := schema(); got != 2 {
		t.Errorf("with a partition in the log the schema is %d", got)
	}
}
