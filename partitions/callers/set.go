package callers

import (
	"slices"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/registry"
)

// Set is the partitions of callers in the form of a policy. It is immutable; nil is the empty one: no caller has, or
// had, a P_Key.
type Set struct {
	number uint64
	parts  []partitions.Partition // in order of P_Key
	former []mad.PKey             // of partitions that were deleted
}

// Of is the Set of a State. It shares what has not changed with the Set of an earlier one, which may be nil, and is
// that one if nothing has changed.
func Of(state *registry.State, was *Set) *Set {
	number := state.PartitionNumber()
	if number == 0 {
		return nil
	}
	old := map[mad.PKey]*partitions.Partition{}
	if was != nil {
		for i := range was.parts {
			old[was.parts[i].Key] = &was.parts[i]
		}
	}
	s := &Set{number: number}
	same := was != nil && was.number == number
	for p := range state.Partitions() {
		if had := old[p.Key]; had != nil && had.Number == p.Number && had.Name == p.Name {
			s.parts = append(s.parts, *had)
			continue
		}
		same = false
		s.parts = append(s.parts, partitionOf(state, &p))
	}
	for f := range state.FormerPartitions() {
		s.former = append(s.former, f.Key)
	}
	switch {
	case len(s.parts)+len(s.former) == 0:
		return nil
	case same && len(s.parts) == len(was.parts) && slices.Equal(s.former, was.former):
		return was
	}
	return s
}

// linkLocal is the scope of a group that stays in its subnet.
const linkLocal = 2

// partitionOf is a partition of callers as a policy has it.
func partitionOf(state *registry.State, p *registry.Partition) partitions.Partition {
	part := partitions.Partition{Name: p.Name, Key: p.Key, IPoIB: p.IPoIB, SL: p.SL, Number: p.Number}
	for m := range state.PartitionMembers(p.Key) {
		member := partitions.Member{Who: partitions.OnePort, Port: m.Port,
			Membership: partitions.Membership(m.Membership), Index0: m.Index0, Number: m.Number}
		if m.Host != "" {
			member.Who, member.Name = partitions.Hosts, m.Host
		}
		part.Members = append(part.Members, member)
	}
	if !p.IPoIB {
		return part
	}
	g := partitions.Group{QKey: p.QKey, MTU: p.MTU, Rate: p.Rate, SL: p.SL}
	if g.QKey == 0 {
		g.QKey = partitions.IPoIBQKey
	}
	if g.MTU == 0 {
		g.MTU, g.AnyMTU = partitions.DefaultMTU, true
	}
	if g.Rate == 0 {
		g.Rate, g.AnyRate = partitions.DefaultRate, true
	}
	scopes := []uint8{linkLocal}
	if p.Scope != 0 && p.Scope != linkLocal {
		scopes = append(scopes, p.Scope)
	}
	for _, scope := range scopes {
		g.MGID = registry.BroadcastMGID(p.Key, scope)
		part.Groups = append(part.Groups, g)
	}
	return part
}

// Beside is the policy of a file, nil where there is none, with those partitions of the Set that the file leaves to
// callers. Without a file, only the P_Keys that callers have, or had, are the policy's; the policy of nobody is nil.
func (s *Set) Beside(file *partitions.Policy) *partitions.Policy {
	if s == nil {
		return file
	}
	base, owned := file, []mad.PKey(nil)
	if file == nil {
		base, owned = partitions.Default(), slices.Clone(s.former)
		for i := range s.parts {
			owned = append(owned, s.parts[i].Key)
		}
		slices.Sort(owned)
	}
	has := newOwner(file)
	parts, held := make([]partitions.Partition, 0, len(s.parts)), []partitions.Held(nil)
	for _, p := range s.parts {
		if by := has.of(p.Key, p.Name); by != nil {
			held = append(held, partitions.Held{Name: p.Name, Key: p.Key, By: by})
		} else {
			parts = append(parts, p)
		}
	}
	merged := base.WithPartitions(parts, s.number, owned)
	merged.Held = held
	return merged
}

// Part is a policy of those partitions of a policy that callers have put.
func Part(merged *partitions.Policy) *partitions.Policy {
	return &partitions.Policy{Partitions: slices.DeleteFunc(slices.Clone(merged.Partitions),
		func(p partitions.Partition) bool { return p.Number == 0 })}
}

// owner finds which partition of a file has a P_Key or a name.
type owner struct {
	byKey  map[mad.PKey]*partitions.Partition
	byName map[string]*partitions.Partition
}

// newOwner is for the policy of a file, which may be nil, or one that has partitions of callers too.
func newOwner(file *partitions.Policy) owner {
	o := owner{map[mad.PKey]*partitions.Partition{}, map[string]*partitions.Partition{}}
	if file == nil {
		return o
	}
	for i := range file.Partitions {
		if p := &file.Partitions[i]; p.Number == 0 {
			o.byKey[p.Key] = p
			if p.Name != "" && o.byName[p.Name] == nil {
				o.byName[p.Name] = p
			}
		}
	}
	return o
}

// of is the partition that has a P_Key or a name; nil for none.
func (o *owner) of(key mad.PKey, name string) *partitions.Partition {
	if p := o.byKey[key.Base()]; p != nil {
		return p
	}
	return o.byName[name]
}
