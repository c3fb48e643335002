package multicast

import (
	"ibsm/registry"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// Trees are the multicast trees that switches forward by, as a value.
type Trees struct {
	mfts       *mcast.MFTs
	from       *topo.Topo // of mfts
	registered *registry.State
}

// Trees are those of now, none while they are not known.
func (m *Machine) Trees() Trees {
	if m.subnet == nil || m.computed == nil {
		return Trees{}
	}
	return Trees{m.mfts, m.subnet.Topo, m.computed}
}

// Groups are the packets of the trees, by the switches of t. Groups that share a multicast LID can
// have several SLs.
func (r Trees) Groups(t *topo.Topo) (groups []mcast.Group) {
	if r.mfts == nil {
		return nil
	}
	for tree := range r.mfts.Remap(r.from, t).Trees() {
		sls := uint16(0)
		for g := range r.registered.OnMLID(tree.MLID) {
			if bit := uint16(1) << g.SL; sls&bit == 0 {
				sls |= bit
				groups = append(groups, mcast.Group{Tree: tree, SL: g.SL})
			}
		}
	}
	return groups
}
