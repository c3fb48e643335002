package registry

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"

	"ibsm/mad"
)

// Lengths of texts of partitions, in bytes. The name of a host is the beginning of a NodeDescription.
const (
	MaxPartitionName = 64
	MaxPartitionNote = 128
	MaxHostName      = 64
)

// Partition is one that a caller has put, beside those of partitions.conf. Package partitions/callers says what a
// caller may put, and what becomes of a partition that the file has too.
type Partition struct {
	Key   mad.PKey // without the bit for membership
	Name  string
	Note  string
	IPoIB bool     // there is a broadcast group
	MTU   mad.MTU  // of the group; 0 for the default
	Rate  mad.Rate // likewise
	SL    uint8    // of paths in the partition, 0..15
	Scope uint8    // of the group, 4 bits; 0 for link-local
	QKey  uint32   // of the group; 0 for the one of IP over InfiniBand
	// DeleteWhenEmpty says that the partition is deleted with its last member.
	DeleteWhenEmpty bool
	Number          uint64 // of the last change of the partition or its members; 1 is the first of all partitions
	Since           int64  // of that change, in seconds since 1970
}

// PartitionMember is a port, or all ports of a host, in a partition of callers.
type PartitionMember struct {
	MemberKey
	Membership Membership
	Index0     bool   // the P_Key goes to index 0 of the table of the port
	Number     uint64 // of the change that made the member what it is
	Since      int64  // of that change, in seconds since 1970
}

// MemberKey names a member: exactly one of Port and Host is set.
type MemberKey struct {
	Key  mad.PKey // of the partition
	Port mad.GUID
	Host string
}

// Membership is what a member of a partition of callers may do: the numbers are those of package partitions.
type Membership uint8

// maxMembership is the highest one.
const maxMembership = 3

// FormerPartition is what is remembered of a partition that was deleted, until its P_Key is used again: so that the
// P_Key is not given to another partition too soon, and is removed from ports that were away.
type FormerPartition struct {
	Key    mad.PKey
	Number uint64 // of the change that deleted it
	Since  int64  // of that change, in seconds since 1970
}

// Partition is the partition of callers with a P_Key.
func (s *State) Partition(key mad.PKey) (Partition, bool) { return s.partitions.get(key.Base()) }

// PartitionNamed is the partition of callers with a name.
func (s *State) PartitionNamed(name string) (Partition, bool) {
	key, found := s.partitionNames.get(name)
	if !found {
		return Partition{}, false
	}
	return s.Partition(key)
}

// Partitions iterates over the partitions of callers in order of P_Key.
func (s *State) Partitions() iter.Seq[Partition] {
	return func(yield func(Partition) bool) {
		for _, p := range s.partitions.all() {
			if !yield(p) {
				return
			}
		}
	}
}

// PartitionMembers iterates over the members of a partition of callers, in order of MemberKey.
func (s *State) PartitionMembers(key mad.PKey) iter.Seq[PartitionMember] {
	return func(yield func(PartitionMember) bool) {
		for k, m := range s.partitionMembers.from(MemberKey{Key: key.Base()}) {
			if k.Key != key.Base() || !yield(m.of(k)) {
				return
			}
		}
	}
}

// PartitionMember is a member of a partition of callers.
func (s *State) PartitionMember(k MemberKey) (PartitionMember, bool) {
	m, found := s.partitionMembers.get(k)
	return m.of(k), found
}

// FormerPartitions iterates over the partitions that were deleted and whose P_Keys have not been used since, in order
// of P_Key.
func (s *State) FormerPartitions() iter.Seq[FormerPartition] {
	return func(yield func(FormerPartition) bool) {
		for _, p := range s.formerPartitions.all() {
			if !yield(p) {
				return
			}
		}
	}
}

// FormerPartition is what is remembered of the partition that had a P_Key last.
func (s *State) FormerPartition(key mad.PKey) (FormerPartition, bool) {
	return s.formerPartitions.get(key.Base())
}

