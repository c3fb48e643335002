package console

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/view"
)

// compareGUIDs compares as OpenSM's maps do: GUIDs as they are on the wire, read as
// little-endian numbers.
func compareGUIDs(a, b mad.GUID) int {
	return cmp.Compare(bits.ReverseBytes64(uint64(a)), bits.ReverseBytes64(uint64(b)))
}

// nodesInOrder are all nodes in the order of OpenSM's lists.
func nodesInOrder(t *topo.Topo) []topo.NodeIdx {
	all := make([]topo.NodeIdx, len(t.Nodes))
	for i := range all {
		all[i] = topo.NodeIdx(i)
	}
	slices.SortFunc(all, func(a, b topo.NodeIdx) int { return compareGUIDs(t.Nodes[a].GUID, t.Nodes[b].GUID) })
	return all
}

// endPorts are the ports of adapters and routers that have LIDs, in the order of
// OpenSM's lists.
func endPorts(v *view.View) (all []topo.PortIdx) {
	t := v.Topo
	for _, p := range t.EndPorts {
		if t.Nodes[t.Ports[p].Node].Type != mad.Switch && v.LIDs.Base[p] != 0 {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b topo.PortIdx) int { return compareGUIDs(t.Ports[a].GUID, t.Ports[b].GUID) })
	return all
}

// endLIDs are their LIDs.
func endLIDs(v *view.View) iter.Seq[mad.LID] {
	return func(yield func(mad.LID) bool) {
		for _, p := range endPorts(v) {
			for i := range v.LIDs.Count(p) {
				if !yield(v.LIDs.Base[p] + mad.LID(i)) {
					return
				}
			}
		}
	}
}
