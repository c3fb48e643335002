package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// multicastPlan is what a plan that is only to be looked at needs to know of multicast, on
// its own: the Multicast goes on meanwhile.
type multicastPlan struct {
	state  *registry.State
	mfts   *mcast.MFTs
	from   *topo.Topo // of mfts
	tables map[mad.GUID]*mft
	blocks int
}

// WithMulticast has a Job, the plan of which is only to be looked at, show what would be
// written of multicast tables, too.
func (j *Job) WithMulticast(m *Multicast) *Job {
	if m.state == nil {
		return j
	}
	j.multicast = &multicastPlan{state: m.state, mfts: m.mfts, tables: make(map[mad.GUID]*mft, len(m.tables)), blocks: m.blocks()}
	if m.subnet != nil {
		j.multicast.from = m.subnet.topo
	}
	for guid, t := range m.tables {
		copied := *t
		copied.cells = slices.Clone(t.cells)
		j.multicast.tables[guid] = &copied
	}
	return j
}

// run grows the trees of the subnet as it will be.
func (p *multicastPlan) run(ctx context.Context, t *topo.Topo) *Grown {
	j := &GrowJob{topo: t, state: p.state, blocks: p.blocks, soon: true}
	if p.from != nil {
		j.mfts = p.mfts.Remap(p.from, t)
	}
	for _, n := range t.Switches {
		held := p.tables[t.Nodes[n].GUID]
		if held == nil || held.positions != mcast.Positions(t.Nodes[n].NumPorts) {
			held = newMFT(&t.Nodes[n])
		}
		j.held = append(j.held, held)
	}
	return j.Run(ctx)
}

// steps yields what would be written in words.
func (g *Grown) steps(yield func(string) bool) {
	all := sortCells(slices.Concat(g.removes, g.adds))
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
func (g *Grown) tell(c cellKey) string {
	held := g.job.held[c.s]
	if !held.at(c.block, c.position).known {
		return "whatever it holds"
	}
	var changes []string
	for i := range mad.LID(mcast.BlockSize) {
		mlid := mad.MinMulticastLID + mad.LID(c.block)*mcast.BlockSize + i
		var is, want mcast.PortMask
		is.SetPosition(c.position, held.ports(mlid).Position(c.position))
		want.SetPosition(c.position, g.mfts.Ports(c.s, mlid).Position(c.position))
		if is != want {
			changes = append(changes, fmt.Sprintf("MLID 0x%x ports %v -> %v", uint16(mlid), slices.Collect(is.Ports()), slices.Collect(want.Ports())))
		}
	}
	return strings.Join(changes, ", ")
}
