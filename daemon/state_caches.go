package daemon

import (
	"fmt"
	"maps"
	"math/bits"
	"os"
	"slices"
	"time"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/opensm/cache"
	"ibsm/sweep"
	"ibsm/sweep/plan"
)

// cacheDir is where OpenSM's caches are, "" for nowhere, which simulations have unless
// the environment names it.
func cacheDir(l *conf.Loaded) string {
	dir := os.Getenv("OSM_CACHE_DIR")
	if dir == "" && l.Fabric == "" && !l.IBSim {
		dir = cache.DefaultDir
	}
	return dir
}

// openCaches reads what OpenSM would start from, and puts it together with what the
// store knows. The store takes precedence, unless guid2lid was written after it: OpenSM has
// been master since, or somebody has put a file there.
func (s *state) openCaches(written time.Time) error {
	dir := cacheDir(s.conf)
	if dir == "" {
		return nil
	}
	files := &cache.Files{Dir: dir, Sync: conf.FsyncHighAvailFiles.In(s.conf.Config)}
	s.fresh = files.ModTime().After(written)
	lids, err := s.readLIDs(files)
	if err != nil && conf.ExitOnFatal.In(s.conf.Config) && len(s.next.LIDs) == 0 {
		return fmt.Errorf("guid2lid is damaged and there is no other source of LIDs: fix or remove the file, or start without it (--stay_on_fatal): %w", err)
	}
	first, second := s.storedLIDs(), lids
	if len(first) > 0 && len(second) > 0 && disjoint(first, second) {
		s.logger.Warn("guid2lid is of another subnet and is ignored: give each manager of this host its own OSM_CACHE_DIR", "dir", dir)
		second, s.fresh = nil, false
	}
	if s.fresh {
		first, second = second, first
	}
	merged := sweep.MergeLIDs(first, second)
	if s.fresh && !slices.Equal(merged, s.storedLIDs()) {
		s.next.Interrupted = time.Time{} // clients are registered with whoever wrote it
	}
	s.putLIDs(merged)
	mkeys, skipped, err := files.ReadMKeys()
	s.warn(skipped, err)
	neighbors, skipped, err := files.ReadNeighbors()
	s.warn(skipped, err)
	s.mkeys, s.behind = maps.Clone(mkeys), map[plan.Key]mad.GUID{}
	for from, to := range neighbors {
		s.behind[plan.Key{Node: from.GUID, Port: from.Port}] = to.GUID
	}
	if s.conf.DryRun {
		return nil
	}
	s.cache = cache.NewKeeper(files, ranges(merged), mkeys, s.logger)
	s.tasks.start(s.cache.Run, s.cache.Close)
	return nil
}

// readLIDs reads guid2lid.
func (s *state) readLIDs(files *cache.Files) (lids []sweep.LIDAssignment, err error) {
	file, skipped, err := files.ReadLIDs(chosen[uint8](s.conf.Config, conf.LMC).Value)
	s.warn(skipped, err)
	for _, port := range slices.Sorted(maps.Keys(file)) {
		r := file[port]
		lids = append(lids, sweep.LIDAssignment{Port: port, Base: r.Min, LMC: min(uint8(bits.Len16(uint16(r.Max-r.Min)+1)-1), 7)})
	}
	return sweep.MergeLIDs(lids, nil), err
}

// disjoint reports whether no port is in both lists.
func disjoint(a, b []sweep.LIDAssignment) bool {
	known := make(map[mad.GUID]bool, len(a))
	for _, l := range a {
		known[l.Port] = true
	}
	return !slices.ContainsFunc(b, func(l sweep.LIDAssignment) bool { return known[l.Port] })
}

// warn logs what is wrong with a file.
func (s *state) warn(skipped diag.List, err error) {
	for _, d := range skipped {
		s.logger.Warn("skipped an invalid record", "reason", d)
	}
	if err != nil {
		s.logger.Error("skipped the rest of the file", "reason", err)
	}
}

func (s *state) storedLIDs() (lids []sweep.LIDAssignment) {
	for _, l := range s.next.LIDs {
		lids = append(lids, sweep.LIDAssignment(l))
	}
	return lids
}

// putLIDs has the next manager begin with these LIDs and no others.
func (s *state) putLIDs(lids []sweep.LIDAssignment) {
	known := make(map[mad.GUID]bool, len(lids))
	for _, l := range lids {
		known[l.Port] = true
	}
	var forgotten []mad.GUID
	for _, l := range s.next.LIDs {
		if !known[l.Port] {
			forgotten = append(forgotten, l.Port)
		}
	}
	batch := (&manager.Persist{LIDs: lids, Forgotten: forgotten}).Batch()
	s.next.LIDs = batch.LIDs
	s.put(batch)
}

// ranges are LIDs as OpenSM writes them.
func ranges(lids []sweep.LIDAssignment) map[mad.GUID]cache.LIDRange {
	m := make(map[mad.GUID]cache.LIDRange, len(lids))
	for _, l := range lids {
		m[l.Port] = cache.LIDRange{Min: l.Base, Max: l.Last()}
	}
	return m
}
