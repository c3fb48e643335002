package daemon

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/opensm/sadb"
	"ibsm/registry"
)

// maxSADB bounds OpenSM's SA database in bytes: ten times the largest that the limits of
// the SA allow in use.
const maxSADB = 1 << 30

// saFile is a file with an SA database.
type saFile struct {
	path    string
	written time.Time
}

// saFiles are the SA databases that there can be of this port: sa_db_file, that in the folder of this manager's
// dump files, and that of a time with several managers on the host. The one that was written
// last comes first.
func (s *state) saFiles() (files []saFile) {
	configured := conf.SADBFile.In(s.conf.Config)
	folder, name := filepath.Dir(configured), filepath.Base(configured)
	paths := []string{configured, filepath.Join(folder, "opensm."+s.port.String(), name)}
	if own := dumpDir(s.conf); own != "" {
		paths = append(paths, filepath.Join(own, name))
	}
	for _, path := range paths {
		written, err := fileReader.ModTime(path)
		if err == nil && !slices.ContainsFunc(files, func(f saFile) bool { return f.path == path }) {
			files = append(files, saFile{path, written})
		}
	}
	slices.SortStableFunc(files, func(a, b saFile) int { return b.written.Compare(a.written) })
	return files
}

// sharesSADB reports whether several managers have this sa_db_file: it is in the folder that they share,
// where none of them writes it.
func (s *state) sharesSADB() bool {
	own := dumpDir(s.conf)
	return os.Getenv(severalMark) != "" && own != "" &&
		filepath.Dir(filepath.Clean(own)) == filepath.Dir(conf.SADBFile.In(s.conf.Config))
}

// restoreRegistrations reads what clients have registered with OpenSM: nil where it cannot be read, or must not be used
// because the store was written after it, which was at stored. Whole says that nothing is
// lost; then it is for the configuration to say whether clients register again. hasPort reports
// whether a port is in the subnet.
func (s *state) restoreRegistrations(stored time.Time, hasPort func(mad.GUID) bool) (reg *registry.Registry,
	whole bool) {
	files := s.saFiles()
	if len(files) == 0 {
		configured := conf.SADBFile.In(s.conf.Config)
		s.cannotRestore(configured, fmt.Errorf("open %s: %w", configured, os.ErrNotExist))
		return nil, false
	}
	for _, f := range files {
		var ours bool
		if reg, whole, ours = s.readSADB(f, stored, hasPort); ours {
			break
		}
	}
	return reg, whole
}

// readSADB reads an SA database. It is not ours if it is of another subnet.
func (s *state) readSADB(f saFile, stored time.Time, hasPort func(mad.GUID) bool) (reg *registry.Registry, whole,
	ours bool) {
	if stored.After(f.written) {
		s.logger.Info("sa_db_file is older than the store and is ignored", "file", f.path)
		return nil, true, true
	}
	text, err := fileReader.Read(f.path, maxSADB)
	if err != nil {
		s.cannotRestore(f.path, err)
		return nil, false, true
	}
	reg, found := sadb.Read(f.path, text)
	if n := 0; !anyPort(reg.Freeze(), &n, hasPort) && n > 0 {
		s.logger.Warn("sa_db_file belongs to another subnet and is ignored: clients are asked to register again",
			"file", f.path, "registrations", n)
		return nil, false, false
	}
	for _, d := range found {
		s.logger.Warn("skipped a record of sa_db_file", "reason", d)
	}
	n := reg.Counts()
	s.logger.Info("restored the registrations of sa_db_file", "file", f.path, "groups", n.Groups, "members", n.Members,
		"services", n.Services, "subscriptions", n.Subscriptions, "aliases", n.Aliases, "whole", len(found) == 0)
	return reg, len(found) == 0, true
}

func (s *state) cannotRestore(file string, err error) {
	s.logger.Error(fmt.Sprintf("Can't open sa db file '%s'. Skip restoring: clients are asked to register again", file),
		"reason", err)
}

// warnSADB logs that OpenSM would lose registrations when it comes back. With several managers sa_db_file is of the
// day on which OpenSM was left, and of one subnet; OpenSM asks no client to register again where
// no_clients_rereg is set, whatever it finds in the file.
func (s *state) warnSADB() {
	if s.sharesSADB() && conf.NoClientsRereg.In(s.conf.Config) {
		s.logger.Warn(
			"several managers of this host share one sa_db_file, so none of them writes it: set no_clients_rereg FALSE before OpenSM starts again, or clients lose their groups",
			"file", conf.SADBFile.In(s.conf.Config))
	}
}

// anyPort reports whether a port that has registered something is in the subnet. It counts those
// that it asks about.
func anyPort(reg *registry.State, n *int, hasPort func(mad.GUID) bool) bool {
	for port := range registrants(reg) {
		if *n++; hasPort(port) {
			return true
		}
	}
	return false
}

// registrants are the ports of members, services, subscribers and alias GUIDs.
func registrants(reg *registry.State) iter.Seq[mad.GUID] {
	return func(yield func(mad.GUID) bool) {
		port := func(gid mad.GID) bool {
			if at, is := reg.Alias(gid.GUID()); is {
				return yield(at.Port)
			}
			return gid.IsMulticast() || yield(gid.GUID())
		}
		for g := range reg.Groups() {
			for m := range reg.Members(g.MGID) {
				if !port(m.Port) {
					return
				}
			}
		}
		for v := range reg.Services() {
			if !port(v.GID) {
				return
			}
		}
		for v := range reg.Subscriptions() {
			if !port(v.Subscriber) {
				return
			}
		}
		for a := range reg.Aliases() {
			if !yield(a.Port) {
				return
			}
		}
	}
}
