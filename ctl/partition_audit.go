package ctl

import (
	"fmt"

	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/registry"
)

// PartitionValues is a partition before or after a change, as an audit has it.
type PartitionValues struct {
	Name            string  `json:"name"`
	PKey            string  `json:"pkey"`
	Number          uint64  `json:"number"`
	Note            string  `json:"note,omitempty"`
	IPoIB           bool    `json:"ipoib"`
	MTU             int     `json:"mtu,omitempty"`  // bytes
	Rate            float64 `json:"rate,omitempty"` // Gb/s
	SL              uint8   `json:"sl,omitempty"`
	Scope           uint8   `json:"scope,omitempty"`
	QKey            string  `json:"qkey,omitempty"`
	DeleteWhenEmpty bool    `json:"delete_when_empty,omitempty"`
	// Members are those that the change adds, changes or removes: the first 64 of them, by GUID or the name of a host.
	// More is the number of others.
	Members map[string]string `json:"members,omitempty"`
	More    int               `json:"more,omitempty"`
}

// listedMembers bounds the members of PartitionValues.
const listedMembers = 64

// PartitionChange is what an order changes in a state; nil where there was no partition, or is none.
func PartitionChange(state *registry.State, done *callers.Done) (before, after *PartitionValues) {
	if len(done.Changes) == 0 {
		return nil, nil
	}
	was, is := state.Partition(done.Partition.Key)
	if named, moved := state.PartitionNamed(done.Partition.Name); moved {
		was, is = named, true
	}
	if is {
		before = valuesOf(&was)
	}
	if !done.Deleted {
		after = valuesOf(&done.Partition)
	}
	for _, c := range done.Changes {
		switch c := c.(type) {
		case registry.PutPartitionMember:
			if m, had := state.PartitionMember(c.MemberKey); had {
				before.member(&m)
			}
			after.member(&c.PartitionMember)
		case registry.DeletePartitionMember:
			if m, had := state.PartitionMember(c.MemberKey); had {
				before.member(&m)
			}
		case registry.DeletePartition:
			for m := range state.PartitionMembers(c.Key) {
				before.member(&m)
			}
		}
	}
	return before, after
}

func valuesOf(p *registry.Partition) *PartitionValues {
	v := &PartitionValues{Name: p.Name, PKey: p.Key.String(), Number: p.Number, Note: p.Note, IPoIB: p.IPoIB,
		MTU: p.MTU.Bytes(), Rate: p.Rate.Gbps(), SL: p.SL, Scope: p.Scope, DeleteWhenEmpty: p.DeleteWhenEmpty}
	if p.QKey != 0 {
		v.QKey = fmt.Sprintf("0x%04x", p.QKey)
	}
	return v
}

func (v *PartitionValues) member(m *registry.PartitionMember) {
	switch {
	case v == nil:
		return
	case v.Members == nil:
		v.Members = map[string]string{}
	case len(v.Members) == listedMembers:
		v.More++
		return
	}
	text := partitions.Membership(m.Membership).String()
	if m.Index0 {
		text += ", index0"
	}
	name := m.Host
	if name == "" {
		name = m.Port.String()
	}
	v.Members[name] = text
}
