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
	failed map[Place]uint8 // sweeps in a row in which Sets failed; at AllPorts: and none was taken
	taken  map[Place]bool  // at AllPorts: some port took the attribute
	unread map[Place]uint8 // walks in a row that asked for its blocks and did not get all of them
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
func NewOptional() Optional { return Optional{map[Place]uint8{}, map[Place]bool{}, map[Place]uint8{}} }

// Clone is a copy for a task.
func (o Optional) Clone() Optional {
	return Optional{maps.Clone(o.failed), maps.Clone(o.taken), maps.Clone(o.unread)}
}

// SweepEnds takes the trials of a sweep, by attribute and port.
func (o Optional) SweepEnds(trials map[Place]Trial) {
	nodes := map[Place]Trial{}
	for at, trial := range trials {
		all := at
		all.Port = AllPorts
		nodes[all] |= trial
	}
	for all, trial := range nodes {
		o.taken[all] = o.taken[all] || trial&Taken != 0
	}
	maps.Copy(nodes, trials)
	for at, trial := range nodes {
		all := at
		all.Port = AllPorts
		if trial&NotTaken == 0 || at == all && o.taken[all] {
			delete(o.failed, at)
			continue
		}
		o.failed[at] = min(o.failed[at]+1, MaxTries)
	}
}

// GivenUp reports whether an attribute of a port is not sent again.
func (o Optional) GivenUp(at Place) bool {
	if len(o.failed) == 0 {
		return false
	}
	all := at
	all.Port = AllPorts
	return o.failed[at] >= MaxTries || o.failed[all] >= MaxTries
}

// All lists what is given up, in order: whole nodes, as AllPorts, without their ports.
func (o Optional) All() (all []Place) {
	for at, failed := range o.failed {
		whole := at
		whole.Port = AllPorts
		if failed >= MaxTries && (at == whole || o.failed[whole] < MaxTries) {
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
	maps.DeleteFunc(o.taken, func(at Place, _ bool) bool { return gone(at.Node) })
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
