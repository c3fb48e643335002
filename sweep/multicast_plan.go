package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// multicastPlan is the input of a preview's multicast task: a copy, because the Multicast
// goes on.
type multicastPlan struct {
	state     *registry.State
	mfts      *mcast.MFTs
	from      *topo.Topo // of mfts
	numBlocks int
}

// WithMulticast has the task of a preview also show the multicast blocks that would be
// written.
func (j *RouteTask) WithMulticast(m *Multicast) *RouteTask {
	if m.state == nil {
		return j
	}
	j.multicast = &multicastPlan{state: m.state, mfts: m.mfts, numBlocks: m.numBlocks()}
	if m.devices != nil {
		m.devices.SnapshotMulticast(j.state.devices)
	}
	if m.subnet != nil {
		j.multicast.from = m.subnet.topo
	}
	return j
}

// run computes the trees of the subnet as it will be after the sweep, with these tables, which are nil if no
// engine routes.
func (p *multicastPlan) run(ctx context.Context, t *topo.Topo, tables *routing.Tables, devices *device.Record) *MulticastResult {
	j := &MulticastTask{topo: t, state: p.state, numBlocks: p.numBlocks, includeInit: true}
	if tables != nil {
		j.trunk, j.ranks = tables.Trunk, tables.Ranks
	}
	if p.from != nil {
		j.mfts = p.mfts.Remap(p.from, t)
	}
	for _, n := range t.Switches {
		var held *device.MFT
		if sw := devices.Find(t.Nodes[n].GUID); sw != nil {
			held = sw.MFT
		}
		if held == nil || held.Positions != mcast.Positions(t.Nodes[n].NumPorts) {
			held = device.NewMFT(&t.Nodes[n], false)
		}
		j.held = append(j.held, held)
	}
	return j.Run(ctx)
}

// steps yields a line of text for each block that would be written.
func (g *MulticastResult) steps(yield func(string) bool) {
	all := sortBlocks(slices.Concat(g.removes, g.adds))
	for _, c := range all {
		node := &g.task.topo.Nodes[g.task.topo.Switches[c.s]]
		text := fmt.Sprintf("%v %v %q: multicast forwarding table block %d, position %d: %s",
			node.Type, node.GUID, node.Desc.String(), c.block, c.position, g.describe(c))
		if !yield(text) {
			return
		}
	}
}

// describe shows how a block would change.
func (g *MulticastResult) describe(c mftBlock) string {
	held := g.task.held[c.s]
	if held.State(c.block, c.position) != device.Known {
		return "whatever it holds"
	}
	var changes []string
	for i := range mad.LID(mcast.BlockSize) {
		mlid := mad.MinMulticastLID + mad.LID(c.block)*mcast.BlockSize + i
		var is, want mcast.PortMask
		is.SetPosition(c.position, held.Ports(mlid).Position(c.position))
		want.SetPosition(c.position, g.mfts.Ports(c.s, mlid).Position(c.position))
		if is != want {
			changes = append(changes, fmt.Sprintf("MLID 0x%x ports %v -> %v", uint16(mlid), slices.Collect(is.Ports()), slices.Collect(want.Ports())))
		}
	}
	return strings.Join(changes, ", ")
}
