package device

import (
	"maps"

	"ibsm/topo"
)

// Blocks of which the Topo has the value, as of P_KeyTable and PortInfo, have the same states as those of which the
// Record has it. Nearly all are Known at any time, and take no memory here.

// states are the states of the blocks of a place at which at least one block is not Known.
type states struct {
	table
	walk int // the walk during or after which one became so last
}

// anyBlock is more blocks than an attribute has.
const anyBlock = 1 << 16

// State is the state of a block of which the Topo has the value: Known for a nil Record.
func (r *Record) State(b Block) State {
	if r == nil {
		return Known
	}
	s := r.states[b.Place]
	return s.state(int(b.Index), anyBlock)
}

// Holds reports whether all blocks at a place are Known. Those of which the Record has the value count only if a reply
// has contradicted it.
func (r *Record) Holds(p Place) bool {
	if r == nil {
		return true
	}
	_, some := r.states[p]
	return !some
}

// Take applies an event to the state of a block whose value is in the Topo.
func (r *Record) Take(b Block, e Event) {
	s := r.states[b.Place]
	after := s.state(int(b.Index), anyBlock).After(e)
	if after != Known {
		s.walk = r.walks
	} else if len(s.states) == 0 {
		return
	}
	s.own()
	s.set(int(b.Index), after)
	if s.known() {
		delete(r.states, b.Place)
		return
	}
	if r.states == nil {
		r.states = map[Place]states{}
	}
	r.states[b.Place] = s
}

// WalkRead takes the blocks that the latest walk has read and that were not Known before. One that has become so since
// the walk began may have been read too early.
func (r *Record) WalkRead(blocks []Block) {
	for _, b := range blocks {
		if r.states[b.Place].walk < r.walks {
			r.Take(b, Got)
		}
	}
}

// maxUnsupported limits the remembered nodes that have left: a host may be another node in each sweep.
const maxUnsupported = 1 << 18

// Prune forgets the states of blocks of nodes that are gone: all that they hold is read when they come back. What they
// do not support is forgotten where there is too much of it.
func (r *Record) Prune(t *topo.Topo) {
	maps.DeleteFunc(r.states, func(p Place, _ states) bool { return t.FindNode(p.Node) == topo.None })
	if len(r.Unsupported) > maxUnsupported {
		maps.DeleteFunc(r.Unsupported, func(p Place, _ unsupported) bool { return t.FindNode(p.Node) == topo.None })
	}
}

// snapshotStates are the states as they are now.
func (r *Record) snapshotStates() map[Place]states {
	if len(r.states) == 0 {
		return nil
	}
	for p, s := range r.states {
		s.shared = true
		r.states[p] = s
	}
	return maps.Clone(r.states)
}
