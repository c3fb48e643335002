package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/opensm/cache"
	"ibsm/perf/sick"
	"ibsm/registry"
	"ibsm/store"
	"ibsm/sweep/lids"
	"ibsm/sweep/plan"
	"ibsm/sweep/routes"
	"ibsm/view"
)

// Where the store of a port is, below state_dir and the port's GUID.
const (
	defaultStateDir = "/var/lib/ibsm"
	storeFile       = "state.db"
)

// stateDir is where stores are, "" for nowhere: what is simulated is gone with the
// simulation, unless somebody wants it kept. A dry run keeps nothing.
func stateDir(l *conf.Loaded) string {
	if l.DryRun {
		return ""
	}
	return keptDir(l)
}

// keptDir is stateDir for readers only.
func keptDir(l *conf.Loaded) string {
	switch dir := conf.StateDir.In(l.Config); {
	case dir == "none":
		return ""
	case conf.StateDir.Chosen(l.Config):
		return dir
	case l.Fabric != "" || l.IBSim:
		return ""
	}
	return defaultStateDir
}

// state is what managers start from and keep current: the store, and the files that
// OpenSM has in its cache directory. It opens them for a port and keeps them from one
// manager at that port to the next.
type state struct {
	conf   *conf.Loaded
	logger *slog.Logger
	// unwritten is called as newState says.
	unwritten func(what string, err error)

	port  mad.GUID        // that everything below is of; 0 while nothing is open
	next  *store.Contents // what the next manager begins with; nil to ask the store, where there is one
	fresh bool            // OpenSM's file is newer than the store
	wrote time.Time       // when the store was written last, before it was opened
	cache *cache.Keeper   // nil without one
	// What OpenSM's guid2mkey and neighbors say, as in sweep.Restored.
	mkeys  map[mad.GUID]mad.MKey
	behind map[plan.Key]plan.Key
	tasks  tasks
	store  atomic.Pointer[store.Store] // nil without one; any goroutine may put into it
}

// newState returns the state of no port yet. unwritten is called when files cannot be written, and with nil when they
// can again, by any goroutine.
func newState(l *conf.Loaded, logger *slog.Logger, unwritten func(what string, err error)) *state {
	return &state{conf: l, logger: logger, unwritten: unwritten}
}

// open opens what is kept for a port, unless it is open.
func (s *state) open(port mad.GUID) error {
	if s.port == port {
		return nil
	}
	s.close()
	s.port = port
	written, err := s.openStore()
	s.wrote = written
	if err == nil {
		s.removeUnfinished()
		err = s.openCaches(written)
	}
	if err != nil {
		s.close()
		return refusal{err}
	}
	return nil
}

// openStore opens the store, and returns when it was written last.
func (s *state) openStore() (written time.Time, err error) {
	s.next = store.NewContents()
	dir := stateDir(s.conf)
	if dir == "" {
		return written, checkStore(s.conf, s.port)
	}
	prefix := chosen[mad.Prefix](s.conf.Config, conf.SubnetPrefix).Value
	path := filepath.Join(dir, s.port.String(), storeFile)
	if info, err := os.Stat(path); err == nil {
		written = info.ModTime()
	}
	opened, contents, err := store.Open(store.Config{Path: path, Prefix: prefix, Port: s.port, Trouble: s.trouble})
	if err != nil {
		return written, err
	}
	s.tasks.atEnd(func() {
		if err := opened.Close(); err != nil {
			s.logger.Error("closing the state store failed", "reason", err)
		}
	})
	s.store.Store(opened)
	s.next = contents
	if prefix != 0 && contents.Prefix != 0 && contents.Prefix != prefix {
		s.logger.Warn("the subnet prefix has changed since the last start: stored registrations are changed too", "was",
			contents.Prefix, "now", prefix)
	}
	if s.next.Damage != nil {
		s.logger.Error(
			"the store is damaged; LIDs come from the fabric and OpenSM's guid2lid, and clients are asked to register again",
			"reason", s.next.Damage, "set_aside", s.next.SetAside)
		written = time.Time{}
	}
	s.tasks.run(context.Background(), func(ctx context.Context) {
		if err := opened.Run(ctx); err != nil {
			s.logger.Error("the latest changes were not written to the state store", "reason", err)
		}
	})
	return written, nil
}

// checkStore returns the error with which openStore would refuse the store of a port. It is for those that only read.
func checkStore(l *conf.Loaded, port mad.GUID) error {
	dir := keptDir(l)
	if dir == "" {
		return nil
	}
	return store.Check(filepath.Join(dir, port.String(), storeFile), port)
}

// removeUnfinished removes secrets that a process left which was killed while it wrote them, beside keys_file.
func (s *state) removeUnfinished() {
	file := conf.KeysFile.In(s.conf.Config)
	if s.conf.DryRun || file == "" {
		return
	}
	removed, err := store.RemoveUnfinished(file)
	if removed > 0 {
		s.logger.Info("incomplete files of secrets removed", "beside", file, "count", removed)
	}
	if err != nil {
		s.logger.Warn("incomplete files of secrets cannot be removed", "reason", err)
	}
}

// trouble logs that the store cannot be written, and that it can again.
func (s *state) trouble(err error) {
	s.unwritten("state store", err)
	if err != nil {
		s.logger.Error(
			"the store cannot be written; the manager continues and retries: free disk space or fix the permissions",
			"reason", err)
	} else {
		s.logger.Warn("the store is writable again; pending changes were written")
	}
}

