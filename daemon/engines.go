package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"ibsm/conf"
	osmlog "ibsm/opensm/log"
	"ibsm/routing"
	"ibsm/routing/dnup"
	"ibsm/routing/ftree"
	"ibsm/routing/lash"
	"ibsm/routing/nue"
	"ibsm/routing/sssp"
	"ibsm/routing/updn"
	"ibsm/sweep/engines"
)

// chain is the chain of routing engines; conf or Run has refused a list that leaves none.
func chain(c *conf.Config, files engineFiles) engines.Chain {
	chain, _, _ := engines.New(conf.RoutingEngine.In(c), files.settings(c))
	return chain
}

// checkEngines says why the list of routing engines leaves none; nil if it does not.
func checkEngines(c *conf.Config) error {
	_, _, err := engines.New(conf.RoutingEngine.In(c), &engines.Settings{})
	return err
}

// engineSettings are the settings of routing engines that are in no file of their own.
func engineSettings(c *conf.Config) *engines.Settings {
	return &engines.Settings{
		File: engines.FileSettings{Forced: conf.LFTsFileForce.In(c)},
		Balancing: routing.Balancing{
			Seed: conf.ScatterPorts.In(c), FirstInTurn: conf.GUIDRoutingOrderNoScatter.In(c),
			Shift: conf.PortShifting.In(c), Switches: conf.PortProfileSwitchNodes.In(c),
		},
		Updn:  updn.Settings{ConnectRoots: conf.ConnectRoots.In(c)},
		Dnup:  dnup.Settings{ConnectRoots: conf.ConnectRoots.In(c)},
		Ftree: ftree.Settings{ReverseHops: int(conf.MaxReverseHops.In(c)), QuasiIndexing: conf.QuasiFtreeIndexing.In(c), ConnectRoots: conf.ConnectRoots.In(c)},
		SSSP:  sssp.Settings{AvoidThrottled: conf.AvoidThrottledLinks.In(c)},
		Lash:  lash.Settings{StartVL: conf.LashStartVL.In(c), MeshAnalysis: conf.DoMeshAnalysis.In(c)},
		Nue:   nue.Settings{MaxVLs: conf.NueMaxVLs.In(c), Switches: conf.NueIncludeSwitches.In(c), QoS: conf.QoS.In(c), AvoidThrottled: conf.AvoidThrottledLinks.In(c)},
	}
}

// warnOfEngines logs the routing engines of the list that this version does not have.
func warnOfEngines(l *conf.Loaded, logger *slog.Logger, stderr io.Writer) {
	chain, missing, _ := engines.New(conf.RoutingEngine.In(l.Config), &engines.Settings{})
	if missing != nil {
		for _, name := range missing {
			logger.Error(osmlog.EngineFailed(name))
		}
		names, used := strings.Join(missing, ", "), chain[0]
		logger.Error("this version does not have all routing engines of the list", "missing", names, "used", used.Name)
		text := fmt.Sprintf("this version has no routing engine %s; %s is used", names, used.Name)
		if used.InPlaceOf != "" {
			text += " if its routes have no credit loop"
		}
		fmt.Fprintln(stderr, "ibsm: warning: "+text)
	}
}
