package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/routing/mcast"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// multicastPlan is what a plan that is only to be looked at needs to know of multicast, on
// its own: the Multicast goes on meanwhile.
type multicastPlan struct {
	state  *registry.State
	mfts   *mcast.MFTs
	from   *topo.Topo // of mfts
	blocks int
}

// WithMulticast has a task, the plan of which is only to be looked at, show what would be
// written of multicast tables, too.
func (j *RouteTask) WithMulticast(m *Multicast) *RouteTask {
	if m.state == nil {
		return j
	}
	j.multicast = &multicastPlan{state: m.state, mfts: m.mfts, blocks: m.blocks()}
	if m.devices != nil {
		m.devices.SnapshotMulticast(j.state.devices)
	}
	if m.subnet != nil {
		j.multicast.from = m.subnet.topo
	}
	return j
}

// run grows the trees of the subnet as it will be.
func (p *multicastPlan) run(ctx context.Context, t *topo.Topo, devices *device.Record) *MulticastResult {
	j := &MulticastTask{topo: t, state: p.state, blocks: p.blocks, soon: true}
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

// steps yields what would be written in words.
func (g *MulticastResult) steps(yield func(string) bool) {
	all := sortBlocks(slices.Concat(g.removes, g.adds))
	for _, c := range all {
		node := &g.job.topo.Nodes[g.job.topo.Switches[c.s]]
		text := fmt.Sprintf("%v %v %q: multicast forwarding table block %d, position %d: %s",
			node.Type, node.GUID, node.Desc.String(), c.block, c.position, g.tell(c))
		if !yield(text) {
			return
		}
	}
}

// tell shows how a cell would change.
func (g *MulticastResult) tell(c mftBlock) string {
	held := g.job.held[c.s]
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
