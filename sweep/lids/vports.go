package lids

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// vPort is one that asks for a LID of its own.
type vPort struct {
	*topo.VPort
	lid mad.LID // that it gets; 0 before it has one
}

// vPortsOf are the vPorts that ask for a LID of their own, ascending GUID, also those that are down: their functions
// may come up again. That of a physical function has its port's.
func vPortsOf(t *topo.Topo) (list []vPort) {
	for i := range t.VPorts.Len() {
		v := t.VPorts.At(topo.VPortIdx(i))
		if v.LIDRequired && v.GUID != 0 && !v.Elsewhere && t.FindPort(v.GUID) == topo.None {
			list = append(list, vPort{VPort: v})
		}
	}
	slices.SortFunc(list, func(a, b vPort) int { return cmp.Compare(a.GUID, b.GUID) })
	return list
}

// hasVPort reports whether a vPort with a GUID asks for a LID.
func (a *assigner) hasVPort(guid mad.GUID) bool {
	_, has := slices.BinarySearchFunc(a.vPorts, guid, func(v vPort, g mad.GUID) int { return cmp.Compare(v.GUID, g) })
	return has
}

// keepVPorts assigns to vPorts without a LID the one that they had, if it is free.
func (a *assigner) keepVPorts(had func(*topo.VPort) mad.LID) {
	for i := range a.vPorts {
		v := &a.vPorts[i]
		if lid := had(v.VPort); v.lid == 0 && lid.IsUnicast() && a.fits(lid, 0) {
			a.giveVPort(v, lid)
		}
	}
}

func (a *assigner) giveVPort(v *vPort, lid mad.LID) {
	v.lid, a.owner[lid] = lid, ofVPort
	a.LIDs.Top = max(a.LIDs.Top, lid)
}

// allotVPorts assigns to vPorts that have none the lowest free LIDs, else those of the longest absent ports.
func (a *assigner) allotVPorts() {
	for i := range a.vPorts {
		v := &a.vPorts[i]
		if v.lid != 0 {
			continue
		}
		if lid := a.free(0); lid != 0 {
			a.giveVPort(v, lid)
		} else {
			a.Exhausted = append(a.Exhausted, v.GUID)
		}
	}
}
