package daemon

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/opensm/cache"
	"ibsm/sweep/lids"
	"ibsm/sweep/plan"
)

// cacheDir is where OpenSM's caches are, "" for nowhere, which simulations have unless
// the environment names it.
func cacheDir(l *conf.Loaded) string {
	dir := os.Getenv("OSM_CACHE_DIR")
	if dir == "" && l.Fabric == "" && !l.IBSim {
		dir = conf.CacheDir
	}
	return dir
}

// cacheDirs are the folders in which caches of the port can be: first the one that this manager
// writes. The only manager of a host has OpenSM's own folder. One of several has a folder of
// its port below it, because the LIDs of two subnets do not go into one guid2lid.
func (s *state) cacheDirs() (dirs []string) {
	opensm := cacheDir(s.conf)
	if opensm == "" {
		return nil
	}
	dirs = []string{opensm, filepath.Join(opensm, s.port.String())}
	if os.Getenv(severalMark) != "" {
		slices.Reverse(dirs)
	}
	return dirs
}

// shared is OpenSM's own folder where it is shared by several managers, else nil.
func (s *state) shared() *cache.Shared {
	ports := os.Getenv(severalMark)
	if ports == "" {
		return nil
	}
	opensm := cacheDir(s.conf)
	shared := &cache.Shared{Files: cache.Files{Dir: opensm, Sync: conf.FsyncHighAvailFiles.In(s.conf.Config)}}
	for port := range strings.SplitSeq(ports, ",") {
		if port != s.port.String() && port != mad.GUID(0).String() {
			shared.Others = append(shared.Others, filepath.Join(opensm, port))
		}
	}
	return shared
}

// lidSource is what one file, or the store, says about LIDs.
type lidSource struct {
	lids    []lids.Assignment
	written time.Time
	file    bool
}

// openCaches reads what OpenSM would start from, and puts it together with what the
// store knows. What was written last takes precedence: where a guid2lid is newer than the
// store, OpenSM has been master since, or somebody has put a file there.
func (s *state) openCaches(written time.Time) error {
	dirs := s.cacheDirs()
	if dirs == nil {
		return nil
	}
	files, err := s.lidFiles(dirs, s.storedLIDs())
	if err != nil && conf.ExitOnFatal.In(s.conf.Config) && len(s.next.LIDs) == 0 {
		return fmt.Errorf(
			"guid2lid is damaged and there is no other source of LIDs: fix or remove the file, or start without it (--stay_on_fatal): %w", err)
	}
	merged, newest := mergeSources(append([]lidSource{{lids: s.storedLIDs(), written: written}}, files...))
	s.fresh = newest.file
	if s.fresh && !slices.Equal(merged, s.storedLIDs()) {
		s.next.Interrupted = time.Time{} // clients are registered with whoever wrote it
	}
	s.putLIDs(merged)
	s.readGuesses(dirs)
	if s.conf.DryRun {
		return nil
	}
	s.cache = cache.NewKeeper(&s.cacheFiles(dirs)[0], ranges(merged), maps.Clone(s.mkeys), s.logger)
	s.cache.Unwritten = func(err error) { s.unwritten("OpenSM's cache files", err) }
	if shared := s.shared(); shared != nil {
		s.cache.Share(shared)
	}
	s.tasks.start(s.cache.Run, s.cache.Close)
	return nil
}

// cacheFiles are OpenSM's files in these folders.
func (s *state) cacheFiles(dirs []string) (files []cache.Files) {
	for _, dir := range dirs {
		files = append(files, cache.Files{Dir: dir, Sync: conf.FsyncHighAvailFiles.In(s.conf.Config),
			Reader: &fileReader})
	}
	return files
}

// readGuesses reads the M_Keys and neighbors of the folders; the first takes precedence.
func (s *state) readGuesses(dirs []string) {
	s.mkeys, s.behind = map[mad.GUID]mad.MKey{}, map[plan.Key]plan.Key{}
	files := s.cacheFiles(dirs)
	for i := range slices.Backward(files) {
		mkeys, skipped, err := files[i].ReadMKeys()
		s.warn(skipped, err)
		maps.Copy(s.mkeys, mkeys)
		neighbors, skipped, err := files[i].ReadNeighbors()
		s.warn(skipped, err)
		for from, to := range neighbors {
			s.behind[plan.Key{Node: from.GUID, Port: from.Port}] = plan.Key{Node: to.GUID, Port: to.Port}
		}
	}
}

