package registry

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"

	"ibsm/mad"
)

// Slot is a place in the GUID table of a port (IBA 14.2.5.5).
type Slot struct {
	Port  mad.GUID
	Index uint8 // 1..255; 0 is the port's own GUID
}

// Alias is a GUID that a port has besides its own, as virtual functions use them.
type Alias struct {
	Slot
	GUID mad.GUID
}

func compareSlots(a, b Slot) int {
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Index, b.Index))
}

// Alias finds the port of an alias GUID.
func (s *State) Alias(guid mad.GUID) (Slot, bool) { return s.slots.get(guid) }

// AliasAt returns the GUID in a slot, 0 if there is none.
func (s *State) AliasAt(at Slot) mad.GUID {
	guid, _ := s.aliases.get(at)
	return guid
}

// AliasesOf iterates over the aliases of a port in order of index.
func (s *State) AliasesOf(port mad.GUID) iter.Seq[Alias] {
	return func(yield func(Alias) bool) {
		for at, guid := range s.aliases.from(Slot{Port: port}) {
			if at.Port != port || !yield(Alias{at, guid}) {
				return
			}
		}
	}
}

// Aliases iterates over all aliases in order of port and index.
func (s *State) Aliases() iter.Seq[Alias] {
	return func(yield func(Alias) bool) {
		for at, guid := range s.aliases.all() {
			if !yield(Alias{at, guid}) {
				return
			}
		}
	}
}

// PutAlias gives a slot a GUID, in place of the one it may have.
type PutAlias struct{ Alias }

// DeleteAlias empties a slot.
type DeleteAlias struct{ Slot }

// Kind is KindPutAlias.
func (PutAlias) Kind() Kind { return KindPutAlias }

// Kind is KindDeleteAlias.
func (DeleteAlias) Kind() Kind { return KindDeleteAlias }

const slotSize = 8 + 1

// AppendTo implements Change.
func (c PutAlias) AppendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint64(c.Slot.appendTo(append(b, byte(KindPutAlias))), uint64(c.GUID))
}

// AppendTo implements Change.
func (c DeleteAlias) AppendTo(b []byte) []byte {
	return c.Slot.appendTo(append(b, byte(KindDeleteAlias)))
}

func (k *Slot) appendTo(b []byte) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(k.Port)), k.Index)
}

func (r *reader) slot() Slot { return Slot{mad.GUID(r.u64()), r.u8()} }

func (c PutAlias) check() error {
	if c.Port == 0 || c.Index == 0 || c.GUID == 0 {
		return fmt.Errorf("alias %s at index %d of port %s: none of them may be 0", c.GUID, c.Index, c.Port)
	}
	return nil
}

func (c DeleteAlias) check() error { return nil }

func (c PutAlias) apply(r *Registry) error {
	if at, used := r.Alias(c.GUID); used && at != c.Slot {
		return fmt.Errorf("alias %s at index %d of port %s: already used at index %d of port %s", c.GUID, c.Index, c.Port,
			at.Index, at.Port)
	}
	if old, was := r.aliases.get(c.Slot); was {
		r.slots.remove(r.owner, old)
	}
	r.aliases.put(r.owner, c.Slot, c.GUID)
	r.slots.put(r.owner, c.GUID, c.Slot)
	return nil
}

func (c DeleteAlias) apply(r *Registry) error {
	guid, was := r.aliases.get(c.Slot)
	if !was {
		return fmt.Errorf("alias at index %d of port %s: deleted, but there is none", c.Index, c.Port)
	}
	r.aliases.remove(r.owner, c.Slot)
	r.slots.remove(r.owner, guid)
	return nil
}
