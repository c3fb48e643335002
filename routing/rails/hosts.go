package rails

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/topo"
)

// finder finds rails. Hosts, places and leaves are numbers while it does.
type finder struct {
	topo   *topo.Topo
	hosts  []host
	places []string       // in natural order
	loose  []topo.PortIdx // ports of adapters whose host is not known

	unit   []int32 // by switch: its unit, None for none
	units  int
	spread int                     // ports of hosts that are on several leaves
	right  int                     // those on the leaf of their place
	homes  map[spot]topo.SwitchIdx // the leaf of most ports of a place in a unit

	slots  []slot
	slotAt map[spot]int32
	rail   []int32 // by slot
}

// spot is a place in the hosts of a unit.
type spot struct{ unit, place int32 }

// host is ports of one host.
type host struct {
	name  string
	unit  int32
	ports []port // in the order of places
}

// port is one port of a host.
type port struct {
	at    topo.PortIdx
	leaf  topo.SwitchIdx
	place int32
}

// named is a port with what its description says.
type named struct {
	at          topo.PortIdx
	host, place string
}

// findHosts groups the ports of channel adapters by hosts: by description, else by SystemImageGUID.
func (f *finder) findHosts() {
	var all []named
	images := map[mad.GUID][]topo.PortIdx{}
	for _, p := range f.topo.EndPorts {
		n := &f.topo.Nodes[f.topo.Ports[p].Node]
		if n.Type != mad.CA || n.Aggregation || f.topo.SwitchOf(p) == topo.None {
			continue
		}
		host, adapter := Split(n.Desc.String())
		switch image := n.Info.SystemImageGUID(); {
		case host != "":
			if n.NumPorts > 1 {
				adapter += fmt.Sprintf(" port %d", f.topo.Ports[p].Num)
			}
			all = append(all, named{p, "description " + host, adapter})
		case image != 0:
			images[image] = append(images[image], p)
		default:
			f.loose = append(f.loose, p)
		}
	}
	for image, ports := range images { // the order does not matter: they are sorted below
		slices.SortFunc(ports, func(a, b topo.PortIdx) int { return cmp.Compare(a, b) }) // by NodeGUID
		for i, p := range ports {
			all = append(all, named{p, fmt.Sprintf("system image %016x", uint64(image)), fmt.Sprintf("adapter %d", i+1)})
		}
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(strings.Compare(a.host, b.host), natural(a.place, b.place), cmp.Compare(a.at, b.at))
	})
	number := f.numberPlaces(all)
	for len(all) > 0 {
		end := 1
		for end < len(all) && all[end].host == all[0].host {
			end++
		}
		f.addHost(all[:end], number)
		all = all[end:]
	}
}

// numberPlaces gives places numbers in natural order.
func (f *finder) numberPlaces(all []named) map[string]int32 {
	number := map[string]int32{}
	for i := range all {
		if _, is := number[all[i].place]; !is {
			number[all[i].place] = 0
			f.places = append(f.places, all[i].place)
		}
	}
	slices.SortFunc(f.places, natural)
	for i, p := range f.places {
		number[p] = int32(i)
	}
	return number
}

// addHost adds a host of ports that are sorted by place. Ports that share a name which no host has to itself have none.
func (f *finder) addHost(ports []named, number map[string]int32) {
	shared := len(ports) > mostPorts
	for i := 1; i < len(ports) && !shared; i++ {
		shared = ports[i].place == ports[i-1].place
	}
	h := host{name: ports[0].host, unit: topo.None}
	for _, p := range ports {
		if shared {
			f.loose = append(f.loose, p.at)
			continue
		}
		h.ports = append(h.ports, port{p.at, f.topo.SwitchOf(p.at), number[p.place]})
	}
	if !shared {
		f.hosts = append(f.hosts, h)
	}
}

// Split splits the NodeDescription of a channel adapter into the name of its host and that of the adapter, which is the last
// word, ends with a number and does not begin with one: "node7" and "mlx5_0". Both are "" if the description has no such words.
func Split(desc string) (host, adapter string) {
	desc = strings.TrimSpace(desc)
	blank := strings.LastIndexAny(desc, " \t")
	if blank < 0 {
		return "", ""
	}
	host, adapter = strings.TrimSpace(desc[:blank]), desc[blank+1:]
	if !isDigit(adapter[len(adapter)-1]) || isDigit(adapter[0]) {
		return "", ""
	}
	return host, adapter
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// natural compares texts so that numbers in them are in the order of their size.
func natural(a, b string) int {
	i, k := 0, 0
	for i < len(a) && k < len(b) {
		if isDigit(a[i]) && isDigit(b[k]) {
			endA, endB := numberEnd(a, i), numberEnd(b, k)
			numberA, numberB := strings.TrimLeft(a[i:endA], "0"), strings.TrimLeft(b[k:endB], "0")
			if c := cmp.Or(cmp.Compare(len(numberA), len(numberB)), strings.Compare(numberA, numberB)); c != 0 {
				return c
			}
			i, k = endA, endB
			continue
		}
		if c := cmp.Compare(a[i], b[k]); c != 0 {
			return c
		}
		i, k = i+1, k+1
	}
	return cmp.Or(cmp.Compare(len(a)-i, len(b)-k), strings.Compare(a, b))
}

// numberEnd is where the number that begins at a byte of a text ends.
func numberEnd(text string, i int) int {
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i
}