// lidFiles reads guid2lid in these folders. A file of another subnet is left out: one that has
// no port in common with what is known or, if that is nothing, with the first file.
// The error is of the last file that is damaged.
func (s *state) lidFiles(dirs []string, known []lids.Assignment) (sources []lidSource, damaged error) {
	for _, f := range s.cacheFiles(dirs) {
		found, err := s.readLIDs(&f)
		if err != nil {
			damaged = err
		}
		switch {
		case len(found) == 0:
			continue
		case len(known) == 0:
			known = found
		case disjoint(known, found):
			s.logger.Warn("guid2lid belongs to another subnet and is ignored", "dir", f.Dir)
			continue
		}
		sources = append(sources, lidSource{found, f.ModTime(), true})
	}
	if shared := s.shared(); shared != nil && len(sources) > 1 {
		sources = slices.Concat(sources[:1], sharedSources(sources[0].lids, sources[1], shared.Running()))
	}
	return sources, damaged
}

// sharedSources are what OpenSM's own file says to one of several managers, which has a file of its own. What
// it says differently of ports of that file is from OpenSM if it is newer; the rest only reserves
// LIDs, as OpenSM does: other managers write the file too.
func sharedSources(own []lids.Assignment, file lidSource, others map[mad.GUID]cache.LIDRange) []lidSource {
	changed := lidSource{written: file.written, file: true}
	for _, l := range file.lids {
		_, runs := others[l.Port]
		i, is := slices.BinarySearchFunc(own, l.Port, func(a lids.Assignment, port mad.GUID) int {
			return cmp.Compare(a.Port, port)
		})
		if is && !runs && (own[i].Base != l.Base || own[i].LMC != l.LMC) {
			changed.lids = append(changed.lids, l)
		}
	}
	reserved := lidSource{lids: file.lids, file: true}
	if len(changed.lids) == 0 {
		return []lidSource{reserved}
	}
	return []lidSource{changed, reserved}
}

// mergeSources merges what sources say, and returns which was written last. Where they contradict each other, what was
// written later takes precedence, and the first of two of the same time.
func mergeSources(sources []lidSource) (merged []lids.Assignment, newest lidSource) {
	slices.SortStableFunc(sources, func(a, b lidSource) int { return b.written.Compare(a.written) })
	for _, s := range slices.Backward(sources) {
		merged = lids.Merge(s.lids, merged)
	}
	return merged, sources[0]
}

// readLIDs reads guid2lid.
func (s *state) readLIDs(files *cache.Files) (list []lids.Assignment, err error) {
	file, skipped, err := files.ReadLIDs(chosen[uint8](s.conf.Config, conf.LMC).Value)
	s.warn(skipped, err)
	for _, port := range slices.Sorted(maps.Keys(file)) {
		r := file[port]
		lmc := min(uint8(bits.Len16(uint16(r.Max-r.Min)+1)-1), 7)
		list = append(list, lids.Assignment{Port: port, Base: r.Min, LMC: lmc})
	}
	return lids.Merge(list, nil), err
}

// disjoint reports whether no port is in both lists.
func disjoint(a, b []lids.Assignment) bool {
	known := make(map[mad.GUID]bool, len(a))
	for _, l := range a {
		known[l.Port] = true
	}
	return !slices.ContainsFunc(b, func(l lids.Assignment) bool { return known[l.Port] })
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

func (s *state) storedLIDs() (list []lids.Assignment) {
	for _, l := range s.next.LIDs {
		list = append(list, lids.Assignment(l))
	}
	return list
}

// putLIDs has the next manager begin with these LIDs and no others.
func (s *state) putLIDs(list []lids.Assignment) {
	known := make(map[mad.GUID]bool, len(list))
	for _, l := range list {
		known[l.Port] = true
	}
	var forgotten []mad.GUID
	for _, l := range s.next.LIDs {
		if !known[l.Port] {
			forgotten = append(forgotten, l.Port)
		}
	}
	batch := (&manager.Persist{LIDs: list, Forgotten: forgotten}).Batch()
	s.next.LIDs = batch.LIDs
	s.put(batch)
}

// ranges are LIDs as OpenSM writes them.
func ranges(list []lids.Assignment) map[mad.GUID]cache.LIDRange {
	m := make(map[mad.GUID]cache.LIDRange, len(list))
	for _, l := range list {
		m[l.Port] = cache.LIDRange{Min: l.Base, Max: l.Last()}
	}
	return m
}
