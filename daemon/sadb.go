package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"ibsm/opensm/sadb"
	"ibsm/registry"
)

// maxSADB bounds OpenSM's SA database in bytes: ten times the largest that the limits of
// the SA allow in use.
const maxSADB = 1 << 30

// readSADB reads OpenSM's SA database: nil where it cannot be read, or must not be used
// because the store was written after it, which was at stored. Whole says that nothing is
// lost; then it is for the configuration to say whether clients register again.
func readSADB(file string, stored time.Time, logger *slog.Logger) (reg *registry.Registry, whole bool) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxSADB {
		err = fmt.Errorf("%s: longer than %d bytes: not an SA database", file, maxSADB)
	}
	var text []byte
	switch {
	case err == nil && stored.After(info.ModTime()):
		logger.Info("sa_db_file is older than the store, which takes precedence", "file", file)
		return nil, true
	case err == nil:
		text, err = readFile(file, maxSADB)
	}
	if err != nil {
		logger.Error(fmt.Sprintf("Can't open sa db file '%s'. Skip restoring: clients are asked to register again", file), "reason", err)
		return nil, false
	}
	reg, found := sadb.Read(file, text)
	for _, d := range found {
		logger.Warn("skipped a record of sa_db_file", "reason", d)
	}
	n := reg.Counts()
	logger.Info("restored the registrations of sa_db_file", "file", file, "groups", n.Groups, "members", n.Members,
		"services", n.Services, "subscriptions", n.Subscriptions, "aliases", n.Aliases, "whole", len(found) == 0)
	return reg, len(found) == 0
}
