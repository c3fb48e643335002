package registry

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ibsm/mad"
)

// Change is one mutation of a Registry: a Put, which adds or replaces a registration
// with all its values, or a Delete. Changes compare with ==.
type Change interface {
	// AppendTo appends the encoding of the Change: a byte for its Kind, then its fields, big-endian and at fixed
	// places, and a last one of any length behind them. It never changes; a Change that needs other fields gets another
	// Kind.
	AppendTo(b []byte) []byte
	// Kind says which Change it is.
	Kind() Kind

	check() error
	apply(*Registry) error
}

// Kind is the first byte of an encoded Change.
type Kind uint8

// Kinds of Changes. A program does not understand those that were added after it: whoever adds one raises store.Schema
// and the version of sa/mirror.
const (
	KindPutGroup           Kind = 1
	KindDeleteGroup        Kind = 2
	KindPutMember          Kind = 3
	KindDeleteMember       Kind = 4
	KindPutService         Kind = 5
	KindDeleteService      Kind = 6
	KindPutSubscription    Kind = 7
	KindPutSubscriptionGRH Kind = 8 // a PutSubscription whose destination has a GRH
	KindDeleteSubscription Kind = 9
	KindPutAlias           Kind = 10
	KindDeleteAlias        Kind = 11
	KindPutGRHPort         Kind = 12
	KindDeleteGRHPort      Kind = 13
	KindPutNeighbor        Kind = 14
	KindDeleteNeighbor     Kind = 15

	KindPutPartition        Kind = 16
	KindDeletePartition     Kind = 17
	KindPutPartitionPort    Kind = 18 // a PutPartitionMember of a port
	KindDeletePartitionPort Kind = 19
	KindPutPartitionHost    Kind = 20 // a PutPartitionMember of a host
	KindDeletePartitionHost Kind = 21
	KindPutFormerPartition  Kind = 22

	KindDeleteFormerPartition Kind = 23
	KindPutPartitionTerm      Kind = 24
	KindDeletePartitionTerm   Kind = 25
	KindPutPartitionEdit      Kind = 26
	KindDeletePartitionEdit   Kind = 27
)