// resume has a manager begin with what is kept.
func (s *state) resume(shell *manager.Shell) {
	contents, opened := s.next, s.store.Load()
	if contents == nil {
		contents = opened.Contents()
	}
	shell.Config.Resume(contents, time.Now())
	known := &shell.Config.Sweep.Restored
	known.Port, known.MKeys, known.Behind = s.port, s.mkeys, s.behind
	if s.fresh {
		known.Stale = false
	}
	if opened != nil {
		shell.Store, shell.Restored = opened, contents
		s.next, s.fresh = nil, false
	}
	if conf.SADBFile.In(s.conf.Config) != "" {
		s.warnSADB()
		older := s.wrote
		registered := contents.Registry.Counts()
		registered.Neighbors = 0 // nobody asked for them
		if registered == (registry.Counts{}) {
			older = time.Time{}
		}
		shell.Restore = func(hasPort func(mad.GUID) bool) (*registry.Registry, bool) {
			return s.restoreRegistrations(older, hasPort)
		}
	}
	if dirs := s.cacheDirs(); dirs != nil {
		shell.Recall = func() []lids.Assignment {
			files, _ := s.lidFiles(dirs, nil)
			merged, _ := mergeSources(append(files, lidSource{}))
			return merged
		}
	}
}

// keep takes changes that must outlive the manager, where no store of its own takes them.
func (s *state) keep(k *manager.Persist) {
	if s.store.Load() == nil {
		s.next.Add(k.Batch())
	}
	if s.cache == nil {
		return
	}
	if k.Term != nil && k.Term.Master {
		s.cache.MarkDirty()
	}
	changed := ranges(k.LIDs)
	for _, port := range k.Forgotten {
		changed[port] = cache.LIDRange{}
	}
	s.cache.PutLIDs(changed)
}

// publish keeps the prefix of a view, and writes its ports and links to OpenSM's cache files. A view is nil if the
// subnet is no longer known.
func (s *state) publish(v *view.View) {
	if v == nil {
		return
	}
	s.put(store.Batch{Prefix: v.Subnet.Prefix})
	if s.cache != nil {
		s.cache.PutView(v)
	}
}

// put puts a batch into the store, if there is one. Any goroutine may call it.
func (s *state) put(b store.Batch) {
	if opened := s.store.Load(); opened != nil {
		opened.Put(b, nil)
	}
}

// keepConfiguration keeps a configuration that is in force. Any goroutine may call it.
func (s *state) keepConfiguration(l *conf.Loaded) {
	if s.store.Load() == nil {
		return
	}
	if text, err := l.WriteTOML(); err == nil { // one that no file can hold is not kept
		s.put(store.Batch{Configuration: text})
	}
}

// keepPartitions keeps the partition file that is in force; nil is no file. Any goroutine
// may call it.
func (s *state) keepPartitions(text []byte) {
	if text != nil {
		s.put(store.Batch{Partitions: text})
	}
}

// keepMKeys keeps which M_Keys ports have. Any goroutine may call it.
func (s *state) keepMKeys(n mkeyNumber) {
	if n.number > 0 {
		s.put(store.Batch{Keys: n.encode()})
	}
}

// saveLinks keeps which links are sick, and which are out of use. Any goroutine may call it.
func (s *state) saveLinks(k *sick.Saved) {
	s.put(store.Batch{Links: append([]byte{}, k.Encode()...)})
}

// keepRoutes keeps the record of routes. Any goroutine may call it.
func (s *state) keepRoutes(r routes.Record) { s.put(store.Batch{Routes: r.Text()}) }

// routes is the record of routes that was kept.
func (s *state) routes() routes.Record {
	stored := s.contents()
	if stored == nil {
		return routes.Record{}
	}
	return routes.ParseRecord(stored.Routes)
}

// links are those that were kept. What is damaged is as if nothing had been found.
func (s *state) links() *sick.Saved {
	stored := s.contents()
	if stored == nil {
		return &sick.Saved{}
	}
	k, err := sick.Decode(stored.Links)
	if err != nil {
		s.logger.Warn("the stored state of sick links is damaged and was discarded", "reason", err)
	}
	return k
}

// givesBackPrefix reports whether the configuration of the last start chose a subnet prefix and this one chooses none.
func (s *state) givesBackPrefix(l *conf.Loaded) bool {
	stored := s.contents()
	if stored == nil || stored.Configuration == nil || conf.SubnetPrefix.Chosen(l.Config) {
		return false
	}
	last, _ := conf.FromFile("configuration.toml", stored.Configuration)
	return conf.SubnetPrefix.Chosen(last)
}

// contents are those of the store, nil without one.
func (s *state) contents() *store.Contents {
	if opened := s.store.Load(); s.next == nil && opened != nil {
		return opened.Contents()
	}
	return s.next
}

// mkeyNumber is which M_Keys ports have, as it was kept.
func (s *state) mkeyNumber() mkeyNumber {
	stored := s.contents()
	if stored == nil {
		return mkeyNumber{}
	}
	return decodeMKeyNumber(stored.Keys)
}

// lastPartitions is the partition file that was in force last, nil where none is known.
func (s *state) lastPartitions() []byte {
	if s.next == nil {
		return nil
	}
	return s.next.Partitions
}

// close writes what is left, and gives everything back.
func (s *state) close() {
	s.store.Store(nil)
	s.tasks.end()
	s.port, s.next, s.fresh, s.cache = 0, nil, false, nil
}
