package sim_test

import (
	"fmt"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/view"
)

// reachable are the powered nodes that cables which pass join to a node. Agents
// that do not answer count: their switches forward.
func (b *harness) reachable(from int32) []bool {
	f := b.Fabric
	seen := make([]bool, f.NumNodes())
	seen[from] = true
	for queue := []int32{from}; len(queue) > 0; queue = queue[1:] {
		for num := 1; num <= int(f.NumPorts(queue[0])); num++ {
			at := net.End{Node: queue[0], Port: uint8(num)}
			peer := f.Peer(at)
			if pi := f.PortInfo(at); peer == net.NoEnd || pi.PortState() <= smp.PortDown || seen[peer.Node] {
				continue
			}
			if f.NodeType(queue[0]) == mad.Switch || queue[0] == from {
				seen[peer.Node] = true
				queue = append(queue, peer.Node)
			}
		}
	}
	return seen
}

// judge is everything that must hold of a fabric that is whole and at rest.
func (b *harness) judge(v *view.View) (faults []string) {
	fault := func(format string, args ...any) {
		if len(faults) < 10 {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	if at, bad := b.Fabric.FirstNotActive(); bad {
		pi := b.Fabric.PortInfo(at)
		fault("port %v of %q is %v", at, b.net.Nodes[at.Node].Desc, pi.PortState())
	}
	if lid, shared := b.Fabric.FirstSharedLID(); shared {
		fault("two ports hold LID %d", lid)
	}
	if v == nil {
		fault("no view is published")
		return faults
	}
	b.compare(v, fault)
	b.probe(fault)
	return faults
}

// endPorts are the ports that hold a LID and have a link.
func (b *harness) endPorts() (ports []net.End) {
	for at := range b.Fabric.EndPorts() {
		if b.Fabric.HasLink(at) {
			ports = append(ports, at)
		}
	}
	return ports
}

// manyPorts is how many end ports a fabric may have whose hosts all send to each LID: with 13,284 that takes ten
// minutes.
const manyPorts = 5000

// probe sends a data packet from each end port to each LID. From a switch on, packets of all its hosts go the same way:
// in a fabric with many ports one host of each switch sends to each LID, and the others to one.
func (b *harness) probe(fault func(string, ...any)) {
	ports := b.endPorts()
	tried := map[int32][]bool{} // what the hosts reach, by the switches that one of them has sent through
	var hops []fabric.Hop
	for _, from := range ports {
		targets, leaf := ports, b.Fabric.Peer(from).Node
		seen, sent := tried[leaf]
		if sent && len(ports) > manyPorts && b.Fabric.NodeType(from.Node) != mad.Switch {
			targets = ports[:1]
		} else {
			seen = b.reachable(from.Node)
			tried[leaf] = seen
		}
		for _, to := range targets {
			pi := b.Fabric.PortInfo(to)
			if !seen[to.Node] {
				continue
			}
			if pi.LID() == 0 {
				fault("port %v has no LID", to)
				continue
			}
			for l := pi.LID(); l < pi.LID()+1<<pi.LMC(); l++ {
				var end fabric.Drop
				if hops, end = b.Fabric.Probe(from, l, mad.DefaultPKey, 0, hops[:0]); end != fabric.Delivered {
					fault("data from %v to LID %d at %v: %v, by way of %v", from, l, to, end, hops)
				}
			}
		}
	}
}

// compare holds a view against the fabric.
func (b *harness) compare(v *view.View, fault func(string, ...any)) {
	f := b.Fabric
	for at := range f.EndPorts() {
		truth := f.PortInfo(at)
		if !f.HasLink(at) {
			continue
		}
		p := v.Topo.FindPort(f.PortGUID(at))
		if p == topo.None {
			fault("the view lacks port %v", at)
			continue
		}
		if v.LIDs.Base[p] != truth.LID() {
			fault("the view gives port %v the LID %d, it holds %d", at, v.LIDs.Base[p], truth.LID())
		}
		if seen := &v.Topo.Ports[p].Info; seen.PortState() != truth.PortState() || seen.LID() != truth.LID() {
			fault("the view shows port %v %v with LID %d, it is %v with %d", at, seen.PortState(), seen.LID(),
				truth.PortState(), truth.LID())
		}
	}
	for s, n := range v.Topo.Switches {
		at, ok := f.Find(v.Topo.Ports[v.Topo.Nodes[n].First].GUID)
		if !ok {
			fault("the view has a switch %v that does not exist", v.Topo.Nodes[n].GUID)
			continue
		}
		info := f.SwitchInfo(at.Node)
		if info.LinearFDBTop() != v.Tables.Top {
			fault("LinearFDBTop of %v is %d, the view says %d", v.Topo.Nodes[n].GUID, info.LinearFDBTop(), v.Tables.Top)
		}
		want := v.Tables.LFT[s][:int(v.Tables.Top)+1]
		row := slices.Clone(f.LFT(at.Node))
		for len(row) < len(want) {
			row = append(row, routing.NoPath)
		}
		if !slices.Equal(row[:len(want)], want) {
			fault("switch %v holds %v, the view says %v", v.Topo.Nodes[n].GUID, row[:len(want)], want)
		}
	}
}

// mustBeWhole fails the test unless everything holds.
func (b *harness) mustBeWhole(m *watched) {
	b.Helper()
	for _, fault := range b.judge(m.View) {
		b.Error(fault)
	}
}
