package main_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ibsm/mad/smp"
)

// TestFieldsClosed: a wrong value of any field and of any table, at a port of any kind, held or sent,
// is reported in every stage: no row excuses it.
func TestFieldsClosed(t *testing.T) {
	seeds := []uint64{1, 2} // the ports of the second refuse Sets of OpenSM
	if proof() {
		seeds = []uint64{1, 2, 3, 4, 8, 16, 29, 66, 85}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newFieldCase(t, seed)
			tried := 0
			c.compared = func(s stage, theirs, ours *fieldState) {
				tried += c.spoil(s, theirs, ours)
			}
			c.run(newFieldReport())
			t.Logf("%d wrong values", tried)
			if tried < 1000 {
				t.Errorf("only %d wrong values", tried)
			}
		})
	}
}

// spoil puts wrong values into what ibsm left, one at a time, and counts them.
func (c *fieldCase) spoil(s stage, theirs, ours *fieldState) (tried int) {
	list := c.differ(s, theirs, ours)
	if !listed(list) {
		c.t.Errorf("seed %d, %s: differences that are not listed", c.seed, s)
		return 0
	}
	try := func(what string, i item, now any) {
		tried++
		list := c.add(c.add(nil, s, i, false, theirs, ours), s, i, true, theirs, ours)
		// what they lead to counts
		if i.attr == smp.AttrLinearForwardingTable || i.attr == smp.AttrMulticastForwardingTable {
			list = c.differ(s, theirs, ours)
		}
		if listed(list) {
			c.t.Errorf(
				"seed %d, %s: nobody reports that %v %s %s of a %s %s %v in place of %v: OpenSM's is %v, it was %v",
				c.seed, s, i.at, smp.AttrName(i.attr), i.part,
				ours.ports[i.at].place, what, now, ours.held[i], theirs.held[i], ours.first[i])
		}
	}
	for _, i := range c.samples(ours) {
		is := ours.held[i]
		for _, wrong := range wrongValues(i, is) {
			if wrong == is || wrong == theirs.held[i] {
				continue
			}
			held := maps.Clone(ours.held)
			ours.held[i] = wrong
			if wrong == "" {
				delete(ours.held, i)
			}
			try("holds", i, wrong)
			ours.held = held
		}
	}
	for _, i := range slices.SortedFunc(maps.Keys(ours.sent), compareItems) {
		was := ours.sent[i]
		ours.sent[i] = append(slices.Clone(was), strings.Repeat("7", max(len(was[0]), 1)))
		try("is sent", i, ours.sent[i])
		ours.sent[i] = was
	}
	return tried
}

func compareItems(a, b item) int {
	return cmp.Or(cmp.Compare(a.attr, b.attr), cmp.Compare(a.part, b.part), cmp.Compare(a.at.Node, b.at.Node),
		cmp.Compare(a.at.Port, b.at.Port))
}

// samples are items held, one for each field or table at each kind of port.
func (c *fieldCase) samples(s *fieldState) (list []item) {
	seen := map[string]bool{}
	for _, i := range slices.SortedFunc(maps.Keys(s.held), compareItems) {
		kind := fmt.Sprint(i.attr, strings.TrimRight(i.part, "0123456789abcdefx "), s.ports[i.at].place)
		if fieldsOf(i.attr) != nil {
			kind = fmt.Sprint(i.attr, i.part, s.ports[i.at].place)
		}
		if !seen[kind] {
			seen[kind] = true
			list = append(list, i)
		}
	}
	return list
}

// wrongValues are values that an item must not have.
func wrongValues(i item, is string) (list []string) {
	switch i.attr {
	case smp.AttrPKeyTable, smp.AttrGUIDInfo:
		return []string{"[]", "[0x9999]", strings.TrimSuffix(is, "]") + " 0x9999]"}
	case smp.AttrLinearForwardingTable:
		return []string{"", "200", "0", "1", "2"}
	case smp.AttrMulticastForwardingTable:
		return []string{"", "[1 2 3 4]", "[200]", strings.TrimSuffix(is, "]") + " 200]"}
	case smp.AttrSLtoVLMappingTable, smp.AttrVLArbitrationTable:
		return []string{strings.Repeat("f", len(is)), "5" + is[1:]}
	}
	for _, f := range fieldsOf(i.attr) {
		if f.name == i.part {
			for _, v := range []uint64{0, 1, bits(is) ^ 1, bits(is) + 2, 1<<f.n - 1} {
				list = append(list, hexValue(v&(1<<f.n-1)))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
