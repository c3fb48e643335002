package daemon

import (
	"slices"

	"ibsm/conf"
	"ibsm/routing/lanes"
)

// kindsOfPort are the kinds of port by their names in opensm.conf.
var kindsOfPort = [lanes.Kinds]string{lanes.Adapter: "ca", lanes.Port0: "sw0", lanes.External: "swe",
	lanes.SwitchLink: "sw2sw", lanes.Router: "rtr"}

// laneUses is how each kind of port uses its lanes.
func laneUses(c *conf.Config) lanes.Uses {
	var of [lanes.Kinds]lanes.Settings
	for k, name := range kindsOfPort {
		of[k] = laneSettings(c, name)
	}
	return lanes.NewUses(laneSettings(c, ""), of)
}

func laneSettings(c *conf.Config, kind string) lanes.Settings {
	k := conf.LanesOf(kind)
	return lanes.Settings{HighLimit: k.HighLimit.In(c), High: turns(k.High.In(c)), Low: turns(k.Low.In(c)),
		SLtoVL: k.SLtoVL.In(c)}
}

func turns(of []conf.VLTurn) (list []lanes.Turn) {
	for _, t := range of {
		list = append(list, lanes.Turn(t))
	}
	return list
}

// choosesSLs reports whether a routing engine of the list may put paths on several SLs.
func choosesSLs(c *conf.Config) bool {
	return slices.ContainsFunc(conf.RoutingEngine.In(c), func(name string) bool {
		switch name {
		case "lash", "dfsssp", "torus-2QoS", "nue":
			return true
		}
		return name == "file" && conf.LFTsFile.In(c) != ""
	})
}
