package sweep

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// cutOff takes switches and cables out of what a walk found, and everything that cannot be reached any more then. It returns the descriptions of the
// channel adapters and routers among it, in order.
func cutOff(b *topo.Builder, without []routing.SwitchPort) (hosts []string) {
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
	return dropUnreached(b, func(topo.End, topo.End) bool { return true })
}

// dropUnreached takes out what no cable leads to, and returns the descriptions of the channel adapters and routers among it, in order. arrive
// is called with the cable by which a node is reached first, breadth first, and reports whether the node can be reached that way.
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

// reachedBy has the agent of the node at one end of a cable reached over it from the other end, as a walk would that finds no other way. ok is false
// where it cannot be: adapters do not forward, but for the one port of our own, and directed routes have an end.
func reachedBy(b *topo.Builder, from, at topo.End) (ok bool) {
	if self := b.Self(); b.Node(from.Node).Type != mad.Switch && (from.Node != self.Node || from.Port != self.Port) {
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

// portsOf are the ports of a node, port 0 first.
func portsOf(b *topo.Builder, n int32) (ends []topo.End) {
	for num := range int(b.Node(n).NumPorts) + 1 {
		ends = append(ends, topo.End{Node: n, Port: uint8(num)})
	}
	return ends
}
