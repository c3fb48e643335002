package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"ibsm/mad"
	"ibsm/registry"
)

// Config says which store to open.
type Config struct {
	Path   string
	Port   mad.GUID   // of the manager
	Prefix mad.Prefix // that the subnet is given; 0 for the one in the file, or the default one

	// Trouble is called when the store cannot be written any more, and with nil when
	// everything is written again. It is called by Flush and Run, and by Open.
	Trouble func(error)

	Now func() time.Time // for the names of damaged files; time.Now if nil
}

// Stats counts what a Store did.
type Stats struct {
	Commits     uint64 // transactions
	Compactions uint64 // of them, that made a snapshot of the registry
	Rewrites    uint64 // of the whole file
	Failures    uint64
}

// Store is an open store. Put and Stats may be called by any goroutine; the file is
// written by Run, or by Flush where there is no Run.
type Store struct {
	cfg Config

	mu      sync.Mutex // guards the fields up to stats
	held    held
	pending delta
	stats   Stats

	wake chan struct{} // has room for one

	// What follows is for the writer.
	lock     *os.File  // nil while there is none to be had, on a disk that is read-only
	db       *bbolt.DB // nil when the file must be written whole
	aside    string    // the name that a damaged file at Path must have before
	trouble  error
	snapshot int    // length of the snapshot in the file
	log      int    // and of the Changes behind it
	schema   uint64 // of the file

	interrupted time.Time // see Contents
}

// minLog is how many bytes of Changes are worth a snapshot.
const minLog = 1 << 20

// Open opens or makes the store, as the only process, and returns what is in it. It
// refuses with ErrInUse, ErrNotStore, ErrSchema or ErrForeign. That it cannot be written
// is no reason to refuse it: Config.Trouble is called.
func Open(cfg Config) (*Store, *Contents, error) {
	if cfg.Trouble == nil {
		cfg.Trouble = func(error) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if path, err := filepath.EvalSymlinks(cfg.Path); err == nil {
		cfg.Path = path // one store has one lock, and is replaced where it is
	}
	s := &Store{cfg: cfg, pending: newDelta(), wake: make(chan struct{}, 1)}
	if err := s.takeLock(); errors.Is(err, ErrInUse) {
		return nil, nil, err
	}
	c, err := s.read()
	if err != nil {
		s.Close()
		return nil, nil, fmt.Errorf("store %s: %w", cfg.Path, err)
	}
	s.held, c.Interrupted = c.hold(), s.interrupted
	s.held.prefix = cmp.Or(c.Prefix, cfg.Prefix, mad.DefaultPrefix)
	s.Put(Batch{Prefix: cfg.Prefix}, nil)
	if c.Damage == nil && c.found {
		s.snapshot, s.log, s.schema = c.snapshot, c.log, c.schema
		s.db, err = openBolt(cfg.Path, false)
		s.settle(err)
		return s, c, nil
	}
	if c.Damage != nil {
		s.aside = freeName(cfg.Path + ".damaged-" + cfg.Now().UTC().Format("20060102T150405Z"))
	}
	aside := s.aside
	all := s.held.clone()
	s.settle(s.rewrite(&all))
	if s.aside == "" {
		c.SetAside = aside
	}
	return s, c, nil
}

// freeName is name, or with a number if there is such a file.
func freeName(name string) string {
	free := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

// takeLock makes the directory and takes the lock.
func (s *Store) takeLock() (err error) {
	if err := os.MkdirAll(filepath.Dir(s.cfg.Path), 0o700); err != nil {
		return err
	}
	s.lock, s.interrupted, err = lock(s.cfg.Path)
	return err
}

// Put adds a Batch, which Run writes soon, together with what else was put until then.
// done, if not nil, is called by the writer: with nil when the Batch is on disk, else
// with what is wrong. In the second case the Batch is not lost, but written when that
// is over, and done is not called again. Slices of the Batch are not used after Put.
func (s *Store) Put(b Batch, done func(error)) {
	s.mu.Lock()
	s.held.add(&b, &s.pending)
	if done != nil {
		s.pending.done = append(s.pending.done, done)
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Contents is what the Store holds now, as the next Open will find it. It is the
// caller's alone.
func (s *Store) Contents() *Contents {
	s.mu.Lock()
	all := s.held.clone()
	s.mu.Unlock()
	return all.contents()
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// How long Run waits before it tries again to write.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// heartbeat is how often Run notes that the process is alive.
const heartbeat = 10 * time.Second

// Run writes what is put until the context ends, and what was put before that. It
// returns what kept it from that.
func (s *Store) Run(ctx context.Context) error {
	wait := firstRetry
	retry := time.Now().Add(wait)
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for ctx.Err() == nil {
		var again <-chan time.Time
		if s.trouble != nil {
			again = time.After(time.Until(retry))
		}
		select {
		case <-ctx.Done():
			continue
		case <-again:
		case now := <-alive.C:
			if s.lock != nil {
				beat(s.lock, now)
			}
			continue
		case <-s.wake:
			if s.trouble != nil {
				s.refuse()
				continue
			}
		}
		if wait = min(2*wait, lastRetry); s.Flush() == nil {
			wait = firstRetry
		}
		retry = time.Now().Add(wait)
	}
	return s.Flush()
}

// take is what there is to write.
func (s *Store) take() (d delta, state *registry.State, all held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, s.pending = s.pending, newDelta()
	d.total = s.held.totals()
	if s.db == nil {
		all = s.held.clone()
	}
	return d, s.held.registry, all
}

// refuse reports the error of the store to waiting callers.
func (s *Store) refuse() {
	d, _, _ := s.take()
	for _, done := range d.done {
		done(s.trouble)
	}
}

// Flush writes what was put. It is for one goroutine at a time, and not for any while
// Run runs.
func (s *Store) Flush() error {
	d, state, all := s.take()
	var err error
	if s.db == nil {
		err = s.rewrite(&all)
	} else if !d.empty() {
		err = s.commit(&d, state)
	}
	s.settle(err)
	for _, done := range d.done {
		done(err)
	}
	return err
}

// settle notes how an attempt to write ended. After a failure the file is not written
// any further: what the system kept of it is not known.
func (s *Store) settle(err error) {
	was := s.trouble
	s.trouble = err
	if err != nil {
		s.count(func(stats *Stats) { stats.Failures++ })
		if s.db != nil && !errors.Is(err, errPanic) { // which may have left locks behind
			_ = s.db.Close()
		}
		s.db = nil
	}
	if (was == nil) != (err == nil) {
		s.cfg.Trouble(err)
	}
}

func (s *Store) count(add func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.stats)
}

// Close gives the store up, after Run has ended. What was not flushed is lost.
func (s *Store) Close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	if s.lock != nil {
		err = errors.Join(err, unlock(s.lock))
	}
	s.db, s.lock = nil, nil
	return err
}
