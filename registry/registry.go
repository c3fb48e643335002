package registry

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"

	"ibsm/mad"
)

// State is what is registered at one moment. All its iterations are in order of keys,
// so that equal States answer alike.
//
// One that Freeze returned never changes and is for any number of readers. The one
// inside a Registry is its owner's, and copying that does not freeze it.
type State struct {
	seq           uint64
	groups        table[mad.GID, group]
	members       table[memberKey, membership]
	joined        table[memberKey, struct{}] // members by port: the keys' halves change places
	mlids         table[mlidKey, struct{}]
	services      table[ServiceKey, *Service]
	subscriptions table[SubscriptionKey, Destination]
	aliases       table[Slot, mad.GUID]
	slots         table[mad.GUID, Slot] // aliases by GUID
	grhPorts      table[mad.GUID, struct{}]
	neighbors     table[End, End]

	partitions       table[mad.PKey, Partition] // those of callers
	partitionNames   table[string, mad.PKey]
	partitionMembers table[MemberKey, partitionMember]
	formerPartitions table[mad.PKey, FormerPartition]
	partitionTerms   table[uint64, PartitionTerm] // by First
	partitionEdits   table[uint64, PartitionEdit] // by Number
	partitionNumber  uint64                       // the highest of all
}

// Seq is the number of the last Change.
func (s *State) Seq() uint64 { return s.seq }

// Counts is how much is registered.
type Counts struct {
	Groups, Members, Services, Subscriptions, Aliases, GRHPorts, Neighbors, Partitions, PartitionMembers int
}

// Counts returns how much is registered.
func (s *State) Counts() Counts {
	return Counts{s.groups.count, s.members.count, s.services.count, s.subscriptions.count, s.aliases.count,
		s.grhPorts.count, s.neighbors.count, s.partitions.count, s.partitionMembers.count}
}

// Changes iterates over Changes that make an empty Registry this State, but for its
// number; see Restore.
func (s *State) Changes() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for _, g := range s.groups.all() {
			if !yield(PutGroup{g.Group}) {
				return
			}
		}
		for k, m := range s.members.all() {
			if !yield(PutMember{k.member(m)}) {
				return
			}
		}
		for _, v := range s.services.all() {
			if !yield(PutService{*v}) {
				return
			}
		}
		for k, d := range s.subscriptions.all() {
			if !yield(PutSubscription{Subscription{k, d}}) {
				return
			}
		}
		for k, g := range s.aliases.all() {
			if !yield(PutAlias{Alias{k, g}}) {
				return
			}
		}
		s.Unlisted()(yield)
	}
}

// Unlisted iterates over the Changes, of those of Changes, that make what neither tables of the SA nor files of OpenSM
// have: ports that demand a GRH, neighbors, and partitions of callers.
func (s *State) Unlisted() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for port := range s.grhPorts.all() {
			if !yield(PutGRHPort{port}) {
				return
			}
		}
		for at, far := range s.neighbors.all() {
			if !yield(PutNeighbor{at, far}) {
				return
			}
		}
		s.PartitionChanges()(yield)
	}
}

// Registry is a State that changes. It is for one goroutine, its owner.
type Registry struct {
	State
	owner *owner
	use   mlidUse
}

// New is an empty Registry, number 0.
func New() *Registry {
	return &Registry{
		State: State{
			groups:        table[mad.GID, group]{compare: compareGIDs},
			members:       table[memberKey, membership]{compare: compareMembers},
			joined:        table[memberKey, struct{}]{compare: compareMembers},
			mlids:         table[mlidKey, struct{}]{compare: compareMLIDs},
			services:      table[ServiceKey, *Service]{compare: compareServices},
			subscriptions: table[SubscriptionKey, Destination]{compare: compareSubscriptions},
			aliases:       table[Slot, mad.GUID]{compare: compareSlots},
			slots:         table[mad.GUID, Slot]{compare: cmp.Compare[mad.GUID]},
			grhPorts:      table[mad.GUID, struct{}]{compare: cmp.Compare[mad.GUID]},
			neighbors:     table[End, End]{compare: End.Compare},

			partitions:       table[mad.PKey, Partition]{compare: cmp.Compare[mad.PKey]},
			partitionNames:   table[string, mad.PKey]{compare: cmp.Compare[string]},
			partitionMembers: table[MemberKey, partitionMember]{compare: compareMemberKeys},
			formerPartitions: table[mad.PKey, FormerPartition]{compare: cmp.Compare[mad.PKey]},
			partitionTerms:   table[uint64, PartitionTerm]{compare: cmp.Compare[uint64]},
			partitionEdits:   table[uint64, PartitionEdit]{compare: cmp.Compare[uint64]},
		},
		owner: &owner{},
	}
}

// Restore makes a Registry of the Changes of a State and gives it that State's number.
func Restore(seq uint64, changes iter.Seq2[Change, error]) (*Registry, error) {
	r := New()
	for c, err := range changes {
		if err != nil {
			return nil, err
		}
		if err := r.Apply(c); err != nil {
			return nil, err
		}
	}
	r.seq = seq
	return r, nil
}

// Apply makes a Change and raises Seq by one. A Change that cannot be made leaves the
// Registry as it is.
func (r *Registry) Apply(c Change) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if err := c.apply(r); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	r.seq++
	return nil
}

// Freeze returns the present State. It takes the same short time however much is
// registered.
func (r *Registry) Freeze() *State {
	r.owner = &owner{}
	s := r.State
	return &s
}

func compareGIDs(a, b mad.GID) int { return bytes.Compare(a[:], b[:]) }