// SamePartitions reports whether two States of a Registry have the same partitions of callers. It may report false
// where they are the same, and costs little.
func (s *State) SamePartitions(o *State) bool {
	return s.partitionNumber == o.partitionNumber && s.partitions.shares(&o.partitions) &&
		s.partitionMembers.shares(&o.partitionMembers) && s.formerPartitions.shares(&o.formerPartitions)
}

// PartitionNumber is the number of the last change of a partition of callers, 0 if there was none.
func (s *State) PartitionNumber() uint64 { return s.partitionNumber }

// partitionMember is a PartitionMember without its key.
type partitionMember struct {
	membership Membership
	index0     bool
	number     uint64
	since      int64
}

func (m partitionMember) of(k MemberKey) PartitionMember {
	return PartitionMember{k, m.membership, m.index0, m.number, m.since}
}

// PutPartition makes a partition of callers, or gives it other values. Its members stay.
type PutPartition struct{ Partition }

// DeletePartition deletes a partition of callers with its members.
type DeletePartition struct{ FormerPartition }

// PutPartitionMember makes a port or host a member, or gives a member other values.
type PutPartitionMember struct{ PartitionMember }

// DeletePartitionMember takes a member out.
type DeletePartitionMember struct{ MemberKey }

// PutFormerPartition restores what is remembered of a partition that was deleted.
type PutFormerPartition struct{ FormerPartition }

// DeleteFormerPartition forgets it.
type DeleteFormerPartition struct{ Key mad.PKey }

// Kind is KindPutPartition.
func (PutPartition) Kind() Kind { return KindPutPartition }

// Kind is KindDeletePartition.
func (DeletePartition) Kind() Kind { return KindDeletePartition }

// Kind is KindPutPartitionPort or KindPutPartitionHost.
func (c PutPartitionMember) Kind() Kind { return c.either(KindPutPartitionPort, KindPutPartitionHost) }

// Kind is KindDeletePartitionPort or KindDeletePartitionHost.
func (c DeletePartitionMember) Kind() Kind {
	return c.either(KindDeletePartitionPort, KindDeletePartitionHost)
}

// Kind is KindPutFormerPartition.
func (PutFormerPartition) Kind() Kind { return KindPutFormerPartition }

// Kind is KindDeleteFormerPartition.
func (DeleteFormerPartition) Kind() Kind { return KindDeleteFormerPartition }

func (k *MemberKey) either(port, host Kind) Kind {
	if k.Host != "" {
		return host
	}
	return port
}

// Sizes of fields.
const (
	partitionSize = 2 + MaxPartitionName + MaxPartitionNote + 1 + 1 + 1 + 1 + 1 + 4 + 1 + 8 + 8
	formerSize    = 2 + 8 + 8
	portKeySize   = 2 + 8
	hostKeySize   = 2 + MaxHostName
	memberSize    = 1 + 1 + 8 + 8
)

// AppendTo implements Change.
func (c PutPartition) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(append(b, byte(KindPutPartition)), uint16(c.Key))
	b = appendText(appendText(b, c.Name, MaxPartitionName), c.Note, MaxPartitionNote)
	b = append(appendFlag(b, c.IPoIB), uint8(c.MTU), uint8(c.Rate), c.SL, c.Scope)
	b = appendFlag(binary.BigEndian.AppendUint32(b, c.QKey), c.DeleteWhenEmpty)
	return appendNumber(b, c.Number, c.Since)
}

// AppendTo implements Change.
func (c DeletePartition) AppendTo(b []byte) []byte { return c.appendTo(append(b, byte(c.Kind()))) }

// AppendTo implements Change.
func (c PutFormerPartition) AppendTo(b []byte) []byte { return c.appendTo(append(b, byte(c.Kind()))) }

// AppendTo implements Change.
func (c DeleteFormerPartition) AppendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint16(append(b, byte(c.Kind())), uint16(c.Key))
}

func (p *FormerPartition) appendTo(b []byte) []byte {
	return appendNumber(binary.BigEndian.AppendUint16(b, uint16(p.Key)), p.Number, p.Since)
}

// AppendTo implements Change.
func (c PutPartitionMember) AppendTo(b []byte) []byte {
	b = c.appendTo(append(b, byte(c.Kind())))
	return appendNumber(appendFlag(append(b, uint8(c.Membership)), c.Index0), c.Number, c.Since)
}

