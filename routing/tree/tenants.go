package tree

import (
	"context"
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/quality"
)

// routeFor is routeOnce for a subnet with tenants: it returns the tables in which each partition is spread over the
// spines on its own, if neither the fullest link nor shifts within partitions are better without knowing them. Tables
// that are kept are changed by the first of these ways.
func (s *Settings) routeFor(ctx context.Context, in routing.In) (*routing.Tables, error) {
	tables, err := s.routeOnce(ctx, in)
	if err != nil || in.Base != nil {
		return tables, err
	}
	plain := in
	plain.Tenants = nil
	without, err := s.routeOnce(ctx, plain)
	if err != nil {
		return nil, err
	}
	hosts := quality.Hosts(in.Topo, in.LIDs)
	fullest, shift, err := quality.Tenants(ctx, in, tables.LFT, hosts)
	if err != nil {
		return nil, err
	}
	least, best, err := quality.Tenants(ctx, in, without.LFT, hosts)
	if err != nil {
		return nil, err
	}
	if fullest > least || shift > best {
		return without, nil
	}
	return tables, nil
}

// spreading assigns the numbers of each leaf to its ports so that the routes to members of one partition use different
// cables.
type spreading struct {
	*network
	digits int // of a leaf: cables up
	// by partition, then by digit: how many members there were when it was last used by one
	used  map[mad.PKey][]int
	count map[mad.PKey]int       // members so far
	ports []*destination         // the first LIDs of ports on a leaf whose numbers are interchangeable
	costs map[mad.PKey][]float64 // by partition, then by digit
}

// spread exchanges the numbers of ports on each leaf. What has no number on a leaf keeps its own.
func (n *network) spread(all []destinations) {
	s := &spreading{network: n, digits: n.tiers[0].parents * n.tiers[0].cables, used: map[mad.PKey][]int{},
		count: map[mad.PKey]int{}}
	for i := range all {
		at := &all[i]
		type kind struct {
			rail *rail
			of   nodeType
		}
		kinds, order := map[kind][]*destination{}, []kind{}
		for k := range at.ports {
			if d := &at.ports[k]; d.nth == 0 && d.kind != noHost {
				key := kind{nil, d.kind}
				if d.numbered {
					key = kind{d.rail, noHost}
				}
				if kinds[key] == nil {
					order = append(order, key)
				}
				kinds[key] = append(kinds[key], d)
			}
		}
		s.measure()
		for _, k := range order {
			s.ports = kinds[k]
			s.exchange()
		}
		s.add(at)
	}
}

// measure finds what each digit costs a member of a partition now: the more, the fewer members there were since one
// last had it.
func (s *spreading) measure() {
	s.costs = map[mad.PKey][]float64{}
	for key, used := range s.used {
		costs := make([]float64, s.digits)
		for digit, at := range used {
			if gap := s.digits - (s.count[key] - at); at >= 0 && gap > 0 {
				costs[digit] = float64(gap * gap)
			}
		}
		s.costs[key] = costs
	}
}

func (s *spreading) cost(d *destination, number int) (cost float64) {
	for _, key := range s.Tenants.Keys(int(d.class)) {
		if costs := s.costs[key.Base()]; costs != nil {
			cost += costs[number%s.digits]
		}
	}
	return cost
}

// mostRounds is how often all pairs of ports on a leaf are tried.
const mostRounds = 8

// exchange exchanges the numbers of two ports as long as that is better.
func (s *spreading) exchange() {
	for range mostRounds {
		better := false
		for i, a := range s.ports {
			for _, b := range s.ports[:i] {
				if a.class == b.class || s.cost(a, b.number)+s.cost(b, a.number) >= s.cost(a, a.number)+
					s.cost(b, b.number) {
					continue
				}
				a.number, b.number, better = b.number, a.number, true
			}
		}
		if !better {
			return
		}
	}
}

// add counts the ports on a leaf, and gives the other LIDs of each the numbers after its own.
func (s *spreading) add(at *destinations) {
	var first *destination
	before := maps.Clone(s.count)
	for i := range at.ports {
		d := &at.ports[i]
		switch {
		case d.kind == noHost && !d.numbered:
			continue
		case d.nth > 0:
			d.number = first.number + int(d.nth)
			continue
		}
		first = d
		for _, key := range s.Tenants.Keys(int(d.class)) {
			key := key.Base()
			if s.used[key] == nil {
				s.used[key] = slices.Repeat([]int{-1}, s.digits)
			}
			s.used[key][d.number%s.digits] = before[key]
			s.count[key]++
		}
	}
}
