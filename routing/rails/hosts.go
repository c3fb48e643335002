package rails

import (
	"bytes"
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

// named is a port with what says which host it is of, and which place it holds there.
type named struct {
	at    topo.PortIdx
	host  string   // by description; else ""
	image mad.GUID // where there is no host
	place string
}

func (n *named) compareHost(o *named) int {
	if (n.host == "") != (o.host == "") {
		return strings.Compare(o.host, n.host) // images come last
	}
	if n.host == "" {
		return cmp.Compare(n.image, o.image)
	}
	return strings.Compare(n.host, o.host)
}

// hostName is what the host is called in a finder.
func (n *named) hostName() string {
	if n.host == "" {
		return fmt.Sprintf("system image %016x", uint64(n.image))
	}
	return "description " + n.host
}

// named are the ports of channel adapters by host, and in natural order of places: by description, else by
// SystemImageGUID. Those of which no host is known are loose.
func (f *finder) named() []named {
	all := make([]named, 0, len(f.topo.EndPorts))
	for _, p := range f.topo.EndPorts {
		n := &f.topo.Nodes[f.topo.Ports[p].Node]
		if n.Type != mad.CA || n.Aggregation || f.topo.SwitchOf(p) == topo.None {
			continue
		}
		host, adapter := "", ""
		if bytes.ContainsAny(n.Desc[:], " \t") {
			host, adapter = Split(n.Desc.String())
		}
		switch image := n.Info.SystemImageGUID(); {
		case host != "":
			if n.NumPorts > 1 {
				adapter += fmt.Sprintf(" port %d", f.topo.Ports[p].Num)
			}
			all = append(all, named{p, host, 0, adapter})
		case image != 0:
			all = append(all, named{p, "", image, ""})
		default:
			f.loose = append(f.loose, p)
		}
	}
	slices.SortFunc(all, func(a, b named) int {
		if c := a.compareHost(&b); c != 0 {
			return c
		}
		return cmp.Or(natural(a.place, b.place), cmp.Compare(a.at, b.at)) // adapters of an image by NodeGUID
	})
	var adapters []string
	for i, nth := 0, 0; i < len(all); i++ {
		if nth++; i == 0 || all[i].compareHost(&all[i-1]) != 0 {
			nth = 0
		}
		if all[i].host != "" {
			continue
		}
		if nth == len(adapters) {
			adapters = append(adapters, fmt.Sprintf("adapter %d", nth+1))
		}
		all[i].place = adapters[nth]
	}
	return all
}

// byHost yields the ports of each host.
func byHost(all []named, yield func(ports []named)) {
	for len(all) > 0 {
		end := 1
		for end < len(all) && all[end].compareHost(&all[0]) == 0 {
			end++
		}
		yield(all[:end])
		all = all[end:]
	}
}

// findHosts groups the ports of channel adapters by hosts.
func (f *finder) findHosts() {
	all := f.named()
	number := f.numberPlaces(all)
	byHost(all, func(ports []named) { f.addHost(ports, number) })
}

// Hosts are the ports of each host that has several, in the order of places: by description, by SystemImageGUID, or of
// one node. Aggregation nodes and routers are no hosts.
func Hosts(t *topo.Topo) (hosts [][]topo.PortIdx) {
	f := &finder{topo: t}
	byHost(f.named(), func(ports []named) {
		switch {
		case areShared(ports):
			f.addLoose(ports)
		case len(ports) > 1:
			var of []topo.PortIdx
			for _, p := range ports {
				of = append(of, p.at)
			}
			hosts = append(hosts, of)
		}
	})
	slices.SortFunc(f.loose, func(a, b topo.PortIdx) int {
		return cmp.Or(cmp.Compare(t.Ports[a].Node, t.Ports[b].Node), cmp.Compare(a, b))
	})
	for rest := f.loose; len(rest) > 0; {
		end := 1
		for end < len(rest) && t.Ports[rest[end]].Node == t.Ports[rest[0]].Node {
			end++
		}
		if end > 1 {
			hosts = append(hosts, rest[:end:end])
		}
		rest = rest[end:]
	}
	return hosts
}

// HostLIDs are the LIDs of each host that has several, of one port or several.
func HostLIDs(t *topo.Topo, l *topo.LIDs) (all [][]mad.LID) {
	inHost := map[topo.PortIdx]bool{}
	hosts := Hosts(t)
	for _, ports := range hosts {
		for _, p := range ports {
			inHost[p] = true
		}
	}
	for _, p := range t.EndPorts {
		if l.Count(p) > 1 && t.IsHost(p) && t.SwitchOf(p) != topo.None && !inHost[p] {
			hosts = append(hosts, []topo.PortIdx{p})
		}
	}
	for _, ports := range hosts {
		var lids []mad.LID
		for _, p := range ports {
			for i := range l.Count(p) {
				lids = append(lids, l.Base[p]+mad.LID(i))
			}
		}
		if len(lids) > 1 {
			all = append(all, lids)
		}
	}
	return all
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
	if areShared(ports) {
		f.addLoose(ports)
		return
	}
	h := host{name: ports[0].hostName(), unit: topo.None}
	for _, p := range ports {
		h.ports = append(h.ports, port{p.at, f.topo.SwitchOf(p.at), number[p.place]})
	}
	f.hosts = append(f.hosts, h)
}

// areShared reports whether ports share a name which no host has to itself.
func areShared(ports []named) bool {
	shared := len(ports) > mostPorts
	for i := 1; i < len(ports) && !shared; i++ {
		shared = ports[i].place == ports[i-1].place
	}
	return shared
}

func (f *finder) addLoose(ports []named) {
	for _, p := range ports {
		f.loose = append(f.loose, p.at)
	}
}

// Split splits the NodeDescription of a channel adapter into the name of its host and that of the adapter, which is the
// last word, ends with a number and does not begin with one: "node7" and "mlx5_0". Both are "" if the description has
// no such words.
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