// AppendTo implements Change.
func (c DeletePartitionMember) AppendTo(b []byte) []byte {
	return c.appendTo(append(b, byte(c.Kind())))
}

func (k *MemberKey) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(k.Key))
	if k.Host != "" {
		return appendText(b, k.Host, MaxHostName)
	}
	return binary.BigEndian.AppendUint64(b, uint64(k.Port))
}

// appendText appends a text, and zeros up to its greatest length.
func appendText(b []byte, text string, most int) []byte {
	return append(append(b, text...), make([]byte, most-len(text))...)
}

func appendNumber(b []byte, number uint64, since int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, number), uint64(since))
}

// text reads a text. One with a zero inside, or anything behind one, would be another text after it was written again.
func (r *reader) text(most int) string {
	field := r.take(most)
	text := bytes.TrimRight(field, "\x00")
	r.bad = r.bad || bytes.IndexByte(text, 0) >= 0
	return string(text)
}

func (r *reader) partition() Partition {
	return Partition{
		Key: mad.PKey(r.u16()), Name: r.text(MaxPartitionName), Note: r.text(MaxPartitionNote), IPoIB: r.flag(),
		MTU: mad.MTU(r.u8()), Rate: mad.Rate(r.u8()), SL: r.u8(), Scope: r.u8(), QKey: r.u32(),
		DeleteWhenEmpty: r.flag(), Number: r.u64(), Since: int64(r.u64()),
	}
}

func (r *reader) former() FormerPartition {
	return FormerPartition{mad.PKey(r.u16()), r.u64(), int64(r.u64())}
}

func (r *reader) portKey() MemberKey {
	return MemberKey{Key: mad.PKey(r.u16()), Port: mad.GUID(r.u64())}
}
func (r *reader) hostKey() MemberKey {
	return MemberKey{Key: mad.PKey(r.u16()), Host: r.text(MaxHostName)}
}

func (r *reader) partitionMember(k MemberKey) PartitionMember {
	return PartitionMember{k, Membership(r.u8()), r.flag(), r.u64(), int64(r.u64())}
}

// PartitionTerm is a mastership term in which callers changed partitions: it distinguishes changes that two managers
// have made with the same numbers, each as master of a half of a subnet.
type PartitionTerm struct {
	First   uint64   // number of the first change of the term
	Manager mad.GUID // its port
	Began   uint64   // nanoseconds since 1970
}

// maxPartitionTerms is how many of them are remembered; older ones are forgotten.
const maxPartitionTerms = 64

// PartitionTerms iterates over the terms in which callers changed partitions, oldest first.
func (s *State) PartitionTerms() iter.Seq[PartitionTerm] {
	return func(yield func(PartitionTerm) bool) {
		for _, t := range s.partitionTerms.all() {
			if !yield(t) {
				return
			}
		}
	}
}

// PutPartitionTerm says in which term the changes from a number on were made.
type PutPartitionTerm struct{ PartitionTerm }

// DeletePartitionTerm forgets it.
type DeletePartitionTerm struct{ First uint64 }

// Kind is KindPutPartitionTerm.
func (PutPartitionTerm) Kind() Kind { return KindPutPartitionTerm }

// Kind is KindDeletePartitionTerm.
func (DeletePartitionTerm) Kind() Kind { return KindDeletePartitionTerm }

// AppendTo implements Change.
func (c PutPartitionTerm) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, byte(c.Kind())), c.First)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(c.Manager)), c.Began)
}

// AppendTo implements Change.
func (c DeletePartitionTerm) AppendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint64(append(b, byte(c.Kind())), c.First)
}

func (c PutPartitionTerm) check() error {
	if c.First == 0 {
		return fmt.Errorf("partitions: a term of %s has no first change", c.Manager)
	}
	return nil
}

func (c DeletePartitionTerm) check() error { return nil }

func (c PutPartitionTerm) apply(r *Registry) error {
	r.partitionTerms.put(r.owner, c.First, c.PartitionTerm)
	r.partitionTerms.bound(r.owner, maxPartitionTerms)
	return nil
}

