package callers

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/registry"
)

// Common is the number of the last change that two States have both. A later change of one of them is none of the
// other, also where it has the same number: two managers have made them, each as master of a half of a subnet.
func Common(a, b *registry.State) (number uint64) {
	other := map[registry.PartitionTerm]uint64{} // the last change of each term
	for t, last := range terms(b) {
		other[t] = last
	}
	for t, last := range terms(a) {
		if theirs, is := other[t]; is {
			number = max(number, min(last, theirs))
		}
	}
	return number
}

// terms iterates over the terms of a State, each with the number of its last change.
func terms(s *registry.State) func(yield func(registry.PartitionTerm, uint64) bool) {
	return func(yield func(registry.PartitionTerm, uint64) bool) {
		all := slices.Collect(s.PartitionTerms())
		for i, t := range all {
			last := s.PartitionNumber()
			if i+1 < len(all) {
				last = all[i+1].First - 1
			}
			if !yield(t, last) {
				return
			}
		}
	}
}

// Lacks reports whether a State lacks changes that another one has.
func Lacks(s, other *registry.State) bool { return Common(s, other) < other.PartitionNumber() }

// Join are the Changes that bring the partitions of another State into a State. If only the other has changes that both
// do not have, it is taken as it is. If both have, a partition that one of them has changed is as that one has it, one
// that both have changed is as the newer change made it, with the members of both, and one that one of them has changed
// and the other deleted stays. differ names the partitions that both have changed, for a message.
func Join(own, other *registry.State, term registry.PartitionTerm, now int64) (changes []registry.Change,
	differ []string) {
	common := Common(own, other)
	switch {
	case other.PartitionNumber() <= common:
		return nil, nil
	case own.PartitionNumber() <= common:
		return own.PartitionsTo(other), nil
	}
	j := joining{own: own, other: other, common: common, to: registry.New(), now: now,
		number: max(own.PartitionNumber(), other.PartitionNumber()) + 1}
	keys := map[mad.PKey]bool{}
	for _, s := range []*registry.State{own, other} {
		for p := range s.Partitions() {
			keys[p.Key] = true
		}
		for p := range s.FormerPartitions() {
			keys[p.Key] = true
		}
	}
	// in an order that does not depend on chance; those of this State first, so that they keep their names
	for _, whose := range []outcome{ofOwn, ofBoth, ofOther, ofNobody} {
		for key := range mad.PKey(1 << 15) {
			if keys[key] && j.decide(key) == whose {
				j.join(key, whose)
			}
		}
	}
	for t := range own.PartitionTerms() {
		j.put(registry.PutPartitionTerm{PartitionTerm: t})
	}
	for e := range own.PartitionEdits() {
		j.put(registry.PutPartitionEdit{PartitionEdit: e})
	}
	term.First = j.number
	j.put(registry.PutPartitionTerm{PartitionTerm: term})
	return own.PartitionsTo(&j.to.State), j.differ
}

// joining is a Join under way.
type joining struct {
	own, other *registry.State
	common     uint64
	number     uint64 // of the change that joins
	now        int64
	to         *registry.Registry
	differ     []string
}

// put makes a Change of the joined State. By the rules of join it can be made.
func (j *joining) put(c registry.Change) { _ = j.to.Apply(c) }

// outcome is whose partition with a P_Key is taken.
type outcome uint8

const (
	ofNobody outcome = iota // there is none any more
	ofOwn
	ofOther
	ofBoth
)

// decide says whose partition with a P_Key is taken.
func (j *joining) decide(key mad.PKey) outcome {
	mine, isMine := j.own.Partition(key)
	theirs, isTheirs := j.other.Partition(key)
	former, _ := j.own.FormerPartition(key)
	gone, _ := j.other.FormerPartition(key)
	changed := max(mine.Number, former.Number) > j.common
	theyChanged := max(theirs.Number, gone.Number) > j.common
	switch {
	case isMine && isTheirs && changed && theyChanged:
		return ofBoth
	case isTheirs && theyChanged:
		return ofOther
	case isMine && (changed || !theyChanged):
		return ofOwn
	}
	return ofNobody
}

// join takes the partition with a P_Key.
func (j *joining) join(key mad.PKey, whose outcome) {
	mine, _ := j.own.Partition(key)
	theirs, _ := j.other.Partition(key)
	switch whose {
	case ofOwn:
		j.take(j.own, mine)
	case ofOther:
		j.take(j.other, theirs)
	case ofBoth:
		j.both(mine, theirs)
	case ofNobody:
		former, was := j.own.FormerPartition(key)
		gone, is := j.other.FormerPartition(key)
		if is && (!was || gone.Number > j.common && gone.Number > former.Number) {
			former = gone
		}
		j.put(registry.PutFormerPartition{FormerPartition: former})
	}
}

// take takes a partition as a State has it, or under another name where another partition has its name. That of the
// other State was changed by the join: its number there is that of another change here.
func (j *joining) take(from *registry.State, p registry.Partition) {
	if from == j.other {
		p.Number, p.Since = j.number, j.now
	}
	j.name(&p)
	j.put(registry.PutPartition{Partition: p})
	for m := range from.PartitionMembers(p.Key) {
		j.put(registry.PutPartitionMember{PartitionMember: m})
	}
}

// name makes the name of a partition its own, where another one has it already.
func (j *joining) name(p *registry.Partition) {
	other, taken := j.to.PartitionNamed(p.Name)
	if !taken {
		return
	}
	was := p.Name
	for n := 0; taken; n++ {
		suffix := fmt.Sprintf("-%04x", uint16(p.Key))
		if n > 0 {
			suffix += fmt.Sprintf("-%d", n)
		}
		p.Name = was[:min(len(was), registry.MaxPartitionName-len(suffix))] + suffix
		_, taken = j.to.PartitionNamed(p.Name)
	}
	p.Number, p.Since = j.number, j.now
	j.differ = append(j.differ, fmt.Sprintf("%s (P_Key %s is now %s)", other.Name, p.Key, p.Name))
}

// both joins a partition that both have changed.
func (j *joining) both(mine, theirs registry.Partition) {
	newer, older, from := mine, theirs, [2]*registry.State{j.other, j.own}
	if theirs.Number > mine.Number || theirs.Number == mine.Number && theirs.Since > mine.Since {
		newer, older, from = theirs, mine, [2]*registry.State{j.own, j.other}
	}
	newer.Number, newer.Since = j.number, j.now
	if !strings.Contains(newer.Name, older.Name) {
		j.differ = append(j.differ, older.Name+", now "+newer.Name)
	} else {
		j.differ = append(j.differ, newer.Name)
	}
	j.name(&newer)
	j.put(registry.PutPartition{Partition: newer})
	for _, s := range from { // the members of the newer one last, so that what they are is as there
		for m := range s.PartitionMembers(newer.Key) {
			j.put(registry.PutPartitionMember{PartitionMember: m})
		}
	}
}
