package device

import (
	"cmp"
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Optional is how Sets of attributes that a subnet can do without went: see OptionalAttributes. A device may refuse
// them, not answer, or answer with other values. Where that is so in MaxTries sweeps in a row they are not sent again:
// to the ports where they failed, or to the whole device if none of its ports ever took the attribute. That lasts until
// the device restarts, the settings change, or a person asks for a heavy sweep.
type Optional struct {
	failed map[Place]uint8    // sweeps in a row in which Sets failed; at AllPorts: and none was taken
	taken  map[mad.GUID]uint8 // the attributes that some port of a node took: bit n+1 for OptionalAttributes[n]
	unread map[Place]uint8    // walks in a row that asked for its blocks and did not get all of them
}

// OptionalAttributes are the attributes of Optional. A subnet needs PortInfo, SwitchInfo and LinearForwardingTable; a
// port needs its P_Keys if isolation depends on them. MFT.Failed counts for multicast tables.
var OptionalAttributes = []mad.AttrID{smp.AttrSLtoVLMappingTable, smp.AttrVLArbitrationTable, smp.AttrExtendedPortInfo}

// AllPorts is the Port of a Place that is all ports of a node.
const AllPorts = 255

// Trial is how the Sets of an attribute of a port went in a sweep. It may have several bits.
type Trial uint8

// Bits of a Trial.
const (
	Taken    Trial = 1 << iota // some block was confirmed
	NotTaken                   // some was not, or was not sent because others of the device were not
)

// NewOptional knows of no failure.
func NewOptional() Optional {
	return Optional{map[Place]uint8{}, map[mad.GUID]uint8{}, map[Place]uint8{}}
}

// Clone is a copy for a task.
func (o Optional) Clone() Optional {
	return Optional{maps.Clone(o.failed), maps.Clone(o.taken), maps.Clone(o.unread)}
}

// SweepEnds takes the trials of a sweep, by attribute and port.
func (o Optional) SweepEnds(trials map[Place]Trial) {
	missed := map[Place]bool{}
	for at, trial := range trials {
		if trial&Taken != 0 {
			o.taken[at.Node] |= bitOf(at.Attr)
		}
		if trial&NotTaken != 0 {
			missed[at], missed[at.whole()] = true, true
		}
	}
	if len(o.failed) > 0 {
		for at := range trials {
			o.ends(at, missed)
			o.ends(at.whole(), missed)
		}
	}
	for at := range missed {
		if at.Port != AllPorts || o.taken[at.Node]&bitOf(at.Attr) == 0 {
			o.failed[at] = min(o.failed[at]+1, MaxTries)
		}
	}
}

// ends forgets the failures at a place where none was missed, or where some port of the node took the attribute.
func (o Optional) ends(at Place, missed map[Place]bool) {
	if !missed[at] || at.Port == AllPorts && o.taken[at.Node]&bitOf(at.Attr) != 0 {
		delete(o.failed, at)
	}
}

// bitOf is the bit of an attribute in Optional.taken.
func bitOf(attr mad.AttrID) uint8 { return 1 << (slices.Index(OptionalAttributes, attr) + 1) }

// whole is all ports of the node.
func (at Place) whole() Place {
	at.Port = AllPorts
	return at
}

// GivenUp reports whether an attribute of a port is not sent again.
func (o Optional) GivenUp(at Place) bool {
	if len(o.failed) == 0 {
		return false
	}
	return o.failed[at] >= MaxTries || o.failed[at.whole()] >= MaxTries
}

// All lists what is given up, in order: whole nodes, as AllPorts, without their ports.
func (o Optional) All() (all []Place) {
	for at, failed := range o.failed {
		if failed >= MaxTries && (at == at.whole() || o.failed[at.whole()] < MaxTries) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Attr, b.Attr), cmp.Compare(a.Port, b.Port))
	})
	return all
}

// Forget has the attributes of the nodes for which gone reports true sent again: they have restarted, or left.
func (o Optional) Forget(gone func(mad.GUID) bool) {
	maps.DeleteFunc(o.failed, func(at Place, _ uint8) bool { return gone(at.Node) })
	maps.DeleteFunc(o.taken, func(node mad.GUID, _ uint8) bool { return gone(node) })
	maps.DeleteFunc(o.unread, func(at Place, _ uint8) bool { return gone(at.Node) })
}

// WalkRead notes whether a walk got all blocks of a port that it asked for.
func (o Optional) WalkRead(at Place, all bool) {
	if all {
		delete(o.unread, at)
	} else {
		o.unread[at] = min(o.unread[at]+1, MaxTries)
	}
}

// Unreadable reports whether the blocks of a port are not asked for any more. That lasts as long as GivenUp.
func (o Optional) Unreadable(at Place) bool { return o.unread[at] >= MaxTries }
