package daemon

import (
	"reflect"

	"ibsm/conf"
	"ibsm/routing"
	"ibsm/routing/dnup"
	"ibsm/routing/ftree"
	"ibsm/routing/lash"
	"ibsm/routing/nue"
	"ibsm/routing/sssp"
	"ibsm/routing/updn"
	"ibsm/sweep/engines"
)

// chain is the chain of routing engines. If the list is empty and no setting for balancing is set, it is the default
// chain. conf or Run has already refused a list without an engine.
func chain(c *conf.Config, files keptFiles) engines.Chain {
	list, s := conf.RoutingEngine.In(c), files.settings(c)
	if len(list) == 0 && reflect.DeepEqual(s.Balancing, routing.Balancing{}) {
		return engines.Default(&s.Settings)
	}
	chain, _ := engines.New(list, &s.Settings)
	return chain
}

// enginesToRead are the engines whose files are read.
func enginesToRead(c *conf.Config) []string {
	if list := conf.RoutingEngine.In(c); len(list) > 0 {
		return list
	}
	return []string{engines.Auto}
}

// enginesOf is the chain of a list with the settings in force, for a plan. The error is about the list or a file.
func (c *configuration) enginesOf(list []string) (engines.Chain, error) {
	now := c.current.Load()
	l, _ := now.effective()
	r := readPortGroups(now, l.Config)
	if r.read(l.Config, list, now.qosPolicy(l).groups()); len(r.errors) > 0 {
		return nil, r.errors
	}
	return engines.New(list, &r.files.settings(l.Config).Settings)
}

// checkEngines returns an error if the list of routing engines contains no usable engine.
func checkEngines(c *conf.Config) error {
	_, err := engines.New(conf.RoutingEngine.In(c), &engines.Settings{})
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
		Updn: updn.Settings{ConnectRoots: conf.ConnectRoots.In(c)},
		Dnup: dnup.Settings{ConnectRoots: conf.ConnectRoots.In(c)},
		Ftree: ftree.Settings{ReverseHops: int(conf.MaxReverseHops.In(c)), QuasiIndexing: conf.QuasiFtreeIndexing.In(c),
			ConnectRoots: conf.ConnectRoots.In(c)},
		SSSP: sssp.Settings{AvoidThrottled: conf.AvoidThrottledLinks.In(c)},
		Lash: lash.Settings{StartVL: conf.LashStartVL.In(c), MeshAnalysis: conf.DoMeshAnalysis.In(c),
			Seed: conf.ScatterPorts.In(c)},
		Nue: nue.Settings{MaxVLs: conf.NueMaxVLs.In(c), Switches: conf.NueIncludeSwitches.In(c), QoS: conf.QoS.In(c),
			AvoidThrottled: conf.AvoidThrottledLinks.In(c)},
	}
}