func (c DeletePartitionTerm) apply(r *Registry) error {
	if !r.partitionTerms.remove(r.owner, c.First) {
		return fmt.Errorf("partitions: the term from change %d is not known", c.First)
	}
	return nil
}

// checkPartitionKey reports a P_Key that no partition has.
func checkPartitionKey(key mad.PKey) error {
	if key != key.Base() || !key.Valid() {
		return fmt.Errorf("partition %s: its P_Key must be from 0x1 to 0x7fff", key)
	}
	return nil
}

func (c PutPartition) check() error {
	switch {
	case c.Name == "" || len(c.Name) > MaxPartitionName || strings.IndexByte(c.Name, 0) >= 0:
		return fmt.Errorf("partition %s: its name must have 1 to %d bytes, none of them 0", c.Key, MaxPartitionName)
	case len(c.Note) > MaxPartitionNote || strings.IndexByte(c.Note, 0) >= 0:
		return fmt.Errorf("partition %s: its note must have at most %d bytes, none of them 0", c.Key, MaxPartitionNote)
	case c.SL > 15 || c.Scope > 15:
		return fmt.Errorf("partition %s: SL %d and scope %d must be from 0 to 15", c.Key, c.SL, c.Scope)
	case c.Number == 0:
		return fmt.Errorf("partition %s: its change has no number", c.Key)
	}
	return checkPartitionKey(c.Key)
}

func (p *FormerPartition) check() error {
	if p.Number == 0 {
		return fmt.Errorf("partition %s: its deletion has no number", p.Key)
	}
	return checkPartitionKey(p.Key)
}

func (c DeletePartition) check() error    { return c.FormerPartition.check() }
func (c PutFormerPartition) check() error { return c.FormerPartition.check() }

func (c DeleteFormerPartition) check() error { return checkPartitionKey(c.Key) }

func (k *MemberKey) check() error {
	if (k.Port == 0) == (k.Host == "") {
		return fmt.Errorf("partition %s: a member is either a port or a host", k.Key)
	}
	if len(k.Host) > MaxHostName || strings.IndexByte(k.Host, 0) >= 0 {
		return fmt.Errorf("partition %s: the name of a host has at most %d bytes, none of them 0", k.Key, MaxHostName)
	}
	return checkPartitionKey(k.Key)
}

func (c PutPartitionMember) check() error {
	if c.Membership == 0 || c.Membership > maxMembership || c.Number == 0 {
		return fmt.Errorf("partition %s: a member has membership %d and number %d", c.Key, c.Membership, c.Number)
	}
	return c.MemberKey.check()
}

func (c DeletePartitionMember) check() error { return c.MemberKey.check() }

func (c PutPartition) apply(r *Registry) error {
	if key, taken := r.partitionNames.get(c.Name); taken && key != c.Key {
		return fmt.Errorf("partition %s: %s has its name %q", c.Key, key, c.Name)
	}
	if was, is := r.partitions.get(c.Key); is && was.Name != c.Name {
		r.partitionNames.remove(r.owner, was.Name)
	}
	r.partitions.put(r.owner, c.Key, c.Partition)
	r.partitionNames.put(r.owner, c.Name, c.Key)
	r.formerPartitions.remove(r.owner, c.Key)
	r.partitionNumber = max(r.partitionNumber, c.Number)
	return nil
}

func (c DeletePartition) apply(r *Registry) error {
	was, is := r.partitions.get(c.Key)
	if !is {
		return fmt.Errorf("partition %s: deleted, but there is none", c.Key)
	}
	var members []MemberKey
	for m := range r.PartitionMembers(c.Key) {
		members = append(members, m.MemberKey)
	}
	for _, k := range members {
		r.partitionMembers.remove(r.owner, k)
	}
	r.partitions.remove(r.owner, c.Key)
	r.partitionNames.remove(r.owner, was.Name)
	return PutFormerPartition(c).apply(r)
}

func (c PutFormerPartition) apply(r *Registry) error {
	if _, is := r.partitions.get(c.Key); is {
		return fmt.Errorf("partition %s: it is not deleted", c.Key)
	}
	r.formerPartitions.put(r.owner, c.Key, c.FormerPartition)
	r.partitionNumber = max(r.partitionNumber, c.Number)
	return nil
}