// codecs is the length of the fields of each Kind at fixed places, what reads them, and how long the last field behind
// them is; nil for none.
var codecs = [...]struct {
	size   int
	decode func(*reader) Change
	last   func(fields []byte) int
}{
	KindPutGroup:      {groupSize, func(r *reader) Change { return PutGroup{r.group()} }, nil},
	KindDeleteGroup:   {gidSize, func(r *reader) Change { return DeleteGroup{r.gid()} }, nil},
	KindPutMember:     {2*gidSize + 2, func(r *reader) Change { return PutMember{r.member()} }, nil},
	KindDeleteMember:  {2 * gidSize, func(r *reader) Change { return DeleteMember{MGID: r.gid(), Port: r.gid()} }, nil},
	KindPutService:    {serviceSize, func(r *reader) Change { return PutService{r.service()} }, nil},
	KindDeleteService: {serviceKeySize, func(r *reader) Change { return DeleteService{r.serviceKey()} }, nil},
	KindDeleteSubscription: {subscriptionKeySize, func(r *reader) Change {
		return DeleteSubscription{r.subscriptionKey()}
	}, nil},
	KindPutAlias: {slotSize + 8, func(r *reader) Change {
		return PutAlias{Alias{r.slot(), mad.GUID(r.u64())}}
	}, nil},
	KindDeleteAlias: {slotSize, func(r *reader) Change { return DeleteAlias{r.slot()} }, nil},
	KindPutSubscription: {subscriptionKeySize + destinationSize, func(r *reader) Change {
		return r.putSubscription()
	}, nil},
	KindPutSubscriptionGRH: {subscriptionKeySize + destinationSize + grhSize, func(r *reader) Change {
		return r.putSubscriptionGRH()
	}, nil},
	KindPutGRHPort:     {grhPortSize, func(r *reader) Change { return PutGRHPort{mad.GUID(r.u64())} }, nil},
	KindDeleteGRHPort:  {grhPortSize, func(r *reader) Change { return DeleteGRHPort{mad.GUID(r.u64())} }, nil},
	KindPutNeighbor:    {2 * endSize, func(r *reader) Change { return PutNeighbor{At: r.end(), Far: r.end()} }, nil},
	KindDeleteNeighbor: {endSize, func(r *reader) Change { return DeleteNeighbor{r.end()} }, nil},

	KindPutPartition:    {partitionSize, func(r *reader) Change { return PutPartition{r.partition()} }, nil},
	KindDeletePartition: {formerSize, func(r *reader) Change { return DeletePartition{r.former()} }, nil},
	KindPutPartitionPort: {portKeySize + memberSize, func(r *reader) Change {
		return PutPartitionMember{r.partitionMember(r.portKey())}
	}, nil},
	KindDeletePartitionPort: {portKeySize, func(r *reader) Change { return DeletePartitionMember{r.portKey()} }, nil},
	KindPutPartitionHost: {hostKeySize + memberSize, func(r *reader) Change {
		return PutPartitionMember{r.partitionMember(r.hostKey())}
	}, nil},
	KindDeletePartitionHost: {hostKeySize, func(r *reader) Change { return DeletePartitionMember{r.hostKey()} }, nil},
	KindPutFormerPartition:  {formerSize, func(r *reader) Change { return PutFormerPartition{r.former()} }, nil},
	KindPutPartitionTerm: {8 + 8 + 8, func(r *reader) Change {
		return PutPartitionTerm{PartitionTerm{r.u64(), mad.GUID(r.u64()), r.u64()}}
	}, nil},
	KindPutPartitionEdit: {editSize, func(r *reader) Change {
		return PutPartitionEdit{r.partitionEdit()}
	}, undoLength},
	KindDeletePartitionEdit:   {8, func(r *reader) Change { return DeletePartitionEdit{r.u64()} }, nil},
	KindDeletePartitionTerm:   {8, func(r *reader) Change { return DeletePartitionTerm{r.u64()} }, nil},
	KindDeleteFormerPartition: {2, func(r *reader) Change { return DeleteFormerPartition{mad.PKey(r.u16())} }, nil},
}

// Errors of Decode.
var (
	ErrTruncated   = errors.New("registry: a change is cut off")
	ErrUnknownKind = errors.New("registry: unknown kind of change")
)

// Decode reads one Change and returns what follows it. What it returns can be applied,
// as far as the Change itself shows.
func Decode(b []byte) (c Change, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, ErrTruncated
	}
	kind := Kind(b[0])
	if kind == 0 || int(kind) >= len(codecs) {
		return nil, nil, fmt.Errorf("%w: %d", ErrUnknownKind, kind)
	}
	codec := &codecs[kind]
	size := codec.size
	if len(b)-1 < size {
		return nil, nil, ErrTruncated
	}
	if codec.last != nil {
		if size += codec.last(b[1:]); len(b)-1 < size {
			return nil, nil, ErrTruncated
		}
	}
	r := reader{b: b[1:][:size]}
	c = codec.decode(&r)
	if r.bad {
		return nil, nil, fmt.Errorf("registry: a change of kind %d has a flag that is neither 0 nor 1, or a text with a zero inside", kind)
	}
	if err := c.check(); err != nil {
		return nil, nil, fmt.Errorf("registry: %w", err)
	}
	return c, b[1+size:], nil
}

// reader takes fields off bytes of which there are enough.
type reader struct {
	b   []byte
	bad bool // a flag was neither 0 nor 1, or a text has a zero inside
}

func (r *reader) take(n int) []byte {
	field := r.b[:n]
	r.b = r.b[n:]
	return field
}

func (r *reader) u8() uint8    { return r.take(1)[0] }
func (r *reader) u16() uint16  { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32  { return binary.BigEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64  { return binary.BigEndian.Uint64(r.take(8)) }
func (r *reader) gid() mad.GID { return mad.GID(r.take(gidSize)) }
func (r *reader) flag() bool   { f := r.u8(); r.bad = r.bad || f > 1; return f == 1 }

const gidSize = 16

func appendFlag(b []byte, f bool) []byte {
	if f {
		return append(b, 1)
	}
	return append(b, 0)
}
