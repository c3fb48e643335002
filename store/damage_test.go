package store

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"ibsm/mad"
	"ibsm/registry"
)

// filled is a store of some hundred pages: LIDs, a snapshot in pieces, a log, texts.
func filled(t testing.TB, cfg Config) *Contents {
	s, c := open(t, cfg)
	r := c.Registry
	var changes []registry.Change
	for n := range 50 {
		changes = append(changes, putGroup(n))
		for m := range 40 {
			changes = append(changes, putMember(n, m+1))
		}
	}
	register(t, r, changes...)
	b := Batch{Registry: r.Freeze(), Configuration: bytes.Repeat([]byte("key value\n"), 1000),
		Partitions: []byte("Default=0x7fff, ipoib: ALL=full;\n")}
	for n := range 2000 {
		b.LIDs = append(b.LIDs, LID{Port: mad.GUID(n + 1), Base: mad.LID(n + 1)})
	}
	s.Put(b, nil)
	flush(t, s)
	for n := range 30 {
		b := register(t, r, putMember(n, 1000))
		b.Term = &Term{Number: uint64(n + 1), Began: 5}
		s.Put(b, nil)
		flush(t, s)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, c = open(t, cfg)
	_ = s.Close()
	if c.Damage != nil || c.Registry.Counts().Members != 2030 {
		t.Fatalf("%v, %+v", c.Damage, c.Registry.Counts())
	}
	return c
}

// Whatever happens to the bytes of a file, opening it ends, and either finds what was
// there or says that it is damaged, keeps the file and goes on with an empty one.
func TestDamaged(t *testing.T) {
	t.Parallel()
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	want := filled(t, cfg)
	whole, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	last := transaction(whole)
	rng := rand.New(rand.NewPCG(7, 7))
	rounds := 100
	if os.Getenv("IBSM_PROOF") != "" {
		rounds = 20000
	}
	damaged := map[string]int{}
	for range rounds {
		b := slices.Clone(whole)
		kind := []string{"bits", "page header", "page", "zeros", "cut", "swapped"}[rng.IntN(6)]
		page := b[pageSize*rng.IntN(len(b)/pageSize):][:pageSize]
		switch kind {
		case "bits":
			for range 1 + rng.IntN(20) {
				page[rng.IntN(pageSize)] ^= 1 << rng.IntN(8)
			}
		case "page header":
			page[rng.IntN(64)] = byte(rng.Uint32())
		case "page":
			for i := range page {
				page[i] = byte(rng.Uint32())
			}
		case "zeros":
			clear(b[rng.IntN(len(b)):])
		case "cut":
			b = b[:rng.IntN(len(b))]
		case "swapped":
			other := b[pageSize*rng.IntN(len(b)/pageSize):][:pageSize]
			for i := range page {
				page[i], other[i] = other[i], page[i]
			}
		}
		if len(b) == 0 {
			continue
		}
		if reopen(t, cfg, b, want, last, kind) {
			damaged[kind]++
		}
		if t.Failed() {
			t.Fatalf("by %s", kind)
		}
	}
	for _, kind := range []string{"bits", "page header", "page", "zeros", "cut", "swapped"} {
		if damaged[kind] == 0 {
			t.Errorf("no damage by %s in %d rounds: %v", kind, rounds, damaged)
		}
	}
}

// Records that are missing though every page is sound, as after a write of the disk that was
// lost, are damage: the store knows how many there should be.
func TestMissingRecords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		bucket []byte
		inside bool // neither the first nor the last record
	}{{"LIDs", bucketLIDs, false}, {"mastership terms", bucketTerms, false}, {"texts", bucketTexts, false},
		{"snapshot", bucketSnapshot, false}, {"changes", bucketChanges, false},
		{"a change between others", bucketChanges, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
			filled(t, cfg)
			db, err := bbolt.Open(cfg.Path, 0o600, &bbolt.Options{NoFreelistSync: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(func(tx *bbolt.Tx) error {
				records := tx.Bucket(c.bucket).Cursor()
				key, _ := records.Last()
				if c.inside {
					key, _ = records.Prev()
				}
				return tx.Bucket(c.bucket).Delete(key)
			}); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			s, found := open(t, cfg)
			defer s.Close()
			if found.Damage == nil || found.SetAside == "" || len(found.LIDs) > 0 {
				t.Errorf("damage %v, set aside as %q", found.Damage, found.SetAside)
			}
		})
	}
}

// TestLookAtNothing: a file that is empty, as one whose manager never wrote, is no store to look at.
func TestLookAtNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, _, _, err := Look(path); !errors.Is(err, ErrNotStore) || c != nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("%v, %v", c, err)
	}
}

