package fabric

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// adaptive is what a switch of NVIDIA's has beside its linear forwarding table. It lasts until
// the switch reboots.
type adaptive struct {
	info smp.ARInfo
	// groups are the ports of each LID that another manager had routed when it turned adaptive
	// routing on. They do not change when links and tables do. A LID without a group goes by
	// the linear table.
	groups map[mad.LID][]uint8
	// private is the table that packets go by while private tables are in use; nil otherwise.
	private []uint8
}

// byGroups reports whether data packets go by the groups.
func (a *adaptive) byGroups() bool {
	return a.info.Enabled() || a.info.HBFEnabled() || a.info.WHBFEnabled()
}

// The bits of ARInfo that a Set stores: the enables of adaptive routing, fast recovery and
// routing notifications in byte 3, of pFRN and hash-based forwarding in byte 22.
const (
	arEnables  = 0x31
	hbfEnables = 0xd0
)

func (n *node) arInfo(set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	if !n.caps.NVIDIA || n.caps.AR == ARUnsupported {
		return mad.StatusBadMethodAttr
	}
	if mod != 0 {
		return mad.StatusBadField
	}
	info := &n.sw.adaptive.info
	if set {
		info[3] = info[3]&^arEnables | d[3]&arEnables
		info[22] = info[22]&^hbfEnables | d[22]&hbfEnables
	}
	*d = *info
	return mad.StatusOK
}

func (n *node) privateLFTInfo(set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	if set || !n.caps.NVIDIA || !n.caps.PrivateLFTs {
		return mad.StatusBadMethodAttr
	}
	if mod != 0 {
		return mad.StatusBadField
	}
	var p smp.PrivateLFTInfo
	if n.sw.adaptive.private != nil {
		p.SetActiveMode(1)
	}
	*d = p
	return mad.StatusOK
}

// fallsBack is what a Set of LinearForwardingTable does to adaptive routing: it turns it off,
// or is refused. Fast recovery, routing notifications, pFRN and hash-based forwarding stay on.
func (a *adaptive) fallsBack() bool {
	if a.info.Enabled() && a.info.NoFallback() {
		return false
	}
	a.info.SetEnabled(false)
	return true
}

// exit is the port by which a switch forwards a data packet, when its linear table says port
// linear. Of a group it is any port that has a link, noPort if none has: the same one whenever
// the packet comes by, so that one that circulates does not find its way by chance.
func (f *Fabric) exit(n *node, t *flight, linear uint8) uint8 {
	a, l := &n.sw.adaptive, t.dlid
	if a.private != nil {
		if int(l) >= len(a.private) {
			return noPort
		}
		return a.private[l]
	}
	group, ok := a.groups[l]
	if !ok || !a.byGroups() {
		return linear
	}
	var up [256]uint8
	ports := up[:0]
	for _, num := range group {
		if f.across(n.first+int32(num)) >= 0 {
			ports = append(ports, num)
		}
	}
	if len(ports) == 0 {
		return noPort
	}
	if t.choice == 0 {
		t.choice = 1 + f.random.IntN(1<<16)
	}
	return ports[t.choice%len(ports)]
}

// AdaptiveOn has another manager turn adaptive routing on at a switch, with fast recovery and
// routing notifications, and hash-based forwarding if that is asked for: for each LID that is
// held now, all ports on shortest paths become its group.
func (f *Fabric) AdaptiveOn(node int32, hash bool) {
	n := &f.nodes[node]
	a := &n.sw.adaptive
	a.groups = map[mad.LID][]uint8{}
	a.info[3] |= arEnables
	if a.info[22] |= 0x10; hash {
		a.info[22] |= 0x80
	}
	for at := range f.EndPorts() {
		pi := &f.ports[f.must(at)].info
		if base := pi.LID(); base.IsUnicast() && f.Powered(at.Node) && at.Node != node {
			group := f.closer(at.Node, n)
			for l := base; int(l) < int(base)+1<<pi.LMC(); l++ {
				a.groups[l] = group
			}
		}
	}
}

// closer are the ports of a switch that begin a shortest path to a node.
func (f *Fabric) closer(to int32, n *node) (ports []uint8) {
	hops := map[int32]int{to: 0}
	for queue := []int32{to}; len(queue) > 0; queue = queue[1:] {
		at := &f.nodes[queue[0]]
		if at.sw == nil && queue[0] != to {
			continue
		}
		for num := int32(1); num <= int32(at.numPorts); num++ {
			if far := f.across(at.first + num); far >= 0 {
				if next := f.ports[far].node; !has(hops, next) {
					hops[next] = hops[queue[0]] + 1
					queue = append(queue, next)
				}
			}
		}
	}
	here := f.ports[n.first].node
	for num := uint8(1); num <= n.numPorts; num++ {
		if far := f.across(n.first + int32(num)); far >= 0 && has(hops, f.ports[far].node) &&
			hops[f.ports[far].node] == hops[here]-1 {
			ports = append(ports, num)
		}
	}
	return ports
}

func has(hops map[int32]int, node int32) bool {
	_, ok := hops[node]
	return ok
}

// AdaptiveRoutes reports whether a switch forwards data packets by its groups.
func (f *Fabric) AdaptiveRoutes(node int32) bool { return f.nodes[node].sw.adaptive.byGroups() }

// ARInfo is what a switch says of adaptive routing.
func (f *Fabric) ARInfo(node int32) smp.ARInfo { return f.nodes[node].sw.adaptive.info }

// FallBack has another manager write the forwarding table of a switch as it is.
func (f *Fabric) FallBack(node int32) { f.nodes[node].sw.adaptive.fallsBack() }

// PrivateLFTsOn has another manager put a switch's present routes into private tables and
// turn them on: Sets of the linear table are accepted, and change nothing.
func (f *Fabric) PrivateLFTsOn(node int32) {
	sw := f.nodes[node].sw
	sw.adaptive.private = slices.Clone(sw.lft)
}