func (c DeleteFormerPartition) apply(r *Registry) error {
	if !r.formerPartitions.remove(r.owner, c.Key) {
		return fmt.Errorf("partition %s: forgotten, but it is not remembered", c.Key)
	}
	return nil
}

func (c PutPartitionMember) apply(r *Registry) error {
	if _, is := r.partitions.get(c.Key); !is {
		return fmt.Errorf("partition %s: it has a member, but there is none", c.Key)
	}
	r.partitionMembers.put(r.owner, c.MemberKey, partitionMember{c.Membership, c.Index0, c.Number, c.Since})
	r.partitionNumber = max(r.partitionNumber, c.Number)
	return nil
}

func (c DeletePartitionMember) apply(r *Registry) error {
	if !r.partitionMembers.remove(r.owner, c.MemberKey) {
		return fmt.Errorf("partition %s: a member was taken out that it has not", c.Key)
	}
	return nil
}

func compareMemberKeys(a, b MemberKey) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Host, b.Host))
}

// PartitionChanges iterates over the Changes, of those of Changes, that make the partitions of callers.
func (s *State) PartitionChanges() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for p := range s.Partitions() {
			if !yield(PutPartition{p}) {
				return
			}
		}
		for k, m := range s.partitionMembers.all() {
			if !yield(PutPartitionMember{m.of(k)}) {
				return
			}
		}
		for p := range s.FormerPartitions() {
			if !yield(PutFormerPartition{p}) {
				return
			}
		}
		for t := range s.PartitionTerms() {
			if !yield(PutPartitionTerm{t}) {
				return
			}
		}
		for e := range s.PartitionEdits() {
			if !yield(PutPartitionEdit{e}) {
				return
			}
		}
	}
}

// PartitionsTo are the Changes that make the partitions of callers of s those of to.
func (s *State) PartitionsTo(to *State) (changes []Change) {
	do := func(c Change) { changes = append(changes, c) }
	for p := range s.Partitions() {
		if t, stays := to.Partition(p.Key); !stays || t.Name != p.Name {
			do(DeletePartition{FormerPartition{p.Key, p.Number, p.Since}})
			if _, comes := to.FormerPartition(p.Key); !stays && !comes {
				do(DeleteFormerPartition{p.Key})
			}
			continue
		}
		for m := range s.PartitionMembers(p.Key) {
			if _, stays := to.PartitionMember(m.MemberKey); !stays {
				do(DeletePartitionMember{m.MemberKey})
			}
		}
	}
	for p := range s.FormerPartitions() {
		_, stays := to.FormerPartition(p.Key)
		if _, replaced := to.Partition(p.Key); !stays && !replaced {
			do(DeleteFormerPartition{p.Key})
		}
	}
	for p := range to.Partitions() {
		was, is := s.Partition(p.Key)
		if was != p {
			do(PutPartition{p})
		}
		again := is && was.Name != p.Name // it was deleted
		for m := range to.PartitionMembers(p.Key) {
			if had, is := s.PartitionMember(m.MemberKey); !is || again || had != m {
				do(PutPartitionMember{m})
			}
		}
	}
	for p := range to.FormerPartitions() {
		if had, is := s.FormerPartition(p.Key); !is || had != p {
			do(PutFormerPartition{p})
		}
	}
	for t := range s.PartitionTerms() {
		if _, stays := to.partitionTerms.get(t.First); !stays {
			do(DeletePartitionTerm{t.First})
		}
	}
	for t := range to.PartitionTerms() {
		if had, _ := s.partitionTerms.get(t.First); had != t {
			do(PutPartitionTerm{t})
		}
	}
	for e := range s.PartitionEdits() {
		if _, stays := to.PartitionEdit(e.Number); !stays {
			do(DeletePartitionEdit{e.Number})
		}
	}
	for e := range to.PartitionEdits() {
		if had, _ := s.PartitionEdit(e.Number); had != e {
			do(PutPartitionEdit{e})
		}
	}
	return changes
}
