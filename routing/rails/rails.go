// Package rails finds the rails of a subnet. A rail is the ports of channel adapters that hold the same place in their
// hosts: the first adapter of each host, the second, and so on. Where rails are cabled as such, the hosts of a unit
// have their adapters on the same leaves, each place on a leaf of its own. Hosts and places are found from
// NodeDescriptions ("host-12 mlx5_3"), or else from SystemImageGUIDs that adapters share, and leaves from where most
// adapters of a place in a unit are.
package rails

import (
	"fmt"

	"ibsm/plural"
	"ibsm/topo"
)

// Rails are those of a subnet. They must not be changed.
type Rails struct {
	Seen  string // in words: what was found, or why there are no rails
	Rails []Rail // by the order of places in hosts; none if the adapters are not cabled in rails
	// leaves that the same hosts are on, ascending; the units in the order of the names of their hosts
	Units [][]topo.SwitchIdx
	// ports that are on another leaf than their rail in their unit, in the order of their hosts
	Wrong []Wrong
	Of    map[topo.PortIdx]int // rail of a port, as index into Rails; ports of no rail have none
}

// Rail is one of them.
type Rail struct {
	// what the place is called in NodeDescriptions, such as mlx5_0 and HCA-1; the most frequent first
	Places []string
	Leaves []topo.SwitchIdx // by unit
	Ports  []topo.PortIdx   // by unit, leaf and port of the leaf
}

// Wrong is a port that is on another leaf than those of the same place in its unit.
type Wrong struct {
	Port     topo.PortIdx
	On, Want topo.SwitchIdx // the leaf that it is on, and the one where it belongs
	// Exchange is a port whose cable ends on Want and does not belong there. When both cables change places at the
	// leaves, Port is right, and Both says whether Exchange is, too. None if there is no such port.
	Exchange topo.PortIdx
	Both     bool
	// Free is a port of Want without a cable, for the cable of Port; 0 for none, and where there is an exchange.
	Free uint8
}

const (
	// mostPorts is how many ports a host can have. What more have in common is no host.
	mostPorts = 64
	// leastRight is the share of ports, in percent, that must be on the leaf of their place.
	leastRight = 75
)

// Find finds the rails of a subnet.
func Find(t *topo.Topo) *Rails {
	if len(t.Switches) == 0 {
		return &Rails{Seen: "no rails: there is no switch"}
	}
	f := &finder{topo: t}
	f.findHosts()
	f.findUnits()
	f.orderUnits()
	f.dropSmall()
	f.findHomes()
	if why := f.refusal(); why != "" {
		return &Rails{Seen: "no rails: " + why}
	}
	f.findSlots()
	f.findRails()
	if same := f.sameRail(); same*4 > len(f.slots) {
		return &Rails{
			Seen: fmt.Sprintf(
				"no rails: the names of adapters do not say which place they hold: of %d leaves of units %d would have the rail of another in the same unit", len(f.slots), same),
		}
	}
	r := f.rails()
	r.Seen = seen(r)
	return r
}

// refusal is why there are no rails, if there are none.
func (f *finder) refusal() string {
	several := 0
	for i := range f.hosts {
		if len(f.hosts[i].ports) > 1 {
			several++
		}
	}
	switch {
	case several == 0:
		return "no two adapters are known to be of one host, by their NodeDescriptions or SystemImageGUIDs"
	case f.spread == 0:
		return "all adapters of a host are on one leaf"
	case f.units == 0:
		return "no two hosts have their adapters on the same leaves"
	case f.right*100 < f.spread*leastRight:
		return fmt.Sprintf(
			"of %d ports of hosts on several leaves %d are on the leaf where most of the same place in their hosts are",
			f.spread, f.right)
	}
	return ""
}

// seen says what was found.
func seen(r *Rails) string {
	least, most := len(r.Of), 0
	for i := range r.Rails {
		n := len(r.Rails[i].Ports)
		least, most = min(least, n), max(most, n)
	}
	text := fmt.Sprintf("%d rails of %d ports in %s", len(r.Rails), most, plural.Of(len(r.Units), "unit"))
	if least < most {
		text = fmt.Sprintf("%d rails of %d to %d ports in %s", len(r.Rails), least, most,
			plural.Of(len(r.Units), "unit"))
	}
	switch len(r.Wrong) {
	case 0:
		return text
	case 1:
		return text + ", 1 of them on the wrong leaf"
	}
	return text + fmt.Sprintf(", %d of them on the wrong leaf", len(r.Wrong))
}
