package daemon

import (
	"errors"
	"io/fs"
	"log/slog"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/opensm/prefixroutes"
	"ibsm/view"
)

// maxPrefixRoutesFile bounds the file of prefix routes in bytes.
const maxPrefixRoutesFile = 1 << 20

// prefixRoutes are the routers to other subnets, with the text of their file.
type prefixRoutes struct {
	text   []byte
	routes []view.PrefixRoute
	found  []ctl.Finding
}

// readRoutes reads the file of routers to other subnets that the configuration names. was is in force before a reload,
// nil at a start. A missing file is no error; lines with an error are logged and left out, as with OpenSM.
func readRoutes(was *inForce, l *conf.Loaded, logger *slog.Logger) prefixRoutes {
	file, in := conf.PrefixRoutesFile.In(l.Config), inUse{}
	if was != nil {
		in = inUseOf(conf.PrefixRoutesFile, was.own.Config, l.Config, was.routes.text)
	}
	if file == "" {
		return prefixRoutes{}
	}
	text, err := in.read(file, maxPrefixRoutesFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return prefixRoutes{}
	case err != nil && was != nil:
		logger.Error("prefix_routes_file cannot be used: the previous routes stay in force", "reason", err)
		kept := was.routes
		kept.found = fileFindings(conf.PrefixRoutesFile.Key(),
			diag.List{{Position: diag.Position{File: file}, Text: err.Error()}}, nil)
		return kept
	case err != nil:
		logger.Warn("cannot read prefix_routes_file", "err", err)
		return prefixRoutes{}
	}
	routes, warnings := prefixroutes.Parse(file, text)
	for _, w := range warnings {
		logger.Warn(w.Error())
	}
	return prefixRoutes{text: text, routes: routes, found: fileFindings(conf.PrefixRoutesFile.Key(), nil, warnings)}
}
