package registry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"ibsm/mad"
)

// PartitionEdit is what a caller has changed of a partition, for its history. The last ones are remembered.
type PartitionEdit struct {
	Number  uint64
	Since   int64 // in seconds since 1970
	Key     mad.PKey
	Name    string
	Kind    EditKind
	Put     uint32 // members that were added or changed
	Removed uint32 // members
	// Undo are the encoded Changes that take it back; "" where they are longer than MaxUndo.
	Undo string
}

// EditKind is what has become of a partition.
type EditKind uint8

// Kinds of edits.
const (
	PartitionCreated EditKind = 1
	PartitionChanged EditKind = 2
	PartitionDeleted EditKind = 3
)

var editNames = map[EditKind]string{PartitionCreated: "created", PartitionChanged: "changed",
	PartitionDeleted: "deleted"}

// String is the word of the control protocol.
func (k EditKind) String() string { return mad.NameOf(editNames, k, "edit %d") }

// Limits of the history.
const (
	MaxUndo           = 16 << 10 // bytes of PartitionEdit.Undo
	maxPartitionEdits = 256
)

// PartitionEdits iterates over the edits that are remembered, oldest first.
func (s *State) PartitionEdits() iter.Seq[PartitionEdit] {
	return func(yield func(PartitionEdit) bool) {
		for _, e := range s.partitionEdits.all() {
			if !yield(e) {
				return
			}
		}
	}
}

// PartitionEdit is the edit with a number.
func (s *State) PartitionEdit(number uint64) (PartitionEdit, bool) {
	return s.partitionEdits.get(number)
}

// PutPartitionEdit remembers an edit.
type PutPartitionEdit struct{ PartitionEdit }

// DeletePartitionEdit forgets one.
type DeletePartitionEdit struct{ Number uint64 }

// Kind is KindPutPartitionEdit.
func (PutPartitionEdit) Kind() Kind { return KindPutPartitionEdit }

// Kind is KindDeletePartitionEdit.
func (DeletePartitionEdit) Kind() Kind { return KindDeletePartitionEdit }

// editSize is the length of the fields of an edit before Undo; the last of them is its length.
const editSize = 8 + 8 + 2 + MaxPartitionName + 1 + 4 + 4 + 2

// AppendTo implements Change.
func (c PutPartitionEdit) AppendTo(b []byte) []byte {
	b = appendNumber(append(b, byte(KindPutPartitionEdit)), c.Number, c.Since)
	b = appendText(binary.BigEndian.AppendUint16(b, uint16(c.Key)), c.Name, MaxPartitionName)
	b = binary.BigEndian.AppendUint32(append(b, byte(c.PartitionEdit.Kind)), c.Put)
	b = binary.BigEndian.AppendUint32(b, c.Removed)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(c.Undo))), c.Undo...)
}

// AppendTo implements Change.
func (c DeletePartitionEdit) AppendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint64(append(b, byte(KindDeletePartitionEdit)), c.Number)
}

func (r *reader) partitionEdit() PartitionEdit {
	e := PartitionEdit{Number: r.u64(), Since: int64(r.u64()), Key: mad.PKey(r.u16()), Name: r.text(MaxPartitionName),
		Kind: EditKind(r.u8()), Put: r.u32(), Removed: r.u32()}
	e.Undo = string(r.take(int(r.u16())))
	return e
}

// undoLength is the length of Undo by the fields before it.
func undoLength(fields []byte) int { return int(binary.BigEndian.Uint16(fields[editSize-2:])) }

func (c PutPartitionEdit) check() error {
	switch {
	case c.Number == 0 || c.Name == "" || len(c.Name) > MaxPartitionName || editNames[c.PartitionEdit.Kind] == "":
		return fmt.Errorf("partition %s: edit %d of %q is none that there is", c.Key, c.Number, c.Name)
	case len(c.Undo) > MaxUndo:
		return errors.New("partitions: what takes an edit back is too long")
	}
	return checkPartitionKey(c.Key)
}

func (c DeletePartitionEdit) check() error { return nil }

func (c PutPartitionEdit) apply(r *Registry) error {
	r.partitionEdits.put(r.owner, c.Number, c.PartitionEdit)
	r.partitionEdits.bound(r.owner, maxPartitionEdits)
	return nil
}

func (c DeletePartitionEdit) apply(r *Registry) error {
	if !r.partitionEdits.remove(r.owner, c.Number) {
		return fmt.Errorf("partitions: edit %d is not known", c.Number)
	}
	return nil
}
