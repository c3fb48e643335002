package sa

import (
	"slices"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/view"
)

// maxNeighbors bounds the neighbors that are registered. It is more than the links of a subnet that uses every LID.
const maxNeighbors = 1 << 18

// registerNeighbors registers who is, or was last, behind the ports of the View, where ports have M_Keys of their own:
// a standby gets what has changed with the other registrations, and shows the right key when it takes over.
func (r *Registrar) registerNeighbors() {
	if r.handover.drops() {
		return // the target has seen the subnet itself
	}
	wanted := neighbors(r.view)
	var changes []registry.Change
	put := func(c registry.PutNeighbor) { changes = append(changes, c) }
	for at, far := range r.reg.Neighbors() {
		for len(wanted) > 0 && wanted[0].At.Compare(at) < 0 {
			put(wanted[0])
			wanted = wanted[1:]
		}
		switch {
		case len(wanted) == 0 || wanted[0].At != at:
			changes = append(changes, registry.DeleteNeighbor{At: at})
			continue
		case wanted[0].Far != far:
			put(wanted[0])
		}
		wanted = wanted[1:]
	}
	for _, c := range wanted {
		put(c)
	}
	r.apply(changes...)
}

// neighbors are those to register, in order of At: of the links of a View, and those that have left, unless somebody
// else is at their place now.
func neighbors(v *view.View) (all []registry.PutNeighbor) {
	if v.Left == nil {
		return nil
	}
	t := v.Topo
	for i := range t.Ports {
		port := &t.Ports[i]
		if port.Peer != topo.None && (t.Nodes[port.Node].Type == mad.Switch || topo.PortIdx(i) == t.Self) {
			all = append(all, registry.PutNeighbor{At: endOf(t, topo.PortIdx(i)), Far: endOf(t, port.Peer)})
		}
	}
	for _, l := range v.Left {
		all = append(all, registry.PutNeighbor{At: l.Here, Far: l.Far})
	}
	slices.SortStableFunc(all, func(a, b registry.PutNeighbor) int { return a.At.Compare(b.At) })
	all = slices.CompactFunc(all, func(a, b registry.PutNeighbor) bool { return a.At == b.At })
	return all[:min(len(all), maxNeighbors)]
}

// endOf is a port by the node GUID of a switch, or else by its own.
func endOf(t *topo.Topo, p topo.PortIdx) registry.End {
	port := &t.Ports[p]
	if node := &t.Nodes[port.Node]; node.Type == mad.Switch {
		return registry.End{GUID: node.GUID, Port: port.Num}
	}
	return registry.End{GUID: port.GUID, Port: port.Num}
}
