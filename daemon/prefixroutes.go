package daemon

import (
	"errors"
	"io/fs"
	"log/slog"

	"ibsm/conf"
	"ibsm/opensm/prefixroutes"
	"ibsm/view"
)

// maxPrefixRoutesFile bounds the file of prefix routes in bytes.
const maxPrefixRoutesFile = 1 << 20

// readRoutes reads the file that the configuration names.
func (c *configuration) readRoutes(l *conf.Loaded) []view.PrefixRoute {
	return readPrefixRoutes(conf.PrefixRoutesFile.In(l.Config), c.logger)
}

// readPrefixRoutes reads the file of routers to other subnets. A missing file is no error;
// lines with an error are logged and left out.
func readPrefixRoutes(file string, logger *slog.Logger) []view.PrefixRoute {
	text, err := readFile(file, maxPrefixRoutesFile)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			logger.Warn("cannot read prefix_routes_file", "err", err)
		}
		return nil
	}
	routes, warnings := prefixroutes.Parse(file, text)
	for _, w := range warnings {
		logger.Warn(w.Error())
	}
	return routes
}
