package main

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"ibsm/opensm/prefixroutes"
	"ibsm/view"
)

// maxPrefixRoutesFile bounds the file of prefix routes in bytes.
const maxPrefixRoutesFile = 1 << 20

// readPrefixRoutes reads the file of routers to other subnets. That there is none is no
// mistake; lines with one are left out and told of.
func readPrefixRoutes(file string, logger *slog.Logger) []view.PrefixRoute {
	text, err := readUpTo(file, maxPrefixRoutesFile)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			logger.Warn("the routers to other subnets are not known", "err", err)
		}
		return nil
	}
	routes, warnings := prefixroutes.Parse(file, text)
	for _, w := range warnings {
		logger.Warn(w.Error())
	}
	return routes
}

// readUpTo reads the first n bytes of a file.
func readUpTo(file string, n int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}
