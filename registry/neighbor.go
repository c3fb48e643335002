package registry

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"

	"ibsm/mad"
)

// End is a port: of a switch by its node GUID, of an adapter or router by its own.
type End struct {
	GUID mad.GUID
	Port uint8
}

// Compare orders Ends.
func (e End) Compare(o End) int {
	return cmp.Or(cmp.Compare(e.GUID, o.GUID), cmp.Compare(e.Port, o.Port))
}

// Neighbors iterates over the ports whose neighbor is remembered, also while nobody is behind them, and the ports of
// the neighbors, in order of End. They are registered where ports have M_Keys of their own, so that a standby knows
// which M_Key to show behind a port.
func (s *State) Neighbors() iter.Seq2[End, End] { return s.neighbors.all() }

// NeighborOf is the port of the neighbor that is remembered behind a port.
func (s *State) NeighborOf(at End) (far End, known bool) { return s.neighbors.get(at) }

// PutNeighbor says which port is, or was last, behind a port.
type PutNeighbor struct{ At, Far End }

// DeleteNeighbor says that this is not remembered any more.
type DeleteNeighbor struct{ At End }

// Kind is KindPutNeighbor.
func (PutNeighbor) Kind() Kind { return KindPutNeighbor }

// Kind is KindDeleteNeighbor.
func (DeleteNeighbor) Kind() Kind { return KindDeleteNeighbor }

const endSize = 8 + 1

// AppendTo implements Change.
func (c PutNeighbor) AppendTo(b []byte) []byte {
	return c.Far.appendTo(c.At.appendTo(append(b, byte(KindPutNeighbor))))
}

// AppendTo implements Change.
func (c DeleteNeighbor) AppendTo(b []byte) []byte {
	return c.At.appendTo(append(b, byte(KindDeleteNeighbor)))
}

func (e *End) appendTo(b []byte) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(e.GUID)), e.Port)
}

func (r *reader) end() End { return End{mad.GUID(r.u64()), r.u8()} }

func (c PutNeighbor) check() error {
	if c.At.GUID == 0 || c.Far.GUID == 0 {
		return fmt.Errorf("neighbor %s of port %s: neither GUID may be 0", c.Far.GUID, c.At.GUID)
	}
	return nil
}

func (c DeleteNeighbor) check() error { return nil }

func (c PutNeighbor) apply(r *Registry) error {
	r.neighbors.put(r.owner, c.At, c.Far)
	return nil
}

func (c DeleteNeighbor) apply(r *Registry) error {
	if !r.neighbors.remove(r.owner, c.At) {
		return fmt.Errorf("neighbor of port %d of %s: deleted, but there is none", c.At.Port, c.At.GUID)
	}
	return nil
}
