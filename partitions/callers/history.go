package callers

import (
	"slices"

	"ibsm/registry"
)

// remembered are the Changes of an order about a partition, with the edit that remembers them.
func (o *order) remembered(changes []registry.Change, p *registry.Partition, kind registry.EditKind) []registry.Change {
	e := registry.PartitionEdit{Number: o.number, Since: o.rules.Now, Key: p.Key, Name: p.Name, Kind: kind}
	var undo []byte
	for _, c := range slices.Backward(changes) {
		switch c := c.(type) {
		case registry.PutPartitionMember:
			e.Put++
		case registry.DeletePartitionMember:
			e.Removed++
		case registry.DeletePartition:
			for range o.state.PartitionMembers(c.Key) {
				e.Removed++
			}
		}
		if len(undo) <= registry.MaxUndo {
			undo = o.appendReverse(undo, c)
		}
	}
	if len(undo) <= registry.MaxUndo {
		e.Undo = string(undo)
	}
	return append(changes, registry.PutPartitionEdit{PartitionEdit: e})
}

// appendReverse appends the Changes that take a Change of the State back.
func (o *order) appendReverse(b []byte, c registry.Change) []byte {
	switch c := c.(type) {
	case registry.PutPartition:
		if was, is := o.state.Partition(c.Key); is {
			return registry.PutPartition{Partition: was}.AppendTo(b)
		}
		return registry.DeletePartition{FormerPartition: registry.FormerPartition{Key: c.Key, Number: c.Number,
			Since: c.Since}}.AppendTo(b)
	case registry.DeletePartition:
		was, _ := o.state.Partition(c.Key)
		b = registry.PutPartition{Partition: was}.AppendTo(b)
		for m := range o.state.PartitionMembers(c.Key) {
			if b = (registry.PutPartitionMember{PartitionMember: m}).AppendTo(b); len(b) > registry.MaxUndo {
				break
			}
		}
	case registry.PutPartitionMember:
		if was, is := o.state.PartitionMember(c.MemberKey); is {
			return registry.PutPartitionMember{PartitionMember: was}.AppendTo(b)
		}
		return registry.DeletePartitionMember{MemberKey: c.MemberKey}.AppendTo(b)
	case registry.DeletePartitionMember:
		was, _ := o.state.PartitionMember(c.MemberKey)
		return registry.PutPartitionMember{PartitionMember: was}.AppendTo(b)
	}
	return b
}

// Undo takes the change with a number back, if it is the last one of its partition. That is a change, too, with a
// number of its own.
func (r *Rules) Undo(state *registry.State, number uint64) (*Done, error) {
	e, known := state.PartitionEdit(number)
	if !known || r.own(e.Name, e.Key) != nil { // users see no change but their own
		return nil, refuse(Missing, "", "change %d is not among the last ones that are remembered: see the history", number)
	}
	now, is := state.Partition(e.Key)
	former, was := state.FormerPartition(e.Key)
	switch {
	case is && now.Number != number:
		return nil, refuse(Conflict, "", "partition %q has been changed since, by change %d: take that one back first",
			now.Name, now.Number)
	case !is && (!was || former.Number != number):
		return nil, refuse(Conflict, "", "partition %q has been deleted since, by change %d: take that one back first",
			e.Name, former.Number)
	case e.Undo == "":
		return nil, refuse(Conflict, "", "change %d of partition %q is too long to be remembered whole: put the partition",
			number, e.Name)
	}
	o := r.order(state)
	next, exists, err := o.undo(&e, now, is)
	if err != nil {
		return nil, err
	}
	if exists {
		if err := r.fileHas(next.Key, next.Name); err != nil {
			return nil, err
		}
	}
	next.Number, next.Since = o.number, r.Now
	kind := registry.PartitionChanged
	switch {
	case !exists:
		kind = registry.PartitionDeleted
	case !is:
		kind = registry.PartitionCreated
	}
	return &Done{Changes: o.remembered(o.changes, &next, kind), Partition: next, Created: exists && !is,
		Deleted: !exists}, nil
}

// undo makes the Changes that take an edit back, of a partition as it is now, and returns what it becomes.
func (o *order) undo(e *registry.PartitionEdit, now registry.Partition, is bool) (registry.Partition, bool, error) {
	next, exists := now, is
	for b := []byte(e.Undo); len(b) > 0; {
		c, rest, err := registry.Decode(b)
		if err != nil {
			return next, false, err
		}
		switch put := c.(type) {
		case registry.PutPartition:
			if other, taken := o.state.PartitionNamed(put.Name); taken && other.Key != e.Key {
				return next, false, o.rules.taken("name", other.Name, other.Key, "P_Key %s has the name %q now", other.Key,
					put.Name)
			}
			if other, taken := o.state.Partition(put.Key); taken && put.Key != e.Key {
				return next, false, o.rules.taken("pkey", other.Name, put.Key, "partition %q has P_Key %s now", other.Name,
					put.Key)
			}
			put.Number, put.Since = o.number, o.rules.Now
			next, exists, c = put.Partition, true, put
		case registry.DeletePartition:
			put.Number, put.Since = o.number, o.rules.Now
			exists, c = false, put
		case registry.PutPartitionMember:
			put.Number, put.Since = o.number, o.rules.Now
			o.putMember(put.PartitionMember)
			b = rest
			continue
		}
		o.do(c)
		b = rest
	}
	if exists && o.rules.own(next.Name, next.Key) != nil {
		return next, false, o.rules.own(next.Name, next.Key)
	}
	return next, exists, o.checkMembers()
}
