package path

import (
	"cmp"

	"ibsm/mad"
	"ibsm/topo"
)

// addVPorts makes the vPorts ends of paths: they have the links of their ports, and P_Keys of their own.
func (f *Finder) addVPorts() {
	t := f.view.Topo
	for i := range t.VPorts.Len() {
		v := t.VPorts.At(topo.VPortIdx(i))
		e := t.EndOf(topo.VPortIdx(i))
		f.ends[e], f.hops[e] = f.ends[v.Port], f.hops[v.Port]
		f.ends[e].guid, f.ends[e].keys = v.GUID, v.PKeys
	}
}

func (f *Finder) isVPort(e topo.EndIdx) bool { return int(e) >= len(f.view.Topo.Ports) }

func (f *Finder) physical(e topo.EndIdx) topo.PortIdx {
	if f.isVPort(e) {
		return f.view.Topo.Physical(e)
	}
	return e
}

// lidOf is the first LID of an end: of a vPort its own, or the one that it shares.
func (f *Finder) lidOf(e topo.EndIdx) mad.LID {
	lid, _ := f.view.Topo.EndLID(f.view.LIDs, e)
	return lid
}

// routeLID is the LID by which the routing engine knows the way to a LID of an end: switches forward that of a vPort
// as the base LID of its port.
func (f *Finder) routeLID(e topo.EndIdx, lid mad.LID) mad.LID {
	if f.isVPort(e) {
		return f.view.LIDs.Base[f.physical(e)]
	}
	return lid
}

// endOfLID is the port with a LID, or the vPort of which it is the own one, or None.
func (f *Finder) endOfLID(lid mad.LID) topo.EndIdx { return f.view.EndOfLID(lid) }

// meetsAt reports whether a vPort is met at the LIDs of another end, as it shares them.
func (f *Finder) meetsAt(e, owner topo.EndIdx) bool {
	if !f.isVPort(e) || f.physical(e) != f.physical(owner) {
		return false
	}
	lid, shared := f.view.Topo.EndLID(f.view.LIDs, e)
	return shared && f.endOfLID(lid) == owner
}

// furtherGUIDs are those of a vPort beside its own one.
func (f *Finder) furtherGUIDs(e topo.EndIdx) []mad.GUID {
	if !f.isVPort(e) {
		return nil
	}
	return f.view.Topo.VPorts.Aliases[f.view.Topo.VPortOf(e)]
}

// hopLimit is the HopLimit of paths within the subnet from and to an end: not 0 where hosts must send a GRH, as they
// must for vPorts.
func (f *Finder) hopLimit(e topo.EndIdx) (hops uint8) {
	if f.grh.has(e) {
		hops = GRHHopLimit
	}
	if f.isVPort(e) {
		hops = max(hops, cmp.Or(f.view.VPorts.HopLimit, GRHHopLimit))
	}
	return hops
}
