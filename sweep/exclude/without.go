package exclude

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// CutOff takes switches and cables out of what a walk found, and everything that cannot be reached any more then. It
// returns the descriptions of the channel adapters and routers among it, in order, and how many pairs of ports of hosts
// have no way to each other any more, also where neither can be reached by the manager.
func CutOff(b *topo.Builder, without []routing.SwitchPort) (hosts []string, pairs int) {
	before := connectedPairs(b)
	for _, w := range without {
		n, is := b.Find(w.Switch)
		switch {
		case !is || b.Dropped(n) || n == b.Self().Node && w.Port == 0: // of our own node only cables can be lost
		case w.Port == 0:
			b.Drop(n)
		case w.Port < uint8(len(portsOf(b, n))):
			b.Unlink(topo.End{Node: n, Port: w.Port})
		}
	}
	pairs = before - connectedPairs(b)
	return dropUnreached(b, func(from, _ topo.End) bool { return forwards(b, from) }), pairs
}

// connectedPairs counts the pairs of ports of hosts that cables and switches connect.
func connectedPairs(b *topo.Builder) (pairs int) {
	seen := make([]bool, b.Len())
	for first := range int32(b.Len()) {
		if seen[first] || b.Dropped(first) || b.Node(first).Type != mad.Switch {
			continue
		}
		seen[first] = true
		ports := 0
		for queue := []int32{first}; len(queue) > 0; queue = queue[1:] {
			for _, e := range portsOf(b, queue[0]) {
				peer := b.Peer(e)
				if peer == topo.NoEnd {
					continue
				}
				switch node := b.Node(peer.Node); {
				case node.Type == mad.Switch && !seen[peer.Node]:
					seen[peer.Node] = true
					queue = append(queue, peer.Node)
				case node.Type != mad.Switch && !node.Aggregation:
					ports++
				}
			}
		}
		pairs += ports * (ports - 1) / 2
	}
	return pairs
}

// dropUnreached takes out what no cable leads to, and returns the descriptions of the channel adapters and routers
// among it, in order. arrive is called with the cable by which a node is reached first, breadth first, and reports
// whether the node can be reached that way.
func dropUnreached(b *topo.Builder, arrive func(from, at topo.End) bool) (hosts []string) {
	reached := make([]bool, b.Len())
	queue := []int32{b.Self().Node}
	reached[b.Self().Node] = true
	for ; len(queue) > 0; queue = queue[1:] {
		for _, e := range portsOf(b, queue[0]) {
			if peer := b.Peer(e); peer != topo.NoEnd && !reached[peer.Node] && arrive(e, peer) {
				reached[peer.Node] = true
				queue = append(queue, peer.Node)
			}
		}
	}
	for n := range int32(b.Len()) {
		if reached[n] || b.Dropped(n) {
			continue
		}
		if node := b.Node(n); node.Type != mad.Switch && !node.Aggregation {
			hosts = append(hosts, node.Desc.String())
		}
		b.Drop(n)
	}
	slices.Sort(hosts)
	return hosts
}

// reachedBy has the agent of the node at one end of a cable reached over it from the other end, as a walk would that
// finds no other way. ok is false where it cannot be: adapters do not forward, and directed routes have an end.
func reachedBy(b *topo.Builder, from, at topo.End) (ok bool) {
	if !forwards(b, from) {
		return false
	}
	route, ok := b.Node(from.Node).Route.Then(from.Port)
	if !ok {
		return false
	}
	node := b.Node(at.Node)
	node.Route = route
	node.Info.SetLocalPortNum(at.Port)
	if node.Type != mad.Switch {
		node.Info.SetPortGUID(b.PortGUID(at))
		return true
	}
	for _, e := range portsOf(b, at.Node) {
		if info := b.Port(e); info != nil {
			info.SetLocalPortNum(at.Port) // that which the request came in by
		}
	}
	return true
}

// forwards reports whether the manager's packets leave by a port: adapters do not forward, and of our own only one port
// is the manager's.
func forwards(b *topo.Builder, from topo.End) bool {
	return b.Node(from.Node).Type == mad.Switch || from == b.Self()
}

// portsOf are the ports of a node, port 0 first.
func portsOf(b *topo.Builder, n int32) (ends []topo.End) {
	for num := range int(b.Node(n).NumPorts) + 1 {
		ends = append(ends, topo.End{Node: n, Port: uint8(num)})
	}
	return ends
}
