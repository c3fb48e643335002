package topo

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// MaxMissed is the number of sweeps in a row that a node may leave unanswered
// before it is given up while its link stays up.
const MaxMissed = 5

// Hearing is how well a walk has heard what it asked.
type Hearing uint8

// Hearings.
const (
	Clear        Hearing = iota // every node that answered did so at once
	Noisy                       // some answers were lost: that nobody answered over one cable may be chance
	Inconclusive                // so many were lost, or left out, that a missing answer says nothing
)

func (h Hearing) String() string { return [...]string{"clear", "noisy", "inconclusive"}[h] }

// KeepMissing puts back what did not answer this time but did before: a node
// behind a cable whose near end has been ARMED or ACTIVE all along is still
// there, forwards by its tables, and keeps its routes for MaxMissed sweeps. What
// lies only behind such a switch is kept with it. A walk that was Inconclusive counts for nothing. It
// returns the nodes of prev that have been given up.
func (b *Builder) KeepMissing(prev *Topo, heard Hearing) (lost []NodeIdx) {
	if prev == nil {
		return nil
	}
	for n := int32(0); int(n) < len(b.nodes); n++ { // grows while kept nodes are added
		if b.nodes[n].dropped || !b.nodes[n].lacksPeer() {
			continue
		}
		old := prev.FindNode(b.nodes[n].GUID)
		if old == None {
			continue
		}
		for num := range min(len(b.nodes[n].ports), int(prev.Nodes[old].NumPorts)+1) {
			if gone := b.keepPeer(End{n, uint8(num)}, prev, prev.Port(old, uint8(num)), heard); gone != None &&
				!slices.Contains(lost, gone) {
				lost = append(lost, gone)
			}
		}
	}
	return lost
}

// lacksPeer reports whether nothing was found behind some port that is up.
func (n *buildNode) lacksPeer() bool {
	for num := range n.ports {
		if n.lacksPeerAt(uint8(num)) {
			return true
		}
	}
	return false
}

func (n *buildNode) lacksPeerAt(num uint8) bool {
	p := &n.ports[num]
	return n.peers[num] == NoEnd && p.Seen && p.Info.PortState() >= smp.PortArmed
}

// keepPeer restores the cable at e to what prev knew behind it, if e is still up
// and nothing answered there. It returns the node behind it when that has missed
// too many sweeps.
func (b *Builder) keepPeer(e End, prev *Topo, was PortIdx, heard Hearing) (gone NodeIdx) {
	peer := prev.Ports[was].Peer
	if !b.nodes[e.Node].lacksPeerAt(e.Port) || peer == None {
		return None
	}
	far := &prev.Ports[peer]
	n, known := b.Find(prev.Nodes[far.Node].GUID)
	if !known {
		missed := prev.Nodes[far.Node].Missed
		if heard != Inconclusive || missed == 0 {
			missed++
		}
		if missed > MaxMissed || b.replaced(prev, far.Node) {
			return far.Node
		}
		n = b.restore(prev, far.Node, missed)
	}
	to := End{n, far.Num}
	if int(far.Num) >= len(b.nodes[n].ports) {
		return None
	}
	if answer := b.nodes[n].Missed == 0 && b.nodes[e.Node].Missed == 0; answer &&
		(heard == Clear || b.port(e).Shunned || b.port(to).Shunned) {
		return None // neither found the other
	}
	b.restorePort(to, far)
	if b.nodes[n].lacksPeerAt(to.Port) {
		b.Link(e, to)
	}
	return None
}

// restorePort puts back a further port of a CA or router that answers at another
// of its ports: this one lies behind a switch that does not answer.
func (b *Builder) restorePort(e End, was *Port) {
	if b.nodes[e.Node].Type == mad.Switch || b.port(e).Seen || !was.Seen || was.GUID == 0 {
		return
	}
	if owner, taken := b.PortOwner(was.GUID); taken && owner != e {
		return
	}
	b.SetPortGUID(e, was.GUID)
	b.SetPort(e, &was.Info)
	b.SetPKeys(e, was.PKeys)
}

// replaced reports whether a port GUID of a node that did not answer belongs to
// another node now.
func (b *Builder) replaced(prev *Topo, old NodeIdx) bool {
	node := &prev.Nodes[old]
	for num := range node.NumPorts + 1 {
		p := &prev.Ports[prev.Port(old, num)]
		if _, taken := b.PortOwner(p.GUID); taken && p.GUID != 0 {
			return true
		}
	}
	return false
}

// restore adds a node as prev knew it.
func (b *Builder) restore(prev *Topo, old NodeIdx, missed uint8) int32 {
	node := &prev.Nodes[old]
	n := b.AddNode(&node.Info, node.Route)
	*b.nodes[n].Node = *node
	b.nodes[n].Missed = missed
	for num := range int(node.NumPorts) + 1 {
		p := &prev.Ports[node.First+PortIdx(num)]
		b.nodes[n].ports[num].Seen, b.nodes[n].ports[num].Info, b.nodes[n].ports[num].PKeys = p.Seen, p.Info, p.PKeys
		if node.Type != mad.Switch && p.GUID != 0 {
			b.SetPortGUID(End{n, uint8(num)}, p.GUID)
		}
	}
	return n
}
