package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"

	"ibsm/mad"
	"ibsm/registry"
)

// growth is by how much the file grows when it is too small.
const growth = 1 << 20

// openBolt opens a database that was verified, or makes one.
func openBolt(path string, readOnly bool) (db *bbolt.DB, err error) {
	err = guard(func() error {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: time.Second, PageSize: pageSize, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true,
			ReadOnly: readOnly,
		})
		if err == nil {
			db.AllocSize = growth
		}
		return err
	})
	return db, err
}

// errPanic is what guard makes of a panic.
var errPanic = errors.New("the database library failed")

// guard runs what touches a mapped file. What bbolt takes for granted is verified, but
// disks fail and files are cut off while they are open.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return f()
}

// read returns what is in the file.
func (s *Store) read() (*Contents, error) {
	empty := NewContents()
	info, err := os.Stat(s.cfg.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return empty, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: it is not a regular file", ErrNotStore)
	case info.Size() == 0:
		return empty, nil
	}
	f, err := os.Open(s.cfg.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var c *Contents
	if err = verify(f, info.Size()); err == nil {
		c, err = s.readVerified()
	}
	if errors.Is(err, errDamaged) || errors.Is(err, errPanic) {
		empty.Damage = err
		return empty, nil
	}
	return c, err
}

// readVerified is read for a file whose structure is whole.
func (s *Store) readVerified() (c *Contents, err error) {
	db, err := openBolt(s.cfg.Path, true)
	if err != nil {
		return nil, err
	}
	defer func() {
		if !errors.Is(err, errPanic) {
			_ = db.Close()
		}
	}()
	err = guard(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			is, err := introduce(tx)
			if err == nil {
				err = is.isOf(s.cfg.Port)
			}
			if err == nil {
				c, err = load(tx)
			}
			if err == nil {
				c.Prefix = is.prefix
			}
			return err
		})
	})
	return c, err
}

// commit writes what was put in one transaction.
func (s *Store) commit(d *delta, state *registry.State) error {
	snapshot, log := s.snapshot, s.log+len(d.changes)
	compact := d.whole || log > max(minLog, snapshot)
	schema := max(s.schema, schemaOf(state)) // the log may have Changes of partitions that are forgotten
	err := guard(func() error {
		return s.db.Update(func(tx *bbolt.Tx) (err error) {
			if err = writeDelta(tx, d); err != nil {
				return err
			}
			if schema > s.schema {
				if err = putMeta(tx, metaSchema, schema); err != nil {
					return err
				}
			}
			if compact {
				log = 0
				snapshot, err = writeSnapshot(tx, state)
			} else if len(d.changes) > 0 {
				err = writeChanges(tx, d.first, d.changes)
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("store %s: %w", s.cfg.Path, err)
	}
	s.snapshot, s.log, s.schema = snapshot, log, schema
	s.count(func(stats *Stats) {
		stats.Commits++
		if compact {
			stats.Compactions++
		}
	})
	return nil
}

// rewrite puts a new file in the place of whatever is there, at once and on disk.
func (s *Store) rewrite(all *held) error {
	if s.lock == nil {
		if err := s.takeLock(); err != nil {
			return err
		}
	}
	if s.aside != "" {
		if err := os.Rename(s.cfg.Path, s.aside); err != nil {
			return err
		}
		s.aside = ""
	}
	fresh := s.cfg.Path + ".new"
	snapshot, err := writeFile(fresh, all, s.cfg.Port)
	if err == nil {
		err = os.Rename(fresh, s.cfg.Path)
	}
	if err != nil {
		_ = os.Remove(fresh)
		return fmt.Errorf("store %s: %w", s.cfg.Path, err)
	}
	if err := syncDirectory(filepath.Dir(s.cfg.Path)); err != nil {
		return err
	}
	s.snapshot, s.log, s.schema = snapshot, 0, schemaOf(all.registry)
	s.count(func(stats *Stats) { stats.Rewrites++ })
	s.db, err = openBolt(s.cfg.Path, false)
	return err
}

// writeFile makes a file that holds all, and returns the length of its snapshot.
func writeFile(path string, all *held, port mad.GUID) (snapshot int, err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	db, err := openBolt(path, false)
	if err != nil {
		return 0, err
	}
	db.NoSync = true
	err = guard(func() error {
		err := db.Update(func(tx *bbolt.Tx) (err error) {
			snapshot, err = writeAll(tx, all, port)
			return err
		})
		if err == nil { // once more, so that both meta pages know of it
			err = db.Update(func(tx *bbolt.Tx) error { return putMeta(tx, metaSchema, schemaOf(all.registry)) })
		}
		if err == nil {
			err = db.Sync()
		}
		return err
	})
	if errors.Is(err, errPanic) {
		return 0, err
	}
	return snapshot, errors.Join(err, db.Close())
}

// syncDirectory makes renames in it last.
func syncDirectory(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