// TestSyncDirectory: a directory that cannot be opened is an error, not the end of a rename.
func TestSyncDirectory(t *testing.T) {
	if err := syncDirectory(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := syncDirectory(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that does not exist: %v", err)
	}
}

// TestGuard: what the database library does not survive is an error that says so.
func TestGuard(t *testing.T) {
	if err := guard(func() error {
		panic("page 7")
	}); !errors.Is(err, errPanic) || !strings.Contains(err.Error(), "page 7") {
		t.Errorf("%v", err)
	}
	if err := guard(func() error { return nil }); err != nil {
		t.Errorf("%v", err)
	}
}

// transaction is the number of the newest whole one, 0 if there is none.
func transaction(b []byte) uint64 {
	if meta := newestMeta(b); meta != nil {
		return host.Uint64(meta[64:])
	}
	return 0
}

// reopen opens a file of these bytes and reports whether it was found damaged.
func reopen(t *testing.T, cfg Config, b []byte, want *Contents, last uint64, kind string) bool {
	t.Helper()
	if err := os.WriteFile(cfg.Path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, c, err := Open(cfg)
	if err != nil {
		if !strings.Contains(err.Error(), ErrNotStore.Error()) || newestMeta(b) != nil {
			t.Errorf("%s: %v", kind, err)
		}
		return true
	}
	defer s.Close()
	if c.Damage == nil && transaction(b) != last {
		// As after a meta page that was torn: the transaction before is what counts.
		if c.Registry.Seq() != want.Registry.Seq()-1 {
			t.Errorf("change %d without the last transaction, want %d", c.Registry.Seq(), want.Registry.Seq()-1)
		}
		return false
	}
	if c.Damage == nil {
		same(t, c, want)
		return false
	}
	same(t, c, &Contents{Registry: registry.New()})
	if kept, err := os.ReadFile(c.SetAside); err != nil || !bytes.Equal(kept, b) ||
		!strings.HasPrefix(c.SetAside, cfg.Path+".damaged-20231114T221320Z") {
		t.Errorf("set aside as %s: %v", c.SetAside, err)
	}
	_ = os.Remove(c.SetAside)
	s.Put(Batch{LIDs: []LID{{Port: 9, Base: 9}}}, nil)
	flush(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s, c = open(t, cfg)
	defer s.Close()
	if c.Damage != nil || len(c.LIDs) != 1 {
		t.Errorf("after damage: %v, LIDs %v", c.Damage, c.LIDs)
	}
	return true
}

// A second damaged file does not take the place of the first.
func TestSetAsideTwice(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	names := map[string]bool{}
	for n := range 3 {
		if err := os.WriteFile(cfg.Path, make([]byte, 9000+n), 0o600); err != nil {
			t.Fatal(err)
		}
		s, c := open(t, cfg)
		_ = s.Close()
		if got := s.Stats().Rewrites; got != 1 {
			t.Errorf("file %d was written anew %d times", n, got)
		}
		names[c.SetAside] = true
		if info, err := os.Stat(c.SetAside); err != nil || info.Size() != int64(9000+n) {
			t.Errorf("%v", err)
		}
	}
	if len(names) != 3 {
		t.Errorf("set aside as %v", names)
	}
}

// A damaged file that could not be set aside, since the store cannot be locked, is not said to be.
func TestNotSetAside(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	if err := os.Mkdir(cfg.Path+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg.Path, make([]byte, 9000), 0o600); err != nil {
		t.Fatal(err)
	}
	s, c := open(t, cfg)
	defer s.Close()
	if info, err := os.Stat(cfg.Path); c.Damage == nil || c.SetAside != "" || err != nil || info.Size() != 9000 {
		t.Errorf("damage %v, set aside as %q, then %v", c.Damage, c.SetAside, err)
	}
}

// A key that is in a page twice is damage: bbolt would find one of both.
func TestKeyTwice(t *testing.T) {
	page := func(keys string) []byte {
		p := make([]byte, pageSize)
		host.PutUint16(p[8:], leafFlag)
		host.PutUint16(p[10:], uint16(len(keys)))
		for i := range keys {
			e := p[pageHeader+i*elementSize:]
			at := pageHeader + len(keys)*elementSize + i
			host.PutUint32(e[4:], uint32(at-pageHeader-i*elementSize))
			host.PutUint32(e[8:], 1)
			p[at] = keys[i]
		}
		return p
	}
	for keys, want := range map[string]error{"ab": nil, "abc": nil, "aa": errDamaged, "abb": errDamaged,
		"ba": errDamaged} {
		if err := (&verifier{}).elements(2, page(keys), nil, nil, 0); !errors.Is(err, want) ||
			(err == nil) != (want == nil) {
			t.Errorf("%s: %v", keys, err)
		}
	}
}

// A page that leads back to itself, a page in two places, keys out of order: what would
// make bbolt run in circles is found before.
func FuzzVerify(f *testing.F) {
	cfg := testConfig(filepath.Join(f.TempDir(), "store.db"))
	filled(f, cfg)
	whole, err := os.ReadFile(cfg.Path)
	if err != nil {
		f.Fatal(err)
	}
	whole = whole[:host.Uint64(newestMeta(whole)[56:])*pageSize]
	f.Add(uint32(2), uint32(8), uint64(0))
	f.Add(uint32(3), uint32(24), uint64(3))
	f.Fuzz(func(t *testing.T, page, at uint32, value uint64) {
		b := slices.Clone(whole)
		place := b[2*pageSize+int(page)%(len(b)/pageSize-2)*pageSize:][:pageSize]
		host.PutUint64(place[at%(pageSize-8):], value)
		if verify(bytes.NewReader(b), int64(len(b))) != nil {
			return
		}
		// What passes, bbolt can walk.
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		check(t, path)
	})
}
