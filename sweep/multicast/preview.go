package multicast

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

// Preview is the input of a task that is only shown: a copy, because the Machine goes on.
type Preview struct {
	state     *registry.State
	mfts      *mcast.MFTs
	from      *topo.Topo // of mfts
	numBlocks int
}

// Preview is the input for the groups of now; nil while no registry is known. The tables of switches are added to
// devices, a snapshot of their record.
func (m *Machine) Preview(devices *device.Record) *Preview {
	if m.state == nil {
		return nil
	}
	p := &Preview{state: m.state, mfts: m.mfts, numBlocks: m.numBlocks()}
	if s := m.latest(); s != nil {
		s.Devices.SnapshotMulticast(devices)
	}
	if m.subnet != nil {
		p.from = m.subnet.Topo
	}
	return p
}

// Run computes the trees of a subnet as it will be after a sweep. Its devices are the snapshot.
func (p *Preview) Run(ctx context.Context, s Subnet) *Result {
	t := s.Topo
	j := &Task{topo: t, trunk: s.Trunk, ranks: s.Ranks, state: p.state, numBlocks: p.numBlocks, includeInit: true}
	if p.from != nil {
		j.mfts = p.mfts.Remap(p.from, t)
	}
	for _, n := range t.Switches {
		var held *device.MFT
		if sw := s.Devices.Find(t.Nodes[n].GUID); sw != nil {
			held = sw.MFT
		}
		if held == nil || held.Positions != mcast.Positions(t.Nodes[n].NumPorts) {
			held = device.NewMFT(&t.Nodes[n], device.Anything)
		}
		j.held = append(j.held, held)
	}
	return j.Run(ctx)
}

// Steps yields a line of text for each block that would be written.
func (g *Result) Steps(yield func(string) bool) {
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
func (g *Result) describe(c tableBlock) string {
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
			changes = append(changes, fmt.Sprintf("MLID 0x%x ports %v -> %v",
				uint16(mlid), slices.Collect(is.Ports()), slices.Collect(want.Ports())))
		}
	}
	return strings.Join(changes, ", ")
}
